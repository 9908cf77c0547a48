"""``brokers``: what each leads and holds, and what would fail without some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.assuming import ASSUME, assumptions_of
from metashell.commands.base import Completion, Context, Option
from metashell.commands.options import Parsed, refuse_more
from metashell.commands.rows import Asked, Column, RowsCommand, rows_manual
from metashell.commands.survey import one_of
from metashell.commands.topic_words import broker_ids, complete_brokers
from metashell.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_BY: Final = ("broker", "rack")

_LOAD: Final = (
    Column("leaders", "Partitions led."),
    Column("replicas", "Replicas held."),
    Column("in_sync", "Partitions whose ISR it is in."),
    Column("preferred", "Partitions whose first replica it is."),
    Column("preferred_led", "Of these, led by it."),
    Column(
        "leader_skew", "How far from an even share of leaders among active brokers, in percent."
    ),
    Column("replica_skew", "How far from an even share of replicas among registered ones."),
)
COLUMNS: Final = (
    Column("broker", "The broker's id."),
    Column("state", "active, fenced, controlled-shutdown, or not-registered (has replicas yet)."),
    Column("rack", "Its rack; null for none."),
    *_LOAD,
)
RACK_COLUMNS: Final = (
    Column("rack", "The rack; null for brokers without one."),
    Column("brokers", "Brokers registered."),
    Column("active", "Of these, neither fenced nor shutting down."),
    *_LOAD,
)
WITHOUT_COLUMNS: Final = (
    Column("topic", "The topic's name."),
    Column("partition", "The partition's id."),
    Column("result", "offline or under-min-isr."),
    Column("already", "Whether it is so now."),
    Column("leader", "Who leads now; null for nobody."),
    Column("leader_after", "Who would lead then."),
    Column(
        "elected_from",
        "How a new leader comes: isr, elr, last-known-leader or unclean (which lose data), none; "
        "null where the leader stays.",
    ),
    Column("isr_after", "What is left of the ISR."),
    Column("min_isr", "Effective min.insync.replicas."),
)


class Brokers(RowsCommand):
    """List brokers and their load."""

    name = "brokers"
    summary = "List the load of brokers or racks, and what would fail without some brokers."
    columns = COLUMNS
    manual = rows_manual(
        synopsis="brokers [--by broker|rack] [--without ID,...] [OPTION...]",
        description=(
            "Lists what each broker leads and holds, and how far that is from an even share. An "
            "even share of leaders is counted among active brokers, one of replicas among all that "
            "are registered. `nodes` lists the registrations themselves.\n\n"
            "--without tells instead which partitions would be offline or under "
            "min.insync.replicas if these brokers went down all at once, as after a rack's loss or "
            "before a rolling restart. New leaders are elected by the controller's own rules, see "
            "`man partitions`."
        ),
        columns=COLUMNS,
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
        others=(("--by rack", RACK_COLUMNS), ("--without 101", WITHOUT_COLUMNS)),
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

    def answer(self, asked: Asked) -> pa.Table:
        """The brokers, the racks, or what would fail."""
        from metashell.answers.brokers import brokers_table, racks_table, without_table
        from metashell.answers.health import Health

        values = asked.parsed.values
        health = Health(asked.image, assumptions_of(asked.parsed))
        if "--without" not in values:
            return racks_table(health) if values.get("--by") == "rack" else brokers_table(health)
        down = broker_ids("--without", values["--without"])
        known = set(asked.image.brokers.ids.tolist())
        for broker in sorted(down - known):
            asked.warn(f"broker {broker} is not registered")
        return without_table(health, down)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose brokers after --without."""
        if args and args[-1] == "--without":
            return complete_brokers(context, word)
        return super().complete(context, args, word)


COMMAND = Brokers()
