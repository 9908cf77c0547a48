"""Copies of voters' logs as votes see them, from the facts that directories tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.checks.agreement import Epochs
from metashell.checks.votes import OffsetAndEpoch, VoterLog
from metashell.judgement.commitment import DiskCopy, Voters

if TYPE_CHECKING:
    from metashell.sources.fleet.member import FleetRow


_LEFT_OUT: Final = "{}: it is left out; `check` there says what helps"


class Doubt(str):
    """A sentence about what is not sure."""

    __slots__ = ("copy",)
    copy: str | None
    """The name of the copy that it is about; None where it is about all."""

    def __new__(cls, why: str, copy: str | None = None) -> Doubt:
        """Write the name before the reason."""
        made = super().__new__(cls, why if copy is None else f"{copy}: {why}")
        made.copy = copy
        return made


def copies_of(rows: Sequence[FleetRow], doubt: Callable[[Doubt], None]) -> list[DiskCopy]:
    """The copies that can be judged.

    A copy that does not name a static quorum's voters takes those of the others: they are in the
    configuration of each node. Without voters a copy can vote, but can't be a candidate.

    Args:
        rows: Results of `metashell.sources.fleet.rows.vote_facts` for one cluster, each with a
            name.
        doubt: Takes a sentence about a copy that is left out, or whose facts are not sure.
    """
    copies = [copy for row in rows if (copy := _copy(row, doubt)) is not None]
    named = [copy for copy in copies if copy.log.voters]
    sets = {frozenset(copy.log.voters.items()) for copy in named}
    static = len(sets) == 1 and not any(named[0].log.voters.values())
    for copy in copies:
        if not copy.log.voters:
            why = "neither its log nor quorum-state names the voters"
            if static:
                why += f": those of {named[0].name} are taken"
            elif named:
                why += ": it can't win"
            doubt(Doubt(why, copy.name))
    if not static:
        return copies
    voters = named[0].log.voters
    return [
        replace(copy, log=copy.log.with_voters(voters), voter_sets=((0, voters),))
        for copy in copies
    ]


def voting(copies: Sequence[DiskCopy]) -> list[DiskCopy]:
    """The copies whose nodes have a vote by the voter set of some copy."""
    return [copy for copy in copies if any(copy.log.is_voter_of(c.log.voters) for c in copies)]


def misnamed(copies: Sequence[DiskCopy]) -> dict[str, str]:
    """By name, the directory.id that a log has for the node of a copy with another one, or none."""
    here = {copy.log.node_id for copy in voting(copies)}
    pairs = (
        (copy.name, c.log.voters.get(copy.log.node_id))
        for copy in copies
        for c in copies
        if copy.log.node_id not in here
    )
    return {name: directory for name, directory in pairs if directory is not None}


def doubts_of_names(copies: Sequence[DiskCopy]) -> Iterator[Doubt]:
    """The doubts about copies that are `misnamed`."""
    logged = misnamed(copies)
    for copy in copies:
        name, directory = copy.name, copy.log.directory_id
        if name in logged and directory is None:
            why = f"its meta.properties has no directory.id; the log names {logged[name]}: put it"
            yield Doubt(f"{why} back before the node starts, then this copy counts", name)
        elif name in logged:
            why = f"the log names directory.id {logged[name]} for voter {copy.log.node_id}, and its"
            why += f" meta.properties has {directory}: it has no vote. The log's belongs there only"
            yield Doubt(f"{why} if the directory was never formatted anew", name)


def remarks(copies: Sequence[DiskCopy], *, passed: Collection[str] = ()) -> Iterator[str]:
    """Sentences about copies that have no vote, or share one.

    Args:
        copies: The copies.
        passed: Names of copies without a vote of which nothing is said.
    """
    voters = voting(copies)
    for copy in copies:
        if copy not in voters and copy.name not in passed:
            directory = copy.log.directory_id or "unknown"
            yield (
                f"{copy.name}: node {copy.log.node_id} with directory.id {directory} is not a"
                " voter: it has no vote"
            )
    names: dict[int, list[str]] = {}
    for copy in voters:
        names.setdefault(copy.log.node_id, []).append(copy.name)
    for node, several in names.items():
        if len(several) > 1:
            yield f"voter {node} has {len(several)} copies: {', '.join(several)}: one can run"
    if len({frozenset(copy.log.voters.items()) for copy in copies if copy.log.voters}) > 1:
        yield "the logs name different voters: each candidate needs a majority of its own"


def _copy(row: FleetRow, doubt: Callable[[Doubt], None]) -> DiskCopy | None:
    """A directory as a vote sees it; None if it can't be one, which is told."""
    name = str(row["name"])
    node, epoch, end = (row[key] for key in ("nodeId", "logEpoch", "logEndOffset"))
    if not isinstance(node, int) or not isinstance(epoch, int) or not isinstance(end, int):
        doubt(
            Doubt(
                _without_node(row) if node is None else _LEFT_OUT.format("it is no log directory"),
                name,
            )
        )
        return None
    directory, reached, checkpoint = (row[k] for k in ("directoryId", "epoch", "checkpointEnd"))
    ranges = (map(int, word.split(",")) for word in str(row["epochs"]).split())
    words = (one.partition(":") for one in str(row["voterSets"]).split(";"))
    every_set = [(int(offset), _voters(voters)) for offset, _, voters in words]
    sets = [one for i, one in enumerate(every_set) if not i or one[0] < end]
    log = VoterLog(
        name=name,
        node_id=node,
        directory_id=None if directory is None else str(directory),
        end=OffsetAndEpoch(epoch, end),
        voters=sets[-1][1],
    )
    copy = DiskCopy(
        log=log
        if (beyond := _may_end(row)) is None
        else replace(log, beyond=replace(log, end=beyond, voters=every_set[-1][1])),
        epochs=Epochs(tuple((first, last, number) for first, last, number in ranges)),
        voter_sets=sets,
        epoch=reached if isinstance(reached, int) else None,
        checkpoint_end=checkpoint if isinstance(checkpoint, int) else 0,
        damage=None if row["fault"] is None else _damage(row),
        file_end=int(row["fileEndOffset"] or 0),
    )
    if copy.damage is not None:
        doubt(Doubt(copy.damage, name))
    if row["ownFile"] is not None:
        doubt(Doubt(str(row["ownFile"]), name))
    return copy


