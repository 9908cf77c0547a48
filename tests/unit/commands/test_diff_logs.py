"""diff --with: of two copies of a log, of which one has what the other has not."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name
from support.fixtures import fixture_dir
from support.fleets import node, topics
from support.logs import topic_batch, topic_record
from support.shell import Ran, run_on

INSIDE = (
    "diff: offset 327 lies inside the batch of offsets 327 to 331, which counts whole or not at"
    " all: shown is the state after offset 326"
)
COMPARED = "diff: both are compared after offset 326"
LEFT = "diff: the logs differ from offset {} on: epoch {} in the first, epoch {} in the second"


def voters(first: int, second: int, options: str) -> Ran:
    """Compare two of the voters whose logs leave each other at 327."""
    one, other = (fixture_dir(f"voters-two-epochs-3/voter-{i}") for i in (first, second))
    return run_on(metashell.open(one), f"diff --with {other} {options}")


@pytest.mark.parametrize("options", ["", "--quiet", "-o jsonl", "--stat", "/image/topics"])
def test_an_offset_inside_a_batch_of_one_side(options: str) -> None:
    """Both are compared before that batch, and what the logs hold there is no silence."""
    ran = voters(1, 2, f"--at 327 {options}")
    assert (1, "") == (ran.status, ran.out)
    assert (INSIDE, COMPARED, LEFT.format(327, 1, 3)) == tuple(ran.err)
    ran = voters(2, 1, f"--at 327 {options}")
    assert (1, (INSIDE, COMPARED, LEFT.format(327, 3, 1))) == (ran.status, tuple(ran.err))


def test_an_offset_that_both_have_whole() -> None:
    """Up to there the logs are one, whatever follows."""
    ran = voters(1, 2, "--at 326")
    assert (0, "", ()) == (ran.status, ran.out, tuple(ran.err))


def test_without_a_point_the_logs_are_compared_as_they_are() -> None:
    """As far as both go."""
    ran = voters(1, 2, "--quiet")
    assert (1, LEFT.format(327, 1, 3)) == (ran.status, ran.err[-1])
    assert not [line for line in voters(1, 3, "--quiet").err if "the logs differ" in line]


def test_other_batches_behind_one_state(tmp_path: Path) -> None:
    """They differ though no node does; the first offset is found in segments of no state."""
    whole = encode_batch([topic_record(0), topic_record(1)], base_offset=0, leader_epoch=1)
    logs = {"a": topics(0, 1), "b": whole}
    made = []
    for name, data in logs.items():
        later = topic_batch(2, leader_epoch=1 + len(made))
        made.append(node(tmp_path, name, {0: data, 2: later}, "id"))
        state = checkpoint_bytes([topic_record(i) for i in range(2)])
        (made[-1] / "__cluster_metadata-0" / checkpoint_name(2, 1)).write_bytes(state)
    ran = run_on(metashell.open(made[0]), f"diff --with {made[1]}")
    assert (1, "") == (ran.status, ran.out)
    assert (LEFT.format(0, 1, 1),) == tuple(ran.err)


def test_epochs_of_logs_that_share_no_offset(tmp_path: Path) -> None:
    """What is left of the epochs tells that one is no part of the other."""
    old = node(tmp_path, "old", {0: topics(0) + topic_batch(1, leader_epoch=7)}, "id")
    new = node(tmp_path, "new", {9: topics(9)}, "id")
    state = checkpoint_bytes([topic_record(i) for i in range(9)])
    (new / "__cluster_metadata-0" / checkpoint_name(9, 1)).write_bytes(state)
    ran = run_on(metashell.open(old), f"diff --with {new} --quiet")
    assert (1, LEFT.format(1, 7, "?")) == (ran.status, ran.err[-1])


def test_two_clusters_have_no_common_log(tmp_path: Path) -> None:
    """Only their states are compared."""
    a = node(tmp_path, "a", {0: topics(0)}, "one")
    b = node(tmp_path, "b", {0: topic_batch(0, leader_epoch=2)}, "two")
    ran = run_on(metashell.open(a), f"diff --with {b}")
    assert (0, ("diff: of two clusters: one and two",)) == (ran.status, tuple(ran.err))
