"""What the view of brokers says, as text."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from metashell.tui.views.broker_text import Loss, even_shares, heading, named


def test_even_shares() -> None:
    """All is shared by weight; who has none gets none."""
    assert even_shares([6, 2, 1], [1, 1, 0]) == [4.5, 4.5, None]
    assert even_shares([9, 0], [2, 1]) == [6, 3]
    assert even_shares([1, 2], [0, 0]) == [None, None]
    assert even_shares([], []) == []


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0, 0), "without broker 7: nothing else would fail"),
        ((1, 0, 0, 0), "without broker 7: 1 more partition offline"),
        ((0, 0, 3, 3), "without broker 7: 3 partitions under min ISR already"),
        (
            (4, 1, 5, 0),
            "without broker 7: 3 more partitions offline, 1 partition offline already, "
            "5 more partitions under min ISR",
        ),
    ],
)
def test_loss(counts: tuple[int, int, int, int], text: str) -> None:
    """What would fail, and what does so already."""
    assert Loss((7,), *counts).text() == text


def test_many_brokers_are_counted() -> None:
    """A line does not grow with the rack."""
    assert named((3,)) == "broker 3"
    assert named((3, 7)) == "brokers 3, 7"
    assert named(tuple(range(100))) == "100 brokers"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["active", "active"], "2 brokers · 2 active · 6 leaders, 9 replicas · │ even share"),
        (
            ["active", "fenced", "not-registered"],
            "3 brokers · 1 active, 1 fenced, 1 not-registered · │ even: 6 leaders / 1, "
            "9 replicas / 2",
        ),
    ],
)
def test_heading_says_who_shares(states: list[str], expected: str) -> None:
    """Active brokers share the leaders, registered ones the replicas; told where they differ."""
    n = len(states)
    brokers = pa.table(
        {"state": states, "leaders": [6, *[0] * (n - 1)], "replicas": [9, *[0] * (n - 1)]}
    )
    load = SimpleNamespace(brokers=brokers, racks=brokers)
    assert expected == heading(load, by_rack=False)  # type: ignore[arg-type]
