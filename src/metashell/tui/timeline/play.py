"""Playing the log like a recording: from change to change, as fast as the program follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from metashell.tui.timeline.timeline import Timeline
    from metashell.tui.timeline.track import Track

_TICKS_A_SECOND: Final = 4.0
_WHOLE_LOG_S: Final = 45.0
"""Seconds for playing a long log."""
_SLOWEST, _FASTEST = 0.25, 1e6


class Player:
    """Plays the log: moves a timeline on without keys.

    Args:
        timeline: The timeline to move.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._timer: Timer | None = None
        self._rate = _TICKS_A_SECOND
        self._left: int | None = None
        self._focus_before: Widget | None = None

    @property
    def is_playing(self) -> bool:
        """Whether it moves."""
        return self._timer is not None

    @property
    def rate(self) -> float:
        """Changes of the state that are passed in a second."""
        return self._rate

    @property
    def state(self) -> str:
        """``▶ 4/s``; empty while it does not play."""
        return f"▶ {self._rate:g}/s" if self.is_playing else ""

    def start(self, track: Track) -> None:
        """Play to the end of the log, from its beginning where it stands at the end."""
        timeline = self._timeline
        self._left = None
        if timeline.at >= track.high:
            timeline.aim(track.low, at_once=True)
        self._rate = playing_rate(track.stops_after(timeline.at))
        self._focus_before = timeline.screen.focused
        timeline.focus()
        self._begin()

    def stop(self) -> None:
        """Stay where it is."""
        if self._timer is None:
            return
        self._timer.stop()
        self._timer = None
        timeline, before = self._timeline, self._focus_before
        self._focus_before = None
        if before is not None and before.is_attached and timeline.has_focus:
            before.focus()
        timeline.refresh()

    def change_speed(self, factor: float) -> None:
        """Play so many times as fast."""
        self._rate = min(max(self._rate * factor, _SLOWEST), _FASTEST)
        if self._timer is not None:
            self._begin()
        self._timeline.refresh()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        ticks = min(self._rate, _TICKS_A_SECOND)
        self._timer = self._timeline.set_interval(1 / ticks, self.tick)

    def tick(self) -> None:
        """Move on, unless the view state before is still on its way."""
        timeline = self._timeline
        track = timeline.track
        if not self.is_playing or timeline.is_travelling:
            return
        if track is None:
            self.stop()
            return
        at = timeline.shown
        # One that could not be left, or was cancelled, will not be left now.
        if at == self._left or at >= track.high:
            self.stop()
            return
        following = track.step(at, max(round(self._rate / _TICKS_A_SECOND), 1))
        if following is None:
            self.stop()
            return
        self._left = at
        timeline.aim(following, at_once=True)


def playing_rate(n_stops: int) -> float:
    """Changes a second at which so many of them take a while, but not too long."""
    rate = _TICKS_A_SECOND
    while n_stops / rate > _WHOLE_LOG_S:
        rate *= 2
    return rate
