"""The list of records: a line each, of which only those on the screen are ever made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from metashell.commands.shared.columns import display_width
from metashell.fs.escape import escape
from metashell.records.window import RecordLine
from metashell.tui.lines import LineList, moving_keys, over_widget
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.records.model import Gap, Matches
from metashell.tui.records.short_lines import short_line

WIDE: Final = 110
"""From this width on, times have milliseconds, and the types of metadata are not cut."""
TYPE: Final = 28
"""Columns of the longest type of metadata, without ``_RECORD``."""
_TYPE: Final = 16
"""Columns of a type where there is less room: of ``PARTITION_CHANGE``."""
_EPOCH: Final = "epoch"
_LOW: Final = 60
"""Columns below which the name of a column may be cut."""
_DAY: Final = slice(5, 10)
"""The day of a time, without the year."""
_KEPT: Final = 20_000
_MARK, _BAD = "▸", "!"
_BRACKET: Final = {
    (True, True): "─",
    (True, False): "┌",
    (False, False): "│",
    (False, True): "└",
}
"""The signs that join the shown records of a batch, by (is the first, is the last) of them."""
_MORE: Final = "…"
_LONGEST: Final = 4096
"""Characters of a record that are drawn, wherever is scrolled to."""
LOADING: Final = "loading…"


class RecordList(LineList):
    """The records, by offset."""

    HELP = (
        "Records by offset. The arrows move. `enter` goes to the record's node as it was "
        "then. `m` shows the whole cluster at the record. `n` and `N` go to the next and "
        "previous record of the same topic. Without a topic, they go by the record's type. "
        "`end` goes to the newest record and stays there, `E` also from an earlier state.\n\n"
        "A bracket joins the shown records of a batch; `─` means that one is shown. `J` and `K` "
        "go from batch to batch. `right` and `left` scroll long lines; offset and type stay, and "
        "`…` says that there is more.\n\n"
        "`a` adds a filter, `/` filters by a regular expression, `delete` drops all filters. `H` "
        "shows or hides NoOp records, `v` the fields and bytes of the record. `ctrl+c` copies the "
        "record, unless a job runs."
    )
    BINDINGS: ClassVar = [
        shown_key("enter", "choose", "Go to node", "records.choose"),
        *moving_keys("records", last="Newest"),
        quiet_key("J", "batch(1)", "Next batch", "records.next-batch"),
        quiet_key("K", "batch(-1)", "Previous batch", "records.previous-batch"),
        quiet_key("left", "scroll_line(-1)", "Left", "records.left"),
        quiet_key("right", "scroll_line(1)", "Right", "records.right"),
    ]
    COMPONENT_CLASSES: ClassVar = {
        "record-list--cursor",
        "record-list--blurred",
        "record-list--dim",
        "record-list--type",
        "record-list--bad",
        "record-list--match",
    }
    DEFAULT_CSS = """
    RecordList { height: 1fr; background: $surface; overflow-x: hidden; overflow-y: scroll;
        scrollbar-size-vertical: 1; }
    RecordList .record-list--cursor { background: $block-cursor-background;
        color: $block-cursor-foreground; text-style: bold; }
    RecordList .record-list--blurred { background: $block-cursor-blurred-background;
        color: $block-cursor-blurred-foreground; text-style: bold; }
    RecordList .record-list--dim { color: $text-muted; }
    RecordList .record-list--type { color: $text-primary; }
    RecordList .record-list--bad { color: $text-error; text-style: bold; }
    RecordList .record-list--match {
        background: $warning; color: $background; text-style: bold underline;
    }
    """

    class Changed(Message):
        """The cursor is elsewhere, or other lines can be seen."""

    class Chosen(Message):
        """The line of the cursor was taken."""

    def __init__(self, model: Matches, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.model = model
        self.kept: int | None = None
        """The offset that the cursor stays with; None before there was any."""
        self.follows = True
        """Whether the cursor stays on the last row, whatever comes."""
        self.empty = ""
        """The text of an empty list."""
        self.pattern: re.Pattern[str] | None = None
        """The pattern whose matches are marked in the lines."""
        self.left = 0
        """How far lines are scrolled: from 1 on without time and epoch, then a column more each."""
        self._lines: dict[int, RecordLine] = {}
        self._epoch = 2
        """Columns of the widest epoch so far."""
        self._days: set[str] = set()
        """The days of lines so far: where there is one, the header has it."""
        self._seeks = False
        """Whether the line of the cursor is to be scrolled to what it was found for."""

    # The row of the cursor.

    @property
    def here(self) -> int | Gap | None:
        """The place of the cursor: a record's offset or a gap; None in an empty list."""
        return self.model.at(self.cursor) if len(self.model) else None

    @property
    def n_lines(self) -> int:
        """The rows of records and gaps."""
        return len(self.model)

    def line_at(self, row: int) -> RecordLine | None:
        """The line of a row, where it was fetched."""
        at = self.model.at(row)
        return self._lines.get(at) if isinstance(at, int) else None

    def forget(self) -> None:
        """Drop all lines: they are of another log."""
        self._lines.clear()
        self._days.clear()
        self._epoch = 2
        self.kept, self.follows, self.left = None, True, 0

    def take(self, lines: Iterable[RecordLine]) -> None:
        """Note lines that were fetched."""
        if len(self._lines) > _KEPT:
            self._lines.clear()
        for line in lines:
            self._lines[line.offset] = line
            self._epoch = max(self._epoch, len(line.epoch))
            if line.time:
                self._days.add(line.time[_DAY])
        self._seek()
        self.refresh()

    def search(self, pattern: re.Pattern[str] | None) -> None:
        """Mark what matches in lines that are to come, and scroll to it on the cursor's line."""
        self.pattern, self.left, self._seeks = pattern, 0, pattern is not None

    def _seek(self) -> None:
        line = self.line_at(self.cursor) if len(self.model) else None
        if not self._seeks or line is None or self.pattern is None:
            return
        self._seeks = False
        text, spans = short_line(line, self.pattern)
        for span in spans[:1]:
            begin, end = (display_width(text[:at]) for at in span)
            if end > self._room(is_scrolled=False):
                self.left = max(min(end - self._room() + 2, begin, self._most_left()), 1)

    def missing(self) -> tuple[int, int] | None:
        """(first row, row behind the last) to be fetched: what is seen and a page around it."""
        if all(self._has(row) for row in self.seen):
            return None
        top, height = int(self.scroll_offset.y), max(self.size.height, 1)
        return max(top - height, 0), min(top + 2 * height, len(self.model))

    def _has(self, row: int) -> bool:
        at = self.model.at(row)
        return not isinstance(at, int) or at in self._lines

    def reshape(self) -> None:
        """Show the model's rows as they are now; the cursor stays with its record."""
        before, n_rows = self.cursor, len(self.model)
        if self.follows or self.kept is None:
            self.cursor = max(n_rows - 1, 0)
        else:
            self.cursor = self.model.row_of(self.kept)
        top = int(self.scroll_offset.y) + self.cursor - before
        self.virtual_size = Size(self.size.width, n_rows)
        self.scroll_to_line(top)
        self.show_cursor()
        self._settle(is_new=False)

    def _settle(self, *, is_new: bool) -> None:
        here = self.here
        if is_new or self.follows or self.kept is None:
            self.kept = here.first if isinstance(here, Gap) else here
        self._seek()
        self.refresh()
        self.post_message(self.Changed())

    # Moving.

    def go_to(self, offset: int) -> None:
        """Put the cursor on the record at an offset, or where it will be."""
        self.follows, self.kept = False, offset
        self.reshape()

    def follow(self) -> None:
        """Put the cursor on the last row, and keep it there whatever comes."""
        self.follows = True
        self.reshape()

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a row."""
        if not len(self.model):
            return
        self.cursor = min(max(line, 0), len(self.model) - 1)
        self.follows = self.cursor == len(self.model) - 1
        self.show_cursor()
        self._settle(is_new=True)

    def action_edge(self, is_end: bool) -> None:
        """Go to the first or last row."""
        if is_end:
            self.follow()
            return
        self.go_to_line(0)
        if isinstance(self.here, Gap):
            self.follows = False  # the first record is wanted, as soon as it is known

    def action_batch(self, by: int) -> None:
        """Go to the first record of the next batch, or of this one or the one before."""
        if len(self.model):
            self.go_to_line(self.model.batch_beside(self.cursor, by))

    def action_scroll_line(self, by: int) -> None:
        """Show what stands to the right of the lines, or to the left; offsets and types stay."""
        left = self.left + by * max(self._room() // 2, 1)
        self.left = min(max(left, 0), self._most_left())
        self.refresh()
        self.post_message(self.Changed())

    def _most_left(self) -> int:
        """How far the lines that can be seen can be scrolled."""
        lines = (self.line_at(row) for row in self.seen)
        widest = max((self._summary(line).cell_len for line in lines if line), default=0)
        if widest <= self._room(is_scrolled=False):
            return 0
        return max(widest - self._room(), 0) + 1

    def action_choose(self) -> None:
        """Take the line of the cursor."""
        if len(self.model):
            self.post_message(self.Chosen())

    def on_resize(self) -> None:
        """Keep the cursor on the screen."""
        self.virtual_size = Size(self.size.width, len(self.model))
        self.show_cursor()
        self.post_message(self.Changed())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell that other lines can be seen."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Changed())

    @property
    def is_near_gap(self) -> bool:
        """Whether some of what is around the cursor is not looked through yet."""
        height = max(self.size.height, 1)
        rows = range(max(self.cursor - height, 0), min(self.cursor + height, len(self.model)))
        return any(isinstance(self.model.at(row), Gap) for row in rows)

    # Drawing.

    def header(self) -> str:
        """Names of the columns, as wide as they are drawn."""
        offset, time, epoch, kind = self._widths()
        day = next(iter(self._days)) if len(self._days) == 1 else ""
        beside = "" if self.left else f"{f'time {day}':<{time}} {_EPOCH[:epoch]:>{epoch}} "
        return f"  {'offset':>{offset}} {beside}{'type':<{kind}} "

    def _widths(self) -> tuple[int, int, int, int]:
        n_rows = len(self.model)
        last = self.model.at(n_rows - 1) if n_rows else 0
        offset = max(len(str(last.last if isinstance(last, Gap) else last)), 6)
        is_wide = self.size.width >= WIDE
        time = 12 if is_wide else 8
        # `time 11-22` is as wide as any time of day; more days are beside each time.
        time = max(time, 10) if len(self._days) == 1 else time + 6
        epoch = max(self._epoch, len(_EPOCH)) if self.size.width >= _LOW else self._epoch
        return min(offset, 19), time, epoch, TYPE if is_wide else _TYPE

    def _room(self, *, is_scrolled: bool = True) -> int:
        """Columns for what stands behind the type."""
        offset, time, epoch, kind = self._widths()
        beside = 0 if is_scrolled else time + epoch + 2
        return max(self._width - offset - 3 - beside - kind - 1, 1)

    @property
    def _width(self) -> int:
        """Columns of a line: without the scroll bar."""
        return self.scrollable_content_region.width

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        width, row = self._width, int(self.scroll_offset.y) + y
        base = self.rich_style
        if row >= len(self.model):
            if y or not self.empty:
                return Strip.blank(width, base)
            dim = base + over_widget(self, "record-list--dim")
            return Strip([Segment(f" {self.empty}", dim)]).adjust_cell_length(width, base)
        is_cursor = row == self.cursor
        if is_cursor:
            name = "cursor" if self.has_focus else "blurred"
            base = self.get_component_rich_style(f"record-list--{name}")
        text = self._text(row, is_cursor)
        text.truncate(width, overflow="ellipsis")
        segments = [
            Segment(segment.text, base + segment.style if segment.style else base)
            for segment in text.render(self.app.console)
            if segment.text
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def _text(self, row: int, is_cursor: bool) -> Text:
        at = self.model.at(row)
        mark = _MARK if is_cursor else " "
        dim = Style() if is_cursor else over_widget(self, "record-list--dim")
        if isinstance(at, Gap):
            what = f"{mark} … offsets {at.first} to {at.last}: not looked through yet"
            return Text(what, dim, no_wrap=True, end="")
        head = Text(mark, no_wrap=True, end="")
        head.append(_BRACKET[self.model.ends_of_batch(row)], dim)
        head.append(f"{at:>{self._widths()[0]}} ")
        line = self._lines.get(at)
        if line is None:
            return head.append(LOADING, dim)
        _, time, epoch, kind = self._widths()

        def style(name: str) -> Style:
            return Style() if is_cursor else over_widget(self, f"record-list--{name}")

        if not self.left:
            head.append(f"{self._time(line):<{time}} {line.epoch:>{epoch}} ", style("dim"))
        shown_kind = escape(line.type.removesuffix("_RECORD"))
        if line.is_bad:
            head.append(f"{_BAD}{shown_kind} ", style("bad"))
        else:
            head.append(f"{_cut(shown_kind, kind):<{kind}} ", style("type"))
        summary = self._summary(line, style("bad") if line.is_bad else None)
        if self.left <= 1:
            return head.append_text(summary)
        behind = summary.divide([_at_column(summary.plain, self.left)])[1]
        return head.append(_MORE, dim).append_text(behind)

    def _time(self, line: RecordLine) -> str:
        """When a record was written, without the day where all have the same."""
        day, time = line.time[_DAY], line.time[11 : 23 if self.size.width >= WIDE else 19]
        return time if len(self._days) <= 1 else f"{day} {time}"

    def _summary(self, line: RecordLine, style: Style | None = None) -> Text:
        """The text behind the type, with the matches of a search marked."""
        told, spans = short_line(line, self.pattern)
        summary = escape(told[:_LONGEST])
        text = Text(no_wrap=True, end="")
        text.append(summary, style)
        if len(told) > _LONGEST:
            text.append(_MORE)
        if spans and summary == told:
            marked = self.get_component_rich_style("record-list--match")
            for first, behind in spans:
                text.stylize(marked, first, behind)
        return text


def _at_column(text: str, column: int) -> int:
    """Index of the first character that begins at a column or behind it."""
    if text.isascii():
        return min(column, len(text))
    used = 0
    for i, character in enumerate(text):
        if used >= column:
            return i
        used += display_width(character)
    return len(text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + _MORE
