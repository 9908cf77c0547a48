"""``health``: everything that is wrong with a cluster, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import (
    Completion,
    Context,
    Manual,
    TableOutput,
    VerdictOutput,
)
from metashell.commands.framework.completion import takes_value
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.commands.health.columns import COLUMNS, SUMMARY
from metashell.commands.nodes import GHOST_AFTER, ghost_after, voters_now
from metashell.commands.rows.columns import CLUSTER, AnswerTable, Column
from metashell.commands.rows.command import RowsCommand, status_after
from metashell.commands.rows.fleet import answers, with_cluster
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.read_settings import OLDER_BYTES
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from metashell.answers.problems import Problem, Problems
    from metashell.errors import NoLeaderError

_LEVELS: Final = ("critical", "warning", "note")
_LEVEL: Final = Option(
    ("--severity",),
    "Only problems of that level and worse: critical, warning or note (the default).",
    "LEVEL",
    _LEVELS,
)
_DETAIL: Final = Option(("--detail",), "Print a row for each partition instead of each topic.")
_SUMMARY: Final = Option(("--summary",), "Print a row for each kind of problem.")
_DEEP: Final = Option(
    ("--deep",),
    "Run `check` too, with all its files, and print what it finds. Takes as long as `check`.",
)


class HealthCommand(RowsCommand):
    """Everything that is wrong."""

    group = "what is wrong"
    name = "health"
    summary = "Show everything that is wrong with the cluster, the worst first."
    tables = (AnswerTable("", COLUMNS), AnswerTable("--summary", SUMMARY))
    takes_paths = False
    of_each_cluster = True
    judges_lost_quorum = True
    manual = Manual(
        synopsis="health [OPTION...] [PROBLEM...]",
        description=(
            "Lists problems of partitions, brokers, controllers, configs, files and the quorum. "
            "Causes come first with their effects below, the worst first. PROBLEM chooses kinds. "
            "Each topic has one row for each kind of problem, with the number of its partitions. "
            "The numbers are those of kafka-topics.sh. A partition can have several problems.\n\n"
            "A problem is listed below its cause, and `causes` names it: a broker "
            "is fenced, so partitions are offline or under-replicated. A line for each cause says "
            "since when, by which record, and how many partitions follow.\n\n"
            "critical: clients fail, or data or metadata is lost. The kinds are "
            "offline-partitions, coordinator-offline, coordinator-refuses, hanging-transaction, "
            "under-min-isr, quorum-unreachable, quorum-no-leader, file-damaged, file-malformed, "
            "offset-gap, record-undecodable and replay-fault.\n\n"
            "warning: clients fail after one more failure, or someone has to act. The kinds are "
            "under-replicated, at-min-isr, unclean-possible, recovering, lost-directory, "
            "offline-directory, unregistered-broker, fenced-broker, reassignment-stuck, "
            "leftover-throttle, offsets-of-earlier-topic, voter-lagging, observer-lagging, "
            "unregistered-voter, quorum-disagreement, open-transaction, file-missing, "
            "file-unreadable and record-unknown. A quorum-disagreement and a file-unreadable can "
            "be critical too.\n\n"
            "note: worth knowing. The kinds are controlled-shutdown, elr-in-use, reassigning, "
            "no-spare-replica, no-preferred-leader, preferred-election-due, "
            "ignored-static-voters, ghost-registration, older-release, lowered-config, "
            "offsets-of-gone-topic, offsets-expiring, hot-coordinator-partition, "
            "config-of-gone-resource, unknown-config, quorum-not-described and torn-tail.\n\n"
            "`health --summary -o json` prints what each kind means and what to do.\n\n"
            "since_time is when the problem began. It is the time of the record that last set the "
            "leader (offline-partitions) or the ISR (under-replicated). Of under-min-isr it can "
            "also be the time when min.insync.replicas rose above the ISR. Older files "
            f"of up to {OLDER_BYTES >> 20} MB tell times that the newest checkpoint hides; "
            "--history reads larger ones too. At an earlier offset, health does not look at the "
            "quorum and the files beside the log.\n\n"
            "What concerns groups, offsets and transactions is told of a broker's log directory, "
            "as far as it has the coordinators' logs. A transaction hangs here if it is older than "
            "transaction.max.timeout.ms. Times count to the end of the logs.\n\n"
            "A voter or observer lags if it was not caught up for 10 s. If its times are not "
            "known, it lags from 1000 offsets on.\n\n"
            "If no leader of a live quorum answers, only quorum-no-leader or quorum-unreachable is "
            "told: nothing is known of the rest.\n\n"
            "The exit status is 1 if something is critical, else 0. With --exit-code it is 1 if "
            "there is any row."
        ),
        options=(_LEVEL, _DETAIL, _SUMMARY, _DEEP, GHOST_AFTER, ASSUME, HISTORY),
        examples=(
            ("health", "everything, the worst first"),
            ("health --summary", "a row for each kind of problem"),
            ("health --severity critical", "only what makes clients fail"),
            ("health offline-partitions --detail", "one kind, partition by partition"),
            ("health -o jsonl --columns problem,subject,path,action", "for a script"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Those of a summary where one is asked for."""
        return SUMMARY if "--summary" in parsed.switches else COLUMNS

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Tell people in words how it is first; machines get rows alone."""
        from metashell.commands.rows.output import write_rows

        _chosen(parsed)
        columns = self.columns_of(parsed)
        is_fleet = context.fleet is not None
        if is_fleet:
            columns = (CLUSTER, *columns)
        shape = self.shape_of(parsed, columns)
        in_words = shape.form == "table" and not shape.count
        tables, status = [], int(ExitCode.OK)
        for answered in answers(context, self, parsed, shape.looked_at()):
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

    def answer(self, query: RowsQuery) -> None:
        """The problems asked for."""
        from metashell.commands.health.rows import in_order, summary_of
        from metashell.commands.health.verdict import LoweredVerdict, lowered_of, verdict_of

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
            # What was found out of all partitions goes before the rest, and before rows are in
            # order.
            del problems
            parts += _of_others(query, codes, asked)
        # Of a quorum and of files a problem can be worse than its kind is.
        parts = [part for part in parts if part[0][0] <= _LEVELS.index(level)]
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

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose kinds of problems."""
        from metashell.answers.problem_kinds import KINDS

        before = args[-1] if args else ""
        if word.startswith("-") or takes_value(self.manual.options, before) is not None:
            return super().complete(context, args, word)
        return [
            Completion(code, -len(word), code, kind.meaning)
            for code, kind in KINDS.items()
            if code.startswith(word)
        ]


