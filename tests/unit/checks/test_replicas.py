"""Replicas of a compacted log: which reaches furthest, and where two are of two logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from metashell.checks.replicas import ReplicaFacts, first_divergence
from metashell.log.partition import read_partition
from support.fixtures import fixture_dir

Batch = tuple[int, int, int, int, int]


def facts(
    *batches: Batch, starts: Sequence[tuple[int, int]] = (), end: int | None = None
) -> ReplicaFacts:
    """A replica of batches (first offset, last offset, epoch, CRC, whether nothing was cleaned)."""
    table = np.array(batches, dtype=np.int64).reshape(-1, 5)
    last = int(table[-1, 1]) + 1 if len(table) else 0
    return ReplicaFacts(table, tuple(starts), last if end is None else end)


LEADER = facts((0, 4, 0, 11, 1), (5, 5, 0, 12, 1), (6, 9, 2, 13, 1), starts=[(0, 0), (2, 6)])


@pytest.mark.parametrize(
    ("other", "offset"),
    [
        (facts((0, 4, 0, 11, 1), (5, 5, 0, 12, 1)), None),  # It ends earlier.
        (facts((0, 4, 0, 99, 0), (6, 9, 2, 98, 0)), None),  # It was cleaned.
        (facts((6, 9, 2, 13, 1), starts=[(2, 6)]), None),  # Its beginning was deleted.
        (facts(end=0), None),
        (facts((0, 4, 0, 11, 1), (5, 5, 0, 77, 1)), 5),  # Other bytes.
        (facts((0, 4, 0, 11, 1), (5, 7, 0, 12, 1)), 5),  # Another end.
        (facts((0, 4, 0, 11, 1), (5, 5, 0, 12, 1), (6, 6, 0, 13, 1)), 6),  # An older epoch.
        (facts((0, 4, 0, 11, 1), (5, 5, 1, 12, 1)), 5),  # Another epoch.
        (facts((0, 3, 0, 11, 0), (4, 6, 0, 12, 0)), 0),  # Batches that cross.
        (facts((0, 4, 0, 11, 0), (12, 12, 0, 12, 0)), 6),  # Epochs never fall along a log.
    ],
)
def test_first_divergence(other: ReplicaFacts, offset: int | None) -> None:
    """The first offset that tells two logs apart, whichever is asked."""
    assert offset == first_divergence(other, LEADER) == first_divergence(LEADER, other)
    assert first_divergence(other, other) is None


def test_an_epoch_that_wrote_nothing() -> None:
    """The checkpoint of epochs alone tells that a leader came at offset 4."""
    new = facts((0, 3, 0, 11, 1), starts=[(0, 0), (1, 4)])
    longer = facts((0, 3, 0, 11, 1), (4, 6, 0, 12, 1), starts=[(0, 0)])
    assert new.reach > longer.reach
    assert ((1, 4), (0, 7)) == (new.reach, longer.reach)
    assert 4 == first_divergence(longer, new)
    assert first_divergence(facts((0, 3, 0, 11, 1)), new) is None


@pytest.mark.parametrize("partition", ["__consumer_offsets-0", "__consumer_offsets-1"])
def test_recorded_replicas(partition: str) -> None:
    """Replicas of a real cluster, each compacted by itself, are of one log."""
    node = fixture_dir("node-44")
    found = []
    for path in sorted(Path(node).glob(f"broker*/d*/{partition}")):
        log = read_partition(str(path))
        found.append(ReplicaFacts.of(log.loaded, [(0, 0)], log.segments[-1].base_offset))
    assert 3 == len(found)
    assert 1 == len({one.reach for one in found})
    assert len(found[0].batches)
    assert all(first_divergence(one, other) is None for one in found for other in found)
