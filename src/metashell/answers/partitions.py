"""The partitions that are asked for, as rows: their state, since when, and who would lead next.

Why partitions are not well, in a few words: whom they wait for, or what is down.

``waits for 102 (ELR)`` is said of a partition without a leader, ``broker 104 is fenced`` of one
with replicas out of sync. All is found by columns: no loop goes over partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.causes import UNDER_MIN_ISR, Causes, Links, causes_text
from metashell.answers.election import HOW, NOBODY, Elections, elect, elr_enabled
from metashell.answers.health import LOOKS_AT, Health
from metashell.answers.row_times import before, when
from metashell.answers.topic_settings import (
    SOURCES,
    TopicSetting,
    effective_min_isr,
    unclean_election,
)
from metashell.answers.topics import topic_order
from metashell.dataclass import dataclass
from metashell.image.arrow import broker_lists
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray, list_offsets_of
from metashell.schema.arrow import fixed_array, list_array, string_array, uuid_array
from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text

_OFFLINE: Final = "offline-partitions"
_BETWEEN: Final = "; "
_FEW: Final = 2
"""Reasons of a group of partitions that are told one by one."""
_HOW: Final = {
    "isr": "first live replica of the ISR",
    "elr": "first live eligible leader replica; the ISR is empty",
    "last-known-leader": "last known leader; ISR and ELR are empty: may lose data",
    "unclean": "unclean election: no live replica is in sync; loses data",
}


class Reasons:
    """Why partitions of an image have a problem.

    Args:
        causes: The image's causes.
    """

    def __init__(self, causes: Causes) -> None:
        self._causes, self._image = causes, causes.image

    def of(self, rows: I64, problem: str) -> pa.Array:
        """string[n]: why each partition has a problem; null where nothing explains it.

        Args:
            rows: int64[n]: the partitions.
            problem: Its code.
        """
        if problem == _OFFLINE:
            unclean = unclean_election(self._image, self._causes.health.assumptions, rows).values
            return election_reasons(self._image, rows, elect(self._image, rows, unclean != 0))
        texts = self._texts(self._causes.links(rows, problem), len(rows))
        return _joined(texts, self._too_few(rows)) if problem == UNDER_MIN_ISR else texts

    def _too_few(self, rows: I64) -> pa.Array:
        """string[n]: of partitions with fewer replicas than min.insync.replicas both numbers; null
        for others.

        Args:
            rows: int64[n]: the partitions.
        """
        some = Health(self._image, self._causes.health.assumptions, rows)
        numbers = np.column_stack([some.n_of("replicas"), some.min_isr.values])
        known, at = np.unique(numbers, axis=0, return_inverse=True)
        texts = [
            f"{n} replica{'s' * (n != 1)}, min.insync.replicas is {least}"
            for n, least in known.tolist()
        ]
        few = pa.array(texts, pa.string()).take(pa.array(at.reshape(-1)))
        return pc.if_else(pa.array(some.has_too_few), few, None)

    def of_groups(self, rows: I64, problem: str, links: Links, groups: I64, n: int) -> pa.Array:
        """string[n]: why each group of partitions has a problem; null where nothing explains it.

        Args:
            rows: int64[k]: the partitions.
            problem: Its code.
            links: Their links to causes, from `Causes.links`.
            groups: int64[k]: the group of each, ascending.
            n: How many groups there are.
        """
        if problem == _OFFLINE:
            return self._distinct(self.of(rows, problem), groups, n)
        of_causes = self._texts(Links(groups[links.at], links.cause), n)
        if problem != UNDER_MIN_ISR:
            return of_causes
        return _joined(of_causes, self._distinct(self._too_few(rows), groups, n))

    @staticmethod
    def _distinct(texts: pa.Array, groups: I64, n: int) -> pa.Array:
        """string[n]: the different texts of each group, the first few; null where none has one."""
        coded = texts.drop_null().dictionary_encode()
        groups = groups[texts.is_valid().to_numpy(zero_copy_only=False)]
        n_texts = max(len(coded.dictionary), 1)
        pairs = np.unique(groups * n_texts + coded.indices.to_numpy().astype(np.int64))
        group, text = np.divmod(pairs, n_texts)
        bounds = np.searchsorted(group, np.arange(n + 1))
        lists = list_array(coded.dictionary.take(pa.array(text)), bounds, None)
        joined = pc.binary_join(pc.list_slice(lists, 0, _FEW), _BETWEEN)
        n_more = np.diff(bounds) - _FEW
        more = pc.binary_join_element_wise(
            joined, " and ", pa.array(n_more).cast(pa.string()), " more", ""
        )
        both = pc.if_else(pa.array(n_more > 0), more, joined)
        return pc.if_else(pc.equal(both, ""), None, both)

    def _texts(self, links: Links, n: int) -> pa.Array:
        """string[n]: what each follows from; links whose places are the same count together."""
        known, numbers = np.unique(links.cause, return_inverse=True)
        pairs = np.unique(links.at * max(len(known), 1) + numbers)
        at, number = np.divmod(pairs, max(len(known), 1))
        bounds = np.searchsorted(at, np.arange(n + 1))
        names = fixed_array(np.arange(len(known))).cast(pa.string())
        # Few sets of causes are those of many partitions: each is put into words once.
        sets = pc.binary_join(list_array(names.take(pa.array(number)), bounds, None), ",")
        encoded = sets.dictionary_encode()
        causes = self._causes.of_numbers(known)
        n_brokers = len(self._image.brokers.ids)
        texts = [
            causes_text([causes[int(i)] for i in one.split(",") if i], n_brokers) or None
            for one in encoded.dictionary.to_pylist()
        ]
        return pa.array(texts, pa.string()).take(encoded.indices)


def _joined(first: pa.Array, second: pa.Array) -> pa.Array:
    """string[n]: both texts where there are two; null where there is none."""
    return pc.coalesce(pc.binary_join_element_wise(first, second, _BETWEEN), first, second)


def election_reasons(image: Image, rows: I64, outcome: Elections) -> pa.Array:
    """string[n]: why a broker would be elected, or whom the partition waits for.

    Args:
        image: The image.
        rows: int64[n]: partitions without a leader.
        outcome: The controller's next actions on them.
    """
    waiting = pa.nulls(len(rows), pa.string())
    for name, title in (("isr", "ISR"), ("elr", "ELR"), ("last_known_elr", "last known leader")):
        lists = broker_lists(image.partitions, name, rows)
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
        waiting, "no replica is in sync or eligible: only an unclean election, which loses data"
    )
    texts = [None, *(_HOW[name] for name in HOW[1:])]
    chosen = pa.array(texts, pa.string()).take(pa.array(outcome.how))
    return pc.coalesce(chosen, waiting)


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
        explained = self.reasons.of(rows, "under-min-isr")
        at = np.full(len(self.rows), -1, dtype=np.int64)
        at[some] = np.arange(len(rows))
        return pc.coalesce(reasons, explained.take(pa.array(at, mask=at < 0)))


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
