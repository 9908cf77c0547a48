"""The bookmarks, and where the user was lately."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from metashell.tui.frame.box import ListBox
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.places import VisitedNode
from metashell.tui.text import line

_HINT: Final = "enter goes there · delete forgets a bookmark · escape leaves"
_NONE: Final = "no bookmark yet: `b` keeps the selected node with its offset"


class BookmarksScreen(ListBox[None]):
    """The bookmarks and the recent places, of which one can be gone to."""

    HELP = (
        "The bookmarks, and below them the recent places. `enter` goes to the same path and "
        "offset. `delete` forgets a bookmark, `b` keeps one."
    )
    BINDINGS: ClassVar = [
        Binding("escape,B,q", "leave", "Leave", id="bookmarks.leave"),
        Binding("delete,d", "forget", "Forget", id="bookmarks.forget"),
        Binding("j", "move(1)", "Down", show=False, id="bookmarks.down"),
        Binding("k", "move(-1)", "Up", show=False, id="bookmarks.up"),
    ]
    DEFAULT_CSS = """
    BookmarksScreen {
        align: center middle;
        & > Vertical {
            width: 90%;
            max-width: 100;
            height: auto;
            max-height: 90%;
            padding: 0 1;
            border: round $primary;
            background: $surface;
        }
        & OptionList { height: auto; max-height: 18; background: $surface; }
        & Static { height: auto; color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[VisitedNode | None] = []
        """The place of each line of the list; None for headings."""

    def compose(self) -> ComposeResult:
        """The list, and a hint."""
        with Vertical() as box:
            box.border_title = "bookmarks"
            yield OptionList(compact=True, markup=False)
            yield Static(_HINT, markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """List the places."""
        self._list(0)

    @property
    def chosen(self) -> VisitedNode | None:
        """The place that the cursor is on."""
        at = self.query_one(OptionList).highlighted
        return None if at is None else self._shown[at]

    def _list(self, at: int) -> None:
        places = self.explorer.places
        options = self.query_one(OptionList)
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
        self.query_one(OptionList).add_option(Option(line(text), disabled=True))

    def _add(self, place: VisitedNode) -> None:
        self._shown.append(place)
        offset = "" if place.offset is None else f" @{place.offset}"
        shown = Content.assemble("  ", line(place.path), (offset, "bold"))
        self.query_one(OptionList).add_option(Option(shown))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the place."""
        event.stop()
        place = self._shown[event.option_index]
        if place is not None:
            self.dismiss()
            self.explorer.visit(place)

    def action_forget(self) -> None:
        """Forget the bookmark that the cursor is on."""
        at, place = self.query_one(OptionList).highlighted, self.chosen
        bookmarks = self.explorer.places.bookmarks
        if at is not None and place is not None and at <= len(bookmarks):
            bookmarks.remove(place)
            self.explorer.keep_bookmarks()
            self._list(at)

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss()
