"""Rules of the replay, one story each; whole stories drawn at random are in tests/property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME, segment_name
from metashell.schema.encode import encode_record
from metashell.schema.uuids import uuid_text
from metashell.sources.source import Source
from support.strategies import builtin_registry

SPECS = builtin_registry().by_name
T1, T2 = bytes([1]) * 16, bytes([2]) * 16
D1, D2 = bytes([9]) * 16, bytes([8]) * 16


def record(name: str, /, **fields: object) -> bytes:
    """Encode a record in its newest version."""
    spec = SPECS[name]
    return encode_record(spec, spec.versions.high, fields)


def partition(topic_id: bytes = T1, number: int = 0, **fields: object) -> bytes:
    """Encode a PartitionRecord."""
    every: dict[str, Any] = {
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        **fields,
    }
    return record("PartitionRecord", topic_id=topic_id, partition_id=number, **every)


def change(topic_id: bytes = T1, number: int = 0, **fields: object) -> bytes:
    """Encode a PartitionChangeRecord."""
    return record("PartitionChangeRecord", topic_id=topic_id, partition_id=number, **fields)


def topic(topic_id: bytes = T1, name: str = "t") -> bytes:
    """Encode a TopicRecord."""
    return record("TopicRecord", topic_id=topic_id, name=name)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An empty metadata directory."""
    made = tmp_path / LOG_DIR_NAME
    made.mkdir()
    return made


def opened(directory: Path, *values: bytes) -> Source:
    """Open a log of one batch."""
    (directory / segment_name(0)).write_bytes(encode_batch(values))
    return metashell.open(directory)


def fault_offsets(source: Source) -> list[int]:
    """Offsets of all faults, ascending."""
    return sorted(fault.offset or 0 for fault in source.all_faults())


def value(source: Source, topic_id: bytes = T1, number: int = 0) -> Any:
    """Give the fields of a partition."""
    return source.value(f"/image/topics/byId/{uuid_text(topic_id)}/{number}")


def test_a_name_means_the_topic_made_last(directory: Path) -> None:
    """A TopicRecord for an id that has been there before makes that one the newest of its name."""
    source = opened(directory, topic(T1), topic(T2), topic(T1), partition(T1))

    assert uuid_text(T1) == source.cat("/image/topics/byName/t/id")


def test_cleared_elr_of_a_topic_that_shared_its_name(directory: Path) -> None:
    """ClearElrRecord means the topic that had the name then, not the one that has it now."""
    source = opened(
        directory,
        topic(T1),
        partition(T1, eligible_leader_replicas=[2]),
        topic(T2),
        record("ClearElrRecord", topic_name="t"),
        record("RemoveTopicRecord", topic_id=T2),
    )

    assert [2] == value(source)["elr"]
    assert [] == fault_offsets(source)


def test_cleared_elr_of_a_name_that_another_topic_left(directory: Path) -> None:
    """Removing one of two topics of a name leaves the other one there to be cleared."""
    source = opened(
        directory,
        topic(T1),
        partition(T1, eligible_leader_replicas=[2]),
        topic(T2),
        record("RemoveTopicRecord", topic_id=T2),
        record("ClearElrRecord", topic_name="t"),
    )

    assert ([], 1) == (value(source)["elr"], value(source)["partitionEpoch"])
    assert [] == fault_offsets(source)


def test_records_before_their_topic(directory: Path) -> None:
    """A partition of a topic that is only made later, or was removed before, is a fault."""
    source = opened(
        directory,
        partition(T1),
        topic(T1),
        partition(T1),
        record("RemoveTopicRecord", topic_id=T1),
        change(T1),
        topic(T1),
    )

    assert [0, 4] == fault_offsets(source)
    assert ["id", "name"] == source.ls("/image/topics/byName/t")


def test_migrating_directories_of_any_number(directory: Path) -> None:
    """Directories that are all MIGRATING say that none are known, however many there are."""
    source = opened(directory, topic(), partition(directories=[bytes(16)] * 3))

    assert ["AAAAAAAAAAAAAAAAAAAAAA"] * 2 == value(source)["directories"]
    assert [] == fault_offsets(source)


@pytest.mark.parametrize(
    ("directories", "replicas", "fits"),
    [
        (None, None, True),
        (None, [1], False),
        ([D1], [1], True),
        ([D1], None, False),
        ([], [1, 2, 3], True),
        ([bytes(16)], [1, 2, 3], True),
        ([bytes(16), D1], [1, 2, 3], False),
    ],
)
def test_directories_of_a_change(
    directory: Path, directories: list[bytes] | None, replicas: list[int] | None, fits: bool
) -> None:
    """A change whose directories do not fit its replicas is a fault, and nothing of it applies."""
    source = opened(
        directory,
        topic(),
        partition(directories=[D1, D2]),
        change(leader=2, directories=directories, replicas=replicas),
        change(isr=[2]),
    )
    after = value(source)

    assert ([] if fits else [2]) == fault_offsets(source)
    assert ((2, 1, 2) if fits else (1, 0, 1)) == (
        after["leader"],
        after["leaderEpoch"],
        after["partitionEpoch"],
    )
    assert len(after["replicas"]) == len(after["directories"])
    assert [2] == after["isr"]


