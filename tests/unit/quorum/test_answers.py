"""What the answers of controllers say."""

from __future__ import annotations

from metashell.quorum.answers import read_describe_quorum
from metashell.quorum.protocol import TOPIC, Api
from metashell.quorum.session import Answer


def test_endpoints() -> None:
    """Where nodes listen, an IPv6 address in brackets as everywhere."""
    part = {
        "partition_index": 0,
        "error_code": 0,
        "leader_id": 1,
        "leader_epoch": 2,
        "high_watermark": 3,
        "current_voters": [],
        "observers": [],
    }
    listeners = [
        {"name": "CONTROLLER", "host": "controller-1", "port": 9093},
        {"name": "SECURE", "host": "fd00::1", "port": 9094},
    ]
    fields = {
        "error_code": 0,
        "topics": [{"topic_name": TOPIC, "partitions": [part]}],
        "nodes": [{"node_id": 1, "listeners": listeners}],
    }
    described = read_describe_quorum(Answer(Api.DESCRIBE_QUORUM, fields)).description
    assert described is not None
    assert described.endpoints == {1: ("CONTROLLER://controller-1:9093", "SECURE://[fd00::1]:9094")}


def test_zero_of_a_replica_is_known() -> None:
    """An empty log ends at offset 0; what is not known is -1."""
    replica = {"replica_id": 1, "log_end_offset": 0}
    times = {"last_fetch_timestamp": 0, "last_caught_up_timestamp": -1}
    part = {
        "partition_index": 0,
        "error_code": 0,
        "leader_id": 1,
        "leader_epoch": 2,
        "high_watermark": 0,
        "current_voters": [{**replica, **times}],
        "observers": [],
    }
    fields = {"error_code": 0, "topics": [{"topic_name": TOPIC, "partitions": [part]}], "nodes": []}
    described = read_describe_quorum(Answer(Api.DESCRIBE_QUORUM, fields)).description
    assert described is not None
    (voter,) = described.voters
    assert (0, 0, None) == (voter.log_end_offset, voter.last_fetch_ms, voter.last_caught_up_ms)
