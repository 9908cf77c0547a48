"""A progress bar on standard error while a source loads.

Owns when and how it is drawn: only on a terminal, only when loading takes long enough to be
noticed, and gone without a trace afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Literal, Self

from metashell.cli.output import Diagnostics

Unit = Literal["bytes", "tasks"]

_PATIENCE_S: Final = 0.5
_REDRAW_S: Final = 0.1
_BAR_MAX: Final = 40
_BAR_MIN: Final = 8
_MEGABYTE: Final = 1_000_000


class ProgressBar:
    """A callable ``(done, total)`` that draws itself, and erases itself at the end.

    Args:
        diagnostics: Where it is drawn.
        label: The name of the work.
        unit: The counted unit; bytes are shown in MB.
        clock: Seconds, from any moment on.
    """

    def __init__(
        self,
        diagnostics: Diagnostics,
        label: str,
        *,
        unit: Unit = "bytes",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._diagnostics = diagnostics
        self._label = label
        self._unit: Unit = unit
        self._clock = clock
        self._next_s = clock() + _PATIENCE_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __call__(self, done: int, total: int) -> None:
        """Note how far loading has come."""
        if self._diagnostics.progress is not None:
            self._diagnostics.progress(done, total)
            return
        if not self._diagnostics.is_terminal or self._clock() < self._next_s:
            return
        if done >= total > 0 and not self._diagnostics.has_drawn:
            return  # it has ended, and nobody waits any more
        self._next_s = self._clock() + _REDRAW_S
        width = self._diagnostics.width
        self._diagnostics.draw(bar_text(self._label, done, total, width, unit=self._unit))

    def close(self) -> None:
        """Erase the bar."""
        self._diagnostics.erase()


def bar_text(label: str, done: int, total: int, width: int, *, unit: Unit = "bytes") -> str:
    """One line of at most `width` - 1 columns."""
    if unit == "tasks" and total <= 0:
        return f"{label}: starting"[: max(width - 1, 0)]
    total = max(total, 1)
    done = min(max(done, 0), total)
    counts = f"{done}/{total} tasks"
    if unit == "bytes":
        counts = f"{done // _MEGABYTE}/{-(-total // _MEGABYTE)} MB"
    figures = f"{100 * done // total:3d}%  {counts}"
    room = min(width - len(label) - len(figures) - 6, _BAR_MAX)
    if room < _BAR_MIN:
        return f"{label} {figures}"[: max(width - 1, 0)]
    filled = room * done // total
    return f"{label} [{'#' * filled}{'-' * (room - filled)}] {figures}"
