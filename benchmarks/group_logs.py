#!/usr/bin/env python3
"""Writes made-up logs of a group coordinator: ``group_logs.py DIR --commits 1000000``.

Batches are as a group coordinator writes them: a commit of a few partitions each, some in
transactions. ``expected.json`` says what the logs come to: it is counted while they are written.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import crc32c

from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.encode import encode_control_key, encode_message, encode_varint

EXPECTED: Final = "expected.json"
KEYS_OF_A_GROUP: Final = 100
_TOPICS: Final = 10
"""Of a group: its keys are as many partitions of each."""
_SEGMENT_BYTES: Final = 104_857_600
"""The default of ``offsets.topic.segment.bytes``."""
_BEGIN_MS: Final = 1_790_000_000_000
_EPOCH: Final = 7
_LARGEST_COMMIT: Final = 3
_TRANSACTION_EVERY: Final = 64
"""So many commits lie between two transactions."""
_COMMIT, _ABORT = 1, 0
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_TAIL: Final = struct.Struct(">hiqqqhii")
_HEAD: Final = struct.Struct(">qiibI")
_VALUE: Final = struct.Struct(">hqihq")
_VERSION: Final = 3
_PARTITION: Final = struct.Struct(">i")
_ORDINARY: Final = -1
"""The producer id of a batch that has none."""


@dataclass(slots=True)
class Log:
    """A partition's log as it is written."""

    directory: Path
    offset: int = 0
    file: BinaryIO | None = None
    size: int = 0
    end_ms: int = _BEGIN_MS

    def append(
        self, records: Sequence[tuple[bytes, bytes | None]], producer: int, attributes: int = 0
    ) -> None:
        """Append a batch of records: keys and values."""
        self.end_ms += 3
        payload = b"".join(_record(i, key, value) for i, (key, value) in enumerate(records))
        n = len(records)
        epoch = 0 if producer >= 0 else -1
        tail = _TAIL.pack(
            attributes, n - 1, self.end_ms, self.end_ms, producer, epoch, -1, n
        ) + payload  # fmt: skip
        head = _HEAD.pack(self.offset, len(tail) + 9, _EPOCH, 2, crc32c.crc32c(tail))
        self._file(len(head) + len(tail)).write(head + tail)
        self.offset += n

    def _file(self, n_bytes: int) -> BinaryIO:
        if self.file is None or self.size + n_bytes > _SEGMENT_BYTES:
            self.close()
            self.directory.mkdir(parents=True, exist_ok=True)
            self.file = (self.directory / f"{self.offset:020d}.log").open("xb", 1 << 20)
            self.size = 0
        self.size += n_bytes
        return self.file

    def close(self) -> None:
        """Close the last segment."""
        if self.file is not None:
            self.file.close()


@dataclass(slots=True)
class Expected:
    """What the logs come to."""

    groups: int = 0
    records: int = 0
    commits: int = 0
    offsets: dict[tuple[int, int], int] = field(default_factory=dict)
    """The committed offset of each key: (number of the group, number of the key in it)."""

    def as_json(self) -> str:
        """As a program reads it."""
        found = {
            "groups": self.groups,
            "records": self.records,
            "commits": self.commits,
            "keys": len(self.offsets),
            "sum": sum(self.offsets.values()),
        }
        return json.dumps(found)


