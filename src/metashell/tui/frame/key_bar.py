"""The footer: the keys for which there is room, in the same order everywhere.

Keys of the focused part come first, then the keys of the whole program. Help is always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.tui.frame.keys import CANCEL
from metashell.tui.part import AppPart

_RANKS: Final = {
    "table.sort": 8, "cancel": 3, "command": 2, "filter": 4, "find": 9, "go": 10, "describe": 5,
    "relations": 6, "export": 7, "quit": 11, "help": 1,
}  # fmt: skip
"""Ids of keys that many parts have, in the order of the footer: the least rank gets room first."""
_OWN: Final = 4.5
"""The rank of the focused part's other keys, which stand in front."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A key that may be shown."""

    binding: Binding
    key: str
    """The key's name in the footer."""
    is_enabled: bool
    tooltip: str

    @property
    def width(self) -> int:
        """Cells that it takes with the blank behind it."""
        return display_width(self.key) + 1 + display_width(self.binding.description) + 1


def chosen(keys: Sequence[Shown], width: int) -> list[Shown]:
    """The keys for which there is room, in the order in which they are shown."""
    kept: list[Shown] = []
    for key in sorted(keys, key=lambda key: _RANKS.get(key.binding.id or "", _OWN)):
        if key.width <= width:
            kept.append(key)
            width -= key.width
    places = {name: place for place, name in enumerate(_RANKS)}
    return sorted(kept, key=lambda key: places.get(key.binding.id or "", -1))


class KeyBar(AppPart, Widget, can_focus=False):
    """The keys that matter here; a click on one presses it.

    One widget, where Textual's Footer has one for each key: these would be made anew, and the
    screen laid out again, with each move of the focus.

    Args:
        enter: The name of what enter does, where the focused part of Textual has none for it.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "key-bar--key",
        "key-bar--description",
        "key-bar--hover",
    }
    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        height: 1;
        color: $footer-foreground;
        background: $footer-background;
        text-wrap: nowrap;
        .key-bar--key {
            color: $footer-key-foreground;
            background: $footer-key-background;
            text-style: bold;
        }
        .key-bar--description {
            color: $footer-description-foreground;
            background: $footer-description-background;
        }
        .key-bar--hover {
            color: $footer-key-foreground;
            background: $block-hover-background;
        }
    }
    """

    def __init__(self, enter: str = "") -> None:
        super().__init__()
        self._enter = enter
        self._shown: list[Shown] = []
        self._hovered: Shown | None = None
        """The key under the mouse."""
        self._is_asked = False

    def on_mount(self) -> None:
        """Follow the keys that hold."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self, event: events.Resize) -> None:
        """Show more keys, or fewer."""
        event.stop()
        self._choose()

    def _bindings_changed(self, screen: Screen[object]) -> None:
        # One key press can tell of several changes; a screen below another keeps its keys.
        if not self.is_attached or self._is_asked:
            return
        if screen.app.app_focus and screen is self.screen:
            self._is_asked = True
            self.call_after_refresh(self._choose)

    def _choose(self) -> None:
        """Show the keys that hold now, as far as there is room."""
        self._is_asked = False
        if not self.is_attached:  # closed since it was asked
            return
        keys: dict[str, Shown] = {}
        for _, binding, is_enabled, tooltip in self.screen.active_bindings.values():
            word = self._word(binding)
            if word and binding.action not in keys:
                key = self.app.get_key_display(binding)
                shown = Shown(replace(binding, description=word), key, is_enabled, tooltip)
                # Enter is the main key.
                is_first = binding.key == "enter"
                keys = (
                    {binding.action: shown, **keys} if is_first else {**keys, binding.action: shown}
                )
        found = chosen(list(keys.values()), self.size.width or self.screen.size.width)
        if found != self._shown:
            self._shown = found
            self.refresh()

    def _word(self, binding: Binding) -> str:
        """The name of a key in the footer; empty for a key that it does not have."""
        if binding.action == CANCEL:
            return self.explorer.way_back
        if binding.key == "enter" and not binding.show:
            return self._enter
        return binding.description if binding.show else ""

    def render(self) -> Text:
        """The keys, a blank between them."""
        key_style = self.get_component_rich_style("key-bar--key")
        description_style = self.get_component_rich_style("key-bar--description")
        hover_style = self.get_component_rich_style("key-bar--hover")
        text = Text(no_wrap=True)
        for shown in self._shown:
            label = Text.assemble(
                (shown.key, key_style), (f" {shown.binding.description}", description_style)
            )
            if shown == self._hovered:
                label.stylize(hover_style)
            if not shown.is_enabled:
                label.stylize("dim")
            text.append_text(label).append(" ")
        return text

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the key under the mouse, and tell more of it."""
        self._hover(self._at(event.x))

    def on_leave(self) -> None:
        """The mouse is elsewhere."""
        self._hover(None)

    def _hover(self, shown: Shown | None) -> None:
        if shown != self._hovered:
            self._hovered = shown
            self.tooltip = shown.tooltip if shown and shown.tooltip else None
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Press the key under the mouse."""
        shown = self._at(event.x)
        if shown is None:
            return
        if shown.is_enabled:
            self.app.simulate_key(shown.binding.key)
        else:
            self.app.bell()

    def _at(self, x: int) -> Shown | None:
        """The key that is drawn in a column."""
        for shown in self._shown:
            if x < shown.width - 1:
                return shown
            x -= shown.width
            if x < 0:
                return None
        return None
