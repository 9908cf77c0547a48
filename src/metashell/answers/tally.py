"""How often each broker occurs among millions."""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columns import SpanColumn

_SMALL_IDS: Final = 1 << 20
_LISTS: Final = 1 << 17
"""So many lists are gathered at a time: what all hold would take as much as a column."""


def tally(brokers: AnyArray) -> tuple[AnyArray, I64]:
    """Distinct brokers, ascending, and how often each occurs; millions are counted, not sorted."""
    if len(brokers) and int(brokers.min()) >= 0 and int(brokers.max()) < _SMALL_IDS:
        counts = np.bincount(brokers)
        ids = np.flatnonzero(counts)
        return ids, counts[ids]
    return np.unique(brokers, return_counts=True)


def tally_lists(lists: SpanColumn) -> tuple[AnyArray, I64]:
    """The `tally` of the brokers in lists."""
    found = []
    for first in range(0, len(lists.counts), _LISTS):
        some = slice(first, first + _LISTS)
        part = SpanColumn(lists.arena, lists.dtype, lists.starts[some], lists.counts[some])
        found.append(tally(part.gather()[0]))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    ids, at = np.unique(np.concatenate([ids for ids, _ in found]), return_inverse=True)
    counts = np.zeros(len(ids), dtype=np.int64)
    np.add.at(counts, at, np.concatenate([counts for _, counts in found]))
    return ids, counts


def tally_replicas(image: Image) -> tuple[AnyArray, I64]:
    """Brokers that have replicas, ascending, and how many each; counted once an image."""
    return image.once(_tally_replicas)


def _tally_replicas(image: Image) -> tuple[AnyArray, I64]:
    return tally_lists(image.partitions.list_column("replicas"))
