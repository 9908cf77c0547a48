"""Who can win a vote of a metadata quorum, judged by copies of the voters' logs.

A voter grants its vote to a candidate whose log ends no earlier than its own: the last epoch of the
log counts first, then the log's end. The epoch in ``quorum-state`` does not count. A candidate
needs a majority of all voters in its own latest voter set, also if some of them are lost.

Source: org.apache.kafka.raft.KafkaRaftClient (handleVoteRequest), CandidateState, KafkaRaftLog
(lastFetchedEpoch, truncateToLatestSnapshot).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.dataclass import dataclass
from metashell.log.fault import FaultCode
from metashell.log.names import SegmentName, parse_name
from metashell.quorum.description import majority_of

if TYPE_CHECKING:
    from metashell.log.fault import Fault
    from metashell.log.names import Listing
    from metashell.log.read import LogFile

_CUT_OFF: Final = {
    FaultCode.CRC_MISMATCH,
    FaultCode.BAD_MAGIC,
    FaultCode.BAD_LENGTH,
    FaultCode.CUT_OFF,
    FaultCode.BATCH_DAMAGED,
}

MOST_COPIES: Final = 12
"""Copies of voters that `majorities` takes: each one more doubles the sets."""


class OffsetAndEpoch(NamedTuple):
    """Where a log ends. A vote compares two ends by these fields, in this order.

    Source: org.apache.kafka.server.common.OffsetAndEpoch.
    """

    epoch: int
    """Leader epoch of the last batch, or of the newest checkpoint if no batch is behind it."""
    offset: int
    """The offset behind the last one."""


def log_end(listing: Listing, ends: Iterable[OffsetAndEpoch]) -> OffsetAndEpoch:
    """The end of a log, as a node that starts with these files has it.

    A node drops a log that ends before its newest checkpoint.

    Args:
        listing: The names in the directory.
        ends: The ends of segments; that of the last one with a batch is among them.
    """
    ids = (OffsetAndEpoch(c.epoch, c.end_offset) for c in listing.checkpoints)
    return max((*ends, *ids), default=OffsetAndEpoch(0, 0))


def is_cut_off(fault: Fault) -> bool:
    """Whether each start cuts the metadata log off at a fault of a segment, and drops what follows.

    A start proves every batch, also after a clean stop. It does not ask whether offsets follow on
    each other.

    Source: org.apache.kafka.raft.internals.KafkaRaftLog.createLog (its recovery point is 0),
    LogLoader.recoverLog, LogSegment.recover.
    """
    return fault.code in _CUT_OFF


def segment_ends(files: Iterable[LogFile]) -> Iterator[OffsetAndEpoch]:
    """The ends of segments that were read. Records that do not count yet are part of the log."""
    for file in files:
        chain = file.chain
        if isinstance(parse_name(file.name), SegmentName) and chain.last_offset >= 0:
            yield OffsetAndEpoch(chain.last_epoch, chain.last_offset + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterLog:
    """A copy of a node's metadata log, and what the copy says of the quorum."""

    name: str
    """The name of its directory; it is unique."""
    node_id: int
    directory_id: str | None
    end: OffsetAndEpoch
    voters: Mapping[int, str | None]
    """The latest voter set of this log: directory ids by node id, None in a static quorum.

    It is empty if nothing names the voters. Then the node can vote, and can't be a candidate.
    """
    beyond: VoterLog | None = None
    """The log with the records behind damage, if its node may keep them."""

    def with_voters(self, voters: Mapping[int, str | None]) -> VoterLog:
        """This log if it named other voters."""
        beyond = None if self.beyond is None else self.beyond.with_voters(voters)
        return replace(self, voters=voters, beyond=beyond)

    def is_voter_of(self, voters: Mapping[int, str | None]) -> bool:
        """Whether its node has a vote, with this directory."""
        known = self.node_id in voters
        return known and voters[self.node_id] in (None, self.directory_id)


def electable(running: Iterable[VoterLog]) -> list[VoterLog]:
    """The copies whose nodes can win a vote, if exactly these nodes run; none without a majority.

    There need not be one winner: each of them can become the leader.
    """
    nodes = list(running)

    def can_win(node: VoterLog) -> bool:
        n_votes = sum(n.is_voter_of(node.voters) and n.end <= node.end for n in nodes)
        is_elected = n_votes >= majority_of(len(node.voters))
        return node.is_voter_of(node.voters) and is_elected

    return [
        node
        for node in nodes
        if can_win(node) or (node.beyond is not None and can_win(node.beyond))
    ]


def majorities(
    copies: Collection[VoterLog],
) -> Iterator[tuple[tuple[VoterLog, ...], list[VoterLog]]]:
    """Each set of copies that can elect a leader, with those that can win; small sets first.

    Two copies of one node never run together.

    Args:
        copies: The copies of voters, `MOST_COPIES` at most.
    """
    for size in range(1, len(copies) + 1):
        for running in combinations(copies, size):
            if len({copy.node_id for copy in running}) == size and (found := electable(running)):
                yield running, found
