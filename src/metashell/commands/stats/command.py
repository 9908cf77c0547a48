"""``stats``: one page about the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, one_of, refuse_more
from metashell.commands.framework.targets import write_lines
from metashell.commands.rows.columns import AnswerTable, Column, integer, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.columns import table_lines
from metashell.commands.shared.unread import status_after, unread_of
from metashell.commands.shared.usage_scan import Survey, refuse_unknown, subject_of
from metashell.errors import UsageError
from metashell.schema.timestamps import iso_time
from metashell.sources.log_clock import clock_of

if TYPE_CHECKING:
    from metashell.commands.stats.page import Page
    from metashell.log.unread import Unread
    from metashell.records.density import Axis

_RECORDS: Final = (integer("records", "How many records."), integer("bytes", "Bytes of them."))
_OF_KEYS: Final = (
    integer("tombstones", "Records without a value; null in a metadata log.", shown=False),
    integer(
        "superseded_records",
        "Records that compaction drops: a later record of their key counts, or their transaction "
        "was aborted. Null in a metadata log.",
        shown=False,
    ),
    integer("superseded_bytes", "Bytes of them.", shown=False),
)
_CHANGES: Final = (
    integer("leader_changes", "Records that changed the leader."),
    integer("isr_changes", "Records that changed the ISR."),
)
_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "totals": (
        integer("segments", "How many segments there are."),
        integer("checkpoints", "How many checkpoints."),
        *_RECORDS,
        integer("first_offset", "First offset that is counted; every section counts the same."),
        integer("last_offset", "Last offset that is counted."),
        integer("batches", "How many batches."),
        integer("no_op_records", "How many of the records are NoOps."),
        integer("no_op_bytes", "Bytes of the NoOps.", shown=False),
        integer(
            "records_between_checkpoints",
            "On average; null with fewer than two checkpoints.",
            shown=False,
        ),
        integer(
            "ms_between_checkpoints", "Milliseconds between checkpoints, likewise.", shown=False
        ),
        integer(
            "transactional_records",
            "Records of transactions, without control records; null in a metadata log.",
            shown=False,
        ),
        integer("control_records", "Control records; null in a metadata log.", shown=False),
        *_OF_KEYS,
    ),
    "files": (
        text("file", "The file's name."),
        text("kind", "segment or checkpoint."),
        integer("bytes", "Its size."),
        integer("batches", "How many batches."),
        integer("records", "How many records."),
        integer("first_offset", "Offset of the first record; null for a checkpoint.", shown=False),
        integer("last_offset", "Offset of the last record; for a checkpoint the last one in it."),
        integer("first_epoch", "Leader epoch of the first record.", shown=False),
        integer("last_epoch", "Leader epoch of the last record.", shown=False),
        time_at("first_time", "Time of the first record.", shown=False),
        time_at("last_time", "Of the last one; of a checkpoint, of the last that it includes."),
        integer("faults", "How many faults the file has."),
    ),
    "types": (text("type", "The records' type."), *_RECORDS, *_OF_KEYS),
    "hours": (text("hour", "The hour, such as 2026-09-21T14Z."), *_RECORDS),
    "partitions": (
        text("topic", "The topic's name; its id if no name is known."),
        integer("partition", "The partition's id."),
        text("topic_id", "The topic's id.", shown=False),
        *_RECORDS,
        *_CHANGES,
    ),
    "brokers": (integer("broker", "The broker's id."), *_RECORDS, *_CHANGES),
    "batches": (
        text("file", "The file."),
        integer("pos", "Byte position in the file."),
        integer("offset", "Its first offset."),
        integer("bytes", "Its size."),
        integer("records", "How many records."),
    ),
    "timeline": (
        integer("begin", "Where the part begins: ms since the epoch, or an offset.", shown=False),
        integer("first_offset", "Offset of its first batch; null if it has none."),
        integer("last_offset", "Offset of its last batch."),
        time_at("first_time", "Time of its first batch.", shown=False),
        time_at("last_time", "Time of its last batch."),
        integer("records", "How many records."),
        integer("topics", "Records about topics and partitions."),
        integer("nodes", "Records about brokers and controllers."),
        integer("configs", "ConfigRecords."),
        integer(
            "security", "Records about ACLs, SCRAM credentials, delegation tokens, client quotas."
        ),
        integer("quorum", "Control records, features and other records of the cluster itself."),
        integer("other", "Records of types that Kafka does not have."),
        integer("no_ops", "NoOp records."),
        integer("elections", "Elections of the active controller."),
        integer("faults", "Faults of batches."),
    ),
    "codecs": (text("codec", "How the batches are compressed."), *_RECORDS),
    "epochs": (integer("epoch", "The leader epoch."), *_RECORDS),
    "producers": (
        integer("producer_id", "The id of the producer; -1: batches without one."),
        *_RECORDS,
    ),
    "groups": (text("group", "The group's id."), *_RECORDS, *_OF_KEYS),
    "transactions": (text("transactional_id", "The transactional id."), *_RECORDS, *_OF_KEYS),
}

TABLES: Final = tuple(
    AnswerTable("" if name == "totals" else f"--section {name}", columns)
    for name, columns in _COLUMNS.items()
)
"""In the order of the sections."""

_PAGE = ("totals", "files", "types", "hours", "partitions", "brokers", "batches")
_TIMELINE = "timeline"
_OF_TOPIC = ("totals", "files", "hours", "codecs", "epochs", "producers", "batches")
_SECTIONS = tuple(_COLUMNS)
_DEFAULT_ROWS = 10
_TIMELINE_ROWS = 40
_AXES = ("time", "offset")

_COUNTS: Final = (
    *("records", "topics", "nodes", "configs", "security", "quorum", "other", "no_ops"),
    *("elections", "faults"),
)
_BAR: Final = 20


class StatsCommand(RowsCommand):
    """Show figures about the log: files, types, hours, busiest partitions and brokers.

    Counts the records of every segment in the directory, as `du` does. Shows the totals, the
    share of NoOp records, and how often a checkpoint was made. Shows the files, the records by
    type, the last hours and the largest batches. Shows the partitions and brokers with the most
    records.

    LEADER and ISR count changes. For a partition: records that name a leader or an ISR. For a
    broker: records that make it leader or put it into the ISR. A checkpoint's time and offset
    are those of the last record in it. AGE is the time from a file's last record to the last
    record of the log, or to now on a live quorum.

    `--section timeline` divides the log into N parts of equal time, or of equal offsets with
    --by offset. It counts the records of each part by subject. A batch counts whole, by its
    last time or offset. The timeline counts faults of batches; `check` finds all faults.

    The log of a coordinator's partition (`-d DIR/__consumer_offsets-3`) has groups or
    transactions in place of partitions and brokers, and no timeline. SUPERSEDED are records
    that compaction drops: a later record of the same key counts, or the transaction was
    aborted.

    The log of any other topic's partition (`-d DIR/orders-0`) has codecs, leader epochs and
    producers. Only headers of batches are read. Bytes are those of whole batches.

    Rows (-o) are those of one section: the totals, or the section that --section names.
    """

    group = "history"
    one_cluster = True
    tables = TABLES
    manual = Manual(
        synopsis=("stats [-h] [--section NAME] [-n N] [--by AXIS] [--checkpoints] [-o FORMAT]"),
        options=(
            Option(("-h",), "Print sizes in KiB, MiB, GiB."),
            Option(("--section",), "Print only this section.", "NAME", _SECTIONS),
            Option(
                ("-n", "--limit"),
                f"Print N rows of each section. Default: {_DEFAULT_ROWS} rows, all files, and "
                f"{_TIMELINE_ROWS} parts of the timeline.",
                "N",
            ),
            Option(("--by",), "Divide the timeline by time (default) or offset.", "AXIS", _AXES),
            Option(("--checkpoints",), "Count the records of checkpoints too."),
        ),
        examples=(
            ("stats", "the whole page"),
            ("stats --section brokers", "the brokers with the most records"),
            ("stats -n 3 --section batches", "the three largest batches"),
            ("stats --json --section files", "checkpoints and segments, for scripts"),
            ("stats --section timeline -n 60", "what was written when, in sixty parts"),
            ("stats -o csv --section types", "how many records of each type, as CSV"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Count and print."""
        refuse_more(self, parsed.arguments)
        section = one_of("--section", parsed.values.get("--section", _SECTIONS[0]), _SECTIONS)
        if "--by" in parsed.values and section != _TIMELINE:
            raise UsageError("--by needs --section timeline", hint="add --section timeline")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """The rows of one section."""
        section = query.parsed.values.get("--section", _SECTIONS[0])
        if section == _TIMELINE:
            rows, _, unread = self._timeline(query.context, query.parsed)
            query.add(rows)
            query.status = status_after(query.context, self.name, unread)
            return
        page, query.status = self._page(query.context, query.parsed, [section])
        query.add(page.rows(section))

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """The whole page, or a section of it."""
        section = parsed.values.get("--section")
        if section == _TIMELINE:
            rows, axis, unread = self._timeline(context, parsed)
            write_lines(context, timeline_lines(rows, axis))
            return status_after(context, self.name, unread)
        sections = _sections(context) if section is None else [section]
        page, status = self._page(context, parsed, sections)
        lines: list[str] = []
        for name in sections:
            if len(sections) > 1:
                lines += ["", name] if lines else [name]
            lines += page.lines(context, name, human="-h" in parsed.switches)
        write_lines(context, lines)
        return status

    def _page(self, context: Context, parsed: Parsed, sections: Sequence[str]) -> tuple[Page, int]:
        """The counts for some sections, and the exit status."""
        from metashell.commands.stats.page import GROUPED_BY, Page

        _refuse_other_logs(context, sections)
        n_rows = parsed.count("-n")
        limit = n_rows or _DEFAULT_ROWS
        grouped_by = {by for section, by in GROUPED_BY.items() if section in sections} | {"type"}
        survey = Survey(context, self.name, grouped_by, limit if "batches" in sections else 0)
        counts_checkpoints = "--checkpoints" in parsed.switches
        survey.count(checkpoints=counts_checkpoints)
        if "partitions" in sections:
            survey.find_names()
        usage = survey.usage
        checkpoints = [file for file in usage.files if file.is_checkpoint]
        if not counts_checkpoints and {"totals", "files"} & set(sections):
            checkpoints += survey.describe_checkpoints()
        ends_ms = clock_of(context.needs_source().newest).origin_ms
        return Page(usage, checkpoints, limit, n_rows, ends_ms), survey.status

    def _timeline(self, context: Context, parsed: Parsed) -> tuple[list[RowMapping], Axis, Unread]:
        """The parts of the log, what they are equally long in, and what of it was not read."""
        from metashell.commands.stats.timeline import density_of_source, timeline_rows
        from metashell.records.density import Axis

        _refuse_other_logs(context, [_TIMELINE])
        axis = Axis(one_of("--by", parsed.values.get("--by", _AXES[0]), _AXES))
        n = parsed.count("-n") or _TIMELINE_ROWS
        source = context.needs_source()
        density = density_of_source(source, context.cancelled)
        rows = timeline_rows(density, n, axis, source.registry)
        return rows, axis, unread_of(density.faults, source.log)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """That of the section."""
        section = parsed.values.get("--section", _SECTIONS[0])
        return TABLES[_SECTIONS.index(one_of("--section", section, _SECTIONS))].columns


