"""Columns: as many as fit, names running down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.commands.shared.columns import display_width, layout

GREEK = ["alphabet", "beta", "gamma", "theta", "zeta"]


@pytest.mark.parametrize(
    ("names", "width", "lines"),
    [
        ([], 80, []),
        (["a", "abcdef", "beta"], 80, ["a  abcdef  beta"]),
        (GREEK, 18, ["alphabet  theta", "beta      zeta", "gamma     "]),
        (GREEK, 16, GREEK),
        (GREEK, 0, GREEK),
        (GREEK, 7, GREEK),
        (["foo", "foobarbaz", "quux"], 18, ["foo        quux", "foobarbaz  "]),
        (["x" * 100, "y"], 80, ["x" * 100, "y"]),
        (["日本", "x", "ab"], 12, ["日本  ab", "x     "]),
    ],
)
def test_layout(names: list[str], width: int, lines: list[str]) -> None:
    """Widths, wide characters, and names that do not fit."""
    assert lines == layout(names, width)


@given(st.lists(st.text("abc", min_size=1), max_size=60), st.integers(0, 120))
def test_no_name_is_lost_and_no_line_too_wide(names: list[str], width: int) -> None:
    """All names are there, and lines wider than asked for hold one name."""
    lines = layout(names, width)
    assert sorted(names) == sorted(name for line in lines for name in line.split())
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_width_beyond_ascii() -> None:
    """Wide characters take two columns, combining ones none."""
    assert [4, 1, 2] == [display_width(text) for text in ("日本", "e\u0301", "😀")]
