"""The usage of a log's files, and its rows, for every kind of log.

Unlike the image it counts every record of a file, those of aborted transactions included, and knows
nothing of replay.

Sums by key, for millions of records at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.fault import Fault
from metashell.log.frames import Frames
from metashell.log.read import Loaded, LogFile
from metashell.schema.arena import I64, AnyArray
from metashell.schema.timestamps import iso_time

_SPARSE: Final = 4
"""Keys whose range is this many times their number are sorted, others are counted directly."""


_Ranks: TypeAlias = Callable[[I64], I64]


class Tally:
    """Bytes and records by a whole number, and how many of the records have each of some marks."""

    def __init__(self, n_marks: int = 0) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self._columns: list[I64] = [np.empty(0, dtype=np.int64)] * (2 + n_marks)

    def add(
        self, keys: AnyArray, sizes: AnyArray, *marks: AnyArray, counts: AnyArray | None = None
    ) -> None:
        """Count records, each given by its key, its size and whether it has each of the marks.

        Without marks they have none. Where there are counts, so many records together.
        """
        if not len(keys):
            return
        distinct, groups = _groups(keys)
        n = len(distinct)
        columns = [_sums(groups, sizes, n), _sums(groups, counts, n)]
        columns += [_sums(groups, mark, n) for mark in marks]
        columns += [np.zeros(n, dtype=np.int64)] * (len(self._columns) - len(columns))
        distinct, columns = _given(groups, distinct, columns)
        if len(self._keys):
            merged, groups = _groups(np.concatenate([self._keys, distinct]))
            columns = [
                _sums(groups, np.concatenate(pair), len(merged))
                for pair in zip(self._columns, columns, strict=True)
            ]
            distinct, columns = _given(groups, merged, columns)
        self._keys, self._columns = distinct, columns

    def __len__(self) -> int:
        return len(self._keys)

    def by_bytes(
        self, limit: int | None = None, ranks: _Ranks | None = None
    ) -> list[tuple[int, ...]]:
        """(key, bytes, records, records with each mark), most bytes first.

        Args:
            limit: How many of them; None for all.
            ranks: Called with the keys: how those of equal amounts are ordered.
        """
        return self._rows(np.lexsort((*self._ties(ranks), -self._columns[0]))[:limit])

    def by_records(
        self, limit: int | None = None, ranks: _Ranks | None = None
    ) -> list[tuple[int, ...]]:
        """Rows like those of `by_bytes`, most records first."""
        n_bytes, n_records = self._columns[:2]
        return self._rows(np.lexsort((*self._ties(ranks), -n_bytes, -n_records))[:limit])

    def _ties(self, ranks: _Ranks | None) -> tuple[I64, ...]:
        """Sort keys for equal amounts, in the order of `np.lexsort`."""
        return (self._keys,) if ranks is None else (self._keys, ranks(self._keys))

    def by_key(self) -> list[tuple[int, ...]]:
        """Rows like those of `by_bytes`, by ascending key."""
        return self._rows(np.arange(len(self._keys)))

    def amounts(self, key: int) -> tuple[int, int]:
        """(bytes, records) of one key."""
        at = int(np.searchsorted(self._keys, key))
        if at == len(self._keys) or int(self._keys[at]) != key:
            return 0, 0
        return int(self._columns[0][at]), int(self._columns[1][at])

    def total(self) -> tuple[int, int]:
        """(bytes, records) of all keys."""
        return int(self._columns[0].sum()), int(self._columns[1].sum())

    def _rows(self, order: I64) -> list[tuple[int, ...]]:
        columns = (self._keys, *self._columns)
        return list(zip(*(column[order].tolist() for column in columns), strict=True))


def _groups(keys: AnyArray) -> tuple[I64, I64]:
    """Numbers for the keys: (key of each number, number of each key given).

    Keys close to each other are numbered by their distance from the least, so that some numbers
    may be of no key given.
    """
    low, high = int(keys.min()), int(keys.max())
    if high - low < _SPARSE * len(keys) + 1024:
        return np.arange(low, high + 1), keys.astype(np.int64) - low
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct.astype(np.int64), inverse


def _given(groups: I64, keys: I64, columns: list[I64]) -> tuple[I64, list[I64]]:
    """Keys that some were given of, and their columns."""
    known = np.bincount(groups, minlength=len(keys)) > 0
    return keys[known], [column[known] for column in columns]


def _sums(groups: AnyArray, values: AnyArray | None, n: int) -> I64:
    """The sum of each group's values; without values how many there are."""
    # By way of float64, which is exact below 2**53: more bytes than a node has.
    sums: I64 = np.bincount(groups, weights=values, minlength=n).astype(np.int64)
    return sums


