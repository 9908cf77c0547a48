"""The records of a log's files in offset order, a window at a time, in bounded memory.

Owns which files and windows are read for a selection, and what is told about damage on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, Generic, TypeVar

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import METADATA, LogKind
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import CheckpointName, SegmentName
from metashell.log.read import WINDOW_BYTES, Loaded, not_read, windows
from metashell.log.truncation import ReadUpTo
from metashell.places.place import FileRef
from metashell.places.vanished import VanishedError
from metashell.records.filter import (
    Selection,
    TopicNames,
    framed_apart,
    in_memory,
    of_batches,
    select_batches,
    select_rows,
)
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.model import Registry

_R = TypeVar("_R")

BLOCK_ROWS: Final = 16_384
"""Records handed on together: few enough that the first are shown at once."""


@dataclass(frozen=True, slots=True)
class LogPath:
    """A file to stream."""

    path: FileRef
    name: str
    base_offset: int | None
    """For a segment, its first offset; None for other files, which stand alone."""
    begin: int = 0
    """Position to begin at: the end of a batch."""
    after: int = -1
    """The last offset before that position."""


@dataclass(frozen=True, slots=True)
class Block(Generic[_R]):
    """Some records of one window that were asked for."""

    records: _R
    rows: I64
    """Ascending."""
    hidden: I64
    """Rows of NoOps that are left out, up to the next block."""


def segment_paths(log: MetadataLog, selection: Selection) -> list[LogPath]:
    """The segments that may hold what is asked for, in offset order."""
    segments = log.listing.segments
    ends: list[int | None] = [*(s.base_offset for s in segments[1:]), None]
    return [
        _log_path(log, segment)
        for segment, end in zip(segments, ends[: len(segments)], strict=True)
        if segment.base_offset <= selection.last_offset
        and (end is None or end > selection.first_offset)
    ]


def checkpoint_paths(log: MetadataLog) -> list[LogPath]:
    """The checkpoints, oldest first."""
    return [_log_path(log, checkpoint) for checkpoint in log.listing.checkpoints]


def _log_path(log: MetadataLog, name: SegmentName | CheckpointName) -> LogPath:
    base = name.base_offset if isinstance(name, SegmentName) else None
    return LogPath(log.path_of(name.name), name.name, base)


class FileStream(ABC, Generic[_R]):
    """Streams the records asked for of any log.

    Args:
        selection: The conditions on records.
        on_fault: Called with what is wrong, and whether it is the end of the last file.
        poll: Called before each piece of a file is looked at; may raise.
    """

    def __init__(
        self,
        selection: Selection,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
    ) -> None:
        self._selection, self._on_fault, self._poll = selection, on_fault, poll
        self.ends: dict[str, ReadUpTo] = {}
        """By file that was streamed: how far."""

    def blocks(self, paths: Sequence[LogPath]) -> Iterator[Block[_R]]:
        """The records of several files, in their order."""
        last_offset = -1
        for i, path in enumerate(paths):
            is_segment = path.base_offset is not None
            after = max(last_offset, path.after) if is_segment else -1
            for block_or_end in self._file(path, after, is_last=i == len(paths) - 1):
                if isinstance(block_or_end, Block):
                    yield block_or_end
                elif is_segment:
                    last_offset = max(last_offset, block_or_end)

    def blocks_of(self, path: LogPath, *, is_last: bool) -> Iterator[Block[_R]]:
        """The records of one file."""
        for block_or_end in self._file(path, -1, is_last=is_last):
            if isinstance(block_or_end, Block):
                yield block_or_end

    def _file(self, path: LogPath, after: int, *, is_last: bool) -> Iterator[Block[_R] | int]:
        """A file's blocks, and behind those of each piece the last offset in it."""
        try:
            for faults, last_offset, blocks in self._pieces(path, after):
                self._poll()
                for fault in faults:
                    self._on_fault(fault, is_last)
                yield from blocks
                yield last_offset
                if last_offset >= self._selection.last_offset:
                    return
        except (VanishedError, SourceError) as e:
            self._on_fault(not_read(path.name, e, path.base_offset), False)

    @abstractmethod
    def _pieces(
        self, path: LogPath, after: int
    ) -> Iterator[tuple[Sequence[Fault], int, Iterator[Block[_R]]]]:
        """The pieces of a file: faults, the last offset, and what is asked for."""

    @staticmethod
    def _blocks(records: _R, rows: I64, hidden: I64) -> Iterator[Block[_R]]:
        """Some records as blocks, of which there is one at least."""
        for first in range(0, max(len(rows), 1), BLOCK_ROWS):
            block = rows[first : first + BLOCK_ROWS]
            following = rows[first + BLOCK_ROWS : first + BLOCK_ROWS + 1]
            cut = np.searchsorted(hidden, following[0]) if len(following) else len(hidden)
            yield Block(records, block, hidden[:cut])
            hidden = hidden[cut:]


