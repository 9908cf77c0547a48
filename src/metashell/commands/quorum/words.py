"""The quorum in sentences: who leads, how many voters may be lost, how far the slowest is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from metashell.commands.quorum.report import LEADER, OBSERVER, Summary
from metashell.commands.shared.status import LEADER_UNKNOWN, leader_words
from metashell.schema.timestamps import iso_time, span_text

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus

_SILENT_MS: Final = 10_000
"""A follower that has not fetched for so long counts as lost; Kafka's own fetch interval is 0.5 s,
and a leader without a majority resigns after 3 s."""
_BETWEEN: Final = " · "


def age_text(ms: int) -> str:
    """A span of time in short: ``232ms``, ``3.2s``, ``5m 3s``, ``2h 7m``, ``3d 4h``."""
    if abs(ms) < 1000:
        return f"{ms}ms"
    return f"{ms / 1000:.1f}s" if abs(ms) < 60_000 else span_text(ms)


def quorum_lines(summary: Summary, live: LiveStatus | None, *, is_now: bool) -> Iterator[str]:
    """The quorum as a whole, the leader first.

    Args:
        summary: The quorum.
        live: How the connection stands; None for files.
        is_now: Whether it is the end of the log that is shown.
    """
    known = {"epoch": summary.leader_epoch, "high watermark": summary.high_watermark,
             "MaxFollowerLag": summary.max_lag}  # fmt: skip
    leading = [_leader(summary, live if is_now else None)]
    leading += [f"{name} {value}" for name, value in known.items() if value is not None]
    if summary.max_lag_ms is not None and summary.max_lag_ms >= 0:
        leading.append(f"({age_text(summary.max_lag_ms)})")
    yield _BETWEEN.join(leading).replace(f"{_BETWEEN}(", " (")
    n_observers = sum(status == OBSERVER for _, status in summary.members)
    voters = majority_text(len(summary.members) - n_observers, _n_silent(summary))
    s = "s" * (n_observers != 1)
    yield voters + (f"{_BETWEEN}{n_observers} observer{s}" if n_observers else "")
    at = None if summary.as_of_ms is None else iso_time(summary.as_of_ms).partition(".")[0]
    when = "" if at is None else f", {at.replace('T', ' ')}Z"
    yield f"cluster {summary.cluster_id or '-'}{_BETWEEN}from {summary.origin}{when}"
    if live is not None:
        yield connection_text(live)


def _leader(summary: Summary, live: LiveStatus | None) -> str:
    """The present leader if the quorum is followed, else the last one in the log."""
    if live is not None:
        last = summary.leader_id if live.leader_id is None else live.leader_id
        return leader_words(live.leader_now, last)
    return LEADER_UNKNOWN if summary.leader_id is None else leader_words(summary.leader_id)


def _n_silent(summary: Summary) -> int | None:
    """Voters that have not fetched for long; None where nothing tells."""
    if summary.now_ms is None:
        return None
    fetched = [m.last_fetch_ms for m, status in summary.members if status not in (OBSERVER, LEADER)]
    ages = [summary.now_ms - at for at in fetched if at is not None]
    return sum(age >= _SILENT_MS for age in ages) if ages else None


def majority_text(n_voters: int, n_silent: int | None = None) -> str:
    """The number of voters, and how many more voters may be lost.

    Args:
        n_voters: Voters.
        n_silent: The number of voters that the leader does not hear any more; None if unknown.
    """
    if not n_voters:
        return "voters unknown"
    needed = n_voters // 2 + 1
    voters = "1 voter" if n_voters == 1 else f"{n_voters} voters"
    text = f"{voters}, {needed} {'is' if needed == 1 else 'are'} a majority"
    spare = n_voters - needed - (n_silent or 0)
    silent = f", {n_silent} silent" if n_silent else ""
    if spare < 0:
        return f"{text}{silent}: the majority is lost"
    return f"{text}{silent}: {spare or 'none'} {'more ' if n_silent else ''}may be lost"


def connection_text(status: LiveStatus) -> str:
    """How the connection stands; why nothing comes is told elsewhere."""
    word = status.last_word_s
    age = "no answer yet" if word is None else f"last answer {age_text(int(word * 1000))} ago"
    where = status.leader_address
    return f"{f'connected to {where}' if where else 'not connected to a leader'}{_BETWEEN}{age}"


def spans(points: Sequence[int | None]) -> list[int | None]:
    """How far each point is from the next one; None where that is not known, or negative."""
    return [None if a is None or b is None or b < a else b - a for a, b in pairwise(points)]
