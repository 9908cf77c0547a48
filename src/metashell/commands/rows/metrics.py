"""Rows as metrics in Prometheus' text format 0.0.4, for a collector of text files.

A measure is a gauge ``metashell_<command>_<column>``. The labels of a row tell it from others; of
rows with the same labels the measures are added up. Times are seconds since the epoch, in a metric
with ``_seconds`` behind its name. A cell that is null has no sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_text import plain_texts, replaced
from metashell.commands.rows.columns import Column
from metashell.dataclass import dataclass

_IN_LABELS: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The metrics that a table of a command has."""

    command: str
    labels: tuple[str, ...]
    """Columns that tell a row."""
    measures: tuple[str, ...]
    """Columns of numbers, flags and times."""


def metrics_text(table: pa.Table, columns: Sequence[Column], of: Metrics) -> Iterator[str]:
    """The metrics of rows.

    Args:
        table: The rows, with the labels and measures that are wanted.
        columns: All columns of the answer, for their meaning.
        of: Which columns are what.
    """
    known = {column.name: column for column in columns}
    labels = [name for name in of.labels if name in table.column_names]
    texts = {name: replaced(plain_texts(table.column(name)), _IN_LABELS) for name in labels}
    for name in of.measures:
        if name not in table.column_names:
            continue
        column = table.column(name)
        is_time = pa.types.is_timestamp(column.type)
        values = pc.divide(column.cast(pa.int64()), 1000.0) if is_time else _numbers(column)
        metric = f"metashell_{of.command.replace('-', '_')}_{name}{'_seconds' if is_time else ''}"
        yield f"# HELP {metric} {_help(known[name].help)}\n# TYPE {metric} gauge\n"
        yield from _samples(metric, texts, values)


def _samples(metric: str, labels: Mapping[str, pa.Array], values: pa.ChunkedArray) -> Iterator[str]:
    rows = pa.table({**labels, "": values}).filter(pc.is_valid(values))
    if not len(rows):
        return
    if labels:
        rows = rows.group_by(list(labels), use_threads=False).aggregate([("", "sum")])
    else:
        rows = pa.table({"_sum": [pc.sum(rows.column("")).as_py()]})
    for row in rows.to_pylist():
        value = row.pop("_sum")
        tags = ",".join(f'{name}="{text or ""}"' for name, text in row.items())
        yield f"{metric}{{{tags}}} {value}\n" if tags else f"{metric} {value}\n"


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_boolean(column.type) else column


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", " ")
