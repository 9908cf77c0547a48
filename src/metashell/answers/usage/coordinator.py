"""How much of what is in the log of a coordinator's partition, and what compaction can drop of it.

A record's bytes are those of its key and its value. A record is *superseded* where a later one of
its key counts, or where its transaction was aborted: compaction drops it sooner or later. Keys are
compared as bytes, as Kafka does.

Source: org.apache.kafka.storage.internals.log.Cleaner, CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import pyarrow.compute as pc

from metashell.answers.usage.usage import Usage, usage_of_file
from metashell.image.coordinators.commits import COMMITS, NO_PRODUCER, commit_outcomes
from metashell.image.fold import group_keys
from metashell.image.keyed import join_spans
from metashell.log.control import CONTROL_NAMES
from metashell.log.frames import NO_NUMBER, keyed_control
from metashell.log.layout import TRANSACTIONAL
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64, Bools
from metashell.schema.arrow import binary_array
from metashell.schema.columns import SpanColumn

_NOTHING: Final = -1
"""Key of the records that are about no group, transaction or topic."""
_MARKS: Final = ("tombstones", "superseded_records", "superseded_bytes")


class CoordinatorUsage(Usage):
    """The usage of the records of a partition.

    Args:
        records: All of its records.
        wanted: The groupings. A coordinator's log also has ``group``, ``transaction`` and
            ``topic``.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(
        self, records: KeyedRecords, wanted: Collection[str], n_batches: int | None = 0
    ) -> None:
        super().__init__(wanted, n_batches)
        self._records = records
        self._names: dict[str, SpanColumn] = {}
        frames = records.frames
        sizes = np.maximum(frames.key_size, 0) + np.maximum(frames.value_size, 0)
        in_transaction = (frames.batches.header["attributes"] & TRANSACTIONAL) != 0
        self._transactional: Bools = in_transaction[frames.batch] & ~frames.is_control
        superseded = superseded_records(records, self._transactional)
        tombstones = (frames.key_size >= 0) & (frames.value_size < 0)
        marks = tombstones, superseded, np.where(superseded, sizes, 0)
        self._marked = [int(mark.sum(dtype=np.int64)) for mark in marks]
        self._add_records(frames, sizes, *marks)
        for by in self.tallies.keys() - {"type", "hour"}:
            self._add(by, self._numbers(by), sizes, *marks)
        self._count_files()
        self._keep_largest(frames, records.loaded)

    def marks(self, by: str) -> tuple[str, ...]:
        del by
        return _MARKS

    @property
    def totals(self) -> dict[str, int]:
        return {
            **dict(zip(_MARKS, self._marked, strict=True)),
            # Without the markers that end transactions.
            "transactional_records": int(self._transactional.sum()),
            "control_records": int(self._records.frames.is_control.sum()),
        }

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
        """The key of each record in a tally of names."""
        numbers = np.full(len(self._records.frames), _NOTHING, dtype=np.int64)
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
        return rows, join_spans(*(columns.span("topic") for _, columns in found))

    def type_name(self, key: int) -> str:
        """Name of a type of records, by what their keys begin with."""
        control = keyed_control(0) - key
        if abs(control) < 1 << 15:
            return CONTROL_NAMES.get(control, f"CONTROL({control})")
        return "(no type)" if key == NO_NUMBER else self._records.types.type_name(key)

    def _named(self, by: str, key: int) -> tuple[str, Mapping[str, object]]:
        if by not in self._names:
            return super()._named(by, key)
        if key == _NOTHING:
            return f"(no {by})", {by: None}
        name = self._names[by].text(key) or ""
        return name, {by: name}


def superseded_records(records: KeyedRecords, transactional: Bools) -> Bools:
    """Which records a later one of the same key replaces, or an aborted transaction has: bool[n].

    Args:
        records: All records of a log.
        transactional: bool[n], those of transactions.
    """
    frames = records.frames
    row = np.arange(len(frames))
    producer = np.where(transactional, frames.producer_ids(row), NO_PRODUCER)
    outcomes = commit_outcomes(row, producer, records.markers)
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
