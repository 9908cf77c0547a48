"""Messages that pass: they go with the next key that changes what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from textual.notifications import Notification

_PASSING: Final = ("information", "warning")
"""Errors stay for their time: they may be told while a key is held."""


class PassingMessages:
    """Mixed into the program; owns the path, whose change is seen."""

    _path = "/"
    _told_before: tuple[Notification, ...] = ()
    """What was told before the last key."""

    @property
    def path(self) -> str:
        """The node looked at, an absolute path of the whole tree."""
        return self._path

    @path.setter
    def path(self, path: str) -> None:
        if path != self._path:
            self._path = path
            self.pass_messages()

    def note_key(self) -> None:
        """Note what was told before a key."""
        app: Any = self
        self._told_before = tuple(app._notifications)

    def pass_messages(self) -> None:
        """Take away what was told before the last key: something else is shown now."""
        app: Any = self
        before, self._told_before = self._told_before, ()
        for told in before:
            if told.severity in _PASSING and told in app._notifications:
                app._unnotify(told)
        for timeline in app.screen_stack[0].query_children("Timeline"):
            timeline.drop_remark()
