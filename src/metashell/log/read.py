"""Bytes of files into one buffer, read-only and without a lock.

Files are read, not mapped: a running node may truncate a segment, and touching a mapped page that
is gone kills the process. The buffer is anonymous memory with zeroed slack behind the last byte,
which decoders rely on (`metashell.schema.arena`).

A file's batches a window at a time, for what streams a log of any size in bounded memory.

A window ends where the last batch that fits in it does, so a batch is never cut. Batches and faults
are those of the file read in one: a batch larger than a window makes the
window grow, and so does damage behind which no sound batch is found.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import METADATA, Carry, Chain, Chainer, LogKind
from metashell.log.extent import extent, rest_of
from metashell.log.fault import Fault, FaultKind
from metashell.log.layout import HEADER_BYTES, MAGIC_POS, MAX_TIMESTAMP, MAX_TIMESTAMP_POS
from metashell.log.names import SegmentName, parse_name
from metashell.places.place import FileRef, MemoryFile, name_of, open_regular, unreadable
from metashell.places.remote import OnStore, RemoteFile, fill, opened_together
from metashell.places.vanished import VanishedError

if TYPE_CHECKING:
    from metashell.log.truncation import ReadUpTo
    from metashell.schema.arena import AnyArray

SLACK: Final = 1024
"""Zero bytes behind the last; the same number as the arena's."""

_READ_STEP: Final = 1 << 20
"""Bytes that are asked for at a time, where not all of a file may be wanted."""
_PIECE: Final = 8 << 20
"""Bytes of a whole file read in one go: some milliseconds. Between two pieces a thread that imports
modules may have Python's lock, and this one waits for it."""

_HUGE: Final = 4 << 20
"""Size from which huge pages are asked for."""

EpochRun: TypeAlias = tuple[int, int, int]
"""Batches that follow on each other in one leader epoch: the epoch, the first offset, and the one
behind the last."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while files are read."""


@dataclass(slots=True)
class LogFile:
    """A file in the buffer, its batches found and proved."""

    name: str
    start: int
    """Where it begins in the buffer; for a window of it before that."""
    size: int
    chain: Chain
    end_offset: int | None = None
    """For a checkpoint that stands for a state: the first offset that it does not hold."""
    epoch: int = -1
    """For such a checkpoint, the epoch in its name."""
    is_alone: bool = False
    """Whether it is a checkpoint opened by itself; an image then stands where its batches say."""
    epochs: Sequence[EpochRun] | None = None
    """The epochs of its batches, where these are not here; None where they are."""
    read: ReadUpTo | None = None
    """Its last batches, where these are not here; None where they are, or where it has none."""

    @property
    def is_checkpoint(self) -> bool:
        """Whether its records stand for the state at `end_offset` instead of for themselves."""
        return self.end_offset is not None


@dataclass(slots=True)
class Loaded:
    """Files read into one buffer, in the order in which they are replayed."""

    buffer: mmap.mmap | bytes | memoryview
    size: int
    files: list[LogFile]

    @property
    def faults(self) -> list[Fault]:
        """The faults of their batches, in order."""
        return [fault for file in self.files for fault in file.chain.faults]

    def latest_timestamp_ms(self, file: LogFile) -> int:
        """The latest maxTimestamp of a file's batches, ms since the epoch; -1 without one."""
        import numpy as np

        if not file.chain.positions:
            return file.chain.latest_timestamp_ms
        begin = np.frombuffer(file.chain.positions, dtype=np.int64)
        # Messages from before there were batches have it elsewhere, or nowhere.
        begin = begin[np.frombuffer(self.buffer, dtype=np.uint8)[begin + MAGIC_POS] >= 2]
        if not begin.size:
            return file.chain.last_timestamp_ms
        times: AnyArray = np.ndarray(
            shape=(self.size - MAX_TIMESTAMP.size + 1,),
            dtype=">i8",
            buffer=self.buffer,
            strides=(1,),
        )
        return int(times[begin + MAX_TIMESTAMP_POS].max())


