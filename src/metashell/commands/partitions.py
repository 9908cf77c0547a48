"""``partitions``: those that are offline, under-replicated, reassigned..., and who would lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import takes_value
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of
from metashell.commands.rows.columns import (
    NOT_ZERO,
    SINCE_BEFORE,
    AnswerTable,
    Column,
    flag,
    integer,
    integers,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, PIECE_ROWS, RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.commands.shared.names import tell_unknown
from metashell.commands.shared.topic_arguments import (
    broker_id,
    complete_brokers,
    complete_topics,
    refuse_unknown,
    topics_like,
)
from metashell.errors import ExitCode, UsageError
from metashell.fs.pattern import Pattern
from metashell.schema.uuids import parse_uuid

if TYPE_CHECKING:
    from metashell.answers.health import Health
    from metashell.image.image import Image
    from metashell.schema.arena import Bools

STATES: Final = (
    Option(("--offline",), "Partitions without a leader.", phrase="offline"),
    Option(
        ("--under-replicated",),
        "Partitions with replicas out of sync. Replicas being added do not count.",
        phrase="under-replicated",
    ),
    Option(
        ("--under-min-isr",),
        "Partitions whose ISR is smaller than min.insync.replicas, or without a leader.",
        phrase="under min ISR",
    ),
    Option(
        ("--at-min-isr",),
        "Partitions whose ISR is exactly min.insync.replicas.",
        phrase="at min ISR",
    ),
    Option(
        ("--no-preferred-leader",),
        "Partitions that their preferred leader (the first replica) does not lead.",
        phrase="without its preferred leader",
    ),
    Option(
        ("--reassigning",),
        "Partitions with replicas being added or removed.",
        phrase="being reassigned",
    ),
    Option(
        ("--elr",),
        "Partitions with eligible leader replicas.",
        phrase="backed by eligible leader replicas",
    ),
    Option(
        ("--recovering",),
        "Partitions whose leader recovers from an unclean election.",
        phrase="recovering from an unclean election",
    ),
)
"""Options that ask for a state; without the dashes: its name."""

_SUMMARIES: Final = ("broker", "rack", "topic")
_OF_BROKERS: Final = frozenset({"--leader", "--replica", "--isr"})
"""Options that name a broker."""
_MOST_DIGITS: Final = 10

_RED: Final = ("offline", "under-min-isr", "recovering")
"""States in which data is lost, or can't be written or read."""

COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partition", "The partition's id.", priority=9),
    integer("leader", "The broker that leads; null for none.", priority=7, red=("-",)),
    integers("replicas", "Brokers of the replicas, the preferred leader first.", priority=5),
    integers("isr", "Replicas that are in sync.", priority=5),
    integers("elr", "Eligible leader replicas (KIP-966)."),
    integers("last_known_elr", "The last known leader, if no replica is eligible.", shown=False),
    integers("adding_replicas", "Replicas that a reassignment adds.", shown=False),
    integers("removing_replicas", "Replicas that a reassignment removes.", shown=False),
    integer(
        "would_elect",
        "Without a leader: the broker that the controller would elect now; null for none.",
        priority=4,
    ),
    sentence(
        "why",
        "Without a leader: why that broker, or which brokers the partition waits for. With "
        "replicas out of sync: what is down. Null: nothing explains it.",
        priority=8,
    ),
    integer(
        "unclean_candidate",
        "Without a leader: the broker that an unclean election would take. It loses data. "
        "Null for none.",
        shown=False,
    ),
    integer("min_isr", "Effective min.insync.replicas.", priority=1),
    text(
        "min_isr_source",
        "Kafka's name of the config source of min_isr. DEFAULT_CONFIG is assumed: only a node's "
        "server.properties could say otherwise (see --assume).",
        shown=False,
    ),
    flag("unclean", "Effective unclean.leader.election.enable.", shown=False),
    text("unclean_source", "Kafka's name of the config source of unclean.", shown=False),
    texts(
        "state",
        "Its states, the worst first, by the names of the options. A terminal shows the worst.",
        priority=6,
        worst_first=True,
        red=_RED,
        yellow=("under-replicated", "elr"),
    ),
    integer("leader_epoch", "Grows with every change of the leader.", shown=False),
    integer("partition_epoch", "Grows with every change.", shown=False),
    texts("directories", "Log directory ids of the replicas, in their order.", shown=False),
    text("topic_id", "The topic's id.", shown=False),
    integer(
        "since_offset",
        "Offset of the record that brought the partition into the states asked for. Without "
        "such an option: since when it has no leader, is under min ISR or lacks replicas; else "
        "of the last change. Null: the newest checkpoint or older.",
        shown=False,
    ),
    time_at("since_time", "Time of that record.", priority=4),
    SINCE_BEFORE,
)

_OF_ELECTION: Final = ("would_elect", "why")
"""In the table only for --offline."""
_OF_REASSIGNMENT: Final = ("adding_replicas", "removing_replicas")
"""In the table only where partitions that are being reassigned were asked for."""

