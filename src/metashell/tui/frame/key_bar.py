"""The footer: as many keys as there is room for, in the same order everywhere.

What the focused part can do comes first, then what can be done anywhere; help is always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from metashell.commands.columns import display_width

_ORDER: Final = ("command", "filter", "find", "go", "quit", "help")
"""Ids of the keys of the whole program, in the order of the footer."""
_NEEDED: Final = ("help", "command", "filter")
"""Those that have their room before a part's own."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A key that may be shown."""

    binding: Binding
    key: str
    """As it is drawn."""
    is_enabled: bool
    tooltip: str

    @property
    def width(self) -> int:
        """Cells that it takes with the blank behind it."""
        return display_width(self.key) + 1 + display_width(self.binding.description) + 1


def chosen(keys: Sequence[Shown], width: int) -> list[Shown]:
    """Those for which there is room, in the order in which they are shown."""
    of_all = {key.binding.id: key for key in keys if key.binding.id in _ORDER}
    own = [key for key in keys if key.binding.id not in _ORDER]
    needed = [of_all[name] for name in _NEEDED if name in of_all]
    others = [of_all[name] for name in _ORDER if name in of_all and name not in _NEEDED]
    kept: list[Shown] = []
    room = width
    for key in (*needed, *own, *others):
        if key.width <= room:
            kept.append(key)
            room -= key.width
    first = [key for key in own if key in kept]
    return first + [of_all[name] for name in _ORDER if name in of_all and of_all[name] in kept]


class KeyBar(Footer):
    """The keys that matter here."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)

    def compose(self) -> ComposeResult:
        """The keys for which there is room."""
        if not self._bindings_ready:
            return
        keys: dict[str, Shown] = {}
        for _, binding, is_enabled, tooltip in self.screen.active_bindings.values():
            if binding.show and binding.action not in keys:
                key = self.app.get_key_display(binding)
                keys[binding.action] = Shown(binding, key, is_enabled, tooltip)
        for shown in chosen(list(keys.values()), self.size.width or self.screen.size.width):
            yield FooterKey(
                shown.binding.key,
                shown.key,
                shown.binding.description,
                shown.binding.action,
                disabled=not shown.is_enabled,
                tooltip=shown.tooltip,
            ).data_bind(compact=Footer.compact)

    async def on_resize(self, event: events.Resize) -> None:
        """Show more keys, or fewer."""
        if self._bindings_ready:
            await self.recompose()
