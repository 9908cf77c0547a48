"""How long a quorum is waited for, on a clock that is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from metashell.errors import SourceError
from metashell.log.live import LiveLog
from metashell.read_settings import ReadSettings
from metashell.sources import live
from metashell.sources.live import LiveQuorum


class Clock:
    """In place of the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """Told."""
        return self.now


class Hanging:
    """A follower whose thread hangs in a system call, and its observer."""

    def __init__(self, clock: Clock, ends: Callable[[float], float | None]) -> None:
        self._clock, self._ends = clock, ends
        self.observer = self.facts = self
        self.is_over = self.is_ready = False
        self.error = self.snapshot_progress = None

    @property
    def gives_up_at(self) -> float | None:
        """When its patience ends."""
        return self._ends(self._clock.now)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Let the time pass."""
        self._clock.now += timeout_s
        assert self._clock.now < 1000, "it waits for ever"
        return condition()


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (lambda _: None, 108.0),  # it has not even begun
        (lambda _: 108.0, 108.0),
        (lambda now: 108.0 if now < 104 else 112.0, 112.0),  # something came
        (lambda now: math.inf if now < 150 else 108.0, 150.0),  # a large answer comes
    ],
)
def test_a_thread_that_hangs(
    ends: Callable[[float], float | None], expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it hangs in is not waited for any longer than `--timeout` and half a second."""
    clock = Clock()
    monkeypatch.setattr(live, "time", clock)
    follower: Any = Hanging(clock, ends)
    quorum = LiveQuorum(follower, LiveLog(), "h:9093", ReadSettings(), None)
    with pytest.raises(SourceError, match=r"^h:9093: no answer within 8 s$"):
        quorum.wait_until_ready(8.0, None)
    assert expected <= clock.now <= expected + 0.5
