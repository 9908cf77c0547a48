"""The bookmarks, and where the user was lately."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from metashell.tui.frame.box import ListBox
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.places import VisitedNode
from metashell.tui.text import line

_NONE: Final = "no bookmark yet: `b` keeps the selected node with its offset"


class BookmarksScreen(ListBox[None]):
    """The bookmarks and the recent places, of which one can be gone to."""

    HELP = (
        "The bookmarks, and below them the recent places. `enter` goes to the same path and "
        "offset. `delete` forgets a bookmark, `b` keeps one."
    )
    TITLE = "bookmarks"
    BINDINGS: ClassVar = [
        quiet_key("B", "leave", "Back", "bookmarks.leave"),
        shown_key("delete,d", "forget", "Forget", "bookmarks.forget"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[VisitedNode | None] = []
        """The place of each line of the list; None for headings."""

    def on_mount(self) -> None:
        """List the places."""
        self._list(0)

    @property
    def chosen(self) -> VisitedNode | None:
        """The place that the cursor is on."""
        at = self.choices.highlighted
        return None if at is None else self._shown[at]

    def _list(self, at: int) -> None:
        places = self.explorer.places
        options = self.choices
        options.clear_options()
        self._shown = []
        self._heading("bookmarks" if places.bookmarks else _NONE)
        for place in places.bookmarks:
            self._add(place)
        recent = places.recent()
        if recent:
            self._heading("recent")
        for place in recent:
            self._add(place)
        can_be = [i for i, place in enumerate(self._shown) if place is not None]
        options.highlighted = min(can_be, key=lambda i: abs(i - at), default=None)
        options.focus()

    def _heading(self, text: str) -> None:
        self._shown.append(None)
        self.choices.add_option(Option(line(text), disabled=True))

    def _add(self, place: VisitedNode) -> None:
        self._shown.append(place)
        offset = "" if place.offset is None else f" @{place.offset}"
        shown = Content.assemble("  ", line(place.path), (offset, "bold"))
        self.choices.add_option(Option(shown))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the place."""
        event.stop()
        place = self._shown[event.option_index]
        if place is not None:
            self.dismiss()
            self.explorer.visit(place)

    def action_forget(self) -> None:
        """Forget the bookmark that the cursor is on."""
        at, place = self.choices.highlighted, self.chosen
        bookmarks = self.explorer.places.bookmarks
        if at is not None and place is not None and at <= len(bookmarks):
            bookmarks.remove(place)
            self.explorer.keep_bookmarks()
            self._list(at)
