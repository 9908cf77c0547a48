"""One config key of topics: its effective value for every partition at once.

A topic's own config counts first, then what is set for the broker that leads, then the cluster's
default for brokers, then what a node's server.properties says (only assumptions know that), then
Kafka's default. Values that can't be read as what the key holds do not count.

Since when one config key of topics puts partitions into a state that they are in.

The state can be older than the key's value, and the value older than the partition: a default of
the cluster that rises puts partitions below it that did not change. All is found by columns, with
a pass for each value that counted for a partition one after the other.

Source: org.apache.kafka.controller.KafkaConfigSchema.resolveEffectiveTopicConfig.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.config_defaults import default_of
from metashell.dataclass import dataclass
from metashell.image.fold import find_sorted
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columns import SpanColumn
from metashell.schema.resource_types import ResourceType

_NO_VALUE: Final = -1
_NEVER: Final = -1
_UNKNOWN: Final = -1
_MOST_PASSES: Final = 1000
"""A log can set a key a million times: of more values a beginning is not known."""


class _Changes:
    """Records about a key, by what they are about: each thing's in the order of the log."""

    def __init__(self, things: I64, rows: I64, values: I64) -> None:
        order = np.lexsort((rows, things))
        self._things, starts = np.unique(things[order], return_index=True)
        self._bounds = np.append(starts, len(order))
        self._places = np.repeat(np.arange(len(starts)), np.diff(self._bounds))
        self._rows, self._values = rows[order], values[order]

    def last(self, things: I64, before: I64) -> tuple[I64, I64]:
        """The last change of each thing before a row: (its row, the value behind it).

        Both are -1 where there is none; so is the value that a record takes away.
        """
        rows = np.full(len(things), _NEVER, dtype=np.int64)
        values = np.full(len(things), _NO_VALUE, dtype=np.int64)
        place = find_sorted(self._things, things)
        known = np.flatnonzero(place >= 0)
        first, end = self._bounds[place[known]], self._bounds[place[known] + 1]
        # A thing's rows lie between others': its place and a row make one number to search for.
        scale = max(int(self._rows.max(initial=0)), int(before.max(initial=0))) + 1
        rows_of_things = self._places * scale + self._rows
        at = np.searchsorted(rows_of_things, place[known] * scale + before[known])
        at = np.minimum(at, end) - 1
        some = at >= first
        rows[known[some]], values[known[some]] = self._rows[at[some]], self._values[at[some]]
        return rows, values


def setting_history(
    image: Image, key: str, parse: Callable[[str], int | None], assumptions: Assumptions
) -> SettingHistory | None:
    """The history of a key; None where only a checkpoint has configs, which tells no times.

    For the arguments see `SettingHistory`.
    """
    newest = image.records.rows("ConfigRecord")[-1:]
    is_known = len(newest) and image.records.offsets(newest)[1].all()
    return SettingHistory(image, key, parse, assumptions) if is_known else None


