"""What the REPL is told about a source, and the way in.

This module must stay cheap to import: whoever builds a `Session` may never start the REPL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from metashell.commands.aliases import NO_HABITS, Habits
from metashell.fs.node import Directory

if TYPE_CHECKING:
    from metashell.source import Live, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the bottom toolbar says; None where it is not known."""

    offset: int | None = None
    """Offset of the last record applied."""
    epoch: int | None = None
    """Leader epoch of that record."""
    timestamp_ms: int | None = None
    """Its time in ms since the epoch; -1 = none."""
    metadata_version: str | None = None
    """Such as ``4.4-IV2``."""
    notes: tuple[str, ...] = ()
    """Short remarks: ``torn tail``, ``3 faults``."""
    is_live: bool = False
    """Whether a quorum is followed; what stands below is known of one only."""
    leader: int | None = None
    """Id of the leader; None while none is known."""
    lag: int | None = None
    """Committed offsets that are not here yet."""
    last_word_s: float | None = None
    """Seconds since the quorum last answered."""
    problem: str | None = None
    """Why nothing comes at the moment."""


class Stated(Protocol):
    """What has a status that a toolbar can show: a source."""

    def status(self) -> Any:
        """The state, with the attributes of `Status`."""


def status_of(source: Stated) -> Status:
    """A source's state as the toolbar takes it. Cost: may decode."""
    now = source.status()
    found = Status(
        offset=now.offset,
        epoch=now.epoch,
        timestamp_ms=now.timestamp_ms,
        metadata_version=now.metadata_version,
        notes=tuple(now.notes),
    )
    return with_live_facts(found, source)


def with_live_facts(status: Status, source: object) -> Status:
    """A status brought up to date with what a live source knows now; as it is for others.

    An earlier state of a live source is none that follows. Cost: none; nothing is decoded.
    """
    # Stand-ins for a source may know of no quorum.
    live: Live | None = getattr(source, "live", None)
    if live is None or getattr(source, "moment_offset", None) is not None:
        return status
    now = live.status()
    return replace(
        status,
        offset=now.end_offset - 1 if now.end_offset > 0 else None,
        epoch=now.epoch,
        is_live=True,
        leader=now.leader_id,
        lag=now.lag,
        last_word_s=now.last_word_s,
        problem=now.problem,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One source, as the REPL sees it."""

    root: Directory
    """The root of the file system."""
    source_name: str
    """What the prompt calls the source, such as ``demo``."""
    status: Callable[[], Status]
    """The state for the toolbar. May be slow: it is called in a thread, never twice at once."""
    warm_up: Callable[[], None] | None = None
    """Computes what the first commands will need; called once, in the thread of `status`."""
    source: Source | None = None
    """What the tree stands on, for the commands that look behind it."""
    show_secrets: bool = False
    """Whether secrets are shown; the toolbar then says so."""
    habits: Habits = NO_HABITS
    """Aliases and default options of commands."""
    theme: Mapping[str, str] = field(default_factory=dict)
    """Style of each role of `metashell.themes`; the default one's where it is not there."""
    is_plain: bool = False
    """Whether diagnostics are not coloured either."""


def run(session: Session) -> int:
    """Read and run lines until the user leaves.

    Returns:
        The exit status of the program.
    """
    from metashell.repl.shell import Shell  # prompt_toolkit takes a tenth of a second to import

    return Shell(session).run()
