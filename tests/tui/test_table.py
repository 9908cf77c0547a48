"""The table that all views show their rows in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pyarrow as pa
import pytest
from textual.app import ComposeResult
from textual.screen import Screen

from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import NOT_ZERO, integer, text, texts
from metashell.tui.part import AppPart
from metashell.tui.rows.table import RowTable
from support.pilot import SMALL, Driver, drive

ROWS = pa.table(
    {
        "name": [f"topic-{i:02}" for i in range(30)],
        "partitions": pa.array([i * 7 % 30 for i in range(30)], pa.int32()),
        "leader": pa.array([None, *range(29)], pa.int32()),
    }
)


def other_rows(number: int) -> pa.Table:
    """The same rows under other names."""
    names = [f"other-{number}-{i}" for i in range(30)]
    return ROWS.set_column(0, "name", pa.array(names))


class OneTable(AppPart, Screen[None]):
    """A screen with nothing but a table, which keeps what the table told."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[str] = []
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        """The table."""
        yield RowTable()

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Keep where the cursor went."""
        self.moved.append(event.row["name"])

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Keep what was taken."""
        self.chosen.append(event.row["name"])


def with_table(
    test: Callable[[Driver, RowTable, OneTable], Awaitable[None]],
    table: pa.Table = ROWS,
    size: tuple[int, int] = SMALL,
) -> None:
    """Run a test on a table that shows some rows and has the focus."""

    async def run(driver: Driver) -> None:
        screen = OneTable()
        await driver.app.push_screen(screen)
        shown = driver.one(RowTable)
        shown.focus()
        shown.show(table)
        await driver.settled()
        await test(driver, shown, screen)

    drive(run, size=size)


def names(table: RowTable) -> list[str]:
    """The names shown, in order."""
    assert table.shown is not None
    found: list[str] = table.shown.column("name").to_pylist()
    return found


def test_keys() -> None:
    """Rows and columns are gone through with the arrows, and taken with Enter."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        await driver.press("down", "down", "right", "right", "right", "left", "enter")
        assert "topic-02" == table.row["name"]  # type: ignore[index]
        assert ["topic-00", "topic-01", "topic-02"] == screen.moved
        assert ["topic-02"] == screen.chosen
        # The first row is seen, so the cursor stays on its row only where that can be seen too.
        await driver.press("end", "s")
        assert "topic-29" == table.row["name"]  # type: ignore[index]
        assert (6, 0) == (table.cursor, table.scroll_offset.y)
        assert ("partitions", True) == table.sorted_by
        await driver.press("s")
        assert 0 == table.row["partitions"]  # type: ignore[index]
        assert (0, 0) == (table.cursor, table.scroll_offset.y)
        assert ("partitions", False) == table.sorted_by
        await driver.press("s")
        assert table.sorted_by is None
        await driver.press("s")
        assert [29, 28, 27] == table.shown.column("partitions").to_pylist()[:3]  # type: ignore[union-attr]
        assert "partitions ▼" in driver.screen()
        await driver.press("end")
        assert table.n_lines - 1 == table.cursor

    with_table(test)


def test_cursor_stays_on_its_row() -> None:
    """The cursor and what is on the screen stay where they are when rows come and go above."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        many = pa.concat_tables([ROWS, *[other_rows(i) for i in range(4)]])
        table.show(many)
        table.go_to_line(60)
        await driver.settled()
        table.go_to_line(55)
        await driver.settled()
        above = table.cursor - table.scroll_offset.y
        assert 0 < above < 22
        table.show(many.slice(20))
        await driver.settled()
        assert 35 == table.cursor
        assert above == table.cursor - table.scroll_offset.y
        table.show(pa.concat_tables([ROWS.slice(0, 0), many]))
        await driver.settled()
        assert above == table.cursor - table.scroll_offset.y
        table.show(ROWS)
        table.go_to_line(25)
        await driver.settled()
        assert "topic-25" == table.row["name"]  # type: ignore[index]
        table.sort_by("partitions")
        await driver.settled()
        assert "topic-25" == table.row["name"]  # type: ignore[index]
        assert "topic-25" == screen.moved[-1]
        table.show(ROWS.slice(0, 20))
        await driver.settled()
        assert ("partitions", False) == table.sorted_by
        assert table.row is not None

    with_table(test)


