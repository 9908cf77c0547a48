"""Draws the lines of a `RowTable`: of each row the columns that are in sight."""

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
from metashell.tui.rows.widths import BLANKS
from metashell.tui.text import without_end

_LEAST_DISTANCE: Final = 0.35
"""The distance in brightness between a text that can be read and its background."""


@dataclass(frozen=True, slots=True)
class Styles:
    """The styles of a table, as they are for one picture of it."""

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
    return Styles(style, style, null, null, colours={}, on_cursor={})


def _component(table: Any, name: str) -> Style:
    style: Style = table.get_component_styles(f"row-table--{name}").rich_style
    return style


def draw_row(
    cells: Sequence[Text],
    seen: Sequence[tuple[int, int]],
    styles: Styles,
    *,
    n_fixed: int,
    width: int,
    is_cursor: bool = False,
    is_hover: bool = False,
) -> Strip:
    """Draw a row.

    Args:
        cells: Its cells.
        seen: (column, width) of each column in sight, from the left.
        styles: The styles of the table.
        n_fixed: The number of columns that stay where they are.
        width: Cells of the line.
        is_cursor: Whether the cursor is on it.
        is_hover: Whether the mouse is on it.
    """
    colours = styles.on_cursor if is_cursor else styles.colours
    over = styles.cursor if is_cursor else styles.hover if is_hover else Style.null()
    segments: list[Segment] = []
    for i, wide in seen[: len(cells)]:
        own = colours.get(str(cells[i].style), Style.null())
        usual = styles.fixed if i < n_fixed else styles.row
        segments += _cell(cells[i], wide, usual + over + own)
    return Strip(segments).adjust_cell_length(width, styles.row + over)


def _cell(cell: Text, width: int, style: Style) -> list[Segment]:
    """A cell with a blank at each side; it is cut where it is too long, but for numbers and bars.

    A part of a number would be read as another one, and longer bars would look alike.
    """
    room = max(width - BLANKS, 0)
    plain = cell.plain
    # In front there may be a mark, which has a style of its own.
    mark = min(cell.spans[0].end, room) if cell.spans else 0
    length = len(plain) if plain.isascii() else cell_len(plain)
    if length > room:
        if str(cell.style) == SIGN:
            plain = ""
        elif cell.justify == "right":
            plain = "…"[:room]
        else:
            plain = plain[:mark] + _shortened(plain[mark:], room - mark)
        length = cell_len(plain)
    gap = " " * (room - length)
    before, after = (" " + gap, " ") if cell.justify == "right" else (" ", gap + " ")
    if not cell.spans:
        return [Segment(f"{before}{plain}{after}", style)]
    marked = style + Style.parse(str(cell.spans[0].style))
    return [
        Segment(before, style),
        Segment(plain[:mark], marked),
        Segment(plain[mark:] + after, style),
    ]


def _shortened(plain: str, room: int) -> str:
    """A text in so many cells, of which the rest tells it from others.

    A path loses its beginning, a name its middle; a list, a setting or a sentence its end.
    """
    if not room:
        return ""
    if any(sign in plain for sign in " =,"):
        tail = 0
    else:
        tail = room - 1 if "/" in plain else (room - 1) // 2
    if not tail:
        return without_end(plain, room)
    end = set_cell_size(plain[::-1], tail)[::-1]
    return f"{set_cell_size(plain, room - 1 - tail)}…{end}"
