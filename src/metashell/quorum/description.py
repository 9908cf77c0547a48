"""What the leader says of the quorum: who votes, who follows, and how far each has come.

Source: org.apache.kafka.clients.admin.QuorumInfo, KIP-595, KIP-836 (times), KIP-853 (directory ids
and endpoints).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """Of voters: ``NAME://host:port`` by node id; empty where the leader is too old to say."""
    received_ms: int = 0
    """When it came, ms since the epoch by our clock."""

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
    """None while no leader is known."""
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
    def lag(self) -> int | None:
        """Committed offsets that are not here yet; None where the high watermark is not known."""
        return (
            None if self.high_watermark is None else max(self.high_watermark - self.end_offset, 0)
        )
