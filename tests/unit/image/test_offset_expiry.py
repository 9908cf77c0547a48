"""When offsets expire: Kafka's rule, a case of it each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.subscriptions import NEVER, expire_times, says_itself
from metashell.schema.coordinators import CoordinatorLog
from support.keyed_logs import START_MS, End, Put, commit, nested, records_of

KEPT_MS = 1000
COMMITTED = START_MS
EMPTY_MS = START_MS + 77


def classic(protocol_type: str, *subscriptions: bytes, **more: Any) -> Put:
    """A classic group, a member a subscription."""
    members = [
        {"member_id": f"m{i}", "client_id": "c", "client_host": "/h", "subscription": subscription}
        for i, subscription in enumerate(subscriptions)
    ]
    value = {
        "protocol_type": protocol_type,
        "protocol": "range" if subscriptions else None,
        "leader": "m0",
        "current_state_timestamp": EMPTY_MS,
        "members": members,
    }
    version = more.pop("version", None)
    return Put(name="GroupMetadata", key={"group": "g"}, value={**value, **more}, version=version)


def subscription(*topics: str) -> bytes:
    """What a member of a classic group names."""
    return nested("ConsumerProtocolSubscription", {"topics": list(topics)})


def consumer(**member: Any) -> list[Put]:
    """A consumer group with a member."""
    group = {"group_id": "g"}
    fields = {"client_id": "c", "client_host": "/h", **member}
    return [
        Put(name="ConsumerGroupMetadata", key=group, value={"epoch": 1}),
        Put(
            name="ConsumerGroupMemberMetadata",
            key={**group, "member_id": "m"},
            value=fields,
        ),
    ]


def resolved(regex: str, *topics: str) -> Put:
    """Topics that match a regular expression."""
    key = {"group_id": "g", "regular_expression": regex}
    return Put(name="ConsumerGroupRegularExpression", key=key, value={"topics": list(topics)})


def streams(*, members: bool) -> list[Put]:
    """A streams group that reads s and r."""
    group = {"group_id": "g"}
    repartition = [{"name": "r", "partitions": 1, "replication_factor": 1, "topic_configs": []}]
    parts = [
        {
            "subtopology_id": "0",
            "source_topics": ["s"],
            "repartition_source_topics": repartition,
        }
    ]
    found = [
        Put(name="StreamsGroupMetadata", key=group, value={"epoch": 1}),
        Put(name="StreamsGroupTopology", key=group, value={"epoch": 1, "subtopologies": parts}),
    ]
    member = Put(
        name="StreamsGroupMemberMetadata",
        key={**group, "member_id": "m"},
        value={"process_id": "p", "client_id": "c", "client_host": "/h", "client_tags": []},
    )
    return [*found, member] if members else found


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], {"a": COMMITTED, "b": COMMITTED}),
        ([classic("")], {"a": COMMITTED, "b": COMMITTED}),
        ([classic("consumer")], {"a": EMPTY_MS, "b": EMPTY_MS}),
        ([classic("connect")], {"a": EMPTY_MS, "b": EMPTY_MS}),
        ([classic("consumer", version=1)], {"a": COMMITTED, "b": COMMITTED}),
        ([classic("consumer", subscription("a"))], {"a": None, "b": COMMITTED}),
        ([classic("consumer", subscription("a"), subscription("b"))], {"a": None, "b": None}),
        ([classic("consumer", subscription("a"), b"\0")], {"a": None, "b": None}),
        ([classic("consumer", subscription("a"), protocol=None)], {"a": None, "b": None}),
        ([classic("connect", subscription("c"))], {"a": None, "b": None}),
        (consumer(), {"a": COMMITTED, "b": COMMITTED}),
        (consumer(subscribed_topic_names=["b"]), {"a": COMMITTED, "b": None}),
        (
            [*consumer(subscribed_topic_regex="x*"), resolved("x*", "a"), resolved("y*", "b")],
            {"a": None, "b": COMMITTED},
        ),
        (
            [
                *consumer(subscribed_topic_regex="x*"),
                resolved("x*", "a"),
                resolved("x*", "b"),
            ],
            {"a": COMMITTED, "b": None},
        ),
        (streams(members=False), {"s": COMMITTED, "r": COMMITTED, "b": COMMITTED}),
        (streams(members=True), {"s": None, "r": None, "b": COMMITTED}),
    ],
)
def test_by_group(tmp_path: Path, entries: list[Put], expected: dict[str, int | None]) -> None:
    """From when each topic's offset is kept; None: for ever."""
    commits = [commit("g", topic, 5, at_ms=COMMITTED) for topic in expected]
    log = GroupLog(
        records_of(tmp_path / f"{0:020d}.log", CoordinatorLog.GROUPS, [*commits, *entries]), 0
    )
    times = expire_times(log, KEPT_MS).tolist()
    topics = log.commits.keys(log.offsets.last).topic.texts()
    assert {
        topic: NEVER if since is None else since + KEPT_MS for topic, since in expected.items()
    } == dict(zip(topics, times, strict=True))


def test_by_commit(tmp_path: Path) -> None:
    """A commit that says it itself, one that waits for a transaction, and one that waited."""
    entries = [
        commit("g", "own", 1, expire_timestamp=42),
        commit("g", "pending", 1),
        commit("g", "pending", 2, producer_id=7),
        commit("g", "ended", 1, producer_id=8, at_ms=START_MS + 5),
        End(8),
    ]
    log = GroupLog(records_of(tmp_path / f"{0:020d}.log", CoordinatorLog.GROUPS, entries), 0)
    topics = log.commits.keys(log.offsets.last).topic.texts()
    times = dict(zip(topics, expire_times(log, KEPT_MS).tolist(), strict=True))
    assert {"own": 42, "pending": NEVER, "ended": START_MS + 5 + KEPT_MS} == times
    own = dict(zip(topics, says_itself(log).tolist(), strict=True))
    assert {"own": True, "pending": False, "ended": False} == own


def test_very_long(tmp_path: Path) -> None:
    """What is kept for millions of years has a time, too."""
    entries = [commit("g", "t", 1, at_ms=(1 << 62) + 5), commit("h", "t", 1, at_ms=-5)]
    log = GroupLog(records_of(tmp_path / f"{0:020d}.log", CoordinatorLog.GROUPS, entries), 0)
    assert all(time > 0 for time in expire_times(log, 1 << 62).tolist())
