"""The partitions that are asked for, as rows: their state, since when, and who would lead next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.election import HOW, NOBODY, Elections, elect, elr_enabled
from metashell.answers.health import LOOKS_AT, Health
from metashell.answers.row_times import when
from metashell.answers.topic_settings import (
    SOURCES,
    TopicSetting,
    effective_min_isr,
    unclean_election,
)
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import fixed_array, list_array, string_array, uuid_array
from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text

RESERVED_DIRECTORIES: Final = {"MIGRATING": MIGRATING, "UNASSIGNED": UNASSIGNED, "LOST": LOST}
"""Kafka's names of the directory ids that are none. Source: DirectoryId."""

_LISTS: Final = (
    "replicas",
    "isr",
    "elr",
    "last_known_elr",
    "adding_replicas",
    "removing_replicas",
)
_OF_ELECTION: Final = ("would_elect", "why", "unclean_candidate")


def partitions_table(
    health: Health, rows: I64, states: Collection[str], wanted: Collection[str] | None = None
) -> pa.Table:
    """Partitions as rows.

    Args:
        health: Of the image.
        rows: int64[n]: which partitions, in the order wanted.
        states: The states that were asked for: ``since`` is when what decides them was last set;
            the last change of the partition where there are none.
        wanted: The columns to make (``partition`` where that is none of them); all if None.

    Returns:
        Columns as ``metashell.commands.partitions`` names them, n rows.
    """
    makers = _makers(_Rows(health, rows), states)
    if wanted is None:
        wanted = makers
    chosen = [name for name in makers if name in wanted] or ["partition"]
    return pa.table({name: makers[name]() for name in chosen})


@dataclass
class _Rows:
    """Partitions asked for, and what several columns say of them."""

    health: Health
    rows: I64

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


def _makers(of: _Rows, states: Collection[str]) -> Mapping[str, Callable[[], pa.Array]]:
    """What makes each column."""
    health, rows = of.health, of.rows
    image = health.image
    partitions, topics = image.partitions, image.topics

    def since(name: str) -> pa.Array:
        return when(image, "since", _since(health, rows, states))[name]

    return {
        "topic": lambda: string_array(topics.raw_names.take(partitions.topic[rows])),
        "partition": lambda: fixed_array(partitions.partition[rows]),
        "leader": lambda: pa.array(of.leader, mask=of.leader == NOBODY),
        **{name: partial(_list, image, name, rows) for name in _LISTS},
        "state": lambda: _states(health, rows),
        "min_isr": lambda: fixed_array(of.min_isr.values),
        "min_isr_source": lambda: _source(of.min_isr),
        "unclean": lambda: fixed_array(of.unclean.values != 0),
        "unclean_source": lambda: _source(of.unclean),
        **{name: partial(of.election_column, name) for name in _OF_ELECTION},
        "leader_epoch": lambda: fixed_array(partitions.leader_epoch[rows]),
        "partition_epoch": lambda: fixed_array(partitions.partition_epoch[rows]),
        "directories": lambda: directories_of(image, rows),
        "topic_id": lambda: uuid_array(topics.ids[partitions.topic[rows]]),
        "since_offset": lambda: since("since_offset"),
        "since_time": lambda: since("since_time"),
    }


def _since(health: Health, rows: I64, states: Collection[str]) -> I64:
    """Row of the record that last set what the states look at."""
    partitions = health.image.partitions
    fields = {field for state in states for field in LOOKS_AT[state]}
    if not fields:
        return partitions.changed[rows]
    set_by = [partitions.set_by(field)[rows] for field in sorted(fields)]
    newest: I64 = np.maximum.reduce(set_by)
    return newest


def _list(image: Image, name: str, rows: I64) -> pa.Array:
    values, list_offsets = image.partitions.list_column(name).take(rows).gather()
    return list_array(fixed_array(values), list_offsets, None)


def _source(setting: TopicSetting) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(setting.sources), SOURCES).cast(pa.string())


