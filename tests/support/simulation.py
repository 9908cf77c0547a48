"""Drives an observer against a fake quorum, in memory and on a simulated clock.

Controller n listens at host ``controller-n``; nobody listens anywhere else.
"""

from __future__ import annotations

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

    def run(self, observer: Observer, until: float) -> bool:
        """Let an observer work until a time; False where it stopped before."""
        while self.now < until:
            action = observer.action(self.now)
            if isinstance(action, Stop):
                return False
            observer.tell(self.carry_out(action), self.now)
            if observer.is_ready and not observer.follow:
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
            while self.now < action.until:
                self.advance(action.until)
            return Elapsed()
        if isinstance(action, Connect):
            self.n_connections += 1
            return self.connect(action)
        assert isinstance(action, Read)
        return self.exchange(action)

    def connect(self, action: Connect) -> Event:
        """Connect, where somebody listens."""
        self.peer, self.rest = None, b""
        kind, _, number = action.address.host.partition("-")
        if kind != "controller" or not self.quorum.controllers[int(number)].is_up:
            return NotConnected("connection refused")
        self.peer = FakeConnection(self.quorum.controllers[int(number)], self.faults)
        return Connected()

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
