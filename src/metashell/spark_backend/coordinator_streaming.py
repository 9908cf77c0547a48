"""`readStream`: the records that coordinators' logs grow by.

Offsets are JSON: by cluster and partition a `metashell.spark_backend.cursor.Cursor`, whose offset
is what counts. Each partition is read from the replica that reaches furthest in the newest leader
epoch, so it may move from one broker's directory to another's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes

from metashell.checks.replicas import Reach, reach_of
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.coordinators.record_tables import record_batches
from metashell.log.partition import CoordinatorPartition
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import EpochStart, read_epoch_checkpoint
from metashell.node_files.log_directory import LogDirectory, read_log_directory
from metashell.node_files.offset_checkpoint import OffsetCheckpoint, TopicPartition
from metashell.parts.coordinators.offsets import PART as OFFSETS
from metashell.places.parallel import in_parallel
from metashell.places.place import Place, child_of, is_uri, shown
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types
from metashell.sources.coordinator_logs import LogReplica, by_node
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend.coordinators import log_directory, nodes_of
from metashell.spark_backend.cursor import NO_LIMIT, Cursor
from metashell.spark_backend.failures import within_memory
from metashell.spark_backend.keyed_cursor import KeyedWalk, ListedLog, records_between
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import ORIGIN, conform, coordinator_tables, with_origin
from metashell.spark_backend.streaming import State, StreamReader, gone

_BATCH_ROWS: Final = 32_768
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Followed:
    """A partition of a cluster, and its replicas that are here."""

    name: str
    """What it is called in the checkpoint and in messages."""
    partition: CoordinatorPartition
    cluster_id: str | None
    replicas: tuple[LogReplica, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A partition as it is read now."""

    followed: _Followed
    replica: LogReplica
    log: ListedLog

    def walk(self, **limits: Any) -> KeyedWalk:
        """Goes over it."""
        epochs = partial(_epochs, self.replica)
        return KeyedWalk(self.log.segments, self.followed.partition, epochs, **limits)


class OffsetRange(InputPartition):
    """The records of a partition that one task reads.

    Args:
        place: The directory of the replica.
        partition: Which partition it is.
        origin: What the first columns of rows say.
        start: Behind the last record before.
        last: The last offset.
    """

    def __init__(
        self,
        place: Place,
        partition: CoordinatorPartition,
        origin: tuple[str | None, int | None, str],
        start: Cursor,
        last: int,
    ) -> None:
        self.place, self.partition, self.origin = place, partition, origin
        self.start, self.last = start, last

    def __repr__(self) -> str:
        return f"OffsetRange({self.partition}, {self.start.offset + 1}, {self.last})"


