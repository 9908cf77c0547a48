"""find: -exec, -printf, -count, and tests of contents at the edges."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import SAMPLE
from support.fleets import backups
from support.logs import make_directory, record
from support.shell import Captured, run, run_on
from support.tree import Session, Spec, session

SPEC: Spec = {
    "a": {"0": "zero", "1": "one", "id": "A"},
    "b c": {"0": "null", "id": "B"},
    "n/m": {"*": "star", "x y": "xy"},
}


@pytest.fixture(params=["nodes", "grids", "terminal"])
def shell(request: pytest.FixtureRequest) -> Session:
    """A session; its kind must not matter to find."""
    return session(
        {"t": SPEC}, grids=request.param != "nodes", terminal=request.param == "terminal"
    )


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("/t -name 0 -exec cat {} ;", "zero\nnull\n"),
        ("/t -name 0 -exec cat {} \\;", "zero\nnull\n"),
        ("/t -type f -exec cat {} ;", "zero\none\nA\nnull\nB\nstar\nxy\n"),
        ("/t -type f -exec cat {} +", "zero\none\nA\nnull\nB\nstar\nxy\n"),
        ("/t -name 0 -print -exec cat {} ; -print0", "/t/a/0\nzero\n/t/a/0\0"
         "/t/b%20c/0\nnull\n/t/b%20c/0\0"),
        ("/t -name 0 -exec cat {} + -print", "/t/a/0\n/t/b%20c/0\nzero\nnull\n"),
        ("/t -name 'n*' -exec ls -1 {} ;", "*\nx y\n"),
        ("/t -name '?' -path '*/n%2Fm/*' -exec cat {} ;", "star\n"),
        ("/t -name a -exec cat {}/1 {}/0 ;", "one\nzero\n"),
        ("/t -name a -exec find {} -name id ;", "/t/a/id\n"),
        ("/t -name 0 -exec cat /t/a/1 ;", "one\none\n"),
        ("/t -type f ( -exec grep -q o {} ; ) -print", "/t/a/0\n/t/a/1\n"),
        ("/t -type f ! -exec grep -q [a-z] {} ; -print", "/t/a/id\n/t/b%20c/id\n"),
        ("/t -name 0 -exec cat {} ; -quit", "zero\n"),
        ("/t -name 0 -exec cat {} + -quit", "zero\n"),
        ("--encode /t -name 'x*' -exec cat {} ; -print", "xy\n/t/n%2Fm/x%20y\n"),
        ("/t -name nothing -exec cat {} +", ""),
    ],
)  # fmt: skip
def test_commands_are_run(shell: Session, words: str, out: str) -> None:
    """In the order of the evaluation, with paths that lead to what was found."""
    printed = shell.output(f"find {words}")
    if not words.startswith("--encode"):
        # Only what can't be typed is encoded: a space can be quoted.
        out = out.replace("%20", " ")
    assert out == printed


def test_failures_of_commands(shell: Session) -> None:
    """A command that fails is false; one with many paths fails the search at its end."""
    assert 0 == shell.run("find /t -name a -exec cat {} ; -print")
    assert (["cat: /t/a: Is a directory"], "") == (shell.warnings, shell.out.text)
    assert 1 == shell.run("find /t -name 'a' -exec cat {} + -print")
    assert "/t/a\n" == shell.out.text


def test_tests_of_contents_have_a_limit(shell: Session) -> None:
    """Nothing is searched."""
    assert (2, "") == (shell.run("find /t " + "-offline " * 61), shell.out.text)
    assert shell.warnings[0].startswith("find: more than 60 tests of times and contents")


def test_a_command_can_not_change_the_session() -> None:
    """It gets a copy of the context."""
    shell = session({"t": SPEC})
    before = (shell.context.cwd, shell.context.root)
    shell.run("find /t -name a -exec find {} -name 0 -print ;")
    assert before == (shell.context.cwd, shell.context.root)
    assert not shell.context.exit_requested


def test_searches_within_searches_end() -> None:
    """Should a command ever lead to its own search, that is refused a few levels down."""
    from metashell.commands.find import actions as find_actions

    token = find_actions._depth.set(3)
    try:
        shell = session({"t": SPEC})
        assert 2 == shell.run("find /t -name 0 -exec cat {} ;")
        assert ["find: more than 3 searches within each other"] == shell.warnings
    finally:
        find_actions._depth.reset(token)


def test_many_paths_are_given_in_several_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """None twice, none left out."""
    monkeypatch.setattr("metashell.commands.find.actions._MOST_PATHS", 3)
    leaves = {str(i): f"text {i}" for i in range(10)}
    shell = session({"t": {"d": leaves}}, grids=True)
    assert "".join(f"text {i}\n" for i in range(10)) == shell.output(
        "find /t -type f -exec cat {} +"
    )


def test_a_fleet_still_tells_what_it_could_not_read(tmp_path: Path) -> None:
    """Commands that are run begin anew to note that; the search is not at its end."""
    places = backups(tmp_path / "all")
    (places / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    fleet = open_fleet([str(path) for path in sorted(places.iterdir())])
    line = "find /clusters -name metadataVersion -exec cat {} ;"
    ran = run(fleet.root, line, source=fleet)
    assert 1 == ran.status
    assert 3 == len(ran.out.splitlines())
    assert any(warning.startswith("find: /clusters/broken: ") for warning in ran.err)


def test_formats_are_those_of_find(tmp_path: Path) -> None:
    """The same tree of files, the same output, but for the start's own line."""
    spec: Spec = {"d": {"e": {"f": "", "g h": ""}}, "top": ""}
    for name in ("f", "g h"):
        (tmp_path / "d" / "e").mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / "e" / name).touch()
    (tmp_path / "top").touch()
    text = "%p|%P|%H|%f|%h|%d|%y|%%|%-12f|%12f|%-3.2f|\\t\\\\x\\0\\n"
    for start in (".", "d", "d/e", "./d", "top"):
        arguments = ["find", start, "-printf", text]
        there = subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True)
        here = session(spec).output(f"find {start} -printf '{text}'")
        assert sorted(there.stdout.decode().splitlines()) == sorted(here.splitlines())


