"""Records of coordinators' logs hold what Kafka's classes read in them, and are refused alike."""

from __future__ import annotations

import base64
import json
import struct
from functools import cache
from typing import Any, Final

import numpy as np
import pytest

from metashell.log.frames import NO_NUMBER
from metashell.records.flaws import Flaw, LoadVerdict
from metashell.records.keyed_messages import (
    ASSIGNMENT,
    MEMBER_BYTES,
    SUBSCRIPTION,
    NestedColumns,
    decode_nested,
    nested_columns,
    protocols_json,
)
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import Arena
from metashell.schema.columns import SpanColumn
from metashell.schema.coordinators import CoordinatorLog, data_message, load_record_types
from metashell.schema.dump import fields_json
from metashell.schema.rows import to_rows
from metashell.schema.scalar import UNKNOWN_TAGS, decode_prefix
from support.coordinators import IDS, RecordedSegment, differing_segments

SEGMENTS: Final = differing_segments()
every_segment = pytest.mark.parametrize("segment", SEGMENTS, ids=IDS)

ERRORS: Final = {
    "Found an unknown record type": Flaw.UNKNOWN_TYPE,
    "Found an unknown record version": Flaw.UNKNOWN_VERSION,
    "Could not read version from key's buffer": Flaw.SHORT_KEY,
    "Could not read version from value's buffer": Flaw.SHORT_VALUE,
    "from key's buffer due to": Flaw.BAD_KEY,
    "from value's buffer due to": Flaw.BAD_VALUE,
    "no key": Flaw.NO_KEY,
}
"""What Kafka's exceptions mean."""


@cache
def records_of(segment: RecordedSegment) -> KeyedRecords:
    """Read a segment, once."""
    return KeyedRecords(segment.load(), load_record_types(CoordinatorLog(segment.topic)))


def flaw_of(record: dict[str, Any]) -> Flaw:
    """Tell what is wrong with a recorded record."""
    if "transactionStatusError" in record:
        return Flaw.UNKNOWN_STATE
    if "error" not in record:
        return Flaw.NONE
    return next(flaw for text, flaw in ERRORS.items() if text in record["error"])


def decoded(records: KeyedRecords) -> dict[int, dict[str, Any]]:
    """Take all columns apart: type, key and value by row, and the value's fields as they are."""
    found = {}
    for name, record_type in records.types.by_name.items():
        columns = records.columns(name)
        key, value = record_type.key, record_type.value
        rows = zip(
            columns.rows.tolist(),
            to_rows(columns.key),
            to_rows(columns.value),
            columns.is_tombstone.tolist(),
            strict=True,
        )
        for row, key_fields, fields, is_tombstone in rows:
            version = int(records.frames.version[row])
            found[row] = {
                "type": record_type.type_name,
                "key": fields_json(key, key.versions.low, key_fields),
                "value": None if is_tombstone else fields_json(value, version, fields),
                "fields": fields,
            }
    return found


@pytest.mark.cases(28)
@every_segment
def test_keys_and_values(segment: RecordedSegment) -> None:
    """Every sound record has the type, the key and the value that Kafka's JSON has, in order."""
    records = records_of(segment)
    found = decoded(records)
    flaws = records.flaws()

    for row, record in enumerate(segment.records):
        if "type" not in record or flaws[row] != Flaw.NONE:
            assert row not in found
            continue
        assert record["type"] == found[row]["type"]
        assert json.dumps(record["key"]) == json.dumps(found[row]["key"])
        assert json.dumps(record["value"]) == json.dumps(found[row]["value"])


@pytest.mark.long
@every_segment
def test_flaws(segment: RecordedSegment) -> None:
    """What Kafka can't read is at fault here, for the same reason, and nothing else is."""
    records = records_of(segment)
    flaws = [Flaw(flaw) for flaw in records.flaws().tolist()]
    # What the class that reads records does not look at; `loaded.json` is of those that do.
    later = (Flaw.UNKNOWN_TRANSACTION_VERSION, Flaw.NO_VALUE)
    read = [Flaw.NONE if flaw in later else flaw for flaw in flaws]

    assert [flaw_of(record) for record in segment.records] == read
    for row, flaw in enumerate(flaws):
        assert (flaw is Flaw.NONE) == (records.reason(row) == "")
    assert len(records.faults()) == sum(flaw is not Flaw.NONE for flaw in flaws)


