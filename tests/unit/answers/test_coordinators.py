"""Coordinators: the hash, the number of partitions, and the state of the partition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.answers.assume import Assumptions
from metashell.answers.coordinator_tables import COORDINATOR_KINDS, GROUP, SHARE
from metashell.answers.coordinators import (
    CoordinatorKey,
    coordinators_table,
    partition_count,
)
from metashell.image.coordinators.placement import java_hash, partition_of
from metashell.sources.source import Source
from support.logs import record
from support.small_cluster import broker, cluster, config
from support.strategies import CHARACTERS

SMALLEST = "polygenelubricants"
"""Its hash is Integer.MIN_VALUE."""
TOPIC_ID = bytes([7]) * 16


def key_of(partition: int, n_partitions: int = 3) -> CoordinatorKey:
    """A group that a partition coordinates."""
    names = (f"g{i}" for i in range(1000))
    name = next(name for name in names if partition_of(name, n_partitions) == partition)
    return CoordinatorKey(GROUP, name, name)


def offsets(*partitions: dict[str, Any], **brokers: bool) -> list[bytes]:
    """Brokers 1 to 3 and partitions of the topic of groups, whose replicas are all of them."""
    values = [broker(node, fenced=brokers.get(f"b{node}", False)) for node in (1, 2, 3)]
    values.append(record("TopicRecord", name=GROUP.topic, topic_id=TOPIC_ID))
    for i, fields in enumerate(partitions):
        known = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "partition_id": i}
        values.append(record("PartitionRecord", topic_id=TOPIC_ID, **{**known, **fields}))
    return values


def rows_of(source: Source, *keys: CoordinatorKey) -> list[dict[str, Any]]:
    """The rows."""
    rows: list[dict[str, Any]] = coordinators_table(source.image, keys).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        (SMALLEST, -(2**31)),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),
        ("\ud800", 0xD800),
    ],
)
def test_hash_is_javas(text: str, expected: int) -> None:
    """Over UTF-16 units, also those of half a character."""
    assert expected == java_hash(text)


@given(st.text(CHARACTERS, max_size=30), st.integers(1, 100))
def test_partition_is_that_of_the_plain_rule(text: str, n_partitions: int) -> None:
    """In the words of Kafka's classes, one unit at a time."""
    raw, value = text.encode("utf-16-be", "surrogatepass"), 0
    for i in range(0, len(raw), 2):
        value = (value * 31 + int.from_bytes(raw[i : i + 2], "big")) % 2**32
    signed = value if value < 2**31 else value - 2**32
    absolute = 0 if signed == -(2**31) else abs(signed)
    assert absolute % n_partitions == partition_of(text, n_partitions)


def test_the_smallest_hash_counts_as_zero() -> None:
    """Its absolute value is no int32."""
    assert 0 == partition_of(SMALLEST, 50)


def test_the_number_of_partitions() -> None:
    """The topic's own; else the file's, if it is a number; else Kafka's default."""
    files = {text: Assumptions("f", {GROUP.partitions_key: text}) for text in ("7", "x", "0", "-1")}
    with cluster(*offsets({}, {}, {})) as source:
        assert 3 == partition_count(source.image, GROUP, files["7"]).count
    with cluster(*offsets()) as source:
        told = {text: partition_count(source.image, GROUP, file) for text, file in files.items()}
        assert {"7": 7, "x": 50, "0": 50, "-1": 50} == {t: one.count for t, one in told.items()}
        assert [False, True, True, True] == [one.is_default for one in told.values()]
        for kind in COORDINATOR_KINDS.values():
            one = partition_count(source.image, kind)
            assert (50, True, True) == (one.count, one.is_assumed, one.is_default)


def test_a_healthy_partition() -> None:
    """Who leads it, who would next, and since when."""
    with cluster(*offsets({}, {"leader": 2}, {})) as source:
        one, same, other = rows_of(source, key_of(1), key_of(1), key_of(0))
    assert one == same
    assert (1, 2, 1) == (one["partition"], one["leader"], one["next_leader"])
    assert (0, 1, 2) == (other["partition"], other["leader"], other["next_leader"])
    assert (True, None, [], [1, 2, 3]) == (one["healthy"], one["why"], one["state"][1:], one["isr"])
    assert (["PLAINTEXT://b2:9092"], 5) == (one["endpoints"], one["since_offset"])