def _chosen(parsed: Parsed) -> frozenset[str] | None:
    """The kinds asked for; None for all.

    Raises:
        UsageError: There is none of that name.
    """
    from metashell.answers.problem_kinds import KINDS

    _level(parsed)
    for word in parsed.arguments:
        if word not in KINDS:
            hint = did_you_mean(near_names(word, KINDS, 1)) or f"the kinds are {', '.join(KINDS)}"
            raise UsageError(f"{word}: no such problem", hint=hint)
    return frozenset(parsed.arguments) or None


def _level(parsed: Parsed) -> str:
    level: str = parsed.values.get("--severity", _LEVELS[-1])
    if level not in _LEVELS:
        raise UsageError(f"--severity {level}: not one of {', '.join(_LEVELS)}")
    return level


def _problems(query: RowsQuery) -> Problems:
    from metashell.answers.problems import Problems

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
    from metashell.answers.problem_kinds import KINDS

    rank = _LEVELS.index(level)
    return [
        code
        for code, kind in KINDS.items()
        if (chosen is None or code in chosen) and _LEVELS.index(kind.level.value) <= rank
    ]


def _of_image(
    query: RowsQuery,
    problems: Problems,
    asked: Sequence[str],
    look: Callable[[Problem], None],
) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    """Rows of an image's problems, and where they stand; each problem is shown to `look`."""
    from metashell.commands.health.rows import of_problem

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
    from metashell.commands.health.log_problems import of_lost
    from metashell.commands.health.rows import of_single

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
    from metashell.commands.health.log_problems import (
        find_deeply,
        find_in_assumed,
        find_in_log,
        find_in_quorum,
    )
    from metashell.commands.health.rows import of_single

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
    from metashell.commands.health.rows import told_count

    found: dict[str, list[str]] = {level: [] for level in _LEVELS}
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
    import pyarrow as pa

    from metashell.commands.health.rows import grouped, worst_first
    from metashell.commands.rows.stream import table_of_values

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


COMMAND = HealthCommand()
