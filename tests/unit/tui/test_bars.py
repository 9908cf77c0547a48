"""Bars and lines of block characters."""

from __future__ import annotations

from metashell.commands.shared.columns import display_width
from metashell.tui.rows.signs import SHARE, bar, bars, sparkline


def test_bar_is_as_long_as_its_part() -> None:
    """The largest fills the width, half of it half, nothing nothing."""
    assert bar(8, 8, 4) == "████"
    assert bar(4, 8, 4) == "██  "
    assert bar(3, 8, 4) == "█▌  "
    assert bar(0, 8, 4) == bar(None, 8, 4) == "    "


def test_bar_of_little_is_seen() -> None:
    """What is not 0 has at least the thinnest block."""
    assert bar(1, 1_000_000, 4) == "▏   "


def test_bar_never_leaves_its_width() -> None:
    """Values out of range are cut, and there may be no scale and no room."""
    assert bar(99, 8, 4) == "████"
    assert bar(-3, 8, 4) == "    "
    assert bar(3, 0, 4) == "    "
    assert bar(3, 8, 0) == ""


def test_share_is_marked() -> None:
    """The mark stands where an even share ends, within the bar as beyond it."""
    assert bar(8, 8, 8, 4) == f"████{SHARE}███"
    assert bar(2, 8, 8, 4) == f"██  {SHARE}   "
    assert bar(2, 8, 8, 8) == f"██     {SHARE}"
    assert bar(2, 8, 8, 0) == bar(2, 8, 8)


def test_bars_have_one_scale() -> None:
    """The largest value or share takes the whole width."""
    assert bars([1, 2, None], 4) == ["██  ", "████", "    "]
    assert bars([1, 1], 8, [2, None]) == [f"████   {SHARE}", "████    "]
    assert bars([], 4) == []


def test_a_mark_hides_no_difference() -> None:
    """Narrow bars have none."""
    assert bars([32, 42, 38], 4, [37, 37, 37]) == ["███ ", "████", "███▋"]


def test_sparkline_shows_the_newest_to_the_right() -> None:
    """Values stand at their time; there is room for those to come to the left."""
    assert sparkline([0, 4, 8], 4, 4) == " ▁▅█"
    assert sparkline([], 4, 4) == "    "
    assert sparkline([1, None, 1], 3, 3) == "█ █"


def test_sparkline_keeps_peaks() -> None:
    """Each cell shows the largest of its values, and only the last ones count."""
    assert sparkline([0, 0, 9, 0], 4, 2) == "▁█"
    assert sparkline([9, 0, 0], 2, 2) == "▁▁"
    assert sparkline([1], 1, 4, largest=100) == "▂▂▂▂"


def test_widths_hold() -> None:
    """All are as wide as asked for, whatever the values."""
    for width in (1, 3, 16, 37):
        assert display_width(bar(5, 9, width, 4)) == width
        assert display_width(sparkline(list(range(200)), 150, width)) == width
