"""The quorum as its leader describes it: voters, observers, and how far each has come.

Source: org.apache.kafka.clients.admin.QuorumInfo, KIP-595, KIP-836 (times), KIP-853 (directory ids
and endpoints).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from metashell.dataclass import dataclass


def majority_of(n_voters: int) -> int:
    """How many voters are a majority."""
    return n_voters // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A voter or an observer as the leader sees it."""

    id: int
    directory_id: bytes | None
    """Sixteen bytes; None where the leader is too old to say (before 3.9) or does not know."""
    log_end_offset: int | None
    """None where the leader does not know yet."""
    last_fetch_ms: int | None
    """When it last fetched, ms since the epoch by the leader's clock; None where not known."""
    last_caught_up_ms: int | None
    """When it was last caught up; likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The leader's answer to DescribeQuorum."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    """-1 where the leader does not know it yet."""
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]
    endpoints: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The voters' endpoints, ``NAME://host:port`` by node id. It is empty for an old leader."""
    received_ms: int = 0
    """When it came, ms since the epoch by our clock."""

    def may_follow(self, earlier: QuorumDescription) -> bool:
        """Whether this may be the quorum that was described before: some voter is the same.

        A voter is the same by its directory, where that is known of both (KIP-853), else by where
        it listens, else by its id alone.
        """
        before = {voter.id: voter for voter in earlier.voters}
        for voter in self.voters:
            was = before.get(voter.id)
            if was is None:
                continue
            ids = (voter.directory_id, was.directory_id)
            places = (self.endpoints.get(voter.id), earlier.endpoints.get(voter.id))
            if None not in ids:
                is_same = ids[0] == ids[1]
            elif places[0] and places[1]:
                is_same = not set(places[0]).isdisjoint(places[1])
            else:
                is_same = True
            if is_same:
                return True
        return not self.voters or not earlier.voters

    def lag(self, replica: Replica) -> int | None:
        """How many offsets a replica's log is behind the leader's; None where not known."""
        ends = [v.log_end_offset for v in self.voters if v.id == self.leader_id]
        if not ends or ends[0] is None or replica.log_end_offset is None:
            return None
        return max(ends[0] - replica.log_end_offset, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """How the following of a quorum stands."""

    leader_id: int | None
    """The last leader that was heard of; None while none was. See `leader_now`."""
    leader_address: str | None
    """``host:port`` of the connection that records come from; None without one."""
    epoch: int | None
    """The leader's epoch."""
    high_watermark: int | None
    """The newest that was heard of; None before the first."""
    end_offset: int
    """The offset behind the last record that is committed and here."""
    last_word_s: float | None
    """Seconds since the quorum last answered; None before it did."""
    problem: str | None = None
    """Why nothing comes at the moment, a short sentence; None while all is well."""
    description: QuorumDescription | None = None
    """The newest answer to DescribeQuorum."""
    description_problem: str | None = None
    """Why there is no newer one, such as an ACL that is missing."""

    @property
    def leader_now(self) -> int | None:
        """The leader's id; None while none is known, as a silent leader may lead no more."""
        return None if self.leader_address is None else self.leader_id

    @property
    def lag(self) -> int | None:
        """Committed offsets that are not here yet; None where the high watermark is not known."""
        return (
            None if self.high_watermark is None else max(self.high_watermark - self.end_offset, 0)
        )
