"""A quorum after a loss: which sets of its voters elect whom, and what each election would lose.

Owns which copies can be judged together. Copies of two clusters, of one node, or of two logs are
refused: no verdict about them would be true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from metashell.checks.finding import Finding
from metashell.checks.votes import MOST_COPIES, VoterLog, majorities
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.fs.differences import Scope, count_by_part, find_differences
from metashell.judgement.commitment import (
    Certainty,
    Commitment,
    DiskCopy,
    JudgedRange,
    contradiction,
    judge,
)
from metashell.judgement.copies import DIFFERS, DIVERGED, Ask, asking_here, compare_copies
from metashell.judgement.evidence import Evidence, find
from metashell.judgement.log_copies import (
    Doubt,
    copies_of,
    doubts_of_names,
    misnamed,
    remarks,
    voting,
)
from metashell.sources.fleet.member import FleetRow
from metashell.sources.fleet.rows import vote_facts, vote_facts_of
from metashell.sources.source import Source

_OF_ADDRESSES: Final = (
    "voter-endpoint-differs",
    "static-voters-differ",
    "ignored-static-voters",
    "config-unlike-quorum",
)
"""Findings about voters that others do not reach, or that do not vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """The records of a copy that an election would lose, and what these did to the cluster."""

    copy: str
    first: int
    end: int
    """The end of the copy's log."""
    may_be_committed: bool
    changes: Mapping[str, int] | None
    """How many things of each part they changed; None where the files do not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostQuorum:
    """Copies of the logs of one quorum, judged together."""

    cluster_id: str | int | None
    copies: Sequence[DiskCopy]
    facts: Mapping[str, FleetRow]
    """By name of a copy, its `metashell.sources.fleet.rows.vote_facts`."""
    departures: Mapping[str, int]
    """By name, the first offset at which a log has another batch than most others."""
    commitment: Commitment
    starts: Sequence[tuple[Sequence[VoterLog], Sequence[VoterLog]]]
    """Each set of voters that can elect a leader, with those that can win; small sets first."""
    losses: Mapping[str, Sequence[LostTail]]
    """By name of a winner, what others have and it has not."""
    doubts: Sequence[Doubt]
    """Sentences about what is not sure."""
    notes: Sequence[str]
    """Sentences about copies that have no vote, and about addresses."""
    left_out: Sequence[str] = ()
    """Names of directories with a log that do not count; `doubts` say what mends them."""

    @property
    def voters(self) -> Mapping[int, str | None]:
        """The latest voters that a log here names."""
        named = (copy.log for copy in self.copies if copy.log.voters)
        newest = max(named, key=lambda log: log.end, default=None)
        return {} if newest is None else newest.voters

    @property
    def winners(self) -> list[VoterLog]:
        """The voters that can win, those whose logs end last first."""
        found = [copy.log for copy in self.copies if copy.name in self.commitment.winners]
        return sorted(found, key=lambda log: (*log.end, -log.node_id), reverse=True)

    @property
    def best(self) -> list[VoterLog]:
        """The winners whose logs end last: these logs are equal.

        Only those count that can win where as few copies with `flaws` as possible are started.
        """
        can_win = {log.name for _, won in self._soundest for log in won}
        winners = [log for log in self.winners if not can_win or log.name in can_win]
        return [log for log in winners if log.end == winners[0].end]

    @property
    def _soundest(self) -> list[tuple[Sequence[VoterLog], Sequence[VoterLog]]]:
        """The `starts` that have the fewest copies with `flaws`."""
        flaws = self.flaws
        counts = [sum(log.name in flaws for log in running) for running, _ in self.starts]
        least = min(counts, default=0)
        return [one for one, n in zip(self.starts, counts, strict=True) if n == least]

    @property
    def best_starts(self) -> list[Sequence[VoterLog]]:
        """The sets of voters of which only one with the best log can win; small sets first."""
        best = {log.name for log in self.best}
        return [running for running, won in self._soundest if best.issuperset(w.name for w in won)]

    @property
    def troubles(self) -> Mapping[str, str]:
        """By name, why a node does not start on its copy, or may vote twice in an epoch."""
        reasons = {name: row["ownFile"] for name, row in self.facts.items()}
        return {name: str(why) for name, why in reasons.items() if why is not None}

    @property
    def flaws(self) -> Mapping[str, str]:
        """By name, why a voter is started last: damage of its log, or one of `troubles`."""
        damages = {copy.name: copy.damage for copy in self.copies if copy.damage is not None}
        return {**damages, **self.troubles}

    def is_whole(self, name: str) -> bool:
        """Whether a copy has no damage."""
        return all(copy.damage is None for copy in self.copies if copy.name == name)

    @property
    def is_sound(self) -> bool:
        """Whether no copy that is started has damage."""
        return all(self.is_whole(log.name) for log in self.chosen[0])

    @property
    def chosen(self) -> list[Sequence[VoterLog]]:
        """The sets to start: the smallest of which only one with the best log can win.

        All voters at hand where that holds for every set, and no copy has a flaw.
        """
        starts, flaws = self.best_starts, self.flaws
        if not starts:
            # A majority and no voter more elects the one whose log ends last.
            found = (copy.log for copy in voting(self.copies))
            voters = sorted(found, key=lambda log: (log.name in flaws, log.end, log.node_id))
            others = [log for log in voters if log is not self.best[0]]
            return [[self.best[0], *others[: len(self.voters) // 2]]]
        if len(starts) == len(self.starts) and not flaws:
            return starts[-1:]
        return [running for running in starts if len(running) == len(starts[0])]

    @property
    def missing(self) -> list[int]:
        """Ids of the voters that no directory here is of."""
        nodes = {copy.log.node_id for copy in self.copies}
        return [node for node, _ in self.commitment.missing if node not in nodes]

    @property
    def here(self) -> list[int]:
        """Ids of the voters that have a copy here."""
        return sorted(c.log.node_id for c in self.copies if c.log.is_voter_of(self.voters))

    def nodes(self, names: Iterable[str]) -> list[int]:
        """The nodes of copies."""
        known = {copy.name: copy.log.node_id for copy in self.copies}
        return sorted(known[name] for name in names)

    def endpoints(self, node: int) -> list[str]:
        """Where the log that names the latest voters says that a node is reached for votes."""
        newest = max(self.copies, key=lambda copy: (bool(copy.log.voters), copy.log.end))
        found: dict[str, list[str]] = json.loads(str(self.facts[newest.name]["endpoints"]))
        return found.get(str(node), [])

    @property
    def too_old(self) -> list[str]:
        """Names of winners that lack a record that is proved committed.

        No votes lead there: their directories are older than their nodes left them. A winner that
        needs the vote of a damaged copy is passed over: another may win without that copy.
        """
        damaged = {copy.name for copy in self.copies if copy.damage is not None}
        whole = [won for running, won in self.starts if damaged.isdisjoint(v.name for v in running)]
        names = {log.name for won in [self.best, *whole] for log in won}
        return [
            name
            for name in self.commitment.winners
            if (name in names or not self.starts)
            and any(r.verdict is Certainty.PROVED for r in self.commitment.lacking(name))
        ]


def examine(sources: Mapping[str, Source], stop: Callable[[], None]) -> LostQuorum:
    """Judge copies of the logs of one cluster's nodes.

    Cost: reads each, and folds those that differ.

    Args:
        sources: The newest state of each directory, by name.
        stop: Called again and again; it raises to end everything.

    Raises:
        SourceError: The copies can't be judged together; the message says why.
    """
    doubts: list[Doubt] = []
    ask = asking_here(sources, stop)
    found = judged(_of_one_cluster(ask(None, vote_facts, vote_facts_of), doubts))
    losing = _Losing(found.copies, found.commitment, sources)
    departures = _departures(ask, doubts)
    return replace(
        found,
        departures=departures,
        losses={name: losing.of(name) for name in found.commitment.winners},
        doubts=[*doubts, *found.doubts],
        notes=[*found.notes, *_of_addresses(sources, found.facts)],
        left_out=sorted(
            sources.keys() - {copy.name for copy in found.copies} | misnamed(found.copies).keys()
        ),
    )


def judged(rows: Sequence[FleetRow]) -> LostQuorum:
    """Judge copies of one cluster by facts alone: nothing is read, and no loss is counted.

    Args:
        rows: Results of `metashell.sources.fleet.rows.vote_facts`, each with a name.

    Raises:
        SourceError: The copies can't be judged together; the message says why.
    """
    doubts: list[Doubt] = []
    copies = copies_of(rows, doubts.append)
    if not copies:
        raise SourceError("no copy can be judged", hint="; ".join(doubts) or None)
    _refuse_twice(copies)
    if (found := contradiction(copies)) is not None:
        offset, one, other = found
        raise _of_two_logs(one.name, other.name, offset, "the epochs say so")
    voters = [copy.log for copy in voting(copies)]
    if len(voters) > MOST_COPIES:
        text = f"{len(voters)} copies of voters: sets are tried of up to {MOST_COPIES}"
        doubts.append(Doubt(text))
    # A broker without a vote is as it should be.
    known = [c for c in copies if any(c.log.node_id in o.log.voters for o in copies)]
    doubts += doubts_of_names(known)
    return LostQuorum(
        cluster_id=rows[0]["clusterId"],
        copies=copies,
        facts={str(row["name"]): row for row in rows},
        departures={},
        commitment=judge(copies),
        starts=[*majorities(voters)] if len(voters) <= MOST_COPIES else [],
        losses={},
        doubts=doubts,
        notes=[*remarks(known, passed=misnamed(known))],
    )


def _of_one_cluster(rows: Sequence[FleetRow], doubts: list[Doubt]) -> list[FleetRow]:
    """The rows that can be judged together."""
    found = [row for row in rows if row["error"] is None]
    doubts += (
        Doubt(f"{row['error']}: it is left out; `check` there says what helps", str(row["name"]))
        for row in rows
        if row["error"] is not None
    )
    by_cluster: dict[str, list[str]] = {}
    for row in found:
        if row["clusterId"] is not None:
            by_cluster.setdefault(str(row["clusterId"]), []).append(str(row["directory"]))
    if len(by_cluster) > 1:
        named = "; ".join(f"{key} ({', '.join(of)})" for key, of in by_cluster.items())
        raise SourceError(
            f"the copies are of {len(by_cluster)} clusters: {named}",
            hint="give those of one cluster, or name it with --cluster-id",
        )
    if by_cluster:
        why = "meta.properties does not name its cluster: it is left out. Put cluster.id back"
        doubts += (
            Doubt(f"{why}, then this copy counts", str(row["name"]))
            for row in found
            if row["clusterId"] is None
        )
        found = [row for row in found if row["clusterId"] is not None]
    if not found:
        raise SourceError("no copy can be judged", hint="; ".join(doubts) or None)
    return found


def _refuse_twice(copies: Sequence[DiskCopy]) -> None:
    """Refuse two copies of a node: only one of them can be the disk that it left."""
    by_node: dict[int, list[DiskCopy]] = {}
    for copy in copies:
        by_node.setdefault(copy.log.node_id, []).append(copy)
    for node, several in by_node.items():
        if len(several) > 1:
            named = (f"{c.name} (directory.id {c.log.directory_id or 'unknown'})" for c in several)
            voter = next((c.log.voters[node] for c in copies if node in c.log.voters), None)
            known = f": the log names {voter}" if voter else ""
            raise SourceError(
                f"node {node} is here {len(several)} times: {', '.join(named)}",
                hint=f"give the directory that the node used last{known}",
            )


def _of_two_logs(one: str, other: str, offset: int, why: str) -> SourceError:
    return SourceError(
        f"{one} and {other} are not of one log: at offset {offset} both have a batch of one epoch,"
        f" and the logs differ: {why}",
        hint="a node was formatted anew, or decided alone (--standalone), or a copy is damaged:"
        " `check` each, and give copies of one quorum",
    )


def _departures(ask: Ask, doubts: list[Doubt]) -> dict[str, int]:
    """Where logs leave the others, by their batches.

    Raises:
        SourceError: Two have different batches of one epoch at an offset.
    """
    found = {}
    for cluster in compare_copies(ask):
        for member in cluster.members:
            name, offset = str(member["name"]), member["divergedAt"]
            if member["verdict"] is DIFFERS:
                doubts.append(Doubt(cluster.notes[name], name))
            if member["verdict"] is DIVERGED and isinstance(offset, int):
                found[name] = offset
                if member["epoch"] is not None and member["epoch"] == member["otherEpoch"]:
                    others = [str(m["name"]) for m in cluster.members if m is not member]
                    raise _of_two_logs(name, others[0], offset, "the batches are not the same")
    return found


class _Losing:
    """Finds what an election would lose."""

    def __init__(
        self, copies: Sequence[DiskCopy], commitment: Commitment, sources: Mapping[str, Source]
    ) -> None:
        self._copies = {copy.name: copy for copy in copies}
        self._commitment, self._sources = commitment, sources
        self._known: dict[tuple[str, int], Mapping[str, int] | None] = {}

    def of(self, winner: str) -> list[LostTail]:
        """The records that others have and a winner has not, each told of the longest log."""
        lacking = self._commitment.lacking(winner)
        lost = {
            name: [r for r in lacking if name in (*r.holders, *r.damaged)] for name in self._copies
        }
        found = []
        kept: list[list[JudgedRange]] = []
        for name, ranges in sorted(lost.items(), key=lambda one: len(one[1]), reverse=True):
            if not ranges or any(all(r in other for r in ranges) for other in kept):
                continue
            kept.append(ranges)
            copy = self._copies[name]
            first, end = ranges[0].first, max(copy.log.end.offset, copy.file_end)
            found.append(
                LostTail(
                    copy=name,
                    first=first,
                    end=end,
                    may_be_committed=any(r.may_be_committed for r in ranges),
                    changes=self._changes(winner, name, first),
                )
            )
        return found

    def _changes(self, winner: str, name: str, first: int) -> Mapping[str, int] | None:
        """The changes that a log's records make from an offset on, counted by part."""
        if (name, first) not in self._known:
            after, before = self._sources[name], None
            kept = self._copies[winner]
            if first == kept.log.end.offset and not kept.file_end:
                before = self._sources[winner]
            else:
                with suppress(MetashellError):
                    before = after.at(first - 1)
            counts = None
            if before is not None:
                differing = find_differences(before.image, after.image, Scope([("image",)]))
                counts = {part: n.total() for part, n in count_by_part(differing).items()}
            self._known[name, first] = counts
        return self._known[name, first]


def _of_addresses(sources: Mapping[str, Source], facts: Mapping[str, FleetRow]) -> Iterator[str]:
    """Voters that others do not reach at the endpoints in the log, or that do not vote."""
    meanings = set()
    for name in facts:
        evidence = Evidence(source=sources[name], image=sources[name].image)
        for finding in find(evidence, _OF_ADDRESSES):
            if isinstance(finding, Finding) and finding.meaning not in meanings:
                meanings.add(finding.meaning)
                yield f"{name}: {finding.meaning}"
