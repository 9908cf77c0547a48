"""The message for a key that does nothing where it is pressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from textual.binding import Binding
from textual.keys import REPLACED_KEYS, format_key
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.dom import DOMNode

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
