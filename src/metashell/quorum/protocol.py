"""The few requests of Kafka's protocol that an observer sends, and their answers, as bytes.

Owns which versions we speak, how a request is framed and what an error code means. Knows nothing of
connections.

Source: org.apache.kafka.common.requests, https://kafka.apache.org/protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Any, Final

from metashell.errors import DecodeError
from metashell.schema.encode import encode_message
from metashell.schema.model import MessageSpec, parse_message
from metashell.schema.scalar import decode_message, read_uvarint
from metashell.shipped import shipped

CLIENT_ID: Final = "metashell"
TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\x01"
"""The metadata topic's id, AAAAAAAAAAAAAAAAAAAAAQ."""

MAX_RESPONSE_BYTES: Final = 64 << 20
"""More than a controller ever sends where `FETCH_BYTES` are asked for."""
FETCH_BYTES: Final = 8 << 20
"""The most that a controller reads of its log for one Fetch."""


CONTROLLERS: Final = 2
"""The endpoint type of DescribeCluster (KIP-919)."""


class Api(IntEnum):
    """Api keys."""

    FETCH = 1
    METADATA = 3
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    SASL_AUTHENTICATE = 36
    DESCRIBE_QUORUM = 55
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60


_NAMES: Final[Mapping[Api, str]] = {
    Api.FETCH: "Fetch",
    Api.SASL_HANDSHAKE: "SaslHandshake",
    Api.API_VERSIONS: "ApiVersions",
    Api.SASL_AUTHENTICATE: "SaslAuthenticate",
    Api.DESCRIBE_QUORUM: "DescribeQuorum",
    Api.FETCH_SNAPSHOT: "FetchSnapshot",
    Api.DESCRIBE_CLUSTER: "DescribeCluster",
}


class ErrorCode(IntEnum):
    """Error codes that mean something to an observer.

    Source: org.apache.kafka.common.protocol.Errors.
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    TOPIC_AUTHORIZATION_FAILED = 29
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    SASL_AUTHENTICATION_FAILED = 58
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    MISMATCHED_ENDPOINT_TYPE = 114


def error_name(code: int) -> str:
    """Kafka's name of an error code, or the number of one that we have no name for."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


@cache
def request_spec(api: Api) -> MessageSpec:
    """The definition of a request."""
    return _read(f"{_NAMES[api]}Request")


@cache
def response_spec(api: Api) -> MessageSpec:
    """The definition of a request's answer."""
    return _read(f"{_NAMES[api]}Response")


def _read(name: str) -> MessageSpec:
    path = shipped(__file__, "messages") / f"{name}.json"
    return parse_message(path.read_text(encoding="ascii"), where=name)


def encode_request(api: Api, version: int, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
    """A request as it goes over the wire: size, header, body."""
    spec = request_spec(api)
    client = CLIENT_ID.encode("ascii")
    header = struct.pack(">hhih", api, version, correlation_id, len(client)) + client
    if version in spec.flexible:
        header += b"\0"
    body = encode_message(spec, version, fields, leaves_out=True)
    return struct.pack(">i", len(header) + len(body)) + header + body


def decode_response(
    api: Api, version: int, correlation_id: int, data: memoryview
) -> dict[str, Any]:
    """Read an answer, without the four bytes of its size.

    ApiVersions answers have a header without tags in every version, and one that says that the
    version is not supported has the body of version 0.

    Raises:
        DecodeError: It is not the answer to that request.
    """
    if len(data) < 4:
        raise DecodeError(f"an answer of {len(data)} bytes")
    (found,) = struct.unpack_from(">i", data)
    if found != correlation_id:
        raise DecodeError(f"it answers request {found}, not request {correlation_id}")
    spec, pos = response_spec(api), 4
    if api is Api.API_VERSIONS:
        (error,) = struct.unpack_from(">h", data, 4) if len(data) >= 6 else (0,)
        version = 0 if error == ErrorCode.UNSUPPORTED_VERSION else version
    elif version in spec.flexible:
        pos = _skip_tags(data, pos)
    return decode_message(spec, version, data, pos)


def _skip_tags(data: memoryview, pos: int) -> int:
    count, pos = read_uvarint(data, pos, len(data))
    for _ in range(count):
        _, pos = read_uvarint(data, pos, len(data))
        size, pos = read_uvarint(data, pos, len(data))
        if size > len(data) - pos:
            raise DecodeError("a tag of the answer's header is longer than the answer")
        pos += size
    return pos


def common_version(api: Api, offered: Mapping[int, tuple[int, int]]) -> int | None:
    """The newest version that both sides speak; None where there is none.

    Args:
        api: The request's api.
        offered: Lowest and highest version by api key, as the peer's ApiVersions has them.
    """
    if api not in offered:
        return None
    low, high = offered[api]
    ours = request_spec(api).versions
    version = min(high, ours.high)
    return version if version >= max(low, ours.low) else None


# The bodies that an observer sends.


def fetch_body(
    *,
    epoch: int,
    offset: int,
    last_epoch: int,
    high_watermark: int,
    max_wait_ms: int,
    cluster_id: str | None,
) -> dict[str, Any]:
    """A Fetch that no leader takes for a replica's: replica id -1 moves and shows nothing."""
    return {
        "cluster_id": cluster_id,
        "max_wait_ms": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": FETCH_BYTES,
        "topics": [
            {
                "topic": TOPIC,
                "topic_id": TOPIC_ID,
                "partitions": [
                    {
                        "partition": 0,
                        "current_leader_epoch": epoch,
                        "fetch_offset": offset,
                        "last_fetched_epoch": last_epoch,
                        "log_start_offset": -1,
                        "partition_max_bytes": FETCH_BYTES,
                        "replica_directory_id": bytes(16),
                        "high_watermark": high_watermark,
                    }
                ],
            }
        ],
        "forgotten_topics_data": [],
    }


def fetch_snapshot_body(
    *, epoch: int, snapshot: tuple[int, int], pos: int, max_bytes: int, cluster_id: str | None
) -> dict[str, Any]:
    """A FetchSnapshot of the bytes from a position on."""
    return {
        "cluster_id": cluster_id,
        "max_bytes": max_bytes,
        "topics": [
            {
                "name": TOPIC,
                "partitions": [
                    {
                        "partition": 0,
                        "current_leader_epoch": epoch,
                        "snapshot_id": {"end_offset": snapshot[0], "epoch": snapshot[1]},
                        "position": pos,
                    }
                ],
            }
        ],
    }


def describe_quorum_body() -> dict[str, Any]:
    """A DescribeQuorum of the metadata quorum."""
    return {"topics": [{"topic_name": TOPIC, "partitions": [{"partition_index": 0}]}]}


def describe_cluster_body() -> dict[str, Any]:
    """A DescribeCluster that asks for the controllers."""
    return {"include_cluster_authorized_operations": False, "endpoint_type": CONTROLLERS}


def the_partition(answer: Mapping[str, Any], topics: str) -> dict[str, Any] | None:
    """The metadata partition's part of an answer; None where it has none."""
    for topic in answer[topics]:
        for partition in topic["partitions"]:
            found: dict[str, Any] = partition
            if found.get("partition_index", found.get("index")) == 0:
                return found
    return None
