"""Problems of groups, offsets and transactions, each from a log that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.image.coordinators.group_log import GroupLog
from metashell.judgement import coordinator_findings
from metashell.judgement.coordinator_findings import (
    SOON_MS,
    Concern,
    Expiring,
    Load,
    LostTopics,
    hot_partitions,
    load_of,
    refused_record,
)
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.uuids import uuid_text
from support.keyed_logs import START_MS, Put, commit, records_of

ID, OTHER = (bytes([n]) * 16 for n in (1, 2))


def group_log(path: Path, *entries: Put) -> GroupLog:
    """The groups that records tell of."""
    return GroupLog(records_of(path / f"{0:020d}.log", CoordinatorLog.GROUPS, entries), partition=3)


def with_id(group: str, topic: str, topic_id: bytes, partition: int = 0) -> Put:
    """A commit with a topic's id."""
    value = {"offset": 1, "commit_timestamp": START_MS, "topic_id": topic_id}
    key = {"group": group, "topic": topic, "partition": partition}
    return Put(name="OffsetCommit", key=key, value=value)


def test_topics_that_are_gone_or_others(tmp_path: Path) -> None:
    """By the id of the commit; one without an id is believed where the name is there."""
    log = group_log(
        tmp_path,
        with_id("a", "kept", ID),
        with_id("a", "again", OTHER),
        with_id("a", "again", OTHER, 1),
        with_id("b", "again", ID),
        with_id("c", "again", OTHER),
        commit("d", "again", 5),
        with_id("e", "gone", ID),
        commit("f", "gone", 5),
        commit("g", "kept", 5),
        commit("h", "deleted", 5),
        commit("h", "deleted", None),
        Put(
            name="LegacyOffsetCommit",
            key={"group": "i", "topic": "kept", "partition": 0},
            value={"offset": 4, "commit_timestamp": START_MS},
            version=0,
        ),
    )
    lost = LostTopics()
    lost.add(log, {"kept": uuid_text(ID), "again": uuid_text(ID)})
    assert {"again": (3, ("a", "c"))} == {
        topic: (concern.n, concern.groups) for topic, concern in lost.created_again.items()
    }
    assert {"gone": (2, ("e", "f"))} == {
        topic: (concern.n, concern.groups) for topic, concern in lost.gone.items()
    }
    lost.add(log, {})
    assert "groups e, f" == lost.gone["gone"].headline()
    assert 4 == lost.gone["gone"].n
    assert "groups a, b, c and 1 more" == Concern(4, ("a", "b", "c", "d")).headline()


def test_expiring_soon(tmp_path: Path) -> None:
    """How many in how many groups, and the first of them."""
    expiring, end_ms, kept_ms = Expiring(), START_MS, 10 * SOON_MS
    log = group_log(
        tmp_path,
        commit("late", "t", 1, at_ms=end_ms - 5),
        commit("soon", "t", 1, at_ms=end_ms - 9 * SOON_MS - 2),
        commit("soon", "t", 1, 1, at_ms=end_ms - 9 * SOON_MS - 1),
        commit("over", "t", 1, at_ms=end_ms - 11 * SOON_MS),
    )
    expiring.add(log, kept_ms, end_ms)
    expiring.add(group_log(tmp_path, commit("late", "t", 1)), kept_ms, end_ms)
    assert (3, 2, end_ms - SOON_MS, "over") == (
        expiring.n,
        expiring.n_groups,
        expiring.first_ms,
        expiring.first_group,
    )


def test_hot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far more than the others in the last hour, and by whom."""
    monkeypatch.setattr(coordinator_findings, "HOT_RECORDS", 5)
    entries = [commit("old", "t", 1, at_ms=START_MS)] * 9
    entries += [commit("busy", "t", i, at_ms=START_MS + 4_000_000 + i) for i in range(4)]
    entries += [commit("other", "t", 1, at_ms=START_MS + 4_000_000)]
    load = load_of(group_log(tmp_path, *entries), START_MS + 4_000_100)
    assert Load(3, 5, "busy", 4) == load
    quiet = [Load(1, 1, "", 0), Load(2, 1, "", 0)]
    assert [load] == hot_partitions([*quiet, load])
    assert [] == hot_partitions([load])
    assert [] == hot_partitions([load, Load(1, 4, "", 0)])
    assert [] == hot_partitions(quiet)


def test_the_first_refused_record(tmp_path: Path) -> None:
    """What can't be decoded, or does not fit what is before it: the first of both."""
    group = {"group_id": "g"}
    member = {**group, "member_id": "m"}
    fields = {"client_id": "c", "client_host": "/h"}
    sound = [
        Put(name="ConsumerGroupMetadata", key=group, value={"epoch": 1}),
        Put(name="ConsumerGroupMemberMetadata", key=member, value=fields),
        Put(name="ConsumerGroupCurrentMemberAssignment", key=member, value={"member_epoch": 1}),
    ]
    log = group_log(tmp_path, *sound)
    assert refused_record(log.records, log) is None
    log = group_log(tmp_path, *sound, Put(name="ConsumerGroupMemberMetadata", key=member))
    refused = refused_record(log.records, log)
    assert refused is not None
    assert (3, START_MS + 3000) == (refused.offset, refused.time_ms)
    assert refused.text.startswith("a broker stops at offset 3: the group has another type")
    assert refused_record(log.records) is None
