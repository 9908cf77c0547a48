"""The beginning of ``health``: severity, causes, lowered configs. Data and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from metashell.answers.causes import EFFECTS, ELECTION, Cause
from metashell.answers.problems import Problem
from metashell.commands.health.rows import next_command
from metashell.commands.rows.columns import AT_OR_BEFORE
from metashell.dataclass import dataclass
from metashell.schema.timestamps import iso_time

_MOST_CAUSES: Final = 10
"""Causes that are told one by one; the rows have all."""
_MOST_CONFIGS: Final = 3
"""Resources with lowered configs that are told one by one; the rows have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseVerdict:
    """A cause of problems of partitions."""

    words: str
    """Such as ``broker 104 is fenced``."""
    since_offset: int | None
    since_time_ms: int | None
    """The time of the record that began it; both are None where that is not known."""
    since_before_ms: int | None
    """When the checkpoint ended that hides it."""
    effects: tuple[tuple[str, int], ...]
    """Problems, the worst first, and the number of partitions that each has."""
    command: str
    """The next command to run."""

    @property
    def effects_text(self) -> str:
        """Such as ``3 partitions offline, 4 under min ISR``."""
        (first, n), *others = self.effects
        told = [f"{_partitions(n)} {EFFECTS[first]}"]
        told += [f"{count:,} {EFFECTS[code]}" for code, count in others]
        return ", ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredVerdict:
    """Configs of a topic that somebody lowered."""

    topic: str
    how: str
    """Such as ``min.insync.replicas from 2 to 1``."""

    @property
    def text(self) -> str:
        """The line that is told."""
        return f"lowered for topic {self.topic}: {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthVerdict:
    """The verdict on one cluster; iterating gives its lines for people."""

    how: tuple[str, ...]
    """How it is, a line for each severity."""
    causes: tuple[CauseVerdict, ...]
    """The causes, the one with the most partitions first."""
    elections: int
    """Partitions that an election of preferred leaders would move."""
    lowered: tuple[LoweredVerdict, ...]

    def __iter__(self) -> Iterator[str]:
        """All lines."""
        yield from self.how
        for cause in self.causes[:_MOST_CAUSES]:
            yield f"{cause.words}{_since_text(cause)}: {cause.effects_text}"
            yield f"  next: {cause.command}"
        n_more = len(self.causes) - _MOST_CAUSES
        if n_more > 0:
            yield f"{n_more:,} more causes: see the column `causes`"
        if self.elections:
            yield f"{ELECTION_DUE}: {_partitions(self.elections)}"
        yield from (lowered.text for lowered in self.lowered[:_MOST_CONFIGS])
        n_more = len(self.lowered) - _MOST_CONFIGS
        if n_more > 0:
            yield f"{n_more:,} more topics with lowered configs: see the rows"


ELECTION_DUE: Final = "an election of preferred leaders is due"
"""Due elections are told together."""


def verdict_of(
    how: Sequence[str],
    effects: Sequence[tuple[Cause, Mapping[str, int]]],
    lowered: Iterable[LoweredVerdict],
) -> HealthVerdict:
    """Make the verdict.

    Args:
        how: Lines about severities.
        effects: The result of `metashell.answers.problems.Problems.effects`.
        lowered: By topic.
    """
    return HealthVerdict(
        how=tuple(how),
        causes=tuple(
            CauseVerdict(
                words=cause.words,
                since_offset=cause.since_offset,
                since_time_ms=cause.since_time_ms,
                since_before_ms=cause.since_before_ms,
                effects=tuple(counts.items()),
                command=next_command(cause.problem, str(cause.broker)),
            )
            for cause, counts in effects
            if cause.problem != ELECTION
        ),
        # A partition has one preferred leader.
        elections=sum(
            sum(counts.values()) for cause, counts in effects if cause.problem == ELECTION
        ),
        lowered=tuple(lowered),
    )


def lowered_of(problem: Problem) -> Iterator[LoweredVerdict]:
    """The topics of a problem of the kind ``lowered-config``."""
    for name, detail in zip(problem.names.to_pylist(), problem.details, strict=True):
        yield LoweredVerdict(topic=name, how=detail or "")


def _partitions(n: int) -> str:
    return f"{n:,} partition{'s' * (n != 1)}"


def _since_text(cause: CauseVerdict) -> str:
    """Since when, and by which record; empty where that is not known."""
    if cause.since_before_ms is not None:
        return f" since {AT_OR_BEFORE}{iso_time(cause.since_before_ms)}"
    if cause.since_time_ms is None:
        return ""
    return f" since {iso_time(cause.since_time_ms)} (offset {cause.since_offset})"
