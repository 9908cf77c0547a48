"""The rows of ``partitions``: which partitions its words choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from metashell.answers.brokers import summary_table
from metashell.answers.causes import Causes
from metashell.answers.health import READS, Health
from metashell.answers.partitions import RESERVED_DIRECTORIES, Reasons, choose, partitions_table
from metashell.commands.framework.options import Parsed
from metashell.commands.partitions.columns import OF_BROKERS, STATES
from metashell.commands.rows.query import PIECE_ROWS, RowsQuery
from metashell.commands.shared.assume_option import assumptions_of
from metashell.commands.shared.names import refuse_count, tell_unknown
from metashell.commands.shared.topic_arguments import broker_id, refuse_unknown, topics_like
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.image.image import Image
from metashell.judgement.image_findings import STATE_OF
from metashell.schema.arena import Bools
from metashell.schema.uuids import parse_uuid

_MOST_DIGITS: Final = 10


def answer(query: RowsQuery) -> None:
    """Add the partitions that all options choose."""
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
        query.add(summary_table(health, rows, parsed.values["--summary"]))
        return
    rows, reasons = rows[: query.limit], Reasons(causes)
    while query.streams and len(rows) > PIECE_ROWS:
        query.add(partitions_table(health, rows[:PIECE_ROWS], states, query.columns, reasons))
        rows = rows[PIECE_ROWS:]
    if len(rows):  # No rows would still look up what they show.
        query.add(partitions_table(health, rows, states, query.columns, reasons))
    if states:
        query.since = "since_time"
        problem = next((code for code in STATE_OF if STATE_OF[code] in states), "")
        query.cause = lambda: causes.text_of_all(every, problem or "under-replicated")


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
    for option in sorted(OF_BROKERS):
        if option in query.parsed.values:
            broker = broker_id(option, query.parsed.values[option])
            refuse_unknown(query, health, option, frozenset({broker}))


def _directory(text: str) -> bytes:
    raw = RESERVED_DIRECTORIES.get(text) or parse_uuid(text)
    if raw is None:
        raise UsageError(
            f"--directory {text}: not a directory id",
            hint="`nodes -o json` shows the ids of each broker's directories",
        )
    return raw


def _only_topic(image: Image, parsed: Parsed) -> int | None:
    """The topic (its index) that all partitions asked for are of; None where there may be others.

    The partitions of one topic are found without those of others. Whether a broker exists is known
    from all partitions.
    """
    if not OF_BROKERS.isdisjoint(parsed.values):
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
    refuse_count(query, f"{word}: no such partition; the last one of {name} is {last}")
