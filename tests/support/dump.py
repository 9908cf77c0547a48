"""The records of a segment or checkpoint in the form of kafka-dump-log's JSON, in two ways.

`iter_dump` takes the product's framing (`metashell.log`) and its scalar decoder, a record at a
time; `iter_dump_columns` takes the product's columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from metashell.log.frames import CONTROL_KEY, Frames
from metashell.log.framing import build_frames
from metashell.log.read import load
from metashell.schema.dump import fields_json
from metashell.schema.model import Registry, load_registry
from metashell.schema.scalar import decode_message, read_varint, read_varlong
from support.decoded_records import decode_record, record_json
from support.dumped import dump

CONTROL_NAMES: Final = {
    2: "LeaderChange",
    3: "SnapshotHeader",
    4: "SnapshotFooter",
    5: "KRaftVersion",
    6: "KRaftVoters",
}
"""kafka-dump-log's names of the control types."""


def iter_dump(path: Path) -> Iterator[dict[str, Any]]:
    """Yield every record of a file; one that can't be decoded has ``text``, why, and no data."""
    loaded = load([str(path)])
    frames, _ = build_frames(loaded)
    registry = load_registry()
    rows = np.arange(len(frames))
    timestamps, epochs = frames.timestamps(rows).tolist(), frames.epochs(rows).tolist()
    for row in range(len(frames)):
        value = record_value(frames, row)
        yield {
            "file": path.name,
            "offset": int(frames.offset[row]),
            "createTime": timestamps[row],
            "epoch": epochs[row],
            "valueSize": -1 if value is None else len(value),
            **_decoded(registry, int(frames.api_key[row]), value),
        }


def iter_dump_columns(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what `iter_dump` does, but for the size of the value."""
    for record in dump(load([str(path)]), load_registry()):
        common = {
            "file": record.file,
            "offset": record.offset,
            "createTime": record.timestamp_ms,
            "epoch": record.epoch,
        }
        if record.data is None:
            yield {**common, "text": record.error}
        elif record.is_control:
            yield {**common, "control": record.type, "data": record.data}
        else:
            fields = {"type": record.type, "version": record.version, "data": record.data}
            yield {**common, **fields}


def record_value(frames: Frames, row: int) -> bytes | None:
    """Read a record's value, or None for null, by its own length fields."""
    start, stop = int(frames.start[row]), int(frames.stop[row])
    data = frames.arena.u1[start : stop + 10].tobytes()
    _, pos = read_varlong(data, 1, len(data))
    _, pos = read_varint(data, pos, len(data))
    key_size, pos = read_varint(data, pos, len(data))
    pos += max(key_size, 0)
    value_size, pos = read_varint(data, pos, len(data))
    return None if value_size < 0 else data[pos : pos + value_size]


def _decoded(registry: Registry, key: int, value: bytes | None) -> dict[str, Any]:
    control_type = CONTROL_KEY - key
    if control_type >= 0:
        assert value is not None
        version = int.from_bytes(value[:2], "big", signed=True)
        spec = registry.control[control_type]
        fields = decode_message(spec, version, value, 0, len(value))
        data = fields_json(spec, version, fields)
        return {"control": CONTROL_NAMES[control_type], "data": data}
    record = decode_record(registry, value)
    if record.spec is None or record.fields is None or record.version is None:
        return {"text": record.error}
    return record_json(record.spec, record.version, record.fields)
