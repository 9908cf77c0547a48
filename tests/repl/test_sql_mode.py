"""The shell while it reads SQL: keys go in by a pipe, nothing is drawn."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.shared.status import status_of
from metashell.commands.sql.answer import SqlMode
from metashell.errors import ExitCode
from metashell.repl import ShellSession
from metashell.repl.complete import LineCompleter
from metashell.repl.highlight import LineLexer
from support.fixtures import SAMPLE
from support.shell import Captured as Out
from support.statements import ENDLESS
from support.typed import type_into
from support.waiting import wait_until

Play = Callable[[str], int]
"""Types keys into a new shell and returns its exit status."""

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """A way to run shells on the bundled cluster."""

    def run(keys: str) -> int:
        source = metashell.open(SAMPLE)
        session = ShellSession(
            root=source.root, source_name="demo", status=lambda: status_of(source), opened=source
        )
        return type_into(session, keys, tmp_path)

    return run


def test_statements_until_the_mode_ends(play: Play, capfd: Captured) -> None:
    """Lines make a statement up to its semicolon; bars are SQL's; then commands again."""
    keys = "sql -o csv\rselect 'a' || 'b' as x,\r2 as y;\r.exit\rpwd\r\x04"
    assert ExitCode.OK == play(keys)
    assert ("x,y\nab,2\n/\n", "") == capfd.readouterr()


def test_end_of_input_ends_the_mode_and_then_the_shell(play: Play, capfd: Captured) -> None:
    """^D on an empty line, twice."""
    assert ExitCode.OK == play("sql\r\x04pwd\r\x04")
    assert ("/\n", "") == capfd.readouterr()


def test_interrupt_forgets_what_was_begun(play: Play, capfd: Captured) -> None:
    """^C at the prompt; what is typed next is a statement of its own."""
    play("sql -o csv\rselect nonsense\r\x03select 1 as a;\r.exit\r\x04")
    assert ("a\n1\n", "") == capfd.readouterr()


def test_errors_leave_the_mode_standing(play: Play, capfd: Captured) -> None:
    """They go to standard error."""
    play("sql -o csv\rselect * from topicz;\rselect 1 as a;\r\x04\x04")
    assert (
        "a\n1\n",
        "sql: there is no table topicz\n  hint: did you mean topics?\n",
    ) == capfd.readouterr()


def test_interrupt_ends_what_runs(play: Play, capfd: Captured) -> None:
    """^C while a statement runs; what the session made is still there."""

    def runs() -> bool:
        return any(thread.name == "sql" for thread in threading.enumerate())

    def press() -> None:
        wait_until(endless.is_set, lambda: "the statement runs")
        os.kill(os.getpid(), signal.SIGINT)

    endless = threading.Event()
    original = SqlMode.run

    def run(self: SqlMode, context: Context, line: str) -> int:
        if "range" in line:
            endless.set()
        return original(self, context, line)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlMode, "run", run)
        play(
            "sql -o csv\rcreate temp table mine as select 1 as a;\r"
            f"{ENDLESS};\rfrom mine;\r\x04\x04"
        )
    presser.join()
    assert ("a\n1\n", "") == capfd.readouterr()
    wait_until(lambda: not runs(), lambda: "nothing runs any more")


def test_completion_and_colours_are_the_modes() -> None:
    """Of the line that is typed."""
    source = metashell.open(SAMPLE)
    context = Context(
        root=source.root,
        out=Out(),
        warn=lambda _: None,
        source=source,
        interactive=True,
        mode=SqlMode([]),
    )
    completer = LineCompleter(lambda: context)
    found = completer.get_completions(Document("select * from topi"), CompleteEvent())
    assert ["topics ", "TopicRecord "] == [one.text for one in found]
    lexer = LineLexer(lambda _: False, lambda: context.mode)
    styled = lexer.lex_document(Document("select 'a'"))(0)
    assert [
        ("class:line.command", "select"),
        ("class:line.space", " "),
        ("class:line.quote", "'a'"),
    ] == list(styled)
