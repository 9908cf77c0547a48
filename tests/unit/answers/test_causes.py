"""Causes in words, and those of the partitions that somebody asks about."""

from __future__ import annotations

import numpy as np
import pytest

import metashell
from metashell.answers import causes as causes_module
from metashell.answers.causes import EFFECTS, Cause, Causes, causes_text
from metashell.answers.health import Health
from support.fixtures import differing_directories, fixture
from support.logs import record
from support.small_cluster import broker, cluster

FENCED, LOST = "fenced-broker", "lost-directory"


@pytest.mark.parametrize(
    ("causes", "text"),
    [
        ([], ""),
        ([(FENCED, 4)], "broker 4 is fenced"),
        ([(FENCED, 7), (FENCED, 4)], "brokers 4 and 7 are fenced"),
        ([(FENCED, i) for i in (3, 1, 2)], "brokers 1, 2 and 3 are fenced"),
        ([(FENCED, i) for i in range(4)], "4 brokers are fenced"),
        ([(FENCED, i) for i in range(5)], "all 5 brokers are fenced"),
        (
            [("unregistered-broker", 9), (FENCED, 4)],
            "broker 9 is not registered; broker 4 is fenced",
        ),
        ([(LOST, i) for i in range(5)], "brokers 0, 1, 2 and 2 more lost a log directory"),
    ],
)
def test_causes_in_words(causes: list[tuple[str, int]], text: str) -> None:
    """Few brokers by their ids, many by their number."""
    given = [Cause(problem=problem, broker=node, partitions=1) for problem, node in causes]
    assert text == causes_text(given, 5)


def test_causes_of_some_partitions() -> None:
    """Of those asked for alone, with the record that fenced each broker."""
    topic_id = bytes([7]) * 16
    parts = [
        record(
            "PartitionRecord",
            topic_id=topic_id,
            partition_id=number,
            replicas=[node],
            isr=[node],
            leader=-1,
        )
        for number, node in enumerate((1, 1, 2))
    ]
    fenced = [
        record("BrokerRegistrationChangeRecord", broker_id=node, broker_epoch=node, fenced=1)
        for node in (1, 2)
    ]
    topic = record("TopicRecord", name="orders", topic_id=topic_id)
    with cluster(broker(1), broker(2), topic, *parts, *fenced) as source:
        causes = Causes(Health(source.image))
        every = causes.of(np.arange(3), "offline-partitions")
        assert [(1, 2, 6), (2, 1, 7)] == [(c.broker, c.partitions, c.since_offset) for c in every]
        (one,) = causes.of(np.array([2]), "offline-partitions")
        assert (one.name, one.words) == ("fenced-broker broker 2", "broker 2 is fenced")
        assert one.since_time_ms is not None
        assert causes_text(every, len(source.image.brokers.ids)) == "both brokers are fenced"
        assert causes.of(np.array([], dtype=np.int64), "offline-partitions") == []


@pytest.mark.parametrize("name", differing_directories())
def test_few_partitions_are_linked_as_all_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others miss changes nothing, and neither does the order of those asked for."""
    with metashell.open(fixture(name).input) as source:
        health = Health(source.image)
        alone, together = Causes(health), Causes(health)
        n = len(source.image.partitions)
        some = np.flatnonzero(np.arange(n) % 3 > 0)[::-1]
        for problem in EFFECTS:
            monkeypatch.setattr(causes_module, "_FEW_PARTITIONS", n)
            few = alone.links(some, problem)
            monkeypatch.setattr(causes_module, "_FEW_PARTITIONS", -1)
            every = together.links(some, problem)
            assert (few.at.tolist(), few.cause.tolist()) == (
                every.at.tolist(),
                every.cause.tolist(),
            ), problem