def _sections(context: Context) -> Sequence[str]:
    """The sections of the page."""
    source = context.needs_source()
    if source.of_topic is not None:
        return _OF_TOPIC
    subject = subject_of(source)
    if subject is None:
        return _PAGE
    return ("totals", "files", "types", "hours", f"{subject}s", "batches")


def _refuse_other_logs(context: Context, sections: Sequence[str]) -> None:
    """Refuse a section about what a log does not have."""
    source, known = context.needs_source(), _sections(context)
    if source.capabilities.has_image:
        known = (*known, _TIMELINE)
    for section in sections:
        refuse_unknown(source, "--section", section, known, "{} does not have that")


def timeline_lines(rows: Sequence[RowMapping], axis: Axis) -> list[str]:
    """A line for each part, with a bar of the records that say something."""
    by_time = axis.value == "time"
    sayings = [row["records"] - row["no_ops"] for row in rows]
    most = max(sayings, default=0) or 1
    cells = [
        (
            iso_time(row["begin"]) if by_time else str(row["begin"]),
            "-" if row["last_offset"] is None else f"{row['first_offset']}..{row['last_offset']}",
            *(str(row[name]) for name in _COUNTS),
            "#" * -(-n * _BAR // most),
        )
        for row, n in zip(rows, sayings, strict=True)
    ]
    titles = (name.replace("_", "").upper() for name in _COUNTS)
    return list(
        table_lines(("BEGIN", "OFFSETS", *titles, ""), cells, left={0} if by_time else set())
    )


COMMAND = StatsCommand()
