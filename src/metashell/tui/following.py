"""Following the source: a job that waits for news, and whether they are shown."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.log.uri import is_uri
from metashell.tui.jobs import Job

if TYPE_CHECKING:
    from metashell.source import Source
    from metashell.tui.app import Explorer

_SLICE_S: Final = 0.25
_DIRECTORY_S: Final = 2.0
"""How often a directory is looked at."""
_STORE_S: Final = 30.0
"""How often one in a store is, where each look is a request that costs."""
_LEAST_S: Final = 0.3
"""Between two states that are shown."""
_REST: Final = 2.0
"""After each state that took t seconds to make, that many times t is rested."""


class Following:
    """What is new in the source.

    Args:
        app: Is told.
    """

    def __init__(self, app: Explorer) -> None:
        self._app = app
        self.is_paused = False
        """Whether news wait until the user wants them."""
        self.problem: str | None = None
        """Why the newest state can't be had at the moment."""
        self.shown_offset: int | None = None
        """The last offset that is shown; None where it is not known."""
        self.n_newer_states = 0
        """How many states came that were not shown."""
        self._waiting: tuple[Source, int | None] | None = None
        """The newest of them, and its last offset."""

    @property
    def is_following(self) -> bool:
        """Whether the source is one that may have news."""
        scene = self._app.scene
        if scene is None or scene.fleet is not None:
            return False
        return scene.source.live is not None or not scene.source.log.is_file

    @property
    def has_news(self) -> bool:
        """Whether something newer than what is shown waits."""
        return self._waiting is not None

    @property
    def n_newer_records(self) -> int:
        """How many records lie between what is shown and the newest state; 0 where unknown."""
        newest = None if self._waiting is None else self._waiting[1]
        if newest is None or self.shown_offset is None:
            return 0
        return max(newest - self.shown_offset, 0)

    def begin(self) -> None:
        """Watch the source, where it can have news."""
        scene = self._app.scene
        if scene is None or not self.is_following:
            return
        newest = scene.source.newest

        def work(job: Job) -> None:
            _watch(job, newest, self)

        self._app.jobs.start("", work, lambda _: None, owner=self._app, key="following")

    def toggle(self) -> None:
        """Pause, or show what came meanwhile and go on."""
        if not self.is_following:
            self._app.tell("this source does not change")
            return
        self.is_paused = not self.is_paused
        self._app.tell("paused: `p` goes on" if self.is_paused else "following")
        self._deliver()
        self._refresh()

    def came(self, source: Source, offset: int | None = None) -> None:
        """Take a newer state and its last offset; called in the thread that draws."""
        self.problem = None
        self._waiting = (source, offset)
        self.n_newer_states += 1
        self._deliver()
        self._refresh()

    def failed(self, problem: str | None) -> None:
        """Take why none can be had, None once it can; called in the thread that draws."""
        self.problem = problem
        self._refresh()

    def _deliver(self) -> None:
        if self._waiting is None or self.is_paused or self._app.scene is None:
            return
        source, offset = self._waiting
        self._waiting, self.n_newer_states = None, 0
        shown = self.shown_offset
        # While it was paused the user may have gone to the end, which is newer by now.
        is_newer = shown is None or offset is None or offset > shown
        if is_newer or not self._app.scene.is_newest:
            self._app.news(source)

    def _refresh(self) -> None:
        from metashell.tui.frame.status import StatusLine

        for status in self._app.query(StatusLine):
            status.refresh()


def _watch(job: Job, source: Source, following: Following) -> None:
    """Wait for news until nobody wants any."""
    live, generation, problem = source.live, -1, None
    while not job.cancelled():
        if live is None:
            _rest(job, _STORE_S if is_uri(source.path) else _DIRECTORY_S)
        else:
            _wait(job, source, generation)
            # Before the state is made: what comes while it is counts as new.
            generation = live.generation
        began = time.monotonic()
        try:
            newest = source.refreshed()
            offset = None if newest is source else newest.status().offset
        except MetashellError as error:
            if error.message != problem:
                problem = error.message
                job.tell(following.failed, problem)
            _rest(job, _LEAST_S)
            continue
        if problem is not None:
            problem = None
            job.tell(following.failed, None)
        if newest is not source:
            source = newest
            job.tell(following.came, source, offset)
            _rest(job, max(_LEAST_S, _REST * (time.monotonic() - began)))


def _wait(job: Job, source: Source, generation: int) -> None:
    """Wait until a quorum has more than a generation."""
    live = source.live
    while live is not None and not job.cancelled():
        began = time.monotonic()
        if live.wait(generation, _SLICE_S):
            return
        # Where the following is over nothing waits any more.
        _rest(job, began + _SLICE_S - time.monotonic())


def _rest(job: Job, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not job.cancelled() and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE_S))