class WindowStream(FileStream[_R]):
    """Streams records of files that are read a window at a time; see `FileStream`.

    Args:
        selection: See `FileStream`.
        on_fault: See `FileStream`.
        poll: See `FileStream`.
        window_bytes: How much is looked at together.
    """

    def __init__(
        self,
        selection: Selection,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        super().__init__(selection, on_fault, poll=poll)
        self._window_bytes = window_bytes

    def _pieces(
        self, path: LogPath, after: int
    ) -> Iterator[tuple[Sequence[Fault], int, Iterator[Block[_R]]]]:
        for window in self._windows(path, after):
            chain = window.files[0].chain
            yield chain.faults, chain.last_offset, self._window(window)

    @abstractmethod
    def _windows(self, path: LogPath, after: int) -> Iterator[Loaded]:
        """The windows of a file that may hold what is asked for."""

    def _windows_read(self, path: LogPath, after: int, kind: LogKind) -> Iterator[Loaded]:
        """Windows that are read from a file; it is noted how far they go."""
        read = self.ends.get(path.name) if path.begin else None
        for window in windows(path.path, self._window_bytes, after, path.begin, kind):
            (file,) = window.files
            if file.chain.positions:
                read = self.ends[path.name] = ReadUpTo.of(window, file).before(read)
            yield window

    @abstractmethod
    def _window(self, window: Loaded) -> Iterator[Block[_R]]:
        """The records of a window that are asked for."""


class LogStream(WindowStream[Records]):
    """Streams the records of a metadata log; see `WindowStream`.

    Args:
        registry: Message definitions.
        selection: The records asked for.
        names: Where topics are noted as they come by.
        on_fault: See `FileStream`.
        poll: See `FileStream`.
        hide: Api key of the records that are left out and counted; None for none.
        learns_all: Whether topics are noted of batches, too, that can't hold what is asked for.
        window_bytes: See `WindowStream`.
    """

    def __init__(
        self,
        registry: Registry,
        selection: Selection,
        names: TopicNames,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
        hide: int | None = None,
        learns_all: bool = False,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        super().__init__(selection, on_fault, poll=poll, window_bytes=window_bytes)
        self._registry, self._names = registry, names
        self._hide, self._learns_all = hide, learns_all

    def _windows(self, path: LogPath, after: int) -> Iterator[Loaded]:
        is_first = True
        for window in self._windows_read(path, after, METADATA):
            (file,) = window.files
            first = file.chain.first_offset
            if is_first and 0 <= after < first - 1:
                reason = f"offsets {after + 1} to {first - 1} are missing"
                self._on_fault(Fault(FaultKind.GAP, reason, file.name, 0, after + 1), False)
            is_first = is_first and not file.chain.positions
            yield window

    def _window(self, window: Loaded) -> Iterator[Block[Records]]:
        whole, window = window, select_batches(window, self._selection)
        if self._learns_all and window is not whole:
            for run in framed_apart(whole):
                self._names.learn(Records(run, self._registry))
        if window.files[0].chain.positions:
            for run in framed_apart(window):
                yield from self._run(run)

    def _run(self, window: Loaded) -> Iterator[Block[Records]]:
        records = Records(window, self._registry)
        _ = records.frames
        for fault in list(records.faults):
            self._on_fault(fault, False)
        self._names.learn(records)
        rows = select_rows(records, self._selection, self._names)
        hidden = rows[:0]
        if self._hide is not None:
            is_hidden = records.frames.api_key[rows] == self._hide
            hidden, rows = rows[is_hidden], rows[~is_hidden]
        yield from self._blocks(records, rows, hidden)
        # Who looks at the last block holds it until the next one is there.
        records.let_go()


def records_with_names(
    log: MetadataLog,
    registry: Registry,
    *,
    segments_too: bool,
    on_fault: Callable[[Fault, bool], None] = lambda *_: None,
) -> Iterator[Iterable[Records]]:
    """Where names of topics may be found, file by file: checkpoints first, oldest first.

    Args:
        log: The directory.
        registry: Message definitions.
        segments_too: Whether some records of the segments are not met otherwise.
        on_fault: See `LogStream`; called with a file that can't be read. Where names are only shown
            they are a comfort: without them ids are.
    """
    for checkpoint in log.listing.checkpoints:
        if not checkpoint.is_bootstrap:
            yield _records_of(log, checkpoint, registry, on_fault)
    if segments_too:
        for segment in log.listing.segments:
            yield _records_of(log, segment, registry, on_fault)


def sources_needed(log: MetadataLog, *, segments_too: bool) -> int:
    """How many of `records_with_names` must be read to know every topic that records speak of.

    A topic that no checkpoint knows was made in the segments behind the oldest; only where they
    begin later is another one needed.
    """
    segments = log.listing.segments
    bases = [c.end_offset for c in log.listing.checkpoints if not c.is_bootstrap]
    begin = segments[0].base_offset if segments else 0
    if segments_too:
        return len(bases) + len(segments)
    if begin == 0:
        return 0
    return next((i + 1 for i, end in enumerate(bases) if end >= begin), len(bases))


def _records_of(
    log: MetadataLog,
    file: SegmentName | CheckpointName,
    registry: Registry,
    on_fault: Callable[[Fault, bool], None],
) -> Iterator[Records]:
    path = _log_path(log, file)
    try:
        loaded = _in_memory(log, path.name)
        for window in windows(path.path) if loaded is None else loaded:
            if window.files[0].chain.positions:
                for run in framed_apart(window):
                    yield Records(run, registry)
    except (VanishedError, SourceError) as e:
        on_fault(not_read(path.name, e, path.base_offset), False)


def _in_memory(log: MetadataLog, name: str) -> Iterator[Loaded] | None:
    """Windows of a file that is read already, some without batches; None where there are none."""
    found = in_memory(log.loaded, name)
    if found is None:
        return None
    file, pos = found
    cuts = np.searchsorted(pos, np.arange(file.start, file.start + file.size, WINDOW_BYTES))
    cuts = np.append(cuts, len(pos))
    return (of_batches(log.loaded, file, pos[a:b]) for a, b in pairwise(cuts.tolist()))
