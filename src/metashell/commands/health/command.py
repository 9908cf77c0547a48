"""``health``: everything that is wrong with a cluster, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import (
    Completion,
    Context,
    Manual,
)
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.health.columns import (
    CLUSTERS,
    CLUSTERS_FLAG,
    COLUMNS,
    SUMMARY,
    SUMMARY_FLAG,
)
from metashell.commands.nodes import GHOST_AFTER
from metashell.commands.rows.columns import AnswerTable
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, METRICS, VERBOSE, form_of
from metashell.commands.shared.assume_option import ASSUME
from metashell.errors import UsageError
from metashell.findings.kind import SEVERITIES
from metashell.findings.kinds.instability import MOST_PER_HOUR
from metashell.findings.known import all_kinds
from metashell.read_settings import OLDER_BYTES

_KIND: Final = ("severity", "code")
_LEVEL: Final = Option(
    ("--severity",),
    "Only findings of that severity and worse: critical, warning or note (the default).",
    "LEVEL",
    SEVERITIES,
)
_SUBJECTS: Final = Option(VERBOSE.flags, "Print a row for each subject behind the words.")
_EXIT_CODE: Final = Option(
    ("--exit-code",), "Exit with 1 if there is any finding, or if the answer is not complete."
)
_DETAIL: Final = Option(("--detail",), "Print a row for each partition instead of each topic.")
_SUMMARY: Final = Option((SUMMARY_FLAG,), "Print a row for each kind of finding.")
_CLUSTERS: Final = Option((CLUSTERS_FLAG,), "Print a row for each cluster, the worst first.")
_PER_HOUR: Final = Option(
    ("--per-hour",),
    "Tell of elections, registrations, fencings and the like that happened more than N times in "
    f"any hour; {MOST_PER_HOUR} by default.",
    "N",
)
UNKNOWN: Final = 3
"""The exit status of a monitoring plugin that can't tell."""
PLUGIN: Final = Option(
    ("--plugin",),
    "Print one line for a monitoring system. The exit status is 0 (ok), 1 (warning), 2 (critical) "
    "or 3 (unknown, also for everything that failed).",
)
_DEEP: Final = Option(
    ("--deep",),
    "Run `check` too, with all its files, and print what it finds. Takes as long as `check`.",
)


class HealthCommand(RowsCommand):
    """Show everything that is wrong with the cluster, the worst first.

    Judges partitions, brokers, controllers, configs, files, groups and the quorum. Each cause
    has a paragraph: how bad it is, what follows from it, and since when. It also has the cause,
    what to do, and the commands that show more. The worst come first.

    critical: clients fail, data or metadata is lost, or a node does not start. warning: clients
    fail after one more failure, or someone has to act. note: worth knowing. The numbers are
    those of kafka-topics.sh. A partition can have several findings. `help findings` lists all
    kinds, `help CODE` explains one.

    CODE chooses kinds, and lists each subject in a row, as -v does. TYPE:NAME chooses things,
    such as topic:orders or broker:104. Each topic has one row for each kind of finding, with
    the number of its partitions. A row stands below its cause, and `causes` names it.

    since_time is when it began. It is the time of the record that last set the leader
    (offline-partitions) or the ISR (under-replicated). For under-min-isr it can also be the
    time when min.insync.replicas rose above the ISR. Older files of up to OLDER_MB MB tell
    times that the newest checkpoint hides; --history reads larger ones too. At an earlier
    offset, health does not look at the quorum and the files beside the log.

    Findings about groups, offsets and transactions are told of a broker's log directory, as far
    as it has the coordinators' logs. A transaction hangs here if it is older than
    transaction.max.timeout.ms. Times count to the end of the logs.

    A voter or observer lags if it was not caught up for 10 s. If its times are not known, it
    lags from 1000 offsets on.

    Elections are counted by the hour. So are registrations and fencings of a broker, its exits
    from ISRs, its lost leaderships, and changes of a voter. More than MOST_PER_HOUR in any hour
    of the history at hand are told. A rolling restart stays below: elections may be as many as
    voters. --per-hour sets another number. `health = "--per-hour 10"` in the table [commands]
    of the configuration file sets it for good. Where Spark or the cache merged changes of
    partitions, exits from ISRs and lost leaderships are counted with --history alone.

    `metashell --config FILE` names the node's server.properties, which is compared with the
    files beside the log and with the quorum.

    If no leader of a live quorum answers, only quorum-no-leader or quorum-unreachable is told:
    nothing is known of the rest.

    The exit status is 1 if something is critical, else 0. With --exit-code it is 1 if there is
    any row. With --plugin it is that of a monitoring plugin, and of nothing else: a source that
    cannot be read is 3 too.

    `as of` names the state that is judged. `not seen` names input that was not read.
    """

    group = "what is wrong"
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable(SUMMARY_FLAG, SUMMARY, _KIND, ("subjects", "count")),
        AnswerTable(CLUSTERS_FLAG, CLUSTERS),
    )
    has_text = True
    of_each_cluster = True
    judges_lost_quorum = True
    manual = Manual(
        synopsis="health [OPTION...] [CODE|TYPE:NAME...]",
        constants=(
            ("OLDER_MB", f"{OLDER_BYTES >> 20}"),
            ("MOST_PER_HOUR", str(MOST_PER_HOUR)),
        ),
        options=(
            _LEVEL,
            _SUBJECTS,
            _EXIT_CODE,
            _DETAIL,
            _SUMMARY,
            _CLUSTERS,
            PLUGIN,
            _DEEP,
            _PER_HOUR,
            GHOST_AFTER,
            ASSUME,
            HISTORY,
        ),
        examples=(
            ("health", "everything, the worst first"),
            ("health --summary", "a row for each kind of finding"),
            ("health --clusters", "a row for each cluster of a fleet, the worst first"),
            ("health --severity critical", "only what makes clients fail"),
            ("health --plugin", "a line for Nagios and the like"),
            ("health -o prometheus", "metrics for a collector of text files"),
            ("health topic:csv-imports", "what is wrong with a topic"),
            ("health offline-partitions --detail", "one kind, partition by partition"),
            ("health -o jsonl --columns code,subject,path,action", "for a script"),
        ),
    )

    def parse(self, args: Sequence[str]) -> Parsed:
        """Refuse what asks for rows beside the line of a plugin."""
        parsed = super().parse(args)
        if PLUGIN.flags[0] in parsed.switches and (asked := self.asking(parsed)):
            raise UsageError(f"--plugin and {asked[0]} exclude each other")
        return parsed

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Tell people in words how it is first; machines get rows alone."""
        if PLUGIN.flags[0] in parsed.switches:
            from metashell.commands.health.plugin import write_line

            return write_line(self, context, parsed)
        if form_of(parsed) == METRICS and CLUSTERS_FLAG not in parsed.switches:
            # A broker without replicas counts 0 of them, and is a subject all the same.
            parsed.switches.add(SUMMARY_FLAG)
        from metashell.commands.health.answer import write_findings

        return write_findings(self, context, parsed)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose kinds of findings."""
        return [
            Completion(code, -len(word), code, kind.meaning)
            for code, kind in all_kinds().items()
            if code.startswith(word)
        ]


COMMAND = HealthCommand()
