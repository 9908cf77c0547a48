"""Messages of the formats 0 and 1, from before there were batches.

Each is a batch of its own (`metashell.log.old_chain` shows its bytes). A compressed one wraps
others in its value, and its offset is that of the last of them. In format 0 the wrapped ones have
their offsets; in format 1 theirs count from any number, and only their distances mean something.

Source: org.apache.kafka.common.record.internal.LegacyRecord, AbstractLegacyRecordBatch.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import numpy as np

from metashell.log.frames import as_batches
from metashell.log.heads import put_spans
from metashell.log.layout import CODEC, OLD_HEAD, OLD_OVERHEAD
from metashell.log.payloads import BatchFaults
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools

_ATTRIBUTES_POS: Final = 17
_HEAD_BYTES: Final = 18
"""Bytes before the timestamp, which format 1 has, or before the key's length."""
_TIMESTAMP_BYTES: Final = 8
_LAST_CODEC: Final = 3
"""The codecs behind it are of batches only."""
_MAX_INT32: Final = (1 << 31) - 1
_MAX_OFFSET: Final = (1 << 63) - 1


class OldMessages:
    """The messages of older formats among the batches of a log.

    Their headers are filled in as batches have them, and where the payloads of those that wrap
    others lie.

    Args:
        arena: The bytes of the files.
        header: `metashell.log.frames.HEADER` of every batch; filled in for messages.
        pos: int64[n], where each batch begins.
        messages: int64[k], the batches that are messages.
        starts: int64[n], where payloads begin; filled in for messages.
        stops: int64[n], where they end; filled in for messages.
        faults: Where messages are noted that can't be read.
    """

    def __init__(
        self,
        arena: Arena,
        header: AnyArray,
        pos: I64,
        messages: I64,
        starts: I64,
        stops: I64,
        faults: BatchFaults,
    ) -> None:
        self._header, self._pos, self._messages, self._faults = header, pos, messages, faults
        self._places: tuple[I64, ...] = ()
        at, of = pos[messages], as_batches(header[messages])
        magic, end = of["magic"], at + 12 + of["length"]
        codec = of["attributes"] & CODEC
        _, _, value, value_size, ok = _spans(arena, at, magic, end)
        faults.add(messages[~ok], "its key or value does not fit its length")
        wraps = codec > 0
        faults.add(messages[wraps & (value_size < 0)], "a compressed message without a value")
        strange = messages[codec > _LAST_CODEC]
        faults.add(strange, "a codec that its format does not have")
        readable = ~faults.bad[messages]
        of["attributes"] &= np.where(readable, -1, ~CODEC)
        header[messages] = of
        starts[messages] = value
        stops[messages] = np.where(wraps & readable, value + value_size, value)

    def find(self, arena: Arena, starts: I64, stops: I64) -> None:
        """Find the messages; headers of those that wrap some learn how many, and offsets.

        Args:
            arena: The bytes of the files and what was inflated.
            starts: int64[n], where payloads begin.
            stops: int64[n], where they end.
        """
        header, faults = self._header, self._faults
        at, batch, rank, offset = (array("q") for _ in range(4))
        codecs = (header["attributes"][self._messages] & CODEC).tolist()
        offsets = header["base_offset"][self._messages].tolist()
        for i, codec, own in zip(self._messages.tolist(), codecs, offsets, strict=True):
            if faults.bad[i]:
                continue
            if not codec:
                inner, found = [int(self._pos[i])], [own]
            else:
                magic = int(header["magic"][i])
                inner, found = _wrapped(arena, int(starts[i]), int(stops[i]), magic)
                if magic and found:
                    found = [own - found[-1] + each for each in found]
                reason = _why_not(found, own)
                if reason is not None:
                    faults.add(np.array([i]), reason)
                    continue
                header["base_offset"][i] = found[0]
                header["last_delta"][i] = own - found[0]
                header["count"][i] = len(found)
            at.extend(inner)
            offset.extend(found)
            batch.extend([i] * len(inner))
            rank.extend(range(len(inner)))
        where, of = (np.array(a, dtype=np.int64) for a in (at, batch))
        self._places = where, of, *(np.array(a, dtype=np.int64) for a in (rank, offset))
        *_, fits = self._spans(arena, where)
        reason = "the key or value of a message in it does not fit its length"
        faults.add(np.unique(of[~fits]), reason)

    def put(self, arena: Arena, first_row: I64, columns: Mapping[str, AnyArray]) -> None:
        """Fill in the columns of the messages, those that are wrapped in place of their wrappers.

        Args:
            arena: The argument of `find`.
            first_row: int64[n + 1], the first row of each batch.
            columns: By the names of `metashell.kernel.frames.KEYED_COLUMNS`.
        """
        there = np.flatnonzero(~self._faults.bad[self._places[1]])
        where, of, rank, offset = (each[there] for each in self._places)
        rows = first_row[of] + rank
        columns["start"][rows], columns["offset"][rows] = where + _ATTRIBUTES_POS, offset
        key, key_size, value, value_size, _ = self._spans(arena, where)
        put_spans(arena, columns, rows, (key, key_size), (value, value_size))

    @staticmethod
    def _spans(arena: Arena, where: I64) -> tuple[I64, I32, I64, I32, Bools]:
        """`_spans` of messages at positions, of any format."""
        magics = arena.u1.take(where + _ATTRIBUTES_POS - 1)
        return _spans(arena, where, magics, where + 12 + arena.gather(">i4", where + 8))


def _wrapped(arena: Arena, start: int, stop: int, magic: int) -> tuple[list[int], list[int]]:
    """Positions and written offsets of wrapped messages; none where they are not sound.

    A message that is cut off behind the last is ignored, as in a broker.
    """
    view = arena.u1[start:stop].data
    at, size = 0, stop - start
    positions, offsets = [], []
    while size - at >= _HEAD_BYTES:
        offset, length, _, magic_here = OLD_HEAD.unpack_from(view, at)
        if length < OLD_OVERHEAD[magic]:
            return [], []
        if length > size - at - 12:
            break
        if magic_here != magic or view[at + _ATTRIBUTES_POS] & CODEC:
            return [], []
        positions.append(start + at)
        offsets.append(offset)
        at += 12 + length
    return positions, offsets


def _why_not(offsets: list[int], last: int) -> str | None:
    """Why wrapped messages of these offsets can't be read in a message of the last."""
    if not offsets:
        return "it wraps no sound messages"
    ascending = all(a < b for a, b in pairwise(offsets))
    fits = offsets[0] >= 0 and offsets[-1] <= last <= _MAX_OFFSET
    if not ascending or not fits or last - offsets[0] > _MAX_INT32:
        return "the offsets of the messages in it do not fit its own"
    return None


def _spans(arena: Arena, at: I64, magic: AnyArray, end: I64) -> tuple[I64, I32, I64, I32, Bools]:
    """Key and its size, value and its size, and whether both fit: of messages at positions."""
    key = at + _HEAD_BYTES + 4 + np.where(magic == 0, 0, _TIMESTAMP_BYTES)
    ok = key <= end
    key_size = arena.gather(">i4", np.minimum(key, end) - 4)
    value = key + np.maximum(key_size, 0) + 4
    ok &= value <= end
    value_size = arena.gather(">i4", np.clip(value - 4, 0, end))
    ok &= value + np.maximum(value_size, 0) <= end
    sizes = (np.maximum(size, -1).astype(np.int32) for size in (key_size, value_size))
    return np.minimum(key, end), next(sizes), np.minimum(value, end), next(sizes), ok
