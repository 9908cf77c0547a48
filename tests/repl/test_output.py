"""The screen, the pager and pipes, without a terminal."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from metashell.repl.output import (
    Pipe,
    Plain,
    Screen,
    ScreenRows,
    write_to,
)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([""], 0),
        (["a"], 1),
        (["a\n"], 1),
        (["a\nb"], 2),
        (["a", "b", "c\n"], 1),
        (["\n\n\n"], 3),
        (["x" * 10 + "\n"], 1),
        (["x" * 11 + "\n"], 2),
        (["x" * 10, "x"], 2),
        (["x" * 6, "x" * 6, "x" * 9, "\ny"], 4),
        (["漢" * 6], 2),
        (["\x1b[1;31m" + "x" * 10 + "\x1b[0m\n"], 1),
    ],
)
def test_rows(pieces: list[str], expected: int) -> None:
    """Rows of a screen ten columns wide, however the text is cut into pieces."""
    rows = ScreenRows(10)
    for piece in pieces:
        rows.feed(piece, stop=100)
    assert expected == rows.count


@pytest.mark.parametrize("text", ["x\n" * 1_000_000, "x" * 2_000_000])
def test_rows_stop_early(text: str) -> None:
    """A screenful is looked at and not all of a long text."""
    rows = ScreenRows(80)
    rows.feed(text, stop=22)
    assert rows.count > 22


def test_pipe(tmp_path: Path) -> None:
    """Text arrives as UTF-8 and the reader's status comes back."""
    target = tmp_path / "out"
    pipe = Pipe(f"cat > {target}; exit 3")
    pipe.write("ü\x1b[31m")
    pipe.write("\n")
    assert 3 == pipe.finish()
    assert "ü\x1b[31m\n".encode() == target.read_bytes()


def write_often(out: Pipe | Screen) -> None:
    """Write more than any pipe holds, several times."""
    for _ in range(1000):
        out.write("x\n" * 5000)


def test_pipe_reader_leaves() -> None:
    """Writing on after the reader has left is a broken pipe; finishing is quiet."""
    pipe = Pipe("exit 0")
    with pytest.raises(BrokenPipeError):
        write_often(pipe)
    assert 0 == pipe.finish()


def test_pipe_reader_killed() -> None:
    """A reader that dies of a signal has the status that a shell gives it."""
    assert 128 + 9 == Pipe("kill -9 $$").finish()


def test_plain() -> None:
    """Text goes straight through where no person looks."""
    stream = io.StringIO()
    out = Plain(stream)
    out.write("a\x1b")
    assert "a\x1b" == stream.getvalue()


def test_write_to_any_encoding() -> None:
    """A stream of another encoding gets escapes for what it can't say."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    write_to(stream, "aü")
    assert b"a\\xfc" == buffer.getvalue()


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[TextIO]:
    """A screen of 80 x 24: a file."""
    with (tmp_path / "screen").open("w+", encoding="utf-8") as stream:
        yield stream


def read(stream: TextIO) -> str:
    """Return all that was written."""
    stream.seek(0)
    return stream.read()


def test_short_output_is_not_paged(shown: TextIO) -> None:
    """What fits the screen goes to it, and the next prompt gets a row of its own."""
    out = Screen(shown, "false")
    out.write("a\n")
    out.write("b")
    assert 0 == out.finish()
    assert "a\nb\n" == read(shown)


def test_long_output_is_paged_whole(tmp_path: Path, shown: TextIO) -> None:
    """All of it goes to the pager, the first screenful too, and nothing to the screen."""
    out = Screen(shown, f"cat > {tmp_path / 'paged'}")
    for number in range(100):
        out.write(f"{number}\n")
    out.finish()
    assert "".join(f"{number}\n" for number in range(100)) == (tmp_path / "paged").read_text()
    assert "" == read(shown)


def test_output_is_shown_when_asked(shown: TextIO) -> None:
    """What is held can be shown before more comes, and is then not shown twice."""
    out = Screen(shown, "false")
    out.write("a\n")
    out.reveal()
    assert "a\n" == read(shown)
    out.write("b\n")
    out.finish()
    assert "a\nb\n" == read(shown)


def test_without_a_pager(shown: TextIO) -> None:
    """Where no pager is, long output goes to the screen as it comes."""
    out = Screen(shown, None)
    out.write("x\n" * 1000)
    assert "x\n" * 1000 == read(shown)
    out.finish()


def test_pager_that_fails(shown: TextIO) -> None:
    """A pager that ends at once is a reader that has seen enough."""
    out = Screen(shown, "exit 1")
    with pytest.raises(BrokenPipeError):
        write_often(out)
    assert 0 == out.finish()


def test_no_descriptor_is_left() -> None:
    """Finished pipes leave no file open; others may open and close some beside them."""

    def n_open() -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    gc.collect()
    before, n_pipes = n_open(), 20
    for _ in range(n_pipes):
        Pipe("true").finish()
    assert n_open() < before + n_pipes
