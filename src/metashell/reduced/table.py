"""Reduced logs as Arrow tables, and records made of them again.

A row is a record with what the replay needs to know of its batch and file. Tables of stretches that
follow on each other, in that order, are the log of all of them; folding it gives the image that the
files give. So what is sent between processes, what is kept in a cache and what the shell opens is
one form, and every fold works on it.

Secrets, and bytes that are not understood, are overwritten unless they are asked for: nothing that
is written to a disk or sent anywhere holds one (`metashell.reduced.masking`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.image.partition_replay import NO_LEADER_CHANGE
from metashell.log.chain import Chain
from metashell.log.control import ControlType
from metashell.log.deltas import Deltas
from metashell.log.fault import Fault
from metashell.log.frames import HEADER, Batches, Frames, Merged, control_key
from metashell.log.read import EpochRun, Loaded, LogFile
from metashell.log.truncation import ReadUpTo
from metashell.records.records import Records, is_marker
from metashell.redact import Redaction
from metashell.reduced.masking import UNREAD, Mask
from metashell.reduced.reduce import CLEAR_ELR, ReducedRows, reduce_records
from metashell.reduced.topic_shards import TopicShards
from metashell.schema.arena import I32, I64, SLACK, AnyArray, Arena, Bools, gather_ragged
from metashell.schema.arrow import number_array
from metashell.schema.model import Registry

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
