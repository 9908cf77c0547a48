"""`can-upgrade` against what real controllers did: real-44-live rose from 3.9 to 4.4."""

from __future__ import annotations

from functools import cache

import pytest

import metashell
from metashell.answers.upgrade import UpgradeTarget, Verdict, judge
from metashell.image.features import METADATA_VERSION
from metashell.sources.source import Source
from support.fixtures import fixture

RISES = (
    (1013, METADATA_VERSION, 25),
    (1017, "group.version", 1),
    (1020, "transaction.version", 2),
    (1512, METADATA_VERSION, 30),
    (1517, "eligible.leader.replicas.version", 1),
    (1519, "share.version", 1),
    (1520, "streams.version", 1),
    (2625, METADATA_VERSION, 33),
    (2632, "share.version", 2),
)
"""Offsets at which the controller wrote a FeatureLevelRecord."""
CONTROLLER_3_UNREGISTERED = 2645
"""It had been removed from the voters at 2635."""


@cache
def newest() -> Source:
    """The directory's newest state."""
    return metashell.open(fixture("real-44-live").input)


def judged(offset: int, feature: str, level: int, asked: str = "") -> Verdict:
    """The verdict just after an offset."""
    return judge(
        newest().at(offset, record=True).image, UpgradeTarget(feature, level, asked or str(level))
    )


@pytest.mark.parametrize(("offset", "feature", "level"), RISES)
def test_what_the_controller_did_was_possible(offset: int, feature: str, level: int) -> None:
    """Just before; and it is told to be so just after."""
    before = judged(offset - 1, feature, level)
    assert [] == before.blockers
    assert before.command is not None
    assert before.text.startswith(f"yes: upgrade to {feature} {level}")
    after = judged(offset, feature, level)
    assert after.text.startswith("already at")
    assert after.possible


def test_the_command_is_for_a_broker_that_is_up() -> None:
    """It raises the level alone, however it is asked for: a release has other features too."""
    for asked in ("4.4", "33"):
        assert (
            "kafka-features.sh --bootstrap-server 127.0.0.1:41101 upgrade"
            " --feature metadata.version=33" == judged(1100, METADATA_VERSION, 33, asked).command
        )


def test_a_controller_that_is_no_voter_blocks_until_it_is_unregistered() -> None:
    """As KIP-1312 has it."""
    blockers = judged(CONTROLLER_3_UNREGISTERED - 1, METADATA_VERSION, 40).blockers
    ghosts = [b for b in blockers if b.node is not None and b.node.ghost]
    assert [(3, "controller")] == [(b.node.id, b.node.role) for b in ghosts if b.node]
    assert ghosts[0].removes
    assert (
        "kafka-cluster.sh unregister-controller --bootstrap-server 127.0.0.1:41101 --id 3"
        == ghosts[0].remedy
    )
    after = judged(CONTROLLER_3_UNREGISTERED, METADATA_VERSION, 40).blockers
    assert 3 not in [b.node.id for b in after if b.node]


def test_a_downgrade_past_new_records_is_refused() -> None:
    """4.4-IV2 brought records of its own; 4.1 to 4.0 would have lost nothing."""
    refused = judged(2700, METADATA_VERSION, 27)
    assert [None] == [b.node for b in refused.blockers]
    assert refused.text.startswith("no: downgrade to")
    lossless = judged(1100, METADATA_VERSION, 24)
    assert lossless.possible
    assert lossless.command is not None
    assert "downgrade --feature metadata.version=24" in lossless.command
