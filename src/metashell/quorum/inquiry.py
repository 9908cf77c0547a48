"""The quorum's own description: its members, its cluster's id, and where its nodes listen.

Owns the description that is known, and when it is asked for again. Sends nothing.

DescribeQuorum needs DESCRIBE on the cluster, DescribeCluster of controllers needs ALTER. Without
these rights all the rest works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.quorum.answers import read_describe_quorum, read_endpoints
from metashell.quorum.description import QuorumDescription
from metashell.quorum.protocol import Api, ErrorCode
from metashell.quorum.session import Answer, QuorumSession
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
