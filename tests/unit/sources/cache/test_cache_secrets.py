"""What is sent to other processes and written to a disk holds no secret, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import metashell
from metashell.log.changed import list_directory
from metashell.log.splits import plan_splits
from metashell.read_settings import ReadSettings
from metashell.reduced.log import (
    ReducedLog,
    Reducing,
    reduce_again,
    reduce_directory,
    reduce_place,
)
from metashell.sources.cached import open_cached_source
from metashell.sources.reduced import source_of
from metashell.sources.source import Source
from support.cached import keep
from support.marked import MARK, TOPIC, marked_directory
from support.shell import run_on

QUESTIONS = (
    "find / -type f",
    "grep . /image",
    "tokens -o json",
    "users -o json",
    "config topic:t -o json",
    "cat /log/faults",
    "cat /image/topics/byName/t/id",
    "sql 'select * from delegation_tokens'",
    "sql 'select * from configs'",
)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The marked directory; the cache is a directory of this test."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "log").mkdir()
    return marked_directory(tmp_path / "log")


def assert_no_mark(log: ReducedLog) -> None:
    """No value of a log holds the mark."""
    for table in (*log.closed, *log.active):
        assert not [value for value in table["value"].to_pylist() if MARK in value]


def test_nothing_marked_is_in_the_cache(directory: Path, tmp_path: Path) -> None:
    """Neither the files themselves nor what they hold compressed."""
    assert any(MARK in path.read_bytes() for path in directory.iterdir())
    assert keep(directory)
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    tables = [pq.read_table(path).to_pylist() for path in files if path.suffix == ".parquet"]
    assert len(tables) > 3
    assert not [path for path in files if MARK in path.read_bytes()]
    assert MARK.decode() not in repr(tables)


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize("merges", [True, False])
@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_nothing_marked_is_sent(
    directory: Path, split_bytes: int, merges: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the log is cut, and whether it is reduced once more or not."""
    monkeypatch.setattr("metashell.reduced.table._FEW_SPANS", few)
    log = reduce_place(str(directory), merges=merges, split_bytes=split_bytes)
    assert_no_mark(log)
    how = Reducing.of_plan(log.plan)
    again = reduce_again([*log.closed, *log.active], log.registry, how)
    assert not [value for value in again["value"].to_pylist() if MARK in value]


def reduced(directory: Path) -> Source:
    """A source of the log as another process sends it, reduced twice."""
    plan = plan_splits(str(directory))
    how = Reducing.of_plan(plan)
    log = reduce_directory(plan, how)
    log.closed = [reduce_again(log.closed, log.registry, how)]
    return source_of(log, ReadSettings(), str(directory))


def kept(directory: Path) -> Source:
    """A source of what is kept."""
    assert keep(directory)
    source = open_cached_source(list_directory(str(directory)), ReadSettings())
    assert source is not None
    return source


@pytest.mark.parametrize("opened", [reduced, kept])
def test_faults_are_told_as_by_who_has_the_bytes(directory: Path, opened: object) -> None:
    """The same faults in the same words and the same order, though the bytes are gone."""
    assert callable(opened)
    local = metashell.open(directory, engine="local")
    expected = [str(fault) for fault in local.all_faults()]
    source = opened(directory)
    assert expected == [str(fault) for fault in source.all_faults()]
    assert len(expected) > 20
    assert list(local.warnings) == list(source.warnings)


@pytest.mark.cases(7)
@pytest.mark.parametrize("opened", [reduced, kept])
@pytest.mark.parametrize("line", QUESTIONS)
def test_answers_are_those_of_the_bytes(directory: Path, opened: object, line: str) -> None:
    """What is kept answers as the directory does, secrets redacted."""
    assert callable(opened)
    expected, actual = (
        run_on(metashell.open(directory, engine="local"), line),
        run_on(opened(directory), line),
    )
    assert (expected.status, expected.out) == (actual.status, actual.out)
    assert MARK.decode() not in actual.out
    assert expected.out


def test_record_of_unknown_topic_is_told_for_each(directory: Path) -> None:
    """A record that can't be decoded may be of any topic: asking for one topic tells of it."""
    for source in (kept(directory), reduced(directory)):
        rows = source.image.records.rows_with("PartitionRecord", "topic_id", TOPIC)
        source.image.records.decode("PartitionRecord", rows)
        assert [fault for fault in source.faults if fault.reason.startswith("PARTITION_RECORD")]
