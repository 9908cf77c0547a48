"""The prompt loop in this process: keys go in by a pipe, nothing is drawn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.commands.framework.aliases import Habits
from metashell.errors import ExitCode
from metashell.repl import ShellSession
from metashell.repl.appearance import STATUS_THREAD
from metashell.repl.shell import Shell
from metashell.themes import THEMES
from support.tiny_shell import status, tree
from support.typed import type_into
from support.waiting import LIMIT_S, wait_until

Play = Callable[[str], int]
"""Types keys into a new shell and returns its exit status."""


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """A way to run shells that share one history."""

    def run(keys: str) -> int:
        session = ShellSession(root=tree(), source_name="tiny", status=status)
        return type_into(session, keys, tmp_path)

    return run


Captured = pytest.CaptureFixture[str]


def test_commands_share_a_directory(play: Play, capfd: Captured) -> None:
    """What cd changes holds for the next line; exit leaves with 0."""
    assert ExitCode.OK == play("cd /image/topics/byName\rls\rexit\r")
    assert ("bar\nbaz\nfoo\n", "") == capfd.readouterr()


def test_exit_takes_a_status(play: Play) -> None:
    """It is the program's; a wrong one leaves nothing."""
    assert 3 == play("exit 3\r")
    assert 255 == play("exit 256\rexit 255\r")


def test_end_of_input_leaves(play: Play) -> None:
    """^D on an empty line leaves with 0, whatever failed before."""
    assert ExitCode.OK == play("cat /nope\r\x04")


def test_blank_lines_and_comments(play: Play, capfd: Captured) -> None:
    """Nothing to run does nothing."""
    play("\r   \r# ls | cat\r\x04")
    assert ("", "") == capfd.readouterr()


def test_lines_go_on(play: Play, capfd: Captured) -> None:
    """A backslash at the end and an open quote ask for more; ^C gives up all of it."""
    play("pwd\\\r\rcat '/image/features\r\x03cat \\\r/image/features/metadataVersion\r\x04")
    assert ("/\n4.4-IV2\n", "") == capfd.readouterr()


def test_several_commands_in_a_line(play: Play, capfd: Captured) -> None:
    """Separators, and what other shells call things."""
    assert 3 == play("cd /image; pwd && cat nope || pwd\r?\rexit 3; pwd\r")
    out, err = capfd.readouterr()
    assert out.startswith("/image\n/image\n")
    assert "cat: nope: No such file or directory\n" == err


def test_the_line_before(play: Play, capfd: Captured) -> None:
    """`!!` is shown and runs; the history has what ran."""
    play("!!\rpwd\r!! ; pwd\rhistory\r\x04")
    out, err = capfd.readouterr()
    assert "/\n/\n/\n    1  pwd\n    2  pwd ; pwd\n    3  history\n" == out
    assert "metashell: !!: no line was entered before\npwd ; pwd\n" == err


def test_lines_that_go_on_are_one_of_the_history(play: Play, capfd: Captured) -> None:
    """So that they can be recalled whole."""
    play("cat \\\r/image/features/metadataVersion\rhistory\r\x04")
    out, _ = capfd.readouterr()
    assert "4.4-IV2\n    1  cat /image/features/metadataVersion\n    2  history\n" == out


def test_interrupt_clears_the_line(play: Play, capfd: Captured) -> None:
    """^C gives up the line typed, and the next one counts."""
    play("cat /nope\x03cat /image/features/metadataVersion\r\x04")
    assert ("4.4-IV2\n", "") == capfd.readouterr()


def test_error_goes_to_stderr(play: Play, capfd: Captured) -> None:
    """A failed command says so on stderr and the shell goes on."""
    play("cat /nope\rpwd\r\x04")
    assert ("/\n", "cat: /nope: No such file or directory\n") == capfd.readouterr()


