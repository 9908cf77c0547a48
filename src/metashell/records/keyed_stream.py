"""The records of a coordinator's log in offset order, a window at a time, in bounded memory.

Owns which records are asked for, and which windows of what is in memory may hold them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from metashell.log.chain import Chain, batches
from metashell.log.fault import Fault
from metashell.log.partition import PartitionLog
from metashell.log.read import SLACK, WINDOW_BYTES, Loaded, LogFile
from metashell.log.truncation import ReadUpTo
from metashell.records.filter import Selection, rows_by_frames
from metashell.records.keyed_records import KeyedRecords
from metashell.records.stream import Block, LogPath, WindowStream
from metashell.schema.arena import I64, Bools, rows_with
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.coordinators import RecordTypes
from metashell.schema.spans import hash_spans, same_spans

_OF_KEYS: Final = frozenset({"topic", "partition"})
_PARTITIONS: Final = "transaction_partitions"


def select_keyed_rows(records: KeyedRecords, selection: Selection) -> I64:
    """int64: the rows that are asked for, ascending."""
    rows = rows_by_frames(records.frames, selection)
    if selection.name is not None:
        rows = rows[matching(records.frames.first_names().take(rows), selection.name)]
    if selection.topic is not None or selection.partition is not None:
        rows = _about_partitions(records, selection, rows)
    return rows


def _about_partitions(records: KeyedRecords, selection: Selection, rows: I64) -> I64:
    """The given rows that are about a topic and a partition."""
    numbers = records.frames.api_key[rows]
    found = [rows[:0]]
    for record_type in records.types.by_number.values():
        fields = {field.column_name for field in record_type.key.fields}
        values = {field.column_name for field in record_type.value.fields}
        these = rows[numbers == record_type.number]
        if not these.size:
            continue
        if "partition" in fields and (selection.topic is None or "topic" in fields):
            columns = records.decode(record_type.name, these, fields & _OF_KEYS, ())
            kept = np.ones(len(columns), dtype=np.bool_)
            if selection.topic is not None:
                kept &= matching(columns.key.span("topic"), selection.topic)
            if selection.partition is not None:
                kept &= columns.key.fixed("partition") == selection.partition
            found.append(columns.rows[kept])
        elif _PARTITIONS in values:
            columns = records.decode(record_type.name, these, (), (_PARTITIONS,))
            topics = columns.value.structs(_PARTITIONS)
            found.append(
                columns.rows[rows_with(_items(selection, topics.items), topics.list_offsets)]
            )
    rows = np.concatenate(found)
    rows.sort()
    return rows


def _items(selection: Selection, items: Columns) -> Bools:
    """Which topics of transactions are meant, with their partitions."""
    kept = np.ones(items.n, dtype=np.bool_)
    if selection.topic is not None:
        kept &= matching(items.span("topic"), selection.topic)
    if selection.partition is not None:
        numbers, list_offsets = items.span("partition_ids").gather()
        kept &= rows_with(numbers == selection.partition, list_offsets)
    return kept


def matching(names: SpanColumn, match: Callable[[str], bool]) -> Bools:
    """Which names match; each distinct one is looked at once: bool[n], False for null."""
    hashes = hash_spans(names.arena, names.starts, names.counts)
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    firsts = names.starts[first][place]
    if (names.counts[first][place] != names.counts).any() or not same_spans(
        names.arena, names.starts, firsts, names.counts
    ):
        # Two names of one hash: somebody wanted that.
        first = place = np.arange(len(hashes))
    texts = names.take(first).strings()
    matches = np.array([text is not None and match(text) for text in texts], dtype=np.bool_)
    found: Bools = matches[place]
    return found


class KeyedStream(WindowStream[KeyedRecords]):
    """Streams the records of a coordinator's log; see `WindowStream`.

    Args:
        log: The partition.
        types: Definitions of its records.
        selection: See `FileStream`.
        on_fault: See `FileStream`.
        poll: See `FileStream`.
        reads_anew: Whether files are read again; else those that were read lie in memory.
        window_bytes: See `WindowStream`.
    """

    def __init__(
        self,
        log: PartitionLog,
        types: RecordTypes,
        selection: Selection,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
        reads_anew: bool = False,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        super().__init__(selection, on_fault, poll=poll, window_bytes=window_bytes)
        self._log, self._types = log, types
        self._in_memory = {} if reads_anew else {file.name: file for file in log.loaded.files}

    def _windows(self, path: LogPath, after: int) -> Iterator[Loaded]:
        file = self._in_memory.get(path.name)
        if file is None:
            return self._windows_read(path, after, self._log.partition.kind)
        return self._windows_in_memory(file)

    def _windows_in_memory(self, file: LogFile) -> Iterator[Loaded]:
        loaded, selection = self._log.loaded, self._selection
        if not file.chain.positions:
            yield Loaded(loaded.buffer, 0, [file])
            return
        view, faults = memoryview(loaded.buffer), file.chain.faults
        self.ends[file.name] = ReadUpTo.of(loaded, file)
        cuts = _cuts(np.frombuffer(file.chain.positions, dtype=np.int64), self._window_bytes)
        firsts = [base for _, _, base, _, _ in batches(view, cuts)]
        ((_, end, *_),) = batches(view, file.chain.positions[-1:])
        for i, begin in enumerate(cuts):
            is_end = i + 1 == len(cuts)
            # A message that wraps others is of the last of them: the cut before it is sure.
            if i and firsts[i - 1] >= selection.last_offset:
                return
            if is_end or firsts[i + 1] > selection.first_offset:
                yield _part_of(loaded, file, begin, end if is_end else cuts[i + 1], faults)
                faults = []

    def _window(self, window: Loaded) -> Iterator[Block[KeyedRecords]]:
        if window.files[0].chain.positions:
            records = KeyedRecords(window, self._types)
            for fault in records.unframed:
                self._on_fault(fault, False)
            rows = select_keyed_rows(records, self._selection)
            yield from self._blocks(records, rows, rows[:0])


def _cuts(positions: I64, window_bytes: int) -> list[int]:
    """Positions of batches at which windows begin."""
    cuts: list[int] = []
    at = 0
    while at < len(positions):
        cuts.append(int(positions[at]))
        at = max(int(np.searchsorted(positions, cuts[-1] + window_bytes)), at + 1)
    return cuts


def _part_of(loaded: Loaded, file: LogFile, begin: int, stop: int, faults: list[Fault]) -> Loaded:
    """The batches of a file between two positions in the buffer, where they are."""
    positions = np.frombuffer(file.chain.positions, dtype=np.int64)
    first, last = np.searchsorted(positions, [begin, stop])
    chain = Chain(array("q", (positions[first:last] - begin).tobytes()), faults)
    view = memoryview(loaded.buffer)[begin : stop + SLACK]
    return Loaded(view, stop - begin, [LogFile(file.name, file.start - begin, file.size, chain)])
