"""Offline and under-replicated partitions along a log."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.answers.health import Health
from metashell.answers.state_history import StateHistory, _as_before, state_history
from metashell.commands.stats.timeline import density_of_source, reach
from metashell.schema.columns import Columns, DecodedColumn, FixedColumn, LateFields
from support.fixtures import SAMPLE, fixture
from support.logs import make_directory, record

N_ASKED = 25
"""Offsets of each log at which both ways of counting are compared."""


@pytest.mark.parametrize("name", ["sample", "real-44-broker-down", "real-44-admin"])
def test_counts_as_health_does(name: str) -> None:
    """At every offset there are as many as in the image of that offset."""
    source = metashell.open(SAMPLE if name == "sample" else fixture(name).directory)
    history = state_history(source.history_records)
    assert_same(history, state_history(source.history_records, source.image.partitions))
    density = density_of_source(source)
    low, high = reach(source, density)
    stops = density.stops[(density.stops >= low) & (density.stops <= high)]
    asked = {low, high, *stops[:: max(len(stops) // N_ASKED, 1)].tolist()}
    asked |= set(history.offsets[history.offsets >= low][-N_ASKED:].tolist())
    asked_ends = np.unique(density.ends(np.array(sorted(asked), dtype=np.int64))).tolist()
    for offset in asked_ends:
        health = Health(source.at(min(max(offset, low), high)).image)
        expected = int(health.offline.sum()), int(health.under_replicated.sum())
        assert expected == history.at(offset), offset


def test_a_removed_topic_counts_no_more(tmp_path: Path) -> None:
    """Its partitions were offline until then; one of the same id begins anew."""
    topic_id = (1).to_bytes(16, "big")
    topic = record("TopicRecord", name="a", topic_id=topic_id)
    offline = record(
        "PartitionRecord", partition_id=0, topic_id=topic_id, leader=-1, replicas=[1, 2], isr=[1]
    )
    values = [topic, offline, record("RemoveTopicRecord", topic_id=topic_id), topic, offline, topic]
    batches = [encode_batch([v], base_offset=i, timestamp=i) for i, v in enumerate(values)]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    history = state_history(source.history_records)
    # The fold knows nothing of the first life, so it can't be counted from.
    assert not source.image.partitions.is_of_all(source.image.records)
    assert_same(history, state_history(source.image.records, source.image.partitions))
    counts = [history.at(offset) for offset in range(-1, 6)]
    assert [(0, 0), (0, 0), (1, 1), (0, 0), (0, 0), (1, 1), (0, 0)] == counts


def test_counts_from_what_is_folded(tmp_path: Path) -> None:
    """Where the fold has every record nothing is sorted again, and nothing more stays decoded."""
    topic_id = (1).to_bytes(16, "big")
    of = {"topic_id": topic_id, "partition_id": 0}
    values = [
        record("TopicRecord", name="a", topic_id=topic_id),
        record("PartitionRecord", **of, leader=1, replicas=[1, 2], isr=[1, 2]),
        record("PartitionChangeRecord", **of, leader=-1),
        record("PartitionChangeRecord", **of, leader=1, isr=[1]),
    ]
    batches = [encode_batch([v], base_offset=i, timestamp=i) for i, v in enumerate(values)]
    image = metashell.open(make_directory(tmp_path, (0, b"".join(batches)))).image
    expected = state_history(image.records)
    folded = image.partitions
    assert folded.is_of_all(image.records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metashell.answers.state_history.sort_events", None)
        assert_same(expected, state_history(image.records, folded))
    assert [expected.at(offset) for offset in range(4)] == [(0, 0), (0, 0), (1, 0), (0, 1)]


def test_gives_back_what_it_decodes() -> None:
    """Fields that only this asks for are dropped, those that were there stay."""
    decoded: list[str] = []

    def decode(names: Collection[str]) -> dict[str, DecodedColumn]:
        decoded.extend(names)
        return {name: FixedColumn(np.zeros(2, np.int32)) for name in names}

    fields = LateFields(["a", "b"], decode, {"a": FixedColumn(np.zeros(2, np.int32))})
    columns = Columns([], 2, np.ones(2, np.bool_), fields)
    with _as_before(columns, columns):
        columns.fixed("b")
        assert set(fields.known) == {"a", "b"}
    assert set(fields.known) == {"a"}
    assert decoded == ["b"]


def assert_same(one: StateHistory, other: StateHistory) -> None:
    """Both count the same."""
    for name in ("offsets", "offline", "under_replicated"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
