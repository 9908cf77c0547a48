"""What a connection that ended means, by what had been spoken on it."""

from __future__ import annotations

import pytest

from metashell.quorum.answers import LeaderHint
from metashell.quorum.attempts import Trouble
from metashell.quorum.leadership import why_lost, why_not_connected, why_not_leader
from metashell.quorum.session import QuorumSession
from metashell.quorum.steps import Lost, NotConnected
from metashell.security.settings import Address

CLOSED, SILENT = "it closed the connection", "it does not answer"
AT = Address("h", 9093)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (NotConnected(AT, CLOSED, was_closed=True), "speak TLS? (security.protocol)"),
        (NotConnected(AT, CLOSED, was_closed=True, over_tls=True), "? (ssl.keystore.location)"),
        (NotConnected(AT, SILENT), SILENT),
        (NotConnected(AT, SILENT, over_tls=True), SILENT),
        (
            NotConnected(AT, "it wants a certificate", Trouble.FINAL, was_closed=True),
            "it wants a certificate",
        ),
    ],
)
def test_no_answer(event: NotConnected, expected: str) -> None:
    """A listener that wants something else closes; a silent one tells nothing."""
    said = why_not_connected(event)
    assert said.startswith(event.reason)
    assert said.endswith(expected)


@pytest.mark.parametrize(
    ("code", "hint", "epoch", "is_itself", "expected"),
    [
        (6, LeaderHint(3, 7), 7, False, "it does not lead: it names controller 3 as the leader"),
        (
            6,
            LeaderHint(3, 7),
            7,
            True,
            "it is controller 3, which does not lead in epoch 7 yet or any more",
        ),
        (6, LeaderHint(None, 7), 7, False, "it knows no leader (NOT_LEADER_OR_FOLLOWER)"),
        (74, LeaderHint(3, 7), 5, False, "leader epoch 5 is over: controller 3 leads in 7"),
        (74, LeaderHint(3, 7), 5, True, "leader epoch 5 is over: controller 3 leads in 7"),
        (
            74,
            LeaderHint(None, 7),
            5,
            False,
            "leader epoch 5 is over: it knows no leader of epoch 7",
        ),
        (74, LeaderHint(None, 7), 0, False, "it knows no leader of epoch 7"),
        (74, LeaderHint(), 5, False, "leader epoch 5 is over"),
        (75, LeaderHint(1, 4), 5, False, "it has not heard of leader epoch 5, only of 4"),
        (8, LeaderHint(1, 5), 5, True, "it is shutting down"),
    ],
)
def test_why_not_leader(
    code: int, hint: LeaderHint, epoch: int, is_itself: bool, expected: str
) -> None:
    """What the error says, and nothing that it does not say."""
    assert expected == why_not_leader(code, hint, epoch, is_itself=is_itself)


def test_lost_while_negotiating() -> None:
    """What was spoken when a connection ended is said."""
    said = why_lost(Lost(CLOSED), QuorumSession(), has_answered=False)
    assert said == f"{CLOSED} while negotiating"