def _states(health: Health, rows: I64) -> pa.Array:
    """The names of the states that each partition is in."""
    names = list(LOOKS_AT)
    flags = np.column_stack([health.mask(name)[rows] for name in names])
    flags = flags.reshape(len(rows), len(names))
    list_offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(flags.sum(axis=1), out=list_offsets[1:])
    codes = pa.array(np.nonzero(flags)[1].astype(np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
    return list_array(texts, list_offsets, None)


def directories_of(image: Image, rows: I64) -> pa.Array:
    """Directory ids of each partition's replicas, reserved ones by name."""
    partitions = image.partitions
    default = partitions.directories_default[rows]
    n_replicas = np.maximum(partitions.list_column("replicas").counts[rows], 0)
    stored = partitions.list_column("directories").take(rows)
    counts = np.where(default, n_replicas, stored.counts)
    list_offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=list_offsets[1:])
    ids = np.zeros(int(list_offsets[-1]), dtype="V16")
    values, _ = stored.take(np.flatnonzero(~default)).gather()
    ids[np.repeat(~default, counts)] = values.view("V16")
    texts = uuid_array(ids)
    for name, raw in RESERVED_DIRECTORIES.items():
        texts = pc.if_else(pc.equal(texts, uuid_text(raw)), name, texts)
    return list_array(texts, list_offsets, None)


# Who would be elected.


def _next_leader(
    image: Image, rows: I64, leaderless: I64, unclean: AnyArray
) -> dict[str, pa.Array]:
    """The columns about the election of those that nobody leads; null for the others."""
    n, asked = len(rows), rows[leaderless]
    outcome = elect(image, asked, unclean[leaderless])
    reasons = _reasons(image, asked, outcome)
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


_WHY: Final = {
    "isr": "first live replica of the ISR",
    "elr": "first live eligible leader replica; the ISR is empty",
    "last-known-leader": "last known leader; ISR and ELR are empty: may lose data",
    "unclean": "unclean election: no live replica is in sync; loses data",
}


def _reasons(image: Image, rows: I64, outcome: Elections) -> pa.Array:
    """Why that leader, or whom the partition waits for."""
    waiting = pa.nulls(len(rows), pa.string())
    for name, title in (("isr", "ISR"), ("elr", "ELR"), ("last_known_elr", "last known leader")):
        lists = _list(image, name, rows)
        length = pc.list_value_length(lists)
        if name == "last_known_elr":
            # The controller takes it only where it is enabled and there is no doubt who it is.
            waits_for_any = (
                pc.equal(length, 1) if elr_enabled(image) else pa.repeat(False, len(rows))
            )
        else:
            waits_for_any = pc.greater(length, 0)
        brokers = pc.binary_join(lists.cast(pa.list_(pa.string())), " or ")
        text = pc.binary_join_element_wise("waits for ", brokers, f" ({title})", "")
        waiting = pc.coalesce(waiting, pc.if_else(waits_for_any, text, None))
    waiting = pc.fill_null(
        waiting, "no replica is in sync or eligible: only an unclean election helps"
    )
    texts = [None, *(_WHY[name] for name in HOW[1:])]
    chosen = pa.array(texts, pa.string()).take(pa.array(outcome.how))
    return pc.coalesce(chosen, waiting)


# Which ones.


def choose(health: Health, masks: Sequence[AnyArray], *, by_name: bool = True) -> I64:
    """int64[n]: the partitions that all masks take, by topic name and partition.

    Args:
        health: Of the image.
        masks: bool[k] each.
        by_name: Whether the order counts; they are ascending where it does not.
    """
    partitions = health.image.partitions
    chosen = np.ones(len(partitions), dtype=np.bool_)
    for mask in masks:
        chosen &= mask
    rows = np.flatnonzero(chosen)
    return rows[topic_order(health.image, rows)] if by_name else rows


def topic_order(image: Image, rows: I64) -> I64:
    """int64[n]: how to order partitions by their topics' names.

    Args:
        image: The image.
        rows: int64[n]: the partitions, ascending: those of a topic follow each other.
    """
    topic = image.partitions.topic[rows]
    starts = np.flatnonzero(np.diff(topic, prepend=-1))
    counts = np.diff(starts, append=len(rows))
    order = name_order(image, topic[starts])
    starts, counts = starts[order], counts[order]
    shift = starts - np.cumsum(counts) + counts
    at: I64 = np.arange(len(rows)) + np.repeat(shift, counts)
    return at


def name_order(image: Image, topics: I64) -> I64:
    """int64[n]: how to order topics by their names, by code point."""
    names = string_array(image.topics.raw_names.take(topics))
    order: I64 = pc.sort_indices(names).to_numpy().astype(np.int64)
    return order
