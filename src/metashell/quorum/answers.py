"""The answers of controllers as values: decoded fields in, facts out.

Owns where in an answer an error, the leader and the records stand, and which defaults mean
"nothing said".

The quorum's own description: its members, its cluster's id, and where its nodes listen.

Owns the description that is known, and when it is asked for again. Sends nothing.

DescribeQuorum needs DESCRIBE on the cluster, DescribeCluster of controllers needs ALTER. Without
these rights all the rest works.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.quorum.description import QuorumDescription, Replica
from metashell.quorum.protocol import CONTROLLERS, Api, ErrorCode, the_partition
from metashell.quorum.session import Answer, PeerError, QuorumSession
from metashell.security.settings import Address

DESCRIBE_EVERY_S: Final = 2.0

_NOT_SERVED: Final = "the controllers do not serve DescribeQuorum"


class Inquiry:
    """The description of the quorum that is known by now.

    Args:
        goes_on: Whether it is asked again and again.
    """

    def __init__(self, *, goes_on: bool) -> None:
        self.description: QuorumDescription | None = None
        self.problem: str | None = None
        """Why there is no description."""
        self.cluster_id: str | None = None
        self.has_asked = False
        """Whether it was asked to describe itself."""
        self._goes_on = goes_on
        self._due = 0.0
        self._members: set[tuple[str, int]] = set()
        """Where leaders of this quorum listened."""
        self._is_refused = False
        self._asked_for: set[int | None] = set()
        """Leaders whose address was asked for; None for all controllers."""

    def is_member(self, address: Address, session: QuorumSession) -> bool:
        """Whether a leader is of the quorum that is followed, as far as can be known."""
        return (
            self.description is None
            or self.problem is not None
            or (address.host, address.port) in self._members
            or session.version_of(Api.DESCRIBE_QUORUM) is None
        )

    def asks_quorum(self, session: QuorumSession, now: float) -> bool:
        """Whether DescribeQuorum is to be sent now; it counts as sent then."""
        if self.problem is not None or now < self._due or (self.has_asked and not self._goes_on):
            return False
        self.has_asked = True
        if session.version_of(Api.DESCRIBE_QUORUM) is None:
            self.problem = _NOT_SERVED
            return False
        return True

    def take_quorum(self, answer: Answer, address: Address, now: float) -> bool:
        """Note a leader's description. Returns whether it may be of the quorum described before.

        The description of another quorum is not noted.
        """
        self._due = now + DESCRIBE_EVERY_S
        described = read_describe_quorum(answer)
        at, found = (address.host, address.port), described.description
        if found is not None:
            before = self.description
            if before is not None and at not in self._members and not found.may_follow(before):
                return False
            self.description = found
        elif described.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self.problem = "DescribeQuorum is not allowed: it needs DESCRIBE on the cluster"
        elif described.error == ErrorCode.UNSUPPORTED_VERSION:
            self.problem = _NOT_SERVED
        # Without an answer it is believed: there is nothing else to ask.
        self._members.add(at)
        return True

    def asks_address(self, session: QuorumSession, leader_id: int | None) -> bool:
        """Whether to send DescribeCluster now, to learn a leader's address; once for each leader.

        Before Kafka 3.9 no other answer has the address. If no leader is known, it asks for the
        other controllers: one may lead. A client without the right is not asked again, as each
        refusal is an error in the controller's log.
        """
        asks = not self._is_refused and leader_id not in self._asked_for
        self._asked_for.add(leader_id)
        return asks and (session.version_of(Api.DESCRIBE_CLUSTER) or 0) >= 1

    def take_cluster(self, answer: Answer) -> Mapping[int, Address]:
        """Note an answer to DescribeCluster; returns where controllers listen."""
        refused = answer.fields["error_code"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        self._is_refused = self._is_refused or refused
        return read_endpoints(answer)


_NOTHING: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class LeaderHint:
    """The facts about the leader in an answer."""

    leader_id: int | None = None
    """None where the peer knows none."""
    epoch: int | None = None
    endpoints: Mapping[int, Address] = field(default_factory=dict)
    """Where nodes listen, for the listener that was asked, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer:
    """The answer to a Fetch."""

    error: int
    hint: LeaderHint = LeaderHint()
    high_watermark: int = -1
    """-1 where the leader does not know it yet."""
    diverging: tuple[int, int] | None = None
    """(epoch, end offset) where our log is not the leader's."""
    snapshot: tuple[int, int] | None = None
    """(end offset, epoch) of the snapshot to fetch first."""
    records: memoryview = _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPiece:
    """The answer to a FetchSnapshot."""

    error: int
    hint: LeaderHint = LeaderHint()
    snapshot: tuple[int, int] = (-1, -1)
    size: int = 0
    pos: int = 0
    data: memoryview = _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The answer to a DescribeQuorum."""

    error: int
    description: QuorumDescription | None = None


def read_fetch(answer: Answer) -> FetchAnswer:
    """Read the answer to a Fetch.

    Raises:
        PeerError: It says nothing of the metadata partition.
    """
    fields = answer.fields
    if fields["error_code"] != ErrorCode.NONE:
        return FetchAnswer(error=fields["error_code"])
    part = the_partition(fields, "responses")
    if part is None:
        raise PeerError("its answer to Fetch leaves out the metadata partition")
    diverging, snapshot = part["diverging_epoch"], part["snapshot_id"]
    return FetchAnswer(
        error=part["error_code"],
        hint=_hint(part["current_leader"], fields.get("node_endpoints", ())),
        high_watermark=part["high_watermark"],
        diverging=_pair(diverging, "epoch", "end_offset"),
        snapshot=_pair(snapshot, "end_offset", "epoch"),
        records=memoryview(part["records"] or b""),
    )


def read_fetch_snapshot(answer: Answer) -> SnapshotPiece:
    """Read the answer to a FetchSnapshot; errors as `read_fetch`."""
    fields = answer.fields
    if fields["error_code"] != ErrorCode.NONE:
        return SnapshotPiece(error=fields["error_code"])
    part = the_partition(fields, "topics")
    if part is None:
        raise PeerError("its answer to FetchSnapshot leaves out the metadata partition")
    return SnapshotPiece(
        error=part["error_code"],
        hint=_hint(part["current_leader"], fields.get("node_endpoints", ())),
        snapshot=(part["snapshot_id"]["end_offset"], part["snapshot_id"]["epoch"]),
        size=part["size"],
        pos=part["position"],
        data=memoryview(part["unaligned_records"]),
    )


def read_describe_quorum(answer: Answer) -> Described:
    """Read the answer to a DescribeQuorum."""
    assert answer.api is Api.DESCRIBE_QUORUM
    fields = answer.fields
    part = the_partition(fields, "topics")
    if fields["error_code"] != ErrorCode.NONE or part is None:
        return Described(error=fields["error_code"] or ErrorCode.UNKNOWN_SERVER_ERROR)
    if part["error_code"] != ErrorCode.NONE:
        return Described(error=part["error_code"])
    return Described(
        error=ErrorCode.NONE,
        description=QuorumDescription(
            leader_id=part["leader_id"],
            leader_epoch=part["leader_epoch"],
            high_watermark=part["high_watermark"],
            voters=tuple(_replica(r) for r in part["current_voters"]),
            observers=tuple(_replica(r) for r in part["observers"]),
            endpoints={
                node["node_id"]: tuple(
                    f"{at['name']}://{Address(at['host'], at['port'])}" for at in node["listeners"]
                )
                for node in fields.get("nodes", ())
            },
            received_ms=int(time.time() * 1000),
        ),
    )


def read_cluster_id(answer: Answer) -> str | None:
    """The cluster id that a DescribeCluster gave; None where it was refused."""
    fields = answer.fields
    if fields["error_code"] != ErrorCode.NONE:
        return None
    return fields["cluster_id"] or None


def read_endpoints(answer: Answer) -> Mapping[int, Address]:
    """Where the controllers listen that a DescribeCluster names; none where it was refused."""
    fields = answer.fields
    if fields["error_code"] != ErrorCode.NONE or fields["endpoint_type"] != CONTROLLERS:
        return {}
    return {
        node["broker_id"]: Address(node["host"], node["port"], node["broker_id"])
        for node in fields["brokers"]
        if node["host"] and 0 < node["port"] < 65536
    }


def _hint(leader: Mapping[str, Any], nodes: Any) -> LeaderHint:
    leader_id, epoch = leader["leader_id"], leader["leader_epoch"]
    # Nobody leads in epoch 0, which is also what an answer without the field says.
    return LeaderHint(
        leader_id if leader_id >= 0 and epoch > 0 else None,
        epoch if epoch > 0 else None,
        {
            node["node_id"]: Address(node["host"], node["port"], node["node_id"])
            for node in nodes
            if node["host"] and 0 < node["port"] < 65536
        },
    )


def _pair(fields: Mapping[str, Any], first: str, second: str) -> tuple[int, int] | None:
    a, b = fields[first], fields[second]
    return (a, b) if a >= 0 and b >= 0 else None


def _replica(fields: Mapping[str, Any]) -> Replica:
    directory_id = fields.get("replica_directory_id", bytes(16))

    def known(value: int) -> int | None:
        return value if value >= 0 else None

    return Replica(
        id=fields["replica_id"],
        directory_id=directory_id if any(directory_id) else None,
        log_end_offset=known(fields["log_end_offset"]),
        last_fetch_ms=known(fields["last_fetch_timestamp"]),
        last_caught_up_ms=known(fields["last_caught_up_timestamp"]),
    )
