"""The answer of ``health`` about a view state: findings, and the rows of each. No widget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from textual.content import Content

from metashell.commands.health.paragraphs import HealthVerdict, Paragraph
from metashell.commands.health.rows import summary_of, told_count
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.columns import text
from metashell.dataclass import dataclass
from metashell.findings.kind import SEVERITIES, Need
from metashell.findings.known import all_kinds
from metashell.schema.arena import I64
from metashell.sources.older import is_unread
from metashell.tui.text import line, seconds_text
from metashell.tui.view_state import CommandAnswer, ask
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource

_SYMBOLS: Final = dict(zip(SEVERITIES, ("●", "▲", "·"), strict=True))
_MARK: Final = text("mark", "", red=(_SYMBOLS["critical"],), yellow=(_SYMBOLS["warning"],))
_SHOWN: Final = ("mark", "finding")
_COLUMNS: Final = (
    *("cluster", "subject", "code", "severity", "count", "since_time", "why", "partitions"),
    *("since_offset", "since_before", "causes", "path", "command", "explanation", "action"),
)
"""The columns of a row. Columns that tell rows apart come first."""
_FIRST: Final = ("mark", "code", "cluster", "subject", "partitions", "why", "since_time", "count")
"""Columns that are shown at first. The first has the severity's colour."""
_OF_WORST: Final = (("cluster", pa.string()), ("path", pa.string()), ("since_offset", pa.int64()))
"""Columns of the worst row of a finding."""
_TEXTS: Final = pa.list_(pa.string())
_SCHEMA: Final = (
    *((name, pa.string()) for name in ("code", "mark", "finding", "command")),
    *(("labels", _TEXTS), ("texts", _TEXTS), ("group", pa.int64()), *_OF_WORST),
)
FINDINGS, ROWS = "findings", "rows"
"""The tables: what is wrong, and the rows of one of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthAnswer(ViewAnswer):
    """The answer of ``health`` about a view state."""

    found: pa.Table
    """All rows, the worst first."""
    groups: Sequence[I64] = ()
    """By finding, its rows; the column ``group`` says which."""
    warnings: Sequence[str] = ()
    lacks_times: bool = False
    """Whether older files were not read that tell more."""
    is_deep: bool = False
    """Whether `check` ran, too."""

    def rows_of(self, finding: Mapping[str, Any]) -> pa.Table:
        """The rows of a finding. None is kept: of all together there may be 100 MB."""
        return self.found.take(pa.array(self.groups[finding["group"]]))


def ask_health(
    question: ViewQuestion, *, is_deep: bool = False, reads_older: bool = False
) -> HealthAnswer:
    """Ask `health`; to be called in a job.

    Args:
        question: A cluster, or of a fleet all of them.
        is_deep: Whether it runs every check.
        reads_older: Whether to wait for older files, which tell since when.
    """
    view_state, cancelled = question.view_state, question.job.cancelled
    cluster = view_state.cluster
    # A fleet asks each cluster elsewhere, and slow checks run once: both read older files at once.
    reads_older = reads_older or is_deep or cluster is None
    words = ["health", "-o", "table", "--columns", "all", *(["--deep"] if is_deep else [])]
    cwd = view_state.prefix or "/"
    answer = ask(view_state, words, cwd=cwd, cancelled=cancelled, reads_older=reads_older)
    found = _found_in(answer, None if cluster is not None else view_state.fleet, is_deep=is_deep)
    lacks_times = not reads_older and cluster is not None and is_unread(cluster)
    return replace(found, lacks_times=lacks_times)


def _found_in(answer: CommandAnswer, fleet: FleetSource | None, *, is_deep: bool) -> HealthAnswer:
    """Make findings of an answer with all columns, about a cluster or all of a fleet."""
    verdicts = [v for v in answer.verdicts if isinstance(v, HealthVerdict)]
    rows = pa.table({}) if answer.table is None else answer.table
    left_out = {"cluster"} if fleet is None else set()
    rows = rows.select([n for n in _COLUMNS if n in rows.column_names and n not in left_out])
    if fleet is None:
        told = [_of_paragraph(one) for one in (verdicts[0].paragraphs if verdicts else ())]
    else:
        told = list(_of_kinds(rows, fleet)) if len(rows) else []
    counts = Counter(one["severity"] for one in told)
    n_told = [
        f"{_SYMBOLS[one]} {_counted(counts[one], one)}" for one in SEVERITIES if one in counts
    ]
    if fleet is None and not set(SEVERITIES[:2]).intersection(counts) and verdicts:
        n_told.insert(0, verdicts[0].nothing)
    elif not counts and verdicts:
        n_told = ["nothing is wrong"]
    title, words = "  ".join(n_told), [_of_check(rows)] if is_deep and len(rows) else []
    if not title:
        title, words = "health is not available", [*answer.warnings]
    tables = {FINDINGS: _findings(told, rows), ROWS: ViewRows(table=rows, first=_FIRST)}
    return HealthAnswer(
        title=title,
        words=words,
        rows=tables if len(rows) else {},
        found=rows,
        groups=[*(one["at"] for one in told), np.arange(len(rows))],
        warnings=answer.warnings,
        is_deep=is_deep,
    )


def coloured_counts(text: str) -> Content:
    """A title, in which the signs of severities have the colours that they have in rows."""
    title = line(text)
    for severity, style in (("critical", "$text-error"), ("warning", "$text-warning")):
        title = title.highlight_regex(_SYMBOLS[severity], style=style)
    return title


def _counted(n: int, severity: str) -> str:
    return f"{n:,} {severity}{'s' * (n != 1 and severity != SEVERITIES[0])}"


_Told: TypeAlias = "dict[str, Any]"
"""A finding as a row of `_findings`; ``at`` has its rows."""


def _of_paragraph(one: Paragraph) -> _Told:
    """A finding as the command words it."""
    more = f" (+{len(one.more)})" if one.more else ""
    told = {"": "; ".join((one.headline, *one.more))}
    told |= {label: "; ".join(texts) for label, texts in one.told if label and texts}
    return _told(one.severity.value, one.codes[0], one.headline + more, told, one.rows,
                 next(iter(one.see), None))  # fmt: skip


def _of_kinds(rows: pa.Table, fleet: FleetSource) -> Iterator[_Told]:
    """A finding for each kind of the rows of several clusters."""
    codes = plain_texts(rows.column("code"))
    names = ("severity", "code", "subjects", "count", "explanation", "action")
    for kind in summary_of(rows).select(names).to_pylist():
        told = {"": str(kind["explanation"]), "do": str(kind["action"])}
        at = np.flatnonzero(pc.equal(codes, kind["code"]))
        headline = f"{kind['code']}  {_count_text(rows.take(pa.array(at)), fleet)}"
        yield _told(kind["severity"], kind["code"], headline, told, at)


def _count_text(rows: pa.Table, fleet: FleetSource) -> str:
    """How much the rows of a kind count; copies of a cluster tell of the same things."""
    of_clusters: dict[str, list[int]] = {}
    for name in pc.unique(rows["cluster"]).to_pylist():
        member = fleet.members.get(name)
        cluster_id = None if member is None else member.cluster_id
        (kind,) = summary_of(rows.filter(pc.equal(rows["cluster"], name))).to_pylist()
        of_clusters.setdefault(cluster_id or name, []).append(told_count(kind))
    n, n_clusters = sum(map(max, of_clusters.values())), len(of_clusters)
    n_copies = sum(map(len, of_clusters.values()))
    if n_copies == n_clusters:
        return f"{n:,}"
    most = "at most " if any(len(set(counts)) > 1 for counts in of_clusters.values()) else ""
    return f"{most}{n:,} of {n_clusters:,} cluster{'s' * (n_clusters > 1)}, in {n_copies:,} copies"


def _told(
    severity: str,
    code: str,
    finding: str,
    told: Mapping[str, str],
    at: I64,
    command: str | None = None,
) -> _Told:
    labels, texts = list(told), list(told.values())
    return {"severity": severity, "code": code, "mark": _SYMBOLS[severity], "finding": finding,
            "command": command, "labels": labels, "texts": texts, "at": at}  # fmt: skip


def _findings(told: Sequence[_Told], rows: pa.Table) -> ViewRows:
    """The findings as rows, and behind them all rows together."""
    listed, of_worst = list[_Told](), [n for n, _ in _OF_WORST if n in rows.column_names]
    codes = plain_texts(rows["code"]) if told else None
    for group, one in enumerate(told):
        at = one["at"]
        worst = rows.slice(int(at[pc.index(codes.take(at), one["code"]).as_py()]), 1)  # type: ignore[union-attr]
        values = {name: worst[name][0].as_py() for name in of_worst}
        listed.append({**one, **values, "group": group})
    listed.append({"code": "", "mark": "", "finding": f"all {len(rows):,} rows", "command": "",
                   "labels": [], "texts": [], "group": len(told)})  # fmt: skip
    names = {name for name, _ in _OF_WORST}.difference(of_worst)
    schema = pa.schema([field for field in _SCHEMA if field[0] not in names])
    table = pa.Table.from_pylist(listed, schema=schema)
    return ViewRows(table=with_colours(table, [_MARK]), first=_SHOWN)


def marks_of(rows: pa.Table) -> list[str]:
    """The sign of the severity of each row."""
    return [_SYMBOLS[severity] for severity in rows["severity"].to_pylist()]


def _of_check(rows: pa.Table) -> str:
    """How much `check` found that `health` does not know."""
    kinds = all_kinds()
    codes = pc.value_counts(plain_texts(rows.column("code"))).to_pylist()
    n = sum(one["counts"] for one in codes if kinds[one["values"]].needs is Need.FILES)
    return f"check found {n:,} more finding{'s' * (n != 1)}" if n else "check found nothing more"


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
