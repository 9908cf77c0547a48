"""Topics spread over parts by their bytes: evenly, the same everywhere, each topic whole."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftgen.cluster import ClusterSpec, write_cluster
from metashell.log.splits import plan_splits
from metashell.reduced.log import even_shards
from metashell.reduced.topic_shards import TopicShards
from metashell.schema.model import load_registry


def ids_of(n: int, seed: int = 1) -> np.ndarray:
    """uint64[n, 2]: random ids."""
    return np.random.default_rng(seed).integers(0, 1 << 63, (n, 2), dtype=np.uint64)


def loads(shards: TopicShards, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """float64[n]: bytes of each part."""
    return np.bincount(shards.parts_of(ids) - 1, weights=weights, minlength=shards.n_parts)


@pytest.mark.parametrize(
    ("heavy", "n_parts", "most"),
    [
        ([], 12, 1.1),
        # Shares of all bytes that single topics have; the others are 20,000 alike.
        ([0.5], 2, 1.15),
        ([0.3, 0.3, 0.2], 4, 1.3),
        ([0.08] * 9, 12, 1.1),
        ([0.15, 0.15, 0.15, 0.15, 0.15], 6, 1.15),
        # More than a part has is not cut.
        ([0.9], 12, 10.9),
        ([0.4, 0.4], 12, 5.0),
    ],
)
def test_parts_have_as_many_bytes(heavy: list[float], n_parts: int, most: float) -> None:
    """The largest part has little more than their mean, or is one topic."""
    ids, weights = ids_of(20_000 + len(heavy)), np.ones(20_000 + len(heavy), dtype=np.int64)
    others = 20_000 / (1 - sum(heavy))
    weights[: len(heavy)] = [round(share * others) for share in heavy]
    shards = TopicShards.by_weight(ids, weights, n_parts)
    found = loads(shards, ids, weights)
    assert found.max() / found.mean() < most
    assert len(shards.heavy) == len(heavy)
    # What was not there when they were weighed has a part too, and not always the same.
    new = shards.parts_of(ids_of(1_000, seed=2))
    assert 1 <= new.min() < new.max() <= n_parts


def test_by_hash_alone_heavy_topics_meet() -> None:
    """What weighing is for: the same topics without it."""
    ids, weights = ids_of(60), np.array([1_000] * 6 + [1] * 54)
    by_hash = loads(TopicShards(6), ids, weights)
    by_weight = loads(TopicShards.by_weight(ids, weights, 6), ids, weights)
    assert by_hash.max() > 1.8 * by_weight.max()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1 << 40)), max_size=30),
    st.integers(1, 9),
)
def test_a_topic_is_in_one_part(rows: list[tuple[int, int, int]], n_parts: int) -> None:
    """However ids and weights are, in whatever order, and after it was sent."""
    ids = np.array([row[:2] for row in rows], dtype=np.uint64).reshape(-1, 2)
    weights = np.array([row[2] for row in rows], dtype=np.int64)
    shards = TopicShards.by_weight(ids, weights, n_parts)
    assert shards == TopicShards.by_weight(ids[::-1], weights[::-1], n_parts)
    assert shards == pickle.loads(pickle.dumps(shards))
    asked = np.array([(a, b) for a in range(4) for b in range(4)], dtype=np.uint64)
    parts = shards.parts_of(asked)
    assert 1 <= parts.min() <= parts.max() <= n_parts
    assert list(parts) == [int(shards.parts_of(one[None])[0]) for one in asked]
    assert {(a, b): p for a, b, p in shards.heavy}.items() <= {
        (int(a), int(b)): int(p) for (a, b), p in zip(asked, parts, strict=True)
    }.items()


def test_it_is_weighed_by_the_checkpoint(tmp_path: Path) -> None:
    """Which has the partitions of each topic."""
    write_cluster(tmp_path / "a", ClusterSpec(topics=40, partitions=8, changes=100))
    plan = plan_splits(str(tmp_path / "a" / "__cluster_metadata-0"))
    shards = even_shards(plan, 3, load_registry(()))
    assert (3, 3) == (shards.n_parts, len(shards.ends))
    # Without a checkpoint nothing is known.
    for path in (tmp_path / "a" / "__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    plan = plan_splits(str(tmp_path / "a" / "__cluster_metadata-0"))
    assert TopicShards(3) == even_shards(plan, 3, load_registry(()))
