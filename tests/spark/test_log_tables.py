"""`records`, a table for each record type, `files` and `faults`: what the local engine reads."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metashell
from metashell.log.fault import FaultKind
from metashell.log.names import list_names
from metashell.log.read import load
from metashell.redact import REDACTED
from metashell.schema.model import load_registry
from metashell.spark_backend import tasks as tasks_module
from support.dumped import dump
from support.fixtures import copy_of, differing_directories, fixture
from support.kraft import as_spark, plan, read, rows
from support.logs import make_directory, topic_batch, topic_log

pytest.importorskip("pyspark")

DIRECTORIES = differing_directories()
LIVE = "real-44-live"


def files_of(path: Path) -> list[Path]:
    """Checkpoints and segments of a directory."""
    listing = list_names(os.listdir(path))
    return [path / found.name for found in (*listing.checkpoints, *listing.segments)]


def pruned(table: pa.Table, *left_out: str) -> pa.Table:
    """Without the columns that say where a record stands."""
    return table.drop_columns([name for name in left_out if name in table.column_names])


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", DIRECTORIES)
@pytest.mark.parametrize("split_bytes", [4096, 1 << 20])
def test_records_are_those_of_the_dump(name: str, split_bytes: int) -> None:
    """Every record of every file with its place, type, version and fields."""
    path = fixture(name).input
    wanted: list[tuple[Any, ...]] = []
    for file in files_of(path):
        for one in dump(load([str(file)]), load_registry()):
            data = None if one.data is None else json.dumps(one.data, sort_keys=True)
            wanted.append(
                (one.file, one.offset, one.epoch, one.timestamp_ms, one.type, one.version, data)
            )
    found = []
    table = read("records", path, splitBytes=split_bytes, showSecrets=True)
    for row in table.to_pylist():
        value = row["value"]
        known = value is not None
        data = json.dumps(json.loads(value), sort_keys=True) if known else None
        found.append(
            (row["file"], row["offset"], row["epoch"], round(row["timestamp"].timestamp() * 1000))
            + ((row["type"], row["version"], data) if known else (None, None, None))
        )
    assert sorted(map(repr, wanted)) == sorted(map(repr, found))


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_typed_tables_equal_the_local_ones(name: str) -> None:
    """For every record type, as `Source.records` gives it file by file.

    But for records of transactions that were aborted or are open: these do not count there.
    """
    path = fixture(name).input
    has_transactions = read("BeginTransactionRecord", path).num_rows > 0
    sources = [metashell.open_file(file) for file in files_of(path) if file.stat().st_size]
    for message in load_registry().by_name:
        found = read(message, path)
        local = [as_spark(source.records(message)) for source in sources]
        # Where a field has the name of a column of the log, the local engine has the field's.
        place = ("file", "pos", "timestamp", "time", "epoch", "offset", "record_epoch")
        wanted = Counter(row for table in local for row in rows(pruned(table, *place)))
        wanted.update(f"offset {o}" for table in local for o in table["offset"].to_pylist())
        shown = Counter(rows(pruned(found, *place)))
        shown.update(f"offset {o}" for o in found["offset"].to_pylist())
        assert not wanted - shown, message
        assert has_transactions or not shown - wanted, message


@pytest.mark.parametrize("name", DIRECTORIES)
def test_faults_have_those_of_the_local_engine(name: str) -> None:
    """Which looks only into the files that it replays."""
    path = fixture(name).input
    found = {
        (row["kind"], row["file"], row["pos"], row["offset"], row["reason"])
        for row in read("faults", path).to_pylist()
    }
    local = metashell.open(path).all_faults()
    assert {(str(f.kind), f.file, f.pos, f.offset, f.reason) for f in local} <= found


def test_files_are_described() -> None:
    """A row each."""
    path = fixture(LIVE).input
    found = {row["file"]: row for row in read("files", path).to_pylist()}
    assert {file.name for file in files_of(path)} == found.keys()
    counted = read("records", path)["file"].value_counts().to_pylist()
    assert {c["values"]: c["counts"] for c in counted} == {
        name: row["records"] for name, row in found.items() if row["records"]
    }
    assert {file.name: file.stat().st_size for file in files_of(path)} == {
        name: row["size"] for name, row in found.items()
    }


def test_raw_bytes_on_request_and_secrets_redacted() -> None:
    """In every column that could show them."""
    path = fixture("all-records-dir").input
    assert "raw" not in read("records", path).column_names
    hidden = read("records", path, raw=True)
    shown = read("records", path, raw=True, showSecrets=True)
    assert {"raw"} == set(hidden.column_names) - set(read("records", path).column_names)
    secret = {"USER_SCRAM_CREDENTIAL_RECORD", "DELEGATION_TOKEN_RECORD", "CONFIG_RECORD"}
    for before, after in zip(hidden.to_pylist(), shown.to_pylist(), strict=True):
        if before["type"] in secret:
            assert before["raw"] == REDACTED.encode()
        else:
            assert before == after
    scram = read("UserScramCredentialRecord", path).to_pylist()
    assert scram
    assert all(row["stored_key"] == REDACTED.encode() for row in scram)


def test_bad_files_and_directories_are_faults(tmp_path: Path) -> None:
    """And everything else is read."""
    good = copy_of(LIVE, tmp_path)
    n = read("records", good / "__cluster_metadata-0").num_rows
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    shutil.copytree(good, broken)
    bad = files_of(broken / "__cluster_metadata-0")[-1]
    bad.unlink()
    bad.mkdir()
    (tmp_path / "not-kafka").mkdir()
    (tmp_path / "not-kafka" / "orders-0").mkdir()
    found = read("records", f"{tmp_path}/*")
    per_directory = found["directory"].value_counts().to_pylist()
    assert n in [count["counts"] for count in per_directory]
    faults = read("faults", f"{tmp_path}/*").to_pylist()
    unreadable = {row["directory"]: row["reason"] for row in faults if row["kind"] == "unreadable"}
    assert {str(tmp_path / "empty"), str(tmp_path / "not-kafka")} <= unreadable.keys()
    assert len(unreadable) == sum(row["kind"] == "unreadable" for row in faults)


def test_file_that_is_gone_when_it_is_read_is_a_fault(tmp_path: Path) -> None:
    """Or has become shorter; the others are read."""
    path = make_directory(tmp_path, (0, topic_batch(0, 3)), (3, topic_batch(3, 2)))
    for table, wanted in (("records", {0, 1, 2}), ("faults", {None})):
        tasks, read_task, _ = plan(table, path)
        (path / f"{3:020d}.log").rename(tmp_path / "away")
        batches = [batch for task in tasks for batch in read_task(task)]
        (tmp_path / "away").rename(path / f"{3:020d}.log")
        assert wanted == {o for batch in batches for o in batch["offset"].to_pylist()}


@pytest.mark.parametrize(("least", "n_tasks"), [(tasks_module._TASK_BYTES, 1), (1 << 14, 6)])
def test_one_large_segment_is_read_by_several_tasks(
    least: int, n_tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the rows that one task reads, in their order; small splits have none of their own."""
    monkeypatch.setattr(tasks_module, "_TASK_BYTES", least)
    path = make_directory(tmp_path, (0, b"".join(topic_log(2000))))
    tasks, read_task, _ = plan("TopicRecord", path, splitBytes=4096)
    found = [[o for b in read_task(task) for o in b["offset"].to_pylist()] for task in tasks]
    assert n_tasks <= len([offsets for offsets in found if offsets])
    assert (n_tasks == 1) == (len(tasks) == 1)
    assert list(range(4000)) == [offset for offsets in found for offset in offsets]