@pytest.mark.parametrize("grids", [False, True])
def test_formats_of_odd_names(grids: bool) -> None:
    """A name that holds a slash is one component; on a terminal names are shown escaped."""
    shell = session({"t": {"n/m": {"x\n": ""}}}, grids=grids)
    line = "find /t -mindepth 1 -printf '%f|%h|%P|%d\\n'"
    assert "n/m|/t|n/m|1\nx\n|/t/n/m|n/m/x\n|2\n" == shell.output(line)
    shell = session({"t": {"n/m": {"x\n": ""}}}, grids=grids, terminal=True)
    assert "n/m|/t|n/m|1\nx\\n|/t/n/m|n/m/x\\n|2\n" == shell.output(line)


def test_formats_tell_times() -> None:
    """As ls -l does, where nothing is known too."""
    source = metashell.open(SAMPLE)
    listed = run_on(source, "ls -l /image/cluster/brokers /local").out
    rows = [line.split() for line in listed.splitlines() if line.startswith(("- ", "d "))]
    expected = [f"{row[-1]} {row[1]} {row[2]}" for row in rows]
    line = "find /image/cluster/brokers /local -mindepth 1 -printf '%f %t %o\\n'"
    assert expected == run_on(source, line).out.splitlines()
    assert "- -\n" == session(SPEC).output("find /a/0 -printf '%t %o\\n'")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("/t -count", "11\n"),
        ("/t -type f -count", "7\n"),
        ("/t -type d -count", "4\n"),
        ("/t -name 0 -count -count", "4\n"),
        ("/t -name 0 -print -count", "/t/a/0\n/t/b c/0\n2\n"),
        ("/t -name 0 -count -quit", "1\n"),
        ("/t -name no -count", "0\n"),
        ("/t -name a -prune -o -count", "7\n"),
        ("/t -maxdepth 1 -count", "4\n"),
        ("/t -mindepth 2 -count", "7\n"),
        ("/t -path '*/a/*' -count", "3\n"),
        ("/t /t/a -count", "15\n"),
        ("/t -type d -print -o -count", "/t\n/t/a\n/t/b c\n/t/n/m\n7\n"),
    ],
)
def test_counts(shell: Session, words: str, out: str) -> None:
    """How many nodes came to the action, at the end."""
    assert out == shell.output(f"find {words}")


def test_what_others_can_not_answer_is_answered_here() -> None:
    """Who has the log is asked what parts of a tree can answer apart."""
    asked: list[str] = []

    class Others(Source):
        def delegate(self, command: Callable[[Any], Any]) -> Any:
            return command(self)

        def search(self, args: list[str], *_: object, **__: object) -> None:
            asked.append(" ".join(args))

    source = Others(metashell.open(SAMPLE).log)
    theirs = ["-name x", "-count", "-printf %p"]
    ours = ["-offline", "-fenced", "-printf %t", "-count -quit", "-exec cat {} ;", ".."]
    for words in (*theirs, *ours):
        run_on(source, f"find /image/cluster {words}" if words != ".." else "find /image/..")
    assert [f"/image/cluster {words}" for words in theirs] == asked


def test_a_secret_is_not_found_by_its_value(tmp_path: Path) -> None:
    """-config compares what is shown."""
    config = record(
        "ConfigRecord",
        resource_type=4,
        resource_name="1",
        name="ssl.key.password",
        value="opensesame",
    )
    place = make_directory(tmp_path, (0, encode_batch([config], base_offset=0)))
    hidden, shown = metashell.open(place), metashell.open(place, show_secrets=True)
    for source, guess, is_found in (
        (shown, "opensesame", True),
        (hidden, "opensesame", False),
        (hidden, "open*", False),
        (hidden, "??????????", True),  # as long as [redacted]
        (hidden, "*", True),
    ):
        found = run_on(source, f"find /image/configs -type f -config 'ssl.key.password={guess}'")
        assert is_found is bool(found.out), guess
    for shows in (False, True):
        fleet = open_fleet([str(place)], show_secrets=shows)
        line = "find /clusters -type f -config ssl.key.password=opensesame"
        found = run(fleet.root, line, source=fleet)
        assert shows is bool(found.out)


def test_completion() -> None:
    """Brokers, keys of configs, and commands with what they propose."""
    from metashell.commands.framework.completion import complete_line

    source = metashell.open(SAMPLE)
    context = Context(root=source.root, out=Captured(), warn=print, source=source)

    def proposed(line: str) -> list[str]:
        return [completion.text for completion in complete_line(context, line)]

    assert ["101", "102"] == proposed("find / -leader ")
    assert ["102"] == proposed("find / -isr 102")
    assert ["retention.ms"] == proposed("find / -config rete")
    assert "-under-min-isr" in proposed("find / -under")
    assert "cat" in proposed("find / -exec c")
    assert ["image/"] == proposed("find / -exec cat /im")
    assert ["-count"] == proposed("find / -exec cat {} ; -cou")
    assert ["-count"] == proposed("find / -exec cat {} + -cou")
    assert ["--count"] == proposed("grep --cou")
    assert 0 == run_line(context, "find /image -offline -count")
