"""The records of an entry in Parquet, in a file for each group of messages asked for together.

Partitions are sorted by topic, so that those of one topic lie in one or two row groups, which the
statistics name. All else is sorted as it is replayed. A column ``row`` has the place in replay
order, which is what everything else goes by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from mmap import mmap
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metashell.dataclass import dataclass
from metashell.log.crc import crc32c
from metashell.records.records import Records
from metashell.reduced.table import SCHEMA, plain_values
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import number_array
from metashell.schema.columnar import prefix_distance
from metashell.sources.cache.entries import EntryDirectory, unique
from metashell.sources.cache.manifest import GroupFile

PARTITIONS: Final = "partitions"
REST: Final = "rest"
UNCOUNTED: Final = "uncounted"
"""The group of records that are not replayed, but still tell of something else."""
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "topics": ("TopicRecord", "RemoveTopicRecord"),
    PARTITIONS: ("PartitionRecord", "PartitionChangeRecord"),
    "configs": ("ConfigRecord",),
}
"""Messages by group; those in none are in `REST`, what does not count in `UNCOUNTED`."""

TOPIC_ID: Final = "topic_id"
ROW_GROUP_ROWS: Final = 1 << 14

_CHECKED_BYTES: Final = 64 << 20
"""Files up to this size are compared with their CRC when an entry is opened; larger ones only page
by page as they are read."""

_REPEATED: Final = (
    "file",
    "epoch",
    "last_delta",
    "attributes",
    "api_key",
    "version",
    "frame_version",
    "head",
    "changes",
    "leader_changes",
    TOPIC_ID,
)
"""Columns of few values."""

_ASCENDING: Final = ("row", "pos", "base_offset", "offset", "timestamp", "max_timestamp")


_READ: Final = pa.schema([("row", pa.int64()), *SCHEMA, (TOPIC_ID, pa.binary(16))])


# Writing.


def write_groups(
    entry: EntryDirectory, records: Records, table: pa.Table
) -> Iterator[tuple[str, GroupFile]]:
    """Write the records of a table, which are all there are; give each file as it is written.

    Raises:
        OSError: They can't be written.
    """
    keys, left = records.frames.api_key.narrow, records.counted.copy()
    by_name = records.registry.by_name
    for group, names in GROUPS.items():
        of_group = [key for key in (by_name[name].api_key for name in names) if key is not None]
        rows = np.flatnonzero(np.isin(keys, of_group) & left)
        left[rows] = False
        columns: dict[str, pa.Array] = {}
        if group == PARTITIONS:
            ids, known = _topic_ids(records, rows, names)
            rows, columns = _by_topic(rows, ids, known)
        yield group, _write(entry, table, group, rows, columns)
    yield REST, _write(entry, table, REST, np.flatnonzero(left), {})
    yield UNCOUNTED, _write(entry, table, UNCOUNTED, np.flatnonzero(~records.counted), {})


def _topic_ids(records: Records, rows: I64, names: Sequence[str]) -> tuple[AnyArray, AnyArray]:
    """The topic that each record names: (V16[n], whether it can be known)."""
    frames, registry = records.frames, records.registry
    ids = np.zeros(len(rows), dtype="V16")
    known = np.zeros(len(rows), dtype=np.bool_)
    keys, versions = frames.api_key[rows], frames.version[rows]
    for name in names:
        spec = registry.by_name[name]
        for version in np.unique(versions[keys == spec.api_key]).tolist():
            at = np.flatnonzero((keys == spec.api_key) & (versions == version))
            if version not in spec.versions:
                continue
            distance = prefix_distance(spec, version, TOPIC_ID)
            if distance is None:
                decoded, columns = records.decode(name, rows[at], [TOPIC_ID])
                at = at[np.isin(rows[at], decoded)]
                ids[at] = columns.fixed(TOPIC_ID)
            else:
                where = frames.body[rows[at]] + distance
                inside = where + 16 <= frames.stop[rows[at]]
                at = at[inside]
                ids[at] = frames.arena.gather("V16", where[inside])
            known[at] = True
    return ids, known


def _by_topic(rows: I64, ids: AnyArray, known: AnyArray) -> tuple[I64, dict[str, pa.Array]]:
    """Rows sorted by their topics' ids, as bytes, those without one last; and the ids."""
    pairs = np.ascontiguousarray(ids).view(">u8").reshape(-1, 2).astype(np.uint64)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], ~known))
    fixed = pa.Array.from_buffers(
        pa.binary(16),
        len(rows),
        [
            pa.array(known[order]).buffers()[1],
            pa.py_buffer(np.ascontiguousarray(ids[order]).tobytes()),
        ],
    )
    return rows[order], {TOPIC_ID: fixed}


def _write(
    entry: EntryDirectory,
    table: pa.Table,
    group: str,
    rows: I64,
    more: Mapping[str, pa.Array],
) -> GroupFile:
    part = table.take(number_array(rows)).combine_chunks()
    part = part.add_column(0, "row", number_array(rows))
    for name, column in more.items():
        part = part.append_column(name, column)
    if not len(part):
        return GroupFile(file="", size=0, crc=0, rows=0, bounds=(0,))
    ends = _bounds(part["value"].chunk(0))
    ends = ends - ends[0]
    starts = np.append(np.arange(0, len(part), ROW_GROUP_ROWS), len(part))
    names = set(part.column_names)
    name = f"{group}-{unique()}.parquet"
    with entry.create(name) as file:
        pq.write_table(
            part,
            file,
            row_group_size=ROW_GROUP_ROWS,
            compression="zstd",
            use_dictionary=[column for column in _REPEATED if column in names],
            column_encoding=dict.fromkeys(_ASCENDING, "DELTA_BINARY_PACKED"),
            write_statistics=[column for column in ("row", TOPIC_ID) if column in names],
            write_page_index=True,
            write_page_checksum=True,
            store_schema=False,
        )
    path = entry.path / name
    with path.open("rb") as written:
        crc = crc32c(written.read())
    return GroupFile(
        file=name,
        size=path.stat().st_size,
        crc=crc,
        rows=len(part),
        bounds=tuple(ends[starts].tolist()),
    )


