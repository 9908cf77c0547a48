"""Topics and brokers as words of a command: globs of names, lists of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.cluster import opened_sources
from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.completion import complete_children, complete_names
from metashell.commands.shared.names import unknown
from metashell.errors import MetashellError, UsageError
from metashell.fs.pattern import Pattern

if TYPE_CHECKING:
    from metashell.answers.health import Health
    from metashell.commands.rows.query import RowsQuery
    from metashell.image.image import Image
    from metashell.schema.arena import Bools

_TOPICS = "/image/topics/byName"
_BROKERS = "/image/cluster/brokers"
_MOST_DIGITS = 10
_INT32_MOST = 2**31 - 1


def broker_id(flag: str, text: str) -> int:
    """A broker's id.

    Raises:
        UsageError: It is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise UsageError(f"{flag} {text}: must be a broker id")
    value = int(text)
    if value > _INT32_MOST:
        raise UsageError(f"{flag} {text}: must be a broker id")
    return value


def broker_ids(flag: str, text: str) -> frozenset[int]:
    """Ids separated by commas; errors as `broker_id`."""
    return frozenset(broker_id(flag, word.strip()) for word in text.split(","))


def refuse_unknown(query: RowsQuery, health: Health, flag: str, brokers: frozenset[int]) -> None:
    """Refuse brokers that do not exist: that nothing is wrong with them is no answer.

    One that is not registered but has replicas yet exists, and is remarked on.

    Raises:
        MetashellError: One does not exist.
    """
    from metashell.answers.brokers import unknown_brokers

    ids = query.image.brokers.ids.tolist()
    missing = unknown_brokers(health, brokers)
    if missing:
        controllers = query.image.part("controllers").columns.fixed("controller_id")
        hint = "`nodes` lists all nodes"
        if missing[0] in controllers:
            hint = f"node {missing[0]} is a controller"
        raise MetashellError(unknown(str(missing[0]), "broker", map(str, ids), flag), hint=hint)
    for broker in sorted(brokers.difference(ids)):
        query.warn(f"broker {broker} is not registered")


def topics_like(image: Image, patterns: Sequence[str]) -> Bools:
    """bool[topics]: whose name matches any of these globs; a name without wildcards is itself."""
    import numpy as np

    topics = image.topics
    out = np.zeros(len(topics), dtype=np.bool_)
    for text in patterns:
        pattern = Pattern(text)
        if pattern.literals is not None:
            found = [topics.find_name(name) for name in pattern.literals]
            out[[index for index in found if index is not None]] = True
            continue
        out |= np.fromiter(map(pattern.match, topics.names), dtype=np.bool_, count=len(topics))
    return out


def complete_topics(context: Context, word: str) -> list[Completion]:
    """Propose names of topics of the clusters here."""
    if context.fleet is None:
        return complete_children(context, _TOPICS, word)
    names = {
        name
        for source in opened_sources(context)
        for name in source.image.topics.names
        if name.startswith(word)
    }
    return complete_names(word, sorted(names))


def complete_brokers(context: Context, word: str) -> list[Completion]:
    """Propose ids of brokers of the clusters here, for the last of a list."""
    if context.fleet is None and "," not in word:
        return complete_children(context, _BROKERS, word)
    last = word.rpartition(",")[2]
    ids = {i for source in opened_sources(context) for i in source.image.brokers.ids.tolist()}
    return [Completion(str(i), -len(last), str(i)) for i in sorted(ids) if str(i).startswith(last)]
