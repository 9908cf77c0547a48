"""Who can win a vote, by the ends of the voters' logs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any

import pytest

from metashell.checks.votes import OffsetAndEpoch, VoterLog, electable, majorities
from support.fixtures import ELECTABLE

STATIC = {1: None, 2: None, 3: None}


def copy(
    node: int,
    epoch: int,
    end: int,
    voters: Mapping[int, str | None] = STATIC,
    *,
    directory: str | None = None,
    name: str = "",
) -> VoterLog:
    """A copy of a node's log."""
    return VoterLog(
        name=name or str(node),
        node_id=node,
        directory_id=directory,
        end=OffsetAndEpoch(epoch, end),
        voters=voters,
    )


def ids(copies: list[VoterLog]) -> list[int]:
    """Their nodes."""
    return [copy.node_id for copy in copies]


@pytest.mark.cases(7)
@pytest.mark.parametrize("name", ELECTABLE)
def test_every_subset_of_recorded_voters(name: str) -> None:
    """The majorities, and who wins in each, are those that were computed when it was recorded."""
    of: Mapping[str, Any] = ELECTABLE[name]
    voters = dict.fromkeys(of["voters"])
    copies = [copy(int(node), *end, voters) for node, end in of["logs"].items()]

    assert of["canWin"] == [[ids([*running]), ids(found)] for running, found in majorities(copies)]
    subsets = chain.from_iterable(combinations(copies, n) for n in range(len(copies) + 1))
    few = [running for running in subsets if len(running) <= len(voters) // 2]
    assert [[]] * len(few) == [electable(running) for running in few]


def test_the_epoch_counts_before_the_end() -> None:
    """A short log of a later epoch wins over a long one."""
    assert [2] == ids(electable([copy(1, 1, 900), copy(2, 3, 10)]))


def test_a_node_votes_with_the_voters_directory_alone() -> None:
    """A new disk has no vote, and an observer has none."""
    voters = {1: "a", 2: "b", 3: "c"}
    new_disk = copy(2, 9, 9, voters, directory="x")
    observer = copy(7, 9, 9, voters, directory="y")

    assert [] == electable([copy(1, 1, 1, voters, directory="a"), new_disk, observer])
    both = [copy(1, 1, 1, voters, directory="a"), copy(2, 1, 2, voters, directory="b"), observer]
    assert [2] == ids(electable(both))


def test_each_candidate_counts_its_own_voters() -> None:
    """A log that holds the latest change of the voters needs a majority of the new ones."""
    new = {1: None, 2: None, 3: None, 4: None, 5: None}
    ahead, behind, other = copy(1, 1, 20, new), copy(2, 1, 10), copy(3, 1, 10)

    assert [2, 3] == ids(electable([behind, other]))
    assert [] == electable([ahead, behind])
    assert [1, 2, 3] == ids(electable([ahead, behind, other]))


def test_two_copies_of_a_node_never_run_together() -> None:
    """A backup is no second vote."""
    copies = [copy(1, 1, 5, name="now"), copy(1, 1, 4, name="backup"), copy(2, 1, 4)]

    found = [[copy.name for copy in running] for running, _ in majorities(copies)]
    assert [["now", "2"], ["backup", "2"]] == found
