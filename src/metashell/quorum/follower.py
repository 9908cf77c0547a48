"""Runs an observer on real connections, in a thread of its own.

Owns the thread: what others read of the observer are single values that it replaces, and it is
never waited for longer than a slice of `transport`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError, SourceError
from metashell.quorum.description import LiveStatus
from metashell.quorum.observer import Observer
from metashell.quorum.steps import (
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
from metashell.quorum.transport import ConnectError, Connection, LostError

if TYPE_CHECKING:
    import ssl

THREAD: Final = "metashell-quorum"
_STOP_WAIT_S: Final = 2.0


class Follower:
    """An observer at work.

    Args:
        observer: What to do.
        context: Makes the TLS context; None for listeners without TLS. Called once, in the thread.
    """

    def __init__(
        self, observer: Observer, context: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self.observer = observer
        self._new_context = context
        self._context: ssl.SSLContext | None = None
        self._connection: Connection | None = None
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self._is_over = False
        self._error: MetashellError | None = None
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, wait_s: float = _STOP_WAIT_S) -> None:
        """End it; returns once the thread has let go of its connection, or soon after.

        Args:
            wait_s: How long to wait for that: a system call that connects can't be cut short.
        """
        self._stopping.set()
        with self._news:
            self._news.notify_all()
        connection = self._connection
        if connection is not None:
            connection.wake()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(wait_s)

    @property
    def error(self) -> MetashellError | None:
        """Why it ended by itself."""
        return self._error or self.observer.error

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something holds, the thread is over or the time is; whether it holds."""
        with self._news:
            self._news.wait_for(lambda: condition() or self._is_over, timeout_s)
        return condition()

    @property
    def is_over(self) -> bool:
        """Whether the thread does no more."""
        return self._is_over

    def status(self) -> LiveStatus:
        """How it stands."""
        observer = self.observer
        last_word, error = observer.last_word, self.error
        return LiveStatus(
            leader_id=observer.leader_id,
            leader_address=str(observer.address) if observer.is_at_leader else None,
            epoch=observer.epoch if last_word is not None else None,
            high_watermark=observer.high_watermark,
            end_offset=observer.store.committed_end,
            last_word_s=None if last_word is None else max(time.monotonic() - last_word, 0.0),
            problem=observer.problem if error is None else error.message,
            description=observer.description,
            description_problem=observer.description_problem,
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
            self._error = SourceError(f"following the quorum failed: {type(e).__name__}: {e}")
        finally:
            self._drop()
            self._is_over = True
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
            now = (observer.store.generation, observer.is_ready, observer.problem is None)
            if now != seen:
                seen = now
                with self._news:
                    self._news.notify_all()
            if observer.is_ready and not observer.follow:
                return

    def _carry_out(self) -> Event | None:
        """Do what the observer wants next; None where all is done or it is to stop."""
        action = self.observer.action(time.monotonic())
        if isinstance(action, Stop):
            return None
        if isinstance(action, Connect):
            self._drop()
            try:
                self._connection = Connection.open(action.address, action.timeout_s, self._context)
            except ConnectError as e:
                return NotConnected(e.reason, e.trouble)
            return Connected()
        if isinstance(action, Sleep):
            if action.disconnected:
                self._drop()
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
            self._drop()
            return Lost(e.reason, e.trouble, e.is_silence, over_tls=self._context is not None)
        return Received(n_bytes) if n_bytes else None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
