"""Encoding, escaping, widths and the progress bar."""

from __future__ import annotations

import io
import threading
from contextlib import closing

import pytest

from metashell.cli import work
from metashell.cli.output import (
    Diagnostics,
    StreamOutput,
    _is_terminal,
    encode,
    terminal_width,
)
from metashell.cli.sources import ProgressBar, bar_text
from metashell.cli.work import told_to_run
from metashell.commands.shared.colour import wants_colour
from metashell.fs.escape import Coloured
from support.waiting import wait_until


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        """A person looks at it."""
        return True

    def written(self) -> bytes:
        """What came through."""
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


@pytest.mark.parametrize(
    ("text", "pipe", "terminal"),
    [
        ("plain\n", b"plain\n", b"plain\n"),
        ("é☃", "é☃".encode(), "é☃".encode()),
        ("a\tb\n", b"a\tb\n", b"a\tb\n"),
        ("\x1b]0;title\x07", b"\x1b]0;title\x07", b"\\x1b]0;title\\x07"),
        ("\x1b[2J", b"\x1b[2J", b"\\x1b[2J"),
        ("\x1b[1mbold\x1b[0m", b"\x1b[1mbold\x1b[0m", b"\\x1b[1mbold\\x1b[0m"),
        (Coloured("\x1b[1mbold\x1b[0m"), b"\x1b[1mbold\x1b[0m", b"\x1b[1mbold\x1b[0m"),
        ("\u202e", "\u202e".encode(), b"\\u202e"),
        ("\udcff", b"\xff", b"\\udcff"),
    ],
)
def test_encode(text: str, pipe: bytes, terminal: bytes) -> None:
    """A pipe gets text as it is; a terminal nothing that steers it but colours of ours."""
    assert (pipe, terminal) == (encode(text, terminal=False), encode(text, terminal=True))


def test_encode_never_fails() -> None:
    """Lone surrogates of any kind have some encoding."""
    assert encode("\ud800\udcff", terminal=False)
    assert b"\\ud800\\udcff" == encode("\ud800\udcff", terminal=True)


def test_output_writes_in_order_and_only_once() -> None:
    """What was flushed is not flushed again."""
    stream = io.TextIOWrapper(io.BytesIO())
    out = StreamOutput(stream)
    for text in ("a", "b" * 100_000, "c"):
        out.write(text)
    out.flush()
    out.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    assert b"a" + b"b" * 100_000 + b"c" == stream.buffer.getvalue()


def test_output_to_text_only_streams() -> None:
    """A notebook's standard output has no bytes below it."""
    stream = io.StringIO()
    out = StreamOutput(stream)
    out.write("é")
    out.flush()
    assert "é" == stream.getvalue()


