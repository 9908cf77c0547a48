"""Runs an observer on real connections, in a thread of its own.

Owns the thread: what others read of the observer are single values that it replaces, and it is
never waited for long: what it sleeps in, `Follower.stop` wakes it from.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Final

from metashell.errors import InternalError, MetashellError, SourceError
from metashell.quorum.answers import read_cluster_id
from metashell.quorum.description import LiveStatus
from metashell.quorum.observer import Observer
from metashell.quorum.pace import IDLE_S
from metashell.quorum.protocol import Api, describe_cluster_body
from metashell.quorum.race import Race
from metashell.quorum.session import PeerError, QuorumSession
from metashell.quorum.steps import (
    Connect,
    Elapsed,
    Event,
    LogStore,
    Lost,
    Read,
    Received,
    Sleep,
    Stop,
)
from metashell.quorum.transport import ConnectError, Connection, LostError
from metashell.security.sasl import Mechanism, make_mechanism
from metashell.security.settings import Address, Security

THREAD: Final = "metashell-quorum"
STOP_WAIT_S: Final = 2.0


class Follower:
    """Runs an observer in a thread of its own.

    Args:
        observer: Decides what is done.
        context: Makes the TLS context; None for listeners without TLS. Called once, in the thread.
    """

    def __init__(
        self, observer: Observer, context: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self.observer = observer
        self._new_context = context
        self._race: Race | None = None
        """The controllers that are asked for a first answer, while a connection is made."""
        self._context: ssl.SSLContext | None = None
        self._connection: Connection | None = None
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self.is_over = False
        """Whether the thread does no more."""
        self._error: MetashellError | None = None
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, wait_s: float = STOP_WAIT_S) -> None:
        """End it; returns once the thread has let go of its connection, or soon after.

        Args:
            wait_s: How long to wait for that: a system call that connects can't be cut short.
        """
        self._stopping.set()
        with self._news:
            self._news.notify_all()
        race, connection = self._race, self._connection
        if race is not None:
            race.wake()
        if connection is not None:
            connection.wake()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(wait_s)

    @property
    def error(self) -> MetashellError | None:
        """Why it ended by itself."""
        return self._error or self.observer.facts.error

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something holds, the thread is over or the time is; whether it holds."""
        with self._news:
            self._news.wait_for(lambda: condition() or self.is_over, timeout_s)
        return condition()

    def ask_cluster_id(self, timeout_s: float) -> str | None:
        """Ask the leader, on a connection of its own, of which cluster it is; see `asking`.

        None, too, while there is no leader: whoever is tried then may be of another cluster.
        """
        address = self.observer.facts.address
        if address is None or not self.observer.facts.is_at_leader:
            return None
        found = ask_cluster_id(address, self.observer.new_mechanism, self._context, timeout_s)
        self.observer.leadership.pin(found)
        return found

    def status(self) -> LiveStatus:
        """How it stands."""
        observer = self.observer
        last_word, error = observer.facts.last_word, self.error
        return LiveStatus(
            leader_id=observer.facts.leader_id,
            leader_address=str(observer.facts.address) if observer.facts.is_at_leader else None,
            epoch=observer.facts.epoch if last_word is not None else None,
            high_watermark=observer.facts.high_watermark,
            end_offset=observer.facts.store.committed_end,
            last_word_s=None if last_word is None else max(time.monotonic() - last_word, 0.0),
            problem=observer.facts.problem if error is None else error.message,
            description=observer.facts.description,
            description_problem=observer.facts.description_problem,
        )

    # The thread.

    def _run(self) -> None:
        try:
            if self._new_context is not None:
                self._context = self._new_context()
            self._follow()
        except MetashellError as e:
            self._error = e
        except MemoryError:
            self._error = SourceError("the log does not fit in memory")
        except Exception as e:  # whoever waits must hear of it
            self._error = InternalError.of(e)
        finally:
            self._drop()
            self.is_over = True
            with self._news:
                self._news.notify_all()

    def _follow(self) -> None:
        seen: tuple[int, bool, bool] | None = None
        while not self._stopping.is_set():
            event = self._carry_out()
            if event is None:
                return
            self.observer.tell(event, time.monotonic())
            observer = self.observer
            now = (
                observer.facts.store.generation,
                observer.facts.is_ready,
                observer.facts.problem is None,
            )
            if now != seen:
                seen = now
                with self._news:
                    self._news.notify_all()
            if observer.facts.is_ready and not observer.facts.follow:
                return

    def _carry_out(self) -> Event | None:
        """Do what the observer wants next; None where all is done or it is to stop."""
        action = self.observer.action(time.monotonic())
        if isinstance(action, Stop):
            return None
        if isinstance(action, Connect):
            self._drop_connection()
            self._race = self._race or Race(self._context)
            event = self._race.run(action, self._stopping.is_set)
            self._connection = self._race.take()
            return event
        self._end_race()
        if isinstance(action, Sleep):
            if action.disconnected:
                self._drop_connection()
            self._stopping.wait(max(action.until - time.monotonic(), 0.0))
            return Elapsed()
        return self._exchange(action)

    def _exchange(self, action: Read) -> Event | None:
        assert self._connection is not None
        try:
            n_bytes = self._connection.exchange(
                action.send, action.into, action.deadline, self._stopping.is_set
            )
        except LostError as e:
            self._drop_connection()
            return Lost(e.reason, e.trouble, e.is_silence)
        return Received(n_bytes) if n_bytes else None

    def _drop(self) -> None:
        self._end_race()
        self._drop_connection()

    def _end_race(self) -> None:
        race, self._race = self._race, None
        if race is not None:
            race.end()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def ask_cluster_id(
    address: Address,
    new_mechanism: Callable[[str], Mechanism | None],
    context: ssl.SSLContext | None,
    timeout_s: float,
    stop: Callable[[], bool] = lambda: False,
) -> str | None:
    """The cluster's id; None where it is not told, for whatever reason.

    It is asked on a connection of its own, and only where somebody needs the answer.
    DescribeCluster of controllers needs ALTER on the cluster. Each time that it is refused, an
    error stands in the controller's log.

    Args:
        address: A controller.
        new_mechanism: Makes the SASL exchange for a connection to a host.
        context: The TLS context; None without TLS.
        timeout_s: How long all of it may take.
        stop: Asked again and again; ends it at once.
    """
    deadline = time.monotonic() + timeout_s
    try:
        connection = Connection.open(address, timeout_s, context)
    except ConnectError:
        return None
    try:
        return _answer(connection, QuorumSession(new_mechanism(address.host)), deadline, stop)
    except (LostError, PeerError, MetashellError):
        return None
    finally:
        connection.close()


