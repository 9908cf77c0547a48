"""``fleet --coordinators``: the replicas of coordinators' partitions, and which of them is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.command import RowMapping, RowsQuery
from metashell.errors import ExitCode, SourceError
from metashell.places.place import shown
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import CoordinatorLogs, LogReplica, disagreements_of
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of

if TYPE_CHECKING:
    from metashell.sources.source import Source


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
