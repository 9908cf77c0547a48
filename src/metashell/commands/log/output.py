"""The output forms of ``log``: lines for people, JSON lines, rows with named columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    integer,
    json_text,
    one_table,
    text,
    time_at,
)

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.commands.rows.query import RowsQuery
    from metashell.records.lines import LineWriter
    from metashell.records.messages import AnyRecords
    from metashell.records.rows import RecordRows
    from metashell.schema.arena import I64

TABLES: Final = one_table(
    integer("offset", "The record's offset."),
    time_at("time", "Its time."),
    integer("epoch", "Its leader epoch."),
    text("type", "Its type, as kafka-dump-log calls it."),
    integer("version", "The version of its type; null for control records.", shown=False),
    flag("control", "Whether Raft itself wrote it.", shown=False),
    text("topic", "The name of the topic that it says by id.", shown=False),
    json_text("data", "Its fields, a JSON object as kafka-dump-log prints it."),
    text("file", "The file that it is in.", shown=False),
    integer("pos", "Byte position of its batch there.", shown=False),
    text("error", "Why it can't be decoded.", shown=False),
    text("raw", "Then its bytes in hex, or what tells of them.", shown=False),
)
BATCHES: Final = AnswerTable(
    "-d DIR/TOPIC-N",
    (
        integer("base_offset", "The batch's first offset."),
        integer("last_offset", "Its last one."),
        time_at("max_timestamp", "The latest time of its records."),
        integer("epoch", "Its leader epoch."),
        integer("count", "How many records."),
        integer("bytes", "Its size."),
        text("codec", "How the records are compressed."),
        integer("producer_id", "The id of an idempotent producer, or -1."),
        integer("producer_epoch", "Its epoch.", shown=False),
        integer("base_sequence", "The producer's number of the first record.", shown=False),
        integer("last_sequence", "Of the last one.", shown=False),
        flag("transactional", "Whether it is part of a transaction."),
        flag("control", "Whether it is the marker that ends a transaction."),
        time_at("delete_horizon", "From when on compaction drops tombstones.", shown=False),
        text("timestamp_type", "CreateTime or LogAppendTime: whose clock it is.", shown=False),
        integer("magic", "The message format.", shown=False),
        text("crc", "The checksum in its header; `check` compares it.", shown=False),
        text("file", "The segment.", shown=False),
        integer("pos", "Byte position there.", shown=False),
    ),
)


class Printer(Protocol):
    """Writes records in one form."""

    def items(self, records: AnyRecords, rows: I64) -> Sequence[Any]:
        """The item to write for each record."""

    def write(self, items: Sequence[Any]) -> None:
        """Write some of them."""


class LinePrinter:
    """A line for each record.

    Args:
        context: Where to.
        writer: Makes the lines.
        batches: Whether the line of a batch goes before that of its first record.
        repeats: Whether it goes before its first record of those that are given together.
    """

    def __init__(
        self, context: Context, writer: LineWriter, *, batches: bool, repeats: bool
    ) -> None:
        self._context, self._writer, self._batches = context, writer, batches
        self._last_batch, self._repeats = ("", -1), repeats

    def items(self, records: AnyRecords, rows: I64) -> Sequence[str]:
        """Lines without their ends."""
        lines = self._writer.lines(records, rows)
        if not self._batches:
            return lines
        lines = list(lines)
        for i, batch, header in self._writer.batch_lines(records, rows):
            if self._repeats or batch != self._last_batch:
                self._last_batch, lines[i] = batch, f"{header}\n{lines[i]}"
        return lines

    def write(self, items: Sequence[str]) -> None:
        """Write lines."""
        if items:
            from metashell.records.written_lines import whole

            self._context.write(whole(items))


class RowPrinter:
    """A row for each record.

    Args:
        rows: Makes the rows.
        query: Takes them.
        columns: All columns.
    """

    def __init__(self, rows: RecordRows, query: RowsQuery, columns: Sequence[Column]) -> None:
        self._rows, self._query = rows, query
        self._columns = [c for c in columns if c.name in rows.columns]

    def items(self, records: AnyRecords, rows: I64) -> list[tuple[Any, ...]]:
        """Rows."""
        return self._rows.rows(records, rows)

    def write(self, items: Sequence[tuple[Any, ...]]) -> None:
        """Add rows."""
        from metashell.commands.rows.stream import table_of_values

        if not self._columns:
            # Only their number is asked for.
            self._query.add([{}] * len(items))
            return
        columns = zip(*items, strict=True)
        values = dict(zip(self._rows.columns, columns, strict=False))
        self._query.add(table_of_values(self._columns, values))