class SettingHistory:
    """The value of a key at any record of an image's log, for its partitions.

    Args:
        image: The image.
        key: The key.
        parse: Gives the value of a text, 0 or more; None for a text without one.
        assumptions: The configs that its nodes' own files are assumed to set.
    """

    def __init__(
        self,
        image: Image,
        key: str,
        parse: Callable[[str], int | None],
        assumptions: Assumptions,
    ) -> None:
        self._beyond = beyond_metadata(key, parse, assumptions)[0]
        rows, columns = image.records.columns("ConfigRecord")
        at = columns.span("name").find(key.encode())
        rows = np.asarray(rows, dtype=np.int64)[at]
        kinds = columns.fixed("resource_type")[at]
        names = columns.span("resource_name").take(at)
        # Without a record about the key nothing here needs pyarrow.
        values = parsed_values(columns.span("value").take(at), parse) if len(at) else rows
        self.last_row = int(rows.max(initial=_NEVER))
        """Row of the newest record about the key, -1 without one."""
        of_topics = np.flatnonzero(kinds == ResourceType.TOPIC)
        topics = image.topics.indices_of(names.take(of_topics))
        of_topics, topics = of_topics[topics >= 0], topics[topics >= 0]
        # An earlier topic of the same name had configs of its own.
        mine = rows[of_topics] > image.topics.created[topics]
        of_topics = of_topics[mine]
        self._of_topics = _Changes(topics[mine], rows[of_topics], values[of_topics])
        at = np.flatnonzero(kinds == ResourceType.BROKER)
        named = zip(at.tolist(), map(broker_of, names.take(at).texts()), strict=True)
        found = [(i, broker) for i, broker in named if broker is not None]
        of_brokers, brokers = np.array(found, dtype=np.int64).reshape(-1, 2).T
        self._of_brokers = _Changes(brokers, rows[of_brokers], values[of_brokers])
        self.is_of_brokers = bool((brokers != ALL_BROKERS).any())
        """Whether single brokers had values: then it matters who led a partition."""

    def since(
        self, topics: I64, leaders: I64, since: I64, holds: Callable[[I64, I64], Bools]
    ) -> I64:
        """int64[n]: row of the record since which partitions are in a state.

        Args:
            topics: int64[n]: the topic of each partition, which is in the state now.
            leaders: int64[n]: who leads it.
            since: int64[n]: row of the record since which nothing but the key decides.
            holds: Tells of values (int64[k]) of the key and indices (int64[k]) of partitions
                whether these are in the state with them.

        Returns:
            -1 where that is not known.
        """
        out = since.copy()
        left = np.flatnonzero(since < self.last_row)
        before = np.full(len(left), self.last_row + 1, dtype=np.int64)
        for _ in range(_MOST_PASSES):
            if not len(left):
                return out
            newest = self._at(topics[left], leaders[left], before)[0]
            later = newest > since[left]
            left, newest = left[later], newest[later]
            held = holds(self._at(topics[left], leaders[left], newest)[1], left)
            out[left[~held]] = newest[~held]
            left, before = left[held], newest[held]
        out[left] = _UNKNOWN
        return out

    def _at(self, topics: I64, leaders: I64, before: I64) -> tuple[I64, I64]:
        """The value that holds before a row: (row of the last record about it, the value)."""
        levels = (
            self._of_topics.last(topics, before),
            # Nobody leads as number -1, which is that of the default here: it counts below too.
            self._of_brokers.last(leaders, before),
            self._of_brokers.last(np.full(len(topics), ALL_BROKERS), before),
        )
        newest = np.maximum.reduce([rows for rows, _ in levels])
        value = np.full(len(topics), self._beyond, dtype=np.int64)
        for _, values in reversed(levels):
            value = np.where(values >= 0, values, value)
        return newest, value


SOURCES: Final = (
    "DYNAMIC_TOPIC_CONFIG",
    "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
)
"""Where a value comes from, in order. Source: ConfigEntry.ConfigSource."""
_TOPIC, _BROKER, _CLUSTER, _STATIC, _DEFAULT = range(len(SOURCES))

ALL_BROKERS: Final = -1
_INT32_MOST: Final = 2**31 - 1

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """A key's effective values.

    ``values``: int32[k], ``sources``: int8[k] (index into `SOURCES`), for each partition.
    """

    values: I32
    sources: AnyArray


def effective_min_isr(
    image: Image,
    assumptions: Assumptions = NO_ASSUMPTIONS,
    rows: AnyArray | None = None,
    leaders: AnyArray | None = None,
) -> TopicSetting:
    """``min.insync.replicas`` of each partition as its leader sees it.

    Args:
        image: The image.
        assumptions: The configs that its nodes' own files are assumed to set.
        rows: The partitions asked for; all if None.
        leaders: int32[n], their assumed leaders; the present ones if None.
    """
    if leaders is None:
        leader = image.partitions.leader
        leaders = leader if rows is None else leader[rows]
    return _effective(image, MIN_INSYNC_REPLICAS, positive_int, assumptions, rows, leaders)


def unclean_election(
    image: Image, assumptions: Assumptions = NO_ASSUMPTIONS, rows: AnyArray | None = None
) -> TopicSetting:
    """Whether (1 or 0) a replica that is not in sync may be elected leader of each partition.

    The controller decides that, so what is set for single brokers does not count.
    """
    return _effective(image, UNCLEAN_LEADER_ELECTION, _truth, assumptions, rows, None)


