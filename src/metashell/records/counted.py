"""What is counted of a log's files and the rows of it: the same for every kind of log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import field
from functools import partial
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.fault import Fault
from metashell.log.frames import Batches
from metashell.log.read import LogFile
from metashell.records.tally import Tally
from metashell.schema.arena import I64, AnyArray
from metashell.schema.timestamps import iso_time

HOUR_MS: Final = 3_600_000


@dataclass(slots=True)
class FileUsage:
    """One file. Offsets, epochs and times are None where nothing tells them."""

    name: str
    is_checkpoint: bool
    size: int
    batches: int
    batch_bytes: int
    """Of whole batches, headers included."""
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

    key: int
    """Of the tally; of a topic's row 0, or -1 for no topic."""
    name: str
    bytes: int
    records: int
    topic_ids: tuple[str, ...] = ()
    """Of a topic's row: every id that the name had."""
    partition: int | None = None
    superseded: int | None = None
    """Bytes of the records that a later one of their key replaces; None without keys."""


@dataclass(frozen=True, slots=True)
class Others:
    """Rows that are not shown."""

    rows: int
    bytes: int
    records: int


class Counted(ABC):
    """What was counted so far.

    Args:
        wanted: What is grouped by.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(self, wanted: Collection[str], n_batches: int | None = 0) -> None:
        self.files: list[FileUsage] = []
        """Those that were counted, in order."""
        self.tallies = {name: Tally() for name in wanted}
        self.batches: list[Batch] = []
        """The largest, largest first."""
        self.n_bytes = 0
        """Bytes of all records."""
        self.superseded_bytes: int | None = None
        """Bytes of superseded records; None where records have no keys."""
        self._wanted, self._n_batches = frozenset(wanted), n_batches

    @property
    def n_records(self) -> int:
        """Records of all files counted."""
        return sum(file.records for file in self.files)

    @abstractmethod
    def type_name(self, key: int) -> str:
        """Name of the record type that a key of the tally of types stands for."""

    def rows(self, by: str, limit: int | None = None) -> tuple[list[UsageRow], Others]:
        """Rows of a tally, most bytes first, then by name; and what is left out by the limit."""
        listed = self._listed(by)
        if listed is not None:
            left = listed[limit:] if limit else []
            others = Others(len(left), sum(r.bytes for r in left), sum(r.records for r in left))
            return listed[:limit], others
        tally, ranks = self.tallies[by], partial(self._ranks, by)
        rows = [self._row(by, amounts) for amounts in tally.by_bytes(limit, ranks)]
        n_bytes, n_records = tally.total()
        others = Others(
            len(tally) - len(rows),
            n_bytes - sum(row.bytes for row in rows),
            n_records - sum(row.records for row in rows),
        )
        return rows, others

    def by_records(self, by: str, limit: int | None = None) -> list[tuple[int, ...]]:
        """Key, bytes, records and marks of a tally, most records first; then by name."""
        return self.tallies[by].by_records(limit, partial(self._ranks, by))

    def _ranks(self, by: str, keys: I64) -> I64:
        """int64[n]: how keys of a tally with equal amounts are ordered: by name, or by number."""
        return ranks_of([self.type_name(key) for key in keys.tolist()]) if by == "type" else keys

    def _listed(self, by: str) -> list[UsageRow] | None:
        """All rows, most bytes first, of what has no tally of its own; None of everything else."""
        if by != "file":
            return None
        rows = [UsageRow(i, f.name, f.batch_bytes, f.records) for i, f in enumerate(self.files)]
        return sorted(rows, key=lambda row: (-row.bytes, row.name))

    def _row(self, by: str, amounts: tuple[int, ...]) -> UsageRow:
        """The row of a tally's key, bytes, records and marks."""
        key, n_bytes, n_records = amounts[:3]
        return UsageRow(key, self._name(by, key), n_bytes, n_records)

    def _name(self, by: str, key: int) -> str:
        """What a tally's key stands for."""
        return {"type": self.type_name, "hour": hour_name}.get(by, str)(key)

    def _keep_largest(self, batches: Batches, files: Sequence[LogFile]) -> None:
        """Keep the largest of these batches and of those that were kept."""
        if self._n_batches == 0:
            return
        sizes = batches.header["length"].astype(np.int64) + 12
        counts = np.diff(batches.first_row)
        largest = np.argsort(-sizes, kind="stable")[: self._n_batches]
        of = [files[i] for i in batches.file[largest].tolist()]
        found = [
            Batch(
                int(sizes[i]),
                file.name,
                int(batches.pos[i]) - file.start,
                int(batches.header[i]["base_offset"]),
                int(counts[i]),
            )
            for i, file in zip(largest.tolist(), of, strict=True)
        ]
        merged = sorted([*self.batches, *found], key=lambda batch: -batch.bytes)
        self.batches = merged[: self._n_batches]


def ranks_of(names: Sequence[str]) -> I64:
    """int64[n]: the place of each name among all, sorted."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def usage_of_file(read: LogFile, header: AnyArray) -> FileUsage:
    """What the headers of a file's batches tell of it.

    Args:
        read: The file.
        header: `metashell.log.header_fields.HEADER` of each of its batches.
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
