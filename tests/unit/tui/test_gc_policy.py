"""When garbage is looked for while the explorer runs."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator

import pytest

from metashell.tui.gc_policy import Collecting, _call_allocator, keep_all, ready_for_keys


@pytest.fixture
def thawed() -> Iterator[None]:
    """A process that has frozen nothing, other than that of the tests."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("thawed")
def test_everything_is_as_before_afterwards() -> None:
    """The program that shows the explorer keeps its own ways."""
    before = (gc.isenabled(), gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count())
    with ready_for_keys():
        assert not gc.isenabled()
        keep_all()
        assert gc.isenabled()
        assert gc.get_freeze_count()
        assert gc.get_threshold() != before[1]
    after = (gc.isenabled(), gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count())
    assert before == after


def test_nothing_is_frozen_elsewhere() -> None:
    """Where the explorer is a part of another program, that decides."""
    n_frozen, threshold = gc.get_freeze_count(), gc.get_threshold()
    keep_all()
    assert n_frozen >= gc.get_freeze_count()
    assert threshold == gc.get_threshold()


@pytest.mark.parametrize(
    ("after_s", "old", "expected"),
    [(0.1, 1000, False), (2.0, 1000, True), (2.0, 1, False), (100.0, 1000, True)],
)
def test_full_collections_wait_for_a_rest(after_s: float, old: int, expected: bool) -> None:
    """While keys are pressed none begins, unless that goes on for long."""
    collecting = Collecting()
    collecting.touch()
    assert expected == collecting.is_due(time.monotonic() + after_s, (0, 0, old))


def test_keys_put_it_off_for_a_while_only() -> None:
    """A user who never rests does not fill the memory."""
    collecting = Collecting()
    now = time.monotonic()
    collecting._collected, collecting._touched = now - 60, now
    assert collecting.is_due(now, (0, 0, 1000))


def test_memory_goes_back_where_the_allocator_can() -> None:
    """A function that the allocator does not have is not missed."""
    _call_allocator("no_such_function", 1)
    _call_allocator("malloc_trim", 0)
