"""What the explorer remembers: it comes back, and a broken file costs the memory alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from metashell.tui.remembered import Remembered, VisitedNode

NAMES = ("topic", "partition", "state")


def test_comes_back(tmp_path: Path) -> None:
    """Columns, sorting and bookmarks are there in the next run; the file is the owner's alone."""
    path = tmp_path / "state" / "metashell" / "explorer.json"
    one = Remembered(path)
    one.choose_columns(NAMES, ("state", "topic"))
    one.choose_sort(NAMES, ("partition", True))
    one.keep_bookmarks("id", [VisitedNode("/a"), VisitedNode("/\udc80b", 7)])
    other = Remembered(path)
    assert ("state", "topic") == other.columns(reversed(NAMES))
    assert ("partition", True) == other.sort(NAMES)
    assert [VisitedNode("/a"), VisitedNode("/\udc80b", 7)] == other.bookmarks("id")
    assert [] == other.bookmarks("other")
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    other.choose_sort(NAMES, None)
    assert Remembered(path).sort(NAMES) is None
    assert ("state", "topic") == Remembered(path).columns(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "null",
        '{"tables": 3, "bookmarks": []}',
        '{"tables": [3, {"of": [1], "shown": "x", "sort": []}], "bookmarks": {"id": 5}}',
        '{"bookmarks": {"id": [1, {"path": 3}, {"path": "a"}, null]}}',
        '{"tables": [{"of": ["a"], "shown": ["b"], "sort": "c"}]}',
    ],
)
def test_broken_files(tmp_path: Path, text: str) -> None:
    """What has another form is dropped."""
    path = tmp_path / "explorer.json"
    path.write_text(text)
    found = Remembered(path)
    assert found.columns(["a"]) is None
    assert found.sort(["a"]) is None
    assert [] == found.bookmarks("id")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """It is said once, and the program goes on with what it knows."""
    (tmp_path / "file").write_text("")
    found = Remembered(tmp_path / "file" / "metashell" / "explorer.json")
    found.choose_sort(NAMES, ("topic", False))
    assert found.problem is not None
    assert "are not kept" in found.problem
    assert ("topic", False) == found.sort(NAMES)


def test_nothing_is_kept_without_a_file() -> None:
    """Within a run it is remembered all the same."""
    found = Remembered(None)
    found.choose_columns(NAMES, ("topic",))
    assert ("topic",) == found.columns(NAMES)
    assert found.problem is None
