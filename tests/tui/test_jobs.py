"""Jobs: who goes first, and how they are shown."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from unittest.mock import Mock

import pytest
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from metashell.kernel import threads
from metashell.tui import jobs as jobs_module
from metashell.tui.frame.status import StatusLine
from metashell.tui.jobs import OPENING, Job, Jobs, Told
from support.pilot import Driver, drive
from support.waiting import LIMIT_S

_LEAST = 19
"""Of the priorities that a thread can have."""


async def wait_for(what: Awaitable[object]) -> None:
    """Wait for it, as a task of its own."""
    await what


def niceness(_job: Job) -> int:
    """That of the thread."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="threads have one priority")
def test_the_thread_that_draws_goes_first() -> None:
    """A job gives way; the thread that draws stays as it was."""
    before = os.getpriority(os.PRIO_PROCESS, 0)

    async def test(driver: Driver) -> None:
        found: list[int] = []
        driver.app.jobs.start("", niceness, found.append, owner=driver.app, key="test")
        await driver.until(lambda: found, "the job ended")
        assert found[0] > before or before == _LEAST
        assert before == os.getpriority(os.PRIO_PROCESS, 0)

    drive(test)


def test_a_job_leaves_a_cpu_to_the_thread_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a job decodes takes one thread less than there are CPUs; opening takes all."""
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(threads, "_n_cpus", lambda: 4)

    async def test(driver: Driver) -> None:
        for key, expected in (("test", 3), (OPENING, 4)):
            found: list[int] = []
            driver.app.jobs.start(
                "", lambda _job: threads.count(), found.append, owner=driver.app, key=key
            )
            await driver.until(lambda found=found: found, "the job ended")
            assert found == [expected]

    drive(test)


def test_a_job_that_comes_last_begins_behind_the_others() -> None:
    """It begins once no other with a title goes on; nothing is left of one that was cancelled."""

    async def test(driver: Driver) -> None:
        jobs, app, done = driver.app.jobs, driver.app, list[str]()
        go_on = threading.Event()
        jobs.start("one", lambda _: go_on.wait(), lambda _: done.append("one"), owner=app, key="1")

        def begin(title: str) -> Job:
            return jobs.start(
                title,
                lambda _: None,
                lambda _: done.append(title),
                owner=app,
                key=title,
                comes_last=True,
            )

        last, dropped = begin("last"), begin("dropped")
        assert last.waits
        dropped.cancel()
        go_on.set()
        await driver.until(lambda: "last" in done, "the last job ended")
        await driver.settled()
        assert ["one", "last"] == done
        assert not last.waits

    drive(test)


@pytest.mark.parametrize("limit_s", [LIMIT_S, 0.0])
def test_a_job_lets_those_pass_that_keys_wait_for(
    monkeypatch: pytest.MonkeyPatch, limit_s: float
) -> None:
    """It begins behind them, or after a moment; one that keys wait for begins at once."""
    monkeypatch.setattr(jobs_module, "_PASS_S", limit_s)

    async def test(driver: Driver) -> None:
        app, goes_on, order = driver.app, threading.Event(), list[str]()

        def lead(_job: Job) -> None:
            order.append("leads")
            goes_on.wait(LIMIT_S)
            order.append("led")

        def note(text: str) -> Callable[[Job], None]:
            return lambda _job: order.append(text)

        start = partial(app.jobs.start, "test", done=lambda _: None, owner=app)
        start(work=lead, key="first", leads=True)
        start(work=note("behind"), key="second")
        start(work=note("leads too"), key="third", leads=True)
        n_before = 2 if limit_s else 3
        await driver.until(lambda: len(order) >= n_before, "jobs begin")
        assert ("behind" in order) is not bool(limit_s)
        goes_on.set()
        await driver.until(lambda: len(order) == 4, "all ended")
        assert not limit_s or order.index("led") < order.index("behind")

    drive(test)


def test_a_job_in_the_place_of_another_begins_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that take each other's place, those in between never begin."""
    monkeypatch.setattr(jobs_module, "_PASS_S", LIMIT_S)

    async def test(driver: Driver) -> None:
        app, goes_on, order = driver.app, threading.Event(), list[str]()

        def work(text: str) -> Callable[[Job], None]:
            def run(_job: Job) -> None:
                order.append(text)
                goes_on.wait(LIMIT_S)

            return run

        start = partial(app.jobs.start, "test", done=lambda _: None, owner=app, key="test")
        start(work=work("first"))
        await driver.until(lambda: order, "the first begins")
        between = [start(work=work(text)) for text in ("second", "third")]
        start(work=work("last"))
        await driver.until(
            lambda: not any(job in app.jobs._running for job in between), "they ended"
        )
        assert order == ["first"]
        goes_on.set()
        await driver.until(lambda: len(order) == 2, "the last begins")
        assert order == ["first", "last"]

    drive(test)


