"""The message for a key that does nothing where it is pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.keys import REPLACED_KEYS, format_key

if TYPE_CHECKING:
    from textual.binding import Binding

    from metashell.tui.app import Explorer

_SILENT: Final = frozenset({"escape", "tab", "shift+tab", "ctrl+c"})
"""Keys that take back or lead on: where there is nothing of that there is nothing to say."""
_OF_HELP: Final = frozenset({"escape", "pageup", "pagedown"})
"""Keys that are for help while it is shown, wherever the focus is."""


class IdleKeys:
    """Mixed into the program, in front of what does the keys."""

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Do what a key is for, first that of help; one that does nothing says so."""
        app: Any = self
        if priority and key in _OF_HELP:
            for shown in app.screen.query_children("HelpPanel"):
                shown.take_key(key)
                return True
        is_done: bool = await super()._check_bindings(key, priority)  # type: ignore[misc]
        if not (is_done or priority) and app.is_open and _is_worth_a_word(key):
            app.tell(_nothing_done(app, key))
        return is_done


def _is_worth_a_word(key: str) -> bool:
    """Whether a key that did nothing is one that a user expects something of."""
    return key.rpartition("+")[2] not in _SILENT and not key.startswith("<")


def _nothing_done(app: Explorer, key: str) -> str:
    """Say that a key does nothing here, and where it does something."""
    name = format_key(REPLACED_KEYS.get(key, key))
    if app.focused is not None and app.focused is app.timeline:
        return f"{name} does nothing in the timeline: escape leaves it"
    found, help_key = _unavailable(app, key), _help_key(app)
    next_step = f": {help_key} lists the keys" if help_key else ""
    if found is not None:
        return f"{name} ({found.description}) is not available here{next_step}"
    return f"{name} does nothing here{next_step}"


def _help_key(app: Explorer) -> str | None:
    """The key that shows help from here: in a line `?` is text; None where no key does."""
    keys = (active.binding for active in app.screen.active_bindings.values())
    return next((app.get_key_display(key) for key in keys if key.id == "help"), None)


def _unavailable(app: Explorer, key: str) -> Binding | None:
    """The key's binding that is disabled here, for example because it needs another node."""
    chain: Any = app.screen._modal_binding_chain
    for _node, bindings in chain:
        found: list[Binding] = bindings.key_to_bindings.get(key, [])
        for binding in found:
            if binding.description:
                return binding
    return None
