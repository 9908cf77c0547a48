"""Who is asked when for a first answer, and who wins: on a clock that is told, without threads.

With threads and sockets it is in `tests/live/test_hanging.py`.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any, cast

import pytest

from metashell.quorum.attempts import Trouble
from metashell.quorum.race import Greeting, Outcome, Race
from metashell.quorum.steps import Connect, Connected, NotConnected
from metashell.quorum.transport import Connection, Phase
from metashell.security.settings import Address
from support.waiting import LIMIT_S

A, B, C = (Address(name, 9093) for name in "abc")
REFUSED = "connection refused"


class Told:
    """A greeting that has an outcome at a time."""

    def __init__(self, address: Address, at: float, outcome: Outcome, phase: Phase) -> None:
        self.address, self.at, self.outcome, self.phase = address, at, outcome, phase
        self.is_cancelled = False

    def cancel(self) -> None:
        """Tell nothing any more."""
        self.is_cancelled = True


class World(Race):
    """A race on a clock of its own.

    Args:
        answers: By host, after how long which outcome comes; never where it is not named.
        phase: What those are at that tell nothing.
    """

    def __init__(
        self, answers: Mapping[str, tuple[float, Outcome]], phase: Phase = Phase.ANSWER
    ) -> None:
        super().__init__(None)
        self._answers, self._phase = answers, phase
        self.clock = 0.0
        self.begun: list[tuple[str, float]] = []
        self.greetings: list[Told] = []

    def now(self) -> float:
        """Told."""
        return self.clock

    def greet(self, address: Address, action: Connect) -> Greeting:
        """Begin one."""
        after, outcome = self._answers.get(address.host, (math.inf, NotConnected(address, "never")))
        self.begun.append((address.host, round(self.clock, 3)))
        self.greetings.append(Told(address, self.clock + after, outcome, self._phase))
        return cast("Greeting", self.greetings[-1])

    def wait(self, seconds: float) -> tuple[Greeting, Outcome] | None:
        """What comes by then; the clock goes on."""
        assert seconds > 0, "it waits for nothing"
        until = self.clock + seconds
        due = [g for g in self.greetings if g.at <= until and not g.is_cancelled]
        if not due:
            self.clock = until
            return None
        first = min(due, key=lambda g: g.at)
        self.clock, first.at = max(self.clock, first.at), math.inf
        return cast("Greeting", first), first.outcome

    def over(self, *addresses: Address, **options: Any) -> Connected | NotConnected | None:
        """The event, and what it is about."""
        given = {"head_start_s": 1.0, "limit_s": 10.0, "deadline": math.inf, **options}
        return self.run(Connect(addresses, b"hello", **given), lambda: False)


@pytest.fixture
def answer() -> Any:
    """A connection that has answered."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Connection(ours, A)


def test_first_that_answers_at_once(answer: Connection) -> None:
    """Nobody else is bothered."""
    world = World({"a": (0.9, answer)})
    assert world.over(A, B, C) == Connected(A)
    assert world.begun == [("a", 0.0)]
    assert world.take() is answer
    assert world.take() is None


def test_next_one_beside_it(answer: Connection) -> None:
    """After a second without an answer; who was silent is told."""
    world = World({"c": (0.2, answer)})
    assert world.over(A, B, C) == Connected(C, silent=(A, B))
    assert world.begun == [("a", 0.0), ("b", 1.0), ("c", 2.0)]
    assert world.clock == pytest.approx(2.2)


def test_late_and_yet_the_first(answer: Connection) -> None:
    """The first one may still win; who had no second is not silent."""
    world = World({"a": (1.5, answer)})
    assert world.over(A, B, C) == Connected(A)
    assert world.begun == [("a", 0.0), ("b", 1.0)]
    world.end()
    assert [g.is_cancelled for g in world.greetings] == [False, True]


def test_head_start(answer: Connection) -> None:
    """One that may only be slow is given longer; the others a second each."""
    world = World({"c": (0.1, answer)})
    assert world.over(A, B, C, head_start_s=4.0) == Connected(C, silent=(A, B))
    assert world.begun == [("a", 0.0), ("b", 4.0), ("c", 5.0)]