def test_a_turning_sign_below_another_screen_turns_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change below another screen has the whole of it drawn again."""
    drawn: list[StatusLine] = []

    def count(line: StatusLine) -> None:
        drawn.append(line)

    async def test(driver: Driver) -> None:
        line = driver.one(StatusLine)

        def turn() -> int:
            drawn.clear()
            for _ in range(20):
                line._spin()
            return len(drawn)

        assert turn() == 20
        await driver.press("g")
        await driver.settled()
        assert turn() == 2

    monkeypatch.setattr(StatusLine, "draw", count)
    drive(test)


class Inner(Static):
    """A child that stays for a while when it is removed."""

    async def on_unmount(self) -> None:
        """Wait until the test lets it go."""
        assert isinstance(self.parent, Outer)
        while not self.parent.lets_go:
            await asyncio.sleep(0.001)


class Outer(Vertical):
    """The owner of jobs."""

    lets_go = False

    def compose(self) -> ComposeResult:
        """Two children: one goes at once when the owner is removed, one later."""
        yield Static(id="first")
        yield Inner(id="inner")


def test_an_answer_waits_for_its_widget() -> None:
    """An answer that comes before its widget is composed is shown once it is."""

    async def test(driver: Driver) -> None:
        jobs, outer, found = driver.app.jobs, Outer(), list[object]()
        go_on = threading.Event()
        job = jobs.start(
            "test", lambda _: go_on.wait(LIMIT_S), lambda _: found.append("done"), owner=outer
        )
        driver.app.screen.mount(outer)
        try:
            jobs.carry_out(Told(job, lambda: found.append(outer.query_one("#first"))))
            assert found == []
            await driver.until(lambda: found, "it is shown")
            assert found == [outer.query_one("#first")]
            go_on.set()
            await driver.until(lambda: found[1:] == ["done"], "its end is shown")
        finally:
            outer.lets_go = True

    drive(test)


@pytest.mark.parametrize("what", ["owner", "around it", "everything"])
def test_no_answer_for_what_is_taken_down(what: str) -> None:
    """An answer is dropped from when the children of its widget begin to go; the job has ended."""

    async def test(driver: Driver) -> None:
        app, outer, found = driver.app, Outer(), list[object]()
        around = Vertical(outer)
        await app.screen.mount(around)
        go_on = threading.Event()
        job = app.jobs.start(
            "test", lambda _: go_on.wait(LIMIT_S), lambda _: found.append("done"), owner=outer
        )
        removed = {"owner": outer.remove, "around it": around.remove, "everything": app._shutdown}
        going = asyncio.ensure_future(wait_for(removed[what]()))
        try:
            await driver.until(lambda: not outer.query("#first"), "the first child is gone")
            assert outer.is_attached
            app.jobs.carry_out(Told(job, lambda: found.append("told")))
            app.jobs.carry_out(Told(job, lambda: found.append("end"), is_end=True))
            assert found == []
            assert not app.jobs.goes_on(job)
        finally:
            go_on.set()
            outer.lets_go = True
            await going

    drive(test)


@pytest.mark.parametrize("runs", [True, False])
def test_a_message_behind_the_end_of_the_program(runs: bool) -> None:
    """It is dropped with the loop; while the program runs a failure is no secret."""
    app = Mock(is_running=runs)
    app.post_message.side_effect = RuntimeError("Event loop is closed")
    jobs = Jobs(app, Mock(), Mock())
    with pytest.raises(RuntimeError) if runs else nullcontext():
        jobs._post(Mock())
