"""The answer of ``fleet``: rows of directories, and a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.fleet.columns import COORDINATORS, TABLES, TEXT_COLUMNS, VERIFY, VOTES
from metashell.commands.fleet.verify import verify
from metashell.commands.fleet.votes import vote_rows
from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed, one_of
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import NOT_ZERO, CellKind, Column, Shrink
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.rows.query import RowsQuery
from metashell.commands.rows.stream import cells, table_of_mappings
from metashell.errors import ExitCode, UsageError
from metashell.sources.fleet.errors import FIELDS
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of, row_of

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.fleet.command import FleetCommand
    from metashell.sources.fleet.errors import FleetRow

_HEADER: Final = (
    "NAME",
    "CLUSTER",
    "NODE",
    "BROKERS",
    "FENCED",
    "TOPICS",
    "PARTITIONS",
    "OFFLINE",
    "UNDER",
    "VERSION",
    "OFFSET",
    "LOG-EPOCH",
    "LOG-END-OFFSET",
    "TIME",
    "FAULTS",
)

_PRIORITIES: Final = (9, 1, 3, 4, 7, 3, 5, 8, 7, 5, 2, 2, 2, 6, 8)
"""The priorities of the columns of `_HEADER`, in their order."""

_RED: Final = frozenset({"fenced", "offline", "faults"})

_YELLOW: Final = frozenset({"under-replicated"})

_KINDS: Final = {
    "name": CellKind.TEXT,
    "cluster": CellKind.TEXT,
    "version": CellKind.TEXT,
    "time": CellKind.TIME,
    "faults": CellKind.TEXT,
}
"""Kinds of the columns that are not whole numbers."""

_ASCENDING: Final = frozenset({"name", "cluster", "node", "version"})

_KEYS: Final = {"cluster": "name", "time": "timestamp"}
"""Keys of a row where they are not the column's name in camel case."""


def answer(query: RowsQuery) -> None:
    """A row for each directory."""
    if VERIFY in query.parsed.switches:
        compared = verify(query.context)
        query.add(compared.mappings())
        query.status = compared.status
        return
    if COORDINATORS in query.parsed.switches:
        # The explorer's view of a fleet reads no coordinator's log.
        from metashell.commands.fleet.replicas import replica_rows

        replica_rows(query)
        return
    if VOTES in query.parsed.switches:
        vote_rows(query)
        return
    rows = _sorted(_rows(query.context), "name")
    query.add(map(_mapping, rows))
    query.status = _status(rows)


def write_text(command: FleetCommand, context: Context, parsed: Parsed) -> int:
    """A line for each directory."""
    sort = parsed.values.get("--sort")
    if not parsed.switches.isdisjoint((COORDINATORS, VOTES)):
        return command.write_rows(context, parsed)
    if VERIFY in parsed.switches:
        if sort is not None:
            raise UsageError("--sort is not for --verify", hint=f"usage: {command.manual.synopsis}")
        compared = verify(context)
        write_table(context, compared.table(context))
        return compared.status
    rows = _sorted(_rows(context), one_of("--sort", sort or "name", tuple(TEXT_COLUMNS)))
    write_table(context, _table(context, rows))
    return _status(rows)


def rows_table(rows: Sequence[FleetRow]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    columns = TABLES[0].columns
    return with_colours(table_of_mappings(columns, [_mapping(row) for row in rows]), columns)


def _mapping(row: FleetRow) -> dict[str, str | int | None]:
    names = [column.name for column in TABLES[0].columns]
    return {name: row.get(_KEYS.get(name, _camel(name))) for name in names}


def _status(rows: Sequence[FleetRow]) -> int:
    is_sound = all(row["error"] is None and not row["faults"] for row in rows)
    return ExitCode.OK if is_sound else ExitCode.FAILED


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(context: Context) -> list[FleetRow]:
    """A row for each directory, by name."""
    fleet = context.fleet
    if fleet is not None:
        return fleet.rows(stop=lambda: stop_if_cancelled(context))
    # A reduced log suffices for a row.
    source = context.source or context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    row = {**row_of(source), "directory": source.path, "error": None}
    return [{"name": name, **{key: row[key] for key in FIELDS}}]


def _sorted(rows: list[FleetRow], by: str) -> list[FleetRow]:
    """Rows in the order asked for: those of which it is not known last, equal ones by name."""
    key = TEXT_COLUMNS[by]
    if by == "faults":
        # Directories that can't be read are the worst and come first.
        return sorted(rows, key=lambda row: (row["error"] is None, -int(row["faults"] or 0)))
    known = [row for row in rows if row[key] is not None]
    known.sort(key=lambda row: row[key], reverse=by not in _ASCENDING)  # type: ignore[arg-type,return-value]
    return known + [row for row in rows if row[key] is None]


def _table(context: Context, rows: Sequence[FleetRow]) -> Table:
    """The rows as people see them; why a directory can't be read stands in place of its faults."""
    columns = []
    for (name, key), header, priority in zip(
        TEXT_COLUMNS.items(), _HEADER, _PRIORITIES, strict=True
    ):
        values: list[Any] = [row[key] for row in rows]
        kind = _KINDS.get(name, CellKind.INTEGER)
        if name == "faults":
            values = [
                str(row["error"] if row["error"] is not None else n)
                for row, n in zip(rows, values, strict=True)
            ]
        shrink = Shrink.WRAP if name == "faults" else Shrink.MIDDLE
        column = Column(
            name.replace("-", "_"),
            "",
            kind,
            priority=priority,
            shrink=shrink,
            red=NOT_ZERO if name in _RED else (),
            yellow=NOT_ZERO if name in _YELLOW else (),
        )
        columns.append((column, cells(kind, values), header))
    return Table.of_columns(columns, short=context.out.is_terminal)
