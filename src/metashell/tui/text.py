"""Data as text on the screen: never markup, and with nothing that steers a terminal."""

from __future__ import annotations

from datetime import datetime
from string import digits
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.content import Content

from metashell.errors import MetashellError
from metashell.fs.escape import diagnostic, escape, escape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widgets import Static

_BETWEEN: Final = Content("  ")


def error_lines(error: MetashellError) -> list[str]:
    """The message and the hint, a line each."""
    return [diagnostic(line) for line in error.lines("")]


def error_text(error: MetashellError) -> str:
    """The message and the hint, below each other."""
    return "\n".join(error_lines(error))


def error_message(error: MetashellError) -> str:
    """The message alone, in a line."""
    return diagnostic(error.message)


def line(text: str, style: str = "") -> Content:
    """One line of data: control characters and line ends are written as escapes."""
    return Content.styled(escape(text), style) if style else Content(escape(text))


def seconds_text(time: datetime | str) -> str:
    """A time without its fraction; one of no calendar as it is."""
    return time if isinstance(time, str) else f"{time:%Y-%m-%d %H:%M:%SZ}"


def short_time(text: str) -> str:
    """A time as ISO 8601 has it, in a line: ``2026-11-22 12:43:40Z``; what is none stays."""
    day, t, time = text.partition("T")
    return f"{day} {time.partition('.')[0].removesuffix('Z')}Z" if t else text


def say(static: Static, text: str, *, sets_width: bool = False) -> None:
    """Show a line of data where it is not shown: every layout looks at the whole screen.

    Args:
        static: Where.
        text: The line.
        sets_width: Whether the widget is as wide as its text.
    """
    said, before = line(text), static.content
    if before != said:
        width = before.cell_length if isinstance(before, Content) else 0
        static.update(said, layout=sets_width and said.cell_length != width)


def lines(text: str) -> Content:
    """Text of several lines: all but their ends is escaped."""
    return Content(escape_text(text))


def without_end(text: str, room: int) -> str:
    """A sentence or a list in at most so many cells, with … in place of the rest.

    It ends at a blank, unless that leaves half of the room empty, and never within a number.
    """
    if cell_len(text) <= room:
        return text
    if room <= 0:
        return ""
    begin = set_cell_size(text, room - 1)
    blank = begin.rfind(" ") + 1
    if blank > len(begin) // 2:
        begin = begin[:blank]
    elif text[len(begin) :][:1].isdigit():
        begin = begin.rstrip(digits)
    return f"{begin}…"


def shortened(content: Content, room: int) -> Content:
    """A line in at most so many cells, ended as `without_end` does."""
    if content.cell_length <= room:
        return content
    shown = without_end(content.plain, room)
    return content[: max(len(shown) - 1, 0)] + shown[-1:]


def fitting(facts: Sequence[Content], room: int) -> Content:
    """Facts on one line of at most so many cells, the most important first.

    A fact that does not fit is left out. The first one is cut in that case.
    """
    kept: list[Content] = []
    for fact in facts:
        if _BETWEEN.join([*kept, fact]).cell_length <= room:
            kept.append(fact)
    return _BETWEEN.join(kept or [shortened(fact, room) for fact in facts[:1]])


def cut(text: str, width: int) -> str:
    """Data as a text of at most some columns, a longer one with an ellipsis at its end."""
    # No more of a huge text is looked at than can be seen.
    shown = escape(text[: width + 1])
    if cell_len(shown) <= width and len(text) <= width + 1:
        return shown
    return set_cell_size(shown, width - 1).rstrip() + "…" if width > 0 else ""


def cut_front(text: str, width: int) -> str:
    """The end of a text, of at most some columns, a longer one with an ellipsis before it."""
    return cut(escape(text)[::-1], width)[::-1]


def cell(text: str, style: str = "", *, to_the_right: bool = False) -> Text:
    """A cell of a table, which is cut where it is too long."""
    return Text(
        escape(text),
        style,
        justify="right" if to_the_right else "left",
        no_wrap=True,
        overflow="ellipsis",
    )
