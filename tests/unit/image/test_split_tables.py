"""Tables of splits hold what the local engine shows of the same files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import metashell
from kraftgen.batch import Record, encode_batch
from kraftgen.files import segment_name
from metashell.image.arrow import unknown_table
from metashell.image.split_tables import (
    BATCH_ROWS,
    FAULTS_SCHEMA,
    FILES_SCHEMA,
    fault_batches,
    faults_batch,
    file_batch,
    message_batches,
    message_schema,
    record_batches,
    records_schema,
)
from metashell.log.fault import FaultKind
from metashell.log.read import load
from metashell.log.splits import Split, plan_splits
from metashell.records.record_faults import report_unknown
from metashell.records.split_filter import RowFilter
from metashell.redact import REDACTED, Redaction
from metashell.schema.dump import json_text
from metashell.schema.model import load_registry
from metashell.schema.uuids import uuid_text
from support.dumped import dump
from support.fixtures import differing_directories, fixture
from support.logs import make_directory, record, topic_batch

HIDDEN, SHOWN = Redaction(), Redaction(show_secrets=True)
DIRECTORIES = differing_directories()
REGISTRY = load_registry()


def splits_of(directory: Path, size: int = 2000, *, every: bool = True) -> Sequence[Split]:
    """Small splits of a directory's files."""
    return plan_splits(str(directory), size, every=every).splits


@cache
def records_of(name: str, redaction: Redaction = HIDDEN) -> pa.Table:
    """The table ``records`` of a fixture, from small splits."""
    batches = [
        batch
        for split in splits_of(fixture(name).input)
        for batch in record_batches(split, REGISTRY, redaction, raw=True)
    ]
    return pa.Table.from_batches(batches, schema=records_schema(raw=True))


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_records_are_those_of_a_dump(name: str) -> None:
    """Every record with its place, type, version and fields."""
    paths = list(dict.fromkeys(split.file for split in splits_of(fixture(name).input)))
    expected = [r for path in paths for r in dump(load([path]), REGISTRY)]
    found = records_of(name, SHOWN).to_pylist()
    assert len(expected) == len(found)
    for wanted, row in zip(expected, found, strict=True):
        place = (row["file"], row["offset"], row["epoch"], row["timestamp"].timestamp())
        assert (wanted.file, wanted.offset, wanted.epoch, wanted.timestamp_ms / 1000) == place
        assert (wanted.data is None) == (row["value"] is None)
        assert wanted.is_control <= (row["api_key"] is None)
        if wanted.data is not None:
            assert (wanted.type, wanted.version) == (row["type"], row["version"])
            assert json_text(wanted.data) == row["value"]


@pytest.mark.parametrize("name", DIRECTORIES)
def test_records_are_those_of_kafka(name: str) -> None:
    """The same fields as kafka-dump-log prints."""
    wanted = [
        (r["type"], r["version"], r["data"])
        for r in (line.get("payload") or line for line in fixture(name).golden.dump())
        if isinstance(r, dict) and "type" in r and "data" in r
    ]
    if not wanted:
        pytest.skip("no dump in this form")
    table = records_of(name, SHOWN).to_pylist()
    found = [(r["type"], r["version"], json.loads(r["value"])) for r in table if r["value"]]
    for one in wanted:
        assert one in found


@pytest.mark.slow
@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_messages_are_those_of_a_source(name: str) -> None:
    """Each message's table has the columns of the local engine's, from every record."""
    splits = splits_of(fixture(name).input, 20_000)
    paths = dict.fromkeys(str(split.file) for split in splits)
    sources = [metashell.open_file(path) for path in paths if _has_batches(path)]
    for source in sources:
        # Those of aborted transactions, too, are in the log.
        records = source.image.records
        records.__dict__["applied"] = records.every.counted
        records.__dict__["counted"] = records.every.counted
    present = {row["type"] for row in records_of(name).to_pylist()}
    for message, spec in REGISTRY.by_name.items():
        schema = message_schema(REGISTRY, message)
        if spec.api_key is not None and spec.type_name not in present:
            continue
        batches = [b for s in splits for b in message_batches(s, REGISTRY, HIDDEN, message)]
        found = pa.Table.from_batches(batches, schema=schema)
        expected = pa.concat_tables([source.records(message) for source in sources])
        assert expected.num_rows == found.num_rows
        for column in expected.column_names:
            mine = {"time": "timestamp"}.get(column, column)
            mine = f"record_{column}" if f"record_{column}" in schema.names else mine
            # As text, in which NaN equals NaN.
            assert expected[column].type == found[mine].type
            assert str(expected[column].to_pylist()) == str(found[mine].to_pylist()), column


