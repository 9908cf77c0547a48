"""What the quorum says of itself: who is in it, which cluster it is of, and where its nodes listen.

Owns what of that is known, and when it is asked for again. Sends nothing.

DescribeQuorum needs DESCRIBE on the cluster, DescribeCluster of controllers needs ALTER: without
them all the rest works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.quorum.answers import read_cluster_id, read_describe_quorum, read_endpoints
from metashell.quorum.description import QuorumDescription
from metashell.quorum.protocol import Api, ErrorCode
from metashell.quorum.security import Address
from metashell.quorum.session import Answer, Session

DESCRIBE_EVERY_S: Final = 2.0

_NOT_SERVED: Final = "the controllers do not serve DescribeQuorum"


class Inquiry:
    """What is known of the quorum.

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
        self._asks_cluster = True

    def asks_quorum(self, session: Session, now: float) -> bool:
        """Whether DescribeQuorum is to be sent now; it counts as sent then."""
        if self.problem is not None or now < self._due or (self.has_asked and not self._goes_on):
            return False
        self.has_asked = True
        if session.version_of(Api.DESCRIBE_QUORUM) is None:
            self.problem = _NOT_SERVED
            return False
        return True

    def take_quorum(self, answer: Answer, now: float) -> None:
        """Note an answer to DescribeQuorum."""
        self._due = now + DESCRIBE_EVERY_S
        described = read_describe_quorum(answer)
        if described.description is not None:
            self.description = described.description
        elif described.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self.problem = "DescribeQuorum is not allowed: it needs DESCRIBE on the cluster"
        elif described.error == ErrorCode.UNSUPPORTED_VERSION:
            self.problem = _NOT_SERVED

    def asks_cluster(self, session: Session) -> bool:
        """Whether DescribeCluster is to be sent now, for the cluster's id; once."""
        asks = self._asks_cluster and session.version_of(Api.DESCRIBE_CLUSTER) is not None
        self._asks_cluster = self._asks_cluster and not asks
        return asks

    def take_cluster(self, answer: Answer) -> Mapping[int, Address]:
        """Note an answer to DescribeCluster; returns where controllers listen."""
        self.cluster_id = read_cluster_id(answer) or self.cluster_id
        return read_endpoints(answer)
