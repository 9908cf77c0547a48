"""The replicas on a node's disks: a row a directory, and one for each replica that is missing.

A directory that can't be read is a row with what is known of it. No record is read, and nothing is
kept.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.replica_counts import counted
from metashell.answers.replica_roles import Role, roles_of
from metashell.answers.replica_states import (
    REASONS,
    STATE_OF_NAME,
    Found,
    ReplicaState,
    judge,
    missing_replicas,
    note_ends,
    topic_ids_by_name,
)
from metashell.errors import SourceError
from metashell.image.coordinators.producers import fold_producers
from metashell.image.coordinators.record_tables import part_schema, part_table
from metashell.log.layout import TRANSACTIONAL
from metashell.log.replica_files import ReplicaFiles, read_replica
from metashell.log.unread import Unread, UnreadReport
from metashell.node_files.checkpoint_file import OffsetCheckpoint, TopicPartition
from metashell.node_files.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from metashell.node_files.config import KafkaConfig
from metashell.node_files.log_directory import METADATA_TOPIC, LogDirectory, look_at_log_directory
from metashell.node_files.log_name import LogName, LogState
from metashell.node_files.node_directories import conflicting_identities
from metashell.parts.coordinators.replicas import PART
from metashell.places.parallel import in_parallel
from metashell.places.place import child_of
from metashell.places.uri import shown
from metashell.schema.arena import AnyArray
from metashell.schema.arrow import list_array, number_array, string_array, uuid_array
from metashell.schema.id_table import id_pairs
from metashell.schema.uuids import parse_uuid
from metashell.sources.coordinator_logs import ReadReport
from metashell.sources.replica_epochs import diverging_at

if TYPE_CHECKING:
    from metashell.answers.replica_roles import Roles
    from metashell.answers.replica_states import Judged, Missing
    from metashell.image.image import Image
    from metashell.places.place import Place
    from metashell.sources.source import Source

SCHEMA: Final = part_schema(PART)
DIVERGES: Final = "diverges_at"
"""The column that needs the leader epochs of each log."""
ENDS: Final = frozenset({"log_end_offset", "last_time", DIVERGES})
"""Columns that need the end of each log."""
PRODUCERS: Final = "open_producers"
"""The column that needs the producers of each log."""
_WALKED_BYTES: Final = 1 << 20
"""So many bytes behind a snapshot of producers at most are walked over."""
_NUMBERS: Final = (
    "log_dir topic partition state bytes segments log_start_offset log_end_offset high_watermark "
    "last_time open_producers recovery_segments recovery_bytes"
)
"""The columns that are read: keys, and behind them those of the table."""
_NAMED: Final = 3
"""So many partitions are named; the rows have all."""
NOT_GIVEN: Final = "replicas in log directories that were not given: "
"""The words before the remark that counts them."""
_NO_ID: Final = bytes(16)
_BROKERS: Final = SCHEMA.field("in_sync_elsewhere").type
_OFFSETS: Final = (
    OffsetCheckpoint.LOG_START,
    OffsetCheckpoint.HIGH_WATERMARK,
    OffsetCheckpoint.RECOVERY_POINT,
)
_RECOVERED: Final = (LogState.CURRENT, LogState.FUTURE, LogState.STRAY)

Wanted = Callable[[str], bool]
"""Whether a topic's replicas are wanted, by its name."""
Seen = Callable[[LogDirectory, LogName, ReplicaFiles], None]
"""Takes each log of a log directory with its files, once these are read."""


def replica_rows(source: Source, report: ReadReport) -> Iterator[pa.Table]:
    """The rows of the table `replicas`; none where there is no log directory."""
    if source.log_places:
        yield replicas_table(source, log_directories_here(source, report), report)


def log_directories_here(source: Source, report: ReadReport) -> Sequence[LogDirectory]:
    """The log directories of a source's node that can be listed; of the others it is told."""
    try:
        return source.log_directories
    except SourceError:
        found = [*map(look_at_log_directory, source.log_places)]
        for one in found:
            if one.fault is not None:
                report.unread(f"{one.fault}: no replica in it is listed")
        return [one for one in found if one.fault is None]


def names_each(source: Source, directories: Sequence[LogDirectory]) -> bool:
    """Whether these are all log directories that the node's configuration names, none unusable."""
    if source.settings.config is None:
        return False
    here = {str(one.place) for one in directories if one.identity is not None}
    named = {*map(os.path.abspath, KafkaConfig(*source.settings.config).named_log_dirs())}
    return bool(named) and named <= here and len(here) == len(source.log_places)


