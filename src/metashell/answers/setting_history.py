"""Since when one config key of topics puts partitions into a state that they are in.

The state can be older than the key's value, and the value older than the partition: a default of
the cluster that rises puts partitions below it that did not change. All is found by columns, with
a pass for each value that counted for a partition one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from metashell.answers.assume import Assumptions
from metashell.answers.topic_settings import ALL_BROKERS, beyond_metadata, broker_of, parsed_values
from metashell.image.fold import find_sorted
from metashell.image.image import Image
from metashell.schema.arena import I64, Bools
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