class CoordinatorStreamReader(StreamReader):
    """Follows the partitions of a coordinators' topic."""

    follows = "partitions"

    def __init__(self, options: Options, wanted: pa.Schema) -> None:
        super().__init__(options, wanted)
        log = coordinator_tables(options.settings.schemas).log_of(options.table)
        assert log is not None
        self._log: CoordinatorLog = log
        self._until: dict[str, int] | None = None
        self._cuts: dict[str, list[Cursor]] = {}
        self._ends: dict[str, Cursor] = {}
        """How far replicas reached, by their directory."""
        self._quiet: dict[str, tuple[object, Cursor]] = {}
        """By partition the files behind which there was nothing."""
        self._nodes: tuple[list[str], list[NodePlaces]] | None = None
        """The places that nodes were looked for at, and these."""
        self._only: Collection[str] | None = None
        """Names of the partitions that are meant alone; None for all."""

    def prepareForTriggerAvailableNow(self) -> None:
        """Note how far the logs go now: the query ends there."""
        self._until = {}
        for one in self._followed().values():
            with suppress(SourceError):
                _, (_, end) = self._furthest(one)
                self._until[one.name] = end - 1

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far to go from an offset: up to the last whole batches, or about to the limit."""
        state = self._from_json(start)
        followed = self._followed()
        lost = state.keys() - followed.keys()
        if lost and self._options.fail_on_data_loss:
            raise gone(min(lost))
        found = self._at_once(
            [partial(self._found, one, state.get(name)) for name, one in sorted(followed.items())]
        )
        bounds = self._high_watermarks(followed)
        busy = [one for one in found if one is not None and self._is_busy(one, state)]
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else NO_LIMIT
        if left == NO_LIMIT:
            walks = self._at_once([partial(self._walk, one, state, left, bounds) for one in busy])
        else:
            walks = []
            for i, one in enumerate(busy):
                walks.append(self._walk(one, state, max(left // (len(busy) - i), 1), bounds))
                left = max(left - walks[-1][1], 0)
        end = dict(state)
        for one, (cursor, _) in zip(busy, walks, strict=True):
            name = one.followed.name
            if cursor is None:
                continue
            end[name] = cursor
            if cursor == state.get(name) and self._until is None and not bounds:
                self._quiet[name] = one.log.facts, cursor
        return self._to_json(end)

    def _at_once(self, jobs: Sequence[Callable[[], _T]]) -> list[_T]:
        """The results of some jobs; of a store, which answers slowly, at the same time."""
        if any(map(is_uri, self._options.paths)):
            return in_parallel(jobs)
        return [job() for job in jobs]

    def _is_busy(self, one: _Found, state: State) -> bool:
        """Whether there can be something behind a partition's cursor."""
        name = one.followed.name
        return self._quiet.get(name) != (one.log.facts, state.get(name))

    def _walk(
        self, one: _Found, state: State, limit: int, bounds: Mapping[str, int]
    ) -> tuple[Cursor | None, int]:
        """The cursor behind what is new in a partition, if any, and how many bytes that are.

        Args:
            one: The partition.
            state: All cursors.
            limit: About how many bytes to go.
            bounds: By partition the last offset that counts, for those that have one.
        """
        name, fail = one.followed.name, self._options.fail_on_data_loss
        bound = bounds.get(name, NO_LIMIT)
        if self._until is not None:
            bound = min(bound, self._until.get(name, -1))
        walk = one.walk(
            fail=fail, limit=limit, last_offset=bound, split_bytes=self._options.split_bytes
        )
        try:
            cursor = walk.run(state.get(name))
        except SourceError:
            if fail:
                raise
            return None, 0
        self._cuts[name] = walk.cuts
        return cursor, walk.taken

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of records between two offsets."""
        before, after = self._from_json(start), self._from_json(end)
        parts: list[InputPartition] = []
        followed: Mapping[str, _Followed] | None = None
        for name, cursor in after.items():
            begin = before.get(name)
            if begin == cursor:
                continue
            followed = self._followed() if followed is None else followed
            found = self._found(followed[name], cursor) if name in followed else None
            if found is None:
                if self._options.fail_on_data_loss:
                    raise gone(name)
                continue
            if begin is None or (cursor.begun is not None and cursor.begun[2] != begin.offset):
                assert cursor.begun is not None
                begin = Cursor(*cursor.begun)
            cuts = (c for c in self._cuts.get(name, ()) if begin.offset < c.offset < cursor.offset)
            for cut in (*cuts, cursor):
                if begin.offset < cut.offset:
                    parts.append(_range(found, begin, cut.offset))
                begin = cut
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        assert isinstance(partition, OffsetRange)
        options, which = self._options, partition.partition
        types = _types(which.log, options.settings.schemas)
        with within_memory():
            for loaded in records_between(
                partition.place,
                which,
                partition.start,
                partition.last,
                fail=options.fail_on_data_loss,
            ):
                records = KeyedRecords(loaded, types)
                for batch in self._rows(records, which.number):
                    yield conform(batch, self._wanted, partition.origin)

    def _rows(self, records: KeyedRecords, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of some records: those of a type, or commits of offsets."""
        table = self._options.table
        if table == OFFSETS.name:
            from metashell.answers.offsets import commits_table
            from metashell.image.coordinators.group_log import GroupLog

            commits = commits_table(GroupLog(records, number))
            yield from commits.to_batches(max_chunksize=_BATCH_ROWS)
            return
        own = coordinator_tables(self._options.settings.schemas).schema(table)
        names = zip(own.names, with_origin(own).names[len(ORIGIN) :], strict=True)
        columns = [name for name, shown_as in names if shown_as in self._wanted.names]
        redaction = Redaction(self._options.settings.show_secrets)
        yield from record_batches(records, number, table, columns or own.names[:1], redaction)

    def _followed(self) -> dict[str, _Followed]:
        """The partitions that are there now, by name."""
        places = self._places()
        if self._nodes is None or self._nodes[0] != places:
            nodes, self._only = nodes_of(places, joins=True)
            # One that does not tell its cluster yet may come to.
            known = places if all(node.cluster_id is not None for node in nodes) else []
            self._nodes = known, nodes
        found: dict[str, _Followed] = {}
        for node in self._nodes[1]:
            replicas: dict[int, list[LogReplica]] = {}
            for directory in _directories(node):
                for name in directory.logs_of(self._log.value):
                    if self._only is None or name.name in self._only:
                        replica = LogReplica(directory=directory, name=name)
                        replicas.setdefault(name.partition, []).append(replica)
            for number, own in replicas.items():
                which = CoordinatorPartition(self._log, number)
                whose = node.cluster_id or shown(str(own[0].directory.place))
                key = f"{whose}/{which}"
                found[key] = _Followed(key, which, node.cluster_id, tuple(by_node(own)))
        return found

    def _found(self, one: _Followed, cursor: Cursor | None) -> _Found | None:
        """The replica that is read of a partition; None where none can be.

        Raises:
            SourceError: None can be, the partition was followed, and losses are errors.
        """
        try:
            replica = one.replicas[0] if len(one.replicas) == 1 else self._furthest(one)[0]
            return _Found(one, replica, ListedLog.at(replica.place))
        except SourceError:
            if cursor is not None and self._options.fail_on_data_loss:
                raise
            return None

    def _furthest(self, one: _Followed) -> tuple[LogReplica, Reach]:
        """The replica of a partition that reaches furthest, and how far that is.

        Raises:
            SourceError: None can be read.
        """
        best: tuple[LogReplica, Reach] | None = None
        error: SourceError | None = None
        for replica in one.replicas:
            try:
                reach = self._reach(replica)
            except SourceError as e:
                error = e
                continue
            if best is None or reach > best[1]:
                best = replica, reach
        if best is None:
            assert error is not None
            raise error
        return best

    def _reach(self, replica: LogReplica) -> Reach:
        """How far a replica reaches.

        Raises:
            SourceError: It can't be read, or has no segment.
        """
        segments, place = ListedLog.at(replica.place).segments, str(replica.place)
        if not segments.segments:
            raise SourceError(f"{segments.shown}: no segment there")
        partition = CoordinatorPartition(self._log, replica.name.partition)
        newest = segments.segments[-1]
        begin = Cursor(newest.name, 0, newest.base_offset - 1)
        epochs = _epochs(replica)
        walk = KeyedWalk(segments, partition, lambda: epochs, fail=False)
        end = walk.run(self._ends.get(place, begin)) or begin
        self._ends[place] = end
        return reach_of(end.epoch, (one.epoch for one in epochs), end.offset + 1)

    def _high_watermarks(self, followed: Mapping[str, _Followed]) -> dict[str, int]:
        """With option `committedOnly` the last offset of each partition that counts."""
        if not self._options.settings.committed_only:
            return {}

        @cache
        def marks(place: str) -> Mapping[TopicPartition, int]:
            # A file that can't be used tells as little as one that is missing: the query waits.
            with suppress(SourceError):
                return directories[place].offsets(OffsetCheckpoint.HIGH_WATERMARK)
            return {}

        directories = {
            str(replica.directory.place): replica.directory
            for one in followed.values()
            for replica in one.replicas
        }
        found = {}
        for one in followed.values():
            which = TopicPartition(self._log.value, one.partition.number)
            ends = [marks(str(r.directory.place)).get(which, 0) for r in one.replicas]
            found[one.name] = max(ends) - 1
        return found


@cache
def _types(log: CoordinatorLog, schemas: tuple[Path, ...]) -> RecordTypes:
    return load_record_types(log, schemas)


def _range(found: _Found, start: Cursor, last: int) -> OffsetRange:
    one, replica = found.followed, found.replica
    origin = one.cluster_id, replica.node_id, str(replica.directory.place)
    return OffsetRange(replica.place, one.partition, origin, start, last)


def _directories(node: NodePlaces) -> list[LogDirectory]:
    """The log directories that can be listed; those of a store at the same time."""

    def listed(path: str) -> LogDirectory | None:
        with suppress(MetashellError):
            return read_log_directory(log_directory(path))
        return None

    jobs = [partial(listed, path) for path in (node.path, *node.log_dirs)]
    found = in_parallel(jobs) if is_uri(node.path) else [job() for job in jobs]
    return [one for one in found if one is not None]


def _epochs(replica: LogReplica) -> Sequence[EpochStart]:
    """Where leader epochs begin; nothing where the file can't be read, as batches tell most."""
    with suppress(SourceError):
        return read_epoch_checkpoint(child_of(replica.place, EPOCH_CHECKPOINT)) or ()
    return ()
