"""Bytes of files into one buffer, read-only and without a lock.

Files are read, not mapped: a running node may truncate a segment, and touching a mapped page that
is gone kills the process. The buffer is anonymous memory with zeroed slack behind the last byte,
which decoders rely on (`metashell.schema.arena`).
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from metashell.errors import SourceError
from metashell.log.chain import Chain, Chainer
from metashell.log.fault import Fault
from metashell.log.names import SegmentName, parse_name

SLACK: Final = 1024
"""Zero bytes behind the last; the same number as the arena's."""

_READ_STEP: Final = 1 << 20
"""Bytes read in one go: few enough to stay in the cache while they are copied."""

_HUGE: Final = 4 << 20
"""Size from which huge pages are asked for."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while files are read."""


@dataclass(slots=True)
class LogFile:
    """A file in the buffer, its batches found and proved."""

    name: str
    start: int
    """Where it begins in the buffer; for a window of it (`metashell.log.window`) before that."""
    size: int
    chain: Chain
    end_offset: int | None = None
    """For a checkpoint that stands for a state: the first offset that it does not hold."""
    epoch: int = -1
    """For such a checkpoint, the epoch in its name."""
    is_alone: bool = False
    """Whether it is a checkpoint opened by itself; an image then stands where its batches say."""

    @property
    def is_checkpoint(self) -> bool:
        """Whether its records stand for the state at `end_offset` instead of for themselves."""
        return self.end_offset is not None


@dataclass(slots=True)
class Loaded:
    """Files read into one buffer, in the order in which they are replayed."""

    buffer: mmap.mmap
    size: int
    files: list[LogFile]

    @property
    def faults(self) -> list[Fault]:
        """What was wrong with their batches, in order."""
        return [fault for file in self.files for fault in file.chain.faults]


class VanishedError(Exception):
    """A file was there when its directory was listed and is gone now."""


def open_regular(path: str) -> tuple[int, int]:
    """Open a regular file for reading.

    Returns:
        (file descriptor, size in bytes).

    Raises:
        VanishedError: There is none.
        SourceError: It can't be opened, or is something else.
    """
    try:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise VanishedError(path) from e
    except OSError as e:
        raise unreadable(path, e) from e
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise SourceError(f"{path}: not a regular file")
    return fd, status.st_size


def unreadable(path: str, error: OSError) -> SourceError:
    """The error that says why a file or directory can't be read, and what to do."""
    hint = None
    if error.errno in (errno.EACCES, errno.EPERM):
        hint = "run as the user that Kafka runs as, or as a member of its group"
    return SourceError(f"{path}: {(error.strerror or str(error))}", hint=hint)


def load(paths: Sequence[str], progress: Progress | None = None) -> Loaded:
    """Read files one behind the other and find their batches.

    Raises:
        VanishedError: One of them is gone.
        SourceError: One can't be read.
    """
    # One file is open at a time: a log may have more segments than a process may have files.
    sizes = [_size_of(path) for path in paths]
    total = sum(sizes)
    try:
        buffer = anonymous(total + SLACK)
    except (OSError, ValueError, OverflowError) as e:
        raise SourceError(f"{total} bytes do not fit in memory: {e}") from e
    view = memoryview(buffer)
    files, at, last_offset = [], 0, -1
    for path, size in zip(paths, sizes, strict=True):
        fd, _ = open_regular(path)
        try:
            read = _read_into(path, fd, view[at : at + size], at, total, progress)
        finally:
            os.close(fd)
        name = os.path.basename(path)
        is_segment = isinstance(parse_name(name), SegmentName)
        chain = Chainer(view, at, at + read, name, last_offset if is_segment else -1).run()
        if is_segment:
            last_offset = max(last_offset, chain.last_offset)
        files.append(LogFile(name, at, read, chain))
        at += read
    return Loaded(buffer, at, files)


def _size_of(path: str) -> int:
    fd, size = open_regular(path)
    os.close(fd)
    return size


def anonymous(size: int) -> mmap.mmap:
    """Zeroed memory; in huge pages where there are some, which halves the time of reading."""
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None and size >= _HUGE:
        # Refused by kernels built without them: the memory is good all the same.
        with contextlib.suppress(OSError):
            buffer.madvise(advice)
    return buffer


def _read_into(
    path: str, fd: int, target: memoryview, done: int, total: int, progress: Progress | None
) -> int:
    """Fill `target` as far as the file goes; it may have become shorter since it was measured."""
    at = 0
    while at < len(target):
        try:
            n = os.readv(fd, [target[at : at + _READ_STEP]])
        except OSError as e:
            raise unreadable(path, e) from e
        if n == 0:
            break
        at += n
        if progress is not None:
            progress(done + at, total)
    return at
