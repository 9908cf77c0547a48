"""What a connection that ended means, by what had been spoken on it."""

from __future__ import annotations

import pytest

from metashell.quorum.attempts import Trouble
from metashell.quorum.reasons import why_lost
from metashell.quorum.session import Session
from metashell.quorum.steps import Lost

CLOSED = "it closed the connection"


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (Lost(CLOSED), "does that listener speak TLS? (security.protocol)"),
        (Lost(CLOSED, over_tls=True), "that it trusts? (ssl.keystore.location)"),
        (Lost("it does not answer", is_silence=True, over_tls=True), "while negotiating"),
        (Lost("it wants a client certificate", Trouble.FINAL, over_tls=True), "certificate"),
    ],
)
def test_lost_before_anything_came(lost: Lost, expected: str) -> None:
    """A listener that wants another protocol, or a certificate, says so by closing."""
    said = why_lost(lost, Session(), has_answered=False)
    assert said.startswith(lost.reason)
    assert said.endswith(expected)
