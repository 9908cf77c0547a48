"""What a listing of a directory says of each name."""

from __future__ import annotations

from metashell.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A name in a directory."""

    name: str
    is_directory: bool
    size: int
    mtime_ns: int | None
    """None where the store does not say."""
