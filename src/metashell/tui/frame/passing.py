"""Shows one message at a time. A key ends it once it was shown long enough to be read."""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import TYPE_CHECKING, Any, Final

from textual.binding import Binding
from textual.keys import REPLACED_KEYS, format_key
from textual.widget import Widget

from metashell.fs.escape import escape

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.notifications import Notification, Notify, SeverityLevel

    from metashell.tui.app import Explorer


_SILENT: Final = frozenset({"escape", "tab", "shift+tab", "ctrl+c"})
"""Keys that take back or lead on: where there is nothing of that there is nothing to say."""


def is_idle(app: Explorer, key: str) -> bool:
    """Whether a key does nothing here, and is one that a user expects something of."""
    bound = app.active_bindings.get(key)
    if key.rpartition("+")[2] in _SILENT or key.startswith("<"):
        return False
    if bound is None or not bound.enabled:
        return True
    # A part that has nothing to scroll leaves the key to those around it.
    return not _scrolls(bound.node, bound.binding.action) and not any(
        node is not bound.node and _scrolls(node, binding.action)
        for node, binding in _declared(app, key)
    )


def _scrolls(node: object, action: str) -> bool:
    """Whether a part scrolls by an action; true for every action that does something else."""
    way, method = action.rpartition("_")[2], f"action_{action}"
    if not isinstance(node, Widget) or not action.startswith(("scroll_", "page_")):
        return True
    inherited = getattr(Widget, method, None)
    if inherited is None or getattr(type(node), method) is not inherited:
        return True
    across, down = node.allow_horizontal_scroll, node.allow_vertical_scroll
    return across if way in ("left", "right") else down or (across and way in ("home", "end"))


def nothing_done(app: Explorer, key: str) -> str:
    """Say that a key does nothing here, and where it does something."""
    name = format_key(REPLACED_KEYS.get(key, key))
    if app.focused is not None and app.focused is app.timeline:
        return f"{name} does nothing in the timeline: escape leaves it"
    found, help_key = _unavailable(app, key), _help_key(app)
    next_step = f": {help_key} lists the keys" if help_key else ""
    if found:
        return f"{name} ({found}) is not available here{next_step}"
    return f"{name} does nothing here{next_step}"


def _help_key(app: Explorer) -> str | None:
    """The key that shows help from here: in a line `?` is text; None where no key does."""
    keys = (active.binding for active in app.active_bindings.values())
    return next((app.get_key_display(key) for key in keys if key.id == "help"), None)


def _unavailable(app: Explorer, key: str) -> str:
    """The name of what the key does elsewhere, for example on another node; else empty."""
    return next((b.description for _, b in _declared(app, key) if b.description), "")


def _declared(app: Explorer, key: str) -> Iterator[tuple[DOMNode, Binding]]:
    """All bindings of a key from the focused part on, whether they hold or not."""
    for node in (app.focused or app.screen).ancestors_with_self:
        if node is app and app.screen.is_modal:
            return
        for kind in type(node).__mro__:
            for binding in Binding.make_bindings(vars(kind).get("BINDINGS", ())):
                keys = app.session.keys.get(binding.id or "", binding.key)
                if key in keys.split(","):
                    yield node, binding


_TOLD_S: Final = 6.0
"""How long a message stays where no key is pressed."""
_READ_S: Final = 1.0
"""How long it stays whatever is pressed, unless that shows something else."""

_PASSING: Final = ("information", "warning")
"""Errors stay long enough to be read: they may be told while a key is held."""


class PassingMessages:
    """Mixed into the program; owns the path, whose change is seen."""

    _path = "/"
    _told: Notification | None = None
    """The message that was shown last."""
    _told_before: Notification | None = None
    """The one shown before the last key."""

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
        app.notify(shown, severity=severity, timeout=_TOLD_S, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Show a message in place of the one before."""
        self._end(self._told)
        self._told = event.notification

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
        """End what was there long enough to be read, and note what else was told before a key."""
        if self._told is not None and time() - self._told.raised_at >= _READ_S:
            self._end(self._told)
        self._told_before = self._told

    def end_messages(self) -> None:
        """Take away what was told before the last key: something else is shown now."""
        before, self._told_before = self._told_before, None
        if before is not None and before.severity in _PASSING:
            self._end(before)

    def pass_messages(self) -> None:
        """Take away messages, and what the timeline says besides, of what was shown before."""
        self.end_messages()
        app: Any = self
        for timeline in app.screen_stack[0].query_children("Timeline"):
            timeline.drop_remark()

    def _end(self, told: Notification | None) -> None:
        """Take a message away, if it is the one that is shown."""
        if told is None or told is not self._told:
            return
        self._told = None
        app: Any = self
        app.clear_notifications()
        # The library leaves what holds the text, which moves the next one.
        for screen in app.screen_stack:
            screen.query("ToastRack > *").remove()
