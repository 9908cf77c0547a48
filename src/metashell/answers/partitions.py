"""The partitions that are asked for, as rows: their state, since when, and who would lead next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.causes import Causes
from metashell.answers.election import NOBODY, elect
from metashell.answers.health import LOOKS_AT, Health
from metashell.answers.reasons import Reasons, election_reasons
from metashell.answers.row_times import before, when
from metashell.answers.topic_order import topic_order
from metashell.answers.topic_settings import (
    SOURCES,
    TopicSetting,
    effective_min_isr,
    unclean_election,
)
from metashell.dataclass import dataclass
from metashell.image.arrow import broker_lists
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray, list_offsets_of
from metashell.schema.arrow import fixed_array, list_array, string_array, uuid_array
from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text

RESERVED_DIRECTORIES: Final = {"MIGRATING": MIGRATING, "UNASSIGNED": UNASSIGNED, "LOST": LOST}
"""Kafka's names of the directory ids that are none. Source: DirectoryId."""

_WRONG: Final = ("under-replicated", "under-min-isr", "offline")
"""States whose beginning is told unasked, the worst last."""
_LISTS: Final = (
    "replicas",
    "isr",
    "elr",
    "last_known_elr",
    "adding_replicas",
    "removing_replicas",
)


def partitions_table(
    health: Health,
    rows: I64,
    states: Collection[str],
    wanted: Collection[str] | None = None,
    reasons: Reasons | None = None,
) -> pa.Table:
    """Partitions as rows.

    Args:
        health: The image's health.
        rows: int64[n]: which partitions, in the order wanted.
        states: The states that were asked for: ``since`` is when the last of them began.
            Where there are none, it is that of `_WRONG` for partitions in such a state, else the
            last change.
        wanted: The columns to make (``partition`` where that is none of them); all if None.
        reasons: The reasons for problems of that image, for a caller that makes several tables.

    Returns:
        Columns as the command names them, n rows.
    """
    makers = _makers(_Rows(health, rows, reasons or Reasons(Causes(health))), states)
    if wanted is None:
        wanted = makers
    chosen = [name for name in makers if name in wanted] or ["partition"]
    return pa.table({name: makers[name]() for name in chosen})


@dataclass
class _Rows:
    """Partitions asked for, and what several columns say of them."""

    health: Health
    rows: I64
    reasons: Reasons

    @cached_property
    def leader(self) -> AnyArray:
        return self.health.image.partitions.leader[self.rows]

    @cached_property
    def min_isr(self) -> TopicSetting:
        return effective_min_isr(self.health.image, self.health.assumptions, self.rows)

    @cached_property
    def unclean(self) -> TopicSetting:
        return unclean_election(self.health.image, self.health.assumptions, self.rows)

    @cached_property
    def _elections(self) -> dict[str, pa.Array]:
        leaderless = np.flatnonzero(self.leader == NOBODY)
        return _next_leader(self.health.image, self.rows, leaderless, self.unclean.values != 0)

    def election_column(self, name: str) -> pa.Array:
        return self._elections[name]

    def why(self) -> pa.Array:
        """The brokers that a partition without a leader waits for. For the others, the brokers of
        missing replicas, and whether there are too few.
        """
        reasons = self._elections["why"]
        masks = self.health.masks_at(["under-replicated", "under-min-isr"], self.rows)
        some = np.logical_or(*masks) & (self.leader != NOBODY)
        if not some.any():
            return reasons
        rows = self.rows[some]
        told = self.reasons.of(rows, "under-min-isr")
        at = np.full(len(self.rows), -1, dtype=np.int64)
        at[some] = np.arange(len(rows))
        return pc.coalesce(reasons, told.take(pa.array(at, mask=at < 0)))


