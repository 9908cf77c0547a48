"""The directories of the root that a source has because of coordinators' logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from metashell.fs.node import Directory, FixedDirectory, LateDirectory, Node
from metashell.fs.nodes.partitioned import PartitionsDirectory, PartitionsReader
from metashell.image.coordinators.placement import partition_of
from metashell.parts.known import coordinator_roots
from metashell.parts.spec import hook
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import CoordinatorLogs, topic_names

if TYPE_CHECKING:
    from metashell.records.keyed_records import KeyedRecords
    from metashell.sources.source import Source


def producers_directory(source: Source, problems: list[str]) -> Directory:
    """The directory of producers.

    Args:
        source: The source whose log directories are looked at.
        problems: Takes sentences about logs that could not be read.
    """
    from metashell.fs.field_texts import ColumnFields
    from metashell.fs.leaf_table import Entries, leaves_by_name
    from metashell.fs.nodes.leaves import LeavesDirectory
    from metashell.image.coordinators.producers import fold_producers
    from metashell.image.coordinators.surviving import LeafSources, ThingRows
    from metashell.node_files.checkpoint_file import TopicPartition
    from metashell.sources.partition_logs import partition_logs

    logs = partition_logs(source)
    assert logs is not None
    numbers: dict[str, dict[str, Callable[[], Node]]] = {}

    def leaves(topic: str, number: int) -> Directory:
        history = logs.tail(TopicPartition(topic, number)).producers()
        problems.extend(f"{topic}-{number}: {fault}" for fault in history.faults)
        state = fold_producers(history)
        # No record's row tells when one changed.
        rows = ThingRows(*np.full((3, len(state)), -1, dtype=np.int64))
        table = leaves_by_name(
            Entries(LeafSources(rows), ColumnFields(state.shown)), state.producer_id
        )
        return LeavesDirectory(table, range(len(table)), -1)

    for topic, number in logs.partitions:
        make = partial(LateDirectory, partial(leaves, topic, number))
        numbers.setdefault(topic, {})[str(number)] = make
    return FixedDirectory({topic: partial(FixedDirectory, each) for topic, each in numbers.items()})


def directories_beside(source: Source, problems: list[str]) -> dict[str, Callable[[], Directory]]:
    """Gives what makes the directories of parts of no coordinator, by name.

    Args:
        source: The source whose log directories are looked at.
        problems: Takes sentences about logs that could not be read.
    """
    every = coordinator_roots().items()
    return {
        n: partial(hook(parts[0].node), source, problems) for n, parts in every if parts[0].node
    }


def coordinator_directories(source: Source) -> dict[str, PartitionsDirectory]:
    """The directories of the logs that are there, by name. Reads none of them."""
    found: dict[str, PartitionsDirectory] = {}
    for name, parts in coordinator_roots().items():
        if not parts[0].log:
            continue
        logs = source.coordinator_logs(CoordinatorLog(parts[0].log))
        if logs is not None and logs.partitions:
            found[name] = PartitionsDirectory(reader_of(source, logs), parts)
    return found


def reader_of(source: Source, logs: CoordinatorLogs) -> PartitionsReader:
    """A function that reads the partitions of a coordinators' topic."""
    here = {partition.number: partition for partition in logs.partitions}

    def read(number: int) -> tuple[KeyedRecords, Sequence[str]]:
        found = logs.read(here[number])
        return found.records, [*found.disagreements(), *map(str, found.file_faults)]

    @cache
    def count() -> int:
        return len(logs.leaders)

    # A share group is in as many partitions as its own partitions are hashed to.
    is_shards = logs.log is CoordinatorLog.SHARE

    def place(name: str) -> int | None:
        return None if is_shards or not count() else partition_of(name, count())

    return PartitionsReader(
        topic=logs.log.value,
        partitions=sorted(here),
        read=read,
        partition_of=place,
        topics=topic_names(source),
        redaction=source.redaction,
        is_shards=is_shards,
    )
