"""Views that are made before a key asks for them: one after the other, while nobody types.

A view has dozens of parts, and the first time is the dearest. While the source is being opened the
thread that draws has little to do.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from metashell.tui.view import VIEWS, ViewSpec

if TYPE_CHECKING:
    from textual.timer import Timer

    from metashell.tui.app import Explorer

_EVERY_S: Final = 0.1
_REST_S: Final = 1.0
"""How long nobody must have typed."""


class ViewsAhead:
    """Mounts views that can't be seen yet.

    Args:
        app: The program that the views belong to.
    """

    def __init__(self, app: Explorer) -> None:
        self._app = app
        self._left = [spec for spec in VIEWS if not (spec.for_fleet or spec.for_groups)]
        self._timer: Timer | None = None
        self._touched = time.monotonic()

    def begin(self) -> None:
        """Mount all of them, each when there is time."""
        self._touched = 0.0
        self._timer = self._app.set_interval(_EVERY_S, self._look)

    def touch(self) -> None:
        """Note that the user did something."""
        self._touched = time.monotonic()

    def _look(self) -> None:
        is_quiet = time.monotonic() - self._touched >= _REST_S and not self._app.is_switching
        if is_quiet or self._app.view_state is None:
            self.mount_next()

    def mount_next(self) -> ViewSpec | None:
        """Mount the next view whose module is there; None where there is none, or no frame."""
        if not self._app.can_mount_views:
            return None
        self._left = [spec for spec in self._left if not self._app.has_view(spec)]
        if not self._left and self._timer is not None:
            self._timer.stop()
        # Imports are up to another thread.
        found = next((spec for spec in self._left if _is_imported(spec)), None)
        if found is not None:
            self._app.mount_view(found)
        return found


def _is_imported(spec: ViewSpec) -> bool:
    return hasattr(sys.modules.get(spec.module), spec.name)
