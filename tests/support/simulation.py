"""Drives an observer against a fake quorum, in memory and on a simulated clock.

Controller n listens at host ``controller-n``; nobody listens anywhere else.
"""

from __future__ import annotations

from metashell.quorum.attempts import BESIDE_S, Trouble
from metashell.quorum.observer import Observer
from metashell.quorum.steps import (
    Action,
    Connect,
    Connected,
    Elapsed,
    Event,
    Lost,
    NotConnected,
    Read,
    Received,
    Sleep,
    Stop,
)
from metashell.security.settings import Address
from support.fake_connection import FakeConnection
from support.fake_faults import Faults
from support.fake_quorum import FakeQuorum

_TRIP_S = 0.0005
"""How long a request is on its way."""
_STEP_S = 0.25
"""Time passes in steps no longer than this while an answer is due."""


class Simulation:
    """A quorum, a clock, and at most one connection.

    Args:
        quorum: Who answers.
        faults: What goes wrong on purpose.
    """

    def __init__(self, quorum: FakeQuorum, faults: Faults | None = None) -> None:
        self.quorum = quorum
        self.faults = faults or Faults()
        self.now = 0.0
        self.n_connections = 0
        self.n_requests = 0
        self.peer: FakeConnection | None = None
        self.rest = b""
        """What the peer sent and nobody has read."""
        self._greeted: dict[Address, tuple[float, FakeConnection | None]] = {}
        """Whom the observer has asked for a first answer, and when; None for nobody there."""

    def run(self, observer: Observer, until: float) -> bool:
        """Let an observer work until a time; False where it stopped before."""
        while self.now < until:
            action = observer.action(self.now)
            if isinstance(action, Stop):
                return False
            observer.tell(self.carry_out(action), self.now)
            if observer.facts.is_ready and not observer.facts.follow:
                return False
        return True

    def advance(self, until: float) -> None:
        """Let time pass, up to `until` or to what happens before."""
        self.now = max(self.now, until)

    def carry_out(self, action: Action) -> Event:
        """Do what an observer wants, in simulated time."""
        if isinstance(action, Sleep):
            if action.disconnected:
                self.peer = None
            self._greeted.clear()
            while self.now < action.until:
                self.advance(action.until)
            return Elapsed()
        if isinstance(action, Connect):
            return self.connect(action)
        self._greeted.clear()
        assert isinstance(action, Read)
        return self.exchange(action)

    def connect(self, action: Connect) -> Event:
        """Ask one address after the other for a first answer, as `metashell.quorum.race` does."""
        self.peer, self.rest, greeted = None, b"", self._greeted
        for address in [a for a in greeted if a not in action.addresses]:
            del greeted[address]
        while True:
            if self.now >= action.deadline:
                silent = (*greeted, *action.addresses)
                greeted.clear()
                return NotConnected(silent[0], "it does not answer", silent=silent[1:])
            due = self._greet_next(action)
            for address, (began, peer) in list(greeted.items()):
                event = self._looked_at(action, address, began, peer)
                if event is not None:
                    return event
            times = [began + action.limit_s for began, _ in greeted.values()]
            self.advance(min(action.deadline, due, *times, self.now + _STEP_S))

    def _greet_next(self, action: Connect) -> float:
        """Begin with the next address where it is time; returns when it is for another."""
        waiting, due = [a for a in action.addresses if a not in self._greeted], self.now
        if self._greeted:
            newest, (began, _) = list(self._greeted.items())[-1]
            first = newest == action.addresses[0]
            due = began + (action.head_start_s if first else BESIDE_S)
        if not waiting:
            return action.deadline
        if self.now >= due:
            self.n_connections += 1
            self._greeted[waiting[0]] = (self.now, self.reached(waiting[0]))
            peer = self._greeted[waiting[0]][1]
            if peer is not None:
                self.advance(self.now + _TRIP_S)
                peer.receive(action.hello, self.now)
            return self.now
        return due

    def _looked_at(
        self, action: Connect, address: Address, began: float, peer: FakeConnection | None
    ) -> Event | None:
        """What came of an address that was asked."""
        if peer is None or not peer.controller.is_up:
            del self._greeted[address]
            return NotConnected(address, "connection refused")
        data = peer.poll(self.now)
        if data:
            self.peer, self.rest = peer, data
            del self._greeted[address]
            late = [a for a, (at, _) in self._greeted.items() if self.now - at >= BESIDE_S]
            self._greeted.clear()
            return Connected(address, tuple(late))
        if peer.is_closed:
            del self._greeted[address]
            return NotConnected(
                address, "it closed the connection", Trouble.PASSING, was_closed=True
            )
        if self.now >= began + action.limit_s:
            del self._greeted[address]
            return NotConnected(address, "it does not answer", Trouble.PASSING)
        return None

    def reached(self, address: Address) -> FakeConnection | None:
        """A connection to who listens at an address; None where nobody does."""
        kind, _, number = address.host.partition("-")
        if kind != "controller" or not self.quorum.controllers[int(number)].is_up:
            return None
        return FakeConnection(self.quorum.controllers[int(number)], self.faults)

    def exchange(self, action: Read) -> Event:
        """Send, and wait for bytes."""
        peer = self.peer
        assert peer is not None
        assert len(action.into) > 0
        if action.send:
            self.n_requests += 1
            self.advance(self.now + _TRIP_S)
            peer.receive(action.send, self.now)
        while True:
            if not peer.controller.is_up:
                return Lost("it closed the connection")
            data, self.rest = self.rest or peer.poll(self.now), b""
            if data:
                n = min(len(data), len(action.into))
                action.into[:n] = data[:n]
                self.rest = data[n:]
                return Received(n)
            if peer.is_closed:
                return Lost("it closed the connection")
            if self.now >= action.deadline:
                return Lost("it does not answer", is_silence=True)
            next_time = peer.next_time() or action.deadline
            self.advance(min(action.deadline, next_time, self.now + _STEP_S))