@every_segment
def test_nested_members(segment: RecordedSegment) -> None:
    """What members say is as in kafka-dump-log; newer versions are as clients read them."""
    found = decoded(records_of(segment))
    for row, record in enumerate(segment.records):
        if "membersDecoded" in record:
            members = zip(record["membersDecoded"], found[row]["fields"]["members"], strict=True)
            for said, member in members:
                for part, message in MEMBER_BYTES.items():
                    check_nested(said[part], decode_nested(message, member[part]).to_json())
        if record.get("classicProtocolsDecoded") is not None:
            member = found[row]["fields"]["classic_member_metadata"]
            ours = protocols_json(member)
            for said, protocol in zip(record["classicProtocolsDecoded"], ours, strict=True):
                assert said["name"] == protocol["name"]
                check_nested(said["metadata"], protocol["metadata"])


def check_nested(known: dict[str, Any], ours: dict[str, Any]) -> None:
    """Compare a message; of errors only that there is one."""
    of_kafka = {k: v for k, v in known.items() if not k.startswith("asClient")}
    if of_kafka.get("version", 0) > 3:
        assert known["asClient"] == ours["data"]
    else:
        assert set(of_kafka) == set(ours)
        assert of_kafka | {"error": None} == ours | {"error": None}


@pytest.mark.parametrize(("n_owned", "is_dumped"), [(0, True), (1, False)])
def test_newer_subscriptions(n_owned: int, is_dumped: bool) -> None:
    """Kafka's classes read a version that they do not know where no struct is in the message."""
    topics, user_data, owned = b"\0\0\0\1\0\1t", b"\xff" * 4, b"\0\1t\0\0\0\0" * n_owned
    rest = struct.pack(">ih", -1, -1)
    raw = struct.pack(">h", 4) + topics + user_data + struct.pack(">i", n_owned) + owned + rest
    message = decode_nested(SUBSCRIPTION, raw)

    assert (4, ["t"], is_dumped) == (message.version, message.data["topics"], message.is_dumped)  # type: ignore[index]


def test_nested_as_a_coordinator_reads_them() -> None:
    """Columns of subscriptions and assignments hold what Kafka's clients read, or are not sound."""
    for name, part in ((SUBSCRIPTION, "subscription"), (ASSIGNMENT, "assignment")):
        raws, expected = list[bytes](), list[dict[str, Any]]()
        for segment in SEGMENTS:
            for record in segment.records:
                if "membersDecoded" in record:
                    members = record["value"]["members"]
                    raws += [base64.b64decode(member[part]) for member in members]
                    expected += [member[part] for member in record["membersDecoded"]]
        columns = nested(raws, name)
        spec = data_message(name)
        rows = to_rows(columns.fields)

        assert len(raws) > 100
        assert [m.get("version", NO_NUMBER) for m in expected] == columns.version.tolist()
        assert ["asClient" in message for message in expected] == columns.ok.tolist()
        for message, row, ok in zip(expected, rows, columns.ok.tolist(), strict=True):
            if ok:
                assert message["asClient"] == fields_json(spec, spec.versions.high, row)


def nested(raws: list[bytes], name: str) -> NestedColumns:
    """Decode subscriptions or assignments that lie one behind the other."""
    sizes = np.array([len(raw) for raw in raws], dtype=np.int64)
    arena = Arena.from_bytes(b"".join(raws))
    starts = np.cumsum(sizes) - sizes
    return nested_columns(arena, SpanColumn(arena, "u1", starts, sizes), name)


