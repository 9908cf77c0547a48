"""Where replicas lie: one rack, one broker, one copy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metashell.sources.source import Source
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster

TOPIC_ID = bytes([7]) * 16
Layout = Sequence[Sequence[int]]
"""The replicas of each partition; the first leads."""


def partition(number: int, replicas: Sequence[int], **fields: object) -> bytes:
    """A partition with all its replicas in sync."""
    known: dict[str, object] = {"isr": replicas, "leader": replicas[0] if replicas else -1}
    return record(
        "PartitionRecord",
        topic_id=TOPIC_ID,
        partition_id=number,
        replicas=replicas,
        **{**known, **fields},
    )


@contextmanager
def laid(racks: Sequence[str | None], layout: Layout, **fields: object) -> Iterator[Source]:
    """Brokers from 1 on in those racks, and a topic."""
    values = [broker(i + 1, rack=rack) for i, rack in enumerate(racks)]
    values.append(record("TopicRecord", name="orders", topic_id=TOPIC_ID))
    values += [partition(i, replicas, **fields) for i, replicas in enumerate(layout)]
    with cluster(*values) as source:
        yield source


def rows(source: Source, code: str, options: str = "") -> list[dict[str, Any]]:
    """The rows of one kind."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"health {code} {options} -o json").out)
    return found


def found(source: Source, code: str, options: str = "") -> list[tuple[str, int]]:
    """Subject and count of each row."""
    return [(row["subject"], row["count"]) for row in rows(source, code, options)]


def test_all_replicas_in_one_rack() -> None:
    """Partitions of several replicas alone; a broker without a rack is in none."""
    layout = [[1, 2], [2, 1], [1, 3], [1], [1, 4], [4, 5], [1, 2, 9], []]
    with laid(["a", "a", "b", None, None], layout) as source:
        assert [("topic orders", 2)] == found(source, "one-rack")
        (row,) = rows(source, "one-rack")
        assert ("0-1", 6) == (row["partitions"], row["since_offset"])
        assert ["partition orders-0", "partition orders-1"] == [
            subject for subject, _ in found(source, "one-rack", "--detail")
        ]
        assert 0 == run_on(source, row["command"]).status


@pytest.mark.parametrize("racks", [[None, None], ["a", "a"], ["a", None], ["", ""]])
def test_a_cluster_of_one_rack(racks: list[str | None]) -> None:
    """Nothing else is possible there."""
    with laid(racks, [[1, 2]] * 3) as source:
        assert [] == found(source, "one-rack")


def test_a_partition_on_its_way_is_not_judged() -> None:
    """A reassignment puts replicas elsewhere."""
    with laid(["a", "a", "b"], [[1, 2]], adding_replicas=[3], removing_replicas=[1]) as source:
        assert [] == found(source, "one-rack")


def test_one_replica() -> None:
    """It is told once, and not as a partition without a spare replica too."""
    with laid([None] * 2, [[1], [2], [1, 2]]) as source:
        assert [("topic orders", 2)] == found(source, "single-replica")
        assert [] == found(source, "no-spare-replica")
    with laid([None], [[1]], leader=-1) as source:
        assert [] == found(source, "single-replica")
        assert [("topic orders", 1)] == found(source, "offline-partitions")


@pytest.mark.parametrize(
    ("default", "count"),
    [("3", 3), ("2", 1), ("1", 0), ("", 0), ("-1", 0), ("x", 0), ("9" * 40, 4), (None, 0)],
)
def test_fewer_replicas_than_the_default(tmp_path: Path, default: str | None, count: int) -> None:
    """Only where a configuration tells the default."""
    settings, options = tmp_path / "server.properties", ""
    if default is not None:
        settings.write_text(f"default.replication.factor={default}\n")
        options = f"--assume {settings}"
    with laid([None] * 3, [[1], [1, 2], [1, 2], [1, 2, 3]]) as source:
        expected = [("topic orders", count)] if count else []
        assert expected == found(source, "replication-below-default", options)


def test_a_broker_without_which_most_stop() -> None:
    """More than half of the partitions have no replica but its, or need it."""
    layout = [[1]] * 6 + [[2, 1], [2, 3], [3, 2], [3, 1]]
    with laid([None] * 3, layout) as source:
        assert [("broker 1", 6)] == found(source, "broker-stops-most")
        (row,) = rows(source, "broker-stops-most")
        assert "brokers --without 1" == row["command"]
        assert 6 == int(run_on(source, "brokers --without 1 --count").out)


@pytest.mark.parametrize(
    ("racks", "layout"),
    [
        ([None], [[1]] * 20),  # There is no other broker.
        ([None] * 2, [[1]] * 9),  # Few partitions.
        ([None] * 2, [[1]] * 5 + [[2]] * 5),
        ([None] * 3, [[1, 2, 3]] * 20),
        ([None] * 2, []),
    ],
)
def test_no_broker_stops_most(racks: list[None], layout: Layout) -> None:
    """A broker alone, a small cluster, and one where a replica can be spared."""
    with laid(racks, layout) as source:
        assert [] == found(source, "broker-stops-most")


def test_where_every_broker_stops_most_none_is_named() -> None:
    """Then each partition lacks a spare replica, which is another finding."""
    values = [broker(i) for i in (1, 2, 3)]
    values.append(record("TopicRecord", name="orders", topic_id=TOPIC_ID))
    values.append(
        record(
            "ConfigRecord",
            resource_type=2,
            resource_name="orders",
            name="min.insync.replicas",
            value="3",
        )
    )
    values += [partition(i, [1, 2, 3]) for i in range(12)]
    with cluster(*values) as source:
        assert [] == found(source, "broker-stops-most")
        assert [("topic orders", 12)] == found(source, "no-spare-replica")


MINUTE_MS = 60_000


@pytest.mark.parametrize(
    ("n", "led", "minutes", "is_told"),
    [(10, 0, 1, True), (9, 0, 9, False), (10, 1, 1, False), (10, 0, 0, False)],
)
def test_a_broker_that_leads_nothing(n: int, led: int, minutes: int, is_told: bool) -> None:
    """It runs for some minutes, is in sync, and others lead what it should lead."""
    values = [broker(1), broker(2), record("TopicRecord", name="orders", topic_id=TOPIC_ID)]
    values += [partition(i, [1, 2], leader=2) for i in range(n)]
    values += [partition(n + i, [1, 2]) for i in range(led)]
    with cluster(*values, apart_ms=minutes * MINUTE_MS) as source:
        assert ([("broker 1", n)] if is_told else []) == found(source, "idle-broker")


def test_a_fenced_broker_leads_nothing_for_another_reason() -> None:
    """It is fenced, or its replicas are not in sync."""
    values = [broker(1, fenced=True), broker(2)]
    values.append(record("TopicRecord", name="orders", topic_id=TOPIC_ID))
    values += [partition(i, [1, 2], leader=2, isr=[2]) for i in range(20)]
    with cluster(*values, apart_ms=MINUTE_MS) as source:
        assert [] == found(source, "idle-broker")