@pytest.mark.parametrize(
    ("fields", "fenced", "next_leader", "state", "why"),
    [
        ({"leader": -1, "isr": [2]}, {"b2": True}, None, "offline",
         "waits for 2 (ISR); broker 2 is fenced"),
        ({"isr": [1, 2]}, {"b3": True}, 2, "under-replicated",
         "out of the ISR: 3; broker 3 is fenced"),
        ({"isr": [1, 2]}, {}, 2, "under-replicated", "out of the ISR: 3"),
        ({"isr": [1]}, {}, None, "under-min-isr",
         "out of the ISR: 2, 3; the ISR is below min.insync.replicas=2: it cannot write"),
        ({"isr": [1]}, {"b2": True, "b3": True}, None, "under-min-isr",
         "out of the ISR: 2, 3; brokers 2 and 3 are fenced; the ISR is below "
         "min.insync.replicas=2: it cannot write"),
        ({"replicas": [3], "isr": [3], "leader": 3}, {}, None, "under-min-isr",
         "the ISR is below min.insync.replicas=2: it cannot write"),
    ],
)  # fmt: skip
def test_a_partition_that_is_not_healthy(
    fields: dict[str, Any], fenced: dict[str, bool], next_leader: int | None, state: str, why: str
) -> None:
    """What is wrong, and what it follows from."""
    values = offsets(fields, {}, {}, **fenced)
    values.append(config(2, GROUP.topic, "min.insync.replicas", "2"))
    with cluster(*values) as source:
        (row,) = rows_of(source, key_of(0))
    assert (False, next_leader, state, why) == (
        row["healthy"],
        row["next_leader"],
        row["state"][0],
        row["why"],
    )
    assert fields.get("leader", 1) == (row["leader"] or -1)


def test_a_topic_that_does_not_exist() -> None:
    """The number of partitions is assumed; nobody leads yet."""
    key = CoordinatorKey(SHARE, "g:orders:0", "g:AAAAAAAAAAAAAAAAAAAAKg:0")
    with cluster(*offsets({}, {}, {})) as source:
        (row,) = rows_of(source, key)
    assert (True, 50, partition_of(key.key, 50)) == (
        row["assumed"],
        row["partitions"],
        row["partition"],
    )
    assert (None, None, None, ["not-created"]) == (
        row["leader"],
        row["next_leader"],
        row["healthy"],
        row["state"],
    )
    assert row["why"].startswith("the topic does not exist")


def test_a_partition_that_the_metadata_lacks() -> None:
    """Of three partitions, 0, 1 and 5, nobody coordinates what hashes to 2."""
    with cluster(*offsets({}, {}, {"partition_id": 5})) as source:
        (row,) = rows_of(source, key_of(2))
    assert (2, 3, False, False, ["offline"]) == (
        row["partition"],
        row["partitions"],
        row["assumed"],
        row["healthy"],
        row["state"],
    )
    assert "the metadata does not have this partition" == row["why"]


def test_rows_are_in_the_order_of_the_keys() -> None:
    """Whatever their kinds."""
    keys = [
        CoordinatorKey(kind, f"{kind.word}{i}", f"{kind.word}{i}")
        for i in range(5)
        for kind in COORDINATOR_KINDS.values()
    ]
    with cluster(*offsets({}, {}, {})) as source:
        assert [(k.kind.word, k.id) for k in keys] == [
            (row["kind"], row["id"]) for row in rows_of(source, *keys)
        ]


def test_other_topics_change_nothing() -> None:
    """The image that is asked is narrowed to the topic, unless all is folded already."""
    values = [*offsets({"isr": [1]}, {}, {})]
    for i in range(1, 5):
        values.append(record("TopicRecord", name=f"t{i}", topic_id=bytes([i]) * 16))
        values.append(
            record("PartitionRecord", topic_id=bytes([i]) * 16, partition_id=0, replicas=[3],
                   isr=[3], leader=3)
        )  # fmt: skip
    keys = [key_of(i) for i in range(3)]
    with cluster(*values) as source:
        before = rows_of(source, *keys)
        assert not source.image.has_folded("partitions")
        assert 7 == len(source.image.partitions)
        assert before == rows_of(source, *keys)
