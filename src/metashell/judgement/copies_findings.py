"""Findings about copies of clusters: several quorums, logs that differ, and whose copy wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from metashell.checks.finding import Finding
from metashell.errors import SourceError
from metashell.judgement.copies import DIFFERS, DIVERGED, asking, compare_copies
from metashell.judgement.lost_quorum import judged
from metashell.judgement.quorum_words import headline
from metashell.sources.fleet.rows import vote_facts, vote_facts_of

if TYPE_CHECKING:
    from metashell.sources.fleet.member import FleetRow
    from metashell.sources.fleet.source import FleetSource


def find_in(
    fleet: FleetSource, codes: Collection[str], stop: Callable[[], None]
) -> Iterator[tuple[str, Finding]]:
    """Find copies of a cluster that do not agree, each with the cluster's id.

    Args:
        fleet: Its members without a cluster id, and those alone in their cluster, are passed over.
        codes: The kinds that are asked for.
        stop: Called again and again; it raises to end everything.
    """
    times = Counter(member.cluster_id for member in fleet.members.values())
    names = [m.name for m in fleet.members.values() if m.cluster_id and times[m.cluster_id] > 1]
    if not names:
        return
    ask = asking(fleet, stop, names)
    clusters = compare_copies(ask)
    diverged = [c for c in clusters if any(m["verdict"] is DIVERGED for m in c.members)]
    has_votes = diverged or "copies-of-voters" in codes
    votes = ask(None, vote_facts, vote_facts_of) if has_votes else ()
    for cluster in clusters:
        # An older copy of a log can name other voters: only logs of their own are quorums.
        quorums = _quorums(r for r in votes if r["clusterId"] == cluster.cluster_id)
        found = [_disjoint(quorums)] if len(quorums) > 1 and cluster in diverged else []
        found += [
            Finding(
                "copies-diverged" if member["verdict"] is DIVERGED else "copies-differ",
                cluster.notes[str(member["name"])],
                subject=f"copy {member['name']}",
                offset=member["divergedAt"] if isinstance(member["divergedAt"], int) else None,
            )
            for member in cluster.members
            if member["verdict"] in (DIVERGED, DIFFERS) and not found
        ]
        # One epoch has one leader: such batches are of two quorums, and no vote is theirs.
        is_one_log = all(
            m["epoch"] is None or m["epoch"] != m["otherEpoch"] for m in cluster.members
        )
        if len(quorums) <= 1 and is_one_log:
            found += _winning([r for r in votes if r["clusterId"] == cluster.cluster_id])
        yield from ((str(cluster.cluster_id), one) for one in found if one.code in codes)


def _quorums(votes: Iterable[FleetRow]) -> list[tuple[set[str], list[str]]]:
    """Voters, and names of the copies that name them, of each set that has none of another's.

    A voter is known by its directory too, where the quorum is dynamic.
    """
    found: list[tuple[set[str], list[str]]] = []
    for row in votes:
        voters, names = set(str(row["voters"] or "").split()), [str(row["name"])]
        if row["error"] is not None or not voters:
            continue
        apart = []
        for other, copies in found:
            if _share(voters, other):
                voters, names = voters | other, copies + names
            else:
                apart.append((other, copies))
        found = [*apart, (voters, names)]
    return found


def _share(voters: Iterable[str], others: Iterable[str]) -> bool:
    """Whether two sets have a voter in common; without a directory its id decides."""
    return any(
        one == other or (one.split(",")[0] == other.split(",")[0] and "," in (one[-1], other[-1]))
        for one in voters
        for other in others
    )


def _disjoint(quorums: Sequence[tuple[set[str], list[str]]]) -> Finding:
    """The finding about quorums that have no voter in common."""
    voters_text = []
    for voters, names in quorums:
        ids = sorted({int(one.partition(",")[0]) for one in voters})
        voters_text.append(
            f"voter{'s' * (len(ids) > 1)} {', '.join(map(str, ids))} ({', '.join(names)})"
        )
    return Finding(
        "disjoint-voters",
        f"the nodes of this cluster id are {len(quorums)} quorums, and each decides alone:"
        f" {'; '.join(voters_text)}",
        subject="the nodes",
        count=len(quorums),
    )


def _winning(votes: Sequence[FleetRow]) -> Iterator[Finding]:
    """The finding that says whose copy wins; none where the copies are of one voter, or of none."""
    try:
        found = judged([row for row in votes if row["error"] is None])
    except SourceError:
        return
    if len(found.here) > 1:
        message = f"if the quorum is lost, {headline(found)}"
        yield Finding("copies-of-voters", message, subject="the copies of voters")
