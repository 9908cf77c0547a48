"""What tables of a log lack, told by tasks with a split each: in the words of who reads alone."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import SourceError
from metashell.image.arrow import table_names
from metashell.log.splits import plan_splits
from metashell.log.unread import Unread, UnreadReport
from metashell.read_settings import ReadSettings
from metashell.schema.model import load_registry
from metashell.spark_backend.schemas import FAULTS, FILES, RECORDS
from metashell.spark_backend.sites import Site
from metashell.spark_backend.sql import SparkTables
from metashell.spark_backend.unread import FAILED, UNREAD, WARNED, faults_of, look_at, splits_of
from metashell.sql.tables import read_table
from support.fixtures import METADATA_DIRECTORY, copy_of
from support.logs import make_directory, record, topic_batch
from support.marked import marked_directory


def locally(directory: Path, table: str) -> list[str]:
    """What the local engine tells while it makes a table."""
    source, told = metashell.open(directory), []
    rows = read_table(
        source,
        source.coordinator_tables,
        lambda: source.image,
        table,
        ["file"],
        lambda: None,
        lambda f, _: told.append(str(f)),
        UnreadReport(Unread()),
    )
    for _ in rows if not hasattr(rows, "to_batches") else ():
        pass
    return list(dict.fromkeys(told))


def by_splits(directory: Path, table: str, *, settings: ReadSettings | None = None) -> list[str]:
    """The same by splits, looked at in any order."""
    site = Site(str(directory), opened_by=str(directory))
    splits = splits_of(site, settings or ReadSettings())
    tables = frozenset({table})
    looks = [look_at(split, load_registry(), tables) for split in splits]
    Random(1).shuffle(looks)
    found = faults_of(looks, only_unread=tables == {FILES})
    return list(dict.fromkeys(map(str, found)))


def copied(parent: Path) -> Path:
    """A directory of several segments and checkpoints."""
    return copy_of("real-44-live", parent) / METADATA_DIRECTORY


@pytest.mark.cases(5)
@pytest.mark.parametrize("table", [RECORDS, FILES, "TopicRecord", "SnapshotFooterRecord"])
@pytest.mark.parametrize("old", ["862.log", "3389.log", "1469-0000000001.checkpoint"])
def test_file_that_can_not_be_opened(table: str, old: str, tmp_path: Path) -> None:
    """A segment or checkpoint that is none is told of, and the gap that it leaves."""
    directory = copied(tmp_path)
    path = next(p for p in directory.iterdir() if p.name.endswith(old))
    found = []
    for is_pipe in (False, True):
        if is_pipe:
            path.rmdir()
            os.mkfifo(path)
        else:
            path.unlink()
            path.mkdir()
        if old.startswith("3389"):
            # The local engine does not open such a directory.
            expected = [f"{path.name}, offset 3389: it can't be read: not a regular file"]
        else:
            expected = locally(directory, table)
        assert expected == by_splits(directory, table)
        found += expected
    assert found


@pytest.mark.parametrize("table", [RECORDS, FILES, "TopicRecord", "PartitionRecord"])
def test_damage(table: str, tmp_path: Path) -> None:
    """Batches and records that are left out, as the local engine tells of them."""
    directory = copied(tmp_path)
    for name in ("0" * 17 + "862.log", "0" * 16 + "3389.log"):
        data = bytearray((directory / name).read_bytes())
        data[70] ^= 1
        (directory / name).write_bytes(data[:-3])
    assert locally(directory, table) == by_splits(directory, table)
    assert (table == FILES) == (not by_splits(directory, table))


@pytest.mark.parametrize("table", [RECORDS, "TopicRecord"])
def test_records_that_can_not_be_decoded(table: str, tmp_path: Path) -> None:
    """They lack in the table of their type alone."""
    bad = record("TopicRecord", name="t1", topic_id=bytes(16))[:-3]
    batch = encode_batch([bad], base_offset=1, leader_epoch=1)
    directory = make_directory(tmp_path, (0, topic_batch(0) + batch))
    expected = locally(directory, table)
    assert expected == by_splits(directory, table)
    assert (table == RECORDS) == (not expected)


def test_every_kind_of_fault(tmp_path: Path) -> None:
    """A directory with some of each."""
    directory = marked_directory(tmp_path)
    for table in (RECORDS, "TopicRecord", "UserScramCredentialRecord"):
        assert locally(directory, table) == by_splits(directory, table)


def test_splits_of_one_file(tmp_path: Path) -> None:
    """A file in many splits leaves no gap between them, and its faults come in its order."""
    directory = copied(tmp_path)
    path = directory / ("0" * 17 + "862.log")
    data = bytearray(path.read_bytes())
    for at in (70, len(data) // 2, len(data) - 200):
        data[at] ^= 1
    path.write_bytes(data)
    looks = [
        look_at(split, load_registry(), frozenset({RECORDS}))
        for split in plan_splits(directory, 4096, every=True).splits
    ]
    Random(2).shuffle(looks)
    assert locally(directory, RECORDS) == list(dict.fromkeys(map(str, faults_of(looks))))


def test_what_may_not_be_committed_is_not_asked_for(tmp_path: Path) -> None:
    """Segments behind the newest checkpoint lack in no answer that leaves them out."""
    directory = copied(tmp_path)
    (directory / ("0" * 16 + "3389.log")).unlink()
    (directory / ("0" * 16 + "3389.log")).mkdir()
    assert by_splits(directory, FILES)
    assert not by_splits(directory, FILES, settings=ReadSettings(committed_only=True))


def _tables(clusters: dict[str, str] | None = None) -> SparkTables:
    sites = [Site("/a", opened_by="/a"), Site("/b", opened_by="/b")]
    return SparkTables(SimpleNamespace(), sites, ReadSettings(), clusters)


def test_whose_file_it_is() -> None:
    """A cluster of a fleet is named; who fails and who warns is told to those that listen."""
    tables, told = _tables({"/a": "a", "/b": "b"}), []
    tables.failed = lambda name, why: told.append(("failed", name, why))
    tables.warned = lambda name, why: told.append(("warned", name, why))
    tables.known = lambda: ["b: known"]
    unread = tables._unread(
        [(1, UNREAD, "file"), (1, UNREAD, "known"), (0, FAILED, "gone"), (0, WARNED, "odd")]
    )
    assert (["b: file"], False) == (unread.news, unread.is_none)
    assert [("failed", "a", "gone"), ("warned", "a", "odd")] == told
    with pytest.raises(SourceError, match="gone"):
        _tables()._unread([(0, FAILED, "gone")])
    assert _tables()._unread([(0, WARNED, "odd")]).is_none


def test_tables_of_views() -> None:
    """A view is as incomplete as what it reads; what only tells of tables reads nothing."""
    tables = _tables()
    assert not tables._tables_of("create temporary view if not exists V as select * from records")
    assert not tables._tables_of("create or replace temp view `w` as select 1 from v, topics")
    assert {RECORDS} == tables._tables_of("select * from v")
    assert {RECORDS, "topics"} == tables._tables_of("select * from W")
    assert not tables._tables_of("describe records")
    assert not tables._tables_of("select 1")
    assert {"topics"} == tables._tables_of("table topics") & {*table_names(), FAULTS}
