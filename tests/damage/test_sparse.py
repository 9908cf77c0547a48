"""Files that are larger than any of Kafka's: what holds data is read, the rest is a fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

import metashell
from metashell.errors import ExitCode
from metashell.log import extent
from metashell.log.fault import FaultKind
from metashell.read_settings import ReadSettings
from metashell.schema.model import load_registry
from metashell.sources.engine import _bytes_to_replay
from support.logs import make_directory, topic_batch, topics_of
from support.shell import run_on

HUGE: Final = 2 << 40


def sparse(parent: Path) -> Path:
    """A directory whose only segment has three topics, and terabytes of nothing behind them."""
    directory = make_directory(parent, (0, topic_batch(0, 3)))
    os.truncate(directory / f"{0:020}.log", HUGE)
    return directory


def test_a_sparse_segment(tmp_path: Path) -> None:
    """The log ends where its data does, which one fault tells; opened alone it is the same."""
    directory = sparse(tmp_path)
    for source in (metashell.open(directory), metashell.open_file(directory / f"{0:020}.log")):
        (fault,) = source.all_faults()

        assert {0, 1, 2} == topics_of(source)
        assert (FaultKind.DAMAGED, 3) == (fault.kind, fault.offset)
        assert f"the file has {HUGE} bytes" in fault.reason
    assert _bytes_to_replay(str(directory)) < 1 << 20


@pytest.mark.parametrize(
    "line", ["log", "du", "stats", "check", "sql 'from records'", "sql 'from files'"]
)
def test_commands_on_it(line: str, tmp_path: Path) -> None:
    """They show what is there."""
    ran = run_on(metashell.open(sparse(tmp_path)), line)

    assert ran.out
    assert "from files" in line or ExitCode.FAILED == ran.status


@pytest.mark.parametrize("seeks", [True, False])
def test_without_holes(seeks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file system tells of no holes, zeros end the look."""
    if not seeks:
        monkeypatch.setattr(extent, "_SEEK_DATA", None)
    monkeypatch.setattr(extent, "_ZEROS", 1 << 20)
    source = metashell.open(sparse(tmp_path))

    assert {0, 1, 2} == topics_of(source)
    assert 1 == len(source.all_faults())


@pytest.mark.parametrize("table", ["records", "files", "faults", "topics", "TopicRecord"])
def test_by_spark(table: str, tmp_path: Path) -> None:
    """The data source ends where the local engine does, with its fault."""
    pytest.importorskip("pyspark")
    from support.kraft import as_spark, read, rows

    directory = sparse(tmp_path)
    source = metashell.open(directory)
    found = read(table, directory)
    if table == "faults":
        (fault,) = source.all_faults()
        assert [(fault.reason, fault.pos)] == [(r["reason"], r["pos"]) for r in found.to_pylist()]
    elif table == "files":
        ran = run_on(source, "sql -o jsonl 'from files'")
        (expected,), (row,) = map(json.loads, ran.out.splitlines()), found.to_pylist()
        names = ("file", "size", "batches", "records", "faults")
        assert {n: expected[n] for n in names} == {n: row[n] for n in names}
    elif table == "topics":
        expected = as_spark(source.table(table))
        assert rows(expected) == rows(found.select(expected.column_names))
    else:
        assert [0, 1, 2] == found.column("offset").to_pylist()


def test_sql_by_spark_says_so(tmp_path: Path) -> None:
    """The fault is told in the words of the local engine; nothing is read to the end."""
    pytest.importorskip("pyspark")
    from metashell.spark_backend.sites import Site
    from metashell.spark_backend.unread import faults_of, look_at, splits_of

    directory = sparse(tmp_path)
    splits = splits_of(Site(str(directory), opened_by=str(directory)), ReadSettings())
    looks = [look_at(split, load_registry(), frozenset({"records"})) for split in splits]
    assert metashell.open(directory).all_faults() == list(faults_of(looks))
