"""The rows of a statement, written as all rows are; columns are known once it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.commands.rows.columns import Column
from metashell.commands.rows.output import Shape
from metashell.commands.rows.stream import RowWriter
from metashell.commands.sql.cells import as_cells, column_names, empty_cells

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.commands.framework.options import Parsed
    from metashell.sql.result import Result

_PLAN = ["explain_key", "explain_value"]


def write_result(context: Context, result: Result, parsed: Parsed) -> int:
    """Write what a statement gave.

    Returns:
        The number of rows.

    Raises:
        UsageError: The options name columns that it has not.
    """
    names = column_names(result.schema)
    columns = tuple(Column(name, "") for name in names)
    shape = Shape.of(parsed, columns)
    if shape.form == "table" and names == _PLAN and not shape.count:
        return _write_plan(context, result)
    writer = RowWriter(context, columns, shape, empty=lambda: empty_cells(result.schema, names))
    for batch in result.batches:
        if batch.num_rows:
            writer.add(as_cells(batch, names))
    n_rows = writer.close()
    if not n_rows and shape.form == "table" and not shape.count:
        context.warn("sql: the statement gives no rows")
    return n_rows


def _write_plan(context: Context, result: Result) -> int:
    n_rows = 0
    for batch in result.batches:
        for text in batch.column(1).to_pylist():
            context.write(text.rstrip("\n") + "\n")
            n_rows += 1
    return n_rows
