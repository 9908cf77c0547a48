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
_AT_ONCE: Final = 1 << 17
"""Partitions whose directories are looked at together."""


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
    partitions = image.partitions
    # Elsewhere nothing says which replica a directory is of.
    n_told = partitions.list_column("directories").counts
    told = ~partitions.directories_default & (n_told == partitions.list_column("replicas").counts)
    rows = np.flatnonzero(told)
    # All ids of a large cluster at once take more memory than what is known of it.
    found = [
        _bad_among(image, rows[start : start + _AT_ONCE])
        for start in range(0, max(len(rows), 1), _AT_ONCE)
    ]
    row, broker, lost = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(lost, kind="stable")
    return BadReplicas(row[order], broker[order], lost[order])


def _bad_among(image: Image, rows: I64) -> tuple[I64, AnyArray, Bools]:
    """The columns of `BadReplicas` for some partitions that tell a directory for each replica."""
    partitions, registered = image.partitions, image.brokers
    owners, bounds = partitions.list_column("replicas").take(rows).gather()
    directories, _ = partitions.list_column("directories").take(rows).gather()
    pairs = id_pairs(directories)
    reserved = np.flatnonzero(pairs[:, 0] == 0)
    low = pairs[reserved, 1].byteswap()
    lost = reserved[low == LOST[-1]]
    strange = ~_among(directories, owners, registered)
    strange[reserved[low <= LOST[-1]]] = False
    at = np.flatnonzero(strange)
    # A broker without registered directories is from before there were any: all are online.
    at = at[np.isin(owners[at], registered.ids[registered.log_dirs.counts > 0])]
    both = np.concatenate([at, lost])
    is_lost = np.arange(len(both)) >= len(at)
    places = np.searchsorted(bounds[1:], both, side="right")
    return rows[places], owners[both], is_lost


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
