"""`readStream`: the records that logs grow by.

Offsets are JSON: by directory, or by cluster and partition, a `Cursor` behind the last batch
that was delivered. Only segments are followed: what is in a checkpoint was in a segment before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.coordinators.record_tables import record_batches
from metashell.log.chain import METADATA
from metashell.log.partition import CoordinatorPartition
from metashell.log.read import Loaded
from metashell.parts.coordinators.offsets import PART as OFFSETS
from metashell.places.place import Place, expand
from metashell.records.keyed_records import KeyedRecords
from metashell.records.split_filter import RowFilter
from metashell.redact import Redaction
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types
from metashell.spark_backend.cursor import NO_LIMIT, Cursor, records_between
from metashell.spark_backend.failures import within_memory
from metashell.spark_backend.followed import (
    FollowedDirectories,
    FollowedLog,
    FollowedLogs,
    FollowedPartitions,
)
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import (
    ORIGIN,
    conform,
    coordinator_tables,
    is_of_coordinators,
    with_origin,
)
from metashell.spark_backend.sites import SiteOrigin, absolute, at_once
from metashell.spark_backend.tables import BATCH_ROWS, split_batches

_VERSION: Final = 1
_SETTLED_S: Final = 2.0
"""Stores tell times in whole seconds: what is put in the same one may look the same."""

State = dict[str, Cursor]
"""How far each log was delivered."""


class LogRange(InputPartition):
    """The records of a log that one task reads.

    Args:
        place: Where the log is.
        partition: Its partition; None for a metadata log.
        origin: The values of the first columns of rows.
        start: Behind the last record before.
        last: The last offset.
    """

    def __init__(
        self,
        place: Place,
        partition: CoordinatorPartition | None,
        origin: SiteOrigin,
        start: Cursor,
        last: int,
    ) -> None:
        self.place, self.partition, self.origin = place, partition, origin
        self.start, self.last = start, last

    def __repr__(self) -> str:
        return f"LogRange({self.origin[2]}, {self.start.offset + 1}, {self.last})"


@dataclass(frozen=True, slots=True)
class _Quiet:
    """The files of a log with nothing behind a cursor."""

    facts: object
    cursor: Cursor | None
    since_s: float
    """When they were first seen so, on time.monotonic's clock."""
    is_settled: bool = False
    """Whether they were looked into again when nothing could look the same any more."""

    def is_same(self, facts: object, cursor: Cursor | None) -> bool:
        """Whether it is about these."""
        return (self.facts, self.cursor) == (facts, cursor)


class KRaftStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows logs.

    Args:
        options: The options of the query.
        wanted: The columns, as Spark expects them.
    """

    def __init__(self, options: Options, wanted: pa.Schema) -> None:
        self._options, self._wanted = options, wanted
        self._logs: FollowedLogs = FollowedDirectories(options)
        if is_of_coordinators(options):
            log = coordinator_tables(options.settings.schemas).log_of(options.table)
            assert log is not None
            self._logs = FollowedPartitions(options, log)
        self._there: Mapping[str, FollowedLog] = {}
        """The logs that the last offset was made of."""
        self._until: dict[str, int] | None = None
        """By name the last offset that counts, where the query ends."""
        self._cuts: dict[str, list[Cursor]] = {}
        self._quiet: dict[str, _Quiet] = {}

    def __getstate__(self) -> dict[str, Any]:
        # It is sent with each task, which has a directory of its own.
        return {"_options": replace(self._options, paths=()), "_wanted": self._wanted}

    def initialOffset(self) -> dict[str, Any]:
        """Before everything."""
        return self._to_json({})

    def getDefaultReadLimit(self) -> ReadLimit:
        """The value of option `maxBytesPerTrigger`."""
        limit = self._options.max_bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept."""

    def prepareForTriggerAvailableNow(self) -> None:
        """Note how far the logs go now: the query ends there."""
        self._until = {}
        for name, one in self._found({}).items():
            with suppress(SourceError):
                self._until[name] = one.end - 1

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far to go from an offset: up to the last whole batches, or about to the limit."""
        state, began_s = self._from_json(start), time.monotonic()
        self._there = self._found(state)
        busy = [one for one in self._there.values() if not self._is_quiet(one, state)]
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else NO_LIMIT
        if left == NO_LIMIT:
            jobs = [partial(self._walk, one, state, left) for one in busy]
            walks = at_once(jobs, self._options.paths)
        else:
            walks = []
            for i, one in enumerate(busy):
                walks.append(self._walk(one, state, max(left // (len(busy) - i), 1)))
                left = max(left - walks[-1][1], 0)
        end = dict(state)
        for one, (cursor, _) in zip(busy, walks, strict=True):
            if cursor is not None:
                end[one.name] = cursor
                self._note(one, state.get(one.name), cursor, began_s)
        return self._to_json(end)

    def _walk(self, one: FollowedLog, state: State, limit: int) -> tuple[Cursor | None, int]:
        """The cursor behind what is new in a log, if any, and how many bytes that are."""
        fail, last = self._options.fail_on_data_loss, one.last_offset
        if self._until is not None:
            last = min(last, self._until.get(one.name, -1))
        walk = one.walk(
            fail=fail, limit=limit, last_offset=last, split_bytes=self._options.split_bytes
        )
        try:
            cursor = walk.run(state.get(one.name))
        except SourceError:
            if fail and (one.partition is not None or one.name in state):
                raise
            return None, 0
        self._cuts[one.name] = walk.cuts
        return cursor, walk.taken

    def _is_quiet(self, one: FollowedLog, state: State) -> bool:
        """Whether the files are those behind which there was nothing."""
        quiet = self._quiet.get(one.name)
        if quiet is None or not quiet.is_settled:
            return False
        return quiet.is_same(one.facts, state.get(one.name))

    def _note(
        self, one: FollowedLog, before: Cursor | None, cursor: Cursor, listed_s: float
    ) -> None:
        """Note what need not be asked again of a log."""
        if self._until is None and (cursor == before or one.log.ends_at(cursor)):
            quiet = self._quiet.get(one.name)
            if quiet is None or not quiet.is_same(one.facts, cursor):
                quiet = _Quiet(one.facts, cursor, time.monotonic())
            settled = listed_s - quiet.since_s >= _SETTLED_S
            self._quiet[one.name] = replace(quiet, is_settled=settled)
        if cursor != before:
            self._logs.moved(one, before, cursor)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of records between two offsets."""
        before, after = self._from_json(start), self._from_json(end)
        changed = {name: one for name, one in after.items() if before.get(name) != one}
        there, self._there = self._there, {}
        if not changed.keys() <= there.keys():
            there = self._found(changed)
        parts: list[InputPartition] = []
        for name, cursor in changed.items():
            one, begin = there.get(name), before.get(name)
            if one is None:
                continue
            if begin is None or (cursor.begun is not None and cursor.begun[2] != begin.offset):
                assert cursor.begun is not None
                begin = Cursor(*cursor.begun)
            for cut in (*self._cuts.get(name, one.log.starts), cursor):
                if begin.offset < cut.offset <= cursor.offset:
                    place = one.log.place
                    parts.append(LogRange(place, one.partition, one.origin, begin, cut.offset))
                    begin = cut
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        assert isinstance(partition, LogRange)
        which, fail = partition.partition, self._options.fail_on_data_loss
        kind = METADATA if which is None else which.kind
        with within_memory():
            windows = records_between(
                partition.place, kind, partition.start, partition.last, fail=fail
            )
            values = "value" in self._wanted.names
            rows = (
                split_batches(windows, self._options, RowFilter(), values=values)
                if which is None
                else self._keyed(windows, which)
            )
            for batch in rows:
                yield conform(batch, self._wanted, partition.origin)

    def _keyed(
        self, windows: Iterator[Loaded], which: CoordinatorPartition
    ) -> Iterator[pa.RecordBatch]:
        """The rows of coordinators' records: those of a type, or commits of offsets."""
        table, settings = self._options.table, self._options.settings
        for loaded in windows:
            records = KeyedRecords(loaded, _types(which.log, settings.schemas))
            if table == OFFSETS.name:
                from metashell.answers.offsets import commits_table
                from metashell.image.coordinators.group_log import GroupLog

                commits = commits_table(GroupLog(records, which.number))
                yield from commits.to_batches(max_chunksize=BATCH_ROWS)
                continue
            own = coordinator_tables(settings.schemas).schema(table)
            names = zip(own.names, with_origin(own).names[len(ORIGIN) :], strict=True)
            columns = [name for name, shown_as in names if shown_as in self._wanted.names]
            redaction = Redaction(settings.show_secrets)
            yield from record_batches(
                records, which.number, table, columns or own.names[:1], redaction
            )

    def _found(self, state: State) -> dict[str, FollowedLog]:
        """The logs that are there now and can be read, by name.

        Raises:
            SourceError: One that was followed is not among them, and losses are errors.
        """
        there = self._logs.there(self._places())
        lost = state.keys() - there.keys()
        if lost and self._options.fail_on_data_loss:
            raise SourceError(
                f"{min(lost)}: it was followed and is gone, or can't be read; option"
                " failOnDataLoss=false goes on with the others"
            )
        found: dict[str, FollowedLog] = {}
        for name, one in sorted(there.items()):
            if isinstance(one, FollowedLog):
                found[name] = one
            elif name in state and self._options.fail_on_data_loss:
                raise one
        return found

    def _places(self) -> list[str]:
        """The places that are there now; what is none yet may become one."""
        places: list[str] = []
        for path in self._options.paths:
            try:
                places += map(absolute, expand(path, self._logs.known))
            except SourceError as e:
                # A glob may come to match; a store that can't be reached is an error.
                if not e.message.endswith("no directory matches"):
                    raise
        return list(dict.fromkeys(places))

    def _to_json(self, state: Mapping[str, Cursor]) -> dict[str, Any]:
        # A text for each: Spark compares offsets as text, and a flat map keeps its form.
        return {
            "version": _VERSION,
            self._logs.title: {
                name: json.dumps(cursor.to_json(), sort_keys=True)
                for name, cursor in sorted(state.items())
            },
        }

    def _from_json(self, value: Mapping[str, Any]) -> State:
        hint = "begin a new checkpoint"
        if value.get("version") != _VERSION:
            raise SourceError(
                f"the query's checkpoint has offsets of version {value.get('version')}, which this"
                " metashell does not know",
                hint=hint,
            )
        if self._logs.title not in value:
            raise SourceError("the query's checkpoint is of another table", hint=hint)
        texts = value[self._logs.title].items()
        return {name: Cursor.from_json(json.loads(text)) for name, text in texts}


@cache
def _types(log: CoordinatorLog, schemas: tuple[Path, ...]) -> RecordTypes:
    return load_record_types(log, schemas)
