"""Values computed once."""

from __future__ import annotations

from threading import Event, RLock, Thread

from metashell.lazy import lazy
from support.waiting import LIMIT_S


class Two:
    """One value that is quick, and one that takes until it may go on."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.began, self.may_end = Event(), Event()
        self.n = 0

    @lazy
    def quick(self) -> int:
        """Counts how often it is computed."""
        self.n += 1
        return self.n

    @lazy
    def slow(self) -> int:
        """Waits."""
        self.began.set()
        assert self.may_end.wait(LIMIT_S)
        return self.quick


def test_what_is_known_waits_for_nobody() -> None:
    """Another value may be computed meanwhile; each is computed once."""
    two = Two()
    assert two.quick == 1
    computing = Thread(target=lambda: two.slow)
    computing.start()
    assert two.began.wait(LIMIT_S)
    asked: list[int] = []
    asking = Thread(target=lambda: asked.append(two.quick))
    asking.start()
    asking.join(LIMIT_S)
    assert asked == [1]
    two.may_end.set()
    computing.join(LIMIT_S)
    assert (two.slow, two.n) == (1, 1)