def write_logs(directory: Path, partitions: int, commits: int, keys: int, seed: int = 1) -> None:
    """Write logs and what they come to.

    Args:
        directory: Made if it is missing.
        partitions: Of ``__consumer_offsets``.
        commits: Commits of offsets in all partitions together.
        keys: How many different keys have one.
        seed: The same gives the same files.
    """
    rng = random.Random(seed)
    logs = [Log(directory / f"__consumer_offsets-{i}") for i in range(partitions)]
    n_groups = max(keys // KEYS_OF_A_GROUP, 1)
    names = [f"{('billing', 'search', 'audit')[g % 3]}-service-{g:05d}" for g in range(n_groups)]
    log_of = [logs[abs(_java_hash(name)) % partitions] for name in names]
    expected = Expected(groups=n_groups)
    for g, name in enumerate(names):
        expected.records += _make_group(log_of[g], name, g)
    # Each key once, then those of a group at random.
    first = ((g, k) for g in range(n_groups) for k in range(0, KEYS_OF_A_GROUP, _LARGEST_COMMIT))
    written = 0
    while written < commits:
        g, k = next(first, (rng.randrange(n_groups), rng.randrange(KEYS_OF_A_GROUP)))
        last = min(k + rng.randint(1, _LARGEST_COMMIT), KEYS_OF_A_GROUP)
        if written < keys:
            last = min(k + _LARGEST_COMMIT, KEYS_OF_A_GROUP)
        n = min(last - k, commits - written)
        _commit(log_of[g], names[g], g, range(k, k + n), written, expected)
        written += n
    for log in logs:
        log.close()
    (directory / EXPECTED).write_text(expected.as_json(), encoding="utf-8")


def _commit(log: Log, name: str, group: int, keys: range, written: int, expected: Expected) -> None:
    """Append a commit of a group's keys, now and then in a transaction."""
    prefix = _prefix(name)
    records: list[tuple[bytes, bytes | None]] = [
        (prefix + _key(k), _VALUE.pack(_VERSION, written + k, _EPOCH, 0, log.end_ms)) for k in keys
    ]
    in_transaction = written % _TRANSACTION_EVERY == 0
    producer = 1000 + group if in_transaction else _ORDINARY
    applies = True
    log.append(records, producer, _TRANSACTIONAL if in_transaction else 0)
    if in_transaction:
        applies = written % (2 * _TRANSACTION_EVERY) == 0 or written < KEYS_OF_A_GROUP
        kind = _COMMIT if applies else _ABORT
        marker = struct.pack(">hi", 0, 1)
        log.append([(encode_control_key(kind), marker)], producer, _TRANSACTIONAL | _CONTROL)
        expected.records += 1
    expected.records += len(keys)
    expected.commits += len(keys)
    if applies:
        expected.offsets.update(((group, k), written + k) for k in keys)


def _make_group(log: Log, name: str, group: int) -> int:
    """Append what makes a group with two members, or nothing; returns the number of records."""
    topics = [_topic(t) for t in range(_TOPICS)]
    if group % 3 == 0:
        nested = struct.pack(">hi", 1, len(topics))
        nested += b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
        nested += struct.pack(">ii", -1, 0)
        members = [
            {
                "member_id": f"{name}-{i}-0d4f8a1e", "client_id": f"{name}-{i}",
                "client_host": f"/10.0.0.{i}", "rebalance_timeout": 300_000,
                "session_timeout": 45_000, "subscription": nested,
                "assignment": struct.pack(">hii", 1, 0, -1),
            }
            for i in range(2)
        ]  # fmt: skip
        fields = {
            "protocol_type": "consumer", "generation": 4, "protocol": "range",
            "leader": members[0]["member_id"], "members": members,
            "current_state_timestamp": log.end_ms,
        }  # fmt: skip
        log.append([_of_type("GroupMetadata", {"group": name}, 3, fields)], _ORDINARY)
        return 1
    if group % 3 == 1:
        records = [_of_type("ConsumerGroupMetadata", {"group_id": name}, 0, {"epoch": 3})]
        for i in range(2):
            key = {"group_id": name, "member_id": f"{name}-{i}"}
            told = {
                "client_id": f"{name}-{i}", "client_host": f"/10.0.0.{i}",
                "subscribed_topic_names": topics, "rebalance_timeout_ms": 300_000,
            }  # fmt: skip
            records.append(_of_type("ConsumerGroupMemberMetadata", key, 0, told))
            current = {"member_epoch": 3, "previous_member_epoch": 2}
            records.append(_of_type("ConsumerGroupCurrentMemberAssignment", key, 0, current))
        key = {"group_id": name}
        records.append(
            _of_type("ConsumerGroupTargetAssignmentMetadata", key, 0, {"assignment_epoch": 3})
        )
        log.append(records, _ORDINARY)
        return len(records)
    return 0


_TYPES: Final = load_record_types(CoordinatorLog.GROUPS).by_name


def _of_type(
    name: str, key: dict[str, Any], version: int, value: dict[str, Any]
) -> tuple[bytes, bytes | None]:
    spec = _TYPES[name]
    key_bytes = struct.pack(">h", spec.number) + encode_message(spec.key, 0, key)
    if spec.key.versions.low:
        key_bytes = struct.pack(">h", spec.number) + encode_message(
            spec.key, spec.key.versions.low, key
        )
    return key_bytes, struct.pack(">h", version) + encode_message(spec.value, version, value)


def _topic(number: int) -> str:
    return f"topic-of-many-{number:02d}"


def _prefix(group: str) -> bytes:
    raw = group.encode()
    return struct.pack(">hh", _TYPES["OffsetCommit"].number, len(raw)) + raw


def _key(k: int) -> bytes:
    raw = _topic(k % _TOPICS).encode()
    return struct.pack(">h", len(raw)) + raw + _PARTITION.pack(k // _TOPICS)


def _record(delta: int, key: bytes, value: bytes | None) -> bytes:
    body = b"\x00\x00" + encode_varint(delta) + encode_varint(len(key)) + key
    body += encode_varint(-1) if value is None else encode_varint(len(value)) + value
    body += b"\x00"
    return encode_varint(len(body)) + body


def _java_hash(text: str) -> int:
    """String.hashCode of ASCII text."""
    value = 0
    for byte in text.encode("ascii"):
        value = (31 * value + byte) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write logs of a group coordinator.")
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--commits", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    write_logs(**vars(parser.parse_args(argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
