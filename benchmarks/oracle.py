"""What the timed commands must print, found without the code that is timed.

Owns a search through the bytes of a made-up cluster's files for one topic's records, which the
scalar decoder then reads. Knows the layouts that `kraftgen` writes and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from metashell.schema.model import load_registry
from metashell.schema.scalar import decode_message
from metashell.schema.uuids import uuid_text

_PARTITION, _CHANGE = b"\x01\x03\x02", b"\x01\x05\x02"
"""Frame version, api key and version of both record types."""
_UNCHANGED_LEADER: Final = -2


def topic_id(checkpoint: Path, topic: str) -> bytes:
    """The id of a topic, by its TopicRecord in a checkpoint."""
    name = topic.encode()
    needle = b"\x01\x02\x00" + bytes([len(name) + 1]) + name
    data = checkpoint.read_bytes()
    pos = data.index(needle) + len(needle)
    return data[pos : pos + 16]


def partition_text(files: list[Path], topic: str, partition: int) -> str:
    """What ``cat`` of a partition prints, replayed from its records in the files."""
    by_name = load_registry().by_name
    place = partition.to_bytes(4, "big") + topic_id(files[0], topic)
    state: dict[str, Any] = {}
    for path in files:
        data = path.read_bytes()
        for start, stop in _values(data, place):
            if data.startswith(_PARTITION, start):
                state = decode_message(by_name["PartitionRecord"], 2, data[start + 3 : stop])
            else:
                change = decode_message(by_name["PartitionChangeRecord"], 2, data[start + 3 : stop])
                _apply(state, change)
    return _text(state)


def _values(data: bytes, place: bytes) -> Iterator[tuple[int, int]]:
    """Spans of the values that begin with a partition's id and its topic's, in order."""
    pos = data.find(place)
    while pos >= 0:
        start = pos - 3
        if data[start:pos] in (_PARTITION, _CHANGE):
            # The value's length, a zigzag varint of one or two bytes, stands right before it.
            length = data[start - 1]
            if data[start - 2] >= 0x80:
                length = length << 7 | data[start - 2] & 0x7F
            yield start, start + (length >> 1)
        pos = data.find(place, pos + 1)


def _apply(state: dict[str, Any], change: dict[str, Any]) -> None:
    """Apply a change as the generator makes them: of the ISR, of the leader, of both."""
    if change["isr"] is not None:
        state["isr"] = change["isr"]
    if change["leader"] != _UNCHANGED_LEADER:
        state["leader"] = change["leader"]
        state["leader_epoch"] += 1
    state["partition_epoch"] += 1


def _text(state: dict[str, Any]) -> str:
    lists = {
        "replicas": state["replicas"],
        "directories": [uuid_text(raw) for raw in state["directories"]],
        "isr": state["isr"],
        "removingReplicas": state["removing_replicas"],
        "addingReplicas": state["adding_replicas"],
        "elr": state["eligible_leader_replicas"] or [],
        "lastKnownElr": state["last_known_elr"] or [],
    }
    shown = [f"{name}=[{', '.join(map(str, items))}]" for name, items in lists.items()]
    shown += [
        f"leader={state['leader']}",
        "leaderRecoveryState=RECOVERED",
        f"leaderEpoch={state['leader_epoch']}",
        f"partitionEpoch={state['partition_epoch']}",
    ]
    return f"PartitionRegistration({', '.join(shown)})"