def disk_bytes(source: Source, by: str, poll: Callable[[], None]) -> Mapping[Any, int]:
    """The bytes that `replicas` counts with each value of a column.

    An earlier state has none: nothing tells what was on disks.
    """
    if source.moment_offset is not None:
        return {}
    report = UnreadReport(Unread())  # `replicas` tells what can't be read.
    directories = log_directories_here(source, report)
    rows = replicas_table(source, directories, report, columns=("bytes",), poll=poll)
    found = counted(rows.filter(pc.is_valid(rows["bytes"])), by)
    return dict(zip(found[by].to_pylist(), found["bytes"].to_pylist(), strict=True))


def replicas_table(
    source: Source,
    directories: Sequence[LogDirectory],
    report: ReadReport,
    *,
    columns: Collection[str] = frozenset(SCHEMA.names),
    wanted: Wanted | None = None,
    looks_in: bool = True,
    image: Image | None = None,
    poll: Callable[[], None] = lambda: None,
    seen: Seen = lambda *_: None,
) -> pa.Table:
    """The replicas on the node's disks: columns of `SCHEMA`.

    Args:
        source: Its image tells what should be there.
        directories: The log directories, from `log_directories_here`.
        report: Told of what could not be read.
        columns: The columns that will be looked at; others may be null.
        wanted: Chooses topics; None for all.
        looks_in: Whether the replicas' directories are read. Else a current log is taken for that
            of the topic of its name.
        image: The metadata to compare with; None for that of the source.
        poll: Called before each directory is read; may raise.
        seen: Called with each log that is read.
    """
    read = _Reading(report, poll, not ENDS.isdisjoint(columns), PRODUCERS in columns, looks_in)
    for number, directory in enumerate(directories):
        read.directory(number, directory, wanted, seen)
    found = read.found(directories)
    if image is None and source.capabilities.has_image:
        image = source.image
    if not looks_in and image is not None:
        found.topic_id = topic_ids_by_name(found, image)
    # A configuration names the log directories of one node.
    known = source.settings
    is_refused = known.config is not None and bool(
        known.missing_dirs or known.foreign_dirs or conflicting_identities(directories)
    )
    judged = judge(found, image, is_refused=is_refused)
    names = [text_of(shown(str(directory.place))) for directory in directories]
    diverges = np.full(len(judged.at), -1)
    if DIVERGES in columns:
        diverges = diverging_at(found, judged, image, read.ends, read.places(directories), report)
    read.note_ends(judged, diverges)
    table = read.table(found, judged, names, image, diverges)
    if image is None or is_refused:
        return table
    is_whole = names_each(source, directories)
    missing = missing_replicas(found, judged, image, is_whole=is_whole)
    if len(missing.elsewhere) and wanted is None:
        n, alone = f"{len(missing.elsewhere):,}", partition_names(image, missing.alone_elsewhere)
        report.remark(f"{NOT_GIVEN}{n}{only_here(alone)}")
    rows = _missing_table(missing, image, names)
    if wanted is not None:
        rows = rows.filter(pa.array(map(wanted, rows["topic"].to_pylist()), pa.bool_()))
    return pa.concat_tables([table, rows])


