"""Reduced logs as Arrow tables, and records made of them again.

A row is a record with what the replay needs to know of its batch and file. Tables of stretches that
follow on each other, in that order, are the log of all of them; folding it gives the image that the
files give. So what is sent between processes, what is kept in a cache and what the shell opens is
one form, and every fold works on it.

Secrets, and bytes that are not understood, are overwritten unless they are asked for: nothing that
is written to a disk or sent anywhere holds one (`metashell.reduced.table`).

Overwrites parts of records' values before they are written to a disk or sent anywhere.

Owns the masks. A secret is overwritten, and so are bytes that no definition describes, but for the
parts that replaying and reporting need. A record that can't be decoded is replaced by the reason,
as nobody could find it out again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.image.partition_replay import NO_LEADER_CHANGE
from metashell.log.chain import Chain
from metashell.log.control import ControlType
from metashell.log.deltas import Deltas
from metashell.log.fault import Fault
from metashell.log.frames import CONTROL_FRAME, HEADER, Batches, Frames, Merged, control_key
from metashell.log.read import EpochRun, Loaded, LogFile
from metashell.log.truncation import ReadUpTo
from metashell.records.records import Records, is_marker
from metashell.records.redacted_batches import may_have_unknown_tags, secret_configs
from metashell.redact import CONFIG_RECORD, Redaction, row_secret_fields, type_may_hold_secrets
from metashell.reduced.reduce import CLEAR_ELR, ReducedRows, reduce_records
from metashell.reduced.topic_shards import TopicShards
from metashell.schema.arena import I32, I64, SLACK, AnyArray, Arena, Bools, gather_ragged
from metashell.schema.arrow import number_array
from metashell.schema.columns import SpanColumn
from metashell.schema.encode import encode_message
from metashell.schema.model import FieldSpec, MessageSpec, Registry
from metashell.schema.scalar import decode_message, default_value, unknown_tags

UNREAD: Final = -1
"""In place of the bytes before a message: the value is the reason why there is no message."""

_BLANK: Final = ord("*")
_FEW_SPANS: Final = 4096
"""More are not overwritten one by one."""


class Mask:
    """Overwrites what must not be kept in the values gathered of some rows.

    Args:
        records: The records.
        rows: int64[k], those that are kept.
        heads: int32[k], bytes of each value before the message; changed in place.
        data: uint8, their values one behind the other; changed in place, or replaced.
        bounds: int64[k + 1], where each begins and ends in `data`; may be replaced.
    """

    def __init__(
        self, records: Records, rows: I64, heads: I32, data: AnyArray, bounds: I64
    ) -> None:
        self.records, self.rows, self.heads = records, rows, heads
        self.data, self.bounds = data, bounds

    def overwrite(self, checked: Collection[str] = ()) -> None:
        """Overwrite secrets and what is not understood.

        Args:
            checked: Messages of which every row was decoded already.
        """
        frames, rows = self.records.frames, self.rows
        unread = frames.unread(rows)
        keys = frames.api_key[rows]
        sound = (frames.frame_version[rows] == 1) | (frames.frame_version[rows] == CONTROL_FRAME)
        known = np.zeros(len(rows), dtype=np.bool_)
        for key in np.unique(keys).tolist():
            spec = self.records.spec_of_key(key)
            if spec is None:
                continue
            versions = frames.version[rows]
            low, high = spec.versions.low, spec.versions.high
            of_key = (keys == key) & sound & (versions >= low) & (versions <= high)
            known |= of_key
            at = np.flatnonzero(of_key & ~unread)
            if type_may_hold_secrets(spec.name):
                for version in np.unique(versions[at]).tolist():
                    self._message(spec, version, at[versions[at] == version])
            elif spec.name not in checked:
                self.records.decode(spec.name, rows[at], ())
        self._blank(np.flatnonzero(~known & ~unread))
        bad = np.flatnonzero(known & ~unread & np.isin(rows, self.records.undecodable))
        if bad.size:
            self._tell(bad)

    def _blank(self, at: I64) -> None:
        """Overwrite the messages of records that no definition describes."""
        starts = self.bounds[at] + np.maximum(self.heads[at], 0)
        self._fill(starts, self.bounds[at + 1] - starts, 0)

    def _tell(self, bad: I64) -> None:
        """Put the reason in the place of each record that can't be decoded."""
        reasons = {row: fault.reason for row, fault in self.records.faults_by_row()}
        self._replace(
            bad, [reasons.get(row, _NO_REASON).encode() for row in self.rows[bad].tolist()]
        )
        self.heads[bad] = UNREAD

    def _replace(self, rows: AnyArray, values: Sequence[bytes]) -> None:
        """Put other values in the place of some, ascending."""
        sizes = np.diff(self.bounds)
        sizes[rows] = list(map(len, values))
        pieces, at = [], 0
        for i, value in zip(rows.tolist(), values, strict=True):
            pieces += [self.data[at : self.bounds[i]], np.frombuffer(value, dtype=np.uint8)]
            at = int(self.bounds[i + 1])
        self.data = np.concatenate([*pieces, self.data[at:]])
        self.bounds = np.append(0, np.cumsum(sizes))

    def _message(self, spec: MessageSpec, version: int, at: I64) -> None:
        """Overwrite secrets in the records of a message that decode, each by as many bytes."""
        rows, columns = self.records.decode(spec.name, self.rows[at])
        good = at[np.isin(self.rows[at], rows)]
        if not good.size:
            return
        others: list[FieldSpec] = []
        for field in spec.fields:
            if field.json_name in row_secret_fields(spec.name):
                column = columns.fields[field.column_name]
                if isinstance(column, SpanColumn) and column.dtype == "u1":
                    self._span(good, column)
                else:
                    others.append(field)
        if spec.name == CONFIG_RECORD:
            secret = secret_configs(columns)
            self._span(good[secret], columns.span("value").take(secret))
        tagged = may_have_unknown_tags(self.records.frames, rows, spec, version, columns)
        for i in good[tagged].tolist():
            first = int(self.bounds[i] + self.heads[i])
            body = self.data[first : int(self.bounds[i + 1])]
            for start, stop in unknown_tags(spec, version, body.tobytes()):
                body[start:stop] = _BLANK
        if others:
            rows = good.tolist()
            self._replace(good, [self._without(row, spec, version, others) for row in rows])

    def _without(
        self, at: int, spec: MessageSpec, version: int, secret: Sequence[FieldSpec]
    ) -> bytes:
        """The value of a record whose secrets are no texts, with defaults in place of them."""
        value = self.data[self.bounds[at] : self.bounds[at + 1]].tobytes()
        head = int(self.heads[at])
        fields = decode_message(spec, version, value, head)
        fields.update((field.column_name, default_value(field)) for field in secret)
        return value[:head] + encode_message(spec, version, fields, leaves_out=True)

    def _span(self, at: I64, column: SpanColumn) -> None:
        values = self.records.frames.value_starts(self.rows[at])
        shift = self.bounds[:-1][at] - values
        self._fill(column.starts + shift, np.maximum(column.counts, 0), _BLANK)

    def _fill(self, starts: I64, counts: AnyArray, byte: int) -> None:
        """Overwrite spans, which are apart from each other."""
        some = np.flatnonzero(counts > 0)
        starts, stops = starts[some], starts[some] + counts[some]
        if len(some) <= _FEW_SPANS:
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                self.data[start:stop] = byte
            return
        edges = np.zeros(len(self.data) + 1, dtype=np.int8)
        edges[starts] += 1
        edges[stops] -= 1
        self.data[np.cumsum(edges[:-1], dtype=np.int8) > 0] = byte


