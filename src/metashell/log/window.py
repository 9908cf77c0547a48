"""A file's batches a window at a time, for what streams a log of any size in bounded memory.

A window ends where the last batch that fits in it does, so a batch is never cut. Batches and faults
are those of the file read in one (`metashell.log.read`): a batch larger than a window makes the
window grow, and so does damage behind which no sound batch is found.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from metashell.errors import SourceError
from metashell.log.chain import METADATA, Carry, Chain, Chainer, LogKind
from metashell.log.extent import rest_of
from metashell.log.layout import HEADER_BYTES
from metashell.log.read import SLACK, Loaded, LogFile, OpenFile, anonymous, opened, whole_size
from metashell.places.files import FileRef, name_of

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