class _Reading:
    """Directories of replicas, read one after the other into columns.

    Args:
        report: Told of what could not be read.
        poll: Called before each is read.
        ends: Whether the end of each log is wanted.
        producers: Whether its open producers are.
        looks_in: Whether anything in it is.
    """

    def __init__(
        self,
        report: ReadReport,
        poll: Callable[[], None],
        ends: bool,
        producers: bool,
        looks_in: bool,
    ) -> None:
        self._report, self._poll, self._ends, self._producers = report, poll, ends, producers
        self._looks_in = looks_in
        self._topics: dict[str, int] = {}
        self._ids, self._names = bytearray(), list[str]()
        self._numbers = {name: array("q") for name in _NUMBERS.split()}

    def directory(
        self, number: int, directory: LogDirectory, wanted: Wanted | None, seen: Seen
    ) -> None:
        """Read the replicas of a log directory."""
        offsets = [self._offsets(directory, which) for which in _OFFSETS]
        is_clean = CLEAN_SHUTDOWN in directory.files
        logs = [log for log in directory.logs if wanted is None or wanted(text_of(log.topic))]
        for log, files in zip(logs, self._read(directory, logs), strict=True):
            seen(directory, log, files)
            state = STATE_OF_NAME[log.state]
            if not files.is_listed:
                state = ReplicaState.UNREADABLE
            elif files.is_malformed:
                state = ReplicaState.MALFORMED
            at = TopicPartition(log.topic, log.partition)
            is_live = log.state in (LogState.CURRENT, LogState.FUTURE)
            start, mark, point = (each.get(at, -1) for each in offsets)
            recovers = not is_clean and log.state in _RECOVERED and log.topic != METADATA_TOPIC
            self._row(
                (number, log.topic, log.partition, state),
                log.name,
                files,
                (start, mark) if is_live else (-1, -1),
                files.recovery(point) if recovers else (0, 0),
            )
        for name in directory.not_logs if wanted is None else ():
            files = read_replica(child_of(directory.place, name), name, ends=False)
            self._row((number, "", -1, ReplicaState.NOT_A_LOG), name, files, (-1, -1), (0, 0))

    def _read(self, directory: LogDirectory, logs: Sequence[LogName]) -> Iterable[ReplicaFiles]:
        if not self._looks_in:
            return repeat(ReplicaFiles(is_listed=True), len(logs))

        def read(log: LogName) -> ReplicaFiles:
            self._poll()
            name = f"{log.topic}-{log.partition}"
            return read_replica(directory.place_of(log), name, ends=self._ends)

        if isinstance(directory.place, str):
            return map(read, logs)
        return in_parallel([partial(read, log) for log in logs])

    def _offsets(
        self, directory: LogDirectory, which: OffsetCheckpoint
    ) -> Mapping[TopicPartition, int]:
        try:
            return directory.offsets(which)
        except SourceError as error:
            self._report.unread(f"{error.message}: its offsets are missing")
            return {}

    def _row(
        self,
        key: tuple[int, str, int, int],
        name: str,
        files: ReplicaFiles,
        offsets: tuple[int, int],
        recovery: tuple[int, int],
    ) -> None:
        if files.fault is not None:
            self._report.unread(files.fault)
        number, topic, partition, state = key
        topic_id = None if files.topic_id is None else parse_uuid(files.topic_id)
        self._ids += topic_id or _NO_ID
        self._names.append(text_of(name))
        end, tail, (start, mark) = files.end, files.tail, offsets
        if tail is not None:
            start = max(start, tail.segments[0].base_offset)
        values = (
            number,
            self._topics.setdefault(topic, len(self._topics)),
            partition,
            state,
            files.n_bytes,
            files.n_segments,
            start,
            -1 if end is None else end.end_offset,
            mark,
            -1 if end is None else end.last_timestamp_ms,
            self._open_producers(files) if self._producers else -1,
            *recovery,
        )
        for column, value in zip(self._numbers.values(), values, strict=True):
            column.append(value)

    def _open_producers(self, files: ReplicaFiles) -> int:
        """How many producers have a transaction open; -1 where it takes too long to find out."""
        tail = files.tail
        if tail is None or files.fault is not None:
            return -1 if files.fault is not None else 0
        try:
            if tail.bytes_behind_snapshot(files.sizes) > _WALKED_BYTES:
                return -1
            history = tail.producers()
        except SourceError as error:
            self._report.unread(error.message)
            return -1
        if not (history.behind.header["attributes"] & TRANSACTIONAL).any():
            return int((history.snapshot["current_txn_first_offset"] >= 0).sum())
        return int((fold_producers(history).current_txn_first_offset >= 0).sum())

    def found(self, directories: Sequence[LogDirectory]) -> Found:
        """The directories that were read, to be judged."""
        known = [directory.identity for directory in directories]
        ids = [None if one is None else one.directory_id for one in known]
        nodes = [-1 if one is None or one.node_id is None else one.node_id for one in known]
        raw = b"".join((text and parse_uuid(text)) or _NO_ID for text in ids)
        return Found(
            log_dir=self._number("log_dir").astype(np.int32),
            name_state=self._number("state").astype(np.int8),
            topics=list(self._topics),
            topic=self._number("topic").astype(np.int32),
            partition=self._number("partition").astype(np.int32),
            topic_id=np.frombuffer(bytes(self._ids), "V16"),
            brokers=np.array(nodes, dtype=np.int32),
            directory_ids=np.frombuffer(raw, "V16"),
            is_metadata=self._number("topic") == self._topics.get(METADATA_TOPIC, -1),
        )

    @property
    def ends(self) -> AnyArray:
        """int64[n]: the log end offset of each; -1 for none."""
        return self._number("log_end_offset")

    def note_ends(self, judged: Judged, diverges: AnyArray) -> None:
        """Tell of logs that lack records."""
        start, mark = map(self._number, ("log_start_offset", "high_watermark"))
        note_ends(judged, start, self.ends, mark, diverges)

    def places(self, directories: Sequence[LogDirectory]) -> Sequence[Place]:
        """Where each is."""
        pairs = zip(self._numbers["log_dir"], self._names, strict=True)
        return [child_of(directories[number].place, name) for number, name in pairs]

    def _number(self, name: str) -> AnyArray:
        return np.frombuffer(self._numbers[name], np.int64)

    def table(
        self,
        found: Found,
        judged: Judged,
        names: Sequence[str],
        image: Image | None,
        diverges: AnyArray,
    ) -> pa.Table:
        """The rows."""
        topics, at = [text_of(topic) or None for topic in found.topics], judged.at
        has_id = number_array(np.asarray(id_pairs(found.topic_id).any(axis=1)))
        return part_table(
            PART,
            **{name: self._number(name) for name in _NUMBERS.split()[4:]},
            **_words(judged.state, judged.reason),
            **_parts(None if image is None else roles_of(image, judged.at, found.broker), len(at)),
            broker=found.broker,
            diverges_at=diverges,
            partition=found.partition,
            directory=pa.array(names, pa.string()).take(number_array(found.log_dir)),
            topic=pa.array(topics, pa.string()).take(number_array(found.topic)),
            topic_id=pc.if_else(has_id, uuid_array(found.topic_id), None),
            name=pa.array(self._names, pa.string()),
        )


