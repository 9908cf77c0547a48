"""``check``: fsck for a metadata directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.severities import severities_of, write_paragraphs
from metashell.findings.kind import SEVERITIES

if TYPE_CHECKING:
    from metashell.checks.finding import CheckReport, Finding
    from metashell.judgement.check_run import CheckRun

_LIMIT = 20

_TABLES = one_table(
    text("severity", "critical, warning or note; the worst come first."),
    text("code", "The kind of finding; the name is stable."),
    text("file", "The file."),
    integer("pos", "Byte position in the file; of a record that of its batch."),
    integer("offset", "Log offset of the finding, or the next offset expected."),
    text("path", "The node."),
    text("message", "What it means."),
    text("action", "What to do."),
)


class CheckCommand(RowsCommand):
    """Check the files, the records and the state they lead to.

    Checks every file of the metadata directory, also files from before the newest checkpoint.
    It looks at names, batches and their CRCs, offsets, leader epochs, timestamps and records.
    It looks at indexes, gaps between files, a torn tail and an unfinished transaction. It
    replays the records and tells of those that do not fit. It compares each checkpoint with a
    replay from the one before. It compares quorum-state, meta.properties and the voters in the
    log. It tells which ids the log proves if meta.properties is lost. With -s it checks that
    file alone.

    Damage is printed first. Each finding says how bad it is, where it is, what it means and
    what to do. critical means that something is lost, or a node does not start. --state adds
    warnings about the cluster's state, such as partitions without a leader; `health` tells more
    about these. Identical findings are printed together. check changes and repairs nothing.

    In a broker's log directories check also looks at the logs of coordinators:
    __consumer_offsets, __transaction_state and __share_group_state. `metashell -d
    DIR/__consumer_offsets-3 check` checks one alone. check tells which records a broker refuses
    or skips. A record that ends the load of the partition is critical.

    `metashell -d DIR/orders-0 check` checks the log of any other topic's partition. It sums the
    bytes of each batch for its CRC, and reads no record. It compares indexes and leader epochs
    with the batches, and tells what a start after an unclean stop cuts off.

    With several log directories of a node it tells why the node would not start on them. It
    compares replicas of a coordinators' partition if several are together (`metashell --join`).

    The exit status is 1 if something is critical, 3 if a file can't be read, else 0.
    """

    group = "what is wrong"
    of_each_cluster = True
    noun = ("finding", "findings")
    tables = _TABLES
    manual = Manual(
        synopsis="check [--quick] [--state] [--severity LEVEL] [--limit N] [-o FORMAT]",
        options=(
            Option(("--quick",), "Check the files alone: no replay, no comparison of checkpoints."),
            Option(("--state",), "Print warnings about the cluster's state too."),
            Option(
                ("--severity",),
                "Print findings of that severity and worse; note is the default.",
                "LEVEL",
                SEVERITIES,
            ),
            Option(
                ("--limit", "-n"),
                f"Print at most N findings of one kind; {_LIMIT} by default, all with -o.",
                "N",
            ),
        ),
        examples=(
            ("check", "check everything"),
            ("check --quick", "check the files alone"),
            ("check --severity critical", "only what is lost or wrong, and the summary"),
            ("check --state", "damage, and what is wrong with partitions and configs"),
            ("check -o csv", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Check, then print what was found, the worst first."""
        refuse_more(self, parsed.arguments)
        severities_of(parsed)
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each finding."""
        run, printer = _checked(query.context, query.parsed, limit=None)
        query.add(map(_row, printer.findings()))
        query.status = run.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A block for each finding, and the summary."""
        run, printer = _checked(context, parsed, limit=_LIMIT)
        printer.text()
        context.out.write(run.summary(with_state=printer.with_state) + "\n")
        return run.status


def _row(finding: Finding) -> RowMapping:
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "file": finding.file,
        "pos": finding.pos,
        "offset": finding.offset,
        "path": finding.path,
        "message": finding.meaning,
        "action": finding.what_to_do,
    }


def _checked(
    context: Context, parsed: Parsed, limit: int | None
) -> tuple[CheckRun, FindingPrinter]:
    """Check what the words ask for."""
    from metashell.checks.finding import CheckReport
    from metashell.judgement.check_run import CheckRun

    # Log directories without a metadata log have coordinators' logs to check.
    source = context.source
    if source is None or source.capabilities.has_image:
        source = context.needs_source()
    report = CheckReport(parsed.count("--limit") or limit)
    run = CheckRun(source, report, partial(stop_if_cancelled, context))
    run.all(quick="--quick" in parsed.switches)
    with_state = "--state" in parsed.switches
    return run, FindingPrinter(context, run.report, severities_of(parsed), with_state=with_state)


COMMAND = CheckCommand()


class FindingPrinter:
    """Findings, damage and the worst first."""

    def __init__(
        self, context: Context, report: CheckReport, levels: Sequence[str], *, with_state: bool
    ) -> None:
        self._context, self._report, self._levels = context, report, levels
        self.with_state = with_state
        """Whether findings about the cluster's state are among them."""

    def text(self) -> None:
        """A paragraph for all findings with the same advice."""
        write_paragraphs(self._context, self._lines())

    def findings(self) -> Iterator[Finding]:
        """The findings to be shown, in their order."""
        from metashell.checks.finding import Finding, is_of_state
        from metashell.findings.kind import Severity

        left_out = [
            Finding(code, f"{n} more findings of this kind: `--limit N` shows more")
            for code, n in self._report.left_out()
        ]
        for of_state in (False, True) if self.with_state else (False,):
            for severity in Severity:
                if severity not in self._levels:
                    continue
                for finding in (*self._report.findings, *left_out):
                    if finding.severity is severity and is_of_state(finding.code) is of_state:
                        yield finding

    def _lines(self) -> Iterator[str]:
        from metashell.commands.health.paragraphs import Paragraph

        groups: dict[tuple[object, ...], list[Finding]] = {}
        for one in self.findings():
            # The state comes behind all damage, even with the same advice.
            key = (one.severity, one.kind.about, one.what_to_do)
            groups.setdefault(key, []).append(one)
        for group in groups.values():
            first = group[0]
            head, *more = _places(group)
            paragraph = Paragraph(
                severity=first.severity,
                codes=tuple(dict.fromkeys(one.code for one in group)),
                n_told=len(group),
                headline=head,
                more=tuple(more),
                do=(first.do,),
                beware=() if first.avoid is None else (first.avoid,),
            )
            yield from paragraph.lines(self._context.out.width)


def _places(findings: Sequence[Finding]) -> Iterator[str]:
    """Each kind with its places; findings that say the same are told once."""
    said: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        said.setdefault((one.code, one.meaning), []).append(_place(one))
    for (code, meaning), places in said.items():
        if len(places) == 1:
            where = f"{places[0]}: " if places[0] else ""
            yield f"{code}: {where}{meaning}"
        else:
            yield f"{code}, {len(places):,} times: {meaning}"
            yield from filter(None, places)


def _place(finding: Finding) -> str:
    """Where a finding is; empty where it is nowhere in particular."""
    parts = [
        finding.file,
        None if finding.pos is None else f"position {finding.pos}",
        None if finding.offset is None else f"offset {finding.offset}",
        finding.path,
    ]
    return ", ".join(part for part in parts if part is not None)
