"""Commands that read more than the newest state: what of it can't be read is told, and fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import ExitCode
from metashell.log.fault import Fault, FaultKind
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import copy_of
from support.logs import make_directory, record, topic_batch, topic_log
from support.shell import Ran, run_on

OLD: Final = "00000000000000000862.log"
"""A segment that the newest state does not need."""
LACKING: Final = "00000000000000000862.log, offset 862: it can't be read: "
GAP: Final = "00000000000000001297.log, position 0, offset 862: offsets 862 to 1296 are missing"

Spoil = Callable[[Path], str]


@pytest.fixture(params=["permission", "directory", "pipe", "disk"])
def spoil(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Spoil:
    """Makes a file one that can't be read; gives the reason."""

    def spoil(path: Path) -> str:
        if request.param == "permission":
            # For root no mode keeps a file closed.
            _fail(monkeypatch, "open", path, errno.EACCES)
            return "Permission denied"
        if request.param == "disk":
            _fail(monkeypatch, "preadv", path, errno.EIO)
            return "Input/output error"
        path.unlink()
        path.mkdir() if request.param == "directory" else os.mkfifo(path)
        return "not a regular file"

    return spoil


def _fail(monkeypatch: pytest.MonkeyPatch, name: str, path: Path, number: int) -> None:
    """Have a function of the system fail for one file."""
    real, inode = getattr(os, name), path.stat().st_ino

    def failing(where: Any, *args: Any) -> Any:
        if (os.stat(where) if name == "open" else os.fstat(where)).st_ino == inode:
            raise OSError(number, os.strerror(number))
        return real(where, *args)

    monkeypatch.setattr(f"metashell.log.read.os.{name}", failing)


def spoilt(parent: Path, spoil: Spoil) -> tuple[Source, str]:
    """A directory with an old segment that can't be read, and why not."""
    directory = copy_of("real-44-live", parent) / "__cluster_metadata-0"
    reason = spoil(directory / OLD)
    return metashell.open(directory), LACKING + reason


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    "line",
    [
        'sql "select * from records"',
        'sql --count "select * from TopicRecord"',
        'sql "create temp table t as select * from records"',
        "export records",
        "export topicrecord --format csv",
        "log --all",
    ],
)
def test_records_that_are_not_all(line: str, tmp_path: Path, spoil: Spoil) -> None:
    """Records and typed tables have the other files' rows, and the command says whose lack."""
    source, reason = spoilt(tmp_path, spoil)
    ran = run_on(source, line)
    name = line.split(maxsplit=1)[0]

    assert (ExitCode.FAILED, (f"{name}: {reason}", f"{name}: {GAP}")) == (ran.status, ran.err)
    assert ran.out or "create" in line


@pytest.mark.parametrize("line", ['sql -o csv "select file, size from files"', "export files"])
def test_files_that_are_not_all(line: str, tmp_path: Path, spoil: Spoil) -> None:
    """Files have a row for each of the others."""
    source, reason = spoilt(tmp_path, spoil)
    ran = run_on(source, line)

    assert (ExitCode.FAILED, (f"{line.split(maxsplit=1)[0]}: {reason}",)) == (ran.status, ran.err)
    assert OLD not in ran.out
    assert "00000000000000001297.log" in ran.out


def test_a_timeline_that_is_not_whole(tmp_path: Path, spoil: Spoil) -> None:
    """The timeline is told of what it lacks, in text and in rows."""
    source, reason = spoilt(tmp_path, spoil)
    for form in ("", " --json", " -o csv"):
        ran = run_on(source, f"stats --section timeline{form}")
        assert (ExitCode.FAILED, (f"stats: {reason}",)) == (ran.status, ran.err)


def test_topics_whose_names_are_not_known(tmp_path: Path, spoil: Spoil) -> None:
    """Records are found by names, which may stand in the file that can't be read."""
    source, reason = spoilt(tmp_path, spoil)
    ran = run_on(source, "log --topic topic-02* --offset 3300..")

    assert (ExitCode.FAILED, (f"log: {reason}",)) == (ran.status, ran.err)
    assert ran.out


def test_faults_have_the_file(tmp_path: Path) -> None:
    """A file that can't be opened is a fault, though the state needs none of it."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    (directory / OLD).unlink()
    (directory / OLD).mkdir()
    source = metashell.open(directory)
    reason = "it can't be read: not a regular file"

    assert [Fault(FaultKind.UNREADABLE, reason, OLD, None, 862)] == source.all_faults()
    assert f"{LACKING}not a regular file" == source.cat("/log/faults")
    assert f"unreadable,{OLD}\n" in run_on(source, 'sql -o csv "select kind, file from faults"').out
    assert "file-unreadable" in run_on(source, "health file-unreadable").out


def test_each_cluster_of_a_fleet(tmp_path: Path) -> None:
    """It is told whose file it is, and each is told once."""
    for name in ("a", "b"):
        directory = copy_of("real-44-live", tmp_path / name) / "__cluster_metadata-0"
        if name == "a":
            (directory / OLD).unlink()
            (directory / OLD).mkdir()
    fleet: Any = open_fleet([str(tmp_path / name / "real-44-live") for name in "ab"])
    query = 'select count(*) from files join files as others using ("file")'
    ran = run_on(fleet, f"sql '{query}'")
    a = next(iter(fleet.members))

    assert (ExitCode.FAILED, (f"sql: {a}: {LACKING}not a regular file",)) == (ran.status, ran.err)


@pytest.mark.parametrize(
    "line",
    ["sql 'from records'", "export records", "stats --section timeline", "stats", "du", "log"],
)
def test_damage(line: str, tmp_path: Path) -> None:
    """A batch that is skipped is not in the answer; one that is being written is no failure."""
    batches = topic_log(6)
    whole = make_directory(tmp_path, (0, b"".join(batches)))
    torn = whole / f"{0:020}.log"
    torn.write_bytes(b"".join(batches)[:-3])
    assert ExitCode.OK == run_on(metashell.open(whole), line).status
    batches[2] = batches[2][:70] + bytes([batches[2][70] ^ 1]) + batches[2][71:]
    torn.write_bytes(b"".join(batches))
    source = metashell.open(whole)
    ran = run_on(source, line)

    # What was wrong with the files was told when they were opened.
    assert (ExitCode.FAILED, ()) == (ran.status, ran.err)
    assert "CRC mismatch" in source.warnings[0]


def test_records_of_a_type_that_can_not_be_decoded(tmp_path: Path) -> None:
    """They have no row in the type's table, which is told; in all records they have one."""
    bad = record("TopicRecord", name="t1", topic_id=bytes(16))[:-3]
    batch = encode_batch([bad], base_offset=1, leader_epoch=1)
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0) + batch)))
    ran = run_on(source, "sql --count 'from TopicRecord'")

    assert (ExitCode.FAILED, "1\n") == (ran.status, ran.out)
    assert "TOPIC_RECORD can't be decoded" in ran.err[0]
    assert Ran(ExitCode.OK, "2\n", ()) == run_on(source, "sql --count 'from records'")
