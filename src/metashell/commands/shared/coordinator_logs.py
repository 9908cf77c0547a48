"""Helpers of commands about groups and transactions: logs to read, and reports on missing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.answers.coordinator_tables import (
    COORDINATOR_KINDS,
    SHARE,
    CoordinatorKind,
    PartitionState,
    rows_of,
)
from metashell.commands.shared.names import and_meant, refuse_count, rows_named
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, MetashellError, UsageError
from metashell.fs.pattern import Pattern
from metashell.image.coordinators.placement import partition_of
from metashell.sources.coordinator_logs import CoordinatorLogs, partitions_here, read_states
from metashell.spelling import near_names

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowsQuery
    from metashell.parts.spec import PartSpec

_WILD: Final = frozenset("*?[{")

AnswerOfPartition = Callable[["PartitionState"], "pa.Table"]
"""Gives the rows of a partition."""


def coordinator_rows(
    query: RowsQuery, part: PartSpec, what: str, answer: AnswerOfPartition | None = None
) -> None:
    """Add the rows of every partition of a coordinators' topic that is here.

    Unreadable data is reported, and the exit status is then 1.

    Args:
        query: Its words are names in the first column that rows are sorted by; with none all
            rows are added.
        part: Whose rows they are.
        what: The noun for a name in the first column, in the singular.
        answer: Makes the rows of one partition; None for the part's own.

    Raises:
        UsageError: The source can't have such logs.
        MetashellError: There is none.
    """
    kind = next(kind for kind in COORDINATOR_KINDS.values() if kind.log == part.log)
    logs = _logs(query, kind)
    tables: dict[int, pa.Table] = {}
    for found, state in read_states(query.source, logs, QueryReport(query)):
        state.tell(found.faults())
        tables[state.number] = rows_of(part, state) if answer is None else answer(state)
    here = _Here(kind, logs, frozenset(tables))
    if not query.parsed.arguments:
        _remark(query, here)
    if tables:
        rows = pa.concat_tables(tables.values())
        order = [name for name in part.rows_by if name in rows.column_names]
        rows = rows.sort_by([(name, "ascending") for name in order])
        query.add(_named(query, rows, part.rows_by[0], what, here))


class QueryReport:
    """Tells what could not be read for a query, whose exit status is then 1.

    Args:
        query: The query.
    """

    def __init__(self, query: RowsQuery) -> None:
        self._query = query

    def unread(self, text: str) -> None:
        """Warn, and fail."""
        self._query.warn(text)
        self._query.status = ExitCode.FAILED

    def remark(self, text: str) -> None:
        """Say it behind the rows."""
        self._query.remarks.append(text)


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


@dataclass(frozen=True, slots=True)
class _Here:
    """Which partitions are here, and where a key is that none of them has."""

    kind: CoordinatorKind
    logs: CoordinatorLogs
    numbers: frozenset[int]
    """The partitions that could be read."""

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether there are other partitions, or nobody knows."""
        return not self.logs.leaders or bool(self.logs.leaders.keys() - self.numbers)

    @property
    def count(self) -> str:
        """How many are here, such as ``2 of 4``."""
        return partitions_here(self.logs, len(self.numbers))

    @property
    def unknown(self) -> str:
        """That nobody knows how many there are, where that is so."""
        return "" if self.logs.leaders else "; how many there are is not known"

    def why_not(self, word: str, known: Iterable[str]) -> str | None:
        """Why a word names nothing here though it may name something; None where it does not."""
        if not self.may_be_elsewhere:
            return None
        n_partitions, topic = len(self.logs.leaders), self.kind.topic
        # The key of a share partition is more than the group's name.
        if not n_partitions or self.kind is SHARE or not _WILD.isdisjoint(word):
            why = f"{word}: not in the partitions of {topic} here: {self.count}{self.unknown}"
            return and_meant(why, near_names(word, known))
        number = partition_of(word, n_partitions)
        if number in self.numbers:
            return None
        if any(partition.number == number for partition in self.logs.partitions):
            return f"{word}: partition {number} of {topic} could not be read"
        return f"{word}: partition {number} of {topic} is not here: {self.count} are"


def _remark(query: RowsQuery, here: _Here) -> None:
    """Remark that there are partitions elsewhere, but where one was asked for."""
    if here.may_be_elsewhere and query.source.of_coordinator is None:
        query.remarks.append(f"partitions of {here.kind.topic} here: {here.count}{here.unknown}")


def _named(query: RowsQuery, table: pa.Table, column: str, what: str, here: _Here) -> pa.Table:
    """The rows that the words name; of a name that may be elsewhere it is told so."""
    words = query.parsed.arguments
    if not words:
        return table
    known = set(table.column(column).to_pylist())
    left = []
    for word in words:
        why = None
        if word not in known and not any(map(Pattern(word).match, known)):
            why = here.why_not(word, known)
        if why is None:
            left.append(word)
            continue
        refuse_count(query, why)
    if any(not _WILD.isdisjoint(word) for word in left):
        _remark(query, here)
    return rows_named(query, table, column, what, words=left) if left else table.slice(0, 0)