def _has_batches(path: str) -> bool:
    return bool(load([path]).files[0].chain.positions)


@pytest.mark.parametrize("name", DIRECTORIES)
def test_faults_are_those_of_a_source(name: str) -> None:
    """With those of the plan, and but for replay, which needs more than a split."""
    plan = plan_splits(str(fixture(name).input), 1000)
    table = pa.Table.from_batches(
        [faults_batch(plan.faults), *(b for s in plan.splits for b in fault_batches(s, REGISTRY))],
        schema=FAULTS_SCHEMA,
    )
    found = {tuple(row.values()) for row in table.to_pylist()}
    source = metashell.open(fixture(name).input)
    report_unknown(source.image.records)
    source.image.records.check_the_rest()
    expected = {
        (str(f.kind), f.reason, f.file, f.pos, f.offset)
        for f in source.all_faults()
        if f.kind is not FaultKind.REPLAY
    }
    assert expected <= found
    # More only in records that the local engine has no need to decode.
    applied = {"record", "unknown"}
    assert all(row[0] in applied for row in found - expected)


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_files(name: str) -> None:
    """A row for each file, the same whether it was cut or not."""
    directory = fixture(name).input
    rows = []
    for split in splits_of(directory, 1 << 30):
        row = file_batch([split], REGISTRY)
        assert FILES_SCHEMA == row.schema
        pieces = [s for s in splits_of(directory) if s.name == split.name]
        assert row == file_batch(pieces, REGISTRY)
        rows += row.to_pylist()
    by_name = records_of(name)["file"].to_pylist()
    assert {row["file"]: row["records"] for row in rows} == {
        row["file"]: by_name.count(row["file"]) for row in rows
    }
    for row in rows:
        assert (directory / row["file"]).stat().st_size == row["size"]
        assert (row["kind"] == "segment") == (row["base_offset"] is not None)
        assert (row["kind"] == "checkpoint") == (row["end_offset"] is not None)


