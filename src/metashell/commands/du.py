"""``du``: what takes the space in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, one_of, refuse_more
from metashell.commands.framework.targets import shown, stop_if_cancelled, write_lines
from metashell.commands.rows.columns import (
    DISK_BYTES,
    AnswerTable,
    Column,
    integer,
    number,
    text,
    texts,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.columns import table_lines
from metashell.commands.shared.usage_scan import (
    Survey,
    refuse_unknown,
    share_text,
    subject_of,
)
from metashell.errors import UsageError
from metashell.schema.sizes import size_text

if TYPE_CHECKING:
    from metashell.answers.usage.usage import Others, Usage, UsageRow

_BY = ("type", "topic", "hour", "file", "partition", "broker", "group", "transaction")
_AMOUNTS = (
    integer(
        "bytes",
        "Bytes of the values, in a coordinator's log of the keys too; for a file, bytes of whole "
        "batches.",
    ),
    number("share", "Share of all bytes, from 0 to 1."),
    integer("records", "How many records."),
    integer(
        "superseded",
        "Bytes of the records that compaction drops: a later record of their key counts, or their "
        "transaction was aborted. Null for a file, and in a metadata log.",
        shown=False,
    ),
)
_KEYS: dict[str, tuple[Column, ...]] = {
    "type": (text("type", "The records' type."),),
    "topic": (
        text(
            "topic", "The topic's name; its id if no name is known. Null: records about no topic."
        ),
        texts("topic_ids", "All ids that topics of this name had.", shown=False),
    ),
    "hour": (text("hour", "The hour, such as 2026-09-21T14Z."),),
    "file": (text("file", "The file's name."),),
    "partition": (
        text("topic", "The topic's name; its id if no name is known."),
        integer("partition", "The partition's id."),
        text("topic_id", "The topic's id.", shown=False),
    ),
    "broker": (integer("broker", "The broker's id."),),
    "group": (text("group", "The group's id; null: records about no group."),),
    "transaction": (text("transaction", "The transactional id; null: records about none."),),
}
_ON_DISKS: Final = ("topic", "broker")
"""Groups that a node's disks have bytes of."""
_TABLES = tuple(
    AnswerTable(
        "" if by == "type" else f"--by {by}",
        (*_KEYS[by], *_AMOUNTS, *([DISK_BYTES] if by in _ON_DISKS else [])),
    )
    for by in _BY
)