def test_only_what_is_surely_committed(tmp_path: Path) -> None:
    """Up to the newest checkpoint."""
    path = fixture(LIVE).input
    newest = list_names(os.listdir(path)).checkpoints[-1]
    every = read("records", path).to_pylist()
    wanted = [
        row
        for row in every
        if row["file"].endswith(".checkpoint") or row["offset"] < newest.end_offset
    ]
    found = read("records", path, committedOnly=True).to_pylist()
    assert sorted(map(repr, wanted)) == sorted(map(repr, found))
    assert len(found) < len(every)
    plain = make_directory(tmp_path, (0, topic_batch(0, 3)))
    assert 0 == read("records", plain, committedOnly=True).num_rows


def columns_asked_for(path: Path) -> Iterator[pa.Table]:
    """A table whose columns the user named."""
    from metashell.spark_backend.schemas import to_struct
    from support.kraft import source

    asked = to_struct(pa.schema([("type", pa.string()), ("offset", pa.int64())]))
    reader = source("records", path).reader(asked)
    for task in reader.partitions():
        yield pa.Table.from_batches(list(reader.read(task)), schema=reader.schema)


def test_schema_may_name_the_columns_wanted() -> None:
    """In an order of its own; what is not there is told."""
    from pyspark.sql.types import IntegerType, StringType, StructType

    from metashell.errors import UsageError
    from support.kraft import source

    path = fixture(LIVE).input
    found = pa.concat_tables(columns_asked_for(path))
    assert rows(read("records", path).select(["type", "offset"])) == rows(found)
    wrong = StructType().add("tipe", StringType())
    with pytest.raises(UsageError, match="tipe: no column of the table records"):
        source("records", path).reader(wrong)
    wrong = StructType().add("type", IntegerType())
    with pytest.raises(UsageError, match="type: of type string"):
        source("records", path).reader(wrong)


def test_fault_kinds_are_known() -> None:
    """Those of the local engine and one more."""
    kinds = {row["kind"] for row in read("faults", fixture("real-44-torn").input).to_pylist()}
    assert kinds <= {*map(str, FaultKind), "unreadable"}
    assert "torn" in kinds
