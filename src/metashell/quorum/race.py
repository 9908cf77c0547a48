"""Asks several controllers side by side for a first answer, and keeps the first that gives one.

Owns who is tried when, and how long. A trial is TCP, TLS and one request (`Greeting`), each in
a thread of its own, as the look-up of a name can't be cut short. The times of `Race` hold whatever
such a thread hangs in.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from metashell.errors import UsageError
from metashell.quorum.addresses import parse_addresses
from metashell.quorum.attempts import BESIDE_S, Trouble
from metashell.quorum.steps import Connect, Connected, NotConnected
from metashell.quorum.transport import ConnectError, Connection, LostError, Phase, in_vain
from metashell.security.settings import Address

THREAD: Final = "metashell-connect"

Outcome = Connection | NotConnected | BaseException
"""The outcome of a greeting: a connection whose answer has begun, or why there is none."""


class Greeting:
    """Connects to one address and asks it, in a thread.

    Args:
        address: The controller's address.
        action: The request, and how long it may take.
        context: The TLS context; None without TLS.
        post: Is told the outcome, once, unless it is cancelled before.
    """

    def __init__(
        self,
        address: Address,
        action: Connect,
        context: ssl.SSLContext | None,
        post: Callable[[Greeting, Outcome], None],
    ) -> None:
        self.address = address
        self.phase = Phase.NAME
        self._hello, self._limit_s = action.hello, action.limit_s
        self._context, self._post = context, post
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._socket: socket.socket | None = None
        threading.Thread(target=self._run, name=THREAD, daemon=True).start()

    def cancel(self) -> None:
        """Let it end; nothing is told of it any more."""
        with self._lock:
            self._is_cancelled, sock = True, self._socket
        if sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    # The thread.

    def _run(self) -> None:
        try:
            outcome = self._outcome()
        except BaseException as e:  # whoever waits must hear of it
            outcome = e
        with self._lock:
            self._socket = None
            if not self._is_cancelled:
                self._post(self, outcome)
            elif isinstance(outcome, Connection):
                outcome.close()

    def _outcome(self) -> Outcome:
        end = time.monotonic() + self._limit_s
        try:
            connection = Connection.open(self.address, self._limit_s, self._context, self._watch)
        except ConnectError as e:
            return NotConnected(self.address, e.reason, e.trouble)
        try:
            connection.greet(self._hello, end, lambda: self._is_cancelled)
        except LostError as e:
            connection.close()
            return NotConnected(
                self.address,
                e.reason,
                e.trouble,
                was_closed=not e.is_silence,
                over_tls=self._context is not None,
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _watch(self, phase: Phase, sock: socket.socket | None) -> None:
        with self._lock:
            if self._is_cancelled:
                raise OSError("cancelled")
            self.phase, self._socket = phase, sock


class Race:
    """The greetings that are under way.

    Args:
        context: The TLS context; None without TLS.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._running: dict[Address, tuple[float, Greeting]] = {}
        """When each began, in this order."""
        self._outcomes: SimpleQueue[tuple[Greeting, Outcome] | None] = SimpleQueue()
        """None only wakes whoever waits."""
        self._winner: Connection | None = None

    def run(self, action: Connect, stop: Callable[[], bool]) -> Connected | NotConnected | None:
        """Go on until one answers, one fails or the time is over; None where `stop` says so.

        A caller that makes `stop` true calls `wake` after that.
        """
        for address in [a for a in self._running if a not in action.addresses]:
            self._running.pop(address)[1].cancel()
        while not stop():
            now = self.now()
            lost = self._out_of_time(action, now)
            if lost is not None:
                return lost
            due = self._begin_next(action, now)
            times = [due, action.deadline]
            times += [began + action.limit_s for began, _ in self._running.values()]
            outcome = self.wait(min(times) - now)
            if outcome is not None:
                event = self._take(*outcome)
                if event is not None:
                    return event
        return None

    def wake(self) -> None:
        """Have `run` look whether to stop, from another thread."""
        self._outcomes.put(None)

    def take(self) -> Connection | None:
        """The connection that won; it is the caller's then."""
        winner, self._winner = self._winner, None
        return winner

    def end(self) -> None:
        """Let go of all that are still asked."""
        for _, greeting in self._running.values():
            greeting.cancel()
        self._running.clear()
        # Connections that were posted before their greeting was cancelled.
        with contextlib.suppress(Empty):
            while True:
                posted = self._outcomes.get_nowait()
                if posted is not None and isinstance(posted[1], Connection):
                    posted[1].close()
        if self._winner is not None:
            self._winner.close()

    # Parts that a test replaces.

    def now(self) -> float:
        """Seconds on the clock of the actions."""
        return time.monotonic()

    def wait(self, seconds: float) -> tuple[Greeting, Outcome] | None:
        """The next outcome; None where none comes in time."""
        with contextlib.suppress(Empty):
            return self._outcomes.get(timeout=max(seconds, 0.001))
        return None

    def greet(self, address: Address, action: Connect) -> Greeting:
        """Begin to ask an address."""
        return Greeting(address, action, self._context, lambda *made: self._outcomes.put(made))

    # Choosing the addresses that are asked.

    def _begin_next(self, action: Connect, now: float) -> float:
        """Begin with the next one where it is time; returns when it is time for another."""
        waiting = [a for a in action.addresses if a not in self._running]
        if not waiting:
            return action.deadline
        if self._running:
            began, newest = list(self._running.values())[-1]
            is_first = newest.address == action.addresses[0]
            due = began + (action.head_start_s if is_first else BESIDE_S)
            if now < due:
                return due
        self._running[waiting[0]] = (now, self.greet(waiting[0], action))
        return now + (action.head_start_s if waiting[0] == action.addresses[0] else BESIDE_S)

    def _out_of_time(self, action: Connect, now: float) -> NotConnected | None:
        """The event for one that has had its time, or for all of them."""
        for address, (began, greeting) in list(self._running.items()):
            is_over = now >= action.deadline
            if not is_over and now < began + action.limit_s:
                continue
            del self._running[address]
            greeting.cancel()
            phase = greeting.phase
            is_name = phase in (Phase.NAME, Phase.CONNECTION)
            return NotConnected(
                address,
                phase.value if phase is Phase.ANSWER else in_vain(phase, now - began),
                Trouble.UNREACHABLE if is_name else Trouble.PASSING,
                silent=tuple(self._running) if is_over else (),
            )
        if now < action.deadline:
            return None
        return NotConnected(action.addresses[0], Phase.ANSWER.value, Trouble.PASSING)

    def _take(self, greeting: Greeting, outcome: Outcome) -> Connected | NotConnected | None:
        """The event that an outcome is; None for that of one who was let go of."""
        began = self._running.get(greeting.address)
        if began is None or began[1] is not greeting:
            if isinstance(outcome, Connection):
                outcome.close()
            return None
        del self._running[greeting.address]
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, NotConnected):
            return outcome
        now = self.now()
        silent = tuple(a for a, (began, _) in self._running.items() if now - began >= BESIDE_S)
        self._winner = outcome
        return Connected(greeting.address, silent)


