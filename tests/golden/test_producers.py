"""Producers of partitions are those that the brokers of a real cluster answered."""

from __future__ import annotations

import json
from typing import Any, Final

from metashell.answers.hanging import producers_table
from metashell.image.coordinators.producers import fold_producers
from metashell.node_files.checkpoint_file import TopicPartition
from metashell.node_files.log_directory import read_log_directory
from metashell.sources.partition_logs import PartitionLogs
from support.coordinators import AllRead
from support.fixtures import fixture_dir

_NODE: Final = "node-44"
_NONE: Final = -1


def _replicas() -> dict[TopicPartition, list[list[dict[str, Any]]]]:
    """By partition: the producers in each replica's log."""
    found: dict[TopicPartition, list[list[dict[str, Any]]]] = {}
    for broker in ("broker101", "broker102", "broker103"):
        for log_dir in ("d1", "d2"):
            logs = PartitionLogs([read_log_directory(str(fixture_dir(_NODE) / broker / log_dir))])
            for partition, tail in logs.tails():
                history = tail.producers()
                assert [] == history.faults
                state = fold_producers(history)
                rows = producers_table(state, *partition).to_pylist()
                found.setdefault(partition, []).append(rows)
    return found


def _number(value: Any) -> Any:
    return _NONE if value is None else value


def test_what_brokers_answered() -> None:
    """DescribeProducers of every leader, from the files of any replica."""
    replicas = _replicas()
    answers = (fixture_dir(_NODE) / "captured" / "answers.jsonl").read_text().splitlines()
    compared = 0
    for answer in map(json.loads, answers):
        if answer["api"] != "DescribeProducers":
            continue
        for topic in answer["response"]["topics"]:
            for told in topic["partitions"]:
                expected = sorted(told["activeProducers"], key=lambda each: each["producerId"])
                for rows in replicas[TopicPartition(topic["name"], told["partitionIndex"])]:
                    compared += len(rows)
                    assert expected == [
                        {
                            "producerId": row["producer_id"],
                            "producerEpoch": row["producer_epoch"],
                            "lastSequence": _number(row["last_sequence"]),
                            "lastTimestamp": round(row["last_timestamp"].timestamp() * 1000),
                            "coordinatorEpoch": _number(row["coordinator_epoch"]),
                            "currentTxnStartOffset": _number(row["current_txn_start_offset"]),
                        }
                        for row in rows
                    ]
    assert compared > 100


def test_log_ends() -> None:
    """ListOffsets: where every partition ends, and what holds its last stable offset."""
    told = json.loads((fixture_dir(_NODE) / "captured" / "list-offsets.json").read_text())
    compared = 0
    for broker in ("broker101", "broker102", "broker103"):
        for log_dir in ("d1", "d2"):
            logs = PartitionLogs([read_log_directory(str(fixture_dir(_NODE) / broker / log_dir))])
            for partition, tail in logs.tails(list(told)):
                expected = told[partition.topic][str(partition.partition)]
                end = tail.end()
                assert expected["highWatermark"] == end.end_offset
                assert expected["highWatermark"] == logs.high_watermarks(AllRead())[partition]
                opened = fold_producers(tail.producers()).first_open_offset
                stable = end.end_offset if opened is None else opened
                assert expected["lastStableOffset"] == stable
                compared += 1
    assert compared > 50
