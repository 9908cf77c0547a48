"""What ``log`` makes of records: lines for people, JSON lines, or rows with named columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.commands.rows_of import (
    Kind,
    integer,
    of_kind,
    one_table,
    text,
    time_at,
)
from metashell.commands.targets import shown_text

if TYPE_CHECKING:
    from metashell.commands.base import Context
    from metashell.commands.rows_stream import RowWriter
    from metashell.image.log_lines import LineWriter
    from metashell.image.log_rows import RecordRows
    from metashell.image.records import Records
    from metashell.schema.arena import I64

TABLES: Final = one_table(
    integer("offset", "The record's offset."),
    time_at("time", "Its time."),
    integer("epoch", "Its leader epoch."),
    text("type", "Its type, as kafka-dump-log calls it."),
    integer("version", "The version of its type; null for control records.", shown=False),
    of_kind(Kind.FLAG, "control", "Whether Raft itself wrote it.", shown=False),
    text("topic", "The name of the topic that it says by id.", shown=False),
    of_kind(Kind.JSON_TEXT, "data", "Its fields, a JSON object as kafka-dump-log prints it."),
    text("file", "The file that it is in.", shown=False),
    integer("pos", "Byte position of its batch there.", shown=False),
    text("error", "Why it can't be decoded.", shown=False),
    text("raw", "Then its bytes in hex.", shown=False),
)


class Printer(Protocol):
    """Writes records in one form."""

    def items(self, records: Records, rows: I64) -> Sequence[Any]:
        """What is written of each record."""

    def write(self, items: Sequence[Any]) -> None:
        """Write some of them."""

    def close(self) -> int | None:
        """Write what stands at the end; returns the number of rows where they are counted."""


class LinePrinter:
    """A line for each record.

    Args:
        context: Where to.
        writer: Makes the lines.
        batches: Whether the line of a batch goes before that of its first record.
    """

    def __init__(self, context: Context, writer: LineWriter, *, batches: bool) -> None:
        self._context, self._writer, self._batches = context, writer, batches

    def items(self, records: Records, rows: I64) -> list[str]:
        """Lines without their ends."""
        lines = self._writer.lines(records, rows)
        if not self._batches:
            return lines
        headers = self._writer.batch_lines(records, rows)
        return [
            line if header is None else f"{header}\n{line}"
            for header, line in zip(headers, lines, strict=True)
        ]

    def write(self, items: Sequence[str]) -> None:
        """Write lines."""
        if items:
            self._context.out.write(shown_text(self._context, "\n".join(items) + "\n"))

    def close(self) -> None:
        """Nothing: lines stand for themselves."""


class RowPrinter:
    """A row for each record.

    Args:
        context: Where to.
        rows: Makes the rows.
        writer: Writes them.
        flush: Whether each piece must be out at once.
    """

    def __init__(
        self, context: Context, rows: RecordRows, writer: RowWriter, *, flush: bool
    ) -> None:
        self._context, self._rows, self._writer, self._flush = context, rows, writer, flush

    def items(self, records: Records, rows: I64) -> list[tuple[Any, ...]]:
        """Rows."""
        return self._rows.rows(records, rows)

    def write(self, items: Sequence[tuple[Any, ...]]) -> None:
        """Write or keep rows."""
        columns = zip(*items, strict=True)
        self._writer.add_columns(len(items), dict(zip(self._rows.columns, columns, strict=False)))
        if self._flush:
            self._context.out.flush()

    def close(self) -> int:
        """Write what was kept."""
        return self._writer.close()
