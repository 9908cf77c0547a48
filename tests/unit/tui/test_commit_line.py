"""The line of a committed offset over time."""

from __future__ import annotations

import numpy as np
import pytest

from metashell.tui.views.groups import CommitLine

T = 1_790_000_000_000


def line(*commits: tuple[int, int]) -> CommitLine:
    """A line of (ms after the first, offset)."""
    times = np.array([T + ms for ms, _ in commits], dtype=np.int64)
    offsets = np.array([offset for _, offset in commits], dtype=np.int64)
    return CommitLine("g", "orders", 0, times, offsets)


@pytest.mark.parametrize(
    ("commits", "drawn"),
    [
        ([], ""),
        ([(0, 5)], ""),
        ([(0, 0), (500, 7), (1000, 14)], "▁▁▁▁▄▄▄▄▄█"),
        ([(0, 1_000_000), (900, 1_000_001), (1000, 1_000_001)], "▁▁▁▁▁▁▁▁██"),
        ([(0, 3), (500, 9), (600, -1), (900, 4), (1000, 9)], "▁▁▁▁█xxx▂█"),
        ([(0, 1), (0, 8)], "▁▁▁▁▁█████"),
        ([(0, 4), (-5000, 6), (1000, 8)], "▄▄▄▄▄▄▄▄▄█"),
        ([(0, -1), (10, -1)], "xxxxxxxxxx"),
        ([(0, 0), (10, 2**62), (20, 2**63 - 1)], "▁▁▁▁▄▄▄▄▄█"),
    ],
)
def test_line(commits: list[tuple[int, int]], drawn: str) -> None:
    """The lowest offset is lowest; a cell shows what was committed by its end; x is removed."""
    assert line(*commits).drawn(10) == drawn
    assert line(*commits).drawn(0) == ""


def test_words() -> None:
    """They name the first and the last commit, those that went back, and what was removed."""
    assert line().text() == "no commit is left in the log"
    assert "the only commit left in the log" in line((0, 5)).text()
    told = line((0, 10), (60_000, 20), (120_000, 5), (180_000, -1)).text()
    assert "4 commits · 1 back: 20 → 5 at " in told
    assert told.startswith("10 at ")
    assert "… removed at " in told
    assert told.endswith("1 removed (x)")


def test_hostile_times_and_offsets() -> None:
    """Times of no calendar and the largest numbers do no harm."""
    times = np.array([-(2**63), 0, 2**63 - 1], dtype=np.int64)
    offsets = np.array([2**63 - 1, 0, -1], dtype=np.int64)
    wild = CommitLine("g", "t\x1b", 0, times, offsets)
    assert len(wild.drawn(20)) == 20
    assert "1 back" in wild.text()
