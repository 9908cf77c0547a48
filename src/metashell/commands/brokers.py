"""``brokers``: what each leads and holds, and what would fail without some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.assume_option import ASSUME, assumptions_of
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of, refuse_more
from metashell.commands.framework.topic_arguments import (
    broker_ids,
    complete_brokers,
    refuse_unknown,
)
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    integer,
    integers,
    number,
    text,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import UsageError

if TYPE_CHECKING:
    pass

_BY: Final = ("broker", "rack")

_LOAD: Final = (
    integer("leaders", "Partitions led."),
    integer("replicas", "Replicas held."),
    integer("in_sync", "Partitions whose ISR it is in."),
    integer("preferred", "Partitions whose first replica it is."),
    integer("preferred_led", "Of these, led by it."),
    number(
        "leader_skew", "How far from an even share of leaders among active brokers, in percent."
    ),
    number("replica_skew", "How far from an even share of replicas among registered ones."),
)
COLUMNS: Final = (
    integer("broker", "The broker's id."),
    text("state", "active, fenced, controlled-shutdown, or not-registered (has replicas yet)."),
    text("rack", "Its rack; null for none."),
    *_LOAD,
)
RACK_COLUMNS: Final = (
    text("rack", "The rack; null for brokers without one."),
    integer("brokers", "Brokers registered."),
    integer("active", "Of these, neither fenced nor shutting down."),
    *_LOAD,
)
WITHOUT_COLUMNS: Final = (
    text("topic", "The topic's name."),
    integer("partition", "The partition's id."),
    text("result", "offline or under-min-isr."),
    flag("already", "Whether it is so now; without a leader it is under min ISR too."),
    integer("leader", "Who leads now; null for nobody."),
    integer("leader_after", "Who would lead then."),
    text(
        "elected_from",
        "How a new leader comes: isr, elr, last-known-leader or unclean (which lose data), none; "
        "null where the leader stays.",
    ),
    integers("isr_after", "What is left of the ISR."),
    integer("min_isr", "Effective min.insync.replicas."),
)


class BrokersCommand(RowsCommand):
    """List brokers and their load."""

    group = "what is wrong"
    name = "brokers"
    summary = "List the load of brokers or racks, and what would fail without some brokers."
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable("--by rack", RACK_COLUMNS),
        AnswerTable("--without 101", WITHOUT_COLUMNS),
    )
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="brokers [--by broker|rack] [--without ID,...] [OPTION...]",
        description=(
            "Lists what each broker leads and holds, and how far that is from an even share. An "
            "even share of leaders is counted among active brokers, one of replicas among all that "
            "are registered. `nodes` lists the registrations themselves.\n\n"
            "--without tells instead which partitions would be offline or under "
            "min.insync.replicas if these brokers went down all at once, as after a rack's loss or "
            "before a rolling restart. A partition is looked at that one of them leads, that has "
            "one in its ISR, or that has no leader and waits for one (as `partitions --offline` "
            "says); it is listed where it would have no leader, or fewer replicas in sync than "
            "min.insync.replicas. `already` marks those that are so now, with these brokers up or "
            "down. New leaders are elected by the controller's own rules, see `man partitions`. "
            "A broker that neither is registered nor has replicas is an error."
        ),
        options=(
            Option(("--by",), "Count by broker (the default) or by rack.", "WHAT", _BY),
            Option(("--without",), "What if these brokers, separated by commas, were down.", "IDS"),
            ASSUME,
        ),
        examples=(
            ("brokers", "leaders, replicas and skew of each broker"),
            ("brokers --by rack", "the same by rack"),
            ("brokers --without 101", "what a restart of broker 101 would take below min ISR"),
            ("brokers --without 101,102 --count", "how much two of them would"),
            ("brokers --sort=-leaders --columns broker,leaders", "the busiest first"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Other columns by rack and for --without."""
        refuse_more(self, parsed.arguments)
        by = parsed.values.get("--by")
        if "--without" in parsed.values:
            if by is not None:
                raise UsageError("--by is not for --without")
            return WITHOUT_COLUMNS
        return RACK_COLUMNS if one_of("--by", by or "broker", _BY) == "rack" else COLUMNS

    def answer(self, query: RowsQuery) -> None:
        """The brokers, the racks, or what would fail."""
        from metashell.answers.brokers import brokers_table, racks_table, without_table
        from metashell.answers.health import Health

        values = query.parsed.values
        health = Health(query.image, assumptions_of(query.parsed))
        if "--without" not in values:
            by_rack = values.get("--by") == "rack"
            query.add(racks_table(health) if by_rack else brokers_table(health))
            return
        down = broker_ids("--without", values["--without"])
        refuse_unknown(query, health, "--without", down)
        query.add(without_table(health, down))

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose brokers after --without."""
        if args and args[-1] == "--without":
            return complete_brokers(context, word)
        return super().complete(context, args, word)


COMMAND = BrokersCommand()
