"""Batches and records of coordinators' logs lie where Kafka's own classes find them."""

from __future__ import annotations

import numpy as np
import pytest

from metashell.log.compression import NAMES
from metashell.log.fault import FaultKind
from metashell.log.frames import NO_NUMBER, Frames, keyed_control
from metashell.log.framing import build_frames
from metashell.log.layout import CODEC, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from support.coordinators import IDS, RecordedSegment, differing_segments

pytestmark = pytest.mark.parametrize("segment", differing_segments(), ids=IDS)


def batch_lines(frames: Frames) -> list[dict[str, object]]:
    """Give the headers of batches as the recorded lines have them."""
    lines = []
    for i, header in enumerate(frames.batches.header):
        of = {name: int(header[name]) for name in header.dtype.names}
        attributes, base = of["attributes"], of["base_offset"]
        line: dict[str, object] = {
            "batch": True,
            "position": int(frames.batches.pos[i]),
            "sizeInBytes": of["length"] + 12,
            "magic": of["magic"],
            "baseOffset": base,
            "lastOffset": base + of["last_delta"],
            "isValid": True,
            "compression": NAMES[attributes & CODEC],
        }
        if of["magic"] >= 2:
            has_sequence = of["base_sequence"] >= 0
            line |= {
                "count": of["count"],
                "crc": of["crc"],
                "partitionLeaderEpoch": of["epoch"],
                "producerId": of["producer_id"],
                "producerEpoch": of["producer_epoch"],
                "baseSequence": of["base_sequence"],
                "lastSequence": of["base_sequence"] + of["last_delta"] if has_sequence else -1,
                "isTransactional": bool(attributes & TRANSACTIONAL),
                "isControl": bool(attributes & CONTROL),
                "timestampType": (
                    "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"
                ),
                "maxTimestamp": of["max_timestamp"],
            }
        if attributes & DELETE_HORIZON:
            line["deleteHorizonMs"] = of["base_timestamp"]
        lines.append(line)
    return lines


@pytest.mark.cases(28)
def test_batches(segment: RecordedSegment) -> None:
    """Headers are those that Kafka reads, but of batches with a wrong CRC; those are faults."""
    loaded = segment.load()
    frames, faults = build_frames(loaded, has_keys=True)
    (file,) = loaded.files
    sound = [batch for batch in segment.batches if batch["isValid"]]
    wrong = [batch for batch in segment.batches if not batch["isValid"]]

    assert sound == batch_lines(frames)
    assert [] == faults
    mismatches = [fault for fault in file.chain.faults if "CRC mismatch" in fault.reason]
    assert [batch["position"] for batch in wrong] == [fault.pos for fault in mismatches]
    assert all("a broker may have loaded it" in fault.reason for fault in mismatches)


def test_faults(segment: RecordedSegment) -> None:
    """Damage is told, and nothing else is; a real log has none."""
    (file,) = segment.load().files
    found = [(fault.kind, fault.pos) for fault in file.chain.faults]
    torn, damaged = FaultKind.TORN, FaultKind.DAMAGED
    expected = {
        "broken-crc": [(damaged, 110)],
        "broken-crc-gzip": [(damaged, 110)],
        "broken-magic": [(damaged, 110)],
        "broken-truncated": [(torn, 110)],
        # Their makers let the leader epoch go back.
        "__consumer_offsets-0": [(damaged, 163967)],
        "clean-__consumer_offsets-1": [(damaged, 19023)],
    }
    assert expected.get(segment.name, []) == found
    assert (300 if segment.name == "zero-padded" else 0) == file.chain.padding


def test_records(segment: RecordedSegment) -> None:
    """Offsets, times, sequences, keys and values are those that Kafka reads."""
    frames, _ = build_frames(segment.load(), has_keys=True)
    rows, expected = np.arange(len(frames)), segment.records

    assert [r["offset"] for r in expected] == frames.offset[:].tolist()
    assert [r["timestamp"] for r in expected] == frames.timestamps(rows).tolist()
    assert [r.get("sequence", -1) for r in expected] == frames.sequences(rows).tolist()
    # Of a few records only their own headers are read.
    for read in (frames.timestamps, frames.sequences, frames.producer_ids, frames.epochs):
        few = rows[:: max(len(rows) // 3, 1)][::-1]
        assert [read(few[i : i + 1])[0] for i in range(len(few))] == read(rows)[few].tolist()
    assert [r["keySize"] for r in expected] == frames.key_size.tolist()
    assert [r["valueSize"] for r in expected] == frames.value_size.tolist()
    for record, key, value in zip(expected, frames.keys(rows), frames.values(rows), strict=True):
        assert record["keyHex"] == (None if key is None else key.hex())
        if "valueHex" in record:
            assert record["valueHex"] == (None if value is None else value.hex())


def test_numbers(segment: RecordedSegment) -> None:
    """Keys' types and values' versions are those that Kafka reads; markers have their epoch."""
    frames, _ = build_frames(segment.load(), has_keys=True)
    control = [r["control"] for r in segment.records if "control" in r]
    marked = np.flatnonzero(frames.is_control)
    types = {"ABORT": keyed_control(0), "COMMIT": keyed_control(1)}
    numbers = [
        types[r["control"]["type"]] if "control" in r else r.get("keyType", NO_NUMBER)
        for r in segment.records
    ]
    # Of a record without a key Kafka reads no version either.
    keyed = ~frames.is_control & (frames.key_size >= 0)
    with_key = [r for r in segment.records if "control" not in r and r["keySize"] >= 0]
    versions = [r.get("valueVersion", NO_NUMBER) for r in with_key]

    assert numbers == frames.api_key.narrow.tolist()
    assert versions == frames.version[keyed].tolist()
    assert [c["coordinatorEpoch"] for c in control] == frames.coordinator_epochs(marked).tolist()
