"""Faults of the input, as data: reading goes on after each."""

from __future__ import annotations

from enum import StrEnum

from metashell.dataclass import dataclass


class FaultKind(StrEnum):
    """The kinds of faults; stable names for scripts."""

    TORN = "torn"
    """The last batch of a file is cut off: a crash, or a node that is writing right now."""
    DAMAGED = "damaged"
    """Bytes that are no sound batch, with a sound one after them or not."""
    GAP = "gap"
    """Offsets are missing, or go back."""
    RECORD = "record"
    """A record's bytes do not hold what its definition says."""
    UNKNOWN = "unknown"
    """A record type or version that no definition describes; kept raw."""
    UNREADABLE = "unreadable"
    """A file that is in the directory and can't be read."""
    REPLAY = "replay"
    """A sound record that does not fit the state before it."""


class FaultCode(StrEnum):
    """The faults of a batch; stable names for scripts."""

    CRC_MISMATCH = "crc-mismatch"
    BAD_MAGIC = "bad-magic"
    BAD_LENGTH = "bad-length"
    CUT_OFF = "batch-cut-off"
    EPOCH_FALLS = "epoch-falls"
    BAD_OFFSET_RANGE = "bad-offset-range"
    OUT_OF_ORDER = "batch-out-of-order"
    OFFSETS_GO_BACK = "offsets-go-back"
    OFFSET_GAP = "offset-gap"
    BATCH_DAMAGED = "batch-damaged"
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    ``code``: for damage and gaps, exactly what is wrong; None where the kind says it all;
    ``file``: name of the file; ``pos``: byte position in it, of the batch where one is concerned;
    ``offset``: log offset concerned, or the next one expected; each None where there is none.
    """

    kind: FaultKind
    reason: str
    file: str | None = None
    pos: int | None = None
    offset: int | None = None
    code: FaultCode | None = None

    def __str__(self) -> str:
        place = [self.file or "", f"position {self.pos}" if self.pos is not None else ""]
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        return f"{', '.join(p for p in place if p)}: {self.reason}"
