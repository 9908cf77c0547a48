"""The answer of ``fleet``: rows of directories.

``fleet --verify``: directories of one cluster, their logs and their states compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.checks.votes import MOST_COPIES, majorities
from metashell.commands.fleet.columns import COORDINATORS, SUMMARY, TABLES, VERIFY, VOTES
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.rows.stream import table_of_mappings
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, SourceError, UsageError
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
from metashell.judgement.log_copies import copies_of, remarks, voting
from metashell.places.place import shown
from metashell.quorum.description import majority_of
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import CoordinatorLogs, LogReplica, disagreements_of
from metashell.sources.fleet.member import FIELDS, FleetRow
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import (
    cluster_id_of,
    fleet_row,
    row_of,
    vote_facts,
    vote_facts_of,
)

if TYPE_CHECKING:
    from metashell.sources.source import Source


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
        replica_rows(query)
        return
    if VOTES in query.parsed.switches:
        vote_rows(query)
        return
    mappings: list[RowMapping] = []
    for row in _rows(query.context):
        if row["error"] is not None or row["faults"]:
            query.status = ExitCode.FAILED
        mappings.append(_mapping(row))
        if query.streams and SUMMARY not in query.parsed.switches:
            query.add(mappings)
            mappings = []
    query.add([_sum(mappings)] if SUMMARY in query.parsed.switches else mappings)


_SUMMED: Final = (
    *("brokers", "fenced", "topics", "partitions", "offline"),
    *("under_min_isr", "under_replicated"),
)
"""The columns that are summed over clusters."""


def _sum(rows: Sequence[RowMapping]) -> RowMapping:
    """The row for all directories: of each cluster the copy counts whose log ends last."""
    sound = [row for row in rows if row["error"] is None]
    copies: dict[object, RowMapping] = {}
    for row in sorted(sound, key=lambda row: (row["log_epoch"] or 0, row["log_end_offset"] or 0)):
        copies[row["cluster_id"] or row["directory"]] = row
    clusters = {row["cluster_id"] or row["directory"] for row in rows}
    versions = Counter(str(row["metadata_version"] or "unknown") for row in copies.values())
    times = [row["time"] for row in copies.values() if row["time"] is not None]
    return {
        "clusters": len(clusters),
        "directories": len(rows),
        "unreadable": len(rows) - len(sound),
        **{name: sum(row[name] or 0 for row in copies.values()) for name in _SUMMED},
        "faults": sum(row["faults"] or 0 for row in sound),
        "metadata_versions": [f"{n:,} at {name}" for name, n in sorted(versions.items())],
        "oldest": min(times, default=None),
    }


def rows_table(rows: Sequence[FleetRow]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    columns = TABLES[0].columns
    return with_colours(table_of_mappings(columns, [_mapping(row) for row in rows]), columns)


def _mapping(row: FleetRow) -> dict[str, str | int | None]:
    names = [column.name for column in TABLES[0].columns]
    return {name: row.get(_KEYS.get(name, _camel(name))) for name in names}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(context: Context) -> Iterable[FleetRow]:
    """A row for each directory, by name, as they come."""
    fleet = context.fleet
    if fleet is not None:
        return fleet.compute(fleet_row, row_of, stop=lambda: stop_if_cancelled(context))
    # A reduced log suffices for a row.
    source = context.source or context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    row = {**row_of(source), "directory": source.path, "error": None}
    return [{"name": name, **{key: row[key] for key in FIELDS}}]


def vote_rows(query: RowsQuery) -> None:
    """Add a row for each set of voters that can elect a leader; say what is not sure.

    Raises:
        UsageError: The ends of the logs are not read.
    """
    opened = query.context.opened
    if opened is not None and opened.settings.committed_only:
        raise UsageError(
            "a vote compares the ends of whole logs", hint="leave out --committed-only"
        )
    clusters: dict[str, list[FleetRow]] = {}
    for row in _facts(query):
        if row["error"] is not None:
            _doubt(query, f"{row['name']}: {row['error']}")
            continue
        # A copy that does not name its cluster may be of any.
        group = row["clusterId"] if row["clusterId"] is not None else f"~ {row['name']}"
        clusters.setdefault(str(group), []).append(row)
    for _, rows in sorted(clusters.items()):
        query.add(_votes(query, rows))


def _doubt(query: RowsQuery, text: str) -> None:
    query.warn(text)
    query.status = ExitCode.FAILED


def _facts(query: RowsQuery) -> Sequence[FleetRow]:
    fleet = query.context.fleet
    if fleet is not None:
        stop = partial(stop_if_cancelled, query.context)
        return list(fleet.compute(vote_facts, vote_facts_of, stop=stop))

    source = query.source
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    return [{"name": name, "error": None, **vote_facts_of(source)}]


def _votes(query: RowsQuery, rows: Sequence[FleetRow]) -> Iterator[RowMapping]:
    """The rows of one cluster."""
    copies = copies_of(rows, partial(_doubt, query))
    named = [copy.log for copy in copies if copy.log.voters]
    if not named:
        if copies:
            _doubt(query, "no vote can be judged: no copy names the voters")
        return
    for remark in remarks(copies):
        query.warn(remark)
    voters = [copy.log for copy in voting(copies)]
    if len(voters) > MOST_COPIES:
        _doubt(query, f"{len(voters)} copies of voters: votes are listed for up to {MOST_COPIES}")
        return
    any_vote = False
    for running, winners in majorities(voters):
        any_vote = True
        yield {
            "cluster_id": rows[0]["clusterId"],
            "running": sorted(copy.node_id for copy in running),
            "can_win": sorted(copy.node_id for copy in winners),
            "directories": [copy.name for copy in running],
        }
    if not any_vote:
        ids = max(named, key=lambda copy: copy.end).voters.keys()
        missing = sorted(ids - {copy.node_id for copy in voters})
        _doubt(
            query,
            f"no vote is possible: voters that are here: {len(ids) - len(missing)} of"
            f" {len(ids)}, a majority is {majority_of(len(ids))};"
            f" missing: {', '.join(map(str, missing))}",
        )


def replica_rows(query: RowsQuery) -> None:
    """Add a row for each replica that is here, and for each partition that has none.

    Where replicas diverge, or one can't be read, that is told, and the exit status is 1.
    """
    for name, source in _sources(query):
        for log in CoordinatorLog:
            logs = source.coordinator_logs(log)
            if logs is None:
                continue
            query.add(_replicas_of(query, name, logs))


def _sources(query: RowsQuery) -> Iterator[tuple[str, Source]]:
    """The source, or each of a fleet, by name; who can't be read is told of by who runs us."""
    fleet = query.context.fleet
    if fleet is None:
        source = query.source
        (name,) = unique_names([(source.path, cluster_id_of(source))])
        yield name, source
        return
    for name, member in fleet.members.items():
        stop_if_cancelled(query.context)
        try:
            source = member.source()
        except SourceError as error:
            fleet.failed(member, error)
            continue
        yield name, source


def _replicas_of(query: RowsQuery, cluster: str, logs: CoordinatorLogs) -> Iterator[RowMapping]:
    here = {partition.number: partition for partition in logs.partitions}
    for number in sorted({*here, *logs.missing}):
        row: dict[str, Any] = {
            "cluster": cluster,
            "topic": logs.log.value,
            "partition": number,
            "leader": logs.leaders.get(number),
        }
        if number not in here:
            yield row | {"read": False}
            continue
        stop_if_cancelled(query.context)
        replicas = logs.replicas(here[number])
        for disagreement in disagreements_of(replicas):
            query.warn(f"{cluster}: {here[number]}: {disagreement}")
            query.status = ExitCode.FAILED
        yield from ({**row, **_told(replica)} for replica in replicas)


def _told(replica: LogReplica) -> RowMapping:
    return {
        "node_id": replica.node_id,
        "read": replica.is_read,
        "newest_epoch": replica.epoch,
        "end_offset": replica.end,
        "diverges_at": replica.diverges_at,
        "directory": shown(str(replica.place)),
        "error": replica.error,
    }