def test_filter() -> None:
    """Rows without the text go, order and cursor stay; without any that is said."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        table.sort_by("name", descending=True)
        table.filter_by("TOPIC-0")
        await driver.settled()
        assert [f"topic-{i:02}" for i in range(9, -1, -1)] == names(table)
        assert "topic-00" == table.row["name"]  # type: ignore[index]
        table.filter_by("absent")
        await driver.settled()
        assert [] == names(table)
        assert table.row is None
        assert "no row contains 'absent'" in driver.screen()
        await driver.press("down", "enter", "s", "right", "ctrl+c")
        table.filter_by("")
        await driver.settled()
        assert 30 == table.n_lines

    with_table(test)


def test_afresh() -> None:
    """Rows about something else begin with neither order nor filter, at the row given."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        table.sort_by("leader")
        table.filter_by("topic")
        await driver.settled()
        table.show(ROWS, afresh=True, at={"name": "topic-21"})
        await driver.settled()
        assert table.sorted_by is None
        assert "" == table.filter_text
        assert "topic-21" == table.row["name"]  # type: ignore[index]
        assert "topic-21" in driver.screen()

    with_table(test)


def test_columns() -> None:
    """Columns can be left out, which is kept for rows of the same columns."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        table.show(ROWS, first=("name", "leader"))
        await driver.settled()
        assert ("name", "leader") == table.columns_shown
        await driver.press("c", "space", "down", "down", "space", "enter")
        assert ("leader", "partitions") == table.columns_shown
        table.show(ROWS, first=("name",))
        assert ("leader", "partitions") == table.columns_shown
        assert table.shown is not None
        assert ["leader", "partitions"] == table.shown.column_names
        assert {"name", "leader", "partitions"} == set(table.row or ())
        await driver.press("c", "space", "escape")
        assert ("leader", "partitions") == table.columns_shown

    with_table(test)


def test_copies_the_row() -> None:
    """The row is copied as it is shown."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        await driver.press("ctrl+c")
        assert "topic-00\t0\t-" == driver.app.clipboard

    with_table(test)


def test_hostile_names() -> None:
    """Names are shown as they are, and steer nothing."""
    hostile = ["[bold]x[/]", "\x1b[2J", "a\nb", "\u202eabc", "", "漢字" * 60, "x" * 200]
    rows = pa.table({"name": hostile, "n\x1b": list(range(7))})

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        text = driver.screen()
        for shown in ("[bold]x[/]", r"\x1b[2J", r"a\nb", r"\u202eabc", "漢字", "xxx", r"n\x1b"):
            assert shown in text
        assert "\x1b" not in text
        for key in ("right", "s", "end", "home", "left"):
            await driver.press(key)
        assert {*hostile} == {*names(table)}

    with_table(test, rows)


def test_wide_first_column_scrolls() -> None:
    """A first column that takes most of the room does not stand still."""
    rows = pa.table({"name": ["x" * 200], "a": ["y" * 200], "b": [1]})

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        await driver.press("right", "right")
        assert "b" in driver.screen().splitlines()[0]
        assert "1" in driver.screen().splitlines()[1]

    with_table(test, rows, size=(40, 10))


def test_mouse() -> None:
    """A click on a header sorts, a double click on a row takes it."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        await driver.pilot.click(table, offset=(3, 0))
        await driver.settled()
        assert ("name", False) == table.sorted_by
        await driver.pilot.click(table, offset=(3, 3), times=2)
        await driver.settled()
        assert ["topic-02"] == screen.chosen

    with_table(test)


def test_no_rows() -> None:
    """A table without rows, and one without columns, can be looked at."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert "nothing here" in driver.screen()
        table.show(pa.table({}))
        await driver.settled()
        for key in ("down", "right", "s", "enter", "c", "escape"):
            await driver.press(key)
        assert [] == screen.chosen

    with_table(test, ROWS.slice(0, 0))


STATES = with_colours(
    pa.table(
        {
            "name": ["a", "b", "c"],
            "under_replicated": pa.array([0, 3, 1], pa.int32()),
            "state": ["ok", "offline", "elr,offline"],
            "since_time": pa.array([86_400_000, 90_061_000, None], pa.timestamp("ms", tz="UTC")),
            "updated": pa.array([1, 2, 3], pa.int64()),
        }
    ),
    (
        integer("under_replicated", "", yellow=NOT_ZERO),
        text("state", "", red=("offline",), yellow=("elr",)),
    ),
)


