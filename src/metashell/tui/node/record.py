"""The record that last changed a node, as lines: what ``log`` says of it, and its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.commands.rows.cell_text import shown_texts
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.tui.node.value import ValueLine, value_lines
from metashell.tui.records.detail import hidden_raw
from metashell.tui.records.short_lines import hex_lines, with_words
from metashell.tui.rows.cells import row_at
from metashell.tui.text import error_message

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.source import Source

_FACTS: Final = ("offset", "time", "epoch", "type", "version", "control", "topic", "file", "pos")


def record_lines(cluster: Source, table: pa.Table) -> Iterator[ValueLine]:
    """The lines of a record.

    Args:
        cluster: Where it is from.
        table: Its row, with all columns that ``log`` has.
    """
    row = row_at(table, 0)
    facts = {}
    for name in _FACTS:
        if row[name] is not None and row[name] is not False:
            facts[name] = shown_texts(table.column(name))[0].as_py()
    width = max(map(len, facts))
    for name, text in facts.items():
        head = f"{name:<{width}}  "
        yield ValueLine(head + text, len(head), width + 2)
    data = None if row["data"] is None else json.loads(row["data"])
    if data:
        yield ValueLine("")
        yield ValueLine("data", 4)
        for line in value_lines(with_words(row["type"] or "", data)):
            yield ValueLine(f"  {line.text}", line.key + 2 if line.key else 0, line.indent + 2)
    if row["error"] is not None:
        yield ValueLine("")
        yield ValueLine(f"not decoded: {escape(row['error'])}")
    yield from _bytes(cluster, row["offset"], data)


def _bytes(cluster: Source, offset: int, data: Any) -> Iterator[ValueLine]:
    try:
        raw = raw_value(cluster, offset, data)
    except MetashellError as error:
        raw = error_message(error)
    if raw is None:
        return
    yield ValueLine("")
    if isinstance(raw, str):
        yield ValueLine(f"bytes  {raw}", 5)
        return
    yield ValueLine(f"bytes  {len(raw):,}", 5)
    for line in hex_lines(raw):
        yield ValueLine(f"  {line}", 6)


def raw_value(
    cluster: Source, offset: int, data: Mapping[str, object] | None
) -> bytes | str | None:
    """A record's whole value; why it is not shown, or None where it is not at hand.

    Args:
        cluster: Where it is from.
        offset: Its offset.
        data: Its decoded fields, None where it can't be decoded.
    """
    records = cluster.full_log.newest.image.records
    frames = records.frames
    for row in np.flatnonzero(frames.offset[:] == offset).tolist():
        if records.file_of(row).end_offset is not None:
            continue  # of a checkpoint, which counts for itself
        hidden = hidden_raw(records, cluster.redaction, row, data)
        return records.raw(row) if hidden is None else hidden
    return None
