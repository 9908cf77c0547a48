"""What commands share that look at the end of partitions' logs in a broker's log directory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from metashell.commands.framework.coordinator_logs import tell_faults
from metashell.commands.framework.names import tell_unknown
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, SourceError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.query import RowsQuery
    from metashell.sources.partition_logs import PartitionLogs


@dataclass(slots=True)
class PartitionProducers:
    """The producers of a partition."""

    table: pa.Table
    """Columns of `metashell.answers.producers.PRODUCER_SCHEMA`."""
    last_timestamp_ms: int
    """The highest timestamp behind its snapshot, ms since the epoch; -1 for none."""


def needs_partition_logs(query: RowsQuery) -> PartitionLogs:
    """The logs of the source's node.

    Raises:
        UsageError: It has no log directory.
        SourceError: One can't be listed.
    """
    from metashell.sources.partition_logs import partition_logs

    logs = partition_logs(query.source)
    if logs is None:
        raise UsageError(
            "this source has no log directory",
            hint="a broker's log directory has the logs of partitions: `metashell -d DIR`",
        )
    return logs


def partition_producers(
    query: RowsQuery, logs: PartitionLogs, topics: Collection[str] | None = None
) -> Iterator[PartitionProducers]:
    """The producers of each partition; what could not be read is told, and the status is then 1.

    Args:
        query: Told of what could not be read.
        logs: The logs.
        topics: Those that are looked at; None for all.
    """
    from metashell.answers.producers import producers_table
    from metashell.image.coordinators.producers import fold_producers

    for partition, tail in logs.tails(topics):
        try:
            history = tail.producers()
        except SourceError as error:
            query.warn(error.message)
            query.status = ExitCode.FAILED
            continue
        tell_faults(query, tail.name, history.faults)
        table = producers_table(fold_producers(history), *partition)
        yield PartitionProducers(table, history.last_timestamp_ms)


def topics_here(query: RowsQuery, logs: PartitionLogs) -> Collection[str] | None:
    """The topics that the words name; None for all."""
    words = query.parsed.arguments
    if not words:
        return None
    from metashell.fs.pattern import Pattern

    names = list(dict.fromkeys(partition.topic for partition in logs.partitions))
    chosen: set[str] = set()
    for word in words:
        hits = set(filter(Pattern(word).match, names))
        if not hits:
            tell_unknown(query, word, "topic in this directory", names)
        chosen |= hits
    return chosen
