"""Log directories of real brokers: their logs, their files, and what does not agree in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metashell.errors import SourceError
from metashell.node_files.checkpoint_file import OffsetCheckpoint, TopicPartition
from metashell.node_files.log_directory import LogDirectory, read_log_directory
from metashell.node_files.log_name import LogName, LogState
from metashell.node_files.node_directories import ConflictKind, conflicts_in, group_by_node
from metashell.node_files.partition_metadata import PartitionMetadata, read_partition_metadata
from metashell.places.place import place_of
from support.fixtures import copy_of, fixture_dir
from support.s3 import S3Server

METADATA = "__cluster_metadata"
CONFLICTS = {
    "bad-dir-name": ConflictKind.NOT_A_LOG,
    "dir-without-dash": ConflictKind.NOT_A_LOG,
    "dup-directory-id": ConflictKind.SAME_DIRECTORY_ID,
    "dup-partition": ConflictKind.TWO_LOGS,
    "no-meta-properties": ConflictKind.NO_META_PROPERTIES,
    "two-futures": ConflictKind.TWO_FUTURES,
    "wrong-cluster-id": ConflictKind.OTHER_CLUSTER_ID,
    "wrong-node-id": ConflictKind.OTHER_NODE_ID,
}
"""Directories on which a real broker refused to start, and why."""
UNREADABLE = {"all-offline": 2, "dir-gone": 1, "offline-dir": 1}
"""Variants with log directories that are none, and how many."""


@cache
def fixtures() -> Path:
    """The directories, without their segments."""
    return fixture_dir("node-dirs-44")


def directory(*parts: str) -> LogDirectory:
    """A log directory."""
    return read_log_directory(str(fixtures().joinpath(*parts)))


def described(case: str) -> list[tuple[int, str, dict[str, Any]]]:
    """(broker, name of the log directory, answer) of each, as DescribeLogDirs gave them."""
    lines = (fixtures() / case / "describe-log-dirs.jsonl").read_text().splitlines()
    return [
        (asked["broker"], one["logDir"].rpartition("/")[2], one)
        for asked in map(json.loads, lines)
        for one in asked["response"]["results"]
    ]


@pytest.mark.long
@pytest.mark.parametrize("case", ["node", "story"])
def test_logs_are_those_that_brokers_describe(case: str) -> None:
    """Current and future ones; what waits for deletion or is stray no broker tells of."""
    answers = described(case)
    assert answers
    for broker, name, answer in answers:
        if broker == 101 and case == "story":
            continue  # Its disks are not among the fixtures.
        theirs = {
            (topic["name"], one["partitionIndex"], one["isFutureKey"])
            for topic in answer["topics"]
            for one in topic["partitions"]
        }
        ours = {
            (log.topic, log.partition, log.state is LogState.FUTURE)
            for log in directory(case, f"broker{broker}", name).logs
            if log.state in (LogState.CURRENT, LogState.FUTURE) and log.topic != METADATA
        }
        if case == "story":  # Asking for a coordinator made its topics.
            theirs = {one for one in theirs if not one[0].startswith("__")}
        assert theirs == ours


def topics_of_logs(
    here: LogDirectory, logs: Sequence[LogName]
) -> list[PartitionMetadata | SourceError | None]:
    """What ``partition.metadata`` of each of some logs says, or why it can't be read."""
    told: list[PartitionMetadata | SourceError | None] = []
    for log in logs:
        try:
            told.append(read_partition_metadata(here.place_of(log)))
        except SourceError as error:
            told.append(error)
    return told


def test_topic_ids_and_high_watermarks() -> None:
    """Each log has its topic's id; what was known to be committed is no more than there is."""
    topics = json.loads((fixtures() / "node" / "list-offsets.json").read_text())
    n_found = 0
    for broker in ("broker101", "broker102", "broker103"):
        for name in ("d1", "d2"):
            found = directory("node", broker, name)
            marks = found.offsets(OffsetCheckpoint.HIGH_WATERMARK)
            logs = [log for log in found.logs if log.topic in topics]
            for log, told in zip(logs, topics_of_logs(found, logs), strict=True):
                topic = topics[log.topic]
                assert PartitionMetadata(0, topic["topicId"]) == told
                key = TopicPartition(log.topic, log.partition)
                assert marks[key] <= topic[str(log.partition)]["highWatermark"]
                n_found += 1
    assert 94 == n_found


