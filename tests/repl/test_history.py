"""The history file: private, capped, and never in the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from metashell.repl import shell
from metashell.repl.shell import LineHistory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A history file whose directories are still to be made."""
    return tmp_path / "state" / "metashell" / "history"


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_kept_across_sessions(path: Path) -> None:
    """A later session has the lines of an earlier one, oldest first."""
    first = LineHistory(path)
    first.append_string("ls /image")
    first.append_string("cat 'ü | x'")
    second = LineHistory(path)
    assert ["ls /image", "cat 'ü | x'"] == second.lines
    assert ["cat 'ü | x'", "ls /image"] == list(second.load_history_strings())


def test_sessions_side_by_side(path: Path) -> None:
    """Two shells append to one file without losing lines."""
    one, two = LineHistory(path), LineHistory(path)
    one.append_string("a")
    two.append_string("b")
    one.append_string("c")
    assert ["a", "b", "c"] == LineHistory(path).lines


def test_readable_by_owner_alone(path: Path) -> None:
    """Neither the file nor its directory is open to others, whatever the umask."""
    before = os.umask(0)
    try:
        LineHistory(path).append_string("ls")
    finally:
        os.umask(before)
    assert 0o600 == mode(path)
    assert 0o700 == mode(path.parent)


def test_loose_permissions_are_tightened(path: Path) -> None:
    """A file that others may read is closed to them."""
    path.parent.mkdir(parents=True)
    path.write_text("ls\n")
    path.chmod(0o644)
    assert ["ls"] == LineHistory(path).lines
    assert 0o600 == mode(path)


def test_capped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has outgrown the cap keeps its newest lines and stays private."""
    monkeypatch.setattr(shell, "MAX_LINES", 3)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"ls {number}\n" for number in range(10)))
    assert ["ls 7", "ls 8", "ls 9"] == LineHistory(path).lines
    assert "ls 7\nls 8\nls 9\n" == path.read_text()
    assert 0o600 == mode(path)


def test_huge_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the end of a huge file is read, from the first whole line on."""
    monkeypatch.setattr(shell, "MAX_BYTES", 10)
    path.parent.mkdir(parents=True)
    path.write_text("ls 1\nls 2\nls 3\nls 4\n")
    assert ["ls 3", "ls 4"] == LineHistory(path).lines


@pytest.mark.parametrize(
    "line", [" cat /secret", "", "   ", "diff --with s3://KEY:SECRET@bucket/backups/c1"]
)
def test_not_kept(path: Path, line: str) -> None:
    """A line that begins with a space, an empty one, and one with credentials leave no trace."""
    lines = LineHistory(path)
    lines.append_string(line)
    assert [] == lines.lines
    assert "" == path.read_text()


def test_pasted_block(path: Path) -> None:
    """A block of lines is remembered line by line."""
    LineHistory(path).append_string("ls\n\ncat x")
    assert ["ls", "cat x"] == LineHistory(path).lines


def test_any_bytes(path: Path) -> None:
    """Bytes that are no UTF-8, and lone surrogates, neither fail nor stop the history."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe\n")
    lines = LineHistory(path)
    lines.append_string("cat \ud800")
    assert lines.problem is None
    assert 2 == len(LineHistory(path).lines)


def test_place_that_cannot_be_used(tmp_path: Path) -> None:
    """A file in the directory's place costs the file and not the history in memory."""
    (tmp_path / "metashell").write_text("")
    lines = LineHistory(tmp_path / "metashell" / "history")
    lines.append_string("ls")
    assert ["ls"] == lines.lines
    assert lines.problem is not None
    assert "metashell/history" in lines.problem


def test_named_pipe(path: Path) -> None:
    """Something that is no file is left alone."""
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert LineHistory(path).problem is not None


def test_file_that_vanishes_from_reach(path: Path) -> None:
    """When the directory goes away in between, entering lines goes on."""
    lines = LineHistory(path)
    path.unlink()
    path.parent.rmdir()
    lines.append_string("ls")
    lines.append_string("cat")
    assert ["ls", "cat"] == lines.lines
    assert lines.problem is not None
