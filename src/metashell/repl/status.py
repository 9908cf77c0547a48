"""The bottom toolbar: what it says and how it is kept up to date without making anyone wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from metashell.errors import MetashellError
from metashell.repl.session import Status

STATUS_THREAD = "metashell-status"
"""Name of the thread that computes."""
PENDING = "…"
"""Shown while the first status is computed."""

_TENTHS_UNTIL_S = 10
_SECONDS_UNTIL_S = 180

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_time(timestamp_ms: int) -> str:
    """Return a time in UTC to the second; the bare number where no calendar reaches."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def format_age(seconds: float | None) -> str:
    """Return how long ago the quorum answered, coarser as it gets older."""
    if seconds is None:
        return "no word yet"
    if seconds < _TENTHS_UNTIL_S:
        return f"{max(seconds, 0):.1f} s ago"
    if seconds < _SECONDS_UNTIL_S:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago"


def items(status: Status, *, show_secrets: bool = False) -> list[tuple[str, str]]:
    """Return the toolbar's items as (kind, text); the kind is ``fact`` or ``note``."""
    facts = []
    if status.is_live:
        facts.append("no leader" if status.leader is None else f"leader {status.leader}")
        if status.epoch is not None:
            facts.append(f"epoch {status.epoch}")
    if status.offset is not None:
        facts.append(f"offset {status.offset}")
    if status.is_live:
        if status.lag is not None:
            facts.append(f"lag {status.lag}")
        facts.append(format_age(status.last_word_s))
    else:
        if status.epoch is not None:
            facts.append(f"epoch {status.epoch}")
        if status.timestamp_ms is not None and status.timestamp_ms != -1:
            facts.append(format_time(status.timestamp_ms))
    if status.metadata_version:
        facts.append(status.metadata_version)
    notes = [*([status.problem] if status.problem else []), *status.notes]
    if show_secrets:
        notes.append("secrets shown")
    return [("fact", text) for text in facts] + [("note", text) for text in notes]


class StatusWatcher:
    """Computes the status in a thread and keeps the newest.

    Args:
        compute: May be slow or fail.
        changed: Called from the thread when there is something new to show.
        afterwards: Called from the thread, once, when the first status is known.
    """

    def __init__(
        self,
        compute: Callable[[], Status],
        changed: Callable[[], None],
        afterwards: Callable[[], None] | None = None,
    ) -> None:
        self._compute = compute
        self._changed = changed
        self._afterwards = afterwards
        self._lock = threading.Lock()
        self._running = False
        self.latest: Status | None = None
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
            status = Status(notes=(error.message,))
        except Exception as error:  # a toolbar must not end the shell
            status = Status(notes=(f"no status: {type(error).__name__}",))
        with self._lock:
            self._running = False
            is_new = status != self.latest
            self.latest = status
        if is_new:
            self._changed()
        afterwards, self._afterwards = self._afterwards, None
        if afterwards is not None:
            # What goes wrong here goes wrong again, and is told, in the command that needs it.
            with suppress(Exception):
                afterwards()
