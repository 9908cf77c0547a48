"""``watch``: run again on news, and what is marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metashell
from kraftgen.files import segment_name
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line, run_words
from metashell.commands.watch import command as watch
from metashell.commands.watch.line_marks import differences, marked
from metashell.sources.source import Source
from support.live import Cluster
from support.logs import make_directory, topic_batch
from support.shell import Captured, Ran, run_on

TOPICS = "/image/topics/byName"


@dataclass
class Terminal(Captured):
    """A terminal that can be drawn on."""

    is_terminal: bool = True
    width: int = 40
    height: int = 8
    screens: list[list[str]] = field(default_factory=list)
    """What each drawing left on it."""
    reversed: list[str] = field(default_factory=list)
    """Of each drawing, what is shown in reverse."""

    def __post_init__(self) -> None:
        self._screen = pyte.Screen(self.width, self.height)
        self._stream = pyte.Stream(self._screen)

    def paint(self, text: str) -> None:
        """Draw."""
        self._stream.feed(text.replace("\n", "\r\n"))
        cells = self._screen.buffer
        self.screens.append([row.rstrip() for row in self._screen.display])
        self.reversed.append(
            "".join(
                cells[y][x].data
                for y in range(self.height)
                for x in range(self.width)
                if cells[y][x].reverse
            )
        )


def run(source: Source, line: str, out: Captured | None = None) -> Ran:
    """Run a line up to its end or ^C."""
    out, warnings = out or Captured(), list[str]()
    context = Context(root=source.root, out=out, warn=warnings.append, source=source)
    try:
        status = run_line(context, line)
    except KeyboardInterrupt:
        status = 130
    return Ran(status, "".join(out.parts), tuple(warnings))


def cluster_with_news(*news: Callable[[Cluster], object]) -> Cluster:
    """Topics t0 and t1, and what comes then."""
    cluster = Cluster(topic_batch(0, 2))
    cluster.news = [lambda step=step: step(cluster) for step in news]  # type: ignore[misc]
    return cluster


# To a pipe.


def test_only_what_changed_is_printed() -> None:
    """The first output whole, then a header and lines that are gone or new."""
    cluster = cluster_with_news(
        lambda c: c.commit(topic_batch(2)),
        lambda c: c.commit(topic_batch(3, 2)),
    )
    ran = run(cluster.source(), f"watch -n 0.1 ls {TOPICS}")
    lines = ran.out.splitlines()
    assert (130, ()) == (ran.status, ran.err)
    assert ["t0", "t1"] == lines[:2]
    assert ["+t2", "+t3", "+t4"] == [line for line in lines if line.startswith("+")]
    headers = [line for line in lines if line.startswith("--- ")]
    assert ["--- offset 2 ", "--- offset 4 "] == [line[:13] for line in headers]


def test_what_leaves_the_output_alone_is_not_shown() -> None:
    """The source changed, and what the command says did not."""
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    assert "t0\n" == run(cluster.source(), f"watch -n 0.1 ls -d {TOPICS}/t0").out.replace(
        f"{TOPICS}/", ""
    )


def test_wildcards_are_expanded_anew() -> None:
    """Also those of a command line given as one word, and words of the system's shell."""
    for words in (
        ["watch", "-n", "0.1", "--count", "1", "ls", "-d", f"{TOPICS}/*"],
        ["watch", "-n0.1", "--count=1", f"ls -d {TOPICS}/*"],
    ):
        source = cluster_with_news(lambda c: c.commit(topic_batch(2))).source()
        out = Captured()
        context = Context(root=source.root, out=out, warn=lambda _: None, source=source)
        assert 0 == run_words(context, words)
        assert f"+{TOPICS}/t2" == "".join(out.parts).splitlines()[-1]


def test_count_ends_it() -> None:
    """After so many changes shown."""
    cluster = cluster_with_news(*[lambda c: c.commit(topic_batch(c.generation + 1))] * 5)
    ran = run(cluster.source(), f"watch -n 0.1 --count 2 ls {TOPICS}")
    assert (0, 2) == (ran.status, ran.out.count("---"))
    assert 3 == len(cluster.news)