COUNTS: Final = (
    integer("partitions", "Partitions; of a broker or rack: those with a replica there."),
    integer("leaders", "Of these, those with a leader; of a broker or rack: those it leads."),
    integer("replicas", "Their replicas; of a broker or rack: those it holds."),
    integer("offline", "Partitions without a leader.", priority=5, red=NOT_ZERO),
    integer(
        "under_replicated",
        "Partitions with replicas out of sync. Replicas being added do not count.",
        priority=4,
        yellow=NOT_ZERO,
    ),
    integer("under_min_isr", "Partitions under min ISR.", priority=5, red=NOT_ZERO),
    integer("at_min_isr", "Partitions at min ISR."),
    integer("no_preferred_leader", "Partitions that their preferred leader does not lead."),
    integer("reassigning", "Partitions being reassigned."),
)


class PartitionsCommand(RowsCommand):
    """List partitions."""

    group = "what is wrong"
    name = "partitions"
    summary = "List partitions by state, and which broker would be elected leader."
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable(
            "--summary topic",
            (text("topic", "Its name; broker or rack where these are asked for."), *COUNTS),
        ),
    )
    takes_paths = False
    noun = ("partition", "partitions")
    argument_phrase = "of {}"
    counted_by = "topic"
    of_each_cluster = True
    manual = Manual(
        synopsis="partitions [OPTION...] [TOPIC [PARTITION...]]...",
        description=(
            "Lists partitions that match all options. The states are those of Kafka's own tools. "
            "The effective min.insync.replicas is the topic's own. If that is not set, the first "
            "of these applies: the leader's, the cluster's default, what --assume says, Kafka's "
            "default.\n\n"
            "A partition without a leader tells which broker the controller would elect, and why. "
            "The controller takes the first live replica of the ISR. If the ISR is empty it takes "
            "the first live eligible leader replica, then the last known leader. If unclean "
            "election is allowed it takes any live replica. A live broker is registered, not "
            "fenced, not in controlled shutdown, and its log directory is online.\n\n"
            "since_time is the time of the record that brought the partition into the state asked "
            "for: a change of it, or of min.insync.replicas. A checkpoint "
            "has no times: --history reads the files before it. TOPIC may hold wildcards."
        ),
        options=(
            *STATES,
            Option(
                ("--leader",), "Partitions led by this broker.", "ID", phrase="led by broker {}"
            ),
            Option(
                ("--replica",),
                "Partitions with a replica on this broker.",
                "ID",
                phrase="hosted by broker {}",
            ),
            Option(
                ("--isr",),
                "Partitions with this broker in the ISR.",
                "ID",
                phrase="in sync on broker {}",
            ),
            Option(
                ("--topic",),
                "Partitions of topics with a matching name.",
                "GLOB",
                phrase="of {}",
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
            if "--offline" in parsed.switches:
                # All are offline, and nobody leads: when and why is the news.
                return _with_priority(since_time=8, leader=8, state=0)
            asks_state = any(option.flags[0] in parsed.switches for option in STATES)
            columns = (
                _with_priority(replicas=6, isr=6, since_time=5, state=4) if asks_state else COLUMNS
            )
            if "--reassigning" in parsed.switches:
                # Which replicas come and go is what was asked for.
                columns = _with_priority(replicas=6, **dict.fromkeys(_OF_REASSIGNMENT, 8))
            return tuple(
                replace(c, shown=c.name in _OF_REASSIGNMENT and "--reassigning" in parsed.switches)
                if c.name in (*_OF_ELECTION, *_OF_REASSIGNMENT)
                else c
                for c in columns
            )
        key = one_of("--summary", by, _SUMMARIES)
        make = integer if key == "broker" else text
        return (make(key, f"The {key}."), *COUNTS)

    def answer(self, query: RowsQuery) -> None:
        """The partitions that all options choose."""
        from metashell.answers.causes import Causes
        from metashell.answers.health import READS, Health
        from metashell.answers.partitions import choose, partitions_table
        from metashell.answers.problems import STATE_OF
        from metashell.answers.whys import Whys

        parsed = query.parsed
        states = [o.flags[0].removeprefix("--") for o in STATES if o.flags[0] in parsed.switches]
        image, topic = query.image, _only_topic(query.image, parsed)
        if topic is None:
            image.expect({name for state in states for name in READS.get(state, ())})
        else:
            image = image.narrowed(topic)
        health = Health(image, assumptions_of(parsed))
        causes = Causes(health)
        masks = [health.mask(state) for state in states]
        masks += _of_options(health, parsed)
        _warn_of_what_is_not_there(query, health)
        if parsed.arguments:
            masks.append(_named(query, image, parsed.arguments))
        in_order = "--summary" not in parsed.values and query.columns != frozenset()
        every = rows = choose(health, masks, by_name=in_order)
        if "--summary" in parsed.values:
            from metashell.answers.summaries import summary_table

            query.add(summary_table(health, rows, parsed.values["--summary"]))
            return
        rows, whys = rows[: query.limit], Whys(causes)
        while query.streams and len(rows) > PIECE_ROWS:
            query.add(partitions_table(health, rows[:PIECE_ROWS], states, query.columns, whys))
            rows = rows[PIECE_ROWS:]
        query.add(partitions_table(health, rows, states, query.columns, whys))
        if states:
            query.since = "since_time"
            problem = next((code for code in STATE_OF if STATE_OF[code] in states), "")
            query.cause = lambda: causes.text_of_all(every, problem or "under-replicated")

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose brokers and topics where they are asked for."""
        before = args[-1] if args else ""
        if before in _OF_BROKERS:
            return complete_brokers(context, word)
        if before == "--topic" or not (
            word.startswith("-") or takes_value(self.manual.options, before) is not None
        ):
            return complete_topics(context, word)
        return super().complete(context, args, word)


def _with_priority(**priorities: int) -> tuple[Column, ...]:
    """The columns with other priorities by their names."""
    return tuple(
        replace(c, priority=priorities[c.name]) if c.name in priorities else c for c in COLUMNS
    )


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
        tell_unknown(query, glob, "topic", query.image.topics.names)
    for option in sorted(_OF_BROKERS):
        if option in query.parsed.values:
            broker = broker_id(option, query.parsed.values[option])
            refuse_unknown(query, health, option, frozenset({broker}))


def _directory(text: str) -> bytes:
    from metashell.answers.partitions import RESERVED_DIRECTORIES

    raw = RESERVED_DIRECTORIES.get(text) or parse_uuid(text)
    if raw is None:
        raise UsageError(
            f"--directory {text}: not a directory id",
            hint="`nodes -o json` shows the ids of each broker's directories",
        )
    return raw


def _only_topic(image: Image, parsed: Parsed) -> int | None:
    """The topic (its index) that all partitions asked for are of; None where there may be others.

    Of one topic they are found without those of all. Whether there is a broker all of them tell.
    """
    if not _OF_BROKERS.isdisjoint(parsed.values):
        return None
    words, behind = parsed.arguments, False
    if not words and "--topic" in parsed.values:
        words = [parsed.values["--topic"]]
    found: set[int | None] = set()
    for word in words:
        topic = _literal(image, word)
        if topic is None and behind and _is_number(word):
            continue  # a partition of the topic before
        behind = topic is not None
        if topic is None and parsed.arguments:
            of, _, number = word.rpartition("/" if "/" in word else "-")
            topic = _literal(image, of) if _is_number(number) else None
        found.add(topic)
    return found.pop() if len(found) == 1 else None


def _literal(image: Image, text: str) -> int | None:
    """The topic (its index) that a glob names without wildcards; None where it is none."""
    literals = Pattern(text).literals
    return image.topics.find_name(literals[0]) if literals and len(literals) == 1 else None


def _named(query: RowsQuery, image: Image, words: Sequence[str]) -> Bools:
    """The partitions that any of the words names.

    A word is a topic, a partition of it (``payments/3``, ``payments-3``), or the number of one
    behind its topic (``payments 3``).
    """
    import numpy as np

    partitions = image.partitions
    out = np.zeros(len(partitions), dtype=np.bool_)
    topic: str | None = None
    for i, word in enumerate(words):
        found, name = np.zeros(len(partitions), dtype=np.bool_), word
        is_topic = bool((topics := topics_like(image, [word])).any())
        if not is_topic and topic is not None and _is_number(word):
            found, name = _numbered(image, topic, word), f"{topic}/{word}"
        elif is_topic:
            topic = word
            following = words[i + 1] if i + 1 < len(words) else ""
            if _is_number(following) and not topics_like(image, [following]).any():
                continue  # its numbers follow
            found = topics[partitions.topic]
        else:
            topic = None
            for sign in "/-":
                of, _, number = word.rpartition(sign)
                if of and _is_number(number):
                    found |= _numbered(image, of, number)
        out |= found
        if not found.any():
            _tell_unknown(query, image, name)
    return out


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _numbered(image: Image, topic: str, number: str) -> Bools:
    """bool[partitions]: those of a number in topics of a name; no partition has more digits."""
    found: Bools = topics_like(image, [topic])[image.partitions.topic]
    return found & (len(number) <= _MOST_DIGITS and image.partitions.partition == int(number))


def _tell_unknown(query: RowsQuery, image: Image, word: str) -> None:
    """Report a word that names no partition."""
    name, slash, number = word.rpartition("/" if "/" in word else "-")
    topics = topics_like(image, [name]) if slash and _is_number(number) else None
    if topics is None or not topics.any():
        tell_unknown(query, word, "topic or partition", image.topics.names)
        return
    last = int(image.partitions.partition[topics[image.partitions.topic]].max(initial=-1))
    query.warn(f"{word}: no such partition; the last one of {name} is {last}")
    query.status = ExitCode.FAILED


COMMAND = PartitionsCommand()