def test_what_a_directory_has() -> None:
    """Logs of a topic by their states, the files beside them, and whose it is."""
    found = directory("node", "broker101", "d1")
    assert [1, 3] == [log.partition for log in found.logs_of("__consumer_offsets")]
    assert {123, 145} == {
        offset
        for key, offset in found.offsets(OffsetCheckpoint.RECOVERY_POINT).items()
        if key.topic == "__consumer_offsets"
    }
    assert {} == found.offsets(OffsetCheckpoint.LOG_START)
    assert found.identity is not None
    assert (101, "72HgMVPyQUSIB9AHQB3hhg") == (found.identity.node_id, found.identity.cluster_id)
    assert () == found.not_logs
    stopped = directory("story", "broker102", "d2")
    (future,) = stopped.logs_of("future-b", LogState.FUTURE)
    assert str(stopped.place_of(future)).endswith("-future")
    states = Counter(log.state for name in ("d1", "d2")
                     for log in directory("story", "broker102", name).logs)  # fmt: skip
    assert set(LogState) == set(states)


def test_directories_of_a_node_are_joined() -> None:
    """By cluster.id and node.id, in their order; who does not say stands alone."""
    some = [
        directory("node", broker, name)
        for name in ("d1", "d2")
        for broker in ("broker101", "broker102")
    ]
    bare = directory("variants", "no-meta-properties", "d2")
    groups = group_by_node([some[0], bare, *some[1:], bare])
    assert [[some[0], some[2]], [bare], [some[1], some[3]], [bare]] == groups
    for group in (groups[0], groups[2]):
        assert [] == conflicts_in(group)


def variants() -> list[str]:
    """All of them."""
    return sorted(json.loads((fixtures() / "started.json").read_text()))


def test_refused_directories_are_the_brokers() -> None:
    """A broker started on the others."""
    started = json.loads((fixtures() / "started.json").read_text())
    for variant in variants():
        found, n_unreadable = [], 0
        for name in ("d1", "d2"):
            try:
                found.append(directory("variants", variant, name))
            except SourceError:
                n_unreadable += 1
        kinds = {conflict.kind for conflict in conflicts_in(found)}
        assert UNREADABLE.get(variant, 0) == n_unreadable
        if variant in CONFLICTS:
            assert {CONFLICTS[variant]} == kinds
            assert not started[variant]
        else:
            assert set() == kinds
            assert started[variant] or variant in UNREADABLE


def test_what_a_conflict_says() -> None:
    """Which directories it is about."""
    two = [directory("variants", "wrong-node-id", name) for name in ("d1", "d2")]
    (conflict,) = conflicts_in(two)
    assert f"{two[1].place}: node.id is 199; in {two[0].place} it is 102" == conflict.text
    (conflict,) = conflicts_in([directory("variants", "two-futures", n) for n in ("d1", "d2")])
    assert conflict.text.startswith("keep-4: two future logs, ")


@pytest.mark.parametrize(
    ("variant", "part"),
    [
        ("garbage-partition-metadata", "no topic id: 'nonsense'"),
        ("zero-topic-id", "the topic id is zero"),
        ("no-partition-metadata", None),
        ("future-partition-metadata-version", 1),
    ],
)
def test_topics_that_a_log_does_not_tell(variant: str, part: str | int | None) -> None:
    """An error takes a broker's directory offline; a missing file makes a stray."""
    found = [
        told
        for name in ("d1", "d2")
        for here in [directory("variants", variant, name)]
        for told in topics_of_logs(here, here.logs_of("keep"))
        if not isinstance(told, PartitionMetadata) or told.version != 0
    ]
    (told,) = found
    if isinstance(part, str):
        assert isinstance(told, SourceError)
        assert part in told.message
    elif part is None:
        assert told is None
    else:
        assert isinstance(told, PartitionMetadata)
        assert part == told.version


@pytest.mark.long
def test_damaged_files(tmp_path: Path) -> None:
    """Offsets are an error when they are asked for; malformed ids are told with the directory."""
    parent = copy_of("node-dirs-44", tmp_path) / "node" / "broker101" / "d1"
    (parent / OffsetCheckpoint.CLEANER).write_bytes(b"0\n5\n")
    found = read_log_directory(str(parent))
    with pytest.raises(SourceError, match="cleaner-offset-checkpoint:2: 5 entries announced"):
        found.offsets(OffsetCheckpoint.CLEANER)
    (parent / "meta.properties").write_bytes(b"\0\1\2")
    found = read_log_directory(str(parent))
    assert found.identity is None
    assert "meta.properties" in (found.identity_fault or "")
    assert [] == conflicts_in([found])


def test_a_directory_in_a_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same logs, files and topics, by a URI."""
    s3.give_credentials(monkeypatch)
    s3.upload(fixtures() / "node" / "broker101" / "d1", "broker101")
    here = directory("node", "broker101", "d1")
    there = read_log_directory(place_of(s3.uri("broker101")))
    assert (here.logs, here.identity) == (there.logs, there.identity)
    for which in OffsetCheckpoint:
        assert here.offsets(which) == there.offsets(which)
    told = topics_of_logs(there, there.logs)
    assert told == topics_of_logs(here, here.logs)
    assert all(isinstance(one, PartitionMetadata) for one in told)
