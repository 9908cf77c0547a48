"""Writes logs of coordinators: a record or a marker at a time, each a batch of its own."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from kraftgen.batch import Record, control_record, encode_batch
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import (
    CoordinatorLog,
    RecordTypes,
    data_message,
    load_record_types,
)
from metashell.schema.encode import encode_message

START_MS: Final = 1_790_000_000_000
"""The time of the first record, where none is given; each following one is a second later."""


@dataclass(frozen=True, kw_only=True)
class Put:
    """A record; without fields of a value a tombstone."""

    name: str
    key: Mapping[str, Any]
    value: Mapping[str, Any] | None = None
    version: int | None = None
    """None for the newest."""
    producer_id: int = -1
    at_ms: int | None = None


@dataclass(frozen=True)
class End:
    """A marker."""

    producer_id: int
    is_commit: bool = True
    at_ms: int | None = field(default=None, kw_only=True)


@cache
def types_of(log: CoordinatorLog) -> RecordTypes:
    """The definitions of a log, read once."""
    return load_record_types(log)


def nested(name: str, fields: Mapping[str, Any], version: int = 0) -> bytes:
    """What stands inside a record, such as a subscription."""
    return struct.pack(">h", version) + encode_message(data_message(name), version, fields)


def encode(types: RecordTypes, entry: Put | End, offset: int) -> bytes:
    """A batch with a record."""
    at_ms = START_MS + offset * 1000 if entry.at_ms is None else entry.at_ms
    if isinstance(entry, End):
        return encode_batch(
            [control_record(int(entry.is_commit), struct.pack(">hi", 0, 0))],
            base_offset=offset,
            producer_id=entry.producer_id,
            control=True,
            transactional=True,
            timestamp=at_ms,
        )
    record_type = types.by_name[entry.name]
    key = struct.pack(">h", record_type.number) + encode_message(record_type.key, 0, entry.key)
    value = None
    if entry.value is not None:
        version = record_type.value.versions.high if entry.version is None else entry.version
        value = struct.pack(">h", version)
        value += encode_message(record_type.value, version, entry.value, leaves_out=True)
    return encode_batch(
        [Record(key=key, value=value)],
        base_offset=offset,
        producer_id=entry.producer_id,
        transactional=entry.producer_id >= 0,
        timestamp=at_ms,
    )


def write_log(
    path: Path,
    log: CoordinatorLog,
    entries: Iterable[Put | End],
    types: RecordTypes | None = None,
) -> None:
    """Write a segment."""
    types = types_of(log) if types is None else types
    batches = [encode(types, entry, offset) for offset, entry in enumerate(entries)]
    path.write_bytes(b"".join(batches))


def records_of(path: Path, log: CoordinatorLog, entries: Iterable[Put | End]) -> KeyedRecords:
    """Write a segment and read it."""
    write_log(path, log, entries)
    return KeyedRecords(load([str(path)], kind=COMPACTED), types_of(log))


def commit(group: str, topic: str, offset: int | None, partition: int = 0, **more: Any) -> Put:
    """A commit of an offset; None deletes it. ``at_ms`` is its time, too."""
    key = {"group": group, "topic": topic, "partition": partition}
    if offset is None:
        return Put(name="OffsetCommit", key=key, **more)
    value = {"offset": offset, "commit_timestamp": more.get("at_ms", START_MS)}
    if "expire_timestamp" in more:
        value["expire_timestamp"] = more.pop("expire_timestamp")
        more["version"] = 1
    return Put(name="OffsetCommit", key=key, value=value, **more)
