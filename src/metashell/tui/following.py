"""Following the source: a job that waits for news, and whether they are shown."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.status import stored_status
from metashell.errors import MetashellError
from metashell.places.uri import is_uri
from metashell.tui.frame.status import StatusLine
from metashell.tui.jobs import Job
from metashell.tui.text import error_message

if TYPE_CHECKING:
    from metashell.commands.shared.status import SourceStatus
    from metashell.sources.live import LiveQuorum
    from metashell.sources.source import Source
    from metashell.tui.app import Explorer

_ASLEEP_S: Final = 30.0
"""How long a quorum is waited for at once."""
_DIRECTORY_S: Final = 2.0
"""How often a directory is looked at."""
_STORE_S: Final = 30.0
"""How often one in a store is, where each look is a request that costs."""
_LEAST_S: Final = 0.3
"""Seconds between two states that are shown, at least."""
_UNTOLD_S: Final = 60.0
"""Seconds until a state that adds only NoOps is shown: views and the timeline tell its offset."""
_UNTOLD_REST: Final = 500.0
"""Where showing it took t seconds, that many times t pass before it is again: while nothing happens
a large cluster must not cost more than a small one."""
_UNTOLD_MOST_S: Final = 3600.0
_REST: Final = 2.0
"""After each state that took t seconds to make, that many times t is rested."""


class Following:
    """Watches the source for news.

    Args:
        app: The program that shows the news.
    """

    def __init__(self, app: Explorer) -> None:
        self._app = app
        self.is_paused = False
        """Whether news wait until the user wants them."""
        self.problem: str | None = None
        """Why the newest state can't be had at the moment."""
        self.shown_offset: int | None = None
        """The last offset that is shown; None where it is not known."""
        self.shown_at: float | None = None
        """When news were shown last, as of `time.monotonic`."""
        self.n_newer_states = 0
        """How many states came that were not shown."""
        self._spent_s = 0.0
        """How long jobs had taken by then, as of `Jobs.spent_s`."""
        self._waiting: tuple[Source, int | None] | None = None
        """The newest of them, and its last offset."""

    @property
    def is_following(self) -> bool:
        """Whether the source is one that may have news."""
        view_state = self._app.view_state
        source = None if view_state is None else view_state.source
        return source is not None and (source.capabilities.follows or not source.log.is_file)

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
        view_state = self._app.view_state
        source = None if view_state is None else view_state.source
        if source is None or not self.is_following:
            return
        newest = source.newest

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

    def came(
        self, source: Source, offset: int | None = None, silent: SourceStatus | None = None
    ) -> None:
        """Take a newer state and its last offset; called in the thread that draws.

        Args:
            source: The state.
            offset: Its last offset, where that is known.
            silent: Where it stands, if all that came with it says nothing: NoOps.
        """
        if silent is not None and self._passes_by(source, silent):
            return
        self.problem = None
        self._waiting = (source, offset)
        self.n_newer_states += 1
        self._deliver()
        self._refresh()

    def _passes_by(self, source: Source, status: SourceStatus) -> bool:
        """Take a state that shows what is shown already, but for where it ends."""
        view = self._app.view
        if self.is_paused or self.has_news or (view is not None and view.shows_noops):
            return False
        cost = _UNTOLD_REST * (self._app.jobs.spent_s - self._spent_s)
        limit = max(min(cost, _UNTOLD_MOST_S), _UNTOLD_S)
        if self.shown_at is None or time.monotonic() - self.shown_at >= limit:
            return False
        return self._app.pass_by(source, status)

    def failed(self, problem: str | None) -> None:
        """Take why none can be had, None once it can; called in the thread that draws."""
        self.problem = problem
        self._refresh()

    def _deliver(self) -> None:
        if self._waiting is None or self.is_paused or self._app.view_state is None:
            return
        source, offset = self._waiting
        self._waiting, self.n_newer_states = None, 0
        shown = self.shown_offset
        # While it was paused the user may have gone to the end, which is newer by now. The log of a
        # directory may also have become shorter, and its torn tail may be gone.
        is_newer = source.live is None or shown is None or offset is None or offset > shown
        if is_newer or not self._app.view_state.is_newest:
            self.shown_at, self._spent_s = time.monotonic(), self._app.jobs.spent_s
            self._app.news(source)
            if source.truncation is not None:
                self._app.tell(str(source.truncation))

    def _refresh(self) -> None:
        for status in self._app.query(StatusLine):
            status.draw()


def _watch(job: Job, source: Source, following: Following) -> None:
    """Wait for news until nobody wants any."""
    live, generation, problem = source.live, -1, None
    status: SourceStatus | None = None
    while not job.cancelled():
        if live is None:
            job.rest(_STORE_S if is_uri(source.path) else _DIRECTORY_S)
        else:
            _wait(job, live, generation)
            # Before the state is made: what comes while it is counts as new.
            generation = live.generation
        began = time.monotonic()
        try:
            status = status or stored_status(source)
            newest = source.refreshed()
            is_silent = newest is not source and _says_nothing(source, newest)
            if is_silent and _is_cheap_later(newest):
                status = _moved_on(status, newest)
            elif newest is not source:
                status = stored_status(newest)
        except MetashellError as error:
            if error_message(error) != problem:
                problem = error_message(error)
                job.tell(following.failed, problem)
            job.rest(_LEAST_S)
            continue
        if problem is not None:
            problem = None
            job.tell(following.failed, None)
        if newest is not source:
            source = newest
            job.tell(following.came, source, status.offset, status if is_silent else None)
            job.rest(max(_LEAST_S, _REST * (time.monotonic() - began)))


def _says_nothing(before: Source, after: Source) -> bool:
    """Whether a log only grew, and by nothing but NoOps."""
    from metashell.records.noops import only_noops_came

    decoded = before.decoded
    if decoded is None or decoded.image.records.open_transaction is not None:
        return False
    return only_noops_came(before.log, after.log, after.registry)


def _is_cheap_later(source: Source) -> bool:
    """Whether a state may be decoded when somebody asks, as only what came is to be decoded."""
    return source.live is not None and not source.settings.strict


def _moved_on(status: SourceStatus, source: Source) -> SourceStatus:
    """Where a log stands that only grew by NoOps: nothing of it is decoded."""
    last = source.log.loaded.files[-1].chain
    time_ms = last.last_timestamp_ms
    return replace(
        status,
        offset=last.last_offset,
        epoch=last.last_epoch,
        timestamp_ms=time_ms if time_ms >= 0 else None,
    )


def _wait(job: Job, live: LiveQuorum, generation: int) -> None:
    """Wait until a quorum has more than a generation; whoever ends that wakes this as well."""
    while not job.cancelled():
        began = time.monotonic()
        if live.wait(generation, _ASLEEP_S):
            return
        # Where the following is over nothing waits any more.
        job.rest(began + _ASLEEP_S - time.monotonic())
