"""Lines of which only those that are seen are drawn: a list with a cursor, and text that scrolls.

There may be a million lines; Textual's own lists make an object for each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeAlias, TypeVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from metashell.commands.shared.columns import display_width
from metashell.tui.part import AppPart, quiet_key
from metashell.tui.text import line

if TYPE_CHECKING:
    from textual.timer import Timer


_Key = TypeVar("_Key", bound=Hashable)
_Fact = TypeVar("_Fact")
_RESTS_S: Final = 0.05
"""How long lines must rest before facts about them are looked for."""
_MOST_FACTS: Final = 20_000
_FILTERED: Final = "-filtered"
"""Class of a widget that has such a line."""


def show_filter(widget: Widget, text: str, n_shown: int, n_all: int) -> None:
    """Show a widget's filter on its border; without enough room the count gives way to the text.

    Args:
        widget: The widget whose rows are filtered.
        text: The text that rows must contain; empty for no filter, and no line.
        n_shown: The number of rows that contain it.
        n_all: The number of all rows.
    """
    widget.set_class(bool(text), _FILTERED)
    said = line(f"filter {text}: {n_shown:,} of {n_all:,}") if text else None
    if widget.border_subtitle != (None if said is None else said.markup):
        widget.border_subtitle = said


def nothing_left(what: str, text: str) -> str:
    """The message for a filter that leaves nothing.

    Args:
        what: The kind of thing that is filtered, in the singular.
        text: The filter.
    """
    return f"no {what} contains '{line(text).plain}': escape drops the filter"


def over_widget(widget: Widget, name: str) -> Style:
    """The colour and the text style of a component as they are on the widget's own background.

    Textual's partial styles take colours that depend on what is below, such as ``$text-muted``,
    as if that were black.
    """
    style = widget.get_component_rich_style(name)
    return Style.from_color(style.color) + Style(
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        reverse=style.reverse,
    )


Row: TypeAlias = tuple[int, int, int]
"""(line, from, to): what of a line stands on a row of the screen."""

_UNMARKED: Final = -1
"""The end of a selection that goes on in the next row."""


def moving_keys(prefix: str, *, last: str = "Last", letters: bool = True) -> list[Binding]:
    """The keys that go through a list.

    Args:
        prefix: The beginning of the names under which users choose other keys.
        last: The name of the key that goes to the end.
        letters: Whether `k` and `j` go up and down, too, and `G` to the end.
    """
    moves = (
        ("up,k" if letters else "up", "move(-1)", "Up", "up"),
        ("down,j" if letters else "down", "move(1)", "Down", "down"),
        ("pageup", "page(-1)", "Page up", "page-up"),
        ("pagedown", "page(1)", "Page down", "page-down"),
        ("home", "edge(False)", "First", "first"),
        ("end,G" if letters else "end", "edge(True)", last, "last"),
    )
    return [quiet_key(keys, action, name, f"{prefix}.{way}") for keys, action, name, way in moves]


class LineList(AppPart, ScrollView, can_focus=True):
    """A list of which one line has the cursor."""

    header_height = 0
    """Lines on top that stay where they are."""
    cursor = 0
    """The line that the cursor is on."""

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a line, or on the nearest one: the user wants that."""
        raise NotImplementedError

    def action_choose(self) -> None:
        """Take the line of the cursor."""
        raise NotImplementedError

    def click_header(self, column: int) -> None:
        """A column of the header was clicked on."""

    def takes_at(self, line: int, column: int) -> bool:
        """Whether one click on a column of a line takes the line."""
        return False

    @property
    def n_seen(self) -> int:
        """How many lines the screen has room for."""
        return max(self.scrollable_content_region.height - self.header_height, 0)

    @property
    def seen(self) -> range:
        """The lines on the screen."""
        top = int(self.scroll_offset.y)
        return range(top, min(top + self.n_seen, self.n_lines))

    @property
    def page(self) -> int:
        """Lines of a page: those on the screen but one."""
        return max(self.n_seen - 1, 1)

    def action_move(self, by: int) -> None:
        """Go some lines down."""
        self.go_to_line(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Go some pages down."""
        self.go_to_line(self.cursor + by * self.page)

    def action_edge(self, is_end: bool) -> None:
        """Go to the first or the last line."""
        self.go_to_line(self.n_lines - 1 if is_end else 0)

    def on_click(self, event: events.Click) -> None:
        """Go to a line; a double click takes it."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y < self.header_height:
            self.click_header(offset.x)
            return
        line = int(self.scroll_offset.y) + offset.y - self.header_height
        if line >= self.n_lines:
            return
        takes = event.chain == 2 or self.takes_at(line, offset.x)
        self.go_to_line(line)
        if takes:
            self.action_choose()

    def put_cursor(self, line: int) -> None:
        """Have the cursor on a line, and draw what that changes."""
        self.refresh_line(self.cursor)
        self.refresh_line(line)
        self.cursor = line

    def refresh_line(self, line: int) -> None:
        """Draw a line anew."""
        self.refresh_lines(line + self.header_height)

    def show_cursor(self) -> None:
        """Have the line of the cursor be seen."""
        top, height = int(self.scroll_offset.y), self.n_seen
        if not height:
            return  # nothing is shown yet
        if self.cursor < top:
            self.scroll_to_line(self.cursor)
        elif self.cursor >= top + height:
            self.scroll_to_line(self.cursor - height + 1)

    def scroll_to_line(self, top: int) -> None:
        """Have a line be the first one on the screen."""
        self.scroll_to(y=max(top, 0), animate=False, force=True, immediate=True)


_Finder: TypeAlias = "Callable[[Callable[[], bool], list[_Key]], dict[_Key, _Fact]]"
"""Finds facts; asks the first argument whether it is still wanted."""


class SeenFacts(Generic[_Key, _Fact]):
    """Facts about the lines of a list, found in a job for lines that are seen, and kept.

    Args:
        lines: The list. It is drawn again where a fact says something.
        keys: The keys of the lines that are seen.
        title: The job's title.
    """

    def __init__(
        self, lines: LineList, keys: Callable[[], Iterable[_Key]], title: str = ""
    ) -> None:
        self._lines, self._keys, self._title = lines, keys, title
        self._find: _Finder[_Key, _Fact] | None = None
        self._timer: Timer | None = None
        self.known: dict[_Key, _Fact] = {}

    def begin(self, find: _Finder[_Key, _Fact] | None) -> None:
        """Forget all facts, and find others from now on; None for none."""
        self._find = find
        self.known.clear()

    def ask(self) -> None:
        """Find the facts of the lines on the screen, once no others come into sight."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = None if self._find is None else self._lines.set_timer(_RESTS_S, self._ask)

    def _ask(self) -> None:
        asked, find = [key for key in self._keys() if key not in self.known], self._find
        if find is None or not asked:
            return

        def done(found: dict[_Key, _Fact]) -> None:
            if find is self._find:
                self.take(found)

        self._lines.explorer.jobs.start(
            self._title,
            lambda job: find(job.cancelled, asked),
            done,
            owner=self._lines,
            key="facts",
        )

    def take(self, found: Mapping[_Key, _Fact]) -> None:
        """Keep facts, and draw lines of which one says something."""
        if len(self.known) > _MOST_FACTS:
            self.known.clear()
        self.known.update(found)
        if any(found.values()):
            self._lines.refresh()


class TextRows(AppPart, ScrollView, can_focus=True):
    """Text that can be scrolled, and selected with the mouse."""

    BINDINGS: ClassVar = [
        quiet_key("up", "scroll_up", "Up", "lines.up"),
        quiet_key("down", "scroll_down", "Down", "lines.down"),
        quiet_key("left", "scroll_left", "Left", "lines.left"),
        quiet_key("right", "scroll_right", "Right", "lines.right"),
        quiet_key("home", "scroll_home", "To the top", "lines.first"),
        quiet_key("end", "scroll_end", "To the end", "lines.last"),
        quiet_key("pageup", "page_up", "Page up", "lines.page-up"),
        quiet_key("pagedown", "page_down", "Page down", "lines.page-down"),
    ]
    rows: list[Row]
    """The rows as they are wrapped."""
    laid_at = 0
    """Columns of the text when it was wrapped."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = []

    def row_text(self, at: int) -> Text:
        """The text of a row."""
        raise NotImplementedError

    def lay_out(self) -> None:
        """Wrap the text so that it fits the room."""
        raise NotImplementedError

    def nothing(self) -> str:
        """The text where there is no row."""
        return ""

    @property
    def allow_select(self) -> bool:
        """Text can be selected with the mouse."""
        return True

    @property
    def room(self) -> int:
        """Columns for the text."""
        return self.scrollable_content_region.width or self.size.width

    def take_rows(self, width: int) -> None:
        """Draw the rows anew, of which the widest takes so many columns."""
        self.virtual_size = Size(width, len(self.rows))
        self.refresh(layout=self.styles.is_auto_height)

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew where the width is another one."""
        self.watch_show_vertical_scrollbar()

    def watch_show_vertical_scrollbar(self) -> None:
        """Wrap anew: the bar takes a column, and its coming is no resize in each case."""
        if self.room != self.laid_at:
            self.lay_out()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that was selected with the mouse."""
        rows = range(len(self.rows))
        return selection.extract("\n".join(self.row_text(at).plain for at in rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is selected."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        left, top = self.scroll_offset
        width, style, at = self.size.width, self.rich_style, top + y
        is_there = at < len(self.rows)
        text = self.row_text(at) if is_there else Text("" if y else self.nothing())
        text.end = ""
        selection = self.text_selection
        span = None if selection is None else selection.get_span(at)
        if span is not None:
            marked = self.screen.get_component_rich_style("screen--selection")
            text.stylize(marked, span[0], len(text) if span[1] == _UNMARKED else span[1])
        strip = Strip(text.render(self.app.console)).apply_style(style)
        return strip.crop_extend(left, left + width, style).apply_offsets(left, at)


def folded(text: str, width: int, indent: int = 0, key: int = 0) -> list[tuple[int, int]]:
    """Where a text is cut so that its pieces fit so many columns.

    Args:
        text: The text.
        width: The columns.
        indent: How far the pieces behind the first one are indented.
        key: Characters at the beginning that are not cut between words.
    """
    n, is_ascii = len(text), text.isascii()
    if (n if is_ascii else display_width(text)) <= width:
        return [(0, n)]
    pieces: list[tuple[int, int]] = []
    start, room = 0, width
    while start < n:
        stop = min(start + room, n) if is_ascii else _fitting(text, start, room)
        # Between words, unless that leaves half of the room empty.
        space = text.rfind(" ", start + room // 2, stop + 1) if stop < n else -1
        if space > max(start, 0 if pieces else key):
            stop = space + 1
        elif not pieces and room - key < text.find(" ", key) - key <= width - indent:
            stop = key  # the first word of the value is whole on a row of its own
        pieces.append((start, stop))
        start, room = stop, max(1, width - indent)
    return pieces


def _fitting(text: str, start: int, room: int) -> int:
    """How far a text can go on for so many columns; one character at least."""
    stop, used = start, 0
    while stop < len(text):
        used += display_width(text[stop])
        if used > room and stop > start:
            break
        stop += 1
    return stop
