"""Lines of coordinators' records: the JSON that Kafka's classes print, and lines to be read."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

import numpy as np
import pytest

from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import JsonForm, ReadableForm
from metashell.records.lines import LineWriter
from metashell.redact import Redaction
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.dump import json_text
from support.coordinators import IDS, RecordedSegment, differing_segments, recorded_segments

every_segment = pytest.mark.parametrize("segment", differing_segments(), ids=IDS)

# What Kafka's other classes see: records that its reader of bytes reads all the same.
READ_BY_KAFKA: Final = ("is not known", "the record has no value")


@cache
def records_of(name: str) -> KeyedRecords:
    """Read a segment, once."""
    (segment,) = (s for s in recorded_segments() if s.name == name)
    return KeyedRecords(segment.load(), load_record_types(CoordinatorLog(segment.topic)))


def lines_of(segment: RecordedSegment, writer: LineWriter) -> list[str]:
    """Write every record of a segment."""
    records = records_of(segment.name)
    return list(writer.lines(records, np.arange(records.n_rows)))


def expected_line(segment: RecordedSegment, record: dict[str, Any]) -> str:
    """How a record's line begins that kafka-dump-log can read."""
    batch = next(b for b in segment.batches if b["baseOffset"] == record["batchOffset"])
    line = {
        "file": segment.path.name,
        "pos": batch["position"],
        "offset": record["offset"],
        "timestamp": record["timestamp"],
        "epoch": batch.get("partitionLeaderEpoch", -1),
        "producerId": batch.get("producerId", -1),
        "producerEpoch": batch.get("producerEpoch", -1),
        "sequence": record.get("sequence", -1),
        "transactional": batch.get("isTransactional", False),
    }
    if "control" in record:
        epoch = record["control"]["coordinatorEpoch"]
        name = record["control"]["type"].capitalize()
        return json_text(line | {"control": name, "data": {"coordinatorEpoch": epoch}})[:-1]
    # What kafka-dump-log prints begins with a number as text.
    key, value = (re.sub(r'"(\d+)"', r"\1", p, count=1) for p in segment.printed[record["offset"]])
    head = json_text(line | {"type": record["type"]})[:-1]
    return f'{head},"key":{key},"value":{value.replace("<DELETE>", "null")}'


@pytest.mark.cases(28)
@every_segment
def test_json(segment: RecordedSegment) -> None:
    """A line has the batch's fields, the key and the value as kafka-dump-log prints them."""
    texts = lines_of(segment, LineWriter(JsonForm(), Redaction()))
    for text, record in zip(texts, segment.records, strict=True):
        line = json.loads(text)
        if record["offset"] in segment.printed or "control" in record:
            beside = {name: line[name] for name in BESIDE if name in line}
            expected = expected_line(segment, record)
            assert (f"{expected},{json_text(beside)[1:]}" if beside else f"{expected}}}") == text
        elif "broker" not in line:
            assert "kafka-dump-log stopped with" in segment.text.read_text(encoding="utf-8")
        else:
            assert line["broker"] in ("skipped", "refused")
            assert record["offset"] == line["offset"]
            if "key" in record:
                assert {"type": record["keyType"], "data": record["key"]} == line["key"]
        of_kafka = "error" in record or "transactionStatusError" in record
        assert of_kafka or line.get("error", "is not known").endswith(READ_BY_KAFKA)


BESIDE: Final = ("classicProtocolsDecoded", "error", "broker")
"""What a line says behind what kafka-dump-log prints."""


@pytest.mark.cases(28)
@every_segment
def test_readable(segment: RecordedSegment) -> None:
    """A line to be read has the offset, the type, and an arrow unless it is of a marker."""
    lines = lines_of(segment, LineWriter(ReadableForm(), Redaction()))
    for line, record in zip(lines, segment.records, strict=True):
        offset, _, _, name, *rest = line.split(" ")
        assert str(record["offset"]) == offset
        if "control" in record:
            assert record["control"]["type"].capitalize() == name
            assert f"coordinatorEpoch={record['control']['coordinatorEpoch']}" in rest
            continue
        unknown = f"UNKNOWN({record['keyType']})" if "keyType" in record else "UNKNOWN"
        assert name == record.get("type", name)
        assert "type" in record or name == unknown or "error" in record
        assert "->" in rest
        assert all(character >= " " for character in line)


def line_at(segment_name: str, offset: int, *, json_lines: bool = False) -> str:
    """One line of a segment."""
    (segment,) = (s for s in recorded_segments() if s.name == segment_name)
    writer = (
        LineWriter(JsonForm(), Redaction())
        if json_lines
        else LineWriter(ReadableForm(), Redaction())
    )
    at = [record["offset"] for record in segment.records].index(offset)
    (line,) = writer.lines(records_of(segment_name), np.array([at]))
    return line


def test_some_readable_lines() -> None:
    """Key and value stand on the two sides of an arrow; control characters are quoted."""
    name = "__consumer_offsets-0"
    assert (
        '3 2024-03-09T16:00:09.577Z 0 LEGACY_OFFSET_COMMIT group="\\u007f\\u001b[31mred"'
        ' topic="rtl-\\u202eabc" partition=0 -> offset=887825707 metadata="trailing space "'
        " commitTimestamp=1700132931336"
    ) == line_at(name, 3)
    assert line_at(name, 9).endswith("group=dashboards topic=inventory partition=8 -> null")
    assert line_at(name, 460).endswith(" Commit coordinatorEpoch=3 producerId=5007 producerEpoch=0")
    assert '"subscription":{"topics":["clicks","orders"],"userData":"AQIDAA=="}' in line_at(
        name, 69
    )
    assert " transactionStatus=Empty " in line_at("__transaction_state-0", 0)


def test_bytes_that_are_not_understood_are_hidden() -> None:
    """They may hold anything: only --show-secrets shows them."""
    (segment,) = (s for s in recorded_segments() if s.name == "broken-null-key")
    hidden = json.loads(lines_of(segment, LineWriter(JsonForm(), Redaction()))[1])
    shown = json.loads(lines_of(segment, LineWriter(JsonForm(), Redaction(show_secrets=True)))[1])

    assert None is hidden["key"] is shown["key"]
    assert hidden["value"]["raw"].startswith("[redacted] 2 bytes in the batch at position 110")
    assert {"version": 1, "raw": "0001"} == shown["value"]
    assert ("the record has no key", "refused") == (hidden["error"], hidden["broker"])
