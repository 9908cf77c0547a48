"""Why partitions have problems, in words."""

from __future__ import annotations

import numpy as np

from metashell.answers.causes import Causes
from metashell.answers.health import Health
from metashell.answers.partitions import Reasons
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, config

TOPIC_ID = bytes([7]) * 16
OFFLINE = "offline-partitions"


def partition(number: int, **fields: object) -> bytes:
    """A partition of the topic."""
    return record("PartitionRecord", topic_id=TOPIC_ID, partition_id=number, **fields)


def fenced(*nodes: int) -> list[bytes]:
    """Records that fence brokers."""
    return [
        record("BrokerRegistrationChangeRecord", broker_id=node, broker_epoch=node, fenced=1)
        for node in nodes
    ]


VALUES = (
    *(broker(node) for node in (1, 2, 3)),
    record("TopicRecord", name="orders", topic_id=TOPIC_ID),
    partition(0, replicas=[1], isr=[1], leader=-1),
    partition(1, replicas=[2], isr=[2], leader=-1),
    partition(2, replicas=[1, 2], isr=[1, 2], leader=-1),
    partition(3, replicas=[3, 1], isr=[3], leader=3),
    partition(4, replicas=[3, 1, 2], isr=[3], leader=3),
    partition(5, replicas=[3], isr=[3], leader=3),
    *fenced(1, 2),
)


def test_each_partition_in_any_order() -> None:
    """Without a leader whom it waits for, else what its missing replicas are on."""
    with cluster(*VALUES) as source:
        reasons = Reasons(Causes(Health(source.image)))
        told = reasons.of(np.array([2, 0, 1]), OFFLINE).to_pylist()
        assert told == ["waits for 1 or 2 (ISR)", "waits for 1 (ISR)", "waits for 2 (ISR)"]
        told = reasons.of(np.array([5, 4, 3]), "under-replicated").to_pylist()
        assert told == [None, "brokers 1 and 2 are fenced", "broker 1 is fenced"]
        assert [None] == reasons.of(np.array([5]), "recovering").to_pylist()
        assert [] == reasons.of(np.array([], dtype=np.int64), OFFLINE).to_pylist()


def test_the_partitions_of_a_topic_together() -> None:
    """The first reasons of those without leaders, and all that is down for the others."""
    with cluster(*VALUES) as source:
        causes = Causes(Health(source.image))
        reasons = Reasons(causes)

        def of_groups(rows: list[int], groups: list[int], problem: str) -> list[str | None]:
            at = np.array(rows, dtype=np.int64)
            told = reasons.of_groups(
                at, problem, causes.links(at, problem), np.array(groups), max(groups) + 1
            )
            return list(told.to_pylist())

        both = "waits for 1 (ISR); waits for 2 (ISR)"
        assert of_groups([0, 1, 2], [0, 0, 1], OFFLINE) == [both, "waits for 1 or 2 (ISR)"]
        assert of_groups([0, 1, 2], [0, 0, 0], OFFLINE) == [f"{both} and 1 more"]
        told = of_groups([3, 4, 5], [0, 0, 1], "under-replicated")
        assert told == ["brokers 1 and 2 are fenced", None]


def test_commands_say_the_same() -> None:
    """`partitions` of each, `health` of a topic; configs say what was lowered."""
    with cluster(*VALUES) as source:
        lines = run_on(source, "partitions --columns partition,why -o csv").out.splitlines()
        assert lines[1:] == [
            "0,waits for 1 (ISR)",
            "1,waits for 2 (ISR)",
            "2,waits for 1 or 2 (ISR)",
            "3,broker 1 is fenced",
            "4,brokers 1 and 2 are fenced",
            "5,",
        ]
        lines = run_on(source, "health offline-partitions --detail --columns why -o csv").out
        assert lines.splitlines()[1:] == [
            "waits for 1 (ISR)",
            "waits for 2 (ISR)",
            "waits for 1 or 2 (ISR)",
        ]
        line = "health offline-partitions under-replicated --columns code,why -o csv"
        assert run_on(source, line).out.splitlines()[1:] == [
            "offline-partitions,waits for 1 (ISR); waits for 2 (ISR) and 1 more",
            "under-replicated,brokers 1 and 2 are fenced",
        ]


def test_since_when_without_a_state() -> None:
    """Since it has no leader, or lacks replicas, whatever changed later; else the last change."""
    later = [
        record("PartitionChangeRecord", topic_id=TOPIC_ID, partition_id=number, **fields)
        for number, fields in (
            (0, {"isr": [1]}),
            (3, {"leader": 3}),
            (5, {"leader": 3}),
        )
    ]
    with cluster(*VALUES, *later) as source:
        first = len(VALUES)
        found = run_on(source, "partitions --columns partition,since_offset -o csv").out
        told = dict(map(int, line.split(",")) for line in found.splitlines()[1:])
        begun = {number: 4 + number for number in range(6)}
        assert told == {**begun, 5: first + 2}


def test_too_few_replicas_are_a_reason() -> None:
    """Also where nothing is missing; of a topic beside what is down."""
    values = (*VALUES, config(4, "", "min.insync.replicas", "2"))
    with cluster(*values) as source:
        causes = Causes(Health(source.image))
        reasons = Reasons(causes)
        few = "1 replica, min.insync.replicas is 2"
        # Partition 0 would still be under it if its broker came back.
        told = reasons.of(np.array([0, 5, 3]), "under-min-isr").to_pylist()
        assert told == [few, few, "broker 1 is fenced"]
        assert [] == causes.of(np.array([0]), "under-min-isr")
        (one,) = causes.of(np.arange(6), "under-min-isr")[:1]
        assert (one.name, one.partitions) == ("fenced-broker broker 1", 3)
        assert [None] == reasons.of(np.array([5]), "at-min-isr").to_pylist()
        rows = np.array([3, 5])
        links = causes.links(rows, "under-min-isr")
        for groups, texts in (
            ([0, 0], [f"broker 1 is fenced; {few}"]),
            ([0, 1], ["broker 1 is fenced", few]),
        ):
            of = reasons.of_groups(rows, "under-min-isr", links, np.array(groups), len(texts))
            assert texts == of.to_pylist()
        shown = run_on(source, "partitions orders-5 --columns why,since_offset -o csv").out
        assert shown == f'why,since_offset\n"{few}",12\n'