@every_segment
def test_unknown_tags(segment: RecordedSegment) -> None:
    """Tags that no definition has are found, with their bytes."""
    records = records_of(segment)
    flaws = records.flaws()
    for row, record in enumerate(segment.records):
        if record.get("value") is None or flaws[row] != Flaw.NONE:
            continue
        (value,) = records.frames.values([row])
        assert value is not None
        spec = records.types.by_number[record["keyType"]].value
        fields, _ = decode_prefix(spec, record["valueVersion"], value[2:])
        tags = fields.get(UNKNOWN_TAGS, [])
        assert isinstance(tags, list)
        assert record.get("unknownTaggedFields", []) == [[tag, raw.hex()] for tag, raw in tags]


def test_what_ends_the_load() -> None:
    """Of the logs that hold anything Kafka can't load it is said where, of the others not."""
    refusals = {s.name: records_of(s).refusal for s in SEGMENTS if s.path.parent.name in s.name}
    told = {name: refusal[1].reason for name, refusal in refusals.items() if refusal is not None}

    assert {
        "__consumer_offsets-0": (
            "a broker stops at offset 588: LEGACY_OFFSET_COMMIT: value version 1 is not known;"
            " it serves no group of this partition"
        ),
        "__share_group_state-0": (
            "a broker stops at offset 24: SHARE_UPDATE: the record has no value;"
            " it serves no share state of this partition"
        ),
        "__transaction_state-0": (
            "a broker stops at offset 1: TRANSACTION_LOG: transaction state 19 is not known;"
            " it has the transactions before that offset only"
        ),
        "broken-null-key": (
            "a broker stops at offset 1: the record has no key;"
            " it serves no group of this partition"
        ),
        "broken-empty-key": (
            "a broker stops at offset 1: the key has 0 bytes, too few for a record type;"
            " it serves no group of this partition"
        ),
    } == told


def test_transactions_as_kafka_loads_them() -> None:
    """What TransactionLog throws at is refused, what it passes over is skipped, else it is read."""
    verdicts = {
        "TxnRecord": LoadVerdict.READ,
        "TxnTombstone": LoadVerdict.READ,
        "UnknownKeyVersion": LoadVerdict.SKIPPED,
        "UnknownValueVersion": LoadVerdict.SKIPPED,
    }
    for segment in SEGMENTS:
        loaded = segment.dump.with_name("loaded.json")
        if segment.topic != CoordinatorLog.TRANSACTIONS or not loaded.is_file():
            continue
        records = records_of(segment)
        records.flaws()
        row_of = {offset: row for row, offset in enumerate(records.frames.offset[:].tolist())}
        for step in json.loads(loaded.read_text("utf-8"))["steps"]:
            expected = verdicts.get(step.get("result"), LoadVerdict.REFUSED)
            assert expected is records.verdict(row_of[step["offset"]]), step


def test_share_state_as_kafka_loads_it() -> None:
    """What throws while share state is loaded is refused, and unknown types are skipped."""
    for segment in SEGMENTS:
        loaded = segment.dump.with_name("loaded.json")
        if segment.topic != CoordinatorLog.SHARE or not loaded.is_file():
            continue
        records = records_of(segment)
        records.flaws()
        row_of = {offset: row for row, offset in enumerate(records.frames.offset[:].tolist())}
        for step in json.loads(loaded.read_text("utf-8"))["steps"]:
            thrown = step.get("exception", "")
            expected = LoadVerdict.REFUSED if thrown else LoadVerdict.READ
            if thrown.startswith("UnknownRecordTypeException"):
                expected = LoadVerdict.SKIPPED
            assert expected is records.verdict(row_of[step["offset"]]), step


def test_markers() -> None:
    """Markers have their producer, whether they commit, and their coordinator's epoch."""
    for segment in SEGMENTS:
        markers = records_of(segment).markers
        producers = {batch["baseOffset"]: batch.get("producerId") for batch in segment.batches}
        expected = [
            (
                producers[record["batchOffset"]],
                record["control"]["type"] == "COMMIT",
                record["control"]["coordinatorEpoch"],
            )
            for record in segment.records
            if "control" in record
        ]
        columns = (markers.producer_id, markers.is_commit, markers.coordinator_epoch)
        assert expected == list(zip(*(column.tolist() for column in columns), strict=True))
