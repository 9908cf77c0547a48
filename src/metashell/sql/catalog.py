"""The tables of one cluster, or those of a fleet with the name of the cluster in front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa

from metashell.errors import UsageError
from metashell.image.image import Image
from metashell.log.fault import Fault
from metashell.log.unread import Told, Unread, UnreadReport
from metashell.parts.known import all_parts
from metashell.schema.model import Registry
from metashell.spelling import did_you_mean, near_names
from metashell.sql.dataset import RowBatches
from metashell.sql.tables import (
    Batches,
    MoreTables,
    TableInfo,
    TableSource,
    find_name,
    image_names,
    message_names,
    read_table,
    table_info,
    with_cluster,
)

CLUSTER: Final = pa.field("cluster", pa.string())
"""The first column of every table of a fleet."""
NO_METADATA_LOG: Final = "no metadata log there"
"""Told of a cluster of a fleet that has no rows of the image, or of the log."""

Gives = Callable[[], MoreTables | None]
"""Gives the tables of coordinators' logs; None where there are none."""


def _nothing() -> None:
    return None


Clusters = Callable[[], Iterator[tuple[str, TableSource]]]


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
    def _more(self) -> MoreTables | None:
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
    """

    def __init__(
        self, source: TableSource, image: Callable[[], Image], elsewhere: Gives = _nothing
    ) -> None:
        super().__init__(
            source.registry,
            of_fleet=False,
            more=lambda: source.coordinator_tables,
            elsewhere=elsewhere,
            has_image=source.capabilities.has_image,
        )
        self._source, self._image = source, image

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> RowBatches:
        """Some columns of a table; errors as `read_table`."""
        return read_table(
            self._source, self._image, name, columns, poll, unread.add, UnreadReport(unread)
        )


class FleetCatalog(TableNames):
    """The tables of all clusters of a fleet.

    Args:
        clusters: Gives each cluster that can be read, with its name.
        registry: Message definitions of all clusters.
        image: Gives the image that a cluster's tables show.
        more: See `TableNames`.
        elsewhere: See `TableNames`.
    """

    def __init__(
        self,
        clusters: Clusters,
        registry: Registry,
        image: Callable[[TableSource], Image],
        more: Gives = _nothing,
        elsewhere: Gives = _nothing,
    ) -> None:
        super().__init__(registry, of_fleet=True, more=more, elsewhere=elsewhere)
        self._clusters, self._image = clusters, image

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> RowBatches:
        """Some columns of a table of each cluster, one cluster after another."""
        return self._read(name, columns, poll, unread)

    def _read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> Batches:
        whole = self.info(name).schema
        schema = pa.schema([whole.field(column) for column in columns])
        # Something has to be read to know how many rows there are.
        own = [column for column in columns if column != CLUSTER.name] or [whole.names[1]]
        for cluster, source in self._clusters():
            poll()
            image, told = _image_of(self._image, source), _told_of(unread, cluster)
            report = UnreadReport(unread, cluster)
            if not source.capabilities.has_image and find_name(self._registry, name) is not None:
                report.unread(NO_METADATA_LOG)
                continue
            rows = read_table(source, image, name, own, poll, told, report)
            yield from with_cluster(cluster, rows, schema)


def _told_of(unread: Unread, cluster: str) -> Told:
    def told(fault: Fault, is_known: bool) -> None:
        unread.add(fault, is_known, cluster)

    return told


def _image_of(image: Callable[[TableSource], Image], source: TableSource) -> Callable[[], Image]:
    return lambda: image(source)


def no_table(name: str, names: Iterable[str], elsewhere: MoreTables | None = None) -> UsageError:
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
    return UsageError(f"there is no table {name}", hint=hint)
