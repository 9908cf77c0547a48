"""``fleet --verify``: directories of one cluster, their logs and their states compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.query import RowMapping
from metashell.dataclass import dataclass
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.sources.fleet.agreement import CopyFacts, compare_groups
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import (
    cluster_id_of,
    compared,
    compared_of,
    last_offset,
    last_offset_of,
)

if TYPE_CHECKING:
    from metashell.sources.fleet.agreement import Compared, Divergence
    from metashell.sources.fleet.errors import FleetRow
    from metashell.sources.fleet.rows import ComparedQuery

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


@dataclass(frozen=True, slots=True)
class Verified:
    """All directories, compared with those of their cluster."""

    clusters: Sequence[ComparedCluster]

    @property
    def status(self) -> int:
        """The exit status: 1 unless all that is compared agrees."""
        verdicts = {member["verdict"] for cluster in self.clusters for member in cluster.members}
        is_sound = {DIFFERS, DIVERGED, UNKNOWN}.isdisjoint(verdicts)
        return ExitCode.OK if is_sound else ExitCode.FAILED

    def mappings(self) -> Iterator[RowMapping]:
        """A row for each directory."""
        for cluster in self.clusters:
            yield from _mappings(cluster.cluster_id, cluster.members)


def verify(context: Context) -> Verified:
    """Compare, and warn of what is not equal."""
    ends = _ends(context)
    groups: dict[str, list[FleetRow]] = {}
    for row in ends:
        groups.setdefault(_group(row), []).append(row)
    found = _compared(context, groups)
    clusters = []
    for group in sorted(groups):
        compared = found[group]
        members = [_member(row, compared) for row in groups[group]]
        for member, verdict in zip(members, _verdicts(members, compared), strict=True):
            member["verdict"] = verdict
            _warn(context, member, compared)
        clusters.append(ComparedCluster(groups[group][0]["clusterId"], members))
    n_unidentified = sum(row["clusterId"] is None and row["error"] is None for row in ends)
    if n_unidentified and len(ends) > 1:
        context.warn(
            f"fleet: {n_unidentified} of {len(ends)} directories do not name their cluster:"
            " not compared"
        )
    return Verified(clusters)


def _warn(context: Context, member: FleetRow, compared: Compared) -> None:
    """Say where a log leaves the others, or why a directory is not compared."""
    divergence = compared.diverged.get(str(member["name"]))
    note = None if divergence is None else _left(divergence)
    if note is None and member["verdict"] is UNKNOWN:
        note = str(member["error"])
    if note is not None:
        context.warn(escape(f"fleet: {member['name']}: {note}"))


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


def _mappings(cluster_id: str | int | None, members: Sequence[FleetRow]) -> Iterator[RowMapping]:
    for member in members:
        yield {
            "cluster": member["name"],
            "cluster_id": cluster_id,
            "last_offset": member["lastOffset"],
            "diverged_at": member["divergedAt"],
            "other_epoch": member["otherEpoch"],
            "without_orphans": member["withoutOrphans"],
            **{
                key: member[key]
                for key in (
                    *("offset", "checksum", "verdict", "epoch", "orphans", "directory", "error"),
                )
            },
        }


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
    told = []
    for member in members:
        checksum = member["withoutOrphans"]
        if member["name"] in compared.diverged:
            told.append(DIVERGED)
        elif checksum is None:
            told.append(UNKNOWN)
        elif len(members) == 1 or digests.total() == 1:
            told.append(ALONE)
        else:
            told.append(EQUAL if has_most and checksum == ranked[0][0] else DIFFERS)
    return told


def _ends(context: Context) -> list[FleetRow]:
    """Where each directory ends."""
    fleet = context.fleet
    if fleet is None:
        source = context.needs_source()
        (name,) = unique_names([(source.path, cluster_id_of(source))])
        rows: list[FleetRow] = [
            {"name": name, "directory": source.path, "error": None, **last_offset_of(source)}
        ]
    else:
        rows = fleet.compute(last_offset, last_offset_of, stop=lambda: stop_if_cancelled(context))
    for row in rows:
        if row["error"] is None and row["offset"] is None:
            row["error"] = "it holds no record"
    return rows


def _compared(context: Context, groups: Mapping[str, Sequence[FleetRow]]) -> dict[str, Compared]:
    """The comparison of the directories of each group that have an end."""
    fleet = context.fleet

    def compute(wanted: dict[str, ComparedQuery]) -> Mapping[str, FleetRow]:
        if fleet is None:
            source = context.needs_source()
            return {name: compared_of(source, want) for name, want in wanted.items()}
        rows = fleet.compute(
            compared,
            compared_of,
            lambda member: (wanted[member.name],),
            members=[fleet.members[name] for name in wanted],
            stop=lambda: stop_if_cancelled(context),
        )
        return {str(row["name"]): row for row in rows}

    copies = {
        group: [CopyFacts.of(row) for row in rows if row["error"] is None]
        for group, rows in groups.items()
    }
    return compare_groups(copies, compute)
