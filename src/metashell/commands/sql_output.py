"""The rows of a statement, written as all rows are; columns are known once it runs.

For programs they are written as they come, however many there are. A table for people, and sorted
rows, need all of them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from metashell.commands.rows import Column
from metashell.commands.rows_output import WRITERS, Shape, write_rows
from metashell.commands.sql_cells import as_cell_column, as_cells, column_names, empty_cells
from metashell.commands.targets import shown_text, stop_if_cancelled

if TYPE_CHECKING:
    from metashell.commands.base import Context
    from metashell.commands.options import Parsed
    from metashell.sql.result import Result

_PLAN = ["explain_key", "explain_value"]


def write_result(context: Context, result: Result, parsed: Parsed) -> int:
    """Write what a statement gave.

    Returns:
        The number of rows.

    Raises:
        UsageError: The options name columns that it has not.
    """
    schema, names = result.schema, column_names(result.schema)
    columns = tuple(Column(name, "") for name in names)
    shape = Shape.of(parsed, columns)
    if shape.count:
        n_rows = sum(int(batch.num_rows) for batch in result.batches)
        context.out.write(f"{n_rows}\n")
        return n_rows
    if shape.form == "table" and names == _PLAN:
        return _write_plan(context, result)
    if shape.form == "table" or shape.sort:
        whole = pa.Table.from_batches(list(result.batches), schema).combine_chunks()
        cells = pa.table([_cells(column) for column in whole.columns], names)
        return write_rows(context, cells, shape)
    n_rows = 0
    chosen = list(shape.columns)
    for text, n in _pieces(result, names, chosen, shape.form):
        stop_if_cancelled(context)
        context.out.write(text)
        n_rows += n
    return n_rows


def _cells(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.chunks
    return as_cell_column(chunks[0] if chunks else pa.array([], column.type))


def _write_plan(context: Context, result: Result) -> int:
    n_rows = 0
    for batch in result.batches:
        for text in batch.column(1).to_pylist():
            context.out.write(shown_text(context, text).rstrip("\n") + "\n")
            n_rows += 1
    return n_rows


def _pieces(
    result: Result, names: list[str], chosen: list[str], form: str
) -> Iterator[tuple[str, int]]:
    """Texts that together are the rows, each with how many rows it has."""
    if form == "json":
        yield from _json(result, names, chosen)
        return
    n_batches = 0
    for batch in result.batches:
        if not batch.num_rows:
            continue
        pieces = WRITERS[form](as_cells(batch, names).select(chosen))
        n_left = batch.num_rows
        for i, text in enumerate(pieces):
            # Columns are named once.
            if not (n_batches and i == 0 and form in ("csv", "tsv")):
                yield text, n_left
                n_left = 0
        n_batches += 1
    if not n_batches:
        for text in WRITERS[form](empty_cells(result.schema, names).select(chosen)):
            yield text, 0


def _json(result: Result, names: list[str], chosen: list[str]) -> Iterator[tuple[str, int]]:
    """One array; its objects are those of JSON lines, in which no line ends."""
    yield "[", 0
    between = "\n"
    for batch in result.batches:
        n_left = batch.num_rows
        for text in WRITERS["jsonl"](as_cells(batch, names).select(chosen)) if n_left else ():
            yield between + text.rstrip("\n").replace("\n", ",\n"), n_left
            between, n_left = ",\n", 0
    yield ("]\n" if between == "\n" else "\n]\n"), 0
