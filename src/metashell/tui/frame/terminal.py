"""Takes the terminal again after a stop by force, and ends the program if the terminal is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from textual.app import App

_LOOK_S: Final = 1.0
"""How often it is looked whether the terminal is still there."""


def keep_terminal(app: App[Any]) -> None:
    """Watch the terminal that a program draws on, from now on."""
    app.set_interval(_LOOK_S, lambda: _look_for_terminal(app))
    if threading.current_thread() is threading.main_thread():
        _come_back(app)


def _look_for_terminal(app: App[Any]) -> None:
    """End the program if its terminal is gone, and let what is still drawn vanish."""
    if os.isatty(0):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    app.exit(return_code=128 + signal.SIGHUP)


def _come_back(app: App[Any]) -> None:
    """Begin anew on the terminal after SIGSTOP, which says nothing before it stops the program.

    Textual begins anew by itself where it left the terminal before.
    """
    loop, resume = asyncio.get_running_loop(), signal.getsignal(signal.SIGCONT)
    is_away = False

    def leave(has_left: bool) -> None:
        nonlocal is_away
        is_away = has_left

    def begin_anew() -> None:
        with app.suspend():
            pass

    def goes_on(number: int, frame: Any) -> None:
        if not is_away:
            loop.call_soon_threadsafe(begin_anew)
        elif callable(resume):
            resume(number, frame)

    app.app_suspend_signal.subscribe(app, lambda _: leave(True), immediate=True)
    app.app_resume_signal.subscribe(app, lambda _: leave(False), immediate=True)
    signal.signal(signal.SIGCONT, goes_on)
