"""The status of an opened source: where it stands, what it can do, which quorum it is of."""

from __future__ import annotations

from metashell.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where an image stands; None where nothing says."""

    offset: int | None
    """Offset of the last record applied."""
    epoch: int | None
    """Its leader epoch."""
    timestamp_ms: int | None
    """Its time, ms since the epoch."""
    metadata_version: str | None
    """Such as ``4.4-IV2``."""
    notes: tuple[str, ...]
    """Short remarks, such as ``torn tail``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """In what kinds of sources differ, for those who work on any."""

    has_log: bool = True
    """Whether the log itself is here; else `Source.full_log` reads it."""
    has_image: bool = True
    """Whether it tells a cluster's metadata; a coordinator's log does not."""
    follows: bool = False
    """Whether a quorum is followed that may have more at any time."""
    delegates: bool = False
    """Whether others, such as Spark, may do what is asked of it: see `Source.delegate`."""
