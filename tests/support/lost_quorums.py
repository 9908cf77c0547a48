"""KRaft in small: nodes that vote, append, fetch, are killed and lose disks, moved by a seed.

A message is a step of two nodes that happens or does not, so messages are late, lost or never sent
as the seed has it. Nothing here knows the rules that metashell judges copies by.

Source: org.apache.kafka.raft.KafkaRaftClient, LeaderState, QuorumState, KafkaRaftLog.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random

from metashell.checks.agreement import Epochs
from metashell.checks.votes import OffsetAndEpoch, VoterLog
from metashell.judgement.commitment import DiskCopy


@dataclass(frozen=True)
class Entry:
    """A record; its number makes it another than each other one."""

    epoch: int
    number: int
    voters: frozenset[int] | None = None
    """The voters from here on, where it is a VotersRecord."""


@dataclass(eq=False)
class Node:
    """A node, with what its disk has (the first five) and what it forgets when it is killed."""

    id: int
    log: list[Entry] = field(default_factory=list)
    """From offset 0 on, also where the files begin later."""
    epoch: int = 0
    voted: int | None = None
    """Whom it voted for in the epoch."""
    checkpoint_end: int = 0
    start: int = 0
    """The first offset that has a batch on the disk."""
    runs: bool = True
    leads: bool = False
    epoch_start: int = 0
    high_watermark: int = 0
    fetched: dict[int, int] = field(default_factory=dict)
    """As a leader, the ends that others fetched from."""

    @property
    def end(self) -> tuple[int, int]:
        """What a vote compares."""
        return (self.log[-1].epoch if self.log else 0, len(self.log))

    def kill(self) -> None:
        """End the process: the disk stays."""
        self.runs = self.leads = False
        self.high_watermark, self.fetched = 0, {}

    def reach(self, epoch: int) -> None:
        """Hear of an epoch, and write it down."""
        if epoch > self.epoch:
            self.epoch, self.voted, self.leads = epoch, None, False


class Quorum:
    """Some nodes and the records that a client was told are committed.

    Args:
        random: What happens.
        n_voters: How many vote at first.
        dynamic: Whether voters have directory ids and can change.
    """

    def __init__(self, random: Random, n_voters: int, *, dynamic: bool) -> None:
        self.random, self.dynamic = random, dynamic
        self.first_voters = frozenset(range(1, n_voters + 1))
        self.nodes = {i: Node(i) for i in range(1, n_voters + 3)}
        self.committed: list[Entry] = []
        self.eager = random.random() < 0.3
        """Whether leaders append before the start of their epoch is committed; Kafka's do not."""
        self._numbers = iter(range(1 << 30))

    def voters_of(self, log: list[Entry]) -> frozenset[int]:
        """The latest voter set of a log, committed or not."""
        return next((e.voters for e in reversed(log) if e.voters is not None), self.first_voters)

    def steps(self, n: int) -> None:
        """Let things happen."""
        moves: Mapping[Callable[[], None], int] = {
            self._election: 4,
            self._append: 8,
            self._fetch: 30,
            self._kill: 2,
            self._start: 4,
            self._checkpoint: 2,
            self._change_voters: 2 if self.dynamic else 0,
        }
        for move in self.random.choices(list(moves), list(moves.values()), k=n):
            move()

    def _running(self, *, leads: bool | None = None) -> list[Node]:
        return [n for n in self.nodes.values() if n.runs and leads in (None, n.leads)]

    def _any(self, nodes: list[Node]) -> Node | None:
        return self.random.choice(nodes) if nodes else None

    def _election(self) -> None:
        candidate = self._any(self._running(leads=False))
        if candidate is not None and candidate.id in self.voters_of(candidate.log):
            others = [n for n in self._running() if n is not candidate]
            heard = [n for n in others if self.random.random() < 0.7]
            self.elect(candidate, heard)

    def elect(self, candidate: Node, heard: Collection[Node]) -> bool:
        """Ask for the votes of those that hear of it; whether the candidate is elected."""
        voters = self.voters_of(candidate.log)
        candidate.reach(candidate.epoch + self.random.choice((1, 1, 2)))
        candidate.voted, n_votes = candidate.id, 1
        for node in heard:
            if node.id not in voters:
                continue
            node.reach(candidate.epoch)
            if (
                node.epoch == candidate.epoch
                and node.voted in (None, candidate.id)
                and candidate.end >= node.end
            ):
                node.voted, n_votes = candidate.id, n_votes + 1
        if 2 * n_votes <= len(voters):
            return False
        candidate.leads, candidate.epoch_start = True, len(candidate.log)
        candidate.fetched = {}
        self._write(candidate)
        return True

    def _write(self, leader: Node, voters: frozenset[int] | None = None) -> None:
        leader.log.append(Entry(leader.epoch, next(self._numbers), voters))
        self._count(leader)

    def _append(self) -> None:
        leader = self._any(self._running(leads=True))
        if leader is not None and (self.eager or leader.high_watermark > leader.epoch_start):
            for _ in range(self.random.randint(1, 3)):
                self._write(leader)

    def _change_voters(self) -> None:
        leader = self._any(self._running(leads=True))
        if leader is None or leader.high_watermark <= leader.epoch_start:
            return
        if any(entry.voters is not None for entry in leader.log[leader.high_watermark :]):
            return
        voters = self.voters_of(leader.log)
        changed = voters ^ {self.random.choice(sorted(self.nodes))}
        if changed:
            self._write(leader, changed)

    def _fetch(self) -> None:
        leader = self._any(self._running(leads=True))
        node = self._any([n for n in self._running() if n is not leader])
        if leader is None or node is None or node.epoch > leader.epoch:
            return
        node.reach(leader.epoch)
        # Log matching: the same record at an end means the same records before it.
        agreed = len(node.log)
        if node.log:
            # The follower names its last epoch, the leader where its own log leaves that epoch.
            common = sum(1 for e in leader.log if e.epoch <= node.end[0])
            own = leader.log[common - 1].epoch if common else 0
            if own != node.end[0] or common < len(node.log):
                agreed = min(common, sum(1 for e in node.log if e.epoch <= own))
        if agreed < len(node.log):
            if agreed < max(leader.start, node.start, node.checkpoint_end):
                self._take_checkpoint(node, leader)
            else:
                del node.log[agreed:]
            return
        if len(node.log) < leader.start:
            self._take_checkpoint(node, leader)
            return
        leader.fetched[node.id] = len(node.log)
        self._count(leader)
        node.log += leader.log[len(node.log) :][: self.random.choice((0, 1, 2, 99))]
        node.high_watermark = min(leader.high_watermark, len(node.log))

    @staticmethod
    def _take_checkpoint(node: Node, leader: Node) -> None:
        if leader.checkpoint_end:
            node.log = leader.log[: leader.checkpoint_end]
            node.start = node.checkpoint_end = leader.checkpoint_end

    def _count(self, leader: Node) -> None:
        """Move the leader's high watermark, and tell clients."""
        voters = self.voters_of(leader.log)
        ends = {**leader.fetched, leader.id: len(leader.log)}
        reached = sorted((ends.get(v, 0) for v in voters), reverse=True)[len(voters) // 2]
        if reached > leader.epoch_start and reached > leader.high_watermark:
            leader.high_watermark = reached
            told = leader.log[:reached]
            assert told[: len(self.committed)] == self.committed[: len(told)]
            self.committed = max(told, self.committed, key=len)

    def _kill(self) -> None:
        node = self._any(self._running())
        if node is not None:
            node.kill()

    def _start(self) -> None:
        node = self._any([n for n in self.nodes.values() if not n.runs])
        if node is not None:
            node.runs = True
            node.reach(node.epoch + self.random.choice((0, 0, 0, 1)))

    def _checkpoint(self) -> None:
        node = self._any(self._running())
        if node is not None and node.high_watermark > node.checkpoint_end:
            node.checkpoint_end = node.high_watermark
            if self.random.random() < 0.4:
                node.start = self.random.randint(node.start, node.checkpoint_end)

    def damaged_copy(self, node: Node, at: int, *, is_cut_off: bool) -> tuple[DiskCopy, Node]:
        """What the node's disk tells after damage at an offset, and the node once it has started.

        Where the start does not cut the damage off, its log has a hole.
        """
        end = max(at, node.checkpoint_end)
        kept = replace(node, log=node.log[:end])
        hole = Entry(node.log[at].epoch, -1 - at)
        beyond = replace(node, log=[*node.log[:at], hole, *node.log[at + 1 :]])
        copy = self.copy_of(kept)
        copy = replace(
            copy,
            log=replace(copy.log, beyond=None if is_cut_off else self.copy_of(beyond).log),
            epochs=Epochs(tuple(self._runs(node, without=at))),
            damage="damage",
            file_end=len(node.log),
        )
        return copy, kept if is_cut_off else beyond

    def copy_of(self, node: Node) -> DiskCopy:
        """What the node's disk tells."""
        sets = [(0, self.first_voters)]
        for offset, entry in enumerate(node.log):
            if entry.voters is not None:
                # The newest checkpoint tells of the set before the files' first record.
                is_before = offset < node.start
                sets = [(0, entry.voters)] if is_before else [*sets, (offset, entry.voters)]
        named = tuple((o, {v: self.directory(v) for v in sorted(s)}) for o, s in sets)
        return DiskCopy(
            log=VoterLog(
                name=str(node.id),
                node_id=node.id,
                directory_id=self.directory(node.id),
                end=OffsetAndEpoch(*node.end),
                voters=named[-1][1],
            ),
            epochs=Epochs(tuple(self._runs(node))),
            voter_sets=named,
            epoch=node.epoch,
            checkpoint_end=node.checkpoint_end,
        )

    @staticmethod
    def _runs(node: Node, without: int = -1) -> list[tuple[int, int, int]]:
        """The epochs of a log, but for an offset, as far as its files tell them."""
        runs: list[tuple[int, int, int]] = []
        for offset, entry in enumerate(node.log):
            is_gone = offset < node.start and offset != node.checkpoint_end - 1
            if is_gone or offset == without:
                continue
            if runs and runs[-1][1:] == (offset - 1, entry.epoch):
                runs[-1] = (runs[-1][0], offset, entry.epoch)
            else:
                runs.append((offset, offset, entry.epoch))
        return runs

    def directory(self, node: int) -> str | None:
        """The directory id of a node."""
        return f"d{node}" if self.dynamic else None


def subsets(items: Collection[int]) -> Iterator[tuple[int, ...]]:
    """All subsets that are not empty, small ones first."""
    for n in range(1, len(items) + 1):
        yield from combinations(sorted(items), n)
