"""Replicas in log directories that failed, or that their broker does not have online.

Source: org.apache.kafka.common.DirectoryId, org.apache.kafka.metadata.BrokerRegistration.
"""

from __future__ import annotations

import weakref
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.cluster import Brokers
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.id_table import hash_ids, id_pairs
from metashell.schema.uuids import LOST

_LARGEST_TABLE: Final = 1 << 22
"""Broker ids below it are looked up in a table."""


@dataclass(frozen=True, slots=True)
class BadReplicas:
    """``row``: int64[n], the partition; ``broker``: int32[n]; ``lost``: bool[n], else offline."""

    row: I64
    broker: AnyArray
    lost: Bools


_FOUND: Final[weakref.WeakKeyDictionary[Image, BadReplicas]] = weakref.WeakKeyDictionary()


def bad_replicas(image: Image) -> BadReplicas:
    """Replicas whose directory is lost, or is none that their broker registered."""
    found = _FOUND.get(image)
    if found is None:
        found = _FOUND[image] = _bad_replicas(image)
    return found


def _bad_replicas(image: Image) -> BadReplicas:
    partitions, registered = image.partitions, image.brokers
    owners, bounds = partitions.list_column("replicas").gather()
    column = partitions.list_column("directories")
    n_replicas = np.diff(bounds)
    # Elsewhere nothing says which replica a directory is of.
    told = ~partitions.directories_default & (column.counts == n_replicas)
    if not told.any():
        nothing = np.empty(0, dtype=np.int64)
        return BadReplicas(nothing, owners[:0], nothing.astype(np.bool_))
    if told.all():
        directories, _ = column.gather()
    else:
        directories, _ = column.take(np.flatnonzero(told)).gather()
        owners = owners[np.repeat(told, n_replicas)]
    pairs = id_pairs(directories)
    reserved = np.flatnonzero(pairs[:, 0] == 0)
    low = pairs[reserved, 1].byteswap()
    lost = reserved[low == LOST[-1]]
    strange = ~_among(directories, owners, registered)
    strange[reserved[low <= LOST[-1]]] = False
    at = np.flatnonzero(strange)
    # Of a broker that registered none, which is of before there were directories, all are
    # online.
    at = at[np.isin(owners[at], registered.ids[registered.log_dirs.counts > 0])]
    both = np.concatenate([at, lost])
    rows = np.flatnonzero(told)
    ends = np.cumsum(n_replicas[rows])
    is_lost = np.arange(len(both)) >= len(at)
    return BadReplicas(rows[np.searchsorted(ends, both, side="right")], owners[both], is_lost)


def _among(directories: AnyArray, owners: AnyArray, brokers: Brokers) -> Bools:
    """bool[n]: whether each directory is one that its broker has registered.

    Args:
        directories: V16[n].
        owners: int32[n]: the broker of each.
        brokers: The registrations.
    """
    ids, counts = brokers.ids, np.maximum(brokers.log_dirs.counts, 0)
    found = np.zeros(len(owners), dtype=np.bool_)
    if not len(ids) or not len(owners):
        return found
    at = _index(ids, owners)
    hashes, (known, bounds) = hash_ids(directories), brokers.log_dirs.gather()
    of_known = hash_ids(known)
    # Brokers have few directories: each is compared with that of all replicas at once.
    for k in range(int(counts.max())):
        has = counts > k
        expected = np.zeros(len(ids) + 1, dtype=np.uint64)
        expected[:-1][has] = of_known[bounds[:-1][has] + k]
        found |= (hashes == expected[at]) & np.append(has, False)[at]
    return found


def _index(ids: AnyArray, values: AnyArray) -> AnyArray:
    """int[n]: the place of each value among sorted ids, -1 where it is none of them."""
    if int(values.min()) >= 0 and int(values.max()) < _LARGEST_TABLE:
        table = np.full(int(values.max()) + 1, -1, dtype=np.int32)
        inside = (ids >= 0) & (ids < len(table))
        table[ids[inside]] = np.flatnonzero(inside)
        found: AnyArray = table[values]
        return found
    at = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    return np.where(ids[at] == values, at, -1)