LIMIT_S: Final = 3.0
"""How long all of it takes at most."""


def unreachable(endpoints: Iterable[str], limit_s: float = LIMIT_S) -> Mapping[str, str]:
    """Connect to endpoints side by side, and close the connections at once. Nothing is sent.

    Args:
        endpoints: Such as ``CONTROLLER://host:9093``.
        limit_s: How long all of it may take.

    Returns:
        Why there is no connection, by endpoint; those that take one are left out.
    """
    reasons: dict[str, str | None] = {}

    def connect(endpoint: str) -> None:
        try:
            (address,) = parse_addresses(endpoint, "an endpoint")
            Connection.open(address, limit_s, None).close()
        except ConnectError as error:
            reasons[endpoint] = error.reason
        except UsageError as error:
            reasons[endpoint] = error.message
        else:
            reasons[endpoint] = None

    # Daemons: the look-up of a name can't be cut short.
    asked = dict.fromkeys(endpoints)
    threads = [threading.Thread(target=connect, args=(one,), daemon=True) for one in asked]
    end = time.monotonic() + limit_s
    for thread in threads:
        with suppress(RuntimeError):  # No more threads: it counts as unanswered.
            thread.start()
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(end - time.monotonic(), 0))
    known = dict(reasons)
    silent = in_vain(Phase.CONNECTION, limit_s)
    found = {endpoint: known.get(endpoint, silent) for endpoint in asked}
    return {endpoint: reason for endpoint, reason in found.items() if reason is not None}
