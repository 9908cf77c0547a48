"""Takes the terminal again after a stop by force, and ends the program if the terminal is gone."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from metashell.tui.part import AppPart

if TYPE_CHECKING:
    from textual.app import App


class MainScreen(AppPart, Screen[None]):
    """The screen below all others."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual's attribute without the repaint: widgets draw themselves when their focus changes."""

    def minimize(self) -> None:
        """Restore the size of a part; nothing scrolls if no part has the whole screen."""
        if self.maximized is not None:
            super().minimize()

    def on_screen_suspend(self) -> None:
        """Have a message go with what it is about: something is asked above it now."""
        self.explorer.end_messages()

    def watch_maximized(self, before: Widget | None) -> None:
        """Have the key bar say how to get back."""
        self.refresh_bindings()


class _Terminal(io.FileIO):
    """The terminal as a file, whose writes are lost once the terminal is gone."""

    def write(self, data: Any, /) -> int:
        """Write as a file does, and do nothing where there is no terminal any more."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return memoryview(data).nbytes


@contextmanager
def terminal_may_go() -> Iterator[None]:
    """Let Textual write to a terminal that can go away.

    Textual writes in a thread. An error would end this thread, and the program would then wait
    for it and never end.
    """
    before = sys.__stderr__
    if before is None:
        yield
        return
    terminal = io.BufferedWriter(_Terminal(before.fileno(), "wb", closefd=False))
    with io.TextIOWrapper(terminal, before.encoding, before.errors) as file:
        sys.__stderr__ = file  # type: ignore[misc]
        try:
            yield
        finally:
            sys.__stderr__ = before  # type: ignore[misc]


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
