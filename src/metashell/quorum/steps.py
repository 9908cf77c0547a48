"""The states, events and actions of an observer: plain values.

`metashell.quorum.observer` turns events into actions; a driver with sockets
(`metashell.quorum.follower`) or a test carries the actions out and tells what came of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol

from metashell.dataclass import dataclass
from metashell.quorum.attempts import Trouble
from metashell.security.settings import Address


class ObserverState(Enum):
    """The observer's state."""

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


# Events.


@dataclass(frozen=True, slots=True)
class Connected:
    """A controller answers: `Connect.hello` was sent, and its answer is what comes next."""

    address: Address
    silent: tuple[Address, ...] = ()
    """Addresses that did not answer in their time."""


@dataclass(frozen=True, slots=True)
class NotConnected:
    """One of the addresses gave no answer; the others may still."""

    address: Address
    reason: str
    trouble: Trouble = Trouble.UNREACHABLE
    silent: tuple[Address, ...] = ()
    """Others that did not answer up to `Connect.deadline`, which is over."""
    was_closed: bool = False
    """Whether there was a connection, TLS included, and the peer closed it."""
    over_tls: bool = False


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


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The time of `Sleep` is over."""


Event = Connected | NotConnected | Received | Lost | Elapsed
EVENTS: Final[Sequence[type[Event]]] = (Connected, NotConnected, Received, Lost, Elapsed)


# Actions.


@dataclass(frozen=True, slots=True)
class Connect:
    """Drop the connection there is, and get an answer from one of some addresses.

    The first is tried, and where it does not answer the next one beside it, and so on; the first
    that answers is kept (`Connected`), and what fails is told (`NotConnected`). Asked for again,
    those attempts go on that are under way.
    """

    addresses: tuple[Address, ...]
    hello: bytes
    """The first request to each."""
    head_start_s: float
    """How long the first one is tried alone; any other `attempts.BESIDE_S`."""
    limit_s: float
    """How long one may take to answer, the connection included."""
    deadline: float
    """When to give up all of them, on the clock that `now` is told from."""


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


class LogStore(Protocol):
    """The store of the log: `metashell.log.live.LiveLog`. It refuses bad data by DecodeError."""

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

    @property
    def n_proved(self) -> int:
        """Bytes of sound batches: here, or of the snapshot that is to take their place."""

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
