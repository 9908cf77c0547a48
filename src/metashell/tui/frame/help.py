"""The help panel: what the focused part is, and the keys that matter there."""

from __future__ import annotations

from textwrap import dedent
from typing import Final

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import HelpPanel, Markdown, Static

from metashell.tui.frame.status import TabStrip

_GENERAL = (
    "{keys} show the views, `tab` goes from part to part, the arrows scroll. `ctrl+p` finds every "
    "action."
)
_WIDE: Final = 100
"""Columns of the screen from which on there is room for help and a view side by side."""
_HOW = "escape closes, page up/down scroll"


class Help(HelpPanel):
    """Help for the focused part and its view, and their keys before those of the whole program."""

    DEFAULT_CSS = """
    Help { width: 45%; min-width: 34; max-width: 56; padding: 0; background: $panel; }
    Help.-narrow {
        split: none; dock: top; layer: help; width: 100%; max-width: 100%; border-left: none;
    }
    Help > VerticalScroll { height: 1fr; }
    Help > VerticalScroll:focus { background-tint: $foreground 5%; }
    Help #widget-help, Help.-show-help #widget-help {
        display: block; max-height: 100vh; margin: 0; padding: 0; background: $panel;
    }
    Help #widget-help MarkdownBlock { padding: 0 1; margin: 0 0 1 0; }
    Help #help-keys { height: auto; padding: 0 1; }
    Help > #help-how { dock: top; height: 1; padding: 0 1; text-style: bold; }
    """

    def compose(self) -> ComposeResult:
        """How to leave, and the text above the keys."""
        yield Static(_HOW, id="help-how", markup=False)
        with VerticalScroll(can_focus=True):
            yield Markdown(id="widget-help")
            yield Static(id="help-keys")

    def fit(self) -> None:
        """Lie above the whole view where there is no room beside it."""
        self.set_class(self.app.size.width < _WIDE, "-narrow")

    def on_resize(self) -> None:
        """Fit another width of the screen."""
        self.fit()

    def take_key(self, key: str) -> None:
        """Close on escape, else scroll by a page."""
        text = self.query_one(VerticalScroll)
        if key == "escape":
            self.remove()
        elif key == "pageup":
            text.scroll_page_up(animate=False)
        else:
            text.scroll_page_down(animate=False)

    def update_help(self, focused_widget: Widget | None) -> None:
        """Show the help of another part."""
        if not self.app.app_focus or not self.screen.is_active or self.has_focus_within:
            return
        try:
            shown = self.query_one(Markdown)
        except NoMatches:
            return
        shown.update(help_text(focused_widget, self.screen))
        self._show_keys()

    def on_mount(self) -> None:
        """Follow the focus."""
        self.fit()
        self._show_keys()
        self.screen.bindings_updated_signal.subscribe(self, self._show_keys)

    def _show_keys(self, _screen: Screen[object] | None = None) -> None:
        """Show the keys as they are now; those of help itself are told above."""
        for shown in () if self.has_focus_within else self.query("#help-keys").results(Static):
            shown.update(keys_table(self.screen))


def help_text(widget: Widget | None, screen: Screen[object]) -> str:
    """The help of a part, of the view around it, and of the program, in Markdown."""
    texts: list[str] = []
    nodes = [screen] if widget is None else widget.ancestors_with_self
    for node in nodes:
        text = dedent(node.HELP or "").strip() if isinstance(node, Widget) else ""
        if text and text not in texts:
            texts.append(text)
    if not screen.is_modal:
        keys = " ".join(f"`{view.key}`" for strip in screen.query(TabStrip) for view in strip.shown)
        texts.append(_GENERAL.format(keys=keys))
    return "\n\n".join(texts)


def keys_table(screen: Screen[object]) -> Table:
    """The keys of a screen as they are now, each explained unless the text above does so.

    Keys of the focused part come first. Only keys with a name in the configuration are there.
    """
    app, said = screen.app, help_text(screen.focused, screen)
    strip = app.screen_stack[0].query_one(TabStrip)
    keys: dict[tuple[object, str], tuple[list[str], str]] = {}
    for node, binding, enabled, _ in screen.active_bindings.values():
        is_ours = binding.description and (binding.id is not None or binding.show)
        if not (enabled and is_ours and strip.offers(binding)) or binding.system:
            continue
        key = app.get_key_display(binding)
        is_said = any(f"`{name}`" in said for name in (key, binding.key))
        told = f": {binding.tooltip}" if binding.tooltip and not is_said else ""
        found, _ = keys.setdefault((id(node), binding.action), ([], binding.description + told))
        if key not in found:
            found.append(key)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    before: object = None
    for (node_id, _), (shown, description) in keys.items():
        if before is not None and node_id != before:
            table.add_row("", "")
        before = node_id
        table.add_row(Text(" ".join(shown), style="bold"), Text(description))
    return table
