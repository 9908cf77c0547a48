"""Reading all partitions of a coordinators' topic that are here, and telling what was not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from metashell.answers.coordinator_tables import PartitionState
from metashell.errors import SourceError
from metashell.log.fault import Fault
from metashell.sources.coordinator_logs import CoordinatorLogs, CoordinatorRecords

if TYPE_CHECKING:
    from metashell.sources.source import Source

_TOLD: Final = 5
"""Faults of a partition that are told one by one."""


class ReadReport(Protocol):
    """Takes what a user should know of an answer."""

    def unread(self, text: str) -> None:
        """Something was not read, so rows may be missing: a sentence without full stop."""

    def remark(self, text: str) -> None:
        """Something else that a user should know."""


def read_each(
    logs: CoordinatorLogs, report: ReadReport, only: int | None = None
) -> Iterator[CoordinatorRecords]:
    """Read every partition that is here, one after the other; those that can't be are told.

    Args:
        logs: The partitions.
        report: Is told.
        only: The number of the only one that is read; None for all.
    """
    for partition in logs.partitions:
        if only is not None and partition.number != only:
            continue
        try:
            found = logs.read(partition)
        except SourceError as error:
            report.unread(error.message)
            continue
        for disagreement in found.disagreements():
            report.unread(f"{partition}: {disagreement}")
        if found.lost is not None:
            report.remark(found.lost)
        yield found


def topic_names(source: Source) -> Callable[[], Mapping[str, str]]:
    """Gives the names of topics by the text of their ids, by which coordinators' records call them.

    It gives none where there is no metadata.
    """

    @cache
    def names() -> Mapping[str, str]:
        if not source.capabilities.has_image:
            return {}
        topics = source.image.topics
        return dict(zip(topics.id_texts, topics.names, strict=True))

    return names


def read_states(
    source: Source, logs: CoordinatorLogs, report: ReadReport, only: int | None = None
) -> Iterator[tuple[CoordinatorRecords, PartitionState]]:
    """Like `read_each`, but each with the state that rows are made from."""
    leaders, topics = logs.leaders, topic_names(source)
    for found in read_each(logs, report, only):
        number, tell = found.partition.number, partial(report_faults, report, str(found.partition))
        leader = leaders.get(number)
        yield found, PartitionState(found.records, number, leader, topics, tell, source.redaction)


def report_faults(report: ReadReport, partition: str, faults: Iterable[Fault]) -> None:
    """Tell what of a partition counts for nothing: the first faults, and how many more there are.

    Args:
        report: Is told.
        partition: The partition's name.
        faults: All of them.
    """
    faults = iter(faults)
    for fault in islice(faults, _TOLD):
        report.unread(f"{partition}: {fault}")
    n_more = sum(1 for _ in faults)
    if n_more:
        report.unread(f"{partition}: {n_more} more faults: see `check`")


def partitions_here(logs: CoordinatorLogs, n_here: int | None = None) -> str:
    """How many partitions of a coordinators' topic are here, such as ``2 of 4``.

    Args:
        logs: The partitions that are here.
        n_here: How many of these count; None for all.
    """
    n_partitions = len(logs.leaders)
    n_here = len(logs.partitions) if n_here is None else n_here
    return f"{n_here} of {n_partitions}" if n_partitions else f"{n_here}"
