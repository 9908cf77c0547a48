"""ls, cat, tree, and the commands that change or show the session."""

from __future__ import annotations

import pytest

from support.tree import Session, Spec, session

SPEC: Spec = {
    "image": {
        "topics": {"a": {"0": "p0", "id": "I"}, "a-b": {"0": "q"}, "n/m": {"0": "s"}},
        "empty": {},
        "lines": "one\ntwo\x07",
        "odd\nname": "",
    },
    "local": "v",
}
TOPICS = "a:\n  0:\n    p0\n  id:\n    I\na-b:\n  0:\n    q\nn/m:\n  0:\n    s\n"


@pytest.fixture(params=[False, True], ids=["nodes", "grids"])
def shell(request: pytest.FixtureRequest) -> Session:
    """A session that is no terminal, with and without grids."""
    return session(SPEC, grids=request.param)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ls", "image\nlocal\n"),
        ("ls /image/empty", ""),
        ("ls /local", "/local\n"),
        ("ls local image/topics", "local\n\nimage/topics:\na\na-b\nn/m\n"),
        ("ls /image/topics/a*", "/image/topics/a:\n0\nid\n\n/image/topics/a-b:\n0\n"),
        ("ls /image/empty /image/topics", "/image/empty:\n\n/image/topics:\na\na-b\nn/m\n"),
        ("ls -d /image/topics/a* local", "/image/topics/a\n/image/topics/a-b\nlocal\n"),
        (
            "ls -1R image/topics",
            "image/topics:\na\na-b\nn/m\n\nimage/topics/a:\n0\nid\n\n"
            "image/topics/a-b:\n0\n\nimage/topics/n/m:\n0\n",
        ),
        ("ls -R -- /image/empty", "/image/empty:\n"),
        ("ls /image/topics/n%2Fm", "0\n"),
        ("cat /local /image/topics/a/{0,id}", "v\np0\nI\n"),
        ("cat /image/lines", "one\ntwo\x07\n"),
        ("tree /image/topics", TOPICS),
        ("tree /image/lines /local", "one\ntwo\x07\nv\n"),
        ("tree -L1 /image", "empty:\nlines:\n  one\ntwo\x07\nodd\nname:\n  \ntopics:\n"),
        ("tree -L 2 /image/topics", TOPICS),
        ("pwd", "/\n"),
    ],
)  # fmt: skip
def test_what_is_printed(shell: Session, line: str, text: str) -> None:
    """Into a pipe, names and texts go out as they are, one a line."""
    assert text == shell.output(line)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ls /image/topics", "a  a-b  n/m\n"),
        ("ls -1 /image", "empty\nlines\nodd\\nname\ntopics\n"),
        ("ls /image", "empty  odd\\nname\nlines  topics\n"),
        ("ls -R /image/topics", "/image/topics:\na  a-b  n/m\n\n/image/topics/a:\n0  id\n\n"
         "/image/topics/a-b:\n0\n\n/image/topics/n/m:\n0\n"),
        ("cat /image/lines", "one\ntwo\\x07\n"),
        ("tree /image -L 1", "empty:\nlines:\n  one\n  two\\x07\nodd\\nname:\n  \ntopics:\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("grids", [False, True])
def test_what_a_terminal_shows(grids: bool, line: str, text: str) -> None:
    """Columns, and nothing that steers the terminal or fakes a node."""
    assert text == session(SPEC, grids=grids, terminal=True, width=24).output(line)


def test_what_is_missing_does_not_stop_the_rest(shell: Session) -> None:
    """The rest is printed, in order with the diagnostics, and the code is 1."""
    log: list[str] = []
    shell.context.warn = log.append
    shell.out.write = log.append  # type: ignore[method-assign, assignment]
    assert 1 == shell.run("cat /local /no /image /image/topics/a/0")
    assert [
        "v\n",
        "cat: /no: No such file or directory",
        "cat: /image: Is a directory",
        "p0\n",
    ] == log


def test_cd_goes_there_and_back(shell: Session) -> None:
    """Relative paths start at the new place; `-` is the place before."""
    shell.output("cd image/topics")
    assert "a\na-b\nn/m\n" == shell.output("ls")
    assert "" == shell.output("cd n%2Fm")
    assert "/image/topics/n%2Fm\n" == shell.output("pwd")
    assert "s\n" == shell.output("cat 0")
    assert "/image/topics\n" == shell.output("cd -")
    assert "/image/topics/n%2Fm\n" == shell.output("cd -")
    shell.output("cd ..")
    assert "/image/topics" == shell.context.cwd
    shell.output("cd")
    assert "/" == shell.context.cwd
    shell.output("cd im*")
    assert "/image" == shell.context.cwd


@pytest.mark.parametrize(
    ("line", "code"),
    [("cd -", 1), ("cd /local", 1), ("cd /none", 1), ("cd /image/topics/*", 2), ("cd / /", 2)],
)
def test_cd_refuses(shell: Session, line: str, code: int) -> None:
    """The place stays as it was."""
    assert (code, "/") == (shell.run(line), shell.context.cwd)


def test_history_numbers_the_lines(shell: Session) -> None:
    """All of them, or the last N with their numbers."""
    shell.context.history = ["ls", "cat /x\x1b", "pwd"]
    assert "    1  ls\n    2  cat /x\x1b\n    3  pwd\n" == shell.output("history")
    assert "    3  pwd\n" == shell.output("history 1")
    assert "" == shell.output("history 0")
    assert 2 == shell.run("history x")


@pytest.mark.parametrize("line", ["exit", "quit"])
def test_exit_asks_to_leave(shell: Session, line: str) -> None:
    """The front end does the leaving."""
    shell.output(line)
    assert shell.context.exit_requested
    assert shell.context.exit_status is None


@pytest.mark.parametrize(("typed", "status"), [("0", 0), ("007", 7), ("255", 255)])
def test_exit_takes_a_status(shell: Session, typed: str, status: int) -> None:
    """It is the line's and the front end's."""
    assert status == shell.run(f"exit {typed}")
    assert (True, status) == (shell.context.exit_requested, shell.context.exit_status)


@pytest.mark.parametrize("typed", ["256", "-1", "x", "''", "1 2", "٣", "9" * 5000])
def test_exit_with_a_wrong_status_stays(shell: Session, typed: str) -> None:
    """It is a usage error, and nothing ends."""
    assert 2 == shell.run(f"exit {typed}")
    assert (False, None) == (shell.context.exit_requested, shell.context.exit_status)


def test_a_deep_tree_does_not_recurse() -> None:
    """Thousands of levels are printed."""
    spec: Spec = {}
    for _ in range(3000):
        spec = {"d": spec}
    shell = session(spec)
    assert 3000 == len(shell.output("tree /").splitlines())
    assert 3001 == len(shell.output("find /").splitlines())
    assert 3001 == shell.output("ls -R /").count(":\n")
