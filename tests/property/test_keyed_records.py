"""Columns of keyed records hold what a plain reader of one record after the other finds."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftgen.batch import Record, encode_batch
from kraftgen.files import segment_name
from metashell.errors import DecodeError
from metashell.kernel import library as load_kernel
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.records.flaws import Flaw, LoadVerdict
from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import JsonForm, ReadableForm
from metashell.records.lines import LineWriter
from metashell.redact import Redaction
from metashell.schema import columnar
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types
from metashell.schema.encode import encode_message
from metashell.schema.rows import to_rows
from metashell.schema.scalar import UNKNOWN_TAGS, decode_prefix
from support.seeds import examples
from support.strategies import damaged, field_values

LOGS = list(CoordinatorLog)
NUMBERS = st.sampled_from([-1, 9, 24, 32_767])

Pair = tuple[bytes | None, bytes | None]


@pytest.fixture(scope="module", name="path")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a segment's path, which examples write again and again."""
    return tmp_path_factory.mktemp("keyed") / segment_name(0)


@cache
def types_of(log: CoordinatorLog) -> RecordTypes:
    """Read the definitions of a log, once."""
    return load_record_types(log)


def numbered(number: int, body: bytes) -> bytes:
    """Put an int16 in front."""
    return struct.pack(">h", number) + body


@st.composite
def pairs(draw: st.DrawFn, log: CoordinatorLog) -> Pair:
    """Draw a record's key and value: sound, of an unknown number, null, damaged, too long."""
    record_type = draw(st.sampled_from([*types_of(log).by_number.values()]))
    low, high = record_type.value.versions.low, record_type.value.versions.high
    version = draw(st.integers(low, high))
    key = encode_message(record_type.key, 0, draw(field_values(record_type.key, 0)))
    value = encode_message(
        record_type.value, version, draw(field_values(record_type.value, version))
    )
    whole_key, whole_value = numbered(record_type.number, key), numbered(version, value)
    match draw(st.sampled_from(["whole"] * 4 + ["key", "value", "number", "version", "null"])):
        case "key":
            return draw(damaged(st.just(whole_key))), whole_value
        case "value":
            return whole_key, draw(damaged(st.just(whole_value)))
        case "number":
            return numbered(draw(NUMBERS), key), whole_value
        case "version":
            return whole_key, numbered(draw(NUMBERS), value)
        case "null":
            return draw(st.sampled_from([whole_key, b"", b"\x00", None])), None
    return whole_key, whole_value + draw(st.binary(max_size=2))


def records_of(path: Path, log: CoordinatorLog, written: list[Pair]) -> KeyedRecords:
    """Write records into a segment and read them."""
    batch = [Record(key=key, value=value) for key, value in written]
    path.write_bytes(encode_batch(batch))
    return KeyedRecords(load([str(path)], kind=COMPACTED), types_of(log))


@dataclass(frozen=True)
class Plain:
    """What a plain reader finds in a record."""

    flaw: Flaw
    name: str = ""
    key: object = None
    value: object = None


def plain(log: CoordinatorLog, key: bytes | None, value: bytes | None) -> Plain:
    """Read a record as CoordinatorRecordSerde and TransactionLog do."""
    if key is None or len(key) < 2:
        return Plain(Flaw.NO_KEY if key is None else Flaw.SHORT_KEY)
    record_type = types_of(log).by_number.get(struct.unpack(">h", key[:2])[0])
    if record_type is None:
        return Plain(Flaw.UNKNOWN_TYPE)
    try:
        key_fields, _ = decode_prefix(record_type.key, 0, key, 2)
    except DecodeError:
        return Plain(Flaw.BAD_KEY)
    if value is None:
        flaw = Flaw.NO_VALUE if record_type.name == "ShareUpdate" else Flaw.NONE
        return Plain(flaw, record_type.name, key_fields)
    if len(value) < 2:
        return Plain(Flaw.SHORT_VALUE)
    version = struct.unpack(">h", value[:2])[0]
    if version not in record_type.value.versions:
        return Plain(Flaw.UNKNOWN_VERSION)
    try:
        fields, _ = decode_prefix(record_type.value, version, value, 2)
    except DecodeError:
        return Plain(Flaw.BAD_VALUE)
    return Plain(_flaw_of_transaction(log, fields), record_type.name, key_fields, fields)


def _flaw_of_transaction(log: CoordinatorLog, fields: dict[str, Any]) -> Flaw:
    if log is not CoordinatorLog.TRANSACTIONS:
        return Flaw.NONE
    if not 0 <= fields["transaction_status"] <= 7:
        return Flaw.UNKNOWN_STATE
    if fields["transaction_partitions"] is None and fields["transaction_status"] != 0:
        return Flaw.NO_PARTITIONS
    known = 0 <= fields["client_transaction_version"] <= 2
    return Flaw.NONE if known else Flaw.UNKNOWN_TRANSACTION_VERSION


