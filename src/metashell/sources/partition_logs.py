"""The logs of topics' partitions in a broker's log directory: where they end, and who writes.

They are looked at when somebody asks, one at a time, and nothing of them is kept. Their records are
not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.log.log_tail import LogTail
from metashell.node_files.checkpoint_file import OffsetCheckpoint, TopicPartition
from metashell.node_files.log_directory import METADATA_TOPIC, LogDirectory
from metashell.node_files.log_name import LogName, LogState

if TYPE_CHECKING:
    from metashell.sources.coordinator_logs import ReadReport
    from metashell.sources.source import Source


class PartitionLogs:
    """The current logs in a node's log directories: none that is to be deleted, moves or strays.

    The metadata log is not among them: it is no topic's.

    Args:
        directories: The log directories, as they were listed.
    """

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self.directories = directories
        found: dict[TopicPartition, list[LogTail]] = {}
        for directory in directories:
            for name in directory.logs:
                if name.state is LogState.CURRENT and name.topic != METADATA_TOPIC:
                    partition = TopicPartition(name.topic, name.partition)
                    found.setdefault(partition, []).append(_tail(directory, name))
        self.partitions = dict(sorted(found.items()))
        """The partitions whose logs are here."""

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self.partitions

    def tail(self, partition: TopicPartition) -> LogTail:
        """The log of one of them, of which only the end is read; of several the longest.

        Raises:
            KeyError: It is not here.
        """
        replicas = self.partitions[partition]
        return replicas[0] if len(replicas) == 1 else max(replicas, key=_end_offset)

    def tails(
        self, topics: Collection[str] | None = None
    ) -> Iterator[tuple[TopicPartition, LogTail]]:
        """The logs of some topics, of all where none are given, by topic and partition."""
        for partition in self.partitions:
            if topics is None or partition.topic in topics:
                yield partition, self.tail(partition)

    def high_watermarks(self, report: ReadReport) -> Mapping[TopicPartition, int]:
        """The high watermarks that the broker last wrote to its disk. They lag behind by seconds.

        Args:
            report: Told of the files that can't be read or are malformed.
        """
        found: dict[TopicPartition, int] = {}
        for directory in self.directories:
            try:
                marks = directory.offsets(OffsetCheckpoint.HIGH_WATERMARK)
            except SourceError as error:
                report.unread(f"{error.message}: high watermarks are missing")
                continue
            for partition, offset in marks.items():
                found[partition] = max(offset, found.get(partition, offset))
        return found


def _tail(directory: LogDirectory, name: LogName) -> LogTail:
    return LogTail(directory.place_of(name), f"{name.topic}-{name.partition}")


def _end_offset(replica: LogTail) -> int:
    """Where a replica ends; -1 for one that can't be read."""
    try:
        return replica.end().end_offset
    except SourceError:
        return -1


def partition_logs(source: Source) -> PartitionLogs | None:
    """The logs in the log directories of a source's node; None where it has no log directory.

    Raises:
        SourceError: A log directory can't be listed.
    """
    return PartitionLogs(source.log_directories) if source.log_directories else None
