"""What is imported while files are read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from metashell.cli.imports import LEAST_BYTES, EarlyImports
from metashell.commands import all_names, get
from support.fixtures import DEMO
from support.waiting import LIMIT_S

RUN = """
import sys, threading
from metashell.cli import imports, main
imports.LEAST_BYTES = {least}
begun = []
start = threading.Thread.start
threading.Thread.start = lambda thread: (begun.append(thread.name), start(thread))[1]
sys.argv = ["metashell", "-d", {path!r}, *{words!r}]
assert main() == 0
assert begun.count("metashell-import") == {expected}, begun
"""


def run(words: list[str], *, least: int, expected: int) -> str:
    """Run a command in a process of its own; returns what it prints."""
    code = RUN.format(least=least, path=str(DEMO), words=words, expected=expected)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    return ran.stdout


@pytest.mark.parametrize(
    "words", [["partitions", "--offline", "--count"], ["cat", "/image/provenance"], ["nodes"]]
)
def test_answers_are_the_same(words: list[str]) -> None:
    """A thread beside changes nothing but the time; small files are read without one."""
    assert run(words, least=1, expected=1) == run(words, least=1 << 40, expected=0)


def test_thread_begins_once_where_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for few bytes, and not with each piece of many."""
    begun: list[bool] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: begun.append(thread.daemon))
    left_out: list[str] = []
    monkeypatch.setattr("metashell.cli.imports.leave_pandas_out", lambda: left_out.append("pandas"))
    early = EarlyImports("ls")
    early(1, LEAST_BYTES - 1)
    assert [] == begun
    early(1, LEAST_BYTES)
    early(2, LEAST_BYTES)
    assert [True] == begun
    assert ["pandas"] == left_out
    EarlyImports()(1, LEAST_BYTES)
    assert ["pandas"] == left_out, "a shell may use Spark later"


@pytest.mark.parametrize("name", ["no-such-command", ""])
def test_unknown_command_is_left_to_who_runs_it(name: str) -> None:
    """The thread says nothing: the command's error comes where it is run."""
    EarlyImports(name)._import()


def test_modules_of_commands_are_there() -> None:
    """A name that is none would only cost the time that it is to save."""
    commands = [get(name) for name in all_names()]
    names = {name for command in commands if command is not None for name in command.imports}
    assert "metashell.image.image" in names
    assert [] == [name for name in sorted(names) if find_spec(name) is None]


def test_the_explorer_chooses_a_memory_pool_before_it_imports_pyarrow() -> None:
    """Pyarrow looks once: a pool of its own would hold 100 MB of a large cluster back."""
    code = """if True:
        import sys
        from metashell.cli import explore, run_process, work

        def began(*_: object, **__: object) -> int:
            import metashell.tui.app
            import pyarrow

            print(pyarrow.default_memory_pool().backend_name)
            return 0

        work.explorer_path, explore.explore = lambda _: "/", began
        sys.argv = ["metashell", "demo", "tui"]
        sys.exit(run_process())
        """
    env = {k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    assert (0, "system\n", "") == (ran.returncode, ran.stdout, ran.stderr)
