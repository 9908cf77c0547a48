"""The answer of ``health`` about a view state, sorted for its view. No widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.health.paragraphs import HealthVerdict
from metashell.commands.health.rows import summary_of
from metashell.commands.rows.cell_text import plain_texts
from metashell.dataclass import dataclass
from metashell.findings.kind import SEVERITIES, Need
from metashell.findings.known import all_kinds
from metashell.sources.older import is_unread, read_older
from metashell.tui.text import seconds_text
from metashell.tui.view_state import CommandAnswer, ViewState, ask
from metashell.tui.views.question import ViewAnswer

SYMBOLS: Final = dict(zip(SEVERITIES, ("●", "▲", "·"), strict=True))
EVERY: Final = ""
"""Stands for all kinds."""
_COLUMNS: Final = (
    "cluster",
    "subject",
    "code",
    "severity",
    "count",
    "since_time",
    "why",
    "partitions",
    "since_offset",
    "since_before",
    "causes",
    "path",
    "command",
    "explanation",
    "action",
)
"""The columns of a row. Columns that tell rows apart come first."""
_MOST_TOLD: Final = 2
"""Causes and lowered configs that are told above the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthAnswer(ViewAnswer):
    """The answer of ``health`` about a view state."""

    said: str
    """How it is, a line a cluster."""
    verdict: HealthVerdict | None = None
    """The state as data; None for a fleet, and without an answer."""
    found: pa.Table
    """All rows, the worst first."""
    kinds: Sequence[Mapping[str, Any]] = ()
    """A row for each kind; see `summary_of`."""
    warnings: Sequence[str] = ()
    lacks_times: bool = False
    """Whether older files were not read that tell more."""
    is_deep: bool = False
    """Whether `check` ran, too."""

    def of_kind(self, code: str) -> pa.Table:
        """The rows of a kind, or of `EVERY`. None is kept: of all together there may be 100 MB."""
        if code == EVERY:
            return self.found
        return self.found.filter(pc.equal(plain_texts(self.found.column("code")), code))


def ask_health(
    view_state: ViewState, *, is_deep: bool, reads_older: bool, cancelled: Callable[[], bool]
) -> HealthAnswer:
    """Ask `health` about a view state; to be called in a job.

    Args:
        view_state: A cluster, or of a fleet all of them.
        is_deep: Whether it runs every check.
        reads_older: Whether to wait for older files, which tell since when.
        cancelled: Asked by long loops.
    """
    cluster = view_state.cluster
    # A fleet asks each cluster elsewhere, and slow checks run once: both read older files at once.
    reads_older = reads_older or is_deep or cluster is None
    words = ["health", "-o", "table", "--columns", "all", *(["--deep"] if is_deep else [])]
    answer = ask(
        view_state,
        words,
        cwd=view_state.prefix or "/",
        cancelled=cancelled,
        reads_older=reads_older,
    )
    found = _found_in(answer, in_cluster=cluster is not None)
    lacks_times = not reads_older and cluster is not None and is_unread(cluster)
    return replace(found, lacks_times=lacks_times, is_deep=is_deep)


def ask_with_times(view_state: ViewState, cancelled: Callable[[], bool]) -> HealthAnswer:
    """Ask `health` once older files are read; to be called in a job."""
    if view_state.cluster is not None:
        read_older(view_state.cluster, cancelled)
    return ask_health(view_state, is_deep=False, reads_older=True, cancelled=cancelled)


def _found_in(answer: CommandAnswer, *, in_cluster: bool) -> HealthAnswer:
    """Sort the rows of an answer with all columns."""
    verdicts = [v for v in answer.verdicts if isinstance(v, HealthVerdict)]
    rows = pa.table({}) if answer.table is None else answer.table
    names = [name for name in _COLUMNS if name in rows.column_names]
    if in_cluster and "cluster" in names:
        names.remove("cluster")
    found = HealthAnswer(
        title="",
        rows={},
        said="\n".join(verdict.nothing for verdict in verdicts),
        verdict=verdicts[0] if in_cluster and verdicts and answer.table is not None else None,
        found=rows.select(names),
        warnings=answer.warnings,
    )
    if not len(rows):
        return found
    # Without times: one may be outside of Python's calendar.
    summary = summary_of(found.found)
    is_time = [pa.types.is_timestamp(field.type) for field in summary.schema]
    kinds = summary.drop_columns(list(compress(summary.column_names, is_time))).to_pylist()
    return replace(found, kinds=kinds)


def in_short(found: HealthAnswer, *, check_runs: bool = False) -> str:
    """The state, and the result of `check`, in as few words as fit above the kinds themselves.

    Args:
        found: The answer of ``health``.
        check_runs: Whether `check` is looking for more.
    """
    of_check = "check runs: escape cancels" if check_runs else _of_check(found)
    levels = [kind["severity"] for kind in found.kinds]
    if not set(SEVERITIES[:2]).intersection(levels):
        return "\n".join(text for text in (of_check, found.said) if text)
    told = [
        f"{SYMBOLS[level]} {n} {level}{'s' * (n != 1 and level != SEVERITIES[0])}"
        for level in SEVERITIES
        if (n := levels.count(level))
    ]
    told.append(of_check or "(kinds of findings)")
    return "\n".join(("  ".join(told), *_reasons(found)))


def _of_check(found: HealthAnswer) -> str:
    """How much `check` found that `health` does not know; empty where it did not run."""
    if not found.is_deep:
        return ""
    kinds = all_kinds()
    deep = (kind for kind in found.kinds if kinds[kind["code"]].needs is Need.FILES)
    n = sum(kind["subjects"] for kind in deep)
    return f"check found {n:,} more finding{'s' * (n != 1)}" if n else "check found nothing more"


def _reasons(found: HealthAnswer) -> Sequence[str]:
    """A line for each of the first causes and lowered configs; their effects are in the rows."""
    verdict = found.verdict
    # A fleet's clusters have reasons of their own, more than there is room for.
    if verdict is None:
        return ()
    told = [one for one in verdict.paragraphs if one.causes or "lowered-config" in one.codes]
    return [one.causes[0] if one.causes else one.headline for one in told[:_MOST_TOLD]]


def why_text(row: Mapping[str, Any]) -> str:
    """Why a row is there, in a line: what says it, and the rows that it follows from."""
    told = [f"why: {row['why']}"] if row["why"] else []
    # The reasons of other findings name the causes already.
    if row["causes"] and (not told or row["code"] == "offline-partitions"):
        told.append(f"follows from: {', '.join(row['causes'])}")
    return " · ".join(told)


def subject_text(row: Mapping[str, Any]) -> str:
    """A row's subject in a line: the finding, the subject, its partitions, and the start."""
    parts = [str(row["code"]), str(row["subject"])]
    parts += [f"partitions {row['partitions']}"] if row["partitions"] else []
    if row["since_offset"] is not None:
        time = "" if row["since_time"] is None else f" {seconds_text(row['since_time'])}"
        parts.append(f"since {row['since_offset']}{time}")
    return " · ".join(parts)
