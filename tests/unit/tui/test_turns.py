"""Turns: one job at a time works on all partitions, the newest first, and nobody waits in vain."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from metashell.tui.turns import Turns
from support.waiting import LIMIT_S


class Taker:
    """Takes a turn in a thread of its own."""

    def __init__(self, turns: Turns, said: list[str], name: str, *, is_urgent: bool = True) -> None:
        self.has_it, self.may_end = threading.Event(), threading.Event()
        self.cancelled = threading.Event()

        def work() -> None:
            with (
                suppress(KeyboardInterrupt),
                turns.take(self.cancelled.is_set, is_urgent=is_urgent),
            ):
                said.append(name)
                self.has_it.set()
                self.may_end.wait(LIMIT_S)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Have it end, and wait for that."""
        self.may_end.set()
        self.thread.join(LIMIT_S)
        assert not self.thread.is_alive()


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something."""
    pause = threading.Event()
    for _ in range(int(LIMIT_S / 0.005)):
        if is_so():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come true")


def waiting(turns: Turns) -> int:
    """How many wait."""
    return len(turns._waiting)


def test_the_newest_goes_first_and_what_is_not_urgent_last() -> None:
    """One at a time goes on."""
    turns, said = Turns(), list[str]()
    first = Taker(turns, said, "first")
    assert first.has_it.wait(LIMIT_S)
    others = []
    for n, (name, is_urgent) in enumerate((("old", True), ("new", True), ("later", False))):
        others.append(Taker(turns, said, name, is_urgent=is_urgent))
        until(lambda n=n: waiting(turns) == n + 1)  # type: ignore[misc]
    assert said == ["first"]
    first.end()
    old, new, later = others
    for each, n_said in ((new, 2), (old, 3), (later, 4)):
        assert each.has_it.wait(LIMIT_S)
        assert len(said) == n_said
        each.end()
    assert said == ["first", "new", "old", "later"]


def test_nobody_waits_for_one_that_was_cancelled() -> None:
    """Neither for who waits, nor for who still goes on."""
    turns, said = Turns(), list[str]()
    first = Taker(turns, said, "first")
    assert first.has_it.wait(LIMIT_S)
    dropped = Taker(turns, said, "dropped")
    until(lambda: waiting(turns) == 1)
    second = Taker(turns, said, "second")
    until(lambda: waiting(turns) == 2)
    dropped.cancelled.set()
    dropped.end()
    first.cancelled.set()
    assert second.has_it.wait(LIMIT_S)
    first.end()
    third = Taker(turns, said, "third")
    until(lambda: waiting(turns) == 1)
    second.end()
    assert third.has_it.wait(LIMIT_S)
    third.end()
    assert said == ["first", "second", "third"]
