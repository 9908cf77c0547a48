"""The answer of ``health``: its problems in order, with the verdict on each cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from metashell.answers.problem_kinds import KINDS, LEVELS
from metashell.answers.problems import Problems
from metashell.commands.framework.command import Context, TableOutput, VerdictOutput
from metashell.commands.framework.options import Parsed
from metashell.commands.health.log_problems import (
    find_deeply,
    find_in_assumed,
    find_in_log,
    find_in_quorum,
    of_lost,
)
from metashell.commands.health.rows import (
    grouped,
    in_order,
    of_problem,
    of_single,
    summary_of,
    told_count,
    worst_first,
)
from metashell.commands.health.verdict import LoweredVerdict, lowered_of, verdict_of
from metashell.commands.nodes import ghost_after
from metashell.commands.quorum.report import voters_now
from metashell.commands.rows.columns import CLUSTER, Column
from metashell.commands.rows.fleet import answers, with_cluster
from metashell.commands.rows.output import write_rows
from metashell.commands.rows.query import RowsQuery, status_after
from metashell.commands.rows.stream import table_of_values
from metashell.commands.shared.assume_option import assumptions_of
from metashell.errors import ExitCode, NoLeaderError, UsageError
from metashell.fs.escape import escape
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    from metashell.answers.problems import Problem
    from metashell.commands.health.command import HealthCommand


def write_problems(command: HealthCommand, context: Context, parsed: Parsed) -> int:
    """Write the verdict for people, and the rows; returns the exit status."""
    _chosen(parsed)
    columns = command.columns_of(parsed)
    is_fleet = context.fleet is not None
    if is_fleet:
        columns = (CLUSTER, *columns)
    shape = command.shape_of(parsed, columns)
    in_words = shape.form == "table" and not shape.count
    tables, status = [], int(ExitCode.OK)
    for answered in answers(context, command, parsed, shape.looked_at()):
        name = answered.cluster
        prefix = "" if name is None else f"{name}: "
        if in_words:
            context.out.write("".join(escape(prefix + t) + "\n" for t in answered.verdict))
            if isinstance(context.out, VerdictOutput):
                context.out.take_verdict(answered.verdict)
        tables.append(with_cluster(answered))
        status = max(status, answered.status)
    table = _of_all(tables, columns, is_sorted=bool(shape.sort))
    if in_words and not len(table) and "--exit-code" not in parsed.switches:
        # A head without rows would say nothing, but to who takes the table itself.
        return _take_nothing(context, table, shape.columns) or status
    n_rows = write_rows(context, table, shape)
    return status_after(parsed, n_rows, status)


def answer(query: RowsQuery) -> None:
    """Add the problems asked for."""
    codes = _chosen(query.parsed)
    level = _level(query.parsed)
    asked = _asked(codes, level)
    lowered: list[LoweredVerdict] = []

    def look(problem: Problem) -> None:
        if problem.kind.code == "lowered-config":
            lowered.extend(lowered_of(problem))

    if query.context.lost is not None:
        parts, effects = [_of_lost(query, query.context.lost, asked)], []
    else:
        problems = _problems(query)
        parts = list(_of_image(query, problems, asked, look))
        effects = problems.effects(asked)
        # The findings of all partitions are freed before the rest is read and the rows are sorted.
        del problems
        parts += _of_others(query, codes, asked)
    # A problem of a quorum or of files can be worse than its kind.
    parts = [part for part in parts if part[0][0] <= LEVELS.index(level)]
    is_critical = any(rank == 0 and len(table) for (rank, _), table in parts)
    # Handed over, so that what is sorted takes the place of what was not.
    rows = in_order(parts.pop(0) for _ in range(len(parts)))
    counts = summary_of(rows)
    query.verdict = verdict_of(
        _how_it_is(query, counts, is_all=codes is None and level == "note"),
        effects,
        lowered,
    )
    if is_critical:
        query.status = ExitCode.FAILED
    query.add(counts if "--summary" in query.parsed.switches else rows)


def _chosen(parsed: Parsed) -> frozenset[str] | None:
    """The kinds asked for; None for all.

    Raises:
        UsageError: There is none of that name.
    """
    _level(parsed)
    for word in parsed.arguments:
        if word not in KINDS:
            hint = did_you_mean(near_names(word, KINDS, 1)) or f"the kinds are {', '.join(KINDS)}"
            raise UsageError(f"{word}: no such problem", hint=hint)
    return frozenset(parsed.arguments) or None


def _level(parsed: Parsed) -> str:
    level: str = parsed.values.get("--severity", LEVELS[-1])
    if level not in LEVELS:
        raise UsageError(f"--severity {level}: not one of {', '.join(LEVELS)}")
    return level


def _problems(query: RowsQuery) -> Problems:
    return Problems(
        query.image,
        query.source.redaction,
        assumptions_of(query.parsed),
        voters=voters_now(query),
        ghost_after_ms=ghost_after(query.parsed),
        now_ms=query.now_ms,
        detail="--detail" in query.parsed.switches,
    )


def _asked(chosen: frozenset[str] | None, level: str) -> list[str]:
    """The kinds of those chosen that are of a level or worse."""
    rank = LEVELS.index(level)
    return [
        code
        for code, kind in KINDS.items()
        if (chosen is None or code in chosen) and LEVELS.index(kind.level.value) <= rank
    ]


def _of_image(
    query: RowsQuery,
    problems: Problems,
    asked: Sequence[str],
    look: Callable[[Problem], None],
) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    """Rows of an image's problems, and where they stand; each problem is shown to `look`."""
    columns = query.columns
    if "--summary" in query.parsed.switches:
        columns = frozenset({"severity", "problem", "count", "since_time", "explanation", "action"})
    elif columns is not None:
        columns |= {"severity", "problem", "subject", "count", "causes"}
    for problem in problems.find(asked):
        if query.context.cancelled():
            raise KeyboardInterrupt
        look(problem)
        yield of_problem(problem, columns)