def _effective(
    image: Image,
    key: str,
    parse: Callable[[str], int | None],
    assumptions: Assumptions,
    rows: AnyArray | None,
    leaders: AnyArray | None,
) -> TopicSetting:
    partitions = image.partitions
    topic = partitions.topic if rows is None else partitions.topic[rows]
    at = image.part("configs").columns.span("name").find(key.encode())
    of_topics, own_values = _of_topics(image, at, parse)
    of_brokers, base = _of_brokers(image, at, parse)
    base_source = _CLUSTER
    if base is None:
        base, base_source = beyond_metadata(key, parse, assumptions)
    values = np.full(len(topic), base, dtype=np.int32)
    sources = np.full(len(topic), base_source, dtype=np.int8)
    if leaders is not None:
        for broker, value in of_brokers.items():
            led = leaders == broker
            values[led], sources[led] = value, _BROKER
    if len(of_topics):
        own = np.full(len(image.topics), -1, dtype=np.int64)
        own[of_topics] = own_values
        own = own[topic]
        has = own >= 0
        values[has], sources[has] = own[has], _TOPIC
    return TopicSetting(values, sources)


def _of_topics(image: Image, at: I64, parse: Callable[[str], int | None]) -> tuple[I64, I64]:
    """The topics (their indices) that have a value of their own, and the values.

    A cluster may have one for each of a million topics: each text is read once.

    Args:
        image: The image.
        at: int64[n]: the configs with the key.
        parse: Makes of a text the value, or None where it is none.
    """
    columns = image.part("configs").columns
    at = at[columns.fixed("resource_type")[at] == ResourceType.TOPIC]
    if not len(at):
        return at, at
    topics = image.topics.indices_of(columns.span("resource_name").take(at))
    values = parsed_values(columns.span("value").take(at), parse)
    counts = (topics >= 0) & (values >= 0)
    return topics[counts], values[counts]


def parsed_values(texts: SpanColumn, parse: Callable[[str], int | None]) -> I64:
    """int64[n]: what texts mean, -1 for what means nothing; each is read once."""
    # Where no topic has a value of its own, nothing here needs pyarrow.
    from metashell.schema.arrow import string_array

    coded = string_array(texts).fill_null("").dictionary_encode()
    parsed = [parse(text) for text in coded.dictionary.to_pylist()]
    known = np.array([-1 if value is None else value for value in parsed], dtype=np.int64)
    found: I64 = known[coded.indices.to_numpy()]
    return found


def _of_brokers(
    image: Image, at: I64, parse: Callable[[str], int | None]
) -> tuple[dict[int, int], int | None]:
    """Values by broker, and the one of all brokers; None for none."""
    columns = image.part("configs").columns
    at = at[columns.fixed("resource_type")[at] == ResourceType.BROKER]
    names = columns.span("resource_name").take(at).texts()
    values = columns.span("value").take(at).texts()
    of_brokers: dict[int, int] = {}
    base: int | None = None
    for name, text in zip(names, values, strict=True):
        value, broker = parse(text), broker_of(name)
        if value is None or broker is None:
            continue
        if broker == ALL_BROKERS:
            base = value
        else:
            of_brokers[broker] = value
    return of_brokers, base


def beyond_metadata(
    key: str, parse: Callable[[str], int | None], assumptions: Assumptions
) -> tuple[int, int]:
    """The value where the metadata has none, and its source (index into `SOURCES`)."""
    assumed = assumptions.get(key)
    value = None if assumed is None else parse(assumed)
    if value is not None:
        return value, _STATIC
    value = parse(default_of("TOPIC", key) or "")
    assert value is not None, key
    return value, _DEFAULT


def positive_int(text: str) -> int | None:
    """An int32 above 0 as Java reads it; None where the text is none."""
    digits = text.strip().removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(_INT32_MOST)):
        return None
    value = int(digits)
    return value if 1 <= value <= _INT32_MOST else None


def _truth(text: str) -> int | None:
    return {"true": 1, "false": 0}.get(text.strip().lower())


def broker_of(name: str) -> int | None:
    """The broker that a config's resource names, `ALL_BROKERS` for the cluster's default.

    None where it names none as Kafka does: `007` is another resource than `7`.
    """
    if not name:
        return ALL_BROKERS
    if not (name.isascii() and name.isdigit()) or len(name) > len(str(_INT32_MOST)):
        return None
    return int(name) if str(int(name)) == name and int(name) <= _INT32_MOST else None
