"""Verdicts about records of a lost quorum, against what its leaders told clients.

Each seed is a quorum: elections, appends, fetches, kills, checkpoints, changes of voters, lost
disks. ``METASHELL_SEEDS=N`` runs N seeds, ``METASHELL_FIRST_SEED`` says with which to begin.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from random import Random

import pytest

from metashell.judgement.commitment import Certainty, Commitment, JudgedRange, judge
from support.lost_quorums import Entry, Node, Quorum, subsets
from support.seeds import examples

SEEDS = int(os.environ.get("METASHELL_SEEDS", examples(1000)))
FIRST = int(os.environ.get("METASHELL_FIRST_SEED", "0"))
BLOCK = 250


@pytest.mark.parametrize("block", range(0, SEEDS, BLOCK))
def test_verdicts(block: int) -> None:
    """None is wrong, and none is weaker than the votes allow."""
    n_proved = 0
    for seed in range(FIRST + block, FIRST + min(block + BLOCK, SEEDS)):
        random = Random(seed)
        quorum = Quorum(random, random.randint(1, 5), dynamic=random.random() < 0.6)
        quorum.steps(random.choice((40, 120, 300)))
        later = deepcopy(quorum)
        for node in later.nodes.values():
            node.kill()
        later.steps(120)
        for here in list(_disks(random, quorum)):
            found = judge([quorum.copy_of(node) for node in here])
            where = f"seed {seed}, nodes {[node.id for node in here]}"
            _check(quorum, later, here, found, where)
            n_proved += found.end_of(Certainty.PROVED) > 0
    assert n_proved


@pytest.mark.parametrize("block", range(0, SEEDS, BLOCK))
def test_verdicts_with_damage(block: int) -> None:
    """Records behind damage prove nothing, and keep others from being acknowledged to nobody."""
    n_proved = n_safe = 0
    for seed in range(FIRST + block, FIRST + min(block + BLOCK, SEEDS)):
        random = Random(seed)
        quorum = Quorum(random, random.randint(1, 5), dynamic=random.random() < 0.6)
        quorum.steps(random.choice((40, 120, 300)))
        here = random.sample([*quorum.nodes.values()], random.randint(1, len(quorum.nodes)))
        ill = {node.id for node in here if node.log and random.random() < 0.4}
        copies, started = [], []
        for node in here:
            copy, after = quorum.copy_of(node), node
            if node.id in ill:
                at, is_cut_off = random.randrange(len(node.log)), random.random() < 0.6
                copy, after = quorum.damaged_copy(node, at, is_cut_off=is_cut_off)
            copies.append(copy)
            started.append(after)
        found = judge(copies)
        winners = [w for running in subsets_of(started) for w in _electable(quorum, running)]
        where = f"seed {seed}, nodes {[node.id for node in here]}, damaged {ill}"
        assert set(found.winners) >= {str(node.id) for node in winners}, where
        for stretch in found.ranges:
            assert stretch.may_be_committed or not ill, where
            for offset, entry in _entries(quorum, stretch):
                about = f"{where}, offset {offset}"
                if stretch.verdict is Certainty.PROVED:
                    assert quorum.committed[offset : offset + 1] in ([], [entry]), about
                    n_proved += 1
                if stretch.verdict is Certainty.SAFE:
                    assert all(_holds(node, offset, entry) for node in winners), about
                    n_safe += 1
    assert n_proved
    assert n_safe


def _disks(random: Random, quorum: Quorum) -> Iterator[list[Node]]:
    """All disks, and some that are left."""
    nodes = list(quorum.nodes.values())
    yield nodes
    for n_lost in (1, 2, random.randint(1, len(nodes) - 1)):
        yield random.sample(nodes, len(nodes) - n_lost)


def _check(quorum: Quorum, later: Quorum, here: list[Node], found: Commitment, where: str) -> None:
    """Compare the verdicts about the disks that are left with all that is known."""
    winners = [winner for running in subsets_of(here) for winner in _electable(quorum, running)]
    assert set(found.winners) == {str(node.id) for node in winners}, where
    told: dict[tuple[int, Entry], set[Certainty]] = {}
    for stretch in found.ranges:
        for offset, entry in _entries(quorum, stretch):
            about = f"{where}, offset {offset}"
            told.setdefault((offset, entry), set()).add(stretch.verdict)
            if stretch.verdict is Certainty.PROVED:
                for state in (quorum, later):
                    leaders = _electable(state, list(state.nodes.values()))
                    assert all(_holds(node, offset, entry) for node in leaders), about
                    assert state.committed[offset : offset + 1] in ([], [entry]), about
            if stretch.verdict is Certainty.SAFE:
                assert all(_holds(node, offset, entry) for node in winners), about
            if not stretch.may_be_committed:
                assert entry not in later.committed[: len(quorum.committed)], about
    voters = quorum.first_voters.union(*(e.voters or () for n in here for e in n.log))
    for offset, entry in {(o, e) for node in here for o, e in enumerate(node.log)}:
        about = f"{where}, offset {offset}"
        is_proved = Certainty.PROVED in told[offset, entry]
        assert is_proved == _provable(quorum, here, offset, entry), about
        if voters <= {node.id for node in here} and entry in quorum.committed:
            assert told[offset, entry] != {Certainty.OPEN}, about


def subsets_of(nodes: Collection[Node]) -> Iterator[list[Node]]:
    """All sets of nodes that may run."""
    by_id = {node.id: node for node in nodes}
    return ([by_id[i] for i in ids] for ids in subsets(by_id))


def _electable(quorum: Quorum, running: Sequence[Node]) -> list[Node]:
    """Who can win the next vote, if these run."""
    found = []
    for candidate in running:
        voters = quorum.voters_of(candidate.log)
        granting = [n for n in running if n.id in voters and n.end <= candidate.end]
        if candidate.id in voters and 2 * len(granting) > len(voters):
            found.append(candidate)
    return found


def _holds(node: Node, offset: int, entry: Entry) -> bool:
    return node.log[offset : offset + 1] == [entry]


def _entries(quorum: Quorum, stretch: JudgedRange) -> Iterator[tuple[int, Entry]]:
    """The records of a stretch, which each of its holders has."""
    logs = [quorum.nodes[int(name)].log for name in (*stretch.holders, *stretch.damaged)]
    for offset in range(stretch.first, stretch.end):
        known = {log[offset] for log in logs}
        assert len(known) == 1
        yield offset, known.pop()


def _provable(quorum: Quorum, here: Sequence[Node], offset: int, entry: Entry) -> bool:
    """Whether a record is proved, by trying all votes that the disks do not rule out."""
    newest = max(node.end[0] for node in here)
    holders = [node for node in here if _holds(node, offset, entry)]
    if any(node.checkpoint_end > offset for node in holders):
        return True
    for node in holders:
        for behind in range(offset, len(node.log)):
            if node.log[behind].epoch == newest:
                voters = quorum.voters_of(node.log[: behind + 1])
                having = [n for n in here if n.id in voters and _holds(n, behind, node.log[behind])]
                if 2 * len(having) > len(voters) and (
                    voters <= {n.id for n in here}
                    or not _may_have_led(quorum, here, voters, newest)
                ):
                    return True
    return False


def _may_have_led(
    quorum: Quorum, here: Sequence[Node], voters: frozenset[int], newest: int
) -> bool:
    """Whether votes that nobody's disk rules out elect a leader of a later epoch.

    A change of one voter may have been in force then, if its record is not here.
    """
    other = max(quorum.nodes) + 1
    changes = [voters | {other}, *(voters - {v} for v in voters)] if quorum.dynamic else []
    refused = {node.id for node in here if node.epoch <= newest}
    return any(
        2 * len(votes) > len(electing) and refused.isdisjoint(votes)
        for electing in [voters, *changes]
        for votes in subsets(electing)
    )
