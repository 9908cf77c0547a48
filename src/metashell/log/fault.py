"""What was wrong with the input, as data: reading goes on after each."""

from __future__ import annotations

from enum import StrEnum

from metashell.dataclass import dataclass


class FaultKind(StrEnum):
    """What sort of trouble a fault is; stable names for scripts."""

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


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    ``file``: name of the file; ``pos``: byte position in it, of the batch where one is concerned;
    ``offset``: log offset concerned, or the next one expected; each None where there is none.
    """

    kind: FaultKind
    reason: str
    file: str | None = None
    pos: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        place = [self.file or "", f"position {self.pos}" if self.pos is not None else ""]
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        return f"{', '.join(p for p in place if p)}: {self.reason}"
