"""The lines of a table as they are drawn."""

from __future__ import annotations

import pytest
from rich.style import Style
from rich.text import Text

from metashell.tui.rows.table_lines import Styles, draw_row
from metashell.tui.rows.widths import BLANKS, TableColumn, fitted, in_sight
from metashell.tui.text import cell

PLAIN = Style.parse("white on black")
STYLES = Styles(
    fixed=PLAIN + Style(bold=True),
    row=PLAIN,
    cursor=Style(reverse=True),
    hover=Style(underline=True),
    colours={"red": Style(color="red")},
    on_cursor={},
)


def drawn(cells: list[Text], widths: tuple[int, ...], width: int = 12) -> str:
    """A row as text; widths are those without the blanks at their sides."""
    seen = [(i, wide + BLANKS) for i, wide in enumerate(widths)]
    strip = draw_row(cells, seen, STYLES, n_fixed=0, width=width)
    assert strip.cell_length == width
    return strip.text


@pytest.mark.parametrize(
    ("text", "to_the_right", "expected"),
    [
        ("ab", False, " ab         "),
        ("7", True, "    7       "),
        ("abcdefg", False, " ab…g       "),
        ("ab defg", False, " ab …       "),
        ("漢字漢字", False, " 漢…        "),
        ("", False, "            "),
        ("a\nb", False, " a\\nb       "),
    ],
)
def test_cells(text: str, to_the_right: bool, expected: str) -> None:
    """Cells are cut and put to their side; wide characters count as two."""
    assert expected == drawn([cell(text, to_the_right=to_the_right)], (4,))


def wanted(*needed: int, texts: tuple[int, ...] = ()) -> list[TableColumn]:
    """Columns that want so much room; texts keep 4 cells, and their header 6."""
    return [
        TableColumn(n, min(n, 6) if i in texts else n, min(n, 4) if i in texts else n, i in texts)
        for i, n in enumerate(needed)
    ]


@pytest.mark.parametrize(
    ("room", "expected"),
    [(40, [22, 12, 5]), (33, [16, 12, 5]), (25, [10, 10, 5]), (20, [7, 7, 5]), (9, [6, 6, 5])],
)
def test_texts_give_way(room: int, expected: list[int]) -> None:
    """The widest does first, and headers after all texts; numbers stay whole."""
    assert expected == fitted(wanted(20, 10, 3, texts=(0, 1)), room)


@pytest.mark.parametrize(
    ("room", "passed", "expected"),
    [
        (30, 0, [(0, 6), (1, 8), (2, 8), (3, 8)]),
        (25, 0, [(0, 6), (1, 8), (2, 8)]),
        (25, 1, [(0, 6), (2, 8), (3, 8)]),
        (5, 0, [(0, 5)]),
    ],
)
def test_columns_in_sight(room: int, passed: int, expected: list[tuple[int, int]]) -> None:
    """The first one stays, others are passed over; a number has room for all of it."""
    assert expected == in_sight(wanted(4, 6, 6, 6), room, 1, passed)


def test_cells_left_over_go_to_texts() -> None:
    """So does the room that the edge leaves of the last one, if it is enough for a part."""
    columns = wanted(4, 20, 9, 9, texts=(1, 3))
    assert [(0, 6), (1, 8), (2, 11)] == in_sight(columns, 25, 1, 0)
    assert [(0, 6), (2, 11), (3, 8)] == in_sight(columns, 25, 1, 1)
    assert [(0, 6), (1, 22), (2, 11), (3, 11)] == in_sight(columns, 60, 1, 0)


def test_cursor_and_mark() -> None:
    """The cursor is over the row's colours, and a mark is bold."""
    marked = Text.assemble(("• ", "bold"), cell("ab"), no_wrap=True)
    strip = draw_row(
        [marked, cell("c")],
        [(0, 6), (1, 3)],
        STYLES,
        n_fixed=0,
        width=12,
        is_cursor=True,
    )
    styles = [(s.text, s.style) for s in strip if s.style is not None and s.style.reverse]
    assert [" ", "• ", "ab ", " c ", "   "] == [text for text, _ in styles]
    assert [None, True, None, None, None] == [style.bold for _, style in styles]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("TOPIC:audit-log/retention.ms", 20, " …it-log/retention.ms "),
        ("TOPIC:audit-log/retention.ms", 14, " …/retention.ms "),
        ("TOPIC:audit-log/retention.ms", 8, " …tion.ms "),
        ("leader 1/2 → 3", 8, " leader … "),
        ("from 86400000 to 3600000", 22, " from 86400000 to …     "),
        ("a 31536000000", 9, " a …       "),
        ("[104,102,103]", 8, " [104,…   "),
        ("averylongword of", 9, " averylon… "),
        ("from 86400000", 9, " from …    "),
        ("a/", 1, " … "),
        ("voters-static-3-voter-1", 16, " voters-s…voter-1 "),
        ("voters-static-3-voter-2", 16, " voters-s…voter-2 "),
        ("payments-0,payments-1", 12, " payments-0,… "),
        ("retention.ms=3600000", 15, " retention.ms=…  "),
        ("ab", 1, " … "),
    ],
)
def test_what_tells_it_from_others_stays(text: str, width: int, expected: str) -> None:
    """A path loses its beginning, a name its middle, and a list or a sentence its end."""
    assert expected == drawn([cell(text)], (width,), width=width + 2)


def test_a_mark_is_no_part_of_a_name() -> None:
    """It stays in front of what is left of the name."""
    marked = Text.assemble(("• ", "bold"), "abcdefgh")
    assert " • abc…gh " == drawn([marked], (8,), width=10)


@pytest.mark.parametrize(("width", "expected"), [(4, " 2050 "), (3, "   … ")])
def test_no_part_of_a_number_is_shown(width: int, expected: str) -> None:
    """It would be read as another number; a part of a bar as another share."""
    assert expected == drawn([cell("2050", to_the_right=True)], (width,), width=width + 2)


def test_no_part_of_a_bar_is_shown() -> None:
    """Longer ones would look alike."""
    assert "     " == drawn([cell("███▌", "sign")], (3,), width=5)
