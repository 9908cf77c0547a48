"""Filters of records as chips."""

from __future__ import annotations

import pytest

import metashell
from metashell.errors import UsageError
from metashell.tui.records.filters import (
    Chip,
    chip_of,
    complete_chip,
    context_of,
    filter_of,
    grep_of,
    with_chip,
    without,
)
from support.pilot import SAMPLE


@pytest.mark.parametrize(
    ("typed", "chip"),
    [
        ("type PartitionChange", Chip("--type", "PartitionChange")),
        ("--topic 'orders *'", Chip("--topic", "orders *")),
        ("--offset=3..4", Chip("--offset", "3..4")),
        ("grep leader -1", Chip("--grep", "leader -1")),
        ("control", Chip("--control", None)),
        ("  ", None),
    ],
)
def test_chip_of(typed: str, chip: Chip | None) -> None:
    """Words of `log`, with the dashes or without."""
    assert chip_of(typed) == chip
    if chip is not None:
        assert chip_of(chip.line) == chip


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("colour red", "no such filter"),
        ("limit 3", "no such filter"),
        ("topic", "needs a value"),
        ("control yes", "takes no value"),
        ("topic a b", "takes one value"),
    ],
)
def test_no_chip(typed: str, problem: str) -> None:
    """What is no filter is told."""
    with pytest.raises(UsageError, match=problem):
        chip_of(typed)


def test_chips_together() -> None:
    """Types add up, anything else stands in for the one before."""
    one, other = Chip("--type", "Topic"), Chip("--type", "Partition")
    topic, grep = Chip("--topic", "a*"), Chip("--grep", "x")
    chips = with_chip(with_chip(with_chip([one], topic), other), grep)
    assert chips == [one, topic, other, grep]
    assert with_chip(chips, one) == chips
    assert with_chip(chips, Chip("--topic", "b*"))[1] == Chip("--topic", "b*")
    assert with_chip(chips, Chip("--grep", "y"), 1) == [one, Chip("--grep", "y"), other]
    assert without(chips, "--type") == [topic, grep]
    assert (grep_of(chips), grep_of([])) == ("x", "")


def test_filter_of() -> None:
    """Chips mean what the options of `log` mean, and are refused with its words."""
    context = context_of(metashell.open(SAMPLE))
    assert filter_of(context, []).hide == 20
    assert filter_of(context, [Chip("--all", None)]).hide is None
    wanted = filter_of(context, [Chip("--offset", "5..9"), Chip("--broker", "3")])
    assert (wanted.selection.first_offset, wanted.selection.last_offset) == (5, 9)
    assert wanted.selection.broker == 3
    with pytest.raises(UsageError, match="no such type of record"):
        filter_of(context, [Chip("--type", "Partitoin")])
    with pytest.raises(UsageError, match="not a regular expression"):
        filter_of(context, [Chip("--grep", "(")])


def test_complete_chip() -> None:
    """Filters first, then what `log` proposes as a value."""
    context = context_of(metashell.open(SAMPLE))
    assert [c.display for c in complete_chip(context, "to")] == ["topic"]
    assert "topic-027" in [c.display for c in complete_chip(context, "topic topic-02")]
    assert "PartitionChange" in [c.display for c in complete_chip(context, "type Part")]
    assert complete_chip(context, "control ") == []
    assert complete_chip(context, "nonsense ") == []
