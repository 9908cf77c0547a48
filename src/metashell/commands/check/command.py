"""``check``: fsck for a metadata directory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowMapping, RowsCommand, RowsQuery
from metashell.commands.shared.severities import severities_of
from metashell.findings.kind import SEVERITIES

if TYPE_CHECKING:
    from metashell.checks.finding import Finding
    from metashell.commands.check.printer import FindingPrinter
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
    """Find what is wrong with the source."""

    group = "what is wrong"
    name = "check"
    summary = "Check the files, the records and the state they lead to."
    of_each_cluster = True
    noun = ("finding", "findings")
    tables = _TABLES
    has_text = True
    own_options = frozenset({"--limit", "-n"})
    manual = Manual(
        synopsis="check [--quick] [--state] [--severity LEVEL] [--limit N] [-o FORMAT]",
        description=(
            "Checks every file of the metadata directory, also files from before the newest "
            "checkpoint. It looks at names, batches and their CRCs, offsets, leader epochs, "
            "timestamps and records. It looks at indexes, gaps between files, a torn tail and an "
            "unfinished transaction. It replays the records and tells of those that do not fit. "
            "It compares each checkpoint with a replay from the one before. It compares "
            "quorum-state, meta.properties and the voters in the log. It tells which ids the "
            "log proves if meta.properties is lost. With -s it checks that file alone.\n\n"
            "Damage is printed first. Each finding says how bad it is, where it is, what it means "
            "and what to do. critical means that something is lost, or a node does not start. "
            "--state adds warnings about the cluster's "
            "state, such as partitions without a leader; `health` tells more about these. "
            "Identical findings are printed together. check changes and repairs nothing.\n\n"
            "In a broker's log directories check also looks at the logs of coordinators: "
            "__consumer_offsets, __transaction_state and __share_group_state. `metashell -d "
            "DIR/__consumer_offsets-3 check` checks one alone. check tells which records a broker "
            "refuses or skips. A record that ends the load of the partition is critical.\n\n"
            "`metashell -d DIR/orders-0 check` checks the log of any other topic's partition. It "
            "sums the bytes of each batch for its CRC, and reads no record. It compares indexes "
            "and leader epochs with the batches, and tells what a start after an unclean stop cuts "
            "off.\n\n"
            "With several log directories of a node it tells why the node would not start on them. "
            "It compares replicas of a coordinators' partition if several are together (`metashell "
            "--join`).\n\n"
            "The exit status is 1 if something is critical, 3 if a file can't be read, else 0."
        ),
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
    from metashell.commands.check.printer import FindingPrinter
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
