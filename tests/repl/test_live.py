"""The shell on a quorum that is followed: commands see the newest state, the toolbar says where."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.formatted_text import fragment_list_to_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.commands.framework.command import Context
from metashell.commands.shared.session_place import follow
from metashell.commands.shared.status import (
    SourceStatus,
    format_age,
    items,
    status_of,
    with_live_facts,
)
from metashell.errors import SourceError
from metashell.repl import ShellSession, appearance
from metashell.repl.shell import Shell
from support.live import Cluster
from support.logs import topic_batch
from support.shell import Captured
from support.waiting import wait_until

TOPICS = "/image/topics/byName"
Captures = pytest.CaptureFixture[str]


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[Cluster], Shell]:
    """A way to make shells on a cluster."""

    def make(cluster: Cluster) -> Shell:
        source = cluster.source()
        session = ShellSession(
            root=source.root,
            source_name="live",
            status=lambda: status_of(source),
            opened=source,
        )
        with create_pipe_input() as pipe:
            return Shell(
                session,
                history_path=tmp_path / "history",
                terminal_input=pipe,
                terminal_output=DummyOutput(),
            )

    return make


def test_each_command_sees_the_newest_state(
    shell: Callable[[Cluster], Shell], capfd: Captures
) -> None:
    """Without being asked to."""
    cluster = Cluster(topic_batch(0))
    on = shell(cluster)
    on.run_line(f"ls {TOPICS}")
    cluster.commit(topic_batch(1))
    on.run_line(f"ls {TOPICS}")
    assert "t0\nt0\nt1\n" == capfd.readouterr().out


def test_what_became_of_the_log_is_told_once(
    shell: Callable[[Cluster], Shell], capfd: Captures
) -> None:
    """Before the next command; what was known when the shell began has been told."""
    cluster = Cluster(topic_batch(0))
    cluster.notes = ("known already",)
    on = shell(cluster)
    on.run_line("pwd")
    cluster.notes = ("known already", "all of it is fetched again")
    on.run_line("pwd")
    on.run_line("pwd")
    assert "metashell: warning: all of it is fetched again\n" == capfd.readouterr().err


def test_an_earlier_state_stays(shell: Callable[[Cluster], Shell], capfd: Captures) -> None:
    """Until `at end`, which follows again."""
    cluster = Cluster(topic_batch(0), topic_batch(1))
    on = shell(cluster)
    on.run_line("at 0")
    cluster.commit(topic_batch(2))
    on.run_line(f"ls {TOPICS}")
    on.run_line("at end")
    on.run_line(f"ls {TOPICS}")
    cluster.commit(topic_batch(3))
    on.run_line(f"ls {TOPICS}")
    out, err = capfd.readouterr()
    lines = [line for line in out.splitlines() if not line.startswith("offset")]
    assert ["t0", *("t0", "t1", "t2"), *("t0", "t1", "t2", "t3")] == lines
    assert "offset 2" in out
    assert "" == err


def test_the_directory_stays_one_that_is_there() -> None:
    """Where it is gone, the nearest above it is taken, which is told."""
    before, after = Cluster(topic_batch(0, 2)), Cluster(topic_batch(0))
    source, warnings = before.source(), list[str]()
    source.live = after
    context = Context(
        root=source.root, out=Captured(), warn=warnings.append, cwd=f"{TOPICS}/t1", source=source
    )
    follow(context)
    assert TOPICS == context.cwd
    assert context.source is after.source()
    assert [f"metashell: {TOPICS}/t1 is not there any more: now in {TOPICS}"] == warnings


def test_a_state_that_cant_be_taken(
    shell: Callable[[Cluster], Shell], capfd: Captures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, and the command works on what there is."""
    cluster = Cluster(topic_batch(0))
    on = shell(cluster)

    def fail() -> None:
        raise SourceError("no memory")

    monkeypatch.setattr(cluster, "source", fail)
    on.run_line(f"ls {TOPICS}")
    assert ("t0\n", "metashell: no memory\n") == capfd.readouterr()


def test_items_of_a_live_source() -> None:
    """Leader, epoch, offset, lag, age; the problem is a remark."""
    cluster = Cluster(topic_batch(0, 3))
    cluster.problem = "connection refused"
    status = with_live_facts(SourceStatus(metadata_version="4.4-IV2"), cluster.source())
    assert [
        ("fact", "leader 1"),
        ("fact", "epoch 5"),
        ("fact", "offset 2"),
        ("fact", "lag 0"),
        ("fact", "0.4 s ago"),
        ("fact", "4.4-IV2"),
        ("note", "connection refused"),
    ] == items(status)


def test_a_leader_that_does_not_answer() -> None:
    """It may lead no more: it is told as the last one."""
    cluster = Cluster(topic_batch(0, 3))
    cluster.is_connected = False
    found = items(with_live_facts(SourceStatus(), cluster.source()))
    assert ("fact", "no leader known, 1 was the last") == found[0]


def test_unknown_facts() -> None:
    """Nothing is made up."""
    cluster = Cluster()
    cluster.leader = cluster.last_word_s = None
    found = items(with_live_facts(SourceStatus(), cluster.source()))
    assert [("fact", "no leader"), ("fact", "epoch 5"), ("fact", "lag 0")] == found[:3]
    assert ("fact", "no answer yet") == found[3]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-0.5, "0.0 s ago"),
        (0.04, "0.0 s ago"),
        (9.94, "9.9 s ago"),
        (59.6, "60 s ago"),
        (200.0, "3 min ago"),
    ],
)
def test_format_age(seconds: float, text: str) -> None:
    """Coarser as it gets older."""
    assert text == format_age(seconds)


def test_toolbar_is_brought_up_to_date_each_time(shell: Callable[[Cluster], Shell]) -> None:
    """What the quorum says is asked anew; nothing is decoded for that, and no thread begun."""
    cluster = Cluster(topic_batch(0))
    on = shell(cluster)
    assert "leader 1 · epoch 5 · offset 0" in fragment_list_to_text(on._toolbar())
    on._watcher.refresh()
    wait_until(lambda: on._watcher.latest is not None, "the status is known")
    n_threads = threading.active_count()
    for age in (0.5, 1.5):
        cluster.last_word_s = age
        text = fragment_list_to_text(on._toolbar())
        assert f"offset 0 · lag 0 · {age} s ago" in text
    assert threading.active_count() <= n_threads


def test_toolbar_of_an_earlier_state(shell: Callable[[Cluster], Shell]) -> None:
    """It says where `at` went, not where the quorum is."""
    source = Cluster(topic_batch(0), topic_batch(1)).source().at(0)
    text = fragment_list_to_text(appearance.toolbar(status_of(source), show_secrets=False))
    assert text.startswith(" offset 0 · epoch 1 · ")
    assert text.endswith("at offset 0")


def test_only_a_live_toolbar_is_drawn_each_second(
    shell: Callable[[Cluster], Shell], tmp_path: Path
) -> None:
    """Nothing else has an age."""
    live = shell(Cluster(topic_batch(0)))
    assert live._prompt is not None
    assert live._prompt.refresh_interval
    source = Cluster(topic_batch(0)).source()
    session = ShellSession(root=source.root, source_name="x", status=SourceStatus)
    with create_pipe_input() as pipe:
        still = Shell(
            session,
            history_path=tmp_path / "h",
            terminal_input=pipe,
            terminal_output=DummyOutput(),
        )
    assert still._prompt is not None
    assert not still._prompt.refresh_interval
