"""Whether two descriptions are of one quorum."""

from __future__ import annotations

import pytest

from metashell.quorum.description import QuorumDescription, Replica

Voters = dict[int, tuple[bytes | None, str | None]]
A, B = b"a" * 16, b"b" * 16
HERE, THERE = "CONTROLLER://here:9093", "CONTROLLER://there:9093"


def described(voters: Voters) -> QuorumDescription:
    """A quorum of voters: directory and endpoint by id."""
    return QuorumDescription(
        leader_id=1,
        leader_epoch=1,
        high_watermark=1,
        voters=tuple(
            Replica(
                id=i,
                directory_id=directory,
                log_end_offset=1,
                last_fetch_ms=None,
                last_caught_up_ms=None,
            )
            for i, (directory, _) in voters.items()
        ),
        observers=(),
        endpoints={i: (endpoint,) for i, (_, endpoint) in voters.items() if endpoint is not None},
    )


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({1: (A, HERE)}, {1: (A, THERE)}, True),  # it moved
        ({1: (A, HERE)}, {1: (B, HERE)}, False),  # formatted anew, or another
        ({1: (None, HERE)}, {1: (None, HERE)}, True),
        ({1: (None, HERE)}, {1: (None, THERE)}, False),
        ({1: (None, HERE)}, {1: (A, HERE)}, True),  # upgraded to kraft.version 1
        ({1: (None, None)}, {1: (None, None)}, True),  # before Kafka 3.9 nothing else is told
        ({1: (None, None)}, {2: (None, None)}, False),
        ({1: (A, HERE), 2: (A, HERE)}, {2: (A, HERE), 3: (B, THERE)}, True),
        ({}, {1: (A, HERE)}, True),
    ],
)
def test_may_follow(before: Voters, now: Voters, expected: bool) -> None:
    """Some voter is the same: by its directory, else its place, else its id."""
    assert expected == described(now).may_follow(described(before))