def filters(table: pa.Table) -> Iterator[tuple[RowFilter, pa.ChunkedArray]]:
    """Filters, and which rows of a table they should leave."""
    offset, ms = table["offset"], table["timestamp"].cast(pa.int64())
    middle = sorted(offset.to_pylist())[len(offset) // 2]
    when = sorted(ms.to_pylist())[len(ms) // 2]
    for kind in pc.unique(table["type"]).to_pylist():
        if kind is not None:
            yield RowFilter(types=frozenset({kind, "UNKNOWN(x)"})), pc.equal(table["type"], kind)
    yield RowFilter(offset_min=middle), pc.greater_equal(offset, middle)
    yield RowFilter(offset_max=middle), pc.less_equal(offset, middle)
    yield RowFilter(time_min=when), pc.greater_equal(ms, when)
    yield RowFilter(time_max=when), pc.less_equal(ms, when)
    both = pc.and_(pc.equal(table["type"], "NO_OP_RECORD"), pc.greater_equal(offset, middle))
    yield RowFilter(types=frozenset({"NO_OP_RECORD"}), offset_min=middle), both
    yield RowFilter(types=frozenset()), pc.equal(offset, -5)


@pytest.mark.slow
@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["real-44-admin", "all-records-dir", "real-44-trimmed"])
def test_filters_leave_the_rows_that_match(name: str) -> None:
    """As filtering afterwards does."""
    table = records_of(name)
    splits = splits_of(fixture(name).input, 20_000)
    for where, mask in filters(table):
        batches = [b for s in splits for b in record_batches(s, REGISTRY, HIDDEN, where, raw=True)]
        found = pa.Table.from_batches(batches, schema=table.schema)
        assert table.filter(mask).to_pylist() == found.to_pylist(), where
        message = "TopicRecord"
        some = [b for s in splits for b in message_batches(s, REGISTRY, HIDDEN, message, where)]
        n_topics = table.filter(pc.and_(mask, pc.equal(table["type"], "TOPIC_RECORD"))).num_rows
        assert n_topics == sum(batch.num_rows for batch in some)


def test_topics(tmp_path: Path) -> None:
    """Records that speak of a topic, by name or by id."""
    change = record("PartitionChangeRecord", topic_id=(1).to_bytes(16, "big"), leader=1)
    config = record("ConfigRecord", resource_type=2, resource_name="t2", name="k", value="v")
    last = encode_batch([change, config], base_offset=3)
    directory = make_directory(tmp_path, (0, topic_batch(0, 3) + last))

    def offsets(*topics: str) -> list[int]:
        where = RowFilter(topics=frozenset(topics))
        return [
            row["offset"]
            for split in splits_of(directory, 1)
            for batch in record_batches(split, REGISTRY, HIDDEN, where)
            for row in batch.to_pylist()
        ]

    one = uuid_text((1).to_bytes(16, "big"))
    assert [1] == offsets("t1")
    assert [1, 3] == offsets(one)
    assert [1, 2, 3, 4] == offsets(one, "t2")
    assert [] == offsets("nowhere")


def test_secrets_are_redacted(tmp_path: Path) -> None:
    """In values, columns and raw bytes, unless they are asked for."""
    values = [
        record("ConfigRecord", resource_type=4, resource_name="1", name="k.password", value="S3"),
        record(
            "UserScramCredentialRecord",
            name="u",
            mechanism=1,
            salt=b"S3",
            stored_key=b"S3",
            server_key=b"S3",
            iterations=4096,
        ),
    ]
    directory = make_directory(tmp_path, (0, encode_batch(values)))
    (split,) = splits_of(directory)
    for redaction in (HIDDEN, SHOWN):
        (whole,) = record_batches(split, REGISTRY, redaction, raw=True)
        typed = [
            batch
            for message in ("ConfigRecord", "UserScramCredentialRecord")
            for batch in message_batches(split, REGISTRY, redaction, message)
        ]
        text = str([batch.to_pylist() for batch in (whole, *typed)])
        assert redaction.show_secrets == ("S3" in text or "UzM" in text)
    (whole,) = record_batches(split, REGISTRY, HIDDEN, raw=True)
    assert [REDACTED.encode()] * 2 == whole["raw"].to_pylist()


def test_odd_records(tmp_path: Path) -> None:
    """What no definition describes is shown raw, and is a fault."""
    values: list[Record | bytes] = [
        Record(value=None),
        b"\x01\xc8\x01\x00abc",
        b"\x01\x02\x63abc",
        b"\x01\x02\x00",
    ]
    directory = make_directory(tmp_path, (0, encode_batch(values) + topic_batch(4)))
    (split,) = splits_of(directory)
    (table,) = record_batches(split, REGISTRY, SHOWN, raw=True)
    assert [None, "UNKNOWN(200)", "TOPIC_RECORD", "TOPIC_RECORD", "TOPIC_RECORD"] == (
        table["type"].to_pylist()
    )
    assert [None, 0, 0x63, 0, 0] == table["version"].to_pylist()
    assert [None] * 4 == table["value"].to_pylist()[:4]
    assert [b"", *values[1:]] == table["raw"].to_pylist()[:4]
    (faults,) = fault_batches(split, REGISTRY)
    assert ["unknown", "unknown", "unknown", "record"] == faults["kind"].to_pylist()
    assert [0, 1, 2, 3] == faults["offset"].to_pylist()
    where = RowFilter(types=frozenset({"UNKNOWN(200)"}))
    (only,) = record_batches(split, REGISTRY, HIDDEN, where)
    assert [1] == only["offset"].to_pylist()
    unknown = unknown_table(metashell.open(directory).image.records, SHOWN)
    assert unknown["raw"].to_pylist() == [b"", *values[1:3]]


def test_values_on_request(tmp_path: Path) -> None:
    """Who does not want them need not wait for them."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)))
    (split,) = splits_of(directory)
    (table,) = record_batches(split, REGISTRY, HIDDEN, values=False)
    assert records_schema() == table.schema
    assert [None, None] == table["value"].to_pylist()


@pytest.mark.slow
def test_batches_are_bounded(tmp_path: Path) -> None:
    """A large split comes in several."""
    n = BATCH_ROWS // 4000 + 1
    data = b"".join(topic_batch(i * 4000, 4000) for i in range(n))
    directory = make_directory(tmp_path, (0, data))
    (split,) = splits_of(directory, 1 << 30)
    sizes = [b.num_rows for b in message_batches(split, REGISTRY, HIDDEN, "TopicRecord")]
    assert [BATCH_ROWS, 4000 * n - BATCH_ROWS] == sizes
    assert segment_name(0) == split.name
