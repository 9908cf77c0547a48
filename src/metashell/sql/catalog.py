"""The tables of one cluster, or those of a fleet with the name of the cluster in front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from metashell.errors import UsageError
from metashell.image.image import Image
from metashell.log.fault import Fault
from metashell.log.unread import Told, Unread
from metashell.schema.registry import Registry
from metashell.spelling import did_you_mean, near_names
from metashell.sql.dataset import RowBatches
from metashell.sql.tables import (
    Batches,
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

Clusters = Callable[[], Iterator[tuple[str, TableSource]]]


class TableNames:
    """Which tables there are, without any rows.

    Args:
        registry: Message definitions.
        of_fleet: Whether the name of the cluster stands in front.
    """

    def __init__(self, registry: Registry, *, of_fleet: bool) -> None:
        self._registry, self._of_fleet = registry, of_fleet
        self.listed = image_names()
        """Those that are listed before the record types."""
        self.names = (*self.listed, *message_names(registry))
        """All of them."""

    def find(self, name: str) -> str | None:
        """A table's own name, whatever the case; None where there is none."""
        return find_name(self._registry, name)

    def info(self, name: str) -> TableInfo:
        """A table's columns.

        Raises:
            KeyError: There is no such table.
        """
        own = table_info(self._registry, name)
        if not self._of_fleet:
            return own
        return TableInfo(own.name, own.help, pa.schema([CLUSTER, *own.schema]))


class ClusterCatalog(TableNames):
    """The tables of one cluster.

    Args:
        source: The cluster.
        image: What the image's tables show.
    """

    def __init__(self, source: TableSource, image: Callable[[], Image]) -> None:
        super().__init__(source.registry, of_fleet=False)
        self._source, self._image = source, image

    def read(
        self, name: str, columns: Sequence[str], poll: Callable[[], None], unread: Unread
    ) -> RowBatches:
        """Some columns of a table; errors as `read_table`."""
        return read_table(self._source, self._image, name, columns, poll, unread.add)


class FleetCatalog(TableNames):
    """The tables of all clusters of a fleet.

    Args:
        clusters: Gives each cluster that can be read, with its name.
        registry: Message definitions of all.
        image: Gives what a cluster's tables of the image show.
    """

    def __init__(
        self, clusters: Clusters, registry: Registry, image: Callable[[TableSource], Image]
    ) -> None:
        super().__init__(registry, of_fleet=True)
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
            rows = read_table(source, image, name, own, poll, told)
            yield from with_cluster(cluster, rows, schema)


def _told_of(unread: Unread, cluster: str) -> Told:
    def told(fault: Fault, is_known: bool) -> None:
        unread.add(fault, is_known, cluster)

    return told


def _image_of(image: Callable[[TableSource], Image], source: TableSource) -> Callable[[], Image]:
    return lambda: image(source)


def no_table(name: str, names: Iterable[str]) -> UsageError:
    """The error for a name that no table has."""
    hint = did_you_mean(near_names(name, names, 1)) or "`sql .tables` lists them"
    return UsageError(f"there is no table {name}", hint=hint)
