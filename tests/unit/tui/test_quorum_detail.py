"""What the view of the quorum says, as text and rows."""

from __future__ import annotations

import pytest

from metashell.commands.quorum.words import connection_text, majority_text, spans
from metashell.quorum.description import LiveStatus, QuorumDescription, Replica
from metashell.tui.views.quorum import lags_of


@pytest.mark.parametrize(
    ("n_voters", "n_silent", "text"),
    [
        (0, None, "voters unknown"),
        (1, None, "1 voter, 1 is a majority: none may be lost"),
        (3, None, "3 voters, 2 are a majority: 1 may be lost"),
        (4, 0, "4 voters, 3 are a majority: 1 may be lost"),
        (5, 1, "5 voters, 3 are a majority, 1 silent: 1 more may be lost"),
        (3, 1, "3 voters, 2 are a majority, 1 silent: none more may be lost"),
        (3, 2, "3 voters, 2 are a majority, 2 silent: the majority is lost"),
    ],
)
def test_majority(n_voters: int, n_silent: int | None, text: str) -> None:
    """How many voters may be lost."""
    assert majority_text(n_voters, n_silent) == text


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([0, 60_000, 90_000, 120_000], [60_000, 30_000, 30_000]),
        ([5_000, None, 2**62, 4, None], [None, None, None, None]),
        ([0, 100, 150, None], [100, 50, None]),
    ],
)
def test_spans(points: list[int | None], expected: list[int | None]) -> None:
    """Where a time is missing, or goes backwards, nothing is said; times may be absurd."""
    assert expected == spans(points)


def _status(**fields: object) -> LiveStatus:
    known: dict[str, object] = {
        "leader_id": 1,
        "leader_address": "localhost:9093",
        "epoch": 3,
        "high_watermark": 10,
        "end_offset": 10,
        "last_word_s": 0.4,
    }
    return LiveStatus(**{**known, **fields})  # type: ignore[arg-type]


def test_connection() -> None:
    """Who answers, how long ago, and what is wrong."""
    assert connection_text(_status()) == "connected to localhost:9093 · last answer 400ms ago"
    lost = _status(leader_address=None, last_word_s=None, problem="nobody answers")
    assert connection_text(lost) == "not connected to a leader · no answer yet"


def test_lags_hold_while_the_leader_answers() -> None:
    """An earlier answer tells nothing of now."""
    voters = tuple(
        Replica(id=i, directory_id=None, log_end_offset=end, last_fetch_ms=0, last_caught_up_ms=0)
        for i, end in ((1, 10), (2, 7), (3, None))
    )
    described = QuorumDescription(
        leader_id=1, leader_epoch=3, high_watermark=10, voters=voters, observers=()
    )
    assert lags_of(_status()) == {}
    assert lags_of(_status(description=described)) == {"1": 0, "2": 3, "3": None}
    gone = _status(description=described, problem="nobody answers")
    assert lags_of(gone) == {"1": None, "2": None, "3": None}
