"""The tables of coordinators' logs: of states, and of record types; their names, columns and rows.

Rows come by partition of the coordinators' topic, and are read when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState, rows_of, schema_of
from metashell.image.coordinators.record_tables import record_batches, record_schema, sorted_rows
from metashell.parts.known import coordinator_parts
from metashell.parts.spec import PartSpec, hook
from metashell.schema.coordinators import CoordinatorLog, RecordType, load_record_types
from metashell.sources.coordinator_logs import (
    CoordinatorLogs,
    CoordinatorRecords,
    ReadReport,
    partitions_here,
    read_states,
)

if TYPE_CHECKING:
    from metashell.places.place import Place
    from metashell.sources.source import Source

Poll = Callable[[], None]
"""Called now and then; may raise."""


class CoordinatorTables:
    """Which tables there are, without any rows.

    Args:
        schemas: Definitions of the user's.
        log: The log whose tables there are; None for a node's, which has all.
    """

    def __init__(self, schemas: Sequence[Path], log: CoordinatorLog | None = None) -> None:
        self._schemas = tuple(schemas)
        self._logs = tuple(CoordinatorLog) if log is None else (log,)
        self.states = tuple(
            name for name, part in coordinator_parts().items() if log is None or part.log == log
        )
        """Tables of states, sorted."""

    @cached_property
    def _types(self) -> Mapping[str, tuple[CoordinatorLog, RecordType]]:
        found = [load_record_types(log, self._schemas) for log in self._logs]
        named = {name: (each.log, one) for each in found for name, one in each.by_name.items()}
        return dict(sorted(named.items()))

    @property
    def messages(self) -> tuple[str, ...]:
        """Tables of record types, sorted."""
        return tuple(self._types)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.states, *self.messages)

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        return {name.casefold(): name for name in self.names}

    def find(self, name: str) -> str | None:
        """A table's own name, whatever the case; None where there is none."""
        return self._folded.get(name.casefold())

    def help(self, name: str) -> str:
        """A table's description."""
        if name in self.states:
            return coordinator_parts()[name].help
        return f"Records of the type {name} in {self._types[name][0]}."

    def schema(self, name: str) -> pa.Schema:
        """A table's columns.

        Raises:
            KeyError: There is no such table.
        """
        if name in self.states:
            types = {name: one for name, (_, one) in self._types.items()}
            return schema_of(coordinator_parts()[name], types)
        return record_schema(self._types[name][1])

    def log_of(self, name: str) -> CoordinatorLog | None:
        """The coordinator's log of a table; None for a table of all topics' partitions."""
        if name not in self.states:
            return self._types[name][0]
        log = coordinator_parts()[name].log
        return CoordinatorLog(log) if log else None


class SourceTables(CoordinatorTables):
    """The tables of the logs that a source has.

    Args:
        source: The source.
        log: See `CoordinatorTables`.
        only: The only partition of coordinators' topics that is read; None for all.
    """

    def __init__(
        self, source: Source, log: CoordinatorLog | None = None, *, only: int | None = None
    ) -> None:
        super().__init__(source.settings.schemas, log)
        self._source, self._only = source, only
        self.place: Place | None = None
        """The log of the partition that the last rows are of."""

    @property
    def without_image(self) -> Sequence[str]:
        """Sentences for the user of a source without a metadata log."""
        return self._source.without_image

    def read(
        self, name: str, columns: Sequence[str], poll: Poll, report: ReadReport
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of a table, one at least; rows by partition.

        Args:
            name: The table.
            columns: The wanted columns.
            poll: Called before a partition is read, and now and then.
            report: Told of data that is missing or was not read.

        Raises:
            SourceError: The log directories can't be listed.
        """
        log = self.log_of(name)
        if log is None:
            poll()
            for rows in hook(coordinator_parts()[name].rows)(self._source, report):
                yield from rows.select(list(columns)).to_batches()
                poll()
        elif name in self.states:
            yield from self._state(coordinator_parts()[name], log, columns, poll, report)
        else:
            yield from self._records(name, log, columns, poll, report)

    def table(self, name: str, report: ReadReport) -> pa.Table:
        """All of a table in one; the rows of a state are sorted."""
        schema = self.schema(name)
        batches = self.read(name, schema.names, lambda: None, report)
        found = pa.Table.from_batches(batches, schema)
        if name not in self.states:
            return found
        return sorted_rows(coordinator_parts()[name], found)

    def _partitions(
        self, log: CoordinatorLog, poll: Poll, report: ReadReport
    ) -> Iterator[tuple[CoordinatorRecords, PartitionState]]:
        """The partitions that can be read."""
        logs = self._source.coordinator_logs(log)
        if logs is None:
            return
        self._remark(logs, report)
        poll()
        for found, state in read_states(self._source, logs, report, self._only):
            self.place = found.log.place
            yield found, state
            poll()

    def _remark(self, logs: CoordinatorLogs, report: ReadReport) -> None:
        """Tell that there are partitions elsewhere, but where one was asked for."""
        if self._source.of_coordinator is not None:
            return
        if logs.missing:
            report.remark(f"partitions of {logs.log} here: {partitions_here(logs)}")
        elif not self._source.capabilities.has_image:
            here = partitions_here(logs)
            report.remark(f"partitions of {logs.log} here: {here}; how many there are is not known")

    def _state(
        self,
        part: PartSpec,
        log: CoordinatorLog,
        columns: Sequence[str],
        poll: Poll,
        report: ReadReport,
    ) -> Iterator[pa.RecordBatch]:
        is_whole = not part.joined or set(part.asked_for).isdisjoint(columns)
        more = (lambda rows: rows) if is_whole else hook(part.joined)(self._source, report)
        for found, state in self._partitions(log, poll, report):
            state.tell(found.faults())
            yield from more(rows_of(part, state)).select(list(columns)).to_batches()

    def _records(
        self,
        name: str,
        log: CoordinatorLog,
        columns: Sequence[str],
        poll: Poll,
        report: ReadReport,
    ) -> Iterator[pa.RecordBatch]:
        for found, state in self._partitions(log, poll, report):
            for batch in record_batches(
                state.records, state.number, name, columns, state.redaction
            ):
                yield batch
                poll()
            state.tell(found.file_faults)
            state.tell(state.records.unframed)
            state.tell(state.records.faults(state.records.rows(name)))
