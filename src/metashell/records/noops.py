"""Whether a log only grew by records that say nothing: an idle controller writes two a second.

Owns how that is told without a look at what was there before, whose size must not count. A NoOp is
taken for one where it is written as controllers write it: in a batch of its own, not compressed.
"""

from __future__ import annotations

from mmap import mmap
from struct import Struct
from typing import Final

from metashell.errors import DecodeError
from metashell.log.directory import MetadataLog
from metashell.log.layout import CODEC, CONTROL, HEAD, HEADER_BYTES
from metashell.records.density import NO_OP
from metashell.schema.model import Registry
from metashell.schema.scalar import decode_frame, read_varint, read_varlong

_COUNT: Final = Struct(">i")
_COUNT_AT: Final = 57
_LONGEST: Final = 256
"""Bytes of a batch that is looked at."""
_MOST: Final = 64
"""Batches that are: what was away for longer has news."""


def only_noops_came(before: MetadataLog, after: MetadataLog, registry: Registry) -> bool:
    """Whether a log is an earlier one with nothing but NoOps behind it, at least one.

    False, too, where that is not seen at once. Cost: that of the few batches that came.
    """
    files = [[(file.name, file.size) for file in log.loaded.files[:-1]] for log in (before, after)]
    if not before.loaded.files or files[0] != files[1] or before.faults != after.faults:
        return False
    old, new = before.loaded.files[-1], after.loaded.files[-1]
    n = len(old.chain.positions)
    if old.name != new.name or not 0 < n < len(new.chain.positions) <= n + _MOST:
        return False
    last = old.chain.positions[-1]
    is_same = (
        new.chain.positions[n - 1] == last
        and before.loaded.buffer[last : last + HEADER_BYTES]
        == after.loaded.buffer[last : last + HEADER_BYTES]
    )
    return is_same and all(
        _is_noop(after.loaded.buffer, position, registry) for position in new.chain.positions[n:]
    )


def _is_noop(buffer: mmap | bytes | memoryview, begin: int, registry: Registry) -> bool:
    """Whether a sound batch holds one NoOp, as of `metashell.log.frames`."""
    _, length, _, _, _, attributes, last_delta = HEAD.unpack_from(buffer, begin)
    (count,) = _COUNT.unpack_from(buffer, begin + _COUNT_AT)
    if attributes & (CODEC | CONTROL) or (count, last_delta) != (1, 0) or length > _LONGEST:
        return False
    data = bytes(buffer[begin + HEADER_BYTES : begin + 12 + length])
    try:
        size, at = read_varint(data, 0, len(data))
        if size != len(data) - at:
            return False
        _, at = read_varlong(data, at + 1, len(data))
        _, at = read_varint(data, at, len(data))
        key_size, at = read_varint(data, at, len(data))
        value_size, at = read_varint(data, at, len(data))
        if key_size > 0 or not 0 < value_size <= len(data) - at:
            return False
        _, key, version, _ = decode_frame(data[at : at + value_size])
    except DecodeError:
        return False
    return key == NO_OP and version in registry.metadata[NO_OP].versions
