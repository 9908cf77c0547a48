"""What an observer can be at, what it is told, and what it wants done: plain values.

`metashell.quorum.observer` turns events into actions; a driver with sockets
(`metashell.quorum.follower`) or a test carries the actions out and tells what came of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from metashell.quorum.attempts import Trouble
from metashell.quorum.security import Address


class State(Enum):
    """What the observer is at."""

    CHOOSING = "choosing"
    """About to connect to the next address."""
    CONNECTING = "connecting"
    OPENING = "opening"
    """Connected; versions and authentication are negotiated."""
    FETCHING = "fetching"
    """Fetch is under way, or put off for a moment."""
    FETCHING_SNAPSHOT = "fetching a snapshot"
    DESCRIBING = "describing"
    """DescribeQuorum is under way."""
    IDENTIFYING = "identifying"
    """DescribeCluster is under way."""
    WAITING = "waiting"
    """Nobody could help; the next round begins after a while."""
    FAILED = "failed"
    """It can't be done; `Observer.error` says why."""


SUCCESSORS: Final[Mapping[State, frozenset[State]]] = {
    State.CHOOSING: frozenset({State.CONNECTING, State.WAITING, State.FAILED}),
    State.CONNECTING: frozenset({State.OPENING, State.CHOOSING, State.FAILED}),
    State.OPENING: frozenset({State.FETCHING, State.CHOOSING, State.FAILED}),
    # CONNECTING: an authentication that runs out is renewed by a new connection.
    State.FETCHING: frozenset(
        {
            State.FETCHING_SNAPSHOT,
            State.DESCRIBING,
            State.IDENTIFYING,
            State.CONNECTING,
            State.CHOOSING,
            State.FAILED,
        }
    ),
    State.FETCHING_SNAPSHOT: frozenset(
        {
            State.FETCHING,
            State.IDENTIFYING,
            State.CONNECTING,
            State.CHOOSING,
            State.FAILED,
        }
    ),
    State.DESCRIBING: frozenset(
        {State.IDENTIFYING, State.FETCHING, State.CONNECTING, State.CHOOSING, State.FAILED}
    ),
    State.IDENTIFYING: frozenset({State.FETCHING, State.CONNECTING, State.CHOOSING, State.FAILED}),
    State.WAITING: frozenset({State.CHOOSING, State.FAILED}),
    State.FAILED: frozenset(),
}
"""What each state can turn into; besides, all but CHOOSING and CONNECTING can last."""


# Events.


@dataclass(frozen=True, slots=True)
class Connected:
    """The connection that was asked for is there, TLS included."""


@dataclass(frozen=True, slots=True)
class NotConnected:
    """The connection could not be made."""

    reason: str
    trouble: Trouble = Trouble.UNREACHABLE


@dataclass(frozen=True, slots=True)
class Received:
    """So many bytes were put into ``Read.into``."""

    n_bytes: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is gone, or the peer was silent for too long."""

    reason: str
    trouble: Trouble = Trouble.PASSING
    is_silence: bool = False
    over_tls: bool = False
    """Whether a TLS handshake had come to its end."""


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The time of `Sleep` is over."""


Event = Connected | NotConnected | Received | Lost | Elapsed
EVENTS: Final[Sequence[type[Event]]] = (Connected, NotConnected, Received, Lost, Elapsed)


# Actions.


@dataclass(frozen=True, slots=True)
class Connect:
    """Drop the connection there is, and open one; then tell `Connected` or `NotConnected`."""

    address: Address
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Read:
    """Send, then receive; then tell `Received` or `Lost`."""

    send: bytes
    into: memoryview
    deadline: float
    """When the peer has been silent for too long, on the clock that `now` is told from."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait; then tell `Elapsed`."""

    until: float
    disconnected: bool
    """Whether the connection is to be dropped."""


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing more to do: see `Observer.error`."""


Action = Connect | Read | Sleep | Stop


class Store(Protocol):
    """Where the log goes: `metashell.log.live.LiveLog`. What it refuses it says by DecodeError."""

    @property
    def generation(self) -> int:
        """Grows whenever more, or other, is committed."""

    @property
    def end_offset(self) -> int:
        """The offset to fetch next."""

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record that is there, 0 without one."""

    @property
    def committed_end(self) -> int:
        """The first offset that is not known to be committed."""

    @property
    def held_back(self) -> int | None:
        """The last offset of the first batch that is not committed."""

    def begin_snapshot(self, end_offset: int, epoch: int) -> None:
        """Make ready for a snapshot."""

    def add_snapshot(self, pos: int, data: memoryview, size: int) -> bool:
        """Take a piece; whether the snapshot is whole."""

    def append(self, data: memoryview) -> int:
        """Take batches; how many there were."""

    def truncate(self, epoch: int, end_offset: int) -> bool:
        """Drop what diverges; False where that was committed."""

    def commit(self, high_watermark: int) -> bool:
        """Count what lies below."""

    def forget(self) -> None:
        """Drop everything."""
