"""Samples of lag."""

from __future__ import annotations

from metashell.tui.views.quorum import LagHistory


def test_keeps_the_last_samples() -> None:
    """The oldest are forgotten."""
    history = LagHistory(3)
    for lag in range(5):
        history.add({"1": lag})
    assert history.of("1") == (2, 3, 4)
    assert history.largest == 4


def test_misses_are_gaps() -> None:
    """Who is not told of has a gap, and is forgotten when nothing but gaps is left."""
    history = LagHistory(2)
    history.add({"1": 1, "2": 7})
    history.add({"1": 2})
    assert history.of("2") == (7, None)
    history.add({"1": 3})
    assert history.of("2") == ()
    assert len(history) == 1


def test_knows_nothing_at_first() -> None:
    """Without samples there is nothing, and no largest one."""
    history = LagHistory()
    assert history.of("1") == ()
    assert history.largest == 0
