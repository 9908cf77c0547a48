"""What the command line does with `tui`: what it refuses, and what it tells the explorer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import metashell
import metashell.tui.session as session_module
from metashell.cli.explore import Said
from metashell.errors import MetashellError, SourceError
from metashell.places.uri import archive_uri
from metashell.tui.session import ExplorerSession
from support.fixtures import SAMPLE, fixture_dir
from unit.cli.conftest import Program, Result


@pytest.fixture
def explored(program: Program, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the program on what looks like a terminal, with a function in the explorer's place."""

    def run(*argv: str, explorer: Callable[[ExplorerSession], int]) -> Result:
        monkeypatch.setattr(session_module, "run", explorer)
        monkeypatch.setattr("metashell.cli.work._is_terminal", lambda _: True)
        return program(*argv)

    return run


def opened(session: ExplorerSession, *progress: Any) -> int:
    """Open the source as the explorer does, in a thread of its own."""
    failed: list[MetashellError] = []

    def work() -> None:
        try:
            session.open(lambda *_: None)
        except MetashellError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return 0


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (["-d", "x", "tui"], ""),
        (["-d", "x", "--tui"], ""),
        (["-d", "x", "tui", "/leaf"], "/leaf"),
        (["-d", "x", "--tui", "leaf"], "/leaf"),
        (["--tui", "-s", "x", "/a//../leaf/"], "/leaf"),
    ],
)
def test_paths(explored: Callable[..., Result], argv: list[str], path: str) -> None:
    """One of the file system; without one Home is shown."""
    seen: list[str] = []

    def explorer(session: ExplorerSession) -> int:
        seen.append(session.path)
        return opened(session)

    assert (0, "", "") == _of(explored(*argv, explorer=explorer))
    assert [path] == seen


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["-d", "x", "tui", "/a", "/b"], 2, "`tui` takes one path"),
        (["-d", "x", "tui", "-l"], 2, "`tui` takes one path"),
        (["-d", "x", "tui", ""], 2, "`tui` takes one path"),
        (["-d", "x", "-c", "ls", "tui"], 2, "`tui` and `--command` each say what to run"),
        (["-d", "x", "-f", "script", "--tui"], 2, "`tui` and `--file` each say what to run"),
        (["tui"], 2, "no source"),
        (["-d", "x", "tui", "/nothing"], 1, "/nothing: No such file or directory"),
    ],
)
def test_refused(explored: Callable[..., Result], argv: list[str], code: int, message: str) -> None:
    """One sentence, and the exit status of its kind."""
    result = explored(*argv, explorer=opened)
    assert code == result.code
    assert result.err.startswith("metashell: ")
    assert message in result.err


def test_needs_a_terminal(program: Program) -> None:
    """Without one nothing is opened."""
    result = program("-d", "x", "tui")
    assert (2, "") == (result.code, result.out)
    assert "`tui` needs a terminal" in result.err
    assert [] == program.opener.calls


def test_help(program: Program) -> None:
    """`tui --help` is about the program, and needs no source."""
    result = program("tui", "--help")
    assert 0 == result.code
    assert "tui [PATH]" in result.out


def test_failures_are_those_of_a_command(explored: Callable[..., Result], program: Program) -> None:
    """Message, hint and exit status."""
    program.opener.error = SourceError("x is nothing", hint="give another")
    one_shot = program("-d", "x", "echo")
    assert one_shot == explored("-d", "x", "tui", explorer=opened)
    program.opener.error = PermissionError(13, "Permission denied", "x/y")
    assert program("-d", "x", "echo") == explored("-d", "x", "tui", explorer=opened)


def test_defects_are_told(explored: Callable[..., Result], program: Program) -> None:
    """As those of a command; no traceback."""
    program.opener.error = TypeError("an unsupported thing")
    result = explored("-d", "x", "tui", explorer=opened)
    assert 70 == result.code
    assert "internal error: TypeError" in result.err
    assert "Traceback" not in result.err


def test_warnings(explored: Callable[..., Result], program: Program) -> None:
    """The explorer takes each once; all are printed at the end, and no more than a few."""
    taken: list[str] = []

    def explorer(session: ExplorerSession) -> int:
        opened(session)
        for warnings in (["one"], ["one", "two"]):
            program.opener.source.warnings[:] = warnings
            session.look()
            taken.extend(session.messages())
        program.opener.source.warnings.extend(f"fault {i}" for i in range(20))
        return 0

    result = explored("-d", "x", "tui", explorer=explorer)
    assert ["warning: one", "warning: two"] == taken
    lines = result.err.splitlines()
    assert ["metashell: warning: one", "metashell: warning: two"] == lines[:2]
    assert "metashell: warning: 12 more of these" == lines[-1]


def test_closed_at_the_end(explored: Callable[..., Result], program: Program) -> None:
    """Also what is opened only when the user has left."""
    closed: list[bool] = []
    program.opener.source.close = lambda: closed.append(True)  # type: ignore[attr-defined]
    explored("-d", "x", "tui", explorer=opened)
    assert [True] == closed
    late: list[ExplorerSession] = []

    def explorer(session: ExplorerSession) -> int:
        late.append(session)
        return 0

    explored("-d", "x", "tui", explorer=explorer)
    assert [True] == closed
    opened(late[0])
    assert [True, True] == closed


def test_progress_is_handed_on(explored: Callable[..., Result], program: Program) -> None:
    """To the explorer: nothing is drawn on the terminal."""
    seen: list[tuple[int, int]] = []

    def explorer(session: ExplorerSession) -> int:
        session.open(lambda done, whole: seen.append((done, whole)))
        with program.opener.watch.reading("loading") as bar:
            bar(3, 10)
        return 0

    assert "" == explored("-d", "x", "tui", explorer=explorer).err
    assert [(3, 10)] == seen


def test_what_is_said_is_kept() -> None:
    """And nothing written."""
    said = Said()
    said.program("note: one")
    said.raw(b"a bar")
    assert ["note: one"] == said.take()
    assert [] == said.take()
    assert ["metashell: note: one"] == said.lines


def _of(result: Result) -> tuple[int, str, str]:
    return result.code, result.out, result.err


def test_a_coordinators_log_is_refused(explored: Callable[..., Result], program: Program) -> None:
    """The explorer would take its records for those of a metadata log."""
    program.opener = None
    directory = fixture_dir("node-44/broker101/d1/__consumer_offsets-3")
    told = explored("-d", str(directory), "tui", explorer=opened)
    assert 3 == told.code
    assert "the explorer shows no coordinator's log by itself" in told.err


@pytest.mark.parametrize(
    ("directory", "name"),
    [("s3://KEY:SECRET@bucket/logs", "s3://bucket/logs"), (archive_uri("a/b.tar"), "a/b.tar")],
)
def test_names_hold_no_credentials(
    explored: Callable[..., Result], directory: str, name: str
) -> None:
    """The explorer shows the name before anything is opened."""
    seen: list[str] = []

    def explorer(session: ExplorerSession) -> int:
        seen.append(session.name)
        return 0

    explored("-d", directory, "tui", explorer=explorer)
    assert [name] == seen


def test_the_title_names_the_cluster(explored: Callable[..., Result]) -> None:
    """A directory without a name of its own has the cluster's id; the demo has its name."""
    titles = []

    def explorer(session: ExplorerSession) -> int:
        source = metashell.open(SAMPLE)
        titles.append(session.title(source))
        return 0

    explored("-d", "d1", "tui", explorer=explorer)
    explored("demo", "tui", explorer=explorer)
    assert ["FOEwebgxRXOFbKdSIiDwwg", "demo"] == titles
