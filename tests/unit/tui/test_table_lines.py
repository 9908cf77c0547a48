"""The lines of a table as they are drawn."""

from __future__ import annotations

import pytest
from rich.style import Style
from rich.text import Text

from metashell.tui.rows.table_lines import Styles, draw_row
from metashell.tui.rows.widths import TableColumn, column_at
from metashell.tui.text import cell

PLAIN = Style.parse("white on black")
STYLES = Styles(
    base=PLAIN,
    fixed=PLAIN + Style(bold=True),
    row=PLAIN,
    cursor=Style(reverse=True),
    hover=Style(underline=True),
    colours={"red": Style(color="red")},
    on_cursor={},
)


def columns(*widths: int) -> list[TableColumn]:
    """Columns of some widths, without the blanks at their sides."""
    return [TableColumn(Text(""), width, width) for width in widths]


def drawn(cells: list[Text], widths: tuple[int, ...], **options: int) -> str:
    """A row as text."""
    strip = draw_row(
        cells,
        columns(*widths),
        STYLES,
        n_fixed=options.get("n_fixed", 0),
        left=options.get("left", 0),
        width=options.get("width", 12),
        room=options.get("room", options.get("width", 12)),
        is_cursor=False,
        is_hover=False,
    )
    assert strip.cell_length == options.get("width", 12)
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


@pytest.mark.parametrize(
    ("left", "expected"), [(0, " a  b  c "), (2, " a   c  d"), (3, " a  c  d "), (6, " a  d    ")]
)
def test_scrolled(left: int, expected: str) -> None:
    """The first column stays, the others go below it, cut where they begin."""
    cells = [cell(text) for text in "abcd"]
    assert expected == drawn(cells, (1, 1, 1, 1), n_fixed=1, left=left, width=9)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (12, " a  bc    42"),
        (11, " a  bc   42"),
        (10, " a  bc   …"),
        (9, " a  bc   "),
        (6, " a  bc"),
        (5, " a  …"),
    ],
)
def test_a_text_that_goes_on_behind_what_is_seen(room: int, expected: str) -> None:
    """Its end says so, also beside a scroll bar; a number moves to the left, or is not shown."""
    cells = [cell("a"), cell("bc"), cell("42", to_the_right=True)]
    seen = drawn(cells, (1, 3, 3), n_fixed=1, width=13, room=room)[: len(expected)]
    assert expected == seen


def test_cursor_and_mark() -> None:
    """The cursor is over the row's colours, and a mark is bold."""
    marked = Text.assemble(("• ", "bold"), cell("ab"), no_wrap=True)
    strip = draw_row(
        [marked, cell("c")],
        columns(4, 1),
        STYLES,
        n_fixed=0,
        left=0,
        width=12,
        room=12,
        is_cursor=True,
        is_hover=False,
    )
    styles = [(s.text, s.style) for s in strip if s.style is not None and s.style.reverse]
    assert [" ", "• ", "ab ", " c ", "   "] == [text for text, _ in styles]
    assert [None, True, None, None, None] == [style.bold for _, style in styles]


@pytest.mark.parametrize(
    ("x", "left", "expected"),
    [(0, 5, 0), (5, 5, 0), (6, 0, 1), (6, 3, 2), (9, 3, 2), (10, 3, None)],
)
def test_column_under_the_mouse(x: int, left: int, expected: int | None) -> None:
    """The first column stays, the others are scrolled; nothing is behind the last one."""
    assert expected == column_at(columns(4, 1, 2), 1, left, x)


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
        ("ab", 1, " … "),
    ],
)
def test_what_tells_it_from_others_stays(text: str, width: int, expected: str) -> None:
    """A path loses its beginning, a name its middle, and a list or a sentence its end."""
    assert expected == drawn([cell(text)], (width,), n_fixed=0, left=0, width=width + 2)


def test_a_mark_is_no_part_of_a_name() -> None:
    """It stays in front of what is left of the name."""
    marked = Text.assemble(("• ", "bold"), "abcdefgh")
    assert " • abc…gh " == drawn([marked], (8,), width=10)


@pytest.mark.parametrize(("width", "expected"), [(4, " 2050 "), (3, "   … ")])
def test_no_part_of_a_number_is_shown(width: int, expected: str) -> None:
    """It would be read as another number; a part of a bar as another share."""
    assert expected == drawn([cell("2050", to_the_right=True)], (width,), width=width + 2)


def test_no_part_of_a_bar_is_shown() -> None:
    """Longer ones would look alike; the edge of the table says that there is more."""
    assert "     " == drawn([cell("███▌", "sign")], (3,), width=5)
    assert "      …" == drawn([cell("ab"), cell("███▌", "sign")], (2, 4), width=7).replace(
        "ab", "  "
    )
