"""The bottom toolbar, kept up to date without making anyone wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from metashell.commands.shared.status import SourceStatus
from metashell.errors import MetashellError

STATUS_THREAD = "metashell-status"
"""Name of the thread that computes."""
PENDING = "…"
"""Shown while the first status is computed."""


class StatusWatcher:
    """Computes the status in a thread and keeps the newest.

    Args:
        compute: May be slow or fail.
        changed: Called from the thread when there is something new to show.
        afterwards: Called from the thread, once, when the first status is known.
    """

    def __init__(
        self,
        compute: Callable[[], SourceStatus],
        changed: Callable[[], None],
        afterwards: Callable[[], None] | None = None,
    ) -> None:
        self._compute = compute
        self._changed = changed
        self._afterwards = afterwards
        self._lock = threading.Lock()
        self._running = False
        self.latest: SourceStatus | None = None
        """The newest status, or None before the first is known."""

    def refresh(self) -> None:
        """Begin to compute anew, unless that is going on."""
        with self._lock:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name=STATUS_THREAD, daemon=True).start()

    def _run(self) -> None:
        try:
            status = self._compute()
        except MetashellError as error:
            status = SourceStatus(notes=(error.message,))
        except Exception as error:  # a toolbar must not end the shell
            status = SourceStatus(notes=(f"no status: {type(error).__name__}",))
        with self._lock:
            self._running = False
            is_new = status != self.latest
            self.latest = status
        if is_new:
            self._changed()
        afterwards, self._afterwards = self._afterwards, None
        if afterwards is not None:
            # An error here comes again in the command that needs the value, and is told there.
            with suppress(Exception):
                afterwards()
