"""What commands about groups and transactions share: whose logs are read, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_kinds import SHARE
from metashell.commands.framework.names import rows_named
from metashell.errors import ExitCode, MetashellError, SourceError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.coordinator_kinds import CoordinatorKind
    from metashell.commands.rows.query import RowsQuery
    from metashell.log.fault import Fault
    from metashell.records.keyed_records import KeyedRecords
    from metashell.sources.coordinator_logs import CoordinatorLogs

WHERE: Final = (
    "The answer comes from the partitions of `{0}` in the log directory that the metadata log lies "
    "in: it has to be a broker's. `-d DIR/{0}-3` reads one partition alone. Logs are read to their "
    "end. What is missing is told. The exit status is 1 if a record could not be read, or if a "
    "name is unknown."
)
"""What a manual says of the logs; takes the topic's name."""

_TOLD: Final = 5
"""Faults of a partition that are told one by one."""

AnswerOfPartition = Callable[["KeyedRecords", int, "int | None"], "pa.Table"]
"""(the records, the number of the partition, its leader) -> rows."""


def coordinator_rows(
    query: RowsQuery,
    kind: CoordinatorKind,
    answer: AnswerOfPartition,
    column: str,
    what: str,
    *,
    then_by: Sequence[str] = (),
) -> None:
    """Add the rows of every partition of a coordinators' topic that is here.

    What could not be read is told, and the exit status is then 1.

    Args:
        query: Its words are names in the column; with none all rows are added.
        kind: Which coordinator.
        answer: Makes the rows of one partition.
        column: The column of names that the words choose by.
        what: What has such a name, in the singular.
        then_by: Columns that rows of one name are ordered by, where these come from several
            partitions.

    Raises:
        UsageError: The source can't have such logs.
        MetashellError: There is none.
    """
    import pyarrow as pa

    logs = _logs(query, kind)
    tables = coordinator_tables(query, logs, answer)
    n_partitions, here = len(logs.leaders), set(tables)
    if n_partitions > len(here) and not query.parsed.arguments:
        query.remarks.append(
            f"partitions of {kind.topic} in this directory: {len(here)} of {n_partitions}"
        )
    if tables:
        order = [(name, "ascending") for name in (column, *then_by)]
        table = pa.concat_tables(tables.values()).sort_by(order)
        query.add(_named(query, table, column, what, _Missing(kind, n_partitions, here)))


def coordinator_tables(
    query: RowsQuery, logs: CoordinatorLogs, answer: AnswerOfPartition
) -> dict[int, pa.Table]:
    """The rows of every partition that could be read, by its number; faults are told."""
    leaders = logs.leaders
    tables: dict[int, pa.Table] = {}
    for partition in logs.partitions:
        try:
            found = logs.read(partition)
        except SourceError as error:
            query.warn(error.message)
            query.status = ExitCode.FAILED
            continue
        for disagreement in found.disagreements():
            query.warn(f"{partition}: {disagreement}")
            query.status = ExitCode.FAILED
        tell_faults(query, str(partition), found.faults())
        if found.lost is not None:
            query.remarks.append(found.lost)
        number = partition.number
        tables[number] = answer(found.records, number, leaders.get(number))
    return tables


def _logs(query: RowsQuery, kind: CoordinatorKind) -> CoordinatorLogs:
    """The partitions that the source has: one at least.

    Raises:
        UsageError: The source can't have any.
        MetashellError: There is none.
    """
    source = query.source
    logs = source.coordinator_logs(kind.log)
    hint = (
        f"a broker's log directory has partitions of {kind.topic}: `metashell -d DIR`; "
        f"`-d DIR/{kind.topic}-3` reads one alone"
    )
    if logs is None:
        raise UsageError(f"this source has no log of {kind.topic}", hint=hint)
    if not logs.partitions:
        raise MetashellError(f"{logs.where}: no partition of {kind.topic} there", hint=hint)
    return logs


def tell_faults(query: RowsQuery, partition: str, faults: Iterable[Fault]) -> None:
    """Tell what of a partition counts for nothing; the exit status is then 1."""
    faults = iter(faults)
    for fault in islice(faults, _TOLD):
        query.warn(f"{partition}: {fault}")
        query.status = ExitCode.FAILED
    n_more = sum(1 for _ in faults)
    if n_more:
        query.warn(f"{partition}: {n_more} more faults")


class _Missing:
    """Which keys belong to partitions that are not here."""

    def __init__(self, kind: CoordinatorKind, count: int, here: set[int]) -> None:
        self.kind, self.count, self.here = kind, count, here

    def partition_of(self, key: str) -> int | None:
        """The partition of a key where that is not here; None where it is, or nobody knows."""
        from metashell.image.coordinators.placement import partition_of

        if not self.count or self.kind is SHARE:
            # The key of a share partition is more than the group's name.
            return None
        number = partition_of(key, self.count)
        return None if number in self.here else number


def _named(
    query: RowsQuery, table: pa.Table, column: str, what: str, missing: _Missing
) -> pa.Table:
    """The rows that the words name; a name that may be in another directory is told so."""
    words = query.parsed.arguments
    if not words:
        return table
    known = set(table.column(column).to_pylist())
    elsewhere = {word: missing.partition_of(word) for word in words if word not in known}
    for word, number in elsewhere.items():
        if number is not None and not set("*?[{") & set(word):
            query.warn(f"{word}: partition {number} of {missing.kind.topic} is not here")
            query.status = ExitCode.FAILED
            words = [each for each in words if each != word]
    if not words:
        return table.slice(0, 0)
    return rows_named(query, table, column, what, words=words)