def test_timeout_ends_it(tmp_path: Path) -> None:
    """With status 1 where changes were to come."""
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0))))
    assert Ran(0, "t0\n", ()) == run(source, f"watch --timeout 0 ls {TOPICS}")
    assert Ran(1, "t0\n", ()) == run(source, f"watch --timeout 0 --count 1 ls {TOPICS}")


def test_a_path_that_comes_and_goes() -> None:
    """What the command warns of is shown when it is new; it goes on."""
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    ran = run(cluster.source(), f"watch -n 0.1 ls -d {TOPICS}/t2")
    assert (f"ls: {TOPICS}/t2: No such file or directory",) == ran.err
    assert f"+{TOPICS}/t2" == ran.out.splitlines()[-1]


def test_a_problem_is_told_once() -> None:
    """It goes on; when the quorum answers again, news come."""

    def fail(cluster: Cluster) -> None:
        cluster.problem = "no leader"
        cluster.commit()

    def recover(cluster: Cluster) -> None:
        cluster.problem = None
        cluster.commit(topic_batch(2))

    ran = run(cluster_with_news(fail, fail, recover).source(), f"watch -n 0.1 ls {TOPICS}")
    assert ("watch: no leader",) == ran.err
    assert "+t2" == ran.out.splitlines()[-1]


