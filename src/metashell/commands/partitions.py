"""``partitions``: those that are offline, under-replicated, reassigned..., and who would lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.assume_option import ASSUME, assumptions_of
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of
from metashell.commands.framework.topic_arguments import (
    broker_id,
    complete_brokers,
    complete_topics,
    refuse_unknown,
    topics_like,
)
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    integer,
    integers,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, PIECE_ROWS, RowsQuery
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from metashell.answers.health import Health
    from metashell.schema.arena import Bools

STATES: Final = (
    Option(("--offline",), "Those that nobody leads."),
    Option(("--under-replicated",), "With replicas that are not in sync (being added aside)."),
    Option(
        ("--under-min-isr",),
        "With fewer replicas in sync than min.insync.replicas, or no leader.",
    ),
    Option(("--at-min-isr",), "With just as many."),
    Option(("--no-preferred-leader",), "Those that their first replica does not lead."),
    Option(("--reassigning",), "Whose replicas are being added or removed."),
    Option(("--elr",), "With eligible leader replicas."),
    Option(("--recovering",), "Whose leader recovers from an unclean election."),
)
"""Options that ask for a state; without their dashes, its name."""

_SUMMARIES: Final = ("broker", "rack", "topic")
_MOST_DIGITS: Final = 10

COLUMNS: Final = (
    text("topic", "The topic's name."),
    integer("partition", "The partition's id."),
    integer("leader", "The broker that leads; null for none."),
    integers("replicas", "Brokers of the replicas, the preferred leader first."),
    integers("isr", "Replicas that are in sync."),
    integers("elr", "Eligible leader replicas (KIP-966)."),
    integers("last_known_elr", "The last known leader, where nobody is eligible.", shown=False),
    integers("adding_replicas", "Replicas that a reassignment adds.", shown=False),
    integers("removing_replicas", "Replicas that it takes away.", shown=False),
    integer(
        "would_elect", "Where nobody leads: whom the controller would elect now; null: nobody."
    ),
    text("why", "Where nobody leads: why that broker, or whom the partition waits for."),
    integer(
        "unclean_candidate",
        "Where nobody leads: whom an unclean election would take, losing data; null: nobody.",
        shown=False,
    ),
    integer("min_isr", "Effective min.insync.replicas."),
    text(
        "min_isr_source",
        "Where that comes from, by Kafka's names of config sources; DEFAULT_CONFIG is assumed: "
        "only a node's server.properties could say otherwise (see --assume).",
        shown=False,
    ),
    flag("unclean", "Effective unclean.leader.election.enable.", shown=False),
    text("unclean_source", "Where that comes from, likewise.", shown=False),
    texts("state", "The states that it is in, by the names of the options that ask for them."),
    integer("leader_epoch", "Grows with every change of the leader.", shown=False),
    integer("partition_epoch", "Grows with every change.", shown=False),
    texts("directories", "Log directory ids of the replicas, in their order.", shown=False),
    text("topic_id", "The topic's id.", shown=False),
    integer(
        "since_offset",
        "Offset of the record that last set what the asked state looks at (leader, ISR, "
        "reassignment...), of the last change where no state was asked for; null: the newest "
        "checkpoint or older.",
        shown=False,
    ),
    time_at("since_time", "Time of that record."),
)

_OF_ELECTION: Final = ("would_elect", "why")
"""In the table only where partitions without a leader were asked for."""

COUNTS: Final = (
    integer("partitions", "Partitions chosen (of a broker or rack: with a replica there)."),
    integer("leaders", "Of these, led (from there)."),
    integer("replicas", "Their replicas (there)."),
    integer("offline", "Of the partitions, offline."),
    integer("under_replicated", "Under-replicated."),
    integer("under_min_isr", "Under min ISR."),
    integer("at_min_isr", "At min ISR."),
    integer("no_preferred_leader", "Not led by their first replica."),
    integer("reassigning", "Being reassigned."),
)


class PartitionsCommand(RowsCommand):
    """List partitions."""

    name = "partitions"
    summary = "List partitions by their state, and who would be elected leader."
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable(
            "--summary topic",
            (text("topic", "Its name; broker or rack where these are asked for."), *COUNTS),
        ),
    )
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="partitions [OPTION...] [TOPIC[-PARTITION]...]",
        description=(
            "Lists partitions; of several options that choose, all must hold. States are those of "
            "Kafka's own tools. The effective min.insync.replicas is the topic's, else that of the "
            "broker that leads, else the cluster's default, else what --assume says, else Kafka's "
            "default.\n\n"
            "Of a partition without a leader it is told whom the controller would elect by its own "
            "rules: the first live replica of the ISR, or of the eligible leader replicas where "
            "the ISR is empty, then the last known leader, then any live replica where unclean "
            "election is allowed. A broker is live that is registered, not fenced, not in "
            "controlled shutdown, and whose log directory of that replica is online.\n\n"
            "The time is that of the record that last set what the asked state looks at. A "
            "checkpoint tells no times: --history reads what came before it. TOPIC may hold "
            "wildcards."
        ),
        options=(
            *STATES,
            Option(("--leader",), "Led by that broker.", "ID"),
            Option(("--replica",), "With a replica on that broker.", "ID"),
            Option(("--isr",), "With that broker in the ISR.", "ID"),
            Option(("--topic",), "Of topics whose name matches.", "GLOB"),
            Option(
                ("--directory",),
                "With a replica in the log directory of that id, or LOST, UNASSIGNED, MIGRATING.",
                "ID",
                ("LOST", "MIGRATING", "UNASSIGNED"),
            ),
            Option(("--summary",), "Count them by broker, rack or topic.", "BY", _SUMMARIES),
            ASSUME,
            HISTORY,
        ),
        examples=(
            ("partitions --offline", "those without a leader, and who would be elected"),
            ("partitions --under-min-isr --summary topic", "how many of which topics"),
            ("partitions --replica 101 --no-preferred-leader", "several conditions at once"),
            ("partitions --reassigning -o json", "running reassignments, for a script"),
            ("partitions payments-3", "one partition"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Counts where a summary is asked for."""
        by = parsed.values.get("--summary")
        if by is None:
            if "--offline" in parsed.switches:
                return COLUMNS
            return tuple(replace(c, shown=False) if c.name in _OF_ELECTION else c for c in COLUMNS)
        key = one_of("--summary", by, _SUMMARIES)
        make = integer if key == "broker" else text
        return (make(key, f"The {key}."), *COUNTS)

    def answer(self, query: RowsQuery) -> None:
        """The partitions that all options choose."""
        from metashell.answers.health import Health
        from metashell.answers.partitions import choose, partitions_table

        parsed = query.parsed
        states = [o.flags[0].removeprefix("--") for o in STATES if o.flags[0] in parsed.switches]
        health = Health(query.image, assumptions_of(parsed))
        masks = [health.mask(state) for state in states]
        masks += _of_options(health, parsed)
        _warn_of_what_is_not_there(query, health)
        if parsed.arguments:
            masks.append(_named(query, parsed.arguments))
        in_order = "--summary" not in parsed.values and query.columns != frozenset()
        rows = choose(health, masks, by_name=in_order)
        if "--summary" in parsed.values:
            from metashell.answers.summaries import summary_table

            query.add(summary_table(health, rows, parsed.values["--summary"]))
            return
        while query.streams and len(rows) > PIECE_ROWS:
            query.add(partitions_table(health, rows[:PIECE_ROWS], states, query.columns))
            rows = rows[PIECE_ROWS:]
        query.add(partitions_table(health, rows, states, query.columns))

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose brokers and topics where they are asked for."""
        from metashell.commands.framework.completion import takes_value

        before = args[-1] if args else ""
        if before in ("--leader", "--replica", "--isr"):
            return complete_brokers(context, word)
        if before == "--topic" or not (
            word.startswith("-") or takes_value(self.manual.options, before) is not None
        ):
            return complete_topics(context, word)
        return super().complete(context, args, word)


def _of_options(health: Health, parsed: Parsed) -> Iterator[Bools]:
    """Masks of the options that take a value."""
    values = parsed.values
    partitions = health.image.partitions
    if "--leader" in values:
        yield partitions.leader == broker_id("--leader", values["--leader"])
    if "--replica" in values:
        yield health.having("replicas", broker_id("--replica", values["--replica"]))
    if "--isr" in values:
        yield health.having("isr", broker_id("--isr", values["--isr"]))
    if "--topic" in values:
        yield topics_like(health.image, [values["--topic"]])[partitions.topic]
    if "--directory" in values:
        yield health.in_directory(_directory(values["--directory"]))


def _warn_of_what_is_not_there(query: RowsQuery, health: Health) -> None:
    """Tell of brokers and topics that do not exist: no partition of theirs is offline either."""
    glob = query.parsed.values.get("--topic")
    if glob is not None and not topics_like(query.image, [glob]).any():
        query.warn(f"--topic {glob}: no such topic")
        query.status = ExitCode.FAILED
    for option in ("--leader", "--replica", "--isr"):
        if option in query.parsed.values:
            broker = broker_id(option, query.parsed.values[option])
            refuse_unknown(query, health, option, frozenset({broker}))


def _directory(text: str) -> bytes:
    from metashell.answers.partitions import RESERVED_DIRECTORIES
    from metashell.schema.uuids import parse_uuid

    raw = RESERVED_DIRECTORIES.get(text) or parse_uuid(text)
    if raw is None:
        raise UsageError(
            f"--directory {text}: not a directory id",
            hint="`nodes -o json` shows the ids of each broker's directories",
        )
    return raw


def _named(query: RowsQuery, words: Sequence[str]) -> Bools:
    """The partitions that any of the words names: a topic, or a partition of it."""
    import numpy as np

    image = query.image
    partitions = image.partitions
    out = np.zeros(len(partitions), dtype=np.bool_)
    for word in words:
        topics = topics_like(image, [word])
        is_there = bool(topics.any())
        if is_there:
            out |= topics[partitions.topic]
        topic, dash, number = word.rpartition("-")
        if not is_there and dash and number.isascii() and number.isdigit():
            found = topics_like(image, [topic])[partitions.topic]
            # A number of more digits is no partition's.
            found &= len(number) <= _MOST_DIGITS and partitions.partition == int(number)
            out |= found
            is_there = bool(found.any())
        if not is_there:
            query.warn(f"{word}: no such topic or partition")
            query.status = ExitCode.FAILED
    return out


COMMAND = PartitionsCommand()