_NO_REASON: Final = "the record can't be decoded"


SCHEMA: Final = pa.schema(
    [
        ("file", pa.int32()),
        ("pos", pa.int64()),
        ("base_offset", pa.int64()),
        ("last_delta", pa.int32()),
        ("epoch", pa.int32()),
        ("attributes", pa.int16()),
        ("max_timestamp", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("api_key", pa.int32()),
        ("version", pa.int32()),
        ("frame_version", pa.int32()),
        ("head", pa.int32()),
        ("value", pa.large_binary()),
        ("changes", pa.int32()),
        ("leader_changes", pa.int32()),
    ]
)
"""``file``: place in replay order; ``pos``: of the batch in it; to ``max_timestamp``: of the batch;
``head``: bytes of the value before the message, `UNREAD` where the value is none but says why it
can't be read; ``changes`` and on: `Merged`."""

NO_RECORDS: Final = pa.Table.from_batches([], SCHEMA)

_OF_BATCH: Final = ("base_offset", "last_delta", "epoch", "attributes", "max_timestamp")
_OF_RECORD: Final = ("offset", "api_key", "version", "frame_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The facts of a file that reduced records come from; picklable."""

    name: str
    size: int
    end_offset: int | None = None
    epoch: int = -1
    is_alone: bool = False
    first_offset: int = -1
    last_offset: int = -1
    last_epoch: int = -1
    last_timestamp_ms: int = -1
    latest_timestamp_ms: int = -1
    n_batches: int = 0
    faults: tuple[Fault, ...] = ()
    """The faults of its batches."""
    unframed: tuple[Fault, ...] = ()
    """Batches of which no record can be read."""
    epochs: tuple[EpochRun, ...] = ()
    """The leader epochs of all its batches."""
    read: ReadUpTo | None = None
    """The last of these, of a segment."""


def reduced_table(
    records: Records, candidates: Bools, redaction: Redaction, file: int | None = None
) -> pa.Table:
    """Reduce a stretch.

    Args:
        records: The stretch.
        candidates: The records to choose from, see `reduce_records`.
        redaction: Whether secrets are overwritten.
        file: Place of the stretch's one file in replay order; None where the stretch has all files.
    """
    return table_of(records, reduce_records(records, candidates), redaction, file)


def whole_table(records: Records, redaction: Redaction, file: int | None = None) -> pa.Table:
    """A table like `reduced_table`'s with every record kept, for finding the faults of each."""
    rows = np.arange(len(records.frames), dtype=np.int64)
    known = records.frames.merged
    if known is None:
        merged = Merged(np.ones(len(rows), np.int32), _leader_changes(records, rows))
    else:
        merged = Merged(known.changes[rows], known.leader_changes[rows])
    return table_of(records, ReducedRows(rows, merged), redaction, file)


def _leader_changes(records: Records, rows: I64) -> I32:
    """int32[n]: 1 for each change of a partition that names a leader."""
    every = np.zeros(len(records.frames), dtype=np.int32)
    key = records.registry.by_name["PartitionChangeRecord"].api_key
    these = rows[records.frames.api_key[rows] == key]
    these, columns = records.decode("PartitionChangeRecord", these, ("leader",))
    every[these] = columns.fixed("leader") != NO_LEADER_CHANGE
    return every[rows]


def table_of(
    records: Records, reduced: ReducedRows, redaction: Redaction, file: int | None
) -> pa.Table:
    """The rows chosen as a table of `SCHEMA`."""
    frames, rows = records.frames, reduced.rows
    values = frames.value_starts(rows)
    sizes = np.maximum(frames.stop[rows] - values, 0)
    data, bounds = gather_ragged(frames.arena, "u1", values, sizes)
    heads = (frames.body[rows] - values).astype(np.int32)
    if not redaction.show_secrets:
        mask = Mask(records, rows, heads, data, bounds)
        mask.overwrite(reduced.checked)
        data, bounds = mask.data, mask.bounds
    batch = frames.batch[rows]
    header = frames.batches.header
    files = frames.batches.file[batch]
    starts = np.array([f.start for f in records.loaded.files] or [0], dtype=np.int64)
    columns: dict[str, Any] = {
        "file": files if file is None else np.full(len(rows), file, dtype=np.int32),
        "pos": frames.batches.pos[batch] - starts[files],
        **{name: _native(header[name][batch]) for name in _OF_BATCH},
        **{name: getattr(frames, name)[rows] for name in _OF_RECORD},
        "timestamp": frames.timestamps(rows),
        "head": heads,
        "changes": reduced.merged.changes,
        "leader_changes": reduced.merged.leader_changes,
    }
    arrays = {name: number_array(column) for name, column in columns.items()}
    arrays["value"] = pa.Array.from_buffers(
        pa.large_binary(),
        len(rows),
        [None, pa.py_buffer(bounds), pa.py_buffer(np.ascontiguousarray(data))],
    )
    return pa.table([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def plain_values(column: pa.ChunkedArray) -> AnyArray:
    """The numbers of a column without nulls; to_numpy would import pandas first."""
    kind = column.type.to_pandas_dtype()
    chunks = [
        np.frombuffer(chunk.buffers()[1], dtype=kind)[chunk.offset : chunk.offset + len(chunk)]
        for chunk in column.chunks
        if len(chunk)
    ]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0, dtype=kind), *chunks])


def _native(values: AnyArray) -> AnyArray:
    return values.astype(values.dtype.newbyteorder("="))


# Parts of a reduced log.


def buckets_of(records: Records, table_rows: I64, shards: TopicShards) -> I64:
    """Which part of a cluster each record belongs to, so that the parts can be folded apart.

    Part 0 has all but the partitions; topics are in their own part and in part 0 as well.

    Returns:
        int64[n]: 1 and on by topic id, 0 for all else, `EVERYWHERE` for what each needs.
    """
    keys = records.frames.api_key[table_rows]
    by_name = records.registry.by_name
    out = np.zeros(len(table_rows), dtype=np.int64)
    everywhere = is_marker(keys) | (keys == by_name[CLEAR_ELR].api_key)
    everywhere |= keys == _SNAPSHOT_HEADER
    out[everywhere] = EVERYWHERE
    for rows, ids in topic_ids_of(records, table_rows):
        out[np.searchsorted(table_rows, rows)] = shards.parts_of(ids)
    return out


def topic_ids_of(records: Records, rows: I64) -> Iterator[tuple[I64, AnyArray]]:
    """Choose the rows about a topic or its partitions, with the topic's id.

    Yields:
        (int64[n]: rows, uint64[n, 2]: the halves of ids).
    """
    keys = records.frames.api_key[rows]
    for name in TOPIC_MESSAGES:
        these = rows[keys == records.registry.by_name[name].api_key]
        good, columns = records.decode(name, these, ("topic_id",))
        yield good, np.ascontiguousarray(columns.fixed("topic_id")).view("<u8").reshape(-1, 2)


EVERYWHERE: Final = -1
_SNAPSHOT_HEADER: Final = control_key(ControlType.SNAPSHOT_HEADER)
TOPIC_MESSAGES: Final = (
    "TopicRecord",
    "RemoveTopicRecord",
    "PartitionRecord",
    "PartitionChangeRecord",
)


# Back to records.


def records_of(
    tables: Iterable[pa.Table], files: Sequence[FileFacts], registry: Registry
) -> Records:
    """Records made of reduced stretches, in replay order.

    Args:
        tables: Tables of `SCHEMA`, those of a later stretch behind those of an earlier one.
        files: The files' facts, by the numbers in the column ``file``.
        registry: Message definitions.
    """
    table = pa.concat_tables(list(tables) or [NO_RECORDS]).combine_chunks()
    arena, stops = _arena(table)
    columns = {name: plain_values(table[name]) for name in SCHEMA.names if name != "value"}
    batches, batch = batches_of(columns)
    starts = np.append(0, stops[:-1])
    frames = StoredFrames.blank(arena, batches, batch)
    spans = {"start": starts, "body": starts + columns["head"], "stop": stops}
    frames.put(slice(None), {**spans, **columns})
    frames.merged = Merged(columns["changes"], columns["leader_changes"])
    frames.times = columns["timestamp"]
    unframed = [fault for facts in files for fault in facts.unframed]
    return Records.of_frames(frames, loaded_of(files), registry, unframed)


class StoredFrames(Frames):
    """Frames whose values alone are kept, with no record around them."""

    __slots__ = ("times",)
    times: I64
    """int64: ms since the epoch."""

    @classmethod
    def _blank_offsets(cls, batches: Batches, batch: I32) -> Deltas:
        return Deltas(len(batch))

    def timestamps(self, rows: AnyArray) -> I64:
        found: I64 = self.times[rows]
        return found

    def value_starts(self, rows: AnyArray) -> I64:
        found: I64 = self.start[rows]
        return found

    def unread(self, rows: AnyArray) -> Bools:
        found: Bools = self.body[rows] - self.start[rows] == UNREAD
        return found


def _arena(table: pa.Table) -> tuple[Arena, I64]:
    """The values, one behind the other, and where each ends."""
    column = table["value"]
    if not len(column):
        return Arena.from_bytes(b""), np.empty(0, dtype=np.int64)
    values = column.chunk(0)
    bounds = np.frombuffer(values.buffers()[1], dtype=np.int64)
    bounds = bounds[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    first, size = int(bounds[0]), int(bounds[-1] - bounds[0])
    buffer = np.zeros(size + SLACK, dtype=np.uint8)
    if size:
        buffer[:size] = np.frombuffer(data, dtype=np.uint8)[first : first + size]
    return Arena(buffer, size), bounds[1:] - first


def batches_of(columns: Mapping[str, AnyArray]) -> tuple[Batches, I32]:
    """Batches of the records kept: those of others are not there.

    Args:
        columns: ``file`` and ``pos`` of each record, and of its batch what `SCHEMA` names.
    """
    file, pos = columns["file"], columns["pos"]
    begins = np.ones(len(pos), dtype=np.bool_)
    begins[1:] = (file[1:] != file[:-1]) | (pos[1:] != pos[:-1])
    first = np.flatnonzero(begins)
    header = np.zeros(len(first), dtype=HEADER)
    for name in _OF_BATCH:
        header[name] = columns[name][first]
    header["magic"] = 2
    header["count"] = np.diff(np.append(first, len(pos)))
    first_row = np.append(first, len(pos)).astype(np.int64)
    batch = (np.cumsum(begins) - 1).astype(np.int32)
    return Batches(pos[first], file[first].astype(np.int32), header, first_row), batch


def loaded_of(files: Sequence[FileFacts]) -> Loaded:
    """Files as facts about them: no byte of theirs is there."""
    found = []
    for facts in files:
        chain = Chain(
            array("q"),
            list(facts.faults),
            facts.first_offset,
            facts.last_offset,
            facts.last_epoch,
            facts.last_timestamp_ms,
            n_elsewhere=facts.n_batches,
            latest_timestamp_ms=facts.latest_timestamp_ms,
        )
        found.append(
            LogFile(
                facts.name,
                0,
                facts.size,
                chain,
                facts.end_offset,
                facts.epoch,
                facts.is_alone,
                facts.epochs,
                facts.read,
            )
        )
    return Loaded(b"", 0, found)