def test_colours_headers_and_times() -> None:
    """Cells have the colours that columns declare; headers are words, times short; copies whole."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert table._rows is not None
        styles = [[str(cell.style) for cell in table._rows.row(i)] for i in range(3)]
        assert ["", "", "", "", ""] == styles[0]
        assert ["", "yellow", "red", "", ""] == styles[1]
        assert ["", "yellow", "yellow", "", ""] == styles[2]
        shown = driver.screen()
        assert "under replicated" in shown
        assert "since 01-02" in shown
        assert "01:01:01" in shown
        assert "1970" not in shown
        await driver.press("down", "ctrl+c")
        assert "b\t3\toffline\t1970-01-02T01:01:01.000Z\t2" == driver.app.clipboard

    with_table(test, STATES)


def test_a_column_that_is_not_shown_colours_the_name() -> None:
    """The first cell has the colour of what is not shown; others have their own."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        red, yellow, usual = (
            table.get_component_rich_style(f"row-table--{name}").color
            for name in ("red", "yellow", "row")
        )
        table.show(STATES, first=("updated", "name", "under_replicated"))
        await driver.settled()

        def drawn(y: int) -> list[object]:
            return [s.style.color for s in table.render_line(y) if s.text.strip() and s.style]

        assert [red, usual, yellow] == drawn(2)
        assert [yellow, usual, yellow] == drawn(3)

    with_table(test, STATES)


PATH, LONG = "/image/topics/byName/orders/10", "0123456789" * 6
WIDE_TEXTS = pa.table(
    {
        "name": ["a", "b"],
        "configs": [["x=" + "1" * 70], ["y=2"]],
        "created": ["2026-11-22T12:17:58"] * 2,
        "changed": ["2026-11-22T12:28:45"] * 2,
    }
)


def test_a_wide_text_leaves_room_for_what_comes_behind_it() -> None:
    """It is narrowed as far as all columns fit then; where they do not, a part of it is seen."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        widths = [width for _, width in table.seen_columns]
        assert sum(widths) == table.size.width == 100
        assert [21, 21] == widths[2:]
        assert "12:28:45" in driver.screen()
        many = WIDE_TEXTS
        for i in range(4):
            many = many.append_column(f"also_{i}", WIDE_TEXTS["changed"])
        table.show(many)
        await driver.settled()
        assert (1, 22) == table.seen_columns[1]
        assert table.goes_on

    with_table(test, WIDE_TEXTS, size=(100, 30))


def test_a_text_gives_way_only_to_what_needs_less() -> None:
    """The last column, which needs more, is cut; one can scroll to the rest."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert f"one   {PATH}  0123" in driver.screen()
        await driver.press("right", "right")
        assert LONG in driver.screen()
        short = {"name": ["one"], "path": [PATH * 2], "what": ["short"]}
        table.show(pa.table(short))
        await driver.settled()
        assert not table.n_passed
        assert " short" in driver.screen()

    rows = {"name": ["one"], "path": [PATH], "what": [LONG]}
    with_table(test, pa.table(rows))


@pytest.mark.parametrize("width", [34, 46, 60, 80])
def test_words_that_decide_are_whole(width: int) -> None:
    """A state, an operation or a number is seen whole, or not at all; other texts are cut."""
    words = ["under-replicated", "offline", "DESCRIBE_CONFIGS", "1234567", "12:17:58"]
    rows = with_colours(
        pa.table(
            {
                "name": ["a-topic-with-a-long-name"],
                "state": [words[0]],
                "health": pa.array([words[1:2]]),
                "operation": [words[2]],
                "offset": [int(words[3])],
                "since_time": pa.array([1_795_000_678_000], pa.timestamp("ms", tz="UTC")),
                "why": ["because of something that is long"],
            }
        ),
        (text("state", "", yellow=(words[0],)), texts("health", "", red=(words[1],))),
    )

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        for _ in range(len(rows.column_names)):
            cells = driver.screen().splitlines()[1].split()
            cut = [cell for cell in cells if "…" in cell]
            decisive = {*words, "11:17:58", "09:17:58"}
            assert not [word for word in decisive for c in cut if c.startswith(word[:3])]
            await driver.press("right")

    with_table(test, rows, size=(width, 10))


