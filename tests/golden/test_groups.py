"""Groups, members, offsets and transactions are what the brokers of a real cluster answered.

Every replica of a coordinator's partition is read by itself; each must say the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import metashell
from metashell.answers.coordinator_tables import GROUP, TRANSACTION, CoordinatorKind
from metashell.answers.groups import groups_table, members_table
from metashell.answers.offsets import offsets_table
from metashell.answers.transactions import transactions_table
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.placement import partition_of
from metashell.judgement.coordinator_findings import refused_record
from metashell.node_files.log_directory import read_log_directory
from metashell.read_settings import READ_DEFAULTS
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from support.coordinators import recorded_segments
from support.fixtures import fixture_dir

_PARTITIONS: Final = 4
_BROKERS: Final = ("broker101", "broker102", "broker103")
_LOG_DIRS: Final = ("d1", "d2")
_NO_EPOCH: Final = -1


@cache
def answers(api: str) -> tuple[dict[str, Any], ...]:
    """Requests of a kind, with what was answered."""
    lines = (fixture_dir("node-44") / "captured" / "answers.jsonl").read_text().splitlines()
    found = (json.loads(line) for line in lines)
    return tuple(each for each in found if each["api"] == api)


@cache
def topic_names() -> Mapping[str, str]:
    """Names of topics by their ids."""
    topics = metashell.open(fixture_dir("node-44") / "controller1").image.topics
    return dict(zip(topics.id_texts, topics.names, strict=True))


def replicas(kind: CoordinatorKind) -> Iterator[tuple[str, int, KeyedRecords]]:
    """Every replica of every partition of a coordinators' topic."""
    for broker in _BROKERS:
        for log_dir in _LOG_DIRS:
            place = fixture_dir("node-44") / broker / log_dir
            directories = [read_log_directory(str(place))]
            logs = NodeCoordinatorLogs(kind.log, directories, READ_DEFAULTS)
            for partition in logs.partitions:
                found = logs.read(partition)
                assert [] == list(found.faults())
                yield broker, partition.number, found.records


@cache
def rows(kind: CoordinatorKind, answer: str) -> dict[int, list[list[dict[str, Any]]]]:
    """By partition: the rows that each replica gives."""
    make: Mapping[str, Callable[[KeyedRecords, int], pa.Table]] = {
        "groups": lambda records, n: groups_table(GroupLog(records, n)),
        "members": lambda records, n: members_table(GroupLog(records, n), topic_names()),
        "offsets": lambda records, n: offsets_table(GroupLog(records, n)),
        "transactions": transactions_table,
    }
    found: dict[int, list[list[dict[str, Any]]]] = {}
    for _, partition, records in replicas(kind):
        found.setdefault(partition, []).append(make[answer](records, partition).to_pylist())
    assert sorted(found) == list(range(_PARTITIONS))
    return found


def by_key(kind: CoordinatorKind, answer: str, name: str) -> Iterator[list[dict[str, Any]]]:
    """The rows of a group or transactional id, as each replica of its partition gives them."""
    column = "transactional_id" if kind is TRANSACTION else "group"
    for replica in rows(kind, answer)[partition_of(name, _PARTITIONS)]:
        yield [row for row in replica if row[column] == name]


def test_every_group() -> None:
    """ListGroups: names, types, states and protocols."""
    told = [group for each in answers("ListGroups") for group in each["response"]["groups"]]
    expected = {
        g["groupId"]: (g["groupType"], g["groupState"], g["protocolType"] or None) for g in told
    }
    assert len(told) == len(expected) == 28
    for partition, replicas_of in rows(GROUP, "groups").items():
        names = {n for n in expected if partition_of(n, _PARTITIONS) == partition}
        for replica in replicas_of:
            found = {row["group"]: (row["type"], row["state"], row["protocol"]) for row in replica}
            assert {name: expected[name] for name in names} == found


def _assigned(topics: Any) -> list[str]:
    return sorted(
        f"{topic['topicName']}-{number}" for topic in topics for number in topic["partitions"]
    )


@pytest.mark.parametrize("api", ["ConsumerGroupDescribe", "ShareGroupDescribe"])
def test_members(api: str) -> None:
    """ConsumerGroupDescribe and ShareGroupDescribe: epochs, clients, topics and assignments."""
    compared = 0
    for answer in answers(api):
        for group in answer["response"]["groups"]:
            if group["errorCode"]:
                continue
            for found in by_key(GROUP, "groups", group["groupId"]):
                assert [group["groupEpoch"]] == [row["epoch"] for row in found]
            expected = {
                member["memberId"]: (
                    member.get("instanceId"),
                    member["clientId"],
                    member["clientHost"],
                    member["memberEpoch"],
                    sorted(member["subscribedTopicNames"]),
                    _assigned(member["assignment"]["topicPartitions"]),
                )
                for member in group["members"]
            }
            for found in by_key(GROUP, "members", group["groupId"]):
                compared += 1
                assert expected == {
                    row["member"]: (
                        row["instance"],
                        row["client"],
                        row["host"],
                        row["epoch"],
                        sorted(row["topics"]),
                        sorted(row["assigned"]),
                    )
                    for row in found
                }
    assert compared


def test_members_of_streams_groups() -> None:
    """StreamsGroupDescribe: epochs and active tasks."""
    for answer in answers("StreamsGroupDescribe"):
        for group in answer["response"]["groups"]:
            expected = {
                member["memberId"]: (
                    member["memberEpoch"],
                    sorted(
                        f"{task['subtopologyId']}_{number}"
                        for task in member["assignment"]["activeTasks"]
                        for number in task["partitions"]
                    ),
                )
                for member in group["members"]
            }
            for found in by_key(GROUP, "members", group["groupId"]):
                got = {row["member"]: (row["epoch"], sorted(row["assigned"])) for row in found}
                assert expected == got


