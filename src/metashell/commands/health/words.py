"""What ``health`` says in words: causes, what follows from each, and lowered configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from metashell.answers.causes import EFFECTS, ELECTION, Cause
from metashell.answers.problems import Problem
from metashell.commands.health.rows import next_command
from metashell.schema.timestamps import iso_time

LOWERED: Final = "lowered for "
"""How the line of a lowered config begins."""
_MOST_CAUSES: Final = 10
"""Causes that are told one by one; the rows have all."""
_MOST_CONFIGS: Final = 3
"""Resources with lowered configs that are told one by one; the rows have all."""


def cause_lines(effects: Sequence[tuple[Cause, Mapping[str, int]]]) -> Iterator[str]:
    """A line for each cause, such as ``broker 104 is fenced: 3 partitions offline``.

    Due elections have one line together.

    Args:
        effects: As `metashell.answers.problems.Problems.effects` gives them.
    """
    down = [effect for effect in effects if effect[0].problem != ELECTION]
    for cause, counts in down[:_MOST_CAUSES]:
        (first, n), *others = counts.items()
        told = [f"{_partitions(n)} {EFFECTS[first]}"]
        told += [f"{count:,} {EFFECTS[code]}" for code, count in others]
        yield f"{cause.words}{since_text(cause)}: {', '.join(told)}"
        yield f"  next: {next_command(cause.problem, str(cause.broker))}"
    if len(down) > _MOST_CAUSES:
        yield f"{len(down) - _MOST_CAUSES:,} more causes: see the column `causes`"
    # A partition has one preferred leader.
    due = sum(sum(counts.values()) for cause, counts in effects if cause.problem == ELECTION)
    if due:
        yield f"an election of preferred leaders is due: {_partitions(due)}"


def lowered_lines(problem: Problem) -> Iterator[str]:
    """A line for each topic, such as ``lowered for topic pay: min.insync.replicas from 2 to 1``.

    Args:
        problem: Of the kind ``lowered-config``.
    """
    told = list(zip(problem.names.to_pylist(), problem.details, strict=True))
    for name, detail in told[:_MOST_CONFIGS]:
        yield f"{LOWERED}topic {name}: {detail}"
    if len(told) > _MOST_CONFIGS:
        yield f"{len(told) - _MOST_CONFIGS:,} more topics with lowered configs: see the rows"


def _partitions(n: int) -> str:
    return f"{n:,} partition{'s' * (n != 1)}"


def since_text(cause: Cause) -> str:
    """Since when, and by which record; empty where that is not known."""
    if cause.since_time_ms is None:
        return ""
    return f" since {iso_time(cause.since_time_ms)} (offset {cause.since_offset})"
