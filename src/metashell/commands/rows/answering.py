"""The answer of a command in rows: asks for it, writes it, and says in a sentence how it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context, TableOutput
from metashell.commands.rows.columns import CLUSTER, DISK_BYTES
from metashell.commands.rows.query import HISTORY, RowsQuery, status_after
from metashell.commands.rows.sentences import is_for_screen, summary
from metashell.commands.rows.stream import RowWriter
from metashell.errors import ExitCode
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.framework.options import Parsed
    from metashell.commands.rows.columns import Column
    from metashell.commands.rows.command import RowsCommand


def _columns_here(
    columns: tuple[Column, ...], context: Context, parsed: Parsed
) -> tuple[Column, ...]:
    """The columns that a source has: bytes on disks only where a node's disks are open."""
    if DISK_BYTES not in columns or DISK_BYTES.name in " ".join(parsed.values.values()):
        return columns
    if context.source is not None and context.source.has_logs:
        return columns
    return tuple(column for column in columns if column is not DISK_BYTES)


def write_answer(command: RowsCommand, context: Context, parsed: Parsed) -> int:
    """Write the rows that a command's words ask for; returns the exit status."""
    columns = _columns_here(command.columns_of(parsed), context, parsed)
    asks_clusters = command.of_each_cluster and context.fleet is not None
    if asks_clusters:
        columns = (CLUSTER, *columns)
    shape = command.shape_of(parsed, columns)
    writer = RowWriter(context, columns, shape, holds=asks_clusters)
    remarks: list[str] = []
    query: RowsQuery | None = None
    if asks_clusters:
        from metashell.commands.rows.fleet import answers, with_cluster

        status = int(ExitCode.OK)
        for answered in answers(context, command, parsed, writer.looked_at):
            writer.add(with_cluster(answered))
            status = max(status, answered.status)
    else:
        query = RowsQuery(
            context=context,
            parsed=parsed,
            add=writer.add,
            warn=lambda text: context.warn(escape(f"{command.name}: {text}")),
            columns=shape.looked_at(),
            limit=None if shape.sort else shape.limit,
            streams=writer.streams,
            has_history=HISTORY in command.manual.options,
        )
        command.answer(query)
        status, remarks = query.status, query.remarks
    takes_table = isinstance(context.out, TableOutput)
    n_rows = writer.close(
        lambda table: (
            summary(command, parsed, table, query)
            if is_for_screen(context, shape, len(table))
            else ""
        ),
        is_told=status != ExitCode.OK and not takes_table,
    )
    context.n_rows = None if shape.count else n_rows
    is_empty_table = shape.form == "table" and not (n_rows or shape.count)
    if is_empty_table and not (status or remarks or takes_table):
        context.warn(escape(f"{command.name}: {command.nothing(parsed)}"))
    for remark in remarks:
        context.warn(escape(f"{command.name}: {remark}"))
    return status_after(parsed, n_rows, status)
