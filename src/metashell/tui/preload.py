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
"""The modules that are drawn first, once the source is open."""
_LATER: Final = (
    *(spec.module for spec in VIEWS[1:] if not (spec.for_fleet or spec.for_groups)),
    *(spec.module for spec in VIEWS if spec.for_fleet or spec.for_groups),
    "metashell.tui.frame.filter_bar",
    "metashell.tui.screens.command",
    "metashell.tui.screens.find",
    "metashell.tui.screens.go_to",
    "metashell.tui.frame.help",
    "metashell.tui.frame.palette",
    "metashell.tui.screens.bookmarks",
    "metashell.tui.screens.export",
)
"""The modules that a view or a key needs, the likely ones first."""


def import_first() -> Callable[[], None]:
    """Begin to import what is drawn first, then the views; returns what waits for the first."""
    is_there = threading.Event()
    thread = threading.Thread(target=_import, args=(is_there,), name=_THREAD, daemon=True)
    thread.start()

    def wait() -> None:
        is_there.wait()

    return wait


def import_later(cancelled: Callable[[], bool]) -> None:
    """Import what a key may bring up; called in a job once something is shown."""
    for module in _LATER:
        if cancelled():
            return
        importlib.import_module(module)
    keep_all()


def _import(is_there: threading.Event) -> None:
    try:
        for module in _FIRST:
            importlib.import_module(module)
    finally:
        is_there.set()
    for spec in VIEWS:
        importlib.import_module(spec.module)
