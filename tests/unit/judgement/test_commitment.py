"""Verdicts about records, by copies of logs: each rule, and every subset of the recorded voters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import pytest

from metashell.checks.agreement import Epochs
from metashell.checks.votes import OffsetAndEpoch, VoterLog
from metashell.judgement.commitment import Certainty, DiskCopy, Voters, contradiction, judge
from metashell.judgement.log_copies import copies_of
from metashell.sources.fleet.rows import vote_facts, vote_facts_of
from metashell.sources.opening import open_fleet
from support.fixtures import ELECTABLE, fixture_dir

THREE = dict.fromkeys((1, 2, 3))
FOUR = dict.fromkeys((1, 2, 3, 4))


def copy(
    node: int,
    *epochs: int,
    voted: int | None = 1,
    voters: Voters = THREE,
    later: Sequence[tuple[int, Voters]] = (),
    checkpoint_end: int = 0,
) -> DiskCopy:
    """A copy of a voter's log with a record in each of some epochs."""
    sets = ((0, voters), *later)
    return DiskCopy(
        log=VoterLog(
            name=f"n{node}",
            node_id=node,
            directory_id=voters.get(node),
            end=OffsetAndEpoch(epochs[-1], len(epochs)),
            voters=sets[-1][1],
        ),
        epochs=Epochs(tuple((offset, offset, epoch) for offset, epoch in enumerate(epochs))),
        voter_sets=sets,
        epoch=voted,
        checkpoint_end=checkpoint_end,
    )


def told(*copies: DiskCopy) -> list[tuple[int, int, str, str]]:
    """First offset, end, verdict and holders of each stretch."""
    return [
        (s.first, s.end, str(s.verdict), " ".join(name[1:] for name in s.holders))
        for s in judge(copies).ranges
    ]


def test_a_majority_in_the_newest_epoch_proves() -> None:
    """What one alone has behind it is open where it need not win."""
    found = told(copy(1, 1, 1, 1), copy(2, 1, 1), copy(3, 1))
    assert [(0, 1, "proved", "1 2 3"), (1, 2, "proved", "1 2"), (2, 3, "open", "1")] == found


def test_an_older_epoch_on_all_proves_nothing() -> None:
    """A record of a later epoch is somewhere, and its own leader may not have counted them."""
    found = told(copy(1, 1, 1, 4, voted=4), copy(2, 1, 1, 3, voted=3), copy(3, 1, 1, voted=4))
    assert [
        (0, 2, "safe", "1 2 3"),
        (2, 3, "open", "1"),
        (2, 3, "open", "2"),
    ] == found


def test_votes_count_where_a_disk_is_missing() -> None:
    """A holder that went on to a later epoch may have elected the voter that is missing."""
    assert [(0, 2, "proved", "1 2")] == told(copy(1, 1, 1), copy(2, 1, 1))
    for voted in (2, None):
        assert [(0, 2, "safe", "1 2")] == told(copy(1, 1, 1), copy(2, 1, 1, voted=voted))
    assert [(0, 2, "proved", "1 2 3")] == told(*(copy(n, 1, 1, voted=2) for n in (1, 2, 3)))


@pytest.mark.parametrize(("dynamic", "verdict"), [(False, "proved"), (True, "safe")])
def test_four_voters(dynamic: bool, verdict: str) -> None:
    """Two that did not go on keep any of four from being elected, and not any of five."""
    voters = {n: f"d{n}" if dynamic else None for n in FOUR}
    copies = [copy(n, 1, voted=1 + (n == 3), voters=voters) for n in (1, 2, 3)]
    assert [(0, 1, "proved", "1 2 3")] == told(*(copy(n, 1, voters=voters) for n in (1, 2, 3)))
    assert [(0, 1, verdict, "1 2 3")] == told(*copies)


def test_a_checkpoint_proves() -> None:
    """Also alone, and where no vote is possible."""
    assert [(0, 2, "proved", "1"), (2, 3, "open", "1")] == told(copy(1, 1, 1, 1, checkpoint_end=2))


def test_the_voters_in_force_there_count() -> None:
    """A change of voters counts from its own record on, committed or not."""
    voters = {n: f"d{n}" for n in THREE}
    more = [(1, {**voters, 4: "d4", 5: "d5"})]
    copies = [copy(n, 1, 1, voters=voters, later=more) for n in (1, 2)]
    assert [(0, 1, "proved", "1 2"), (1, 2, "open", "1 2")] == told(*copies)


