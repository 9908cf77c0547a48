"""The meaning of refusals and lost connections, in words that an operator can act on.

Each is a clause that follows an address: ``host:port: it knows no leader (...)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.quorum.answers import LeaderHint
from metashell.quorum.attempts import Trouble
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
