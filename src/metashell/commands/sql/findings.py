"""The table ``findings`` of SQL: the rows of ``health``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.health.rows import TYPES
from metashell.sql.tables import MoreTables, ReadTables, TableReport, with_sql_times

if TYPE_CHECKING:
    from metashell.sources.source import Source

_NAME: Final = "findings"
_SCHEMA: Final = pa.schema(
    [
        (name, kind.value_type if pa.types.is_dictionary(kind) else kind)
        for name, kind in TYPES.items()
    ]
)


class FindingTables:
    """The table of findings beside those of coordinators' logs.

    Args:
        more: The tables of coordinators' logs; None where there are none.
        source: The source of the rows; None where only names are asked for.
    """

    def __init__(self, more: MoreTables | None, source: Source | None = None) -> None:
        self._more, self._source = more, source

    @property
    def states(self) -> Sequence[str]:
        """Tables of states, sorted."""
        return sorted([*(() if self._more is None else self._more.states), _NAME])

    @property
    def messages(self) -> Sequence[str]:
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
        self, name: str, columns: Sequence[str], poll: Callable[[], None], report: TableReport
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of a table."""
        if name != _NAME:
            assert self._source is not None
            more: ReadTables | None = self._source.coordinator_tables
            yield from () if more is None else more.read(name, columns, poll, report)
            return
        from metashell.commands.health.verdict import findings_of

        assert self._source is not None
        context = Context(
            root=self._source.root, out=Nowhere(), warn=report.unread, source=self._source
        )
        found = findings_of(context, columns)
        poll()
        if found is not None:
            schema = pa.schema([_SCHEMA.field(column) for column in columns])
            yield from with_sql_times(found.cast(schema), report.remark).to_batches()


class JudgedSource:
    """A source whose tables have the findings too."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    @property
    def coordinator_tables(self) -> FindingTables:
        """The tables of coordinators' logs and of findings."""
        return FindingTables(self._source.coordinator_tables, self._source)