def test_who_can_have_been_told() -> None:
    """A record that one of three voters has was acknowledged to nobody, if all are here."""
    tail = copy(1, 1, 1), copy(2, 1), copy(3, 1)
    assert [True, False] == [s.may_be_committed for s in judge(tail).ranges]
    assert [True, True] == [s.may_be_committed for s in judge(tail[:2]).ranges]
    assert [(3, None)] == judge(tail[:2]).missing


@pytest.mark.parametrize("after", [(2, 3), (1, 3)])
def test_logs_of_two_quorums(after: tuple[int, int]) -> None:
    """Nobody leads twice in an epoch: logs that left each other have no epoch in common again."""
    found = contradiction([copy(1, 1, 1, 3), copy(2, 1, *after)])
    assert (found is None) == (after == (1, 3))
    assert found is None or found[0] == 2


def test_a_cleaned_log() -> None:
    """Its checkpoint tells the epochs before it, where only one is possible."""
    cleaned = replace(copy(1, 2, 2, 2, 2, checkpoint_end=3), epochs=Epochs(((2, 3, 2),)))
    short = copy(3, 1, 1)
    assert [(0, 2, "open", "3"), (0, 3, "proved", "1"), (3, 4, "safe", "1")] == told(cleaned, short)
    assert (None, 2) == judge([cleaned, short]).ranges[1].epochs
    same = replace(copy(1, 1, 1, 1, 1, checkpoint_end=3), epochs=Epochs(((2, 3, 1),)))
    assert [(0, 2, "proved", "1 3"), (2, 3, "proved", "1"), (3, 4, "safe", "1")] == told(
        same, short
    )


# By the truth that was recorded with the voters: how much was committed at least, and how much of
# it an election of 2 and 3, or of those that are left, kept.
COMMITTED = {
    "voters-all-killed-3": (1593, 1593),
    "voters-changed-address-3": (248, 248),
    "voters-lagging-follower-3": (1580, 1583),
    "voters-leader-tail-3": (348, 348),
    "voters-minority-5": (637, 640),
    "voters-static-3": (1492, 1498),
    "voters-two-epochs-3": (325, 327),
}


@pytest.mark.cases(7)
@pytest.mark.parametrize("name", ELECTABLE)
def test_every_subset_of_recorded_voters(name: str) -> None:
    """Who wins was computed when it was recorded; an election lost nothing that is safe."""
    committed, lost_from = COMMITTED[name]
    disks = sorted(fixture_dir(name).glob("voter-*"))
    nodes = {str(disk): int(disk.name[-1]) for disk in disks}
    for here in chain.from_iterable(combinations(nodes, n + 1) for n in range(len(nodes))):
        fleet = open_fleet([*here])
        rows = list(fleet.compute(vote_facts, vote_facts_of))
        copies = copies_of(rows, pytest.fail)
        found = judge(copies)
        ids = {copy.name: copy.log.node_id for copy in copies}
        of: Mapping[str, Any] = ELECTABLE[name]
        winners = {
            winner
            for running, won in of["canWin"]
            if {*running} <= {*ids.values()}
            for winner in won
        }
        assert winners == {ids[winner] for winner in found.winners}
        for stretch in found.ranges:
            if stretch.verdict is not Certainty.OPEN and len(here) == len(nodes):
                assert stretch.end <= lost_from
            if stretch.verdict is Certainty.SAFE:
                assert {*found.winners} <= {*stretch.holders}
            if len(here) == len(of["voters"]) and stretch.first < committed:
                assert stretch.verdict is not Certainty.OPEN


def test_two_epochs() -> None:
    """All hold the first 327 records: none is lost, and none is proved by an older epoch."""
    disks = [str(fixture_dir(f"voters-two-epochs-3/voter-{n}")) for n in (1, 2, 3)]
    rows = list(open_fleet(disks).compute(vote_facts, vote_facts_of))
    found = judge(copies_of(rows, pytest.fail))
    assert (0, 327) == (found.end_of(Certainty.PROVED), found.end_of(Certainty.SAFE))
