"""The answer of ``fleet``: rows of directories.

``fleet --verify``: directories of one cluster, their logs and their states compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from metashell.commands.fleet.columns import COORDINATORS, TABLES, VERIFY, VOTES
from metashell.commands.fleet.votes import vote_rows
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.command import RowMapping, RowsQuery
from metashell.commands.rows.stream import table_of_mappings
from metashell.dataclass import dataclass
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.judgement.copies import (
    DIFFERS,
    DIVERGED,
    UNKNOWN,
    Ask,
    ComparedCluster,
    asking,
    asking_here,
    compare_copies,
)
from metashell.sources.fleet.errors import FIELDS, FleetRow
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of, row_of


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
    clusters = compare_copies(_asking(context))
    members = [member for cluster in clusters for member in cluster.members]
    for cluster in clusters:
        for member in cluster.members:
            note = cluster.notes.get(str(member["name"]))
            if note is not None and member["verdict"] is not DIFFERS:
                context.warn(escape(f"fleet: {member['name']}: {note}"))
    nameless = [c for c in clusters if c.cluster_id is None and c.members[0]["error"] is None]
    if nameless and len(members) > 1:
        context.warn(
            f"fleet: {len(nameless)} of {len(members)} directories do not name their cluster:"
            " not compared"
        )
    return Verified(clusters)


def _asking(context: Context) -> Ask:
    """Ask the fleet, or the directory alone."""
    if context.fleet is not None:
        return asking(context.fleet, lambda: stop_if_cancelled(context))
    source = context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    return asking_here({name: source}, lambda: stop_if_cancelled(context))


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


_KEYS: Final = {"cluster": "name", "time": "timestamp"}
"""Keys of a row where they are not the column's name in camel case."""


def answer(query: RowsQuery) -> None:
    """A row for each directory."""
    if VERIFY in query.parsed.switches:
        compared = verify(query.context)
        query.add(compared.mappings())
        query.status = compared.status
        return
    if COORDINATORS in query.parsed.switches:
        # The explorer's view of a fleet reads no coordinator's log.
        from metashell.commands.fleet.replicas import replica_rows

        replica_rows(query)
        return
    if VOTES in query.parsed.switches:
        vote_rows(query)
        return
    rows = sorted(_rows(query.context), key=lambda row: str(row["name"]))
    query.add(map(_mapping, rows))
    query.status = _status(rows)


def rows_table(rows: Sequence[FleetRow]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    columns = TABLES[0].columns
    return with_colours(table_of_mappings(columns, [_mapping(row) for row in rows]), columns)


def _mapping(row: FleetRow) -> dict[str, str | int | None]:
    names = [column.name for column in TABLES[0].columns]
    return {name: row.get(_KEYS.get(name, _camel(name))) for name in names}


def _status(rows: Sequence[FleetRow]) -> int:
    is_sound = all(row["error"] is None and not row["faults"] for row in rows)
    return ExitCode.OK if is_sound else ExitCode.FAILED


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(context: Context) -> list[FleetRow]:
    """A row for each directory, by name."""
    fleet = context.fleet
    if fleet is not None:
        return fleet.rows(stop=lambda: stop_if_cancelled(context))
    # A reduced log suffices for a row.
    source = context.source or context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    row = {**row_of(source), "directory": source.path, "error": None}
    return [{"name": name, **{key: row[key] for key in FIELDS}}]
