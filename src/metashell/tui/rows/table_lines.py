"""Draws the lines of a `RowTable`.

The fixed columns come first, then the columns that the rest of the room shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.strip import Strip

from metashell.commands.rows.cell_colours import CellColour
from metashell.dataclass import dataclass
from metashell.tui.lines import over_widget
from metashell.tui.rows.cells import SIGN
from metashell.tui.rows.widths import BLANKS, TableColumn
from metashell.tui.text import without_end

_LEAST_DISTANCE: Final = 0.35
"""The distance in brightness between a text that can be read and its background."""


@dataclass(frozen=True, slots=True)
class Styles:
    """The styles of a table, as they are for one picture of it."""

    base: Style
    fixed: Style
    row: Style
    cursor: Style
    hover: Style
    colours: Mapping[str, Style]
    """Styles of cells that stand out, by `TableRows`' names."""
    on_cursor: Mapping[str, Style]
    """The styles that can be read on the cursor; other cells have its colour there."""


def styles_of(table: Any) -> Styles:
    """Ask a table for its styles."""
    names = (*(colour.value for colour in CellColour), SIGN)
    cursor = table.get_component_rich_style("row-table--cursor")
    colours = {name: over_widget(table, f"row-table--{name}") for name in names}
    return Styles(
        base=table.rich_style,
        fixed=_component(table, "fixed"),
        row=_component(table, "row"),
        cursor=cursor,
        hover=table.get_component_rich_style("row-table--hover"),
        colours=colours,
        on_cursor={
            name: style
            for name, style in colours.items()
            if name == SIGN or _is_seen(style, cursor)
        },
    )


def _is_seen(style: Style, behind: Style) -> bool:
    """Whether the colour of a text is told from another style's background."""
    if style.color is None or behind.bgcolor is None:
        return False
    text, ground = map(Color.from_rich_color, (style.color, behind.bgcolor))
    return abs(text.brightness - ground.brightness) >= _LEAST_DISTANCE


def header_styles_of(table: Any) -> Styles:
    """Ask a table for the styles of its header."""
    style, null = _component(table, "header"), Style.null()
    return Styles(table.rich_style, style, style, null, null, colours={}, on_cursor={})


def _component(table: Any, name: str) -> Style:
    style: Style = table.get_component_styles(f"row-table--{name}").rich_style
    return style


def draw_row(
    cells: Sequence[Text],
    columns: Sequence[TableColumn],
    styles: Styles,
    *,
    n_fixed: int,
    left: int,
    width: int,
    room: int,
    is_cursor: bool,
    is_hover: bool,
) -> Strip:
    """Draw a row.

    Args:
        cells: Its cells.
        columns: The columns, for their widths.
        styles: The styles of the table.
        n_fixed: The number of columns that stay where they are.
        left: Cells by which the others are scrolled.
        width: Cells of the line.
        room: The number of cells that are seen: a scroll bar may cover the others.
        is_cursor: Whether the cursor is on it.
        is_hover: Whether the mouse is on it.
    """
    colours = styles.on_cursor if is_cursor else styles.colours
    over = styles.cursor if is_cursor else styles.hover if is_hover else Style.null()
    fixed_style, style = styles.fixed + over, styles.row + over
    fixed: list[Segment] = []
    rest: list[Segment] = []
    at = used = 0
    skipped: int | None = None
    at_edge = cut_column(cells, columns, n_fixed=n_fixed, left=left, room=room)
    for i, (cell, column) in enumerate(zip(cells, columns, strict=False)):
        wide = column.width
        own = colours.get(str(cell.style), Style.null())
        if i < n_fixed:
            fixed += _cell(cell, wide, fixed_style + own)
            used += wide
            continue
        if at + wide > left and at - left < width - used:
            skipped = at if skipped is None else skipped
            most = room - (used + at - left) + 1
            # A cell that ends at the edge says itself that it goes on.
            ends = at >= left and 1 < most < wide and (i == at_edge or _is_whole(cell))
            rest += _cell(cell, most if ends else wide, style + own, whole=wide)
            if ends:
                at_edge = i if _is_cut_bar(cell, most - BLANKS) else None
        at += wide
    rest_width = max(width - used, 0)
    if at - left < rest_width:
        rest.append(Segment(" " * (rest_width - max(at - left, 0)), style))
    start = 0 if skipped is None else left - skipped
    shown = Strip(rest).crop(start, start + rest_width)
    strip = Strip([*fixed, *shown]) if fixed else shown
    strip = strip.adjust_cell_length(width, styles.base)
    strip = _without_cut_column(strip, columns, n_fixed=n_fixed, left=left)
    if at_edge is None:
        return strip
    return Strip([*strip.crop(0, room - 1), Segment("…", style), *strip.crop(room)])