def _without_node(row: FleetRow) -> str:
    """Why a directory is left out whose node is not known, and the remedy."""
    voters, own = _voters(row["voters"]), row["directoryId"]
    node = next((node for node, directory in voters.items() if own and directory == own), None)
    known = "" if node is None else f"={node} (by its directory.id)"
    why = "meta.properties does not name its node"
    if row["clusterId"] is None and own is None:
        return _LEFT_OUT.format(why)
    return f"{why}: it is left out. Put node.id{known} back into it, then this copy counts"


def _damage(row: FleetRow) -> str:
    """The damage of a copy, and the records that do not count by it."""
    why = (
        "and a start cuts it off there" if row["mayEndEpoch"] is None else "and its end is not sure"
    )
    end, last = int(row["logEndOffset"] or 0), int(row["fileEndOffset"] or 0) - 1
    lost = f", {why}: offsets {end}-{last} of it do not count" if last >= end else ""
    return f"its log is damaged{lost}: {row['fault']}"


def _may_end(row: FleetRow) -> OffsetAndEpoch | None:
    epoch, end = row["mayEndEpoch"], row["fileEndOffset"]
    if isinstance(epoch, int) and isinstance(end, int):
        return OffsetAndEpoch(epoch, end)
    return None


def _voters(words: str | int | None) -> Voters:
    """The voters that `metashell.sources.fleet.rows.vote_facts` has as words."""
    pairs = (word.split(",") for word in str(words or "").split())
    return {int(voter): directory or None for voter, directory in pairs}
