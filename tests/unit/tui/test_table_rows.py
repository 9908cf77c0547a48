"""The rows behind a table: order, filter, widths, and finding a row again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from metashell.commands.rows import columns
from metashell.commands.rows.cell_colours import with_colours
from metashell.tui.rows.cells import (
    TableRows,
    content_width,
    order_of,
    place_of,
)

TABLE = pa.table(
    {
        "topic": ["b", "a", "A", None],
        "leader": pa.array([3, None, 1, 2], pa.int32()),
        "isr": [[1, 2], [3], [], None],
    }
)


@pytest.mark.parametrize(
    ("sort", "text", "expected"),
    [
        (None, "", None),
        (("leader", False), "", [2, 3, 0, 1]),
        (("leader", True), "", [0, 3, 2, 1]),
        (("isr", False), "", [2, 0, 1, 3]),
        (None, "a", [1, 2]),
        (None, "1,2", [0]),
        (None, "3", [0, 1]),
        (None, "-", [1, 3]),
        (("topic", False), "a", [2, 1]),
        (None, "absent", []),
    ],
)
def test_order_of(sort: tuple[str, bool] | None, text: str, expected: list[int] | None) -> None:
    """Nulls come last; a filter looks at the cells as they are shown, whatever the case."""
    order = order_of(TABLE, sort, text)
    assert expected == (None if order is None else order.to_pylist())


def test_coloured_words_are_sorted_by_how_bad_they_are() -> None:
    """Of a list the first word decides; what is not known comes last, and words without a colour
    are sorted as texts.
    """
    states = pa.table({"state": ["up", "elr", None, "offline", "down,up", "broken", "offline,elr"]})
    lists = pa.table({"state": [s and s.split(",") for s in states["state"].to_pylist()]})
    column = columns.text("state", "", red=("offline", "broken"), yellow=("elr",))
    for table in (states, lists):
        coloured = with_colours(table, (column,))
        assert [3, 6, 5, 1, 4, 0, 2] == order_of(coloured, ("state", False), "").to_pylist()  # type: ignore[union-attr]
        assert [0, 4, 1, 5, 6, 3, 2] == order_of(coloured, ("state", True), "").to_pylist()  # type: ignore[union-attr]


def test_numbers_are_left_out_where_they_cannot_hold_a_text() -> None:
    """A null is a dash in every column, and times have letters too."""
    times = pa.table({"at": pa.array([0, None], pa.timestamp("ms", "UTC"))})
    assert [0] == order_of(times, None, "1970-01-01t").to_pylist()  # type: ignore[union-attr]
    assert [] == order_of(times, None, "x").to_pylist()  # type: ignore[union-attr]


def test_filter_of_lists() -> None:
    """A text without a comma lies within one element, also of a part of a longer column."""
    lists = pa.table({"of": [["up"], None, [], ["down", "Up again"], [None], ["x"]]})
    assert [0, 3] == order_of(lists, None, "up").to_pylist()  # type: ignore[union-attr]
    assert [1] == order_of(lists.slice(2), None, "up").to_pylist()  # type: ignore[union-attr]
    assert [1] == order_of(lists.slice(2), None, "down,u").to_pylist()  # type: ignore[union-attr]
    assert [5] == order_of(lists, None, "X").to_pylist()  # type: ignore[union-attr]


def test_cancelled() -> None:
    """What nobody wants any more ends."""
    with pytest.raises(KeyboardInterrupt):
        order_of(TABLE, None, "a", lambda: True)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, None),
        ({"topic": "a", "leader": 7}, 1),
        ({"topic": None, "leader": 2}, 3),
        ({"topic": "gone", "leader": 3}, None),
        ({"leader": "no number"}, None),
    ],
)
def test_place_of(row: dict[str, Any] | None, expected: int | None) -> None:
    """A row is about the same where its first column is the same."""
    assert expected == place_of(TABLE, row)


def test_place_of_with_several_columns() -> None:
    """Where several rows begin alike, the next columns decide."""
    table = pa.table({"topic": ["a", "a", "a"], "partition": [0, 1, 2], "leader": [5, 5, 5]})
    assert 1 == place_of(table, {"topic": "a", "partition": 1, "leader": 9})
    assert 0 == place_of(table, {"topic": "a", "partition": 7, "leader": 9})


def test_cells() -> None:
    """Numbers stand to the right, null is a dash, marks stand in front, texts are safe."""
    table = pa.table({"name": ["[bold]x[/]", "\x1b[31m\n"], "n": pa.array([None, 12], pa.int64())})
    rows = TableRows(table, ["name", "n"], pa.array([1, 0]), pa.array([True, False]))
    assert [r"  \x1b[31m\n", "12"] == [cell.plain for cell in rows.row(0)]
    assert ["• [bold]x[/]", "-"] == [cell.plain for cell in rows.row(1)]
    assert "right" == rows.row(0)[1].justify
    assert [12, 2] == rows.widths
    with pytest.raises(IndexError):
        rows.row(2)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([], 0),
        ([1, -100, 7], 4),
        ([None], 1),
        (["漢漢", "abc"], 4),
        (["x"] * 10_000 + ["long one"], 8),
    ],
)
def test_content_width(column: list[Any], expected: int) -> None:
    """Columns are as wide as what is in them, the last rows too."""
    kind = pa.int64() if column and not isinstance(column[0], str) else pa.string()
    assert expected == content_width(pa.chunked_array([pa.array(column, kind)]))


def test_texts_that_are_held_once() -> None:
    """A column whose texts are held once is shown, sorted and filtered as any other."""
    texts = ["beta", "alpha", None, "beta"]
    once = pa.table({"n": [1, 2, 3, 4], "text": pa.array(texts).dictionary_encode()})
    each = pa.table({"n": [1, 2, 3, 4], "text": texts})
    for sort, text in ((("text", False), ""), (("text", True), "a"), (None, "alp"), (None, "-")):
        assert order_of(once, sort, text) == order_of(each, sort, text)
    assert [cell.plain for cell in TableRows(once, ["text"], None, None).row(1)] == ["alpha"]
    assert content_width(once.column("text")) == content_width(each.column("text"))
    assert place_of(once, {"n": 2, "text": "alpha"}) == 1