def not_read(name: str, error: SourceError | VanishedError, offset: int | None = None) -> Fault:
    """The fault that stands for what is not read of a file.

    Args:
        name: The file's.
        error: Why.
        offset: The first offset that it may hold, where its name says.
    """
    if isinstance(error, VanishedError):
        reason = "it is gone: it was there when the directory was listed"
    else:
        _, separator, behind = error.message.partition(f"{name}: ")
        reason = f"it can't be read: {behind if separator else error.message}"
    return Fault(FaultKind.UNREADABLE, reason, name, None, offset)


class OpenFile(Protocol):
    """A file that is open for reading."""

    @property
    def size(self) -> int:
        """Bytes that are looked at: its size when it was opened, see `metashell.log.extent`."""

    @property
    def step(self) -> int:
        """How many to ask for at a time, where many are wanted."""

    def read_into(self, target: memoryview, pos: int) -> int:
        """Fill `target` from a position on; fewer bytes only where the file ends.

        Raises:
            SourceError: It can't be read.
        """


@dataclass(frozen=True, slots=True)
class _OnDisk:
    path: str
    fd: int
    size: int
    whole: int
    step: int = _READ_STEP

    def read_into(self, target: memoryview, pos: int) -> int:
        at = 0
        while at < len(target):
            try:
                n = os.preadv(self.fd, [target[at:]], pos + at)
            except OSError as e:
                raise unreadable(self.path, e) from e
            if n == 0:
                break
            at += n
        return at


@dataclass(frozen=True, slots=True)
class _InMemory:
    content: memoryview
    step: int = _READ_STEP

    @property
    def size(self) -> int:
        return len(self.content)

    def read_into(self, target: memoryview, pos: int) -> int:
        piece = self.content[pos : pos + len(target)]
        target[: len(piece)] = piece
        return len(piece)


@contextmanager
def opened(file: FileRef) -> Iterator[OpenFile]:
    """Open a file for reading; errors as `open_regular`."""
    if isinstance(file, MemoryFile):
        yield _InMemory(file.content)
        return
    if isinstance(file, RemoteFile):
        with file.opened() as remote:
            yield remote
        return
    fd, whole = open_regular(file)
    try:
        try:
            size = extent(fd, whole)
        except OSError as e:
            raise unreadable(file, e) from e
        yield _OnDisk(file, fd, size, whole)
    finally:
        os.close(fd)


def load(
    files: Sequence[FileRef],
    progress: ReadProgress | None = None,
    kind: LogKind = METADATA,
) -> Loaded:
    """Read files one behind the other and find their batches.

    Args:
        files: The files.
        progress: Called while bytes are read.
        kind: The kind of the log.

    Raises:
        VanishedError: One of them is gone.
        SourceError: One can't be read.
    """
    remote = [file for file in files if isinstance(file, RemoteFile)]
    if len(remote) == len(files):
        with opened_together(remote) as sources:
            return _load(files, sources, progress, kind)
    return _load(files, None, progress, kind)


def _load(
    files: Sequence[FileRef],
    sources: list[OnStore] | None,
    progress: ReadProgress | None,
    kind: LogKind,
) -> Loaded:
    """Read files; those of a store are open already and are read all at once."""
    # Else one file is open at a time: a log may have more segments than a process may have files.
    sizes = [_size_of(file) for file in files] if sources is None else [s.size for s in sources]
    total = sum(sizes)
    try:
        buffer = anonymous(total + SLACK)
    except (OSError, ValueError, OverflowError) as e:
        raise SourceError(f"{total} bytes do not fit in memory: {e}") from e
    view = memoryview(buffer)
    ends = None if sources is None else fill(sources, view, progress)
    found, start, at, last_offset = [], 0, 0, -1
    for i, (file, size) in enumerate(zip(files, sizes, strict=True)):
        if ends is None:
            with opened(file) as source:
                read = _read_whole(source, view[at : at + size], at, total, progress)
                whole = whole_size(source)
        else:
            at, read, whole = start, ends[i], size
        start += size
        name = name_of(file)
        is_segment = isinstance(parse_name(name), SegmentName)
        after = last_offset if is_segment else -1
        chain = Chainer(view, at, at + read, name, after, kind=kind).run()
        if whole > read == size:
            chain.faults.append(rest_of(name, whole, read, max(chain.last_offset, last_offset) + 1))
        if is_segment:
            last_offset = max(last_offset, chain.last_offset)
        found.append(LogFile(name, at, read, chain))
        at += read
    return Loaded(buffer, at, found)


