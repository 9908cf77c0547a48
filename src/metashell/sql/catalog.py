"""The tables of one cluster, or those of a fleet with the name of the cluster in front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from metashell.errors import UnknownNameError, UsageError
from metashell.image.image import Image
from metashell.log.fault import Fault
from metashell.log.unread import OnFault, Unread, UnreadReport
from metashell.parts.known import all_parts
from metashell.schema.model import Registry
from metashell.spelling import did_you_mean, near_names
from metashell.sql.dataset import RowBatches
from metashell.sql.tables import (
    Batches,
    TableInfo,
    find_name,
    image_names,
    message_names,
    read_table,
    table_info,
    with_cluster,
)

if TYPE_CHECKING:
    from metashell.sources.coordinator_tables import CoordinatorTables, SourceTables
    from metashell.sources.source import Source

CLUSTER: Final = pa.field("cluster", pa.string())
"""The first column of every table of a fleet."""
NO_METADATA_LOG: Final = "no metadata log there"
"""Told of a cluster of a fleet that has no rows of the image, or of the log."""

Gives: TypeAlias = "Callable[[], CoordinatorTables | None]"
"""Gives the tables of coordinators' logs; None where there are none."""


def _nothing() -> None:
    return None


Clusters: TypeAlias = "Callable[[], Iterator[tuple[str, Source]]]"
TablesOf: TypeAlias = "Callable[[Source], SourceTables | None]"
"""Gives the tables of a source beside those of its metadata log."""


def _own_tables(source: Source) -> SourceTables | None:
    return source.coordinator_tables


class TableNames:
    """Which tables there are, without any rows.

    Args:
        registry: Message definitions.
        of_fleet: Whether the name of the cluster stands in front.
        more: Gives the tables of coordinators' logs that are here.
        elsewhere: Gives those that a broker's log directory has.
        has_image: Whether there is a metadata log.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        of_fleet: bool,
        more: Gives = _nothing,
        elsewhere: Gives = _nothing,
        has_image: bool = True,
    ) -> None:
        self._registry, self._of_fleet, self._has_image = registry, of_fleet, has_image
        self._give_more, self._elsewhere = more, elsewhere

    @cached_property
    def _more(self) -> CoordinatorTables | None:
        return self._give_more()

    @property
    def listed(self) -> Sequence[str]:
        """Tables that are listed before the record types."""
        more = () if self._more is None else self._more.states
        return (*(image_names() if self._has_image else ()), *more)

    @property
    def names(self) -> Sequence[str]:
        """All of them."""
        more = () if self._more is None else self._more.messages
        return (*self.listed, *(message_names(self._registry) if self._has_image else ()), *more)

    def find(self, name: str) -> str | None:
        """A table's own name, whatever the case; None where there is none."""
        # Without a metadata log its tables are found, too: who reads them is told what is missing.
        return find_name(self._registry, name) or self._find_more(name)

    def _find_more(self, name: str) -> str | None:
        return None if self._more is None else self._more.find(name)

    def info(self, name: str) -> TableInfo:
        """A table's columns.

        Raises:
            KeyError: There is no such table.
        """
        own = table_info(self._registry, name, self._more)
        if not self._of_fleet:
            return own
        return TableInfo(own.name, own.help, pa.schema([CLUSTER, *own.schema]))

    def missing(self, name: str) -> UsageError:
        """The error for a name that no table has."""
        return no_table(name, self.names, self._elsewhere())


class ClusterCatalog(TableNames):
    """The tables of one cluster.

    Args:
        source: The cluster.
        image: Gives the image that its tables show.
        elsewhere: See `TableNames`.
        tables: Gives its tables beside those of its metadata log.
    """

    def __init__(
        self,
        source: Source,
        image: Callable[[], Image],
        elsewhere: Gives = _nothing,
        tables: TablesOf = _own_tables,
    ) -> None:
        super().__init__(
            source.registry,
            of_fleet=False,
            more=lambda: tables(source),
            elsewhere=elsewhere,
            has_image=source.capabilities.has_image,
        )
        self._source, self._image, self._tables = source, image, tables

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> RowBatches:
        """Some columns of a table; errors as `read_table`."""
        tables, report = self._tables(self._source), UnreadReport(unread)
        return read_table(
            self._source, tables, self._image, name, columns, poll, unread.add, report
        )


class FleetCatalog(TableNames):
    """The tables of all clusters of a fleet.

    Args:
        clusters: Gives each cluster that can be read, with its name.
        registry: Message definitions of all clusters.
        image: Gives the image that a cluster's tables show.
        more: See `TableNames`.
        elsewhere: See `TableNames`.
        tables: See `ClusterCatalog`.
    """

    def __init__(
        self,
        clusters: Clusters,
        registry: Registry,
        image: Callable[[Source], Image],
        more: Gives = _nothing,
        elsewhere: Gives = _nothing,
        tables: TablesOf = _own_tables,
    ) -> None:
        super().__init__(registry, of_fleet=True, more=more, elsewhere=elsewhere)
        self._clusters, self._image, self._tables = clusters, image, tables

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> Batches:
        """Some columns of a table of each cluster, one cluster after another."""
        whole = self.info(name).schema
        schema = pa.schema([whole.field(column) for column in columns])
        # Something has to be read to know how many rows there are.
        own = [column for column in columns if column != CLUSTER.name] or [whole.names[1]]
        for cluster, source in self._clusters():
            poll()
            image, told = partial(self._image, source), _told_of(unread, cluster)
            report = UnreadReport(unread, cluster)
            if not source.capabilities.has_image and find_name(self._registry, name) is not None:
                report.unread(NO_METADATA_LOG)
                continue
            rows = read_table(source, self._tables(source), image, name, own, poll, told, report)
            yield from with_cluster(cluster, rows, schema)


Catalog: TypeAlias = ClusterCatalog | FleetCatalog
"""The tables that statements can name."""


def _told_of(unread: Unread, cluster: str) -> OnFault:
    def told(fault: Fault, is_known: bool) -> None:
        unread.add(fault, is_known, cluster)

    return told


def no_table(
    name: str, names: Iterable[str], elsewhere: CoordinatorTables | None = None
) -> UsageError:
    """The error for a name that no table has.

    Args:
        name: The name.
        names: The tables that there are.
        elsewhere: The tables of coordinators' logs that a broker's log directory has.
    """
    if elsewhere is not None and elsewhere.find(name) is not None:
        return UsageError(
            f"there is no table {name} here: it is made of a broker's logs",
            hint="`metashell -d DIR` opens a broker's log directory",
        )
    of_commands = {part.described.words: part.table_name for part in all_parts() if part.described}
    near = [of_commands[name]] if name in of_commands else near_names(name, names, 1)
    hint = did_you_mean(near) or "`sql .tables` lists them"
    return UnknownNameError(f"there is no table {name}", hint=hint)