def test_one_that_fails_does_not_end_the_others(answer: Connection) -> None:
    """It is told, and asked for again the race goes on where it was."""
    world = World({"a": (2.3, answer), "b": (0.5, NotConnected(B, REFUSED))})
    assert world.over(A, B, C) == NotConnected(B, REFUSED)
    assert world.clock == pytest.approx(1.5)
    assert world.over(A, C) == Connected(A)
    assert world.begun == [("a", 0.0), ("b", 1.0), ("c", 1.5)]
    assert world.clock == pytest.approx(2.3)


def test_one_that_is_not_wanted_any_more(answer: Connection) -> None:
    """Its answer counts for nothing."""
    world = World({"a": (1.2, answer), "b": (0.1, NotConnected(B, REFUSED)), "c": (5.0, answer)})
    assert world.over(A, B) == NotConnected(B, REFUSED)
    assert world.over(C) == Connected(C)
    assert world.greetings[0].is_cancelled


@pytest.mark.parametrize(
    ("phase", "reason", "trouble"),
    [
        (Phase.NAME, "its name was not resolved within 10 s", Trouble.UNREACHABLE),
        (Phase.CONNECTION, "no connection within 10 s", Trouble.UNREACHABLE),
        (Phase.TLS, "no answer to the TLS handshake within 10 s", Trouble.PASSING),
        (Phase.ANSWER, "it does not answer", Trouble.PASSING),
    ],
)
def test_limit_of_one(phase: Phase, reason: str, trouble: Trouble) -> None:
    """Whatever the thread hangs in: its time is over, and what it was at is said."""
    world = World({}, phase)
    assert world.over(A) == NotConnected(A, reason, trouble)
    assert world.clock == pytest.approx(10.0)


def test_each_has_its_own_limit() -> None:
    """It counts from where it began."""
    world = World({})
    assert world.over(A, B) == NotConnected(A, "it does not answer", Trouble.PASSING)
    assert world.over(B) == NotConnected(B, "it does not answer", Trouble.PASSING)
    assert world.clock == pytest.approx(11.0)


@pytest.mark.parametrize("deadline", [0.3, 1.5, 8.0])
def test_deadline_of_all(deadline: float) -> None:
    """What is left of the time is all that any of them gets."""
    world = World({}, Phase.NAME)
    event = world.over(A, B, C, deadline=deadline)
    assert isinstance(event, NotConnected)
    assert event.reason == f"its name was not resolved within {deadline:g} s"
    n_begun = min(1 + int(deadline), 3)
    assert event.silent == (A, B, C)[1:n_begun]
    assert world.clock == pytest.approx(deadline)
    assert all(g.is_cancelled for g in world.greetings[:1])


def test_what_a_thread_raises_is_raised() -> None:
    """A mistake of ours is no silence."""
    with pytest.raises(ValueError, match="a bug"):
        World({"a": (0.1, ValueError("a bug"))}).over(A)


def test_waits_asleep() -> None:
    """Whoever waits wakes up when somebody's time may have come, not now and then."""
    world = World({})
    waited = list[float]()
    wait = world.wait

    def note(seconds: float) -> tuple[Greeting, Outcome] | None:
        waited.append(round(seconds, 3))
        return wait(seconds)

    world.wait = note  # type: ignore[method-assign]
    world.over(A, B)
    assert waited == [1.0, 1.0, 8.0]


def test_who_is_woken_stops() -> None:
    """From another thread, while nobody answers."""
    stopping, waits = threading.Event(), threading.Event()

    class Silent(World):
        """Asks nobody, and waits as a race does."""

        def now(self) -> float:
            """As it is."""
            return time.monotonic()

        def wait(self, seconds: float) -> tuple[Greeting, Outcome] | None:
            """As any race."""
            waits.set()
            return Race.wait(self, seconds)

    def stop() -> None:
        waits.wait(LIMIT_S)
        stopping.set()
        world.wake()

    world = Silent({})
    thread = threading.Thread(target=stop)
    thread.start()
    hour = Connect((A,), b"hello", head_start_s=3600, limit_s=3600, deadline=math.inf)
    assert world.run(hour, stopping.is_set) is None
    thread.join()
