"""grep: what is found, how it is printed, what it never tells."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import metashell
from metashell.sources.opening import open_fleet
from support.fixtures import SAMPLE, fixture
from support.fleets import backups
from support.programs import end
from support.shell import Captured, run, run_on
from support.tree import MemoryOutput, Session, Spec, session
from support.waiting import LIMIT_S

SPEC: Spec = {
    "a": {"0": "one two", "1": "Two\nthree two\n", "id": ""},
    "b c": {"0": "one\n\none", "1": "ÀÉ straße K"},
    "top": {"deep": {"er": "x=1, y=[2]"}},
}


@pytest.fixture(params=["nodes", "grids", "terminal"])
def shell(request: pytest.FixtureRequest) -> Session:
    """A session; its kind must not matter to grep."""
    return session(SPEC, grids=request.param != "nodes", terminal=request.param == "terminal")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("two", "./a/0: one two\n./a/1: three two\n"),
        ("two /", "/a/0: one two\n/a/1: three two\n"),
        ("-i two /a", "/a/0: one two\n/a/1: Two\n/a/1: three two\n"),
        ("two /a/0", "/a/0: one two\n"),
        ("two /a/*", "/a/0: one two\n/a/1: three two\n"),
        ("-l one /", "/a/0\n/b c/0\n"),
        ("--encode -l one /", "/a/0\n/b%20c/0\n"),
        ("-c one /", "/a/0: 1\n/b c/0: 2\n"),
        ("-n one /", "/a/0:1: one two\n/b c/0:1: one\n/b c/0:3: one\n"),
        ("-h one /", "one two\none\none\n"),
        ("-hn one '/b c'", "1:one\n3:one\n"),
        ("-m 1 one /", "/a/0: one two\n/b c/0: one\n"),
        ("-cm1 one /", "/a/0: 1\n/b c/0: 1\n"),
        ("-v o /a", "/a/1: \n/a/id: \n"),
        ("-vc o /a", "/a/1: 1\n/a/id: 1\n"),
        ("^$ /", "/a/1: \n/a/id: \n/b c/0: \n"),
        ("-F [2] /", "/top/deep/er: x=1, y=[2]\n"),
        ("-F y=. /top /a", None),
        ("'y=.2' /", "/top/deep/er: x=1, y=[2]\n"),
        ("-E 'x=[0-9]+,' /top", "/top/deep/er: x=1, y=[2]\n"),
        ("-e three -e x= /", "/a/1: three two\n/top/deep/er: x=1, y=[2]\n"),
        ("-e -l /", None),
        ("-i àé /", "/b c/1: ÀÉ straße K\n"),
        ("-i K$ /", "/b c/1: ÀÉ straße K\n"),
        ("-q one /", ""),
        ("nothing /", None),
        ("-q nothing /", None),
        ("'two\nthree' /", None),
    ],
)
def test_what_is_found(shell: Session, words: str, out: str | None) -> None:
    """Lines in the order of the walk; None stands for none, which is status 1."""
    assert (0 if out is not None else 1) == shell.run(f"grep {words}")
    assert ([], out or "") == (shell.warnings, shell.out.text)


def test_a_path_that_is_not_there(shell: Session) -> None:
    """It is told of, and the rest is searched."""
    assert 1 == shell.run("grep two /nowhere /a/0")
    assert ["grep: /nowhere: No such file or directory"] == shell.warnings
    assert "/a/0: one two\n" == shell.out.text


class Screen(MemoryOutput):
    """A terminal that can be drawn over."""

    height = 24

    def paint(self, text: str) -> None:
        """Draw."""


def on_screen() -> Session:
    """A session on such a terminal."""
    shell = session({"t\x1b": {"a": "\x1b[0m one two one", "b": "none"}}, terminal=True)
    shell.out = Screen(is_terminal=True)
    shell.context.out = shell.out
    return shell


def test_matches_are_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal itself; what the cluster says steers nothing."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    red, plain = "\x1b[1;31m", "\x1b[0m"
    assert (
        f"/t\\x1b/a: \\x1b[0m {red}one{plain} {red}two{plain} {red}one{plain}\n"
        f"/t\\x1b/b: n{red}one{plain}\n"
    ) == on_screen().output("grep -e one -e tw -e wo /").replace(
        f"{red}tw{plain}{red}o", f"{red}two"
    )
    assert "/t\\x1b/a: \\x1b[0m one two one\n" == on_screen().output("grep -v none /")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "/t\\x1b/b: none\n" == on_screen().output("grep none /")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "/t\\x1b/b: none\n" == on_screen().output("grep none /")


def test_partitions() -> None:
    """Of the sample: what grep finds is what cat prints."""
    source = metashell.open(SAMPLE)
    paths = run_on(source, "find --encode /image/topics/byName -name '[0-9]*' -type f").out
    texts = {path: source.cat(path) for path in paths.splitlines()}
    printed = "".join(f"{path}: {t}\n" for path, t in texts.items() if "replicas=[102" in t)
    assert printed
    assert printed == run_on(source, "grep --encode -F 'replicas=[102' /image/topics/byName").out


def test_a_secret_can_not_be_guessed() -> None:
    """No part of a secret is found, unless secrets are shown."""
    place = fixture("real-44-live").input
    hidden, shown = metashell.open(place), metashell.open(place, show_secrets=True)
    n = 0
    for path in run_on(hidden, "grep --encode -lF [redacted] /").out.splitlines():
        there, told = shown.cat(path), hidden.cat(path)
        before, _, after = told.partition("[redacted]")
        assert there.startswith(before)
        secret = there[len(before) :].partition(after[:1])[0] if after else there[len(before) :]
        for guess in (secret, secret[: len(secret) // 2 + 1]):
            if "'" in guess or guess in told:
                continue
            n += 1
            for switches in ("-qF", "-qiF"):
                line = f"grep {switches} -e '{guess}' '{path}'"
                assert (1, 0) == (run_on(hidden, line).status, run_on(shown, line).status), line
    assert n


def test_a_fleet(tmp_path: Path) -> None:
    """Every cluster is searched; what can't be read is told of."""
    places = backups(tmp_path / "all")
    (places / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    fleet = open_fleet([str(path) for path in sorted(places.iterdir())])
    line = "grep -c . /clusters/*/image/features"
    ran = run(fleet.root, line, source=fleet)
    names = {row.split("/")[2] for row in ran.out.splitlines()}
    assert {*fleet.members} - {"broken"} == names
    ran = run(fleet.root, "grep -q . /", source=fleet)
    assert "" == ran.out


def test_it_ends_where_the_front_end_wants_it() -> None:
    """Also where nothing is found."""
    source = metashell.open(SAMPLE)
    calls = 0

    def cancelled() -> bool:
        nonlocal calls
        calls += 1
        return True

    shell = session(source.root, cancelled=cancelled)
    with pytest.raises(KeyboardInterrupt):
        shell.run("grep '(nothing)' /image/topics/byName")
    assert 1 == calls


_PROGRAM = """
import sys
from metashell.commands.grep import search
tell = search.GrepQuery.among
def among(self, lines):
    print("begins", file=sys.stderr, flush=True)
    return tell(self, lines)
search.GrepQuery.among = among
from metashell.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
def test_interrupt_ends_a_regular_expression_that_would_never() -> None:
    """^C within one line's match."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "demo", "grep", r"^([^!]+)+[!]", "/image/topics"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert "begins\n" == process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT_S)
    finally:
        end(process)
    assert (130, "") == (process.returncode, out)


def test_watch_gets_no_colours() -> None:
    """What captures a command's output is no screen."""
    captured = Captured(is_terminal=True)
    shell = session({"t": "one"}, terminal=True)
    shell.context.out = captured
    assert 0 == shell.run("grep one /")
    assert "/t: one\n" == "".join(captured.parts)
