"""The runners of statements of `sql`: DuckDB here, or the delegate that has the source's log.

Kept in `Context.kept` from one statement to the next, so that what a session made stays and no
connection is opened twice; the tables follow the source.

The table ``findings`` of SQL: the rows of ``health``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.commands.framework.cluster import member_at, opened_here
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.health.rows import TYPES
from metashell.dataclass import dataclass
from metashell.errors import SourceError, UsageError
from metashell.schema.model import load_registry
from metashell.sources.coordinator_tables import CoordinatorTables, SourceTables
from metashell.sql.catalog import Catalog, ClusterCatalog, FleetCatalog, TableNames
from metashell.sql.duck import Database
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.sources.coordinator_logs import ReadReport
    from metashell.sources.delegate import StatementRunner
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

_NAME: Final = "findings"
_SCHEMA: Final = pa.schema(
    [
        (name, kind.value_type if pa.types.is_dictionary(kind) else kind)
        for name, kind in TYPES.items()
    ]
)


class FindingTables(SourceTables):
    """The table of findings beside those of coordinators' logs.

    Args:
        more: The tables of coordinators' logs; None where there are none.
        source: The source of the rows; None where only names are asked for.
    """

    def __init__(self, more: CoordinatorTables | None, source: Source | None = None) -> None:
        self._more, self._of = more, source
        self.states = tuple(sorted([*(() if more is None else more.states), _NAME]))

    @property
    def messages(self) -> tuple[str, ...]:
        """Tables of record types, sorted."""
        return () if self._more is None else self._more.messages

    def find(self, name: str) -> str | None:
        """A table's own name, whatever the case."""
        if name.casefold() == _NAME:
            return _NAME
        return None if self._more is None else self._more.find(name)

    def help(self, name: str) -> str:
        """The description of a table."""
        if name == _NAME or self._more is None:
            return "What is wrong, as `health` has it: a row for each kind and subject."
        return self._more.help(name)

    def schema(self, name: str) -> pa.Schema:
        """A table's columns; a KeyError where there is no such table."""
        if name == _NAME:
            return _SCHEMA
        if self._more is None:
            raise KeyError(name)
        return self._more.schema(name)

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], report: ReadReport
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of a table."""
        assert self._of is not None
        if name != _NAME:
            more = self._of.coordinator_tables
            yield from () if more is None else more.read(name, columns, poll, report)
            return
        from metashell.commands.health.verdict import findings_of

        context = Context(root=self._of.root, out=Nowhere(), warn=report.unread, source=self._of)
        found = findings_of(context, columns)
        poll()
        if found is not None:
            schema = pa.schema([_SCHEMA.field(column) for column in columns])
            yield from with_sql_times(found.cast(schema), report.remark).to_batches()


_KEY: Final = "sql"


@dataclass(slots=True)
class _Kept:
    """A database, and what its tables show."""

    key: tuple[object, ...] = ()
    catalog: Catalog | None = None
    database: Database | None = None
    names: tuple[tuple[object, ...], TableNames] | None = None


def runner(context: Context, *, history: bool) -> StatementRunner:
    """The runner of statements over the source of this context.

    Args:
        context: In a fleet, its current directory says which clusters.
        history: Whether the image's tables show one folded from the oldest state.

    Raises:
        UsageError: No source is open.
        SourceError: It can't be read.
    """
    opened = _opened(context)
    delegated = opened.delegate(lambda they: they.statements(context.cwd))
    if delegated is not None:
        if history:
            raise UsageError(
                "--history runs in this process, not in Spark",
                hint="leave out `--engine spark`",
            )
        return delegated

    kept = _kept(context)
    here = _member_name(context)
    key = (opened, here, history)
    if kept.catalog is None or kept.key != key:
        kept.key, kept.catalog = key, _catalog(context, history)
    if kept.database is None:
        kept.database = Database(kept.catalog)
    kept.database.use(kept.catalog)
    return kept.database


def names_of(context: Context) -> TableNames:
    """Which tables there are, without rows of any."""
    opened, kept = _opened(context), _kept(context)
    try:
        here = opened_here(context) or opened
    except SourceError:  # Whoever asks for rows is told.
        here = opened
    of_fleet = here is context.fleet
    key = (opened.settings.schemas, here)
    if kept.names is None or kept.names[0] != key:
        kept.names = (
            key,
            TableNames(
                load_registry(opened.settings.schemas),
                of_fleet=of_fleet,
                more=lambda: FindingTables(here.coordinator_tables),
                elsewhere=_elsewhere(opened),
                has_image=of_fleet or here.capabilities.has_image,
            ),
        )
    return kept.names[1]


def _elsewhere(opened: Source | FleetSource) -> Callable[[], CoordinatorTables]:
    """Gives the tables that a broker's log directory has."""

    def tables() -> CoordinatorTables:
        return CoordinatorTables(tuple(opened.settings.schemas))

    return tables


def _opened(context: Context) -> Source | FleetSource:
    if context.opened is None:
        raise UsageError("no source given", hint="`metashell -d DIR` opens a metadata log")
    return context.opened


def _kept(context: Context) -> _Kept:
    kept: _Kept = context.kept.setdefault(_KEY, _Kept())
    return kept


def _member_name(context: Context) -> str | None:
    """The cluster of a fleet that the current directory is in."""
    if context.fleet is None:
        return None

    member = member_at(context.fleet, context.cwd)
    return None if member is None else member.name


def _catalog(context: Context, history: bool) -> Catalog:
    fleet, here = context.fleet, _member_name(context)
    if fleet is None:
        assert context.source is not None
        maker = _image_maker(context.source, history)
        return ClusterCatalog(context.source, maker, _elsewhere(context.source), _judged)
    if here is not None:
        member = fleet.members[here].source()
        maker = _image_maker(member, history)
        return ClusterCatalog(member, maker, _elsewhere(member), _judged)

    # DuckDB holds on to this, so it must know of nothing that holds on to DuckDB.
    return FleetCatalog(
        _clusters_of(fleet),
        load_registry(tuple(fleet.settings.schemas)),
        lambda source: _image_maker(source, history)(),
        lambda: FindingTables(fleet.coordinator_tables),
        _elsewhere(fleet),
        _judged,
    )


def _judged(source: Source) -> FindingTables:
    return FindingTables(source.coordinator_tables, source)


def _clusters_of(fleet: FleetSource) -> Callable[[], Iterator[tuple[str, Source]]]:
    def clusters() -> Iterator[tuple[str, Source]]:
        for member in fleet.members.values():
            try:
                source = member.source()
            except SourceError:
                continue  # Told by who runs commands on fleets.
            yield member.name, source

    return clusters


def _image_maker(source: Source, history: bool) -> Callable[[], Image]:
    return lambda: source.full_log.history_image if history else source.image
