"""Whether a Textual program is at rest: what tests wait for in place of an idle processor.

Textual's own pilot waits until the processor has nothing to do for some milliseconds, which takes
long, and is not enough on a machine under load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.timer import Timer

_SHORT_S: Final = 0.5
"""Timers that ring once and within this are part of what a key does; messages go away later."""

_STEPS: Final = 200
"""Turns of the loop in which a message is handled."""


async def drain(pilot: Pilot[Any], most_rounds: int = 8) -> None:
    """Have every message handled, and what follows from it, and everything drawn.

    What goes on by itself, such as a playing timeline, is not waited for.
    """
    app: Any = pilot.app
    n_quiet = 0
    for _ in range(most_rounds):
        has_ended: bool = not app._running or app._exit
        if n_quiet > 1 or has_ended:
            return
        await _handled(app)
        await app._animator.wait_until_complete()
        screen = app.screen
        is_drawn = not (
            screen._layout_required
            or screen._repaint_required
            or screen._dirty_widgets
            or screen._callbacks
        )
        if not is_drawn:
            screen._on_timer_update()
        n_quiet = n_quiet + 1 if is_drawn and not _has_messages(app) else 0


async def _handled(app: App[Any]) -> None:
    """Have the messages that are there handled: every widget waits for the next one."""
    for step in range(_STEPS):
        # What was called from a thread comes before what waits here.
        await asyncio.sleep(0 if step < _STEPS // 2 else 0.002)
        if step and not _is_typed_at(app) and all(map(_rests, _pumps(app))):
            return


def _is_typed_at(app: App[Any]) -> bool:
    typed = getattr(app, "type_ahead", None)
    return typed is not None and app.is_open and not typed.is_at_rest


def _has_messages(app: App[Any]) -> bool:
    return _is_typed_at(app) or any(map(_is_told, _pumps(app)))


def _is_told(pump: MessagePump) -> bool:
    return bool(pump._message_queue.qsize() or pump._next_callbacks)


def _rests(pump: MessagePump) -> bool:
    return not _is_told(pump) and _waits(pump)


def _waits(pump: MessagePump) -> bool:
    """Whether it handles no message now."""
    has_some = pump._message_queue.ready_event
    return not pump._running or (not has_some.is_set() and len(has_some._waiters) > 0)


def rings_soon(app: App[Any]) -> bool:
    """Whether something was put off for a moment, until the user rests."""
    return any(_rings_soon(timer) for pump in _pumps(app) for timer in pump._timers)


def _rings_soon(timer: Timer) -> bool:
    is_running = timer._task is not None and not timer._task.done()
    return is_running and timer._repeat == 0 and timer._interval <= _SHORT_S


def _pumps(app: App[Any]) -> Iterator[MessagePump]:
    yield app
    for screen in app.screen_stack:
        yield from screen.walk_children(with_self=True)


@contextmanager
def resting(pilot: Pilot[Any]) -> Iterator[None]:
    """Have the pilot wait for this, too."""

    async def wait_for_idle(_min_s: float = 0, _max_s: float = 0) -> None:
        await drain(pilot)

    with (
        patch("textual.app.wait_for_idle", wait_for_idle),
        patch("textual.pilot.wait_for_idle", wait_for_idle),
    ):
        yield
