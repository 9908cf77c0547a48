"""Replicas in log directories that failed, or that their broker does not have online.

Source: org.apache.kafka.common.DirectoryId, org.apache.kafka.metadata.BrokerRegistration.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.cluster import Brokers
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.id_table import hash_ids, id_pairs
from metashell.schema.uuids import LOST

_AT_ONCE: Final = 1 << 17
"""Partitions whose directories are looked at together."""


@dataclass(frozen=True, slots=True)
class BadReplicas:
    """``row``: int64[n], the partition; ``broker``: int32[n]; ``lost``: bool[n], else offline."""

    row: I64
    broker: AnyArray
    lost: Bools


def bad_replicas(image: Image) -> BadReplicas:
    """Replicas whose directory is lost, or is none that their broker registered."""
    return image.once(_bad_replicas)


def _bad_replicas(image: Image) -> BadReplicas:
    partitions = image.partitions
    # Elsewhere nothing says which replica a directory is of.
    rows = np.flatnonzero(~partitions.directories_default)
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
    owners, bounds = image.partitions.list_column("replicas").take(rows).gather()
    directories, _ = image.partitions.list_column("directories").take(rows).gather()
    offline, lost = map(np.flatnonzero, not_online(image.brokers, owners, directories))
    both = np.concatenate([offline, lost])
    is_lost = np.arange(len(both)) >= len(offline)
    places = np.searchsorted(bounds[1:], both, side="right")
    return rows[places], owners[both], is_lost


def not_online(brokers: Brokers, owners: AnyArray, directories: AnyArray) -> tuple[Bools, Bools]:
    """Which replicas are in directories that their brokers do not have online.

    Args:
        brokers: The registrations.
        owners: int32[n]: the broker of each replica.
        directories: V16[n]: the directory of each.

    Returns:
        (bool[n]: in none that the broker registered, bool[n]: in a lost one). An id that stands for
        no directory is online, and so are all of a broker that registered none, which is of before
        there were directories.
    """
    ids = id_pairs(directories)
    reserved = np.flatnonzero(ids[:, 0] == 0)
    low = ids[reserved, 1].byteswap()
    lost = np.zeros(len(owners), dtype=np.bool_)
    lost[reserved[low == LOST[-1]]] = True
    # Brokers have few directories: each is compared with that of all replicas at once.
    hashes, (registered, bounds) = hash_ids(directories), brokers.log_dirs.gather()
    # The last count is that of brokers that are not registered.
    at, counts = brokers.places(owners), np.append(np.diff(bounds), 0)
    known, offline = hash_ids(registered), (counts > 0)[at]
    for k in range(int(counts.max())):
        has = counts > k
        expected = np.zeros(len(counts), dtype=np.uint64)
        expected[has] = known[bounds[np.flatnonzero(has)] + k]
        offline &= (hashes != expected[at]) | ~has[at]
    offline[reserved[low <= LOST[-1]]] = False
    return offline, lost
