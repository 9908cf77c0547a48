"""The differences between two images: keys and rows, found in columns.

The images may be two states of one source or of two sources. Everything is compared as it is,
secrets included; what may be shown of it is for the caller to decide. Differences of topics and
partitions are numbers of rows, so that a million equal partitions cost a few comparisons of
columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from metashell.checks.digest import FactKey, encode, part_rows
from metashell.dataclass import dataclass
from metashell.image.fold import find_sorted
from metashell.parts.partition_fields import BROKER_LISTS, NUMBERS
from metashell.redact import Redaction

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.partitions import Partitions
    from metashell.schema.arena import I64, AnyArray, Bools
    from metashell.schema.columns import SpanColumn

_OPEN = Redaction(show_secrets=True)


class ChangeKind(StrEnum):
    """The kinds of changes of a thing between two images."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


def compare_rows(left: Image, right: Image, part: str) -> list[tuple[ChangeKind, FactKey]]:
    """Keys that differ in a part other than topics and partitions, in no order."""
    before, after = part_rows(left, part, _OPEN), part_rows(right, part, _OPEN)
    out = [(ChangeKind.REMOVED, key) for key in before.keys() - after.keys()]
    out += [(ChangeKind.ADDED, key) for key in after.keys() - before.keys()]
    for key, old in before.items():
        new = after.get(key)
        # Numbers that are none equal nothing, and -0.0 equals 0.0, but not as bytes.
        if new is not None and (old is not new) and encode(old) != encode(new):
            out.append((ChangeKind.CHANGED, key))
    return out


@dataclass(frozen=True, slots=True)
class TopicPairs:
    """Topics of two images, joined.

    ``left``, ``right``: indexes of the topics that both have, a pair each; ``removed``: indexes of
    those that only the left one has; ``added``: of those that only the right one has.
    """

    left: Sequence[int]
    right: Sequence[int]
    removed: Sequence[int]
    added: Sequence[int]


def pair_topics(left: Mapping[str, int], right: Mapping[str, int]) -> TopicPairs:
    """Join topics, given the index of each by name or id text."""
    both = [(i, right[key]) for key, i in left.items() if key in right]
    return TopicPairs(
        [i for i, _ in both],
        [j for _, j in both],
        [i for key, i in left.items() if key not in right],
        [j for key, j in right.items() if key not in left],
    )


@dataclass(frozen=True, slots=True)
class PartitionDifferences:
    """Partitions that differ, by pair of topics and by id; m of them.

    ``pair``: int64[m], index into `TopicPairs`; ``left``, ``right``: int64[m], rows of the two
    `Partitions`, -1 for a partition that one has not.
    """

    pair: I64
    left: I64
    right: I64


def compare_partitions(
    left: Partitions, right: Partitions, topics_left: Sequence[int], topics_right: Sequence[int]
) -> PartitionDifferences:
    """Find the partitions that differ in pairs of topics.

    Args:
        left: Partitions of at least the topics of the pairs.
        right: Likewise.
        topics_left: Index of the topic of each pair.
        topics_right: Likewise.
    """
    rows_left, keys_left = _keyed(left, topics_left)
    rows_right, keys_right = _keyed(right, topics_right)
    at = find_sorted(keys_right, keys_left)
    found = at >= 0
    matched = at[found]
    only_right = np.ones(len(keys_right), dtype=np.bool_)
    only_right[matched] = False
    a, b = rows_left[found], rows_right[matched]
    differ = np.flatnonzero(_differ(left, right, a, b))
    keys = np.concatenate([keys_left[found][differ], keys_left[~found], keys_right[only_right]])
    missing_right = np.full(int((~found).sum()), -1, dtype=np.int64)
    missing_left = np.full(int(only_right.sum()), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    return PartitionDifferences(
        keys[order] >> 32,
        np.concatenate([a[differ], rows_left[~found], missing_left])[order],
        np.concatenate([b[differ], missing_right, rows_right[only_right]])[order],
    )


def _keyed(partitions: Partitions, topics: Sequence[int]) -> tuple[I64, I64]:
    """Rows of the partitions of some topics and their keys: pair, then id; sorted by key."""
    pair_of = np.full(len(partitions.topics), -1, dtype=np.int64)
    pair_of[np.asarray(topics, dtype=np.int64)] = np.arange(len(topics))
    pair = pair_of[partitions.topic]
    rows = np.flatnonzero(pair >= 0)
    ids = partitions.partition[rows].view(np.uint32).astype(np.int64)
    keys = (pair[rows] << 32) | ids
    order = np.argsort(keys, kind="stable")
    return rows[order], keys[order]


def _differ(left: Partitions, right: Partitions, a: I64, b: I64) -> Bools:
    """Whether rows of two images say different things of a partition: bool[n]."""
    out = np.zeros(len(a), dtype=np.bool_)
    if not len(a):
        return out
    for name in NUMBERS:
        out |= getattr(left, name)[a] != getattr(right, name)[b]
    for name in BROKER_LISTS:
        out |= _lists_differ(left.list_column(name).take(a), right.list_column(name).take(b))
    return out | _directories_differ(left, right, a, b)


def _lists_differ(left: SpanColumn, right: SpanColumn) -> Bools:
    counts = np.maximum(left.counts, 0)
    out: Bools = counts != np.maximum(right.counts, 0)
    todo = np.flatnonzero(~out & (counts > 0) & ~_same_place(left, right))
    if todo.size:
        values, bounds = left.take(todo).gather()
        others, _ = right.take(todo).gather()
        out[todo] = np.logical_or.reduceat(values != others, bounds[:-1])
    return out


def _same_place(left: SpanColumn, right: SpanColumn) -> Bools:
    """Whether lists are the same bytes of the same memory: two states of one source share most."""
    if _address(left) != _address(right):
        return np.zeros(len(left.starts), dtype=np.bool_)
    same: Bools = left.starts == right.starts
    return same


def _address(column: SpanColumn) -> int:
    return int(column.arena.u1.ctypes.data)


def _directories_differ(left: Partitions, right: Partitions, a: I64, b: I64) -> Bools:
    stored, others = left.list_column("directories").take(a), right.list_column("directories")
    known = ~left.directories_default[a] & ~right.directories_default[b]
    todo = np.flatnonzero(~(known & _same_place(stored, others.take(b))))
    out = np.zeros(len(a), dtype=np.bool_)
    if not todo.size:
        return out
    values, bounds = left.directories(a[todo])
    other_values, other_bounds = right.directories(b[todo])
    lengths, other_lengths = np.diff(bounds), np.diff(other_bounds)
    differ = lengths != other_lengths
    same = ~differ
    inner = _halves(values[np.repeat(same, lengths)])
    inner_differ = (inner != _halves(other_values[np.repeat(same, other_lengths)])).any(axis=1)
    filled = np.flatnonzero(same & (lengths > 0))
    if filled.size:
        starts = np.cumsum(lengths[filled]) - lengths[filled]
        differ[filled] = np.logical_or.reduceat(inner_differ, starts)
    out[todo] = differ
    return out


def _halves(ids: AnyArray) -> AnyArray:
    return np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)