def test_members_of_classic_groups() -> None:
    """DescribeGroups: members and their clients."""
    compared = 0
    for answer in answers("DescribeGroups"):
        for group in answer["response"]["groups"]:
            if group["errorCode"] or group["groupState"] == "Dead":
                continue
            expected = {
                (m["memberId"], m["groupInstanceId"], m["clientId"], m["clientHost"])
                for m in group["members"]
            }
            for found in by_key(GROUP, "members", group["groupId"]):
                compared += bool(expected)
                assert expected == {
                    (row["member"], row["instance"], row["client"], row["host"]) for row in found
                }
    assert compared


@pytest.mark.parametrize("is_stable", [False, True])
def test_offsets(is_stable: bool) -> None:
    """OffsetFetch: every committed offset; with requireStable which are pending."""
    compared = 0
    for answer in answers("OffsetFetch"):
        if answer["request"]["requireStable"] != is_stable:
            continue
        for group in answer["response"]["groups"]:
            if group["errorCode"]:
                continue
            told = [
                (topic.get("name") or topic_names()[topic["topicId"]], partition)
                for topic in group["topics"]
                for partition in topic["partitions"]
            ]
            pending = {(name, p["partitionIndex"]) for name, p in told if p["errorCode"]}
            expected = {
                (name, p["partitionIndex"]): (
                    p["committedOffset"],
                    p["committedLeaderEpoch"],
                    p["metadata"],
                )
                for name, p in told
                if not p["errorCode"] and p["committedOffset"] >= 0
            }
            for found in by_key(GROUP, "offsets", group["groupId"]):
                compared += len(expected)
                kept = [row for row in found if not (is_stable and row["pending"])]
                assert expected == {
                    (row["topic"], row["partition"]): (
                        row["offset"],
                        _NO_EPOCH if row["leader_epoch"] is None else row["leader_epoch"],
                        row["metadata"],
                    )
                    for row in kept
                    if row["offset"] is not None
                }
                if is_stable:
                    # A broker does not name keys that only have a pending commit.
                    waiting = {
                        (row["topic"], row["partition"])
                        for row in found
                        if row["pending"] and row["offset"] is not None
                    }
                    assert pending == waiting
    assert compared > 100


def test_transactions() -> None:
    """ListTransactions and DescribeTransactions: states, producers, times and partitions."""
    states = {
        each["transactionalId"]: (each["transactionState"], each["producerId"])
        for answer in answers("ListTransactions")
        for each in answer["response"]["transactionStates"]
    }
    for partition, replicas_of in rows(TRANSACTION, "transactions").items():
        names = {n for n in states if partition_of(n, _PARTITIONS) == partition}
        for replica in replicas_of:
            found = {r["transactional_id"]: (r["state"], r["producer_id"]) for r in replica}
            assert {name: states[name] for name in names} == found
    for answer in answers("DescribeTransactions"):
        for told in answer["response"]["transactionStates"]:
            if told["errorCode"]:
                continue
            for found in by_key(TRANSACTION, "transactions", told["transactionalId"]):
                (row,) = found
                started = row["started_time"]
                parts = [
                    f"{topic['topic']}-{number}"
                    for topic in told["topics"]
                    for number in topic["partitions"]
                ]
                assert (
                    told["producerEpoch"],
                    told["transactionTimeoutMs"],
                    told["transactionStartTimeMs"],
                    sorted(parts),
                ) == (
                    row["producer_epoch"],
                    row["timeout_ms"],
                    -1 if started is None else round(started.timestamp() * 1000),
                    sorted(row["partitions"]),
                )


def test_paths_are_there() -> None:
    """The brokers' directories hold replicas of every partition."""
    assert Path(fixture_dir("node-44")).is_dir()
    assert len(list(replicas(GROUP))) == 12


@pytest.mark.long
def test_what_a_broker_loads_is_not_refused() -> None:
    """Of the log that a broker loaded no record is refused; of the one that it refused some are."""
    refused = {}
    for name in ("clean-__consumer_offsets-1", "__consumer_offsets-0"):
        segment = next(each for each in recorded_segments() if each.path.parent.name == name)
        types = load_record_types(CoordinatorLog.GROUPS)
        refused[name] = GroupLog(KeyedRecords(segment.load(), types), 0).refusals()
    assert [] == refused["clean-__consumer_offsets-1"]
    assert refused["__consumer_offsets-0"]


@pytest.mark.long
def test_the_record_at_which_a_broker_stopped() -> None:
    """The first that is refused is the one that a broker's own log names; none where it loaded."""
    topics = {log.value: log for log in CoordinatorLog}
    found = {}
    for segment in recorded_segments():
        name = segment.path.parent.name
        if name.removeprefix("clean-")[:-2] not in topics:
            continue
        log = topics[name.removeprefix("clean-")[:-2]]
        records = KeyedRecords(segment.load(), load_record_types(log))
        groups = GroupLog(records, 0) if log is CoordinatorLog.GROUPS else None
        refused = refused_record(records, groups)
        if refused is not None:
            found[name] = refused.offset
    said = (
        fixture_dir("coordinator-records-44")
        / "loaded-by-a-broker"
        / "everything"
        / "broker-log-lines.txt"
    ).read_text(errors="replace")
    assert "from __share_group_state-0 at offset 24 with" in said
    # The line with the offset is cut; it names the record's group and generation.
    assert "protocolType='nul" in said
    assert "None of the member's protocols can be supported." in said
    assert "Unknown transaction state id 19" in said
    assert {
        "__consumer_offsets-0": 71,
        "__transaction_state-0": 1,
        "__share_group_state-0": 24,
    } == found