def without_unknown_tags(value: object) -> object:
    """Leave out what columns do not hold."""
    if isinstance(value, dict):
        return {k: without_unknown_tags(v) for k, v in value.items() if k != UNKNOWN_TAGS}
    return [without_unknown_tags(v) for v in value] if isinstance(value, list) else value


def check(records: KeyedRecords, log: CoordinatorLog, written: list[Pair]) -> None:
    """Compare columns and flaws with what a plain reader finds."""
    expected = [plain(log, *pair) for pair in written]
    for name in types_of(log).by_name:
        columns = records.columns(name)
        rows = [i for i, r in enumerate(expected) if r.name == name and r.flaw is Flaw.NONE]
        assert rows == columns.rows.tolist()
        sound = [expected[row] for row in rows]
        assert [without_unknown_tags(r.key) for r in sound] == to_rows(columns.key)
        assert [r.value is None for r in sound] == columns.is_tombstone.tolist()
        for found, row in zip(sound, to_rows(columns.value), strict=True):
            assert found.value is None or without_unknown_tags(found.value) == row
    assert [r.flaw for r in expected] == [Flaw(f) for f in records.flaws().tolist()]


@settings(max_examples=examples(30))
@given(data=st.data(), log=st.sampled_from(LOGS))
def test_columns(path: Path, data: st.DataObject, log: CoordinatorLog) -> None:
    """Keys, values and what is wrong are those of a plain reader, in any order of asking."""
    written = data.draw(st.lists(pairs(log), min_size=1, max_size=12))
    check(records_of(path, log, written), log, written)

    records = records_of(path, log, written)
    expected = [plain(log, *pair).flaw for pair in written]
    assert expected == [Flaw(flaw) for flaw in records.flaws().tolist()]
    for row, flaw in enumerate(expected):
        assert (flaw is Flaw.NONE) == (records.reason(row) == "")
    check(records, log, written)


@settings(max_examples=examples(15))
@given(data=st.data(), log=st.sampled_from(LOGS))
def test_until(path: Path, data: st.DataObject, log: CoordinatorLog) -> None:
    """The records before a row are those that a log of them alone has."""
    written = data.draw(st.lists(pairs(log), min_size=1, max_size=8))
    before = data.draw(st.integers(0, len(written)))
    records = records_of(path, log, written).until(before)

    check(records, log, written[:before])
    assert before == records.n_rows


@settings(max_examples=examples(15))
@given(data=st.data(), log=st.sampled_from(LOGS))
def test_some_fields(path: Path, data: st.DataObject, log: CoordinatorLog) -> None:
    """Fields that are not asked for are not there, and the others are as they were."""
    written = data.draw(st.lists(pairs(log), min_size=1, max_size=8))
    records = records_of(path, log, written)
    for name, record_type in types_of(log).by_name.items():
        key = {data.draw(st.sampled_from([f.column_name for f in record_type.key.fields]))}
        value = {data.draw(st.sampled_from([f.column_name for f in record_type.value.fields]))}
        some, whole = records.columns(name, key, value), records.columns(name)
        assert key == set(some.key.fields)
        assert value == set(some.value.fields)
        assert whole.rows.tolist() == some.rows.tolist()
        for ours, all_of_them in ((some.key, whole.key), (some.value, whole.value)):
            expected = [{n: row[n] for n in ours.fields} for row in to_rows(all_of_them)]
            assert expected == to_rows(ours)


@pytest.mark.skipif(load_kernel.library() is None, reason=load_kernel.description())
@settings(max_examples=60)
@given(data=st.data(), log=st.sampled_from(LOGS))
def test_lines_of_the_kernel(path: Path, data: st.DataObject, log: CoordinatorLog) -> None:
    """They are those that Python writes, of any records and of some of them."""
    written = data.draw(st.lists(pairs(log), min_size=1, max_size=12))
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=12, max_size=12)))
    for chosen in (np.arange(len(written)), rows[rows < len(written)]):
        for form in (JsonForm(), ReadableForm()):
            expected, actual = (
                LineWriter(form, Redaction(), library=library).lines(
                    records_of(path, log, written), chosen
                )
                for library in (None, load_kernel.library())
            )
            assert list(expected) == list(actual)


def test_over_the_limit(path: Path) -> None:
    """An array larger than is read here is at fault, but no broker stops at it."""
    log = CoordinatorLog.SHARE
    snapshot = types_of(log).by_name["ShareSnapshot"]
    key = numbered(0, encode_message(snapshot.key, 0, {"group_id": "g"}))
    batch = {"first_offset": 1, "last_offset": 2}
    value = numbered(0, encode_message(snapshot.value, 0, {"state_batches": [batch] * 65}))
    with patch.object(columnar, "MAX_STRUCTS", 64):
        records = records_of(path, log, [(key, value), (key, None)])
        assert [1] == records.columns("ShareSnapshot").rows.tolist()

    assert [Flaw.OVER_LIMIT, Flaw.NONE] == records.flaws().tolist()
    assert LoadVerdict.READ is records.verdict(0)
    assert "SHARE_SNAPSHOT: an array in it is over the limit" == records.reason(0)
    assert records.refusal is None
