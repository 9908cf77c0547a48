"""Share partitions are what Kafka's classes loaded, and what the brokers of a cluster answered."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

import pytest

from metashell.answers.coordinator_tables import SHARE
from metashell.answers.groups import share_table
from metashell.image.coordinators.share_state import RECORD_STATES, fold_share
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.node_files.log_directory import read_log_directory
from metashell.read_settings import READ_DEFAULTS
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from support.fixtures import fixture_dir

_NODE: Final = "node-44"
_BROKERS: Final = ("broker101", "broker102", "broker103")
_UNINITIALIZED: Final = 42


@pytest.mark.parametrize("name", ["__share_group_state-0", "clean-__share_group_state-1"])
def test_loaded(name: str) -> None:
    """What ShareCoordinatorShard's rules leave of every record type, version and odd value."""
    directory = fixture_dir("coordinator-records-44") / name
    expected = json.loads((directory / "loaded.json").read_text())["final"]
    (path,) = directory.glob("*.log")
    loaded = load([str(path)], kind=COMPACTED)
    state = fold_share(KeyedRecords(loaded, load_record_types(CoordinatorLog.SHARE)))
    found: dict[str, dict[str, Any]] = {}
    for i, (group, topic) in enumerate(
        zip(state.group.texts(), state.topic_id.tolist(), strict=True)
    ):
        id_text = base64.urlsafe_b64encode(topic).decode().rstrip("=")
        at = slice(*state.batches.list_offsets[i : i + 2].tolist())
        batches = state.batches
        columns = (batches.first, batches.last, batches.state, batches.count)
        found[f"{group}:{id_text}:{state.partition[i]}"] = {
            "snapshotEpoch": state.snapshot_epoch[i],
            "stateEpoch": state.state_epoch[i],
            "leaderEpoch": state.leader_epoch[i],
            "startOffset": state.start_offset[i],
            "deliveryCompleteCount": state.complete[i],
            "createTimestamp": state.created_ms[i],
            "writeTimestamp": state.written_ms[i],
            "stateBatches": list(map(list, zip(*(c[at].tolist() for c in columns), strict=True))),
        }
    assert expected == found


def _rows() -> dict[tuple[str, str, int], list[dict[str, Any]]]:
    """The rows that each replica of a share coordinator's partition gives, by their key."""
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for broker in _BROKERS:
        for log_dir in ("d1", "d2"):
            directories = [read_log_directory(str(fixture_dir(_NODE) / broker / log_dir))]
            logs = NodeCoordinatorLogs(SHARE.log, directories, READ_DEFAULTS)
            for partition in logs.partitions:
                records = logs.read(partition).records
                for row in share_table(records, partition.number).to_pylist():
                    found.setdefault((row["group"], row["topic"], row["partition"]), []).append(row)
    return found


def test_what_brokers_answered() -> None:
    """ReadShareGroupState and its summary, from the files of any replica."""
    rows = _rows()
    compared = 0
    answers = (fixture_dir(_NODE) / "captured" / "answers.jsonl").read_text().splitlines()
    for answer in map(json.loads, answers):
        if answer["api"] not in ("ReadShareGroupState", "ReadShareGroupStateSummary"):
            continue
        for topic in answer["response"]["results"]:
            for told in topic["partitions"]:
                key = (answer["request"]["groupId"], topic["topicId"], told["partition"])
                if told["errorCode"] == _UNINITIALIZED or told["startOffset"] < 0:
                    assert key not in rows or rows[key][0]["start_offset"] is None
                    continue
                assert not told["errorCode"]
                assert len(rows[key]) == 2
                for row in rows[key]:
                    assert (told["startOffset"], told["stateEpoch"]) == (
                        row["start_offset"],
                        row["state_epoch"],
                    )
                    if "stateBatches" in told:
                        assert row["batches"] == [
                            f"{b['firstOffset']}-{b['lastOffset']}"
                            f":{RECORD_STATES[b['deliveryState']]}:{b['deliveryCount']}"
                            for b in told["stateBatches"]
                        ]
                    else:
                        assert (told["leaderEpoch"], told["deliveryCompleteCount"]) == (
                            row["leader_epoch"],
                            row["complete"],
                        )
                    compared += 1
    assert compared >= 20