HOUR_MS: Final = 3_600_000


@dataclass(slots=True)
class FileUsage:
    """One file. Offsets, epochs and times are None where nothing tells them."""

    name: str
    is_checkpoint: bool
    size: int
    batches: int
    batch_bytes: int
    """Bytes of whole batches, headers included."""
    records: int
    first_offset: int | None = None
    """None for a checkpoint, whose own numbering from 0 is no log offset."""
    last_offset: int | None = None
    """For a checkpoint, of the last record that its state includes."""
    first_epoch: int | None = None
    last_epoch: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    """For a checkpoint, of the last record that its state includes."""
    faults: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch."""

    bytes: int
    file: str
    pos: int
    offset: int
    records: int


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Records of one kind."""

    name: str
    bytes: int
    records: int
    columns: Mapping[str, object]
    """The key's own columns, by the names of table columns."""
    marks: Mapping[str, int]
    """Amounts of the records that are marked, by the names of `Usage.marks`."""


@dataclass(frozen=True, slots=True)
class Others:
    """Rows that are not shown."""

    rows: int
    bytes: int
    records: int


class Usage(ABC):
    """The usage of a log by now.

    Args:
        wanted: The groupings: ``type``, ``hour``, ``file``, and names in the log's records.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(self, wanted: Collection[str], n_batches: int | None = 0) -> None:
        self.files: list[FileUsage] = []
        """The counted files, in order."""
        self.tallies = {by: Tally(len(self.marks(by))) for by in wanted if by != "file"}
        self.batches: list[Batch] = []
        """The largest, largest first."""
        self.n_bytes = 0
        """Bytes of all records."""
        self._n_batches = n_batches

    @property
    def n_records(self) -> int:
        """Records of all files counted."""
        return sum(file.records for file in self.files)

    @property
    @abstractmethod
    def totals(self) -> dict[str, int]:
        """The marks of all records, by the names of table columns."""

    def marks(self, by: str) -> tuple[str, ...]:
        """The columns that count marked records in this grouping."""
        del by
        return ()

    @abstractmethod
    def type_name(self, key: int) -> str:
        """Name of the record type that a key of the tally of types stands for."""

    # Counting.

    def _add(
        self,
        by: str,
        keys: AnyArray,
        sizes: AnyArray,
        *marks: AnyArray,
        counts: AnyArray | None = None,
    ) -> None:
        """Count records by their keys, if that is asked for; see `Tally.add`."""
        if by in self.tallies:
            self.tallies[by].add(keys, sizes, *marks, counts=counts)

    def _add_records(self, frames: Frames, sizes: I64, *marks: AnyArray) -> None:
        """Count all records of a log by what every log has: type and hour."""
        self.n_bytes += int(sizes.sum(dtype=np.int64))
        self._add("type", frames.api_key.narrow, sizes, *marks)
        if "hour" in self.tallies:
            times = frames.timestamps(np.arange(len(frames)))
            self._add("hour", np.maximum(times // HOUR_MS, -1), sizes, *marks)

    def _keep_largest(self, frames: Frames, loaded: Loaded) -> None:
        """Keep the largest of these batches and of those that were kept."""
        batches, counts = frames.batches, np.diff(frames.batches.first_row)

        def batch(i: int, size: int) -> Batch:
            file = loaded.files[int(batches.file[i])]
            pos, offset = int(batches.pos[i]) - file.start, int(batches.header[i]["base_offset"])
            return Batch(size, file.name, pos, offset, int(counts[i]))

        self._keep(batches.header["length"], batch)

    def _keep(self, lengths: AnyArray, batch: Callable[[int, int], Batch]) -> None:
        """Keep the largest batches; of each is given its length behind the first 12 bytes."""
        if self._n_batches == 0:
            return
        sizes = lengths.astype(np.int64) + 12
        order = np.argsort(-sizes, kind="stable")[: self._n_batches]
        found = [batch(i, int(sizes[i])) for i in order.tolist()]
        merged = sorted([*self.batches, *found], key=lambda batch: -batch.bytes)
        self.batches = merged[: self._n_batches]

    # Rows.

    def rows(self, by: str, limit: int | None = None) -> tuple[list[UsageRow], Others]:
        """Rows of a tally, most bytes first, then by name; and what is left out by the limit."""
        listed = self._listed(by)
        if listed is not None:
            listed.sort(key=lambda row: (-row.bytes, row.name))
            rows = listed[:limit]
            n = (len(listed), sum(r.bytes for r in listed), sum(r.records for r in listed))
        else:
            tally = self.tallies[by]
            rows = self._rows(by, tally.by_bytes(limit, lambda keys: self._ranks(by, keys)))
            n = (len(tally), *tally.total())
        n_bytes, n_records = sum(row.bytes for row in rows), sum(row.records for row in rows)
        return rows, Others(n[0] - len(rows), n[1] - n_bytes, n[2] - n_records)

    def by_records(self, by: str, limit: int | None = None) -> list[UsageRow]:
        """Rows of a tally, most records first; then by name."""
        amounts = self.tallies[by].by_records(limit, lambda keys: self._ranks(by, keys))
        return self._rows(by, amounts)

    def newest_hours(self, limit: int) -> list[UsageRow]:
        """The last hours that records are of, the newest last."""
        return self._rows("hour", self.tallies["hour"].by_key()[-limit:])

    def _rows(self, by: str, amounts: Iterable[tuple[int, ...]]) -> list[UsageRow]:
        names = self.marks(by)
        rows = []
        for key, n_bytes, n_records, *marks in amounts:
            name, columns = self._named(by, key)
            marked = dict(zip(names, marks, strict=True))
            rows.append(UsageRow(name, n_bytes, n_records, columns, marked))
        return rows

    def _listed(self, by: str) -> list[UsageRow] | None:
        """All rows of what has no tally of its own; None of everything else."""
        if by != "file":
            return None
        return [UsageRow(f.name, f.batch_bytes, f.records, {by: f.name}, {}) for f in self.files]

    def _named(self, by: str, key: int) -> tuple[str, Mapping[str, object]]:
        """The meaning of a tally's key: its name, and its columns in a table."""
        name = self.type_name(key) if by == "type" else hour_name(key)
        return name, {by: name}

    def _ranks(self, by: str, keys: I64) -> I64:
        """int64[n]: how keys of a tally with equal amounts are ordered: by name, or by number."""
        return ranks_of([self.type_name(key) for key in keys.tolist()]) if by == "type" else keys