def test_the_header_says_that_columns_follow() -> None:
    """It does so beside a scroll bar, and no more at the end, where all is whole."""

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        def ends() -> list[str]:
            lines = driver.screen().splitlines()[:2]
            return [line[: table.size.width - 1].rstrip()[-4:] for line in lines]

        assert table.show_vertical_scrollbar
        assert ends()[0].endswith("›")
        await driver.press("right", "right", "right")
        assert ["ber2", "5680"] == ends()

    n, size = 40, (34, 12)
    wide = pa.table({
        "name": ["0123456789"] * n, **{f"number{i}": [i + 12345678] * n for i in range(3)},
    })  # fmt: skip
    with_table(test, wide, size=size)


def test_lists_show_their_worst() -> None:
    """Of a list that begins with the worst that alone is shown; a copied row has all."""
    rows = with_colours(
        pa.table({"name": ["a"], "state": pa.array([["offline", "elr"]])}),
        (texts("state", "", worst_first=True, red=("offline",)),),
    )

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert "offline" in driver.screen()
        assert "elr" not in driver.screen()
        await driver.press("ctrl+c")
        assert "a\toffline,elr" == driver.app.clipboard

    with_table(test, rows)


def test_right_scrolls_where_columns_do_not_fit() -> None:
    """Each press but the first scrolls by a column; at the end the last one is seen whole."""
    rows = pa.table(
        {"name": ["a" * 8], **{f"c{i}": ["x" * 7] for i in range(8)}, "why": ["w" * 40]}
    )

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert 0 == table.n_passed
        assert driver.screen().splitlines()[0].endswith("›")
        await driver.press("right")
        assert (1, 0) == (table.cursor_column, table.n_passed)
        seen = [0]
        while "w" * 40 not in driver.screen():
            await driver.press("right")
            assert table.n_passed > seen[-1]
            assert len(seen) + 1 == table.cursor_column
            seen.append(table.n_passed)
        await driver.press("end", *["right"] * 9)
        assert 9 == table.cursor_column
        await driver.press(*["left"] * 9)
        assert (0, 0) == (table.cursor_column, table.n_passed)
        await driver.press("ctrl+right")
        assert "w" * 40 in driver.screen()
        await driver.press("ctrl+left")
        assert 0 == table.n_passed

    with_table(test, rows, size=(62, 10))


def test_headers_keep_no_room_for_arrows_where_columns_do_not_fit() -> None:
    """Only the column that decides about the order has its arrow then."""
    rows = pa.table({"name": ["a"], "partition": [1], "leader": [2], "why": ["because of it"]})

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        assert "because of it" in driver.screen()
        assert not table.goes_on

    with_table(test, rows, size=(44, 10))


def test_a_column_stays_beside_the_fixed_one() -> None:
    """No part of another one is seen there, also where a header before it gets wider."""
    rows = pa.table(
        {"name": ["a", "b"], **{f"number_{i}": [4242 + i, 8] for i in range(6)}, "y": ["z" * 9] * 2}
    )

    async def test(driver: Driver, table: RowTable, screen: OneTable) -> None:
        await driver.press("right", "right", "right")
        before = table.seen_columns[1]
        assert 3 == before[0]
        assert ["a", "4244"] == driver.screen().splitlines()[1].split()[:2]
        table.sort_by("number_0")
        await driver.settled()
        assert before[0] == table.seen_columns[1][0]
        assert table.column_at(0) == 0
        assert table.column_at(table.seen_columns[0][1]) == 3
        assert table.column_at(200) is None

    with_table(test, rows, size=(40, 10))


def test_a_table_that_is_being_arranged_takes_another_size() -> None:
    """The columns that are drawn stay until the rows with others are in order."""

    async def test(driver: Driver, table: RowTable, _screen: OneTable) -> None:
        table.show(ROWS, first=("name",))
        table.sort_by("name", descending=True)
        await driver.settled()
        table.show(ROWS)
        assert ("name",) == table.columns_shown
        await driver.pilot.resize_terminal(60, 20)
        await driver.settled()
        assert tuple(ROWS.column_names) == table.columns_shown
        assert "topic-29" == names(table)[0]

    with_table(test)
