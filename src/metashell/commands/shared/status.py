"""Where a source stands, and how a live one is followed, in a few words: the line at the bottom of
the interactive shell and of the explorer.

Owns which facts there are and how they read; must stay cheap to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.live import LiveQuorum
    from metashell.sources.source import Source

SECRETS_SHOWN: Final = "secrets shown"
_TENTHS_UNTIL_S: Final = 10
_SECONDS_UNTIL_S: Final = 180
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """Where a source stands; None where it is not known."""

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
    last_leader: int | None = None
    """Id of the last one that was heard of."""
    lag: int | None = None
    """Committed offsets that are not here yet."""
    last_word_s: float | None = None
    """Seconds since the quorum last answered."""
    problem: str | None = None
    """Why nothing comes at the moment."""


def status_of(opened: Source | FleetSource) -> SourceStatus:
    """The state of what was opened. Cost: may decode."""
    from metashell.sources.source import Source

    status = stored_status(opened)
    return with_live_facts(status, opened) if isinstance(opened, Source) else status


def stored_status(opened: Source | FleetSource) -> SourceStatus:
    """The status as it is written in the log, whatever is known of the quorum. Cost: may decode."""
    now = opened.status()
    return SourceStatus(
        offset=now.offset,
        epoch=now.epoch,
        timestamp_ms=now.timestamp_ms,
        metadata_version=now.metadata_version,
        notes=now.notes,
    )


def with_live_facts(status: SourceStatus, source: Source) -> SourceStatus:
    """A status brought up to date with what a live source knows now; as it is for others.

    An earlier state of a live source is none that follows. Cost: none; nothing is decoded.
    """
    live = source.live
    if live is None or source.moment_offset is not None:
        return status
    now = live.status()
    return replace(
        with_connection(status, live),
        offset=now.end_offset - 1 if now.end_offset > 0 else None,
        epoch=now.epoch,
    )


def with_connection(status: SourceStatus, live: LiveQuorum) -> SourceStatus:
    """A status with how a quorum is followed now; where the source stands is left as it is."""
    now = live.status()
    return replace(
        status,
        is_live=True,
        leader=now.leader_now,
        last_leader=now.leader_id,
        lag=now.lag,
        last_word_s=now.last_word_s,
        problem=now.problem,
    )


def format_time(timestamp_ms: int) -> str:
    """Return a time in UTC to the second; the bare number where no calendar reaches."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def format_age(seconds: float | None) -> str:
    """Return how long ago the quorum answered, coarser as it gets older."""
    if seconds is None:
        return "no answer yet"
    if seconds < _TENTHS_UNTIL_S:
        return f"{max(seconds, 0):.1f} s ago"
    if seconds < _SECONDS_UNTIL_S:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago"


def items(status: SourceStatus, *, show_secrets: bool = False) -> list[tuple[str, str]]:
    """Return what is to be shown as (kind, text); the kind is ``fact`` or ``note``."""
    facts = []
    if status.is_live:
        facts.append(leader_text(status))
        facts += epoch_texts(status)
    if status.offset is not None:
        facts.append(f"offset {status.offset}")
    if status.is_live:
        facts += lag_texts(status)
    else:
        facts += epoch_texts(status)
        facts += time_texts(status)
    if status.metadata_version:
        facts.append(status.metadata_version)
    notes = [*([status.problem] if status.problem else []), *status.notes]
    if show_secrets:
        notes.append(SECRETS_SHOWN)
    return [("fact", text) for text in facts] + [("note", text) for text in notes]


def leader_text(status: SourceStatus) -> str:
    """Who leads the quorum that is followed."""
    return leader_words(status.leader, status.last_leader)


LEADER_UNKNOWN: Final = "leader not known"
"""Said of a log that names none: somebody may lead."""


def leader_words(leader: object, last: object = None) -> str:
    """Who leads, wherever it is shown.

    Args:
        leader: Its id; None while nobody is known to lead.
        last: The last one that was heard of; None while none was.
    """
    if leader is not None:
        return f"leader {leader}"
    return "no leader" if last is None else f"no leader known, {last} was the last"


def lag_texts(status: SourceStatus) -> Sequence[str]:
    """How far behind the quorum it is, and since when nothing was heard."""
    lag = [] if status.lag is None else [f"lag {status.lag}"]
    return [*lag, format_age(status.last_word_s)]


def epoch_texts(status: SourceStatus) -> Sequence[str]:
    """The leader epoch, where it is known."""
    return [] if status.epoch is None else [f"epoch {status.epoch}"]


def time_texts(status: SourceStatus) -> Sequence[str]:
    """The time of the last record, where it has one."""
    has_none = status.timestamp_ms is None or status.timestamp_ms == -1
    return [] if has_none else [format_time(status.timestamp_ms or 0)]