class DuCommand(RowsCommand):
    """Show what takes space in the log.

    Counts the records of every segment in the directory, also from before the newest
    checkpoint. Groups them, the most bytes first, then prints the total. A record's bytes are
    those of its value. By file, they are those of whole batches with their headers.

    By topic, a topic's configs count with it. Topics that had the same name one after the other
    count together. A topic without a known name is shown by its id. By partition, only records
    about a partition count. By broker, a record counts for each broker that it names: as
    leader, in an ISR, or as its subject. So the rows add up to more than the total.

    In the log of a coordinator's partition (`-d DIR/__consumer_offsets-3`) a record's bytes are
    those of its key and value. Its records are grouped by type, hour, file, group or
    transaction, and commits by topic. SUPERSEDED are bytes that compaction drops: a later
    record of the same key counts, or the transaction was aborted.

    A damaged file counts up to the damage. Rows (-o) leave out the total and the line of the
    others.
    """

    group = "history"
    one_cluster = True
    tables = _TABLES
    manual = Manual(
        synopsis="du [-h] [--by WHAT] [-n N] [--checkpoints] [-o FORMAT]",
        options=(
            Option(("-h",), "Print sizes in KiB, MiB, GiB."),
            Option(("--by",), "Group by this. Default: by type of record.", "WHAT", _BY),
            Option(("-n", "--limit"), "Print the first N rows, and one row for all others.", "N"),
            Option(("--checkpoints",), "Count the checkpoints too."),
        ),
        examples=(
            ("du", "bytes and records by type"),
            ("du -h --by topic -n 5", "the five topics with the most bytes"),
            ("du --by hour", "when the log grew"),
            ("du --by file --checkpoints", "every file that is read"),
            ("du --by partition -n 3 --json", "for scripts"),
            ("du --by topic -o csv", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Count and print."""
        refuse_more(self, parsed.arguments)
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each group."""
        by, survey = self._counted(query.context, query.parsed)
        rows, _ = survey.usage.rows(by, query.parsed.count("-n"))
        on_disk = _on_disk(query.context, by)
        query.add(_mappings(by, rows, _total(by, survey.usage)[0], on_disk))
        query.status = survey.status

    def _counted(self, context: Context, parsed: Parsed) -> tuple[str, Survey]:
        """The grouping that was asked for, and the counts."""
        by = one_of("--by", parsed.values.get("--by", "type"), _BY)
        parsed.count("-n")
        _refuse_other_logs(context, by)
        survey = Survey(context, self.name, {by})
        survey.count(checkpoints="--checkpoints" in parsed.switches)
        if by in {"topic", "partition"}:
            survey.find_names()
        return by, survey

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each group, and one for the total."""
        by, survey = self._counted(context, parsed)
        usage = survey.usage
        rows, others = usage.rows(by, parsed.count("-n"))
        human, on_disk = "-h" in parsed.switches, _on_disk(context, by)
        lines = _as_text(context, by, rows, others, usage, on_disk, human=human)
        write_lines(context, lines)
        return survey.status

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """That of what is grouped by."""
        by = one_of("--by", parsed.values.get("--by", "type"), _BY)
        return _TABLES[_BY.index(by)].columns


def _refuse_other_logs(context: Context, by: str) -> None:
    """Refuse to group by what the records of a log do not have."""
    source, known = context.needs_source(), _BY[:6]
    if source.of_topic is not None:
        raise UsageError(
            f"the records of {source.of_topic.title} are not read",
            hint="`stats` groups its batches by file, hour, codec, leader epoch and producer",
        )
    subject = subject_of(source)
    if subject is not None and source.of_coordinator is not None:
        log = source.of_coordinator.partition_log.partition.log
        topic = ("topic",) if log == "__consumer_offsets" else ()
        known = ("type", subject, *topic, "hour", "file")
    refuse_unknown(source, "--by", by, known, "the records of {} have none")


def _on_disk(context: Context, by: str) -> Mapping[Any, int]:
    """The bytes of groups on the node's disks."""
    if by not in _ON_DISKS or not context.needs_source().has_logs:
        return {}
    from metashell.sources.replicas import disk_bytes

    return disk_bytes(context.needs_source(), by, partial(stop_if_cancelled, context))


def _mappings(
    by: str, rows: list[UsageRow], n_bytes: int, on_disk: Mapping[Any, int]
) -> Iterator[RowMapping]:
    for row in rows:
        yield {
            "topic_ids": (),
            "bytes": row.bytes,
            "share": row.bytes / n_bytes if n_bytes else None,
            "records": row.records,
            "superseded": row.marks.get("superseded_bytes"),
            DISK_BYTES.name: on_disk.get(row.columns.get(by)),
            **row.columns,
        }


def _total(by: str, usage: Usage) -> tuple[int, int]:
    """Bytes and records of everything counted."""
    n_bytes = sum(file.batch_bytes for file in usage.files) if by == "file" else usage.n_bytes
    return n_bytes, usage.n_records


def _as_text(
    context: Context,
    by: str,
    rows: list[UsageRow],
    others: Others,
    usage: Usage,
    on_disk: Mapping[Any, int],
    *,
    human: bool,
) -> list[str]:
    n_bytes, n_records = _total(by, usage)
    amounts = [(row.bytes, row.records, shown(context, row.name)) for row in rows]
    more = f"({others.rows} more)"
    if others.rows and by != "broker":
        amounts.append((others.bytes, others.records, more))
    amounts.append((n_bytes, n_records, "total"))
    cells = [
        [size_text(size, human=human), share_text(size, n_bytes), str(n), name]
        for size, n, name in amounts
    ]
    if others.rows and by == "broker":
        # A record may be of several of them: their sum would say nothing.
        cells.insert(-1, ["-", "-", "-", more])
    headings = ["BYTES", "SHARE", "RECORDS", by.upper()]
    if rows and "superseded_bytes" in rows[0].marks:
        headings.insert(3, "SUPERSEDED")
        superseded = [row.marks.get("superseded_bytes") for row in rows]
        superseded += [None] * (len(cells) - len(rows) - 1) + [usage.totals["superseded_bytes"]]
        for cell, known in zip(cells, superseded, strict=True):
            cell.insert(3, "-" if known is None else size_text(known, human=human))
    if on_disk:
        headings.insert(-1, "ON DISK")
        sizes = [on_disk.get(row.columns.get(by)) for row in rows]
        sizes += [None] * (len(cells) - len(rows) - 1) + [sum(on_disk.values())]
        for cell, size in zip(cells, sizes, strict=True):
            cell.insert(-1, "-" if size is None else size_text(size, human=human))
    return list(table_lines(headings, cells))


COMMAND = DuCommand()
