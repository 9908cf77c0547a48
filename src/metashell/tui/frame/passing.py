"""What the user is told: messages, which go with the next key that changes what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.fs.escape import escape

if TYPE_CHECKING:
    from textual.notifications import Notification, SeverityLevel

_TOLD_S: Final = 6.0
"""How long a message stays."""

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

    def tell(self, text: str, severity: SeverityLevel = "information") -> None:
        """Show a message for a while; it may hold data."""
        app: Any = self
        shown = "\n".join(escape(line) for line in text.split("\n"))
        for before in [told for told in app._notifications if told.message == shown]:
            app._unnotify(before)
        app.notify(shown, severity=severity, timeout=_TOLD_S, markup=False)

    def tell_batch(self, offset: int, batch: tuple[int, int]) -> None:
        """Say why another state is shown than that of an offset, where it is: a batch counts whole.

        Args:
            offset: Where the user wanted to go.
            batch: The first and the last offset of the batch that it lies in.
        """
        first, last = batch
        if offset != last:
            self.tell(
                f"offset {offset} lies inside the batch of offsets {first} to {last}, which counts "
                f"whole: shown is the state after offset {last}"
            )

    def tell_offset(self, point: int | str | None, shown: int | None) -> None:
        """Say why the state of an earlier offset is shown, where it is: a batch counts whole.

        Args:
            point: Where the user wanted to go: an offset, or something else.
            shown: The offset of the state that is shown; None for the end of the log.
        """
        if shown is not None and str(point).isdecimal() and int(str(point)) != shown:
            self.tell(
                f"offset {point} lies inside a batch, which counts whole: shown is the state "
                f"after offset {shown}; ] goes on to the end of the batch"
            )

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
