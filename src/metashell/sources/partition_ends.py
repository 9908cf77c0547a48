"""The ends of partitions' logs: their end offsets, producers, open transactions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from metashell.answers.hanging import (
    PRODUCER_SCHEMA,
    open_producers,
    open_table,
    producers_table,
    with_hanging,
)
from metashell.answers.offsets import LogBehind
from metashell.answers.transactions import TRANSACTION_SCHEMA, transactions_table
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.coordinators.producers import fold_producers
from metashell.node_files.checkpoint_file import TopicPartition
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import ReadReport, read_each, report_faults
from metashell.sources.log_clock import clock_of
from metashell.sources.partition_logs import PartitionLogs, partition_logs

if TYPE_CHECKING:
    from metashell.log.log_tail import LogEnd
    from metashell.sources.source import Source

_T = TypeVar("_T")


@dataclass(slots=True)
class PartitionProducers:
    """The producers of a partition."""

    table: pa.Table
    """Columns of `metashell.answers.hanging.PRODUCER_SCHEMA`."""
    last_timestamp_ms: int
    """The highest timestamp behind its snapshot, ms since the epoch; -1 for none."""


def latest_ms(source: Source) -> int:
    """The time of the newest record in the metadata log, ms since the epoch; -1 for none.

    A running node has one every half second, so its logs end there.
    """
    if not source.capabilities.has_image:
        return -1

    found = clock_of(source).latest_ms
    return -1 if found is None else found


class PartitionEnds:
    """Where the logs of partitions end; each is looked at once.

    Args:
        logs: The logs.
        report: Told of what could not be read.
    """

    def __init__(self, logs: PartitionLogs, report: ReadReport) -> None:
        self._report, self._logs = report, logs
        self._ends: dict[TopicPartition, LogEnd | None] = {}
        self._open: dict[TopicPartition, int | None] = {}
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
        return end.end_offset, self._marks.get(place)

    @cached_property
    def _marks(self) -> Mapping[TopicPartition, int]:
        return self._logs.high_watermarks(self._report)

    def behind(self, topic: str, partition: int, offsets: Sequence[int]) -> LogBehind | None:
        """The records behind offsets in a partition's log; None where it is not here."""
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
        opened = self._open_offset(place) if unread else None
        return LogBehind(end.end_offset, end.last_timestamp_ms, times, opened)

    def _open_offset(self, place: TopicPartition) -> int | None:
        """Where the oldest open transaction of a partition begins; None for none."""
        if place not in self._open:
            history = self._read(lambda: self._logs.tail(place).producers())
            state = None if history is None else fold_producers(history)
            self._open[place] = None if state is None else state.first_open_offset
        return self._open[place]

    def _read(self, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except SourceError as error:
            self._report.unread(error.message)
            return None


def partition_producers(
    logs: PartitionLogs, report: ReadReport, topics: Collection[str] | None = None
) -> Iterator[PartitionProducers]:
    """The producers of each partition.

    Args:
        logs: The logs.
        report: Told of the logs that could not be read.
        topics: The topics that are looked at; None for all.
    """
    for partition, tail in logs.tails(topics):
        try:
            history = tail.producers()
        except SourceError as error:
            report.unread(error.message)
            continue
        report_faults(report, tail.name, history.faults)
        table = producers_table(fold_producers(history), *partition)
        yield PartitionProducers(table, history.last_timestamp_ms)


def producer_rows(source: Source, report: ReadReport) -> Iterator[pa.Table]:
    """The rows of the table `producers`, one log at a time; none where there is no log."""
    logs = partition_logs(source)
    if logs is not None:
        yield from (found.table for found in partition_producers(logs, report))


def open_transactions(
    source: Source, logs: PartitionLogs, report: ReadReport, topics: Collection[str] | None = None
) -> pa.Table:
    """The open transactions of the partitions here: `metashell.answers.hanging.OPEN_SCHEMA`.

    Args:
        source: Has the coordinators' logs.
        logs: The logs of the partitions.
        report: Told of the logs that could not be read.
        topics: The topics that are looked at; None for all.
    """
    coordinator = source.coordinator_logs(CoordinatorLog.TRANSACTIONS)
    tables = {}
    if coordinator is not None:
        for found in read_each(coordinator, report):
            report_faults(report, str(found.partition), found.faults())
            number = found.partition.number
            tables[number] = transactions_table(found.records, number)
    leaders = {} if coordinator is None else coordinator.leaders
    transactions = pa.concat_tables([TRANSACTION_SCHEMA.empty_table(), *tables.values()])
    producers, end_ms = [PRODUCER_SCHEMA.empty_table()], latest_ms(source)
    for one in partition_producers(logs, report, topics):
        producers.append(open_producers(one.table))
        end_ms = max(end_ms, one.last_timestamp_ms)
    return open_table(
        pa.concat_tables(producers),
        transactions,
        is_complete=bool(leaders) and leaders.keys() <= tables.keys(),
        end_ms=None if end_ms < 0 else end_ms,
    )


def lag_joined(source: Source, report: ReadReport) -> Callable[[pa.Table], pa.Table]:
    """Add the lag to rows of offsets, as far as the partitions' logs are here."""
    from metashell.answers.offsets import with_lag

    logs = _logs_of(source)
    ends_of = None if logs is None else PartitionEnds(logs, report).ends_of
    return lambda rows: with_lag(rows, ends_of)


def hanging_joined(source: Source, report: ReadReport) -> Callable[[pa.Table], pa.Table]:
    """Add to rows of transactions whether each hangs, as far as the partitions' logs are here."""
    logs = _logs_of(source)
    opened = None if logs is None else open_transactions(source, logs, report)
    return lambda rows: with_hanging(rows, opened)


def _logs_of(source: Source) -> PartitionLogs | None:
    """The logs of topics beside a coordinator's; none beside a partition that is opened alone."""
    return None if source.of_coordinator else partition_logs(source)