def _words(state: AnyArray, reason: AnyArray) -> Mapping[str, pa.Array]:
    states = pa.array([one.text for one in ReplicaState], pa.string())
    reasons = pa.array([text or None for text in REASONS], pa.string())
    words = {"state": (states, state), "reason": (reasons, reason)}
    return {name: texts.take(number_array(codes)) for name, (texts, codes) in words.items()}


def _parts(roles: Roles | None, n: int) -> Mapping[str, pa.Array]:
    """The columns ``role`` and ``in_sync_elsewhere`` of n rows."""
    if roles is None:
        return {"role": pa.nulls(n, pa.string()), "in_sync_elsewhere": pa.nulls(n, _BROKERS)}
    words = pa.array([one.text for one in Role], pa.string())
    order = np.lexsort((roles.others.brokers, roles.others.row))
    bounds = np.searchsorted(roles.others.row[order], np.arange(n + 1))
    lists = list_array(number_array(roles.others.brokers[order]), bounds, roles.role > 0)
    return {
        "role": words.take(number_array(roles.role)),
        "in_sync_elsewhere": lists.cast(_BROKERS),
    }


def text_of(name: str) -> str:
    """A name that may hold bytes that are no UTF-8, with these escaped."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def only_here(names: pa.ChunkedArray) -> str:
    """The words about partitions of which other brokers lack the data; none without any."""
    return f"; no other broker has all data of {first_of(names)}" if len(names) else ""


def log_names(rows: pa.Table) -> pa.ChunkedArray:
    """The names of the logs of rows, such as ``orders-3``."""
    return pc.binary_join_element_wise(rows["topic"], rows["partition"].cast(pa.string()), "-")


def first_of(names: pa.ChunkedArray) -> str:
    """The first names, and how many there are more."""
    n_more = len(names) - _NAMED
    more = [f"{n_more:,} more"] if n_more > 0 else []
    return ", ".join([*names.slice(0, _NAMED).to_pylist(), *more])


def partition_names(image: Image, rows: AnyArray) -> pa.Array:
    """The names of partitions, such as ``orders-3``."""
    topics = string_array(image.topics.raw_names.take(image.partitions.topic[rows]))
    numbers = number_array(image.partitions.partition[rows]).cast(pa.string())
    return pc.binary_join_element_wise(topics, numbers, "-")


def _missing_table(missing: Missing, image: Image, names: Sequence[str]) -> pa.Table:
    """The rows of replicas that are missing."""
    topic, n = image.partitions.topic[missing.row], len(missing.row)
    # The last name, null, is that of -1.
    directory = number_array(missing.log_dir % (len(names) + 1))
    return part_table(
        PART,
        **dict.fromkeys(_NUMBERS.split()[4:], np.full(n, -1)),
        **_words(np.full(n, ReplicaState.MISSING), missing.reason),
        **_parts(missing.roles, n),
        broker=missing.broker,
        diverges_at=np.full(n, -1),
        partition=image.partitions.partition[missing.row],
        directory=pa.array([*names, None], pa.string()).take(directory),
        topic=string_array(image.topics.raw_names.take(topic)),
        topic_id=uuid_array(image.topics.ids[topic]),
        name=pa.nulls(n, pa.string()),
    )
