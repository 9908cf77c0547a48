"""Offline and under-replicated partitions along a log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.answers.health import Health
from metashell.answers.state_history import state_history
from metashell.commands.stats.timeline import density_of_source, reach
from support.fixtures import SAMPLE, fixture
from support.logs import make_directory, record

N_ASKED = 25
"""Offsets of each log at which both ways of counting are compared."""


@pytest.mark.parametrize("name", ["sample", "real-44-broker-down", "real-44-admin"])
def test_counts_as_health_does(name: str) -> None:
    """At every offset there are as many as in the image of that offset."""
    source = metashell.open(SAMPLE if name == "sample" else fixture(name).directory)
    history = state_history(source.history_records)
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
    counts = [history.at(offset) for offset in range(-1, 6)]
    assert [(0, 0), (0, 0), (1, 1), (0, 0), (0, 0), (1, 1), (0, 0)] == counts
