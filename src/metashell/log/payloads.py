"""The records of batches as bytes: where they lie, inflated where they are compressed.

Owns how much memory compressed batches may take together, and which batches are left out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.log.compression import MAX_BATCH_BYTES, InflateError, TooLargeError, inflate
from metashell.log.fault import Fault, FaultKind
from metashell.log.layout import CODEC, OLD_FORMATS
from metashell.log.read import SLACK, Loaded
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools

MIN_RECORD_BYTES: Final = 7
"""A record with no key, value or header: one byte for each of its parts."""

NOT_FILLED: Final = "its records do not fill it exactly"
MALFORMED: Final = "a record in it is malformed"
"""Why a batch is left out."""


INFLATED_BYTES: Final = 80 << 20
"""Memory that compressed batches framed together may take, beside twice the size of their files."""

RECORD_BYTES: Final = 160
"""Memory that a record takes beside its own bytes: its place, and what is decoded of it."""

_NO_ROOM: Final = "compressed batches of this log inflate to more than is kept in memory"


class BatchFaults:
    """Batches found unreadable after their CRC held: each is reported once and left out whole."""

    def __init__(self, loaded: Loaded, pos: I64, file: I32, header: AnyArray) -> None:
        self.loaded, self.pos, self.file, self.header = loaded, pos, file, header
        self.bad: Bools = np.zeros(len(pos), dtype=np.bool_)
        self.found: list[Fault] = []

    def add(self, batches: AnyArray, reason: str) -> None:
        for i in batches.tolist():
            if self.bad[i]:
                continue
            self.bad[i] = True
            source = self.loaded.files[int(self.file[i])]
            where = int(self.pos[i]) - source.start
            offset = int(self.header[i]["base_offset"])
            self.found.append(
                Fault(FaultKind.DAMAGED, f"batch left out: {reason}", source.name, where, offset)
            )


def inflated(
    arena: Arena, starts: I64, stops: I64, header: AnyArray, faults: BatchFaults
) -> tuple[Arena, I64, I64]:
    """Where each batch's records lie: in the file, or behind all files where they were inflated.

    Args:
        arena: The bytes of the files.
        starts: int64[n], where each batch's payload begins; changed in place.
        stops: int64[n], where it ends; changed in place.
        header: `HEADER` of each batch.
        faults: Where batches are noted that can't be inflated.
    """
    codec = header["attributes"] & CODEC
    compressed = np.flatnonzero(codec)
    if not compressed.size:
        return arena, starts, stops
    counts, magics = header["count"], header["magic"]
    # One buffer that grows: pieces that are joined would be there twice.
    whole = bytearray(arena.content)
    # A file of nothing but bombs may not grow without bound either, nor one of tiny records. Bytes
    # inflated in vain count, too: it takes time.
    budget = INFLATED_BYTES + 2 * arena.size
    for n_done, i in enumerate(compressed.tolist()):
        if budget <= 0:
            rest = compressed[n_done:]
            faults.add(rest, _NO_ROOM)
            starts[rest] = stops[rest] = len(whole)
            break
        payload = arena.u1[int(starts[i]) : int(stops[i])].data
        try:
            data = inflate(int(codec[i]), payload, min(MAX_BATCH_BYTES, budget))
            n = min(max(int(counts[i]), 0), len(data) // MIN_RECORD_BYTES)
            if magics[i] < OLD_FORMATS:
                n = _n_messages(data)
            needed = len(data) + n * RECORD_BYTES
            if needed > budget:
                raise TooLargeError(_NO_ROOM, len(data))
        except InflateError as e:
            no_room = isinstance(e, TooLargeError) and budget < MAX_BATCH_BYTES
            faults.add(np.array([i]), _NO_ROOM if no_room else e.message)
            data, needed = b"", budget if no_room else e.n_bytes
        budget -= needed
        starts[i] = len(whole)
        whole += data
        stops[i] = len(whole)
    size = len(whole)
    whole += bytes(SLACK)
    return Arena(whole, size), starts, stops


def _n_messages(data: bytes) -> int:
    """How many messages of an older format lie behind each other."""
    n = at = 0
    while at + 12 <= len(data):
        at += 12 + max(int.from_bytes(data[at + 8 : at + 12], "big", signed=True), 0)
        n += 1
    return n