@pytest.mark.parametrize(
    ("columns", "width"), [("120", 120), ("0", 80), ("-3", 80), ("x", 80), ("²", 80)]
)
def test_width_from_environment(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    """COLUMNS goes first, where it is a number."""
    monkeypatch.setenv("COLUMNS", columns)
    assert width == terminal_width(io.StringIO())


@pytest.mark.parametrize(
    ("no_color", "term", "is_terminal", "wanted"),
    [("", "xterm", True, True), ("1", "xterm", True, False), ("", "dumb", True, False),
     ("", "xterm", False, False)],
)  # fmt: skip
def test_colour(
    monkeypatch: pytest.MonkeyPatch, no_color: str, term: str, is_terminal: bool, wanted: bool
) -> None:
    """Only on a terminal that can, and not against NO_COLOR."""
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    assert wanted is wants_colour(is_terminal)


@pytest.mark.parametrize("width", [0, 1, 10, 20, 40, 80, 300])
@pytest.mark.parametrize("done", [-1, 0, 5, 10**9, 10**12])
def test_bar_fits(width: int, done: int) -> None:
    """The bar never wraps, whatever the figures."""
    assert len(bar_text("loading", done, 10**9, width)) <= max(width - 1, 0)


def test_bar_text() -> None:
    """Bar, percentage and megabytes."""
    text = bar_text("loading", 64_000_000, 128_000_000, 50)
    assert "loading [###########-----------]  50%  64/128 MB" == text


def test_bar_text_of_tasks() -> None:
    """Tasks are counted one by one; before there are any, something is about to start."""
    assert bar_text("Spark", 3, 12, 60, unit="tasks").endswith("]  25%  3/12 tasks")
    assert "Spark: starting" == bar_text("Spark", 0, 0, 60, unit="tasks")
    assert "Spark:" == bar_text("Spark", 0, 0, 7, unit="tasks")
    assert "" == bar_text("Spark", 0, 0, 0, unit="tasks")


def test_bar_appears_late_and_vanishes() -> None:
    """Quick loads show nothing; slow ones leave nothing."""
    now = [0.0]
    terminal = Terminal()
    loading = ProgressBar(
        Diagnostics(terminal, StreamOutput(None)), "loading", clock=lambda: now[0]
    )
    with closing(loading) as bar:
        bar(1, 10)
        assert b"" == terminal.written()
        now[0] = 1.0
        bar(5, 10)
        drawn = terminal.written()
        bar(6, 10)
        assert drawn == terminal.written()
    assert b"50%" in drawn
    assert terminal.written().endswith(b"\r" + b" " * (len(drawn) - 1) + b"\r")


def test_bar_makes_room() -> None:
    """A message and data stand in a line of their own, and what is drawn sends no data."""
    terminal, there = Terminal(), Terminal()
    out = StreamOutput(there)
    diagnostics = Diagnostics(terminal, out)
    out.write("row")
    diagnostics.draw("12%")
    assert (b"\r12%", b"") == (terminal.written(), there.written())
    diagnostics.line("a word")
    assert b"\r12%\r   \ra word\n" == terminal.written()
    assert b"row" == there.written()
    diagnostics.draw("50%")
    n_before = len(terminal.written())
    out.write("more")
    assert n_before == len(terminal.written())
    out.flush()
    assert b"\r   \r" == terminal.written()[n_before:]
    assert not diagnostics.drawn


def test_bar_of_what_has_ended() -> None:
    """What was erased is not drawn again where all is done."""
    now = [9.0]
    terminal = Terminal()
    diagnostics = Diagnostics(terminal, StreamOutput(None))
    spark = ProgressBar(diagnostics, "Spark", unit="tasks", clock=lambda: now[0])
    with closing(spark) as bar:
        for done, total, is_drawn in ((3, 4, True), (4, 4, False), (4, 6, True)):
            now[0] += 1
            bar(done, total)
            assert is_drawn is bool(diagnostics.drawn)
            now[0] += 1
            if is_drawn:
                bar(total, total)
                assert b"100%" in terminal.written()
            bar.close()


def test_bar_needs_a_terminal() -> None:
    """A log file gets no bar."""
    now = [0.0]
    stream = io.TextIOWrapper(io.BytesIO())
    loading = ProgressBar(Diagnostics(stream, StreamOutput(None)), "loading", clock=lambda: now[0])
    with closing(loading) as bar:
        now[0] = 9.0
        bar(1, 2)
    assert isinstance(stream.buffer, io.BytesIO)
    assert b"" == stream.buffer.getvalue()


def test_painting_sends_what_steers_the_terminal() -> None:
    """At once, behind what was written; only what a command writes is escaped."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    out = StreamOutput(stream)
    out.is_terminal = True
    out.write("a\x1b[H\n")
    out.paint("\x1b[Hb")
    stream.seek(0)
    assert "a\\x1b[H\n\x1b[Hb" == stream.read()
    assert 24 == out.height


def test_a_closed_stream_is_no_terminal() -> None:
    """It can't be asked; an open one is asked."""
    closed = io.StringIO()
    closed.close()
    assert not _is_terminal(closed)
    assert _is_terminal(Terminal())


def test_a_silent_command_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, until it ends; a bar tells more and stays."""
    monkeypatch.setattr(work, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(work, "_REDRAW_S", 0.0)
    terminal = Terminal()
    out = StreamOutput(None)
    diagnostics = Diagnostics(terminal, out)
    with told_to_run(diagnostics, out, "check"):
        line = b"check: running for 0 s, ^C ends it"
        wait_until(lambda: line in terminal.written(), "the line is drawn")
        diagnostics.draw("loading")
        wait_until(lambda: diagnostics.drawn == "loading", "a bar is drawn over it")
        n_before = len(terminal.written())
    assert "" == diagnostics.drawn
    assert line not in terminal.written()[n_before:]
    assert terminal.written().endswith(b" \r")


def test_nothing_is_told_of_a_command_that_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are there; and a pipe is told nothing at all."""
    monkeypatch.setattr(work, "_PATIENCE_S", 0.0)
    there = Terminal()
    out = StreamOutput(there)
    out.write("rows")
    with told_to_run(Diagnostics(there, out), out, "check"):
        wait_until(lambda: not _is_telling(), "nothing tells any more")
    assert b"" == there.written()
    with told_to_run(Diagnostics(io.TextIOWrapper(io.BytesIO()), out), out, "check"):
        assert not _is_telling()


def _is_telling() -> bool:
    return any(thread.name == "told_to_run" for thread in threading.enumerate())