def _makers(of: _Rows, states: Collection[str]) -> Mapping[str, Callable[[], pa.Array]]:
    """The function that makes each column, by name."""
    health, rows = of.health, of.rows
    image = health.image
    partitions, topics = image.partitions, image.topics

    @cache
    def since_rows() -> I64:
        return _since(health, rows, states)

    @cache
    def since() -> Mapping[str, pa.Array]:
        return when(image, "since", since_rows())

    return {
        "topic": lambda: string_array(topics.raw_names.take(partitions.topic[rows])),
        "partition": lambda: fixed_array(partitions.partition[rows]),
        "leader": lambda: pa.array(of.leader, mask=of.leader == NOBODY),
        **{name: partial(broker_lists, partitions, name, rows) for name in _LISTS},
        "state": lambda: _states(health, rows),
        "min_isr": lambda: fixed_array(of.min_isr.values),
        "min_isr_source": lambda: _source(of.min_isr),
        "unclean": lambda: fixed_array(of.unclean.values != 0),
        "unclean_source": lambda: _source(of.unclean),
        "would_elect": partial(of.election_column, "would_elect"),
        "why": of.why,
        "unclean_candidate": partial(of.election_column, "unclean_candidate"),
        "leader_epoch": lambda: fixed_array(partitions.leader_epoch[rows]),
        "partition_epoch": lambda: fixed_array(partitions.partition_epoch[rows]),
        "directories": lambda: directories_of(image, rows),
        "topic_id": lambda: uuid_array(topics.ids[partitions.topic[rows]]),
        "since_offset": lambda: since()["since_offset"],
        "since_time": lambda: since()["since_time"],
        "since_before": lambda: before(image, since_rows()),
    }


def _since(health: Health, rows: I64, states: Collection[str]) -> I64:
    """Row of the record that brought each partition into the states."""
    if states:
        began = [health.began(state, rows) for state in sorted(states)]
        newest: I64 = np.maximum.reduce(began)
        return newest
    since = health.image.partitions.changed[rows].astype(np.int64)
    # The last change of a partition may be a later one, so the beginning of its state counts.
    for state, mask in zip(_WRONG, health.masks_at(_WRONG, rows), strict=True):
        at = np.flatnonzero(mask)
        if len(at):
            since[at] = health.began(state, rows[at])
    return since


def _source(setting: TopicSetting) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(setting.sources), SOURCES).cast(pa.string())


def _states(health: Health, rows: I64) -> pa.Array:
    """The names of the states that each partition is in."""
    names = list(LOOKS_AT)
    flags = np.column_stack(health.masks_at(names, rows))
    flags = flags.reshape(len(rows), len(names))
    list_offsets = list_offsets_of(flags.sum(axis=1))
    codes = pa.array(np.nonzero(flags)[1].astype(np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
    return list_array(texts, list_offsets, None)


def directories_of(image: Image, rows: I64) -> pa.Array:
    """Directory ids of each partition's replicas, reserved ones by name."""
    ids, list_offsets = image.partitions.directories(rows)
    texts = uuid_array(ids)
    for name, raw in RESERVED_DIRECTORIES.items():
        texts = pc.if_else(pc.equal(texts, uuid_text(raw)), name, texts)
    return list_array(texts, list_offsets, None)


# The brokers that would be elected.


def _next_leader(
    image: Image, rows: I64, leaderless: I64, unclean: AnyArray
) -> dict[str, pa.Array]:
    """The columns about the election of those that nobody leads; null for the others."""
    n, asked = len(rows), rows[leaderless]
    outcome = elect(image, asked, unclean[leaderless])
    reasons = election_reasons(image, asked, outcome)
    elected = np.full(n, NOBODY, dtype=np.int32)
    elected[leaderless] = outcome.leader
    at = np.full(n, -1, dtype=np.int64)
    at[leaderless] = np.arange(len(asked))
    index = pa.array(at, mask=at < 0)
    return {
        "would_elect": pa.array(elected, mask=elected == NOBODY),
        "why": reasons.take(index),
        "unclean_candidate": pa.array(outcome.candidate, mask=outcome.candidate == NOBODY).take(
            index
        ),
    }


# Which ones.


def choose(health: Health, masks: Sequence[AnyArray], *, by_name: bool = True) -> I64:
    """int64[n]: the partitions that all masks take, by topic name and partition.

    Args:
        health: The image's health.
        masks: bool[k] each.
        by_name: Whether the order counts; they are ascending where it does not.
    """
    partitions = health.image.partitions
    chosen = np.ones(len(partitions), dtype=np.bool_)
    for mask in masks:
        chosen &= mask
    rows = np.flatnonzero(chosen)
    return rows[topic_order(health.image, rows)] if by_name else rows