def ranks_of(names: Sequence[str]) -> I64:
    """int64[n]: the place of each name among all, sorted."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def usage_of_file(read: LogFile, header: AnyArray) -> FileUsage:
    """The usage of a file from the headers of its batches.

    Args:
        read: The file.
        header: `metashell.log.frames.HEADER` of each of its batches.
    """
    file = FileUsage(
        read.name,
        read.name.endswith(".checkpoint"),
        read.size,
        len(header),
        int(header["length"].sum(dtype=np.int64)) + 12 * len(header),
        int(np.maximum(header["count"], 0).sum(dtype=np.int64)),
    )
    if len(header) and not file.is_checkpoint:
        file.first_offset, file.last_offset = read.chain.first_offset, read.chain.last_offset
        file.first_epoch, file.last_epoch = (int(header["epoch"][i]) for i in (0, -1))
        file.first_ms = known_time(int(header["base_timestamp"][0]))
        file.last_ms = known_time(int(header["max_timestamp"][-1]))
    return file


def hour_name(hour: int) -> str:
    """The hour that begins so many hours after the epoch, such as ``2026-09-21T14Z``."""
    if hour < 0:
        return "(no time)"
    return iso_time(hour * HOUR_MS).partition(":")[0] + "Z"


def known_time(ms: int) -> int | None:
    """A time, None for -1."""
    return ms if ms >= 0 else None
