"""``partitions``: those that are offline, under-replicated, reassigned..., and who would lead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option, Parsed, one_of
from metashell.commands.partitions.columns import COLUMNS, COUNTS, STATES
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    integer,
    text,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY
from metashell.commands.shared.assume_option import ASSUME
from metashell.commands.shared.topic_arguments import (
    complete_brokers,
    complete_topics,
)

_SUMMARIES: Final = ("broker", "rack", "topic")


_OF_ELECTION: Final = ("would_elect", "why")
"""In the table only where they say something of the states asked for."""
_EXPLAINED: Final = ("--offline", "--under-min-isr", "--under-replicated")
"""States that `why` explains."""
_OF_PLACEMENT: Final = ("leader", "replicas", "isr", "elr", "min_isr")
"""Unlike for the partitions of a topic that have one cause."""
_OF_REASSIGNMENT: Final = ("adding_replicas", "removing_replicas")
"""In the table only where partitions that are being reassigned were asked for."""


class PartitionsCommand(RowsCommand):
    """List partitions by state, and which broker would be elected leader.

    Lists partitions that match all options. The states are those of Kafka's own tools. The
    effective min.insync.replicas is the topic's own. If that is not set, the first of these
    applies: the leader's, the cluster's default, what --assume says, Kafka's default.

    A partition without a leader tells which broker the controller would elect, and why. The
    controller takes the first live replica of the ISR. If the ISR is empty it takes the first
    live eligible leader replica, then the last known leader. If unclean election is allowed it
    takes any live replica. A live broker is registered, not fenced, not in controlled shutdown,
    and its log directory is online.

    since_time is the time of the record that brought the partition into the state asked for: a
    change of it, or of min.insync.replicas. A checkpoint has no times: --history reads the
    files before it. TOPIC may hold wildcards.
    """

    group = "what is wrong"
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable(
            "--summary topic",
            (text("topic", "Its name; broker or rack where these are asked for."), *COUNTS),
        ),
    )
    noun = ("partition", "partitions")
    argument_phrase = "of {}"
    counted_by = "topic"
    of_each_cluster = True
    manual = Manual(
        synopsis="partitions [OPTION...] [TOPIC [PARTITION...]]...",
        options=(
            *STATES,
            Option(
                ("--leader",),
                "Partitions led by this broker.",
                "ID",
                phrase="led by broker {}",
                complete=complete_brokers,
            ),
            Option(
                ("--replica",),
                "Partitions with a replica on this broker.",
                "ID",
                phrase="hosted by broker {}",
                complete=complete_brokers,
            ),
            Option(
                ("--isr",),
                "Partitions with this broker in the ISR.",
                "ID",
                phrase="in sync on broker {}",
                complete=complete_brokers,
            ),
            Option(
                ("--topic",),
                "Partitions of topics with a matching name.",
                "GLOB",
                phrase="of {}",
                complete=complete_topics,
            ),
            Option(
                ("--directory",),
                "Partitions with a replica in this log directory: an id, LOST, UNASSIGNED or "
                "MIGRATING.",
                "ID",
                ("LOST", "MIGRATING", "UNASSIGNED"),
                phrase="stored in directory {}",
            ),
            Option(("--summary",), "Count partitions by broker, rack or topic.", "BY", _SUMMARIES),
            ASSUME,
            HISTORY,
        ),
        examples=(
            (
                "partitions --offline",
                "partitions without a leader, and which broker would be elected",
            ),
            ("partitions --under-min-isr --summary topic", "count them by topic"),
            ("partitions --replica 101 --no-preferred-leader", "several conditions"),
            ("partitions --reassigning -o json", "running reassignments, for a script"),
            ("partitions payments 3 4", "two partitions; payments/3 is one too"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Counts where a summary is asked for."""
        by = parsed.values.get("--summary")
        if by is None:
            return _columns_for(parsed.switches)
        key = one_of("--summary", by, _SUMMARIES)
        make = integer if key == "broker" else text
        return (make(key, f"The {key}."), *COUNTS)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose topics."""
        return complete_topics(context, word)


def _columns_for(switches: Collection[str]) -> tuple[Column, ...]:
    """The columns for the states asked for: the table has what is news of them."""
    asked = {option.flags[0] for option in STATES}.intersection(switches)
    priorities: dict[str, int] = {}
    hidden = {*_OF_ELECTION, *_OF_REASSIGNMENT}
    if asked:
        priorities = {"replicas": 6, "isr": 6, "since_time": 7, "state": 4}
    if not asked.isdisjoint(_EXPLAINED):
        hidden.remove("why")
    if "--reassigning" in asked:
        priorities |= dict.fromkeys(_OF_REASSIGNMENT, 8)
        hidden -= {*_OF_REASSIGNMENT}
    if "--offline" in asked:
        # All are offline, and nobody leads: when and why is the news.
        priorities = {"since_time": 8, "leader": 8, "state": 0}
        hidden.discard("would_elect")
    return tuple(
        replace(
            c,
            priority=priorities.get(c.name, c.priority),
            shown=c.shown or c.name in _OF_REASSIGNMENT,
            yields="why" not in hidden and c.name in _OF_PLACEMENT,
        )
        if c.name not in hidden
        else replace(c, shown=False)
        for c in COLUMNS
    )


COMMAND = PartitionsCommand()
