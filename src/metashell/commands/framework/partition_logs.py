"""What commands share that look at the end of partitions' logs in a broker's log directory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from metashell.commands.framework.coordinator_logs import tell_faults
from metashell.commands.framework.names import tell_unknown
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, MetashellError, SourceError, UsageError
from metashell.node_files.offset_checkpoint import TopicPartition
from metashell.places.place import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.stalled import LogBehind
    from metashell.commands.rows.query import RowsQuery
    from metashell.log.log_tail import LogEnd
    from metashell.sources.partition_logs import PartitionLogs

_T = TypeVar("_T")


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
        MetashellError: There is no log of a topic in it.
        SourceError: One can't be listed.
    """
    from metashell.sources.partition_logs import partition_logs

    logs = partition_logs(query.source)
    hint = "a broker's log directory has the logs of partitions: `metashell -d DIR`"
    if logs is None:
        raise UsageError("this source has no log directory", hint=hint)
    if not logs.partitions:
        where = ", ".join(shown(str(directory.place)) for directory in logs.directories)
        raise MetashellError(f"{where}: no log of a topic there", hint=hint)
    if query.source.moment_offset is not None:
        query.remarks.append("`at` does not move the logs of partitions: their ends are told")
    return logs


def latest_ms(query: RowsQuery) -> int:
    """The time of the newest record in the metadata log, ms since the epoch; -1 for none.

    A running node has one every half second, so its logs end there.
    """
    if not query.source.capabilities.has_image:
        return -1
    from metashell.sources.log_clock import clock_of

    found = clock_of(query.source).latest_ms
    return -1 if found is None else found


class PartitionEnds:
    """Where the logs of partitions end; each is looked at once.

    Args:
        query: Told of what could not be read; the exit status is then 1.
        logs: The logs.
    """

    def __init__(self, query: RowsQuery, logs: PartitionLogs) -> None:
        self._query, self._logs = query, logs
        self._ends: dict[TopicPartition, LogEnd | None] = {}
        self.n_missing = 0
        """How many partitions were asked for whose logs are not here."""

    def end(self, partition: TopicPartition) -> LogEnd | None:
        """Where a partition's log ends; None where it is not here or can't be read."""
        if partition not in self._ends:
            found = None
            if partition in self._logs:
                found = self._read(lambda: self._logs.tail(partition).end())
            else:
                self.n_missing += 1
            self._ends[partition] = found
        return self._ends[partition]

    def ends_of(self, topic: str, partition: int) -> tuple[int | None, int | None]:
        """Where a partition's log ends, and the high watermark that the broker last wrote."""
        place = TopicPartition(topic, partition)
        end = self.end(place)
        if end is None:
            return None, None
        return end.end_offset, self._logs.high_watermarks.get(place)

    def behind(self, topic: str, partition: int, offsets: Sequence[int]) -> LogBehind | None:
        """What lies behind offsets in a partition's log; None where it is not here."""
        from metashell.answers.stalled import LogBehind

        place = TopicPartition(topic, partition)
        end = self.end(place)
        if end is None:
            return None
        times: list[int | None] = [None] * len(offsets)
        unread = {offset for offset in offsets if offset < end.end_offset}
        if unread:
            wanted = sorted(unread)
            found = self._read(lambda: self._logs.tail(place).batch_times(wanted))
            if found is not None:
                known = dict(zip(wanted, found, strict=True))
                times = [known.get(offset) for offset in offsets]
        return LogBehind(end.end_offset, end.last_timestamp_ms, times)

    def _read(self, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except SourceError as error:
            self._query.warn(error.message)
            self._query.status = ExitCode.FAILED
            return None


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
