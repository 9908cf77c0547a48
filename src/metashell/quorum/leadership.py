"""The leader and its epoch, of the quorum that is followed and of no other.

Owns which news of leaders are believed, and when an epoch is given up. Sends nothing.

The meaning of refusals and lost connections, in words that an operator can act on.

Each is a clause that follows an address: ``host:port: it knows no leader (...)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.quorum.answers import LeaderHint
from metashell.quorum.attempts import Attempts, Trouble
from metashell.quorum.facts import Facts
from metashell.quorum.protocol import Api, ErrorCode, error_name
from metashell.quorum.session import PeerError, QuorumSession
from metashell.quorum.steps import Lost, NotConnected

ELECTION: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
"""Errors that say: not here, or not in this epoch."""

A_BROKER: Final = "that is a broker; give a controller's listener (KIP-919)"

_HOPELESS: Final[Mapping[int, str]] = {
    ErrorCode.UNKNOWN_TOPIC_ID: A_BROKER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: A_BROKER,
    ErrorCode.INCONSISTENT_TOPIC_ID: "its metadata topic has another id: not a KRaft controller",
    ErrorCode.UNSUPPORTED_VERSION: "it does not speak the version of {api} that it offers",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "{api} is not allowed: the user needs CLUSTER_ACTION on the cluster"
        " (kafka-acls --add --cluster --operation ClusterAction)"
    ),
}


OTHER_CLUSTER: Final = "it belongs to another cluster than the one followed"
CUT_OFF: Final = "its answer does not come whole"


def refuse_hopeless(code: int, api: Api, why_other_cluster: str) -> None:
    """Raise PeerError for an error that would come again however often we ask.

    Args:
        code: The error.
        api: The api that was asked.
        why_other_cluster: The meaning of a refusal of the cluster's id that was sent.
    """
    reason = _HOPELESS.get(code)
    if code == ErrorCode.INCONSISTENT_CLUSTER_ID:
        reason = why_other_cluster
    if reason is not None:
        name = "Fetch" if api is Api.FETCH else "FetchSnapshot"
        raise PeerError(reason.format(api=name), is_final=True)


def why_not_leader(code: int, hint: LeaderHint, epoch: int, *, is_itself: bool = False) -> str:
    """Why a controller sent us on.

    Args:
        code: The error, one of `ELECTION`.
        hint: The leader that it names.
        epoch: The leader epoch in which it was asked.
        is_itself: Whether the leader that it names is itself: one that was elected a moment ago,
            or resigned, does not lead and still says so (ResignedState, ProspectiveState).
    """
    if code == ErrorCode.BROKER_NOT_AVAILABLE:
        return "it is shutting down"
    if code == ErrorCode.UNKNOWN_LEADER_EPOCH:
        known = "" if hint.epoch is None else f", only of {hint.epoch}"
        return f"it has not heard of leader epoch {epoch}{known}"
    if code == ErrorCode.FENCED_LEADER_EPOCH:
        # Epoch 0 is none: that of whoever has heard of no leader.
        over = f"leader epoch {epoch} is over" if epoch > 0 or hint.epoch is None else ""
        if hint.epoch is None:
            return over
        newer = f"it knows no leader of epoch {hint.epoch}"
        if hint.leader_id is not None:
            newer = f"controller {hint.leader_id} leads in {hint.epoch}"
        return f"{over}: {newer}" if over else newer
    if hint.leader_id is None:
        return f"it knows no leader ({error_name(code)})"
    if is_itself:
        return (
            f"it is controller {hint.leader_id}, which does not lead in epoch {epoch} yet or any"
            " more"
        )
    return f"it does not lead: it names controller {hint.leader_id} as the leader"


def why_not_connected(event: NotConnected) -> str:
    """The reason why an address gave no answer.

    A silent address hangs, or nobody is there. One that closes the connection has a reason.
    """
    if not event.was_closed or event.trouble is Trouble.FINAL:
        return event.reason
    if event.over_tls:
        # With TLS 1.3 a client's certificate is missed after the handshake, and the alert that
        # says so gets lost where the connection is reset behind it.
        return (
            f"{event.reason} after the TLS handshake: does that listener want a client certificate"
            " that it trusts? (ssl.keystore.location)"
        )
    return f"{event.reason}: does that listener speak TLS? (security.protocol)"


def why_lost(lost: Lost, session: QuorumSession, *, has_answered: bool) -> str:
    """The reason why a connection was lost after some bytes came, or why no more bytes come.

    Args:
        lost: The event.
        session: The session on that connection.
        has_answered: Whether a request was answered since the session was ready.
    """
    reason = CUT_OFF if lost.is_silence and session.n_pending else lost.reason
    if lost.trouble is Trouble.FINAL:
        return reason
    if not session.is_ready:
        return f"{reason} while {session.state.value}"
    if has_answered or lost.is_silence or session.has_sasl:
        return reason
    return f"{reason} instead of an answer: does that listener want SASL? (security.protocol)"


_BEHIND_MAX: Final = 10
"""Rounds in which nobody knows our epoch after which we take theirs."""


class Leadership:
    """The leader, as far as was heard.

    Args:
        facts: Gets what is believed.
        attempts: The addresses that are tried.
        cluster_id: The cluster that it must be; None for any.
    """

    def __init__(self, facts: Facts, attempts: Attempts, *, cluster_id: str | None) -> None:
        self._facts, self._attempts = facts, attempts
        self.wanted_cluster = cluster_id
        """The cluster that it must be; None for any."""
        self._is_learnt = False
        """Whether the wanted id is that of the quorum that was followed first."""
        self._known_leader: tuple[int, int | None] = (0, None)
        """Epoch and leader of the quorum that is followed, as long as others are heard of."""
        self.begins_anew: str | None = None
        """Why all is dropped once it is sure that a leader is of this quorum."""
        self._n_behind = 0

    @property
    def why_other_cluster(self) -> str:
        """The meaning of INCONSISTENT_CLUSTER_ID in a controller's answer."""
        if self.wanted_cluster is None:
            return "it refuses the cluster's id (INCONSISTENT_CLUSTER_ID), though none was sent"
        if self._is_learnt:
            return OTHER_CLUSTER
        return "it belongs to a cluster other than `--cluster-id`"

    def pin(self, cluster_id: str | None) -> None:
        """Follow no other cluster from now on; any thread may say so.

        Args:
            cluster_id: The id of the quorum's cluster; None where it is not told.
        """
        if cluster_id is not None and self.wanted_cluster is None:
            self.wanted_cluster, self._is_learnt = cluster_id, True
            self._facts.inquiry.cluster_id = cluster_id

    def learn(self, hint: LeaderHint) -> None:
        """Note who leads, where that is news."""
        self._attempts.learn(hint.endpoints)
        # An epoch without a leader is of no use: there is nobody to ask in it. A candidate that
        # nobody votes for would draw us away from the leader that there is.
        if hint.epoch is None or hint.leader_id is None or hint.epoch < self._facts.epoch:
            return
        self._facts.epoch, self._facts.leader_id = hint.epoch, hint.leader_id

    def is_leader(self, hint: LeaderHint) -> None:
        """The peer has answered as the leader of our epoch."""
        self._facts.leads, self._n_behind = True, 0
        self._attempts.succeeded()
        if hint.leader_id is not None:
            self._facts.leader_id = hint.leader_id
        self._known_leader = (self._facts.epoch, self._facts.leader_id)
        self._attempts.keep()

    def unlearn(self) -> None:
        """Forget what the controllers of another quorum said of its epoch and its leader."""
        (self._facts.epoch, self._facts.leader_id), self.begins_anew = self._known_leader, None
        self._attempts.go_back()

    def peer_is_behind(self, hint: LeaderHint) -> None:
        """It has not heard of our epoch. Where all say so for long, ours is not of this quorum."""
        self._n_behind += 1
        if self._n_behind > _BEHIND_MAX * self._attempts.n_addresses and hint.epoch is not None:
            self.begins_anew = (
                f"no controller knows leader epoch {self._facts.epoch}: going on with {hint.epoch}"
            )
            self._facts.epoch, self._facts.leader_id, self._n_behind = hint.epoch, hint.leader_id, 0
