"""The records of a coordinator's log in offset order, a window at a time, in bounded memory.

Owns which windows are read for a selection, and what is told about damage on the way. The same for
metadata logs, which have more to select by, is `metashell.records.stream`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import Chain, batches
from metashell.log.fault import Fault
from metashell.log.partition import PartitionLog
from metashell.log.read import SLACK, Loaded, LogFile, not_read
from metashell.log.truncation import ReadUpTo
from metashell.log.window import WINDOW_BYTES, windows
from metashell.places.vanished import VanishedError
from metashell.records.filter import Selection, rows_by_frames
from metashell.records.keyed_records import KeyedRecords
from metashell.records.stream import LogPath
from metashell.schema.arena import I64, Bools, rows_with
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.coordinators import RecordTypes
from metashell.schema.spans import hash_spans, same_spans

_OF_KEYS: Final = frozenset({"topic", "partition"})
_PARTITIONS: Final = "transaction_partitions"
_BLOCK_ROWS: Final = 16_384
"""Records handed on together: few enough that the first are shown at once."""


def select_keyed_rows(records: KeyedRecords, selection: Selection) -> I64:
    """int64: the rows that are asked for, ascending."""
    rows = rows_by_frames(records.frames, selection)
    if selection.name is not None:
        rows = rows[matching(records.frames.first_names().take(rows), selection.name)]
    if selection.topic is not None or selection.partition is not None:
        rows = _about_partitions(records, selection, rows)
    return rows


def _about_partitions(records: KeyedRecords, selection: Selection, rows: I64) -> I64:
    """Of the rows given those about a topic and a partition."""
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


@dataclass(frozen=True, slots=True)
class KeyedBlock:
    """Some records of one window that were asked for."""

    records: KeyedRecords
    rows: I64
    """Ascending."""


class KeyedStream:
    """Streams the records asked for.

    Args:
        log: The partition.
        types: Definitions of its records.
        selection: What is asked for.
        on_fault: Called with what is wrong, and whether it is the end of the last file.
        poll: Called before each window is looked at; may raise.
        window_bytes: How much is decoded at a time.
    """

    def __init__(
        self,
        log: PartitionLog,
        types: RecordTypes,
        selection: Selection,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._log, self._types, self._selection = log, types, selection
        self._on_fault, self._poll, self._window_bytes = on_fault, poll, window_bytes
        self.ends: dict[str, ReadUpTo] = {}
        """By file: how far it was looked at."""

    def blocks(self) -> Iterator[KeyedBlock]:
        """The records of all files that were read, in their order."""
        files = self._log.loaded.files
        for file in files:
            yield from self.blocks_of(file, is_last=file is files[-1])

    def blocks_of(self, file: LogFile, *, is_last: bool = True) -> Iterator[KeyedBlock]:
        """The records of a file that was read.

        Args:
            file: One of the files of the log.
            is_last: Whether it is the last of those that are looked at.
        """
        loaded, selection = self._log.loaded, self._selection
        for fault in file.chain.faults:
            self._on_fault(fault, is_last)
        view = memoryview(loaded.buffer)
        positions = np.frombuffer(file.chain.positions, dtype=np.int64)
        cuts = _cuts(positions, self._window_bytes)
        end = _end_of(view, file.chain, file.start)
        if file.chain.positions:
            self.ends[file.name] = ReadUpTo.of(loaded, file)
        firsts = [base for _, _, base, _, _ in batches(view, cuts)]
        for i, begin in enumerate(cuts):
            is_end = i + 1 == len(cuts)
            # A message that wraps others is of the last of them: the cut before it is sure.
            if i and firsts[i - 1] >= selection.last_offset:
                return
            if is_end or firsts[i + 1] > selection.first_offset:
                self._poll()
                stop = end if is_end else cuts[i + 1]
                yield from self._selected(_part_of(loaded, file, begin, stop))

    def blocks_behind(self, paths: Iterable[LogPath]) -> Iterator[KeyedBlock]:
        """What has come since, read from files from a position on."""
        kind = self._log.partition.kind
        for path in paths:
            read = self.ends.get(path.name) if path.begin else None
            try:
                for window in windows(path.path, self._window_bytes, path.after, path.begin, kind):
                    self._poll()
                    (file,) = window.files
                    for fault in file.chain.faults:
                        self._on_fault(fault, True)
                    if file.chain.positions:
                        read = self.ends[path.name] = ReadUpTo.of(window, file).before(read)
                    yield from self._selected(window)
            except (VanishedError, SourceError) as e:
                self._on_fault(not_read(path.name, e), False)

    def _selected(self, window: Loaded) -> Iterator[KeyedBlock]:
        records = KeyedRecords(window, self._types)
        for fault in records.unframed:
            self._on_fault(fault, False)
        rows = select_keyed_rows(records, self._selection)
        for first in range(0, len(rows), _BLOCK_ROWS):
            yield KeyedBlock(records, rows[first : first + _BLOCK_ROWS])


def _cuts(positions: I64, window_bytes: int) -> list[int]:
    """Positions of batches at which windows begin."""
    cuts: list[int] = []
    at = 0
    while at < len(positions):
        cuts.append(int(positions[at]))
        at = max(int(np.searchsorted(positions, cuts[-1] + window_bytes)), at + 1)
    return cuts


def _end_of(view: memoryview, chain: Chain, start: int) -> int:
    """Where the last sound batch ends."""
    for _, end, *_ in batches(view, chain.positions[-1:]):
        return end
    return start


def _part_of(loaded: Loaded, file: LogFile, begin: int, stop: int) -> Loaded:
    """The batches of a file between two positions in the buffer, where they are."""
    positions = np.frombuffer(file.chain.positions, dtype=np.int64)
    first, last = np.searchsorted(positions, [begin, stop])
    chain = Chain(array("q", (positions[first:last] - begin).tobytes()))
    view = memoryview(loaded.buffer)[begin : stop + SLACK]
    return Loaded(view, stop - begin, [LogFile(file.name, file.start - begin, file.size, chain)])
