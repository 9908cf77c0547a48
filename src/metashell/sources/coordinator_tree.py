"""The directories of the root that a source has because of coordinators' logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from metashell.fs.coordinator_paths import ROOT_OF
from metashell.fs.nodes.groups import (
    CoordinatorDirectory,
    CoordinatorReader,
    CoordinatorState,
    GroupsOf,
    TransactionsOf,
)
from metashell.image.coordinators.placement import partition_of
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import CoordinatorLogs

if TYPE_CHECKING:
    from metashell.log.fault import Fault
    from metashell.records.keyed_records import KeyedRecords
    from metashell.sources.source import Source


def _groups(records: KeyedRecords, topics: Mapping[str, str], partition: int) -> CoordinatorState:
    return GroupsOf(records, topics, partition)


def _transactions(
    records: KeyedRecords, topics: Mapping[str, str], _partition: int
) -> CoordinatorState:
    return TransactionsOf(records, topics)


_STATES = {CoordinatorLog.GROUPS: _groups, CoordinatorLog.TRANSACTIONS: _transactions}


def coordinator_directories(source: Source) -> dict[str, Callable[[], CoordinatorDirectory]]:
    """What makes the directories of the logs that are there, by name."""
    found: dict[str, Callable[[], CoordinatorDirectory]] = {}
    for log, state in _STATES.items():
        logs = source.coordinator_logs(log)
        if logs is not None and logs.partitions:
            reader = reader_of(source, logs)
            found[ROOT_OF[log]] = partial(CoordinatorDirectory, reader, state)
    return found


def reader_of(source: Source, logs: CoordinatorLogs) -> CoordinatorReader:
    """What reads the partitions of a coordinators' topic."""
    here = {partition.number: partition for partition in logs.partitions}

    def read(number: int) -> tuple[KeyedRecords, Sequence[Fault]]:
        found = logs.read(here[number])
        return found.records, found.file_faults

    @cache
    def count() -> int:
        return len(logs.leaders)

    def place(name: str) -> int | None:
        return partition_of(name, count()) if count() else None

    return CoordinatorReader(
        topic=logs.log.value,
        partitions=sorted(here),
        read=read,
        partition_of=place,
        topics=cache(lambda: _topic_names(source)),
    )


def _topic_names(source: Source) -> Mapping[str, str]:
    """Names of topics by the text of their ids; none where there is no metadata."""
    if not source.capabilities.has_image:
        return {}
    topics = source.image.topics
    return dict(zip(topics.id_texts, topics.names, strict=True))
