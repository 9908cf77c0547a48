"""``du``: what takes the space in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metashell.commands.base import Context, Manual, Option
from metashell.commands.options import Parsed, parse_options, refuse_more
from metashell.commands.rows_of import (
    Field,
    Kind,
    Record,
    RowTable,
    TabularCommand,
    integer,
    of_kind,
    status_of,
    text,
    with_rows,
    write_records,
)
from metashell.commands.survey import (
    Survey,
    one_of,
    share_text,
    size_text,
    table,
    write_json,
    write_lines,
)
from metashell.commands.targets import shown

if TYPE_CHECKING:
    from metashell.fs.node import JsonValue
    from metashell.image.usage import Others, Row, Usage

_BY = ("type", "topic", "hour", "file", "partition", "broker")
_AMOUNTS = (
    integer("bytes", "Bytes of their values; of a file, those of whole batches."),
    of_kind(Kind.NUMBER, "share", "Its part of all bytes, from 0 to 1."),
    integer("records", "How many records."),
)
_KEYS: dict[str, tuple[Field, ...]] = {
    "type": (text("type", "The records' type."),),
    "topic": (
        text("topic", "The topic's name, or its id where nothing names it; null: of no topic."),
        of_kind(Kind.TEXTS, "topic_ids", "Every id that the name had.", shown=False),
    ),
    "hour": (text("hour", "The hour, such as 2026-09-21T14Z."),),
    "file": (text("file", "The file's name."),),
    "partition": (
        text("topic", "The topic's name, or its id where nothing names it."),
        integer("partition", "The partition's id."),
        text("topic_id", "The topic's id.", shown=False),
    ),
    "broker": (integer("broker", "The broker's id."),),
}
_TABLES = tuple(
    RowTable("" if by == "type" else f"--by {by}", (*_KEYS[by], *_AMOUNTS)) for by in _BY
)


class Du(TabularCommand):
    """Bytes and records of the log, grouped."""

    name = "du"
    summary = "Show what takes the space in the log."
    takes_paths = False
    one_cluster = True
    tables = _TABLES
    manual = Manual(
        synopsis="du [-h] [--by type|topic|hour|file|partition|broker] [-n N] [--checkpoints]"
        " [--json|-o FORMAT]",
        description=(
            "Counts the records of every segment in the directory, also of those before the newest "
            "checkpoint, and groups them: the most bytes first, then the total. A record's bytes "
            "are those of its value; by file, they are those of whole batches, with their headers."
            "\n\n"
            "By topic, configs count with the topic that they are of, and topics that had one name "
            "one after the other count together; a topic that nothing names goes by its id. "
            "By partition, only records count that are about one. By broker, a record counts for "
            "each broker that it names: as leader, in an ISR, or because it is about that broker; "
            "so there the rows add up to more than the total, which is of all records.\n\n"
            "A damaged file counts as far as it can be read. Rows (-o) have neither the total nor "
            "the others."
        ),
        options=(
            Option(("-h",), "Sizes in KiB, MiB, GiB."),
            Option(("--by",), "Group by this; by type of record if not given.", "WHAT", _BY),
            Option(("-n",), "Only the first N rows, and the others as one.", "N"),
            Option(("--checkpoints",), "Count the checkpoints too."),
            Option(("--json",), "Print JSON."),
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
    manual = with_rows(manual, _TABLES)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Count and print."""
        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments)
        by = one_of("--by", parsed.values.get("--by", "type"), _BY)
        limit = parsed.count("-n")
        shape = self.shape_of(parsed)
        survey = Survey(context, self.name, {by})
        survey.count(checkpoints="--checkpoints" in parsed.switches)
        if by in {"topic", "partition"}:
            survey.find_names()
        usage = survey.usage
        rows, others = usage.rows(by, limit)
        if shape is not None:
            records = _records(by, rows, _total(by, usage)[0])
            fields = self.table_of(parsed).fields
            n_rows = write_records(context, shape, fields, records)
            return status_of(parsed, n_rows, survey.status)
        if "--json" in parsed.switches:
            write_json(context, _as_json(by, rows, others, usage))
        else:
            lines = _as_text(context, by, rows, others, usage, human="-h" in parsed.switches)
            write_lines(context, lines)
        return survey.status

    def table_of(self, parsed: Parsed) -> RowTable:
        """That of what is grouped by."""
        return _TABLES[_BY.index(one_of("--by", parsed.values.get("--by", "type"), _BY))]


def _records(by: str, rows: list[Row], n_bytes: int) -> Iterator[Record]:
    for row in rows:
        record: dict[str, object] = {
            by: row.name,
            "bytes": row.bytes,
            "share": row.bytes / n_bytes if n_bytes else None,
            "records": row.records,
        }
        if by == "topic":
            record |= {"topic": row.name if row.key >= 0 else None, "topic_ids": row.topic_ids}
        elif by == "partition":
            record["topic"] = row.name.removesuffix(f"-{row.partition}")
            record |= {"partition": row.partition, "topic_id": row.topic_ids[0]}
        elif by == "broker":
            record["broker"] = row.key
        yield record


def _total(by: str, usage: Usage) -> tuple[int, int]:
    """Bytes and records of everything counted."""
    n_bytes = sum(file.batch_bytes for file in usage.files) if by == "file" else usage.n_bytes
    return n_bytes, usage.n_records


def _as_text(
    context: Context, by: str, rows: list[Row], others: Others, usage: Usage, *, human: bool
) -> list[str]:
    n_bytes, n_records = _total(by, usage)
    amounts = [(row.bytes, row.records, shown(context, row.name)) for row in rows]
    more = f"({others.rows} more)"
    if others.rows and by != "broker":
        amounts.append((others.bytes, others.records, more))
    amounts.append((n_bytes, n_records, "total"))
    cells = [
        (size_text(size, human=human), share_text(size, n_bytes), str(n), name)
        for size, n, name in amounts
    ]
    if others.rows and by == "broker":
        # A record may be of several of them: their sum would say nothing.
        cells.insert(-1, ("-", "-", "-", more))
    return list(table(("BYTES", "SHARE", "RECORDS", by.upper()), cells))


def _as_json(by: str, rows: list[Row], others: Others, usage: Usage) -> dict[str, JsonValue]:
    n_bytes, n_records = _total(by, usage)
    value: dict[str, JsonValue] = {"by": by, "rows": [_row_json(by, row) for row in rows]}
    if others.rows:
        sums = {} if by == "broker" else {"bytes": others.bytes, "records": others.records}
        value["others"] = {"rows": others.rows, **sums}
    value["total"] = {"bytes": n_bytes, "records": n_records}
    return value


def _row_json(by: str, row: Row) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {"name": row.name, "bytes": row.bytes, "records": row.records}
    if by == "topic":
        value["name"] = row.name if row.key >= 0 else None
        value["topicIds"] = list(row.topic_ids)
    elif by == "partition":
        value |= {"topicId": row.topic_ids[0], "partition": row.partition}
    elif by == "broker":
        value["broker"] = row.key
    return value


COMMAND = Du()
