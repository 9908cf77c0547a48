"""Modules imported before they are needed, so that no key has to wait for one."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Final

from metashell.tui.gc_policy import keep_all
from metashell.tui.view import VIEWS

_THREAD: Final = "metashell-import"
_FIRST: Final = ("metashell.tui.timeline.timeline", VIEWS[0].module)
"""What is drawn as soon as the source is open."""
_LATER: Final = (
    *(spec.module for spec in VIEWS[1:]),
    "metashell.tui.frame.filter_bar",
    "metashell.tui.screens.command",
    "metashell.tui.screens.find",
    "metashell.tui.screens.go_to",
    "metashell.tui.frame.help",
    "metashell.tui.frame.palette",
    "metashell.tui.screens.bookmarks",
    "metashell.tui.screens.export",
)
"""What a key brings up, the likely ones first."""


def import_first() -> Callable[[], None]:
    """Begin to import what is drawn first; returns what waits until that is done."""
    thread = threading.Thread(target=_import, args=(_FIRST,), name=_THREAD, daemon=True)
    thread.start()
    return thread.join


def import_later(cancelled: Callable[[], bool]) -> None:
    """Import what a key may bring up; called in a job once something is shown."""
    for module in _LATER:
        if cancelled():
            return
        importlib.import_module(module)
    keep_all()


def _import(modules: tuple[str, ...]) -> None:
    for module in modules:
        importlib.import_module(module)