def test_a_directory_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node writes; the directory is away for a while; a node writes again, and truncates."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    path, away = directory / segment_name(0), tmp_path / "away"

    def append(data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    steps: list[Callable[[], object]] = [
        lambda: append(topic_batch(1)),
        lambda: directory.rename(away),
        lambda: away.rename(directory),
        lambda: append(topic_batch(2)),
        lambda: path.write_bytes(topic_batch(0)),
    ]

    def wait(*_: object) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr(watch, "wait_for_news", wait)
    ran = run(metashell.open(directory), f"watch ls {TOPICS}")
    added = [line for line in ran.out.splitlines() if line.startswith("+")]
    assert ["+t1", "+t2"] == added
    unread, gone = ran.err
    assert "No such file" in unread
    assert gone.startswith("watch: the log was truncated from offset 2, epoch ")


def test_secrets_stay_hidden() -> None:
    """The inner command is as careful as it is alone."""
    from support.fixtures import fixture

    source = metashell.open(fixture("real-44-admin").input)
    alone = run_on(source, "tree /image/scram").out
    assert "[redacted]" in alone
    assert alone == run(source, "watch --timeout 0 tree /image/scram").out


# What is refused.


@pytest.mark.parametrize(
    "line",
    [
        "watch",
        "watch -n 5",
        "watch watch ls",
        "watch cd /image",
        "watch exit",
        "watch quit",
        "watch at 5",
        "watch history",
        "watch save x",
        "watch log -f",
        "watch log --tail 3 --follow",
        "watch 'log --follow'",
        "watch -n 0 ls",
        "watch -n x ls",
        "watch -n 1e5 ls",
        "watch -n ² ls",
        "watch --timeout -1 ls",
        "watch --count 0 ls",
        "watch --no ls",
        "watch nope",
        "watch ls --nope",
        "watch 'ls \"'",
    ],
)
def test_wrong_usage(line: str) -> None:
    """With status 2, and nothing is waited for."""
    ran = run(Cluster(topic_batch(0)).source(), line)
    assert (2, "") == (ran.status, ran.out)
    assert ran.err


def test_what_stands_still_is_refused(tmp_path: Path) -> None:
    """An earlier state, and one file."""
    directory = make_directory(tmp_path, (0, topic_batch(0) + topic_batch(1)))
    for source in (
        metashell.open(directory).at(0),
        metashell.open_file(directory / segment_name(0)),
    ):
        assert 2 == run(source, "watch ls").status


# On a terminal.


@pytest.fixture(autouse=True)
def terminal_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal with colour, whatever the tests run on."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_new_words_are_reversed() -> None:
    """The header says where the source stands; old words are plain."""
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    out = Terminal(width=60)
    run(cluster.source(), f"watch -n 0.1 ls {TOPICS}", out)
    assert ["watch: ls /image/topics/byName", "t0  t1"] == [out.screens[1][0], out.screens[1][2]]
    assert out.screens[1][1].startswith("offset 1 ")
    assert out.screens[1][1].endswith(" · 0 changes")
    assert ("t0  t1  t2", "t2") == (out.screens[2][2], out.reversed[2].strip())


def test_marks_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign in front of each line, and nothing is reversed."""
    monkeypatch.setenv("NO_COLOR", "1")
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    out = Terminal(width=80)
    run(cluster.source(), f"watch -n 0.1 ls -1 {TOPICS}", out)
    assert ["  t0", "  t1", "+ t2"] == out.screens[2][2:5]
    assert out.screens[2][1].endswith("1 change (+1)")
    assert [""] == sorted({*out.reversed})


def test_what_does_not_fit_is_cut() -> None:
    """With a note; the screen never scrolls, and warnings have their place below."""
    cluster = Cluster(topic_batch(0, 100))
    out = Terminal()
    run(cluster.source(), f"watch ls -1 /none {TOPICS}", out)
    screen = out.screens[-1]
    assert "watch: ls -1 /none /image/topics/byName" == screen[0]
    assert screen[4].startswith("... ")
    assert ["", "ls: /none: No such file or directory", ""] == screen[5:]


@pytest.mark.parametrize("size", [(1, 1), (5, 2), (10, 3), (200, 100)])
def test_any_size_of_terminal(size: tuple[int, int]) -> None:
    """Small ones show less."""
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    out = Terminal(width=size[0], height=size[1])
    assert 130 == run(cluster.source(), f"watch -n 0.1 tree {TOPICS}", out).status


def test_a_problem_stands_in_the_header() -> None:
    """As long as there is one."""

    def fail(cluster: Cluster) -> None:
        cluster.problem = "no leader\x1b[2J"
        cluster.commit()

    out = Terminal(width=120)
    run(cluster_with_news(fail).source(), f"watch -n 0.1 ls {TOPICS}", out)
    assert out.screens[-1][1].endswith("0 changes · no leader\\x1b[2J")


@pytest.mark.parametrize("variable", ["dumb", "unknown"])
def test_a_terminal_that_can_only_print(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gets what a pipe gets."""
    monkeypatch.setenv("TERM", variable)
    out = Terminal()
    cluster = cluster_with_news(lambda c: c.commit(topic_batch(2)))
    ran = run(cluster.source(), f"watch -n 0.1 ls -1 {TOPICS}", out)
    assert ([], "t0\nt1\n") == (out.screens, ran.out[:6])


# Comparing.

LINES = st.lists(st.sampled_from(["a", "b", "a b", "c d e", ""]), max_size=12)


@given(LINES, LINES)
def test_the_difference_leads_from_one_to_the_other(old: list[str], new: list[str]) -> None:
    """The marked lines are the new ones, and as many were added and removed as is said."""
    lines, counts = marked(old, new)
    assert new == ["".join(text for text, _ in line.pieces) for line in lines]
    assert len(new) - len(old) == counts.new - counts.gone
    changed = list(differences(old, new))
    gone, came = (Counter(line[1:] for line in changed if line[0] == sign) for sign in "-+")
    assert Counter(old) + came == Counter(new) + gone
    assert (old == new) == (not changed)


def test_words_of_a_line() -> None:
    """Only what is new in it is marked."""
    (line,), counts = marked(["isr=[1, 2], leader=1"], ["isr=[1, 2], leader=2"])
    assert (("isr=[1, 2], leader=", False), ("2", True)) == line.pieces
    assert "~1" == str(counts)


@pytest.mark.long
def test_large_outputs_are_compared_in_bounded_time() -> None:
    """What is too much is taken as replaced."""
    old, new = [f"a{i}" for i in range(100_000)], [f"b{i}" for i in range(100_000)]
    _, counts = marked(old, new)
    assert "~100000" == str(counts)


def test_completion() -> None:
    """Own options, commands that can be watched, and then theirs."""
    source = Cluster(topic_batch(0)).source()
    context = Context(root=source.root, out=Captured(), warn=lambda _: None, source=source)
    command = get("watch")
    assert command is not None

    def proposed(*args: str) -> list[str]:
        return [c.text for c in command.complete(context, args[:-1], args[-1])]

    assert ["--count"] == proposed("--c")
    assert "ls" in proposed("-n", "2", "l")
    assert [] == proposed("wat")
    assert ["-1"] == proposed("ls", "-1")
    assert ["topics/"] == proposed("ls", "/image/top")