def test_defect_is_one_line(play: Play, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody expects ends the command and names the way to its traceback."""
    monkeypatch.delenv("METASHELL_DEBUG", raising=False)
    play("cat /broken\rpwd\r\x04")
    out, err = capfd.readouterr()
    assert "/\n" == out
    what, hint = err.splitlines()
    assert what.startswith("metashell: internal error: ZeroDivisionError at ")
    assert "a defect of ours" not in what
    assert "  hint: run again with METASHELL_DEBUG=1 for the traceback, and report it" == hint


def test_defect_with_traceback(
    play: Play, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """METASHELL_DEBUG shows where it came from."""
    monkeypatch.setenv("METASHELL_DEBUG", "1")
    play("cat /broken\r\x04")
    err = capfd.readouterr().err
    assert "in broken" in err
    assert "internal error: ZeroDivisionError" in err


def test_deep_recursion_is_survived(play: Play, capfd: Captured) -> None:
    """Even a command that exhausts the stack leaves the shell standing."""
    play("cat /bottomless\rpwd\r\x04")
    out, err = capfd.readouterr()
    assert "/\n" == out
    assert "RecursionError" in err


def test_system_shell(play: Play, capfd: Captured) -> None:
    """What follows a bang is the system's shell's, bars and all."""
    play("!echo a | tr a b\r\x04")
    assert "b\n" == capfd.readouterr().out


def test_pipe_to_the_system_shell(play: Play, capfd: Captured) -> None:
    """A command's output goes through a pipeline, unescaped and a name a line."""
    play("ls /hostile | od -c | head -1\rls /image/topics/byName | sort -r | head -2\r\x04")
    first, *others = capfd.readouterr().out.splitlines()
    assert "033" in first
    assert ["foo", "baz"] == others


@pytest.mark.slow
def test_pipe_whose_reader_leaves(play: Play, capfd: Captured) -> None:
    """A reader that has seen enough ends an endless command quietly."""
    play("find /endless | head -1\r\x04")
    assert ("/endless\n", "") == capfd.readouterr()


def test_bar_without_neighbour(play: Play, capfd: Captured) -> None:
    """Half a pipe is told and nothing runs."""
    play("ls |\r\x04")
    out, err = capfd.readouterr()
    assert "" == out
    assert "|" in err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pwd", 0),
        ("cat /nope", 1),
        ("ls --nope", 2),
        ("!exit 7", 7),
        ("!kill -9 $$", 137),
        ("pwd | exit 5", 5),
        ("cat /nope | cat", 1),
        ("exit 4", 4),
        ("| cat", 2),
    ],
)
def test_status_of_a_line(tmp_path: Path, line: str, expected: int) -> None:
    """Each line has the status that a shell would give it."""
    session = ShellSession(root=tree(), source_name="tiny", status=status)
    with create_pipe_input() as pipe:
        shell = Shell(
            session,
            history_path=tmp_path / "history",
            terminal_input=pipe,
            terminal_output=DummyOutput(),
        )
        assert expected == shell.run_line(line)


def test_history_across_sessions(play: Play, capfd: Captured) -> None:
    """A later session finds an earlier one's lines, by command and by key."""
    play("pwd\r\x04")
    capfd.readouterr()
    play("\x1b[A\rhistory\r\x04")  # up, Enter
    out = capfd.readouterr().out
    assert "/\n    1  pwd\n    2  history\n" == out


def test_reverse_search(play: Play, capfd: Captured) -> None:
    """^R finds a line by what is in its middle."""
    play("cat /image/features/metadataVersion\rpwd\r\x04")
    capfd.readouterr()
    play("\x12feat\r\r\x04")
    assert "4.4-IV2\n" == capfd.readouterr().out


def test_pasted_block(play: Play, capfd: Captured) -> None:
    """Each line of a pasted block is run."""
    play("\x1b[200~cd /image\npwd\n\x1b[201~\r\x04")
    assert "/image\n" == capfd.readouterr().out


def test_problem_with_the_history_is_told_once(tmp_path: Path, capfd: Captured) -> None:
    """A state directory that can't be used costs one line on stderr."""
    (tmp_path / "file").write_text("")
    session = ShellSession(root=tree(), source_name="tiny", status=status)
    with create_pipe_input() as pipe:
        pipe.send_text("pwd\rpwd\r\x04")
        Shell(
            session,
            history_path=tmp_path / "file" / "history",
            terminal_input=pipe,
            terminal_output=DummyOutput(),
        ).run()
    out, err = capfd.readouterr()
    assert "/\n/\n" == out
    assert 1 == len(err.splitlines())


def test_status_that_comes_when_the_prompt_is_gone(
    play: Play, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not drawn, and nothing is said of that."""
    came = threading.Event()

    def invalidate(_app: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            came.set()
            raise RuntimeError("Event loop is closed")

    monkeypatch.setattr(Application, "invalidate", invalidate)
    play("pwd\r\x04")
    wait_until(came.is_set, "the status is computed")
    for thread in threading.enumerate():
        if thread.name == STATUS_THREAD:
            thread.join(LIMIT_S)
    assert ("/\n", "") == capfd.readouterr()


def test_error_of_ours_from_a_node(play: Play, capfd: Captured) -> None:
    """An error that a node raises is a line like any other."""
    play("cat /unreadable\r\x04")
    assert "torn in the middle" in capfd.readouterr().err


def test_habits_of_the_user(tmp_path: Path, capfd: Captured) -> None:
    """Aliases and default options work and count as commands; a theme draws the prompt."""
    habits = Habits(aliases={"names": "ls /image/topics/byName"}, options={"ls": "-1"})
    session = ShellSession(
        root=tree(), source_name="tiny", status=status, habits=habits, theme=THEMES["solarized"]
    )
    with create_pipe_input() as pipe:
        pipe.send_text("names\rnames | wc -l\rexit\r")
        shell = Shell(
            session,
            history_path=tmp_path / "history",
            terminal_input=pipe,
            terminal_output=DummyOutput(),
        )
        assert ExitCode.OK == shell.run()
    assert ["bar", "baz", "foo", "3"] == capfd.readouterr().out.split()
    assert [True, True, False] == [shell._is_command(word) for word in ("names", "ls", "nam")]
