"""How much of what is in the log of a coordinator's partition, and what compaction can drop of it.

A record's bytes are those of its key and its value. A record is *superseded* where a later one of
its key counts, or where its transaction was aborted: compaction drops it sooner or later. Keys are
compared as bytes, as Kafka does.

Source: org.apache.kafka.storage.internals.log.Cleaner, CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow.compute as pc

from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.offsets import NO_PRODUCER, TransactionEnds, commit_outcomes
from metashell.image.fold import group_keys
from metashell.log.control import CONTROL_NAMES
from metashell.log.frames import NO_NUMBER, Batches, keyed_control
from metashell.log.layout import TRANSACTIONAL
from metashell.records.counted import HOUR_MS, Counted, UsageRow, usage_of_file
from metashell.records.keyed_records import KeyedRecords
from metashell.records.tally import Tally
from metashell.schema.arena import I64, Bools
from metashell.schema.arrow import binary_array
from metashell.schema.columns import SpanColumn

NOTHING: Final = -1
"""Key of the records that are about no group, transaction or topic."""


class KeyedUsage(Counted):
    """What the records of a partition come to.

    Args:
        records: All of its records.
        wanted: What is grouped by: ``type``, ``hour``, ``file``, ``group``, ``transaction``,
            ``topic``. Each tally has three marks: tombstones, superseded records and their bytes.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(
        self, records: KeyedRecords, wanted: Collection[str], n_batches: int | None = 0
    ) -> None:
        super().__init__(wanted, n_batches)
        self.tallies = {name: Tally(n_marks=3) for name in wanted}
        self._records = records
        self._names: dict[str, SpanColumn] = {}
        frames = records.frames
        sizes = np.maximum(frames.key_size, 0) + np.maximum(frames.value_size, 0)
        self.n_bytes = int(sizes.sum(dtype=np.int64))
        transactional = _is_transactional(records)
        superseded = superseded_records(records, transactional)
        tombstones = (frames.key_size >= 0) & (frames.value_size < 0)
        self.n_tombstones = int(tombstones.sum())
        self.n_transactional = int(transactional.sum())
        """Without the markers that end transactions."""
        self.n_control = int(frames.is_control.sum())
        self.n_superseded = int(superseded.sum())
        self.superseded_bytes = int(sizes[superseded].sum(dtype=np.int64))
        for by, tally in self.tallies.items():
            if by != "file":
                marks = tombstones, superseded, np.where(superseded, sizes, 0)
                tally.add(self._numbers(by), sizes, *marks)
        self._count_files()
        self._keep_largest(frames.batches, records.loaded.files)

    def _count_files(self) -> None:
        records, batches = self._records, self._records.frames.batches
        for i, read in enumerate(records.loaded.files):
            first, last = np.searchsorted(batches.file, [i, i + 1]).tolist()
            file = usage_of_file(read, batches.header[first:last])
            file.records = int(batches.first_row[last] - batches.first_row[first])
            unframed = [fault for fault in records.unframed if fault.file == read.name]
            file.faults = [*read.chain.faults, *unframed]
            self.files.append(file)

    def _numbers(self, by: str) -> I64:
        """The key of each record in a tally."""
        frames = self._records.frames
        if by == "type":
            return frames.api_key.narrow.astype(np.int64)
        if by == "hour":
            return np.maximum(frames.timestamps(np.arange(len(frames))) // HOUR_MS, -1)
        numbers = np.full(len(frames), NOTHING, dtype=np.int64)
        rows, names = self._topics() if by == "topic" else self._ids()
        found = group_keys([names], len(rows))
        some = np.empty(int(found.max(initial=-1)) + 1, dtype=np.int64)
        some[found] = np.arange(len(found))
        # Numbers ascend by name: which have equal amounts then do.
        order = pc.sort_indices(binary_array(names.take(some))).to_numpy()
        ranks = np.empty_like(some)
        ranks[order] = np.arange(len(order))
        numbers[rows] = ranks[found]
        self._names[by] = names.take(some[order])
        return numbers

    def _ids(self) -> tuple[I64, SpanColumn]:
        """Records about a group or a transaction, and its id."""
        names = self._records.frames.first_names()
        rows = np.flatnonzero(names.counts >= 0)
        return rows, names.take(rows)

    def _topics(self) -> tuple[I64, SpanColumn]:
        """Commits of offsets, and their topics."""
        records = self._records
        types = [records.types.by_name[name] for name in COMMITS if name in records.types.by_name]
        found = [(rows := records.sound_rows(t.name), records.keys_of(t, rows)) for t in types]
        rows = np.concatenate([rows for rows, _ in found])
        spans = [columns.span("topic") for _, columns in found]
        starts, counts = (
            np.concatenate([getattr(span, name) for span in spans]) for name in ("starts", "counts")
        )
        return rows, SpanColumn(records.frames.arena, "u1", starts, counts)

    def type_name(self, key: int) -> str:
        """Name of a type of records, by what their keys begin with."""
        control = keyed_control(0) - key
        if abs(control) < 1 << 15:
            return CONTROL_NAMES.get(control, f"CONTROL({control})")
        return "(no type)" if key == NO_NUMBER else self._records.types.type_name(key)

    def _name(self, by: str, key: int) -> str:
        if by not in self._names:
            return super()._name(by, key)
        return f"(no {by})" if key == NOTHING else self._names[by].text(key) or ""

    def _row(self, by: str, amounts: tuple[int, ...]) -> UsageRow:
        key, n_bytes, n_records, _, _, superseded = amounts
        return UsageRow(key, self._name(by, key), n_bytes, n_records, superseded=superseded)

    def named(self, by: str, limit: int) -> list[tuple[str, tuple[int, ...]]]:
        """Names and amounts of a tally, most records first."""
        return [
            (self._name(by, key), tuple(amounts)) for key, *amounts in self.by_records(by, limit)
        ]


def _is_transactional(records: KeyedRecords) -> Bools:
    """Records of transactions, without markers: bool[n]."""
    frames = records.frames
    batches: Batches = frames.batches
    marked = (batches.header["attributes"] & TRANSACTIONAL) != 0
    found: Bools = marked[frames.batch] & ~frames.is_control
    return found


def superseded_records(records: KeyedRecords, transactional: Bools) -> Bools:
    """Which records a later one of the same key replaces, or an aborted transaction has: bool[n].

    Args:
        records: All records of a log.
        transactional: bool[n], those of transactions.
    """
    frames, markers = records.frames, records.markers
    row = np.arange(len(frames))
    producer = np.where(transactional, frames.producer_ids(row), NO_PRODUCER)
    ends = TransactionEnds(markers.rows, markers.producer_id, markers.is_commit)
    outcomes = commit_outcomes(row, producer, ends)
    aborted = ~outcomes.applies & ~outcomes.is_pending
    keyed = np.flatnonzero((frames.key_size >= 0) & ~frames.is_control)
    keys = SpanColumn(frames.arena, "u1", frames.key[keyed], frames.key_size[keyed])
    number = group_keys([keys], len(keyed))
    newest = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    counts = outcomes.applies[keyed]
    newest[number[counts]] = keyed[counts]
    superseded = aborted
    superseded[keyed] |= newest[number] > keyed
    return superseded