def _answer(
    connection: Connection, session: QuorumSession, deadline: float, stop: Callable[[], bool]
) -> str | None:
    has_asked = False
    while True:
        if session.is_ready and not has_asked:
            if session.version_of(Api.DESCRIBE_CLUSTER) is None:
                return None
            session.request(Api.DESCRIBE_CLUSTER, describe_cluster_body())
            has_asked = True
        n_bytes = connection.exchange(session.take_outgoing(), session.buffer(), deadline, stop)
        answer = session.received(n_bytes) if n_bytes else None
        if answer is not None or not n_bytes:
            return None if answer is None else read_cluster_id(answer)


def new_follower(
    addresses: Sequence[Address],
    store: LogStore,
    security: Security,
    *,
    cluster_id: str | None,
    follow: bool,
    patience_s: float,
) -> Follower:
    """A follower that has not begun; the arguments are those of `Observer`."""
    timeout_ms = security.request_timeout_ms
    observer = Observer(
        addresses,
        store,
        new_mechanism=_mechanisms(security),
        cluster_id=cluster_id,
        follow=follow,
        patience_s=patience_s,
        silence_s=IDLE_S if timeout_ms is None else timeout_ms / 1000,
    )
    return Follower(observer, _context(security))


def _mechanisms(security: Security) -> Callable[[str], Mechanism | None]:
    settings = security.sasl
    if settings is None:
        return lambda _: None

    def make(host: str) -> Mechanism:
        return make_mechanism(settings, host)

    return make


def _context(security: Security) -> Callable[[], SSLContext] | None:
    if security.protocol not in {"SSL", "SASL_SSL"}:
        return None

    def make() -> SSLContext:
        from metashell.security.tls import make_context

        return make_context(security.tls)

    return make
