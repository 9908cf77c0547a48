"""Copies of clusters' metadata, compared: their logs, their states and their voters.

Owns no reading: who asks says how facts about copies are gathered, here or in other processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.sources.fleet.agreement import CopyFacts, compare_groups
from metashell.sources.fleet.rows import (
    END_FIELDS,
    cluster_id_of,
    compared,
    compared_of,
    last_offset,
    last_offset_of,
)

if TYPE_CHECKING:
    from metashell.sources.fleet.agreement import Compared, Divergence
    from metashell.sources.fleet.member import FleetRow
    from metashell.sources.fleet.rows import ComparedQuery
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

Ask: TypeAlias = "Callable[..., Sequence[FleetRow]]"
"""Gives a row of each copy, see `asking`."""

EQUAL: Final = "equal"
DIFFERS: Final = "differs"
DIVERGED: Final = "diverged"
ALONE: Final = "alone"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ComparedCluster:
    """The directories of one cluster, compared."""

    cluster_id: str | int | None
    members: Sequence[FleetRow]
    """A row for each directory, with its verdict."""
    notes: Mapping[str, str]
    """By name of a copy that is not equal, in which way, in a sentence."""


def asking(
    fleet: FleetSource, stop: Callable[[], None], names: Collection[str] | None = None
) -> Ask:
    """Ask the members of a fleet, many at a time, by functions of `metashell.sources.fleet.rows`.

    The result takes the queries of some members, else None, and the two functions.

    Args:
        fleet: The fleet.
        stop: Called again and again; it raises to end everything.
        names: The members; all where None.
    """

    def ask(
        wanted: Mapping[str, ComparedQuery] | None,
        function: Callable[..., FleetRow],
        of_source: Callable[..., FleetRow],
    ) -> Sequence[FleetRow]:
        chosen = names if wanted is None else wanted
        rows = fleet.compute(
            function,
            of_source,
            lambda member: () if wanted is None else (wanted[member.name],),
            members=None if chosen is None else [fleet.members[name] for name in chosen],
            stop=stop,
        )
        return list(rows)

    return ask


def asking_here(sources: Mapping[str, Source], stop: Callable[[], None]) -> Ask:
    """Ask opened sources by their names, in this process; otherwise like `asking`."""

    def ask(
        wanted: Mapping[str, ComparedQuery] | None, _: object, of_source: Callable[..., FleetRow]
    ) -> Sequence[FleetRow]:
        rows: list[FleetRow] = []
        for name in sources if wanted is None else wanted:
            stop()
            source, asked = sources[name], () if wanted is None else (wanted[name],)
            row: FleetRow = dict.fromkeys(END_FIELDS)
            row |= {"name": name, "directory": source.path, "error": None}
            row["clusterId"] = cluster_id_of(source)
            try:
                row |= of_source(source, *asked)
            except MetashellError as error:
                row["error"] = error.message
            rows.append(row)
        return rows

    return ask


def compare_copies(ask: Ask) -> list[ComparedCluster]:
    """Compare the copies of each cluster with each other."""
    groups: dict[str, list[FleetRow]] = {}
    for row in ask(None, last_offset, last_offset_of):
        if row["error"] is None and row["offset"] is None:
            row["error"] = "it holds no record"
        groups.setdefault(_group(row), []).append(row)

    def compute(wanted: dict[str, ComparedQuery]) -> Mapping[str, FleetRow]:
        return {str(row["name"]): row for row in ask(wanted, compared, compared_of)}

    copies = {
        group: [CopyFacts.of(row) for row in rows if row["error"] is None]
        for group, rows in groups.items()
    }
    found = compare_groups(copies, compute)
    clusters = []
    for group in sorted(groups):
        members = [_member(row, found[group]) for row in groups[group]]
        for member, verdict in zip(members, _verdicts(members, found[group]), strict=True):
            member["verdict"] = verdict
        notes = dict(_notes(members, found[group]))
        clusters.append(ComparedCluster(groups[group][0]["clusterId"], members, notes))
    return clusters


def _notes(members: Sequence[FleetRow], compared: Compared) -> Iterator[tuple[str, str]]:
    """By name, where a log leaves the others, that states differ, or why nothing is compared."""
    for member in members:
        name, divergence = str(member["name"]), compared.diverged.get(str(member["name"]))
        if divergence is not None:
            yield name, _left(divergence)
        elif member["verdict"] is DIFFERS:
            yield name, f"its state after offset {member['offset']} is another than others have"
        elif member["verdict"] is UNKNOWN:
            yield name, str(member["error"])


def _member(end: FleetRow, compared: Compared) -> FleetRow:
    """The row of a directory."""
    name = str(end["name"])
    row, offset = compared.rows.get(name), compared.offsets.get(name)
    error = end["error"]
    if error is None and row is not None:
        error = row.get("error")
    elif error is None:
        error = _not_covered(end, compared)
    divergence = compared.diverged.get(name)
    return {
        "name": name,
        "directory": end["directory"],
        "lastOffset": end["offset"],
        "offset": compared.offset if offset is None else offset,
        "checksum": None if row is None else row.get("checksum"),
        "withoutOrphans": None if row is None else row.get("withoutOrphans"),
        "orphans": None if row is None else row.get("orphans"),
        "verdict": None,
        "divergedAt": None if divergence is None else divergence.offset,
        "epoch": None if divergence is None else divergence.epoch,
        "otherEpoch": None if divergence is None else divergence.other_epoch,
        "error": error,
    }


def _not_covered(end: FleetRow, compared: Compared) -> str:
    """Why a directory has no state where the others of its cluster are compared."""
    last, low, offset = end["offset"], end["lowOffset"], compared.offset
    if isinstance(last, int) and offset is not None and last < offset:
        return f"it ends at offset {last}, before the offset {offset} that others have"
    return f"offset {offset} is not covered: the files hold the states at offsets {low} to {last}"


def _left(divergence: Divergence) -> str:
    """Where a log leaves the others."""
    epoch, other = ("?" if e is None else e for e in (divergence.epoch, divergence.other_epoch))
    return (
        f"its log leaves that of others at offset {divergence.offset}: a batch of epoch {epoch},"
        f" where they have one of epoch {other}"
    )


def _group(row: FleetRow) -> str:
    """The group to compare a directory with: its cluster; without an id the directory alone."""
    cluster_id = row["clusterId"]
    return f"id {cluster_id}" if cluster_id is not None else f"~ {row['name']}"


def _verdicts(members: Sequence[FleetRow], compared: Compared) -> list[str]:
    """A word for each directory of a cluster."""
    digests = Counter(
        member["withoutOrphans"]
        for member in members
        if member["checksum"] is not None and member["offset"] == compared.offset
    )
    ranked = digests.most_common(2)
    has_most = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][1] > ranked[1][1])
    verdicts = []
    for member in members:
        checksum = member["withoutOrphans"]
        if member["name"] in compared.diverged:
            verdicts.append(DIVERGED)
        elif checksum is None:
            verdicts.append(UNKNOWN)
        elif len(members) == 1 or digests.total() == 1:
            verdicts.append(ALONE)
        else:
            verdicts.append(EQUAL if has_most and checksum == ranked[0][0] else DIFFERS)
    return verdicts
