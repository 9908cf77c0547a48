"""A file's batches a window at a time, for what streams a log of any size in bounded memory.

A window ends where the last batch that fits in it does, so a batch is never cut. Batches and faults
are those of the file read in one (`metashell.log.read`): a batch larger than a window makes the
window grow, and so does damage behind which no sound batch is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from metashell.errors import SourceError
from metashell.log.chain import Carry, Chainer
from metashell.log.read import SLACK, Loaded, LogFile, anonymous, open_regular, unreadable

WINDOW_BYTES: Final = 32 << 20


def windows(path: str, size: int = WINDOW_BYTES, after: int = -1) -> Iterator[Loaded]:
    """Read a file a window at a time.

    Each has one file, whose ``start`` is minus the window's position in it: a batch's position less
    that is its position in the file. What is behind the size that the file has now is not read.

    Args:
        path: The file.
        size: Bytes of a window, more where a batch or damage needs it.
        after: Offset behind which the batches must lie: the last of the file before.

    Raises:
        VanishedError: It is gone.
        SourceError: It can't be read.
    """
    fd, file_size = open_regular(path)
    try:
        yield from _windows(path, fd, Carry(file_size, after), size)
    finally:
        os.close(fd)


def _windows(path: str, fd: int, carry: Carry, size: int) -> Iterator[Loaded]:
    name = os.path.basename(path)
    while carry.pos < carry.size:
        begin = carry.pos
        length = min(max(size, carry.need, 1), carry.size - begin)
        try:
            buffer = anonymous(length + SLACK)
        except (OSError, ValueError, OverflowError) as e:
            raise SourceError(f"{path}: {length} bytes do not fit in memory: {e}") from e
        view = memoryview(buffer)
        read = _read_at(path, fd, view[:length], begin)
        if read < length:
            carry.size = begin + read
        chain = Chainer(view, 0, read, name, carry=carry).run()
        if chain.positions or chain.faults or chain.padding:
            yield Loaded(buffer, read, [LogFile(name, -begin, read, chain)])


def _read_at(path: str, fd: int, target: memoryview, begin: int) -> int:
    """Fill `target` as far as the file goes; it may have become shorter since it was measured."""
    at = 0
    while at < len(target):
        try:
            n = os.preadv(fd, [target[at : at + (1 << 20)]], begin + at)
        except OSError as e:
            raise unreadable(path, e) from e
        if n == 0:
            break
        at += n
    return at
