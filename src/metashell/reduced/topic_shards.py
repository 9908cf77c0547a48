"""How the topics of a cluster are spread over parts, so that the parts have about as many bytes."""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.schema.arena import I64, AnyArray

_HEAVY: Final = 8
"""A topic is given a part by its weight where it has more than that part of a part's bytes."""
_HASHES: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class TopicShards:
    """Which part a topic belongs to; the same in every process.

    A heavy topic has the part that it was given. The others have one by their id, more of them
    where there is more room. Picklable, and small however many topics there are.
    """

    n_parts: int = 0
    """Parts, numbered from 1 on; with none nothing is spread."""
    heavy: tuple[tuple[int, int, int], ...] = ()
    """The halves of a topic's id, in order, and its part."""
    ends: tuple[int, ...] = ()
    """By part, the first hash that belongs to a later part. Empty where each has as many hashes."""

    @classmethod
    def by_weight(cls, ids: AnyArray, weights: I64, n_parts: int) -> TopicShards:
        """Give each part as many bytes as the others have, as far as topics can be kept whole.

        The heaviest topic goes first, to the part that has least.

        Args:
            ids: uint64[n, 2], a topic may be there several times.
            weights: int64[n], bytes.
            n_parts: Parts.
        """
        if not n_parts or not len(ids):
            return cls(n_parts)
        order = np.lexsort((ids[:, 1], ids[:, 0]))
        ids = ids[order]
        firsts = np.flatnonzero(np.append(True, (ids[1:] != ids[:-1]).any(axis=1)))
        topics, total = ids[firsts], np.add.reduceat(weights[order].astype(np.float64), firsts)
        enough = total.sum() / n_parts / _HEAVY
        order = np.argsort(-total, kind="stable")
        chosen = order[: int(np.count_nonzero(total > enough))]
        load = np.zeros(n_parts)
        heavy = []
        for i in chosen.tolist():
            part = int(np.argmin(load))
            load[part] += total[i]
            heavy.append((int(topics[i, 0]), int(topics[i, 1]), part + 1))
        # Topics that are made later have a part too, so each takes some.
        room = np.maximum(_room(load, float(total.sum() - total[chosen].sum())), max(enough, 1.0))
        ends = np.rint(np.cumsum(room) / room.sum() * _HASHES).astype(np.int64)
        return cls(n_parts, tuple(sorted(heavy)), tuple(ends.tolist()))

    def parts_of(self, ids: AnyArray) -> I64:
        """int64[n]: the part of each topic, given uint64[n, 2]."""
        mixed = (ids[:, 1] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
        parts: I64
        if self.ends:
            ends = np.array(self.ends[:-1], dtype=np.int64)
            parts = np.searchsorted(ends, mixed.astype(np.int64), side="right") + 1
        else:
            parts = (mixed % np.uint64(self.n_parts)).astype(np.int64) + 1
        if self.heavy:
            high, low, part = (np.array(column) for column in zip(*self.heavy, strict=True))
            high, low = high.astype(np.uint64), low.astype(np.uint64)
            # Ids are random: those that begin alike are looked at by their second half.
            first = np.searchsorted(high, ids[:, 0])
            for step in range(int(np.unique(high, return_counts=True)[1].max())):
                at = np.minimum(first + step, len(high) - 1)
                same = (high[at] == ids[:, 0]) & (low[at] == ids[:, 1])
                parts[same] = part[at[same]]
        return parts


def _room(load: AnyArray, rest: float) -> AnyArray:
    """float64[n]: how the rest is shared so that all parts have as much, where that can be."""
    level = np.sort(load)
    # Filled to the level of the next part, how much goes into those below it.
    taken = level * np.arange(1, len(level) + 1) - np.cumsum(level)
    n = int(np.count_nonzero(taken <= rest))
    height = (rest + level[:n].sum()) / n
    room: AnyArray = np.maximum(height - load, 0.0)
    return room