def whole_size(source: OpenFile) -> int:
    """A file's size, what is not looked at included."""
    return source.whole if isinstance(source, _OnDisk) else source.size


def _size_of(file: FileRef) -> int:
    with opened(file) as source:
        return source.size


def _read_whole(
    source: OpenFile, target: memoryview, done: int, total: int, progress: ReadProgress | None
) -> int:
    """Fill `target` as far as the file goes; it may have become shorter since it was measured."""
    at = 0
    while at < len(target):
        piece = target[at : at + max(source.step, _PIECE)]
        n = source.read_into(piece, at)
        at += n
        if n and progress is not None:
            progress(done + at, total)
        if n < len(piece):
            break
    return at


def anonymous(size: int) -> mmap.mmap:
    """Zeroed memory; in huge pages where there are some, which halves the time of reading."""
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None and size >= _HUGE:
        # Refused by kernels built without them: the memory is good all the same.
        with contextlib.suppress(OSError):
            buffer.madvise(advice)
    return buffer


WINDOW_BYTES: Final = 32 << 20


def windows(
    file: FileRef,
    size: int = WINDOW_BYTES,
    after: int = -1,
    begin: int = 0,
    kind: LogKind = METADATA,
) -> Iterator[Loaded]:
    """Read a file a window at a time.

    Each has one file, whose ``start`` is minus the window's position in it: a batch's position less
    that is its position in the file. Bytes behind the size that the file has now are not read.

    Args:
        file: The file.
        size: Bytes of a window, more where a batch or damage needs it.
        after: Offset behind which the batches must lie: the last of the file before.
        begin: Position to begin at, the end of a batch; `after` is then the last offset before it.
        kind: The kind of the log.

    Raises:
        VanishedError: It is gone.
        SourceError: It can't be read.
    """
    with opened(file) as source:
        carry = Carry(source.size, after, begin)
        yield from windows_of(source, name_of(file), carry, size, kind)


def windows_of(
    source: OpenFile, name: str, carry: Carry, size: int, kind: LogKind = METADATA
) -> Iterator[Loaded]:
    """Read windows from a carry's position up to its limit; the carry is brought up to date.

    Bytes behind the limit are read only where a batch before it can't be judged without them.
    """
    while carry.pos < carry.limit:
        begin = carry.pos
        length = min(max(size, carry.need, 1), carry.size - begin)
        length = min(length, max(carry.limit - begin + HEADER_BYTES, carry.need))
        try:
            buffer = anonymous(length + SLACK)
        except (OSError, ValueError, OverflowError) as e:
            raise SourceError(f"{name}: {length} bytes do not fit in memory: {e}") from e
        view = memoryview(buffer)
        read = source.read_into(view[:length], begin)
        if read < length:
            # It has become shorter since it was opened.
            carry.size = begin + read
            carry.limit = min(carry.limit, carry.size)
        chain = Chainer(view, 0, read, name, carry=carry, kind=kind).run()
        if chain.positions or chain.faults or chain.padding:
            yield Loaded(buffer, read, [LogFile(name, -begin, read, chain)])
    whole = whole_size(source)
    if carry.pos == source.size < whole:
        rest = Chain(array("q"), [rest_of(name, whole, carry.pos, carry.last_offset + 1)])
        yield Loaded(anonymous(SLACK), 0, [LogFile(name, -carry.pos, 0, rest)])