# Reading.


class DamagedError(Exception):
    """A file of an entry is not what was written."""


@dataclass
class GroupEntry:
    """A group's file; None where the group has no record."""

    name: str
    about: GroupFile
    data: mmap | None
    """The file; it stays readable when the entry is removed, and nobody writes to it again."""

    @cached_property
    def _file(self) -> pq.ParquetFile:
        try:
            data = pa.BufferReader(pa.py_buffer(self.data))
            file = pq.ParquetFile(data, page_checksum_verification=True)
        except (OSError, pa.ArrowException) as e:
            raise DamagedError(str(e)) from e
        if file.metadata.num_rows != self.about.rows:
            raise DamagedError(f"{self.about.file} has another number of rows")
        return file

    def check(self) -> None:
        """Look whether the file is what was written, as far as that is quickly done.

        Raises:
            DamagedError: It is not what was written.
        """
        if self.data is None:
            return
        if self.about.size <= _CHECKED_BYTES and crc32c(self.data) != self.about.crc:
            raise DamagedError(f"{self.about.file} was changed")
        _ = self._file

    @property
    def n_row_groups(self) -> int:
        """How many row groups it has."""
        return len(self.about.bounds) - 1 if self.about.rows else 0

    @cached_property
    def rows(self) -> I64:
        """int64[n]: the row of each record, as they lie in the file."""
        return self._keys[0]

    @cached_property
    def api_keys(self) -> AnyArray:
        """int32[n]: the api key of each."""
        return self._keys[1]

    @cached_property
    def _keys(self) -> tuple[I64, AnyArray]:
        every = range(self.n_row_groups)
        table = self.read(every, ["row", "api_key"])
        return plain_values(table["row"]), plain_values(table["api_key"])

    def read(self, row_groups: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Read row groups.

        Raises:
            DamagedError: They can't be.
        """
        names = ["row", *SCHEMA.names] if columns is None else list(columns)
        if not len(row_groups):
            return pa.Table.from_batches([], pa.schema([_READ.field(name) for name in names]))
        try:
            many = len(row_groups) > 4
            return self._file.read_row_groups(list(row_groups), names, use_threads=many)
        except (OSError, pa.ArrowException) as e:
            raise DamagedError(str(e)) from e

    def with_topic(self, wanted: bytes) -> list[int]:
        """Row groups that may have records of a topic."""
        metadata = self._file.metadata if self.about.rows else None
        found = []
        for i in range(self.n_row_groups):
            assert metadata is not None
            group = metadata.row_group(i)
            statistics = group.column(group.num_columns - 1).statistics
            if statistics is None or not statistics.has_min_max:
                # Only where all its records name no topic is there nothing to compare.
                if statistics is None or statistics.null_count < group.num_rows:
                    found.append(i)
            elif bytes(statistics.min) <= wanted <= bytes(statistics.max):
                found.append(i)
        return found

    def starts(self) -> I64:
        """int64[row groups + 1]: the first record of each row group, as they lie in the file."""
        starts = np.arange(self.n_row_groups + 1, dtype=np.int64) * ROW_GROUP_ROWS
        return np.minimum(starts, self.about.rows)


def put_values(column: pa.ChunkedArray, target: AnyArray, at: int) -> I64:
    """Copy binary values into an arena one behind the other.

    Args:
        column: The values, none of them null.
        target: uint8, the arena's bytes.
        at: Where the first one goes.

    Returns:
        int64[n]: where each ends.
    """
    ends = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks:
        bounds = _bounds(chunk)
        first, size = int(bounds[0]), int(bounds[-1] - bounds[0])
        if size:
            data = np.frombuffer(chunk.buffers()[2], dtype=np.uint8)
            target[at : at + size] = data[first : first + size]
        ends.append(bounds[1:] - first + at)
        at += size
    return np.concatenate(ends)


def _bounds(values: pa.Array) -> I64:
    """int64[n + 1]: where each binary value lies in its buffer."""
    wide = pa.types.is_large_binary(values.type)
    bounds = np.frombuffer(values.buffers()[1], dtype=np.int64 if wide else np.int32)
    return bounds[values.offset : values.offset + len(values) + 1].astype(np.int64)


def uuid_values(column: pa.ChunkedArray) -> AnyArray:
    """V16[n]: values of sixteen bytes; anything where they are null."""
    found = [np.empty(0, dtype="V16")]
    for chunk in column.chunks:
        whole = np.frombuffer(chunk.buffers()[1], dtype="V16")
        found.append(whole[chunk.offset : chunk.offset + len(chunk)])
    return np.concatenate(found)


def stored_table(groups: Mapping[str, GroupEntry]) -> pa.Table:
    """All records of an entry, in replay order, as they were before they were stored.

    Raises:
        DamagedError: They can't be read.
    """
    schema = pa.schema([_READ.field("row"), *SCHEMA])
    parts = [group.read(range(group.n_row_groups)).cast(schema) for group in groups.values()]
    return pa.concat_tables(parts).sort_by("row").drop_columns(["row"])