def test_epochs_wrap_around(directory: Path) -> None:
    """Counters go on below zero after the largest int32, as in Java."""
    top = 2**31 - 1
    source = opened(
        directory, topic(), partition(leader_epoch=top, partition_epoch=top), change(leader=1)
    )

    assert [-(2**31)] * 2 == [value(source)[n] for n in ("leaderEpoch", "partitionEpoch")]


def test_quota_of_a_type_named_twice(directory: Path) -> None:
    """Of two names of one type in an entity the last counts, as in a map."""

    def quota(*names: str, remove: bool = False) -> bytes:
        entity = [{"entity_type": "user", "entity_name": name} for name in names]
        return record("ClientQuotaRecord", entity=entity, key="k", value=1.0, remove=remove)

    source = opened(directory, quota("u"), quota("w"), quota("v", "u", remove=True))

    assert ["user(w)"] == source.ls("/image/clientQuotas")


@pytest.mark.parametrize("spoilt", ["extra byte", "frame version"])
def test_marker_that_can_not_be_read(directory: Path, spoilt: str) -> None:
    """A transaction begins only with a record that can be read; one that can't is a fault."""
    marker = record("BeginTransactionRecord", name="x")
    bad = marker + b"\x00" if spoilt == "extra byte" else b"\x02" + marker[1:]
    source = opened(directory, bad, topic())

    assert ["t"] == source.ls("/image/topics/byName")
    assert [0] == fault_offsets(source)


def test_aborted_records_do_not_count(directory: Path) -> None:
    """What an aborted transaction holds is as if it were not there, its faults too."""
    source = opened(
        directory,
        topic(T1, "kept"),
        record("BeginTransactionRecord"),
        topic(T2, "dropped"),
        record("RemoveTopicRecord", topic_id=T1),
        record("RemoveTopicRecord", topic_id=bytes(16)),
        record("AbortTransactionRecord"),
        partition(T1),
    )

    assert ["kept"] == source.ls("/image/topics/byName")
    assert ["0", "id", "name"] == source.ls("/image/topics/byName/kept")
    assert [] == fault_offsets(source)


def test_removed_topic_takes_its_configs(directory: Path) -> None:
    """Configs of a removed topic are gone, those set after the removal stay."""

    def config(name: str) -> bytes:
        return record("ConfigRecord", resource_type=2, resource_name="t", name=name, value="1")

    source = opened(
        directory, topic(), config("a"), record("RemoveTopicRecord", topic_id=T1), config("b")
    )

    assert ["b"] == source.ls("/image/configs/TOPIC:t")


def test_strict_ends_before_the_first_fault(directory: Path) -> None:
    """``strict`` shows the cluster as it was before the batch with the first fault."""
    batches = [topic(T1, "a"), topic(T2, "b"), record("RemoveTopicRecord", topic_id=bytes(16))]
    data = b"".join(encode_batch([v], base_offset=i) for i, v in enumerate(batches))
    data += encode_batch([topic(bytes([3]) * 16, "c")], base_offset=3)
    (directory / segment_name(0)).write_bytes(data)
    source = metashell.open(directory, strict=True)

    assert ["a", "b"] == source.ls("/image/topics/byName")
    assert [2] == [fault.offset for fault in source.faults]


@pytest.mark.parametrize(
    ("damaged", "behind", "shown"),
    [(1, b"", ["a"]), (3, b"", ["a", "b", "c"]), (None, b"?" * 200, ["a", "b"])],
    ids=["batch of the first", "batch of the last", "behind the first"],
)
def test_strict_ends_before_damage(
    directory: Path, damaged: int | None, behind: bytes, shown: list[str]
) -> None:
    """What lies before it counts, whatever segment it is in; nothing behind it does."""
    batches = [
        encode_batch([topic(bytes([i + 1]) * 16, name)], base_offset=i)
        for i, name in enumerate("abcde")
    ]
    if damaged is not None:
        batches[damaged] = batches[damaged][:-1] + b"?"
    (directory / segment_name(0)).write_bytes(b"".join(batches[:2]) + behind)
    (directory / segment_name(2)).write_bytes(b"".join(batches[2:]))
    source = metashell.open(directory, strict=True)

    assert shown == source.ls("/image/topics/byName")
