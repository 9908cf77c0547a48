"""``health``: everything that is wrong with a cluster, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.answers.problem_kinds import KINDS, LEVELS
from metashell.commands.framework.command import (
    Completion,
    Context,
    Manual,
)
from metashell.commands.framework.completion import takes_value
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.commands.health.columns import COLUMNS, SUMMARY
from metashell.commands.nodes import GHOST_AFTER
from metashell.commands.rows.columns import AnswerTable, Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.assume_option import ASSUME
from metashell.read_settings import OLDER_BYTES

_LEVEL: Final = Option(
    ("--severity",),
    "Only problems of that level and worse: critical, warning or note (the default).",
    "LEVEL",
    LEVELS,
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
        """The columns of the rows, or of a summary if one is asked for."""
        return SUMMARY if "--summary" in parsed.switches else COLUMNS

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Tell people in words how it is first; machines get rows alone."""
        from metashell.commands.health.answer import write_problems

        return write_problems(self, context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """Add the problems asked for."""
        from metashell.commands.health.answer import answer

        answer(query)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose kinds of problems."""
        before = args[-1] if args else ""
        if word.startswith("-") or takes_value(self.manual.options, before) is not None:
            return super().complete(context, args, word)
        return [
            Completion(code, -len(word), code, kind.meaning)
            for code, kind in KINDS.items()
            if code.startswith(word)
        ]


COMMAND = HealthCommand()