def cut_column(
    cells: Sequence[Text], columns: Sequence[TableColumn], *, n_fixed: int, left: int, room: int
) -> int | None:
    """The column whose text is seen in part and goes on at the right edge; None if no text does.

    Args:
        cells: The texts of the line.
        columns: The columns, for their widths.
        n_fixed: How many columns stay where they are.
        left: Cells by which the others are scrolled.
        room: Cells of the line that are seen.
    """
    begin = end = sum(column.width for column in columns[:n_fixed])
    end -= left
    for i, (cell, column) in enumerate(zip(cells[n_fixed:], columns[n_fixed:], strict=False)):
        start, end = end, end + column.width
        if end > room:
            length = cell_len(cell.plain.rstrip())
            first = max(end - 1 - length, start + 1) if cell.justify == "right" else start + 1
            is_seen = max(first, begin) < room < min(first + length, end - 1)
            return n_fixed + i if is_seen else None
    return None


def _without_cut_column(
    strip: Strip, columns: Sequence[TableColumn], *, n_fixed: int, left: int
) -> Strip:
    """A line without what is seen of a column that goes on under the fixed ones.

    The end of a number would be read as a number, beside the one that is fixed. A column of which
    the end takes all the room stays: else nothing would be seen.
    """
    if not n_fixed or not left:
        return strip
    begin = sum(column.width for column in columns[:n_fixed])
    end = begin - left
    for column in columns[n_fixed:]:
        if end >= begin:
            break
        end += column.width
    if not begin < end < strip.cell_length or end - begin == column.width:
        return strip
    blanks = [Segment(" " * part.cell_length, part.style) for part in strip.crop(begin, end)]
    return Strip([*strip.crop(0, begin), *blanks, *strip.crop(end)], strip.cell_length)


def _cell(cell: Text, width: int, style: Style, *, whole: int = 0) -> list[Segment]:
    """A cell with a blank at each side, in a column of which only a width may be seen.

    It is cut where it is too long, but for numbers and bars.
    """
    room = max(width - BLANKS, 0)
    plain = cell.plain
    # In front there may be a mark, which has a style of its own.
    mark = min(cell.spans[0].end, room) if cell.spans else 0
    length = len(plain) if plain.isascii() else cell_len(plain)
    if length > room:
        is_header = cell.justify == "right" and not plain[-1:].isdigit()
        if _is_whole(cell) and not is_header:
            plain = "" if _is_cut_bar(cell, room) else "…"[:room]
        else:
            plain = plain[:mark] + _shortened(plain[mark:], room - mark)
        length = cell_len(plain)
    gap = " " * (room - length)
    before, after = (" " + gap, " ") if cell.justify == "right" else (" ", gap + " ")
    after += " " * (whole - width)
    if not cell.spans:
        return [Segment(f"{before}{plain}{after}", style)]
    marked = style + Style.parse(str(cell.spans[0].style))
    return [
        Segment(before, style),
        Segment(plain[:mark], marked),
        Segment(plain[mark:] + after, style),
    ]


def _is_whole(cell: Text) -> bool:
    """Whether a part of a cell would be false: it is a number, or a bar."""
    return cell.justify == "right" or str(cell.style) == SIGN


def _is_cut_bar(cell: Text, room: int) -> bool:
    """Whether a bar has no room: it is left out, and the edge says that there is more."""
    return str(cell.style) == SIGN and cell.cell_len > room


def _shortened(plain: str, room: int) -> str:
    """A text in so many cells, of which the rest tells it from others.

    A path loses its beginning, a name its middle, and a list or a sentence its end.
    """
    if not room:
        return ""
    if " " in plain:
        tail = 0
    elif "/" in plain:
        tail = room - 1
    else:
        tail = 0 if "," in plain else (room - 1) // 2
    if not tail:
        return without_end(plain, room)
    end = set_cell_size(plain[::-1], tail)[::-1]
    return f"{set_cell_size(plain, room - 1 - tail)}…{end}"