def _of_lost(
    query: RowsQuery, error: NoLeaderError, asked: Sequence[str]
) -> tuple[tuple[int, int], pa.Table]:
    """The row of a quorum of which no leader answers, and where it stands.

    Raises:
        NoLeaderError: Something else is asked for.
    """
    single = of_lost(error)
    if single.kind.code not in asked:
        raise error
    query.remarks += [error.message, *([] if error.hint is None else [error.hint])]
    query.remarks.append("the quorum alone was judged: no metadata could be fetched")
    return of_single(single)


def _of_others(
    query: RowsQuery, chosen: frozenset[str] | None, asked: Sequence[str]
) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    """Rows of problems of files, the log, the quorum and coordinators, and where they stand."""
    parsed = query.parsed
    found = [*find_in_log(query), *find_in_quorum(query.source), *find_in_assumed(query)]
    if query.source.has_coordinator_logs:
        from metashell.commands.health.coordinator_problems import find_in_coordinators

        found += find_in_coordinators(query, asked)
    if "--deep" in parsed.switches:
        found += find_deeply(query)
    for single in found:
        if chosen is None or single.kind.code in chosen:
            yield of_single(single)


def _how_it_is(query: RowsQuery, counts: pa.Table, *, is_all: bool) -> Sequence[str]:
    """How it is: a line for each severity."""
    found: dict[str, list[str]] = {level: [] for level in LEVELS}
    # Without times: one may be outside of Python's calendar.
    for row in counts.drop_columns(["since_time"]).to_pylist():
        found[row["severity"]].append(f"{row['problem']} ({told_count(row):,})")
    told = [f"{level}: {', '.join(kinds)}" for level, kinds in found.items() if kinds]
    if found["critical"] or found["warning"] or (told and not is_all):
        return told
    nothing = "nothing is wrong" if is_all else "no problem of these kinds"
    # The base alone: what the words say is what was looked at.
    image = query.image
    n = len(image.partitions), len(image.brokers.ids)
    looked_at = f"{n[0]:,} partition{'s' * (n[0] != 1)}, {n[1]:,} broker{'s' * (n[1] != 1)}"
    return [f"{nothing}: {looked_at}", *told]


def _of_all(tables: Sequence[pa.Table], columns: Sequence[Column], *, is_sorted: bool) -> pa.Table:
    """The rows of all clusters, the worst first."""
    if not tables:
        return table_of_values(columns, {})
    if len(tables) == 1:
        return tables[0]
    table = pa.concat_tables(tables)
    if is_sorted:
        return table
    table = worst_first(table)
    return grouped(table) if "causes" in table.column_names else table


def _take_nothing(context: Context, table: pa.Table, columns: Sequence[str]) -> int:
    if isinstance(context.out, TableOutput):
        context.out.take(table.select(list(columns)))
    return ExitCode.OK
