"""Brokers and racks: what each leads and holds, how even that is, and what its loss would mean.

Partitions counted: by topic, by broker, by rack.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.election import HOW, NOBODY, elect, lists_of, waited_for
from metashell.answers.health import NO_LEADER, Health, first_of
from metashell.answers.tally import tally, tally_lists, tally_replicas
from metashell.answers.topic_settings import effective_min_isr, unclean_election
from metashell.answers.topics import topic_order
from metashell.dataclass import dataclass
from metashell.image.cluster import Brokers
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, AnyArray, list_offsets_of, repeats
from metashell.schema.arrow import fixed_array, list_array, string_array

_STATES: Final = (
    "offline",
    "under-replicated",
    "under-min-isr",
    "at-min-isr",
    "no-preferred-leader",
    "reassigning",
)
_NO_RACK: Final = -1
_SMALL: Final = 1 << 20
"""Ids below are looked up in a table."""


def summary_table(health: Health, rows: I64, by: str) -> pa.Table:
    """Counts of the partitions given, a row for each topic, broker or rack that has any.

    Args:
        health: The image's health.
        rows: int64[n]: the partitions.
        by: ``topic``, ``broker`` or ``rack``. A broker's row counts partitions with a replica
            there, whether it is registered or not. A rack's row likewise; a null rack is that of
            brokers without one.
    """
    image = health.image
    if by == "topic":
        return _by_topic(health, rows)
    placed = lists_of(image, "replicas", rows)
    keys, group = _coded(placed.brokers)
    names = pa.array(keys)
    if by == "rack":
        racks = Racks.of(image)
        keys, rack_of = np.unique(racks.codes(keys), return_inverse=True)
        names, group = racks.texts(keys), rack_of[group]
    leads = image.partitions.leader[rows][placed.row] == placed.brokers
    # A partition counts once in a group, however many of its replicas are there.
    once = ~repeats(placed.row, group)
    things = _Things(placed.row[once], group[once], len(keys))
    columns = {
        "partitions": things.count(),
        "leaders": pa.array(np.bincount(group[leads], minlength=len(keys)).astype(np.int64)),
        "replicas": pa.array(np.bincount(group, minlength=len(keys)).astype(np.int64)),
        **_states(health, rows, things),
    }
    return pa.table({by: names} | columns)


def _by_topic(health: Health, rows: I64) -> pa.Table:
    partitions, topics = health.image.partitions, health.image.topics
    keys, group = _coded(partitions.topic[rows])
    things = _Things(np.arange(len(rows)), group, len(keys))
    replicas = np.bincount(group, weights=health.n_of("replicas")[rows], minlength=len(keys))
    names = string_array(topics.raw_names.take(keys))
    columns = {
        "partitions": things.count(),
        "leaders": things.count(partitions.leader[rows] != NO_LEADER),
        "replicas": pa.array(replicas.astype(np.int64)),
        **_states(health, rows, things),
    }
    table = pa.table({"topic": names} | columns)
    return table.take(pc.sort_indices(names))


@dataclass(frozen=True, slots=True)
class _Things:
    """Partitions in groups: ``row``: int64[m]: which; ``group``: int64[m], below ``n``."""

    row: I64
    group: I64
    n: int

    def count(self, flags: AnyArray | None = None) -> pa.Array:
        """By group, those partitions that have the flag: bool by row."""
        group = self.group if flags is None else self.group[flags[self.row]]
        return pa.array(np.bincount(group, minlength=self.n).astype(np.int64))


def _states(health: Health, rows: I64, things: _Things) -> dict[str, pa.Array]:
    return {state.replace("-", "_"): things.count(health.mask(state)[rows]) for state in _STATES}


def _coded(values: AnyArray) -> tuple[AnyArray, I64]:
    """Distinct values, ascending, and the index of each value there; small ones are not sorted."""
    if not len(values) or int(values.min()) < 0 or int(values.max()) >= _SMALL:
        keys, codes = np.unique(values, return_inverse=True)
        return keys, codes
    keys = np.flatnonzero(np.bincount(values)).astype(values.dtype)
    index = np.zeros(int(keys[-1]) + 1, dtype=np.int64)
    index[keys] = np.arange(len(keys))
    return keys, index[values]


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of an image's brokers."""

    names: list[str]
    """Sorted."""
    _brokers: Brokers
    _codes: I64
    """int64[brokers + 1]: of each broker; the last is for those that are not registered."""

    @classmethod
    def of(cls, image: Image) -> Racks:
        """The racks that the registrations name."""
        texts = image.brokers.registration.span("rack").strings()
        names = sorted({text for text in texts if text is not None})
        codes: dict[str | None, int] = {name: i for i, name in enumerate(names)}
        found = [codes.get(text, _NO_RACK) for text in (*texts, None)]
        return cls(names, image.brokers, np.array(found, dtype=np.int64))

    def codes(self, brokers: AnyArray) -> I64:
        """int64[m]: index into `names` of each broker's rack, `_NO_RACK` for none."""
        codes: I64 = self._codes[self._brokers.places(brokers)]
        return codes

    def brokers_in(self, names: Collection[str]) -> frozenset[int]:
        """The ids of the registered brokers whose rack has one of these names."""
        codes = [i for i, name in enumerate(self.names) if name in names]
        return frozenset(self._brokers.ids[np.isin(self._codes[:-1], codes)].tolist())

    def texts(self, codes: I64) -> pa.Array:
        """Names by code, null for `_NO_RACK`."""
        names = pa.array(self.names, pa.string())
        return names.take(pa.array(codes, mask=codes == _NO_RACK))


STATES: Final = ("active", "fenced", "controlled-shutdown", "not-registered")
"""How a broker is; one that is not registered shows where replicas are still assigned to it."""
_ACTIVE, _FENCED, _SHUTTING, _UNKNOWN = range(len(STATES))


def brokers_table(health: Health) -> pa.Table:
    """A row for each broker that is registered or has replicas, by id."""
    image = health.image
    load = _Load(health)
    states = broker_states(image, load.ids)
    racks = Racks.of(image)
    counts = load.counts(np.arange(len(load.ids)), len(load.ids))
    return pa.table(
        {
            "broker": fixed_array(load.ids),
            "state": pa.array(STATES).take(pa.array(states)),
            "rack": racks.texts(racks.codes(load.ids)),
            **{name: pa.array(values) for name, values in counts.items()},
            **_skews(counts, states == _ACTIVE, states != _UNKNOWN),
        }
    )


def racks_table(health: Health) -> pa.Table:
    """A row for each rack, and one with a null rack for brokers that name none."""
    image = health.image
    load = _Load(health)
    racks = Racks.of(image)
    states = broker_states(image, load.ids)
    keys, rack_of = np.unique(racks.codes(load.ids), return_inverse=True)
    counts = load.counts(rack_of, len(keys))
    active = np.bincount(rack_of[states == _ACTIVE], minlength=len(keys))
    registered = np.bincount(rack_of[states != _UNKNOWN], minlength=len(keys))
    return pa.table(
        {
            "rack": racks.texts(keys),
            "brokers": pa.array(registered.astype(np.int64)),
            "active": pa.array(active.astype(np.int64)),
            **{name: pa.array(values) for name, values in counts.items()},
            **_skews(counts, active, registered),
        }
    )


def broker_states(image: Image, ids: AnyArray) -> AnyArray:
    """int8[n]: index into `STATES` of each broker."""
    brokers = image.brokers
    states = np.full(len(ids), _UNKNOWN, dtype=np.int8)
    known = np.where(
        brokers.fenced, _FENCED, np.where(brokers.in_controlled_shutdown, _SHUTTING, _ACTIVE)
    )
    states[np.searchsorted(ids, brokers.ids)] = known
    return states


class _Load:
    """Counts by broker: its replicas, and the partitions that it leads."""

    def __init__(self, health: Health) -> None:
        partitions = health.image.partitions
        leader = partitions.leader
        preferred = first_of(partitions.list_column("replicas"))
        tallies = {
            "leaders": tally(leader[leader != NOBODY]),
            "replicas": tally_replicas(health.image),
            "in_sync": tally_lists(partitions.list_column("isr")),
            "preferred": tally(preferred[preferred != NOBODY]),
            "preferred_led": tally(leader[(leader == preferred) & (leader != NOBODY)]),
        }
        found = [health.image.brokers.ids, *(ids for ids, _ in tallies.values())]
        self.ids: I32 = np.unique(np.concatenate(found)).astype(np.int32)
        """int32[n]: brokers that are registered or placed anywhere, ascending."""
        self._counts = {}
        for name, (ids, counts) in tallies.items():
            self._counts[name] = np.zeros(len(self.ids), dtype=np.int64)
            self._counts[name][np.searchsorted(self.ids, ids)] = counts

    def counts(self, group: I64, n: int) -> dict[str, I64]:
        """Counts by group: int64[n] each.

        Args:
            group: int64[brokers]: of each of `ids`.
            n: Groups.
        """
        return {
            name: np.bincount(group, weights=counts, minlength=n).astype(np.int64)
            for name, counts in self._counts.items()
        }


def _skews(counts: dict[str, I64], active: AnyArray, registered: AnyArray) -> dict[str, pa.Array]:
    """How far leaders and replicas are from even shares, in percent of a share; null for no share.

    A group's share is that of its active brokers of all leaders, of its registered ones of all
    replicas.
    """
    return {
        "leader_skew": _skew(counts["leaders"], active),
        "replica_skew": _skew(counts["replicas"], registered),
    }


def _skew(counts: I64, weights: AnyArray) -> pa.Array:
    weights = weights.astype(np.float64)
    total, whole = float(weights.sum()), float(counts.sum())
    if not total or not whole:
        return pa.nulls(len(counts), pa.float64())
    share = whole * weights / total
    none = share == 0
    skew = np.round(100 * (counts / np.where(none, 1, share) - 1), 1)
    return pa.array(skew, mask=none)


# Brokers that are assumed to be gone.


def unknown_brokers(health: Health, brokers: frozenset[int]) -> list[int]:
    """The brokers that are not registered and that no partition names, ascending."""
    unregistered = sorted(brokers - set(health.image.brokers.ids.tolist()))
    leader = health.image.partitions.leader
    return [
        broker
        for broker in unregistered
        if not (leader == broker).any()
        and not any(health.having(name, broker).any() for name in ("replicas", "isr", "elr"))
    ]


@dataclass(frozen=True, slots=True)
class Down:
    """Brokers that are down already, of those that would stop."""

    brokers: frozenset[int]
    """The brokers that are fenced or not registered."""
    waited_for: tuple[int, ...]
    """The brokers of these for which partitions without a leader wait, ascending."""
    n_waiting: int
    """The number of these partitions."""

    @classmethod
    def of(cls, health: Health, brokers: frozenset[int]) -> Down:
        """Find which of some brokers are down."""
        registered = health.image.brokers
        down = brokers.difference(registered.ids[~registered.fenced].tolist())
        waits = waited_for(health.image, np.flatnonzero(health.offline))
        counts = np.isin(waits.brokers, list(down))
        names = np.unique(waits.brokers[counts]).tolist()
        return cls(down, tuple(names), len(np.unique(waits.row[counts])))


def without_table(health: Health, down: frozenset[int]) -> pa.Table:
    """Partitions that would be offline or under min ISR were these brokers down, by topic.

    They are chosen of those that one of the brokers leads, that have one in their ISR, and that
    have no leader and wait for one: a partition whose last replica in sync is down is there whether
    its ISR kept that replica or its ELR did. A partition that keeps its leader keeps it; else the
    controller elects by its rules.
    """
    image = health.image
    partitions = image.partitions
    touched = np.isin(partitions.leader, list(down)) | health.having("isr", *down)
    offline = np.flatnonzero(health.offline)
    waits = waited_for(image, offline)
    touched[offline[waits.row[np.isin(waits.brokers, list(down))]]] = True
    rows = np.flatnonzero(touched)
    isr = lists_of(image, "isr", rows)
    left = ~np.isin(isr.brokers, list(down))
    n_after = np.bincount(isr.row[left], minlength=len(rows))
    list_offsets = list_offsets_of(n_after)
    leader = partitions.leader[rows]
    goes = np.flatnonzero((leader == NOBODY) | np.isin(leader, list(down)))
    unclean = unclean_election(image, health.assumptions, rows[goes]).values != 0
    outcome = elect(image, rows[goes], unclean, down)
    leader_after, how = leader.copy(), np.full(len(rows), -1, dtype=np.int8)
    leader_after[goes], how[goes] = outcome.leader, outcome.how
    # A leader that was elected although none was in sync is the whole ISR.
    n_after = np.maximum(n_after, leader_after != NOBODY)
    # A broker may have a minimum of its own: that of the new leader counts.
    leads = np.where(leader_after != NOBODY, leader_after, leader)
    min_isr = effective_min_isr(image, health.assumptions, rows, leads).values
    under = n_after < min_isr
    keep = np.flatnonzero((leader_after == NOBODY) | under)
    isr_after = list_array(fixed_array(isr.brokers[left]), list_offsets, None)
    order = keep[topic_order(image, rows[keep])]
    return _without_rows(
        health,
        rows[order],
        isr_after.take(pa.array(order)),
        leader_after[order],
        how[order],
        min_isr[order],
    )


def _without_rows(
    health: Health,
    rows: I64,
    isr_after: pa.Array,
    leader_after: AnyArray,
    how: AnyArray,
    min_isr: I32,
) -> pa.Table:
    """The rows.

    Args:
        health: The image's health.
        rows: int64[n]: the partitions.
        isr_after: list<int32>[n].
        leader_after: int32[n], `NOBODY` for none.
        how: int[n]: index into `HOW`, -1 where the leader stays.
        min_isr: int32[n]: the min.insync.replicas that holds then.
    """
    partitions, topics = health.image.partitions, health.image.topics
    offline = leader_after == NOBODY
    ways = pa.array([*HOW], pa.string()).take(pa.array(np.maximum(how, 0), mask=how < 0))
    leader = partitions.leader[rows]
    return pa.table(
        {
            "topic": string_array(topics.raw_names.take(partitions.topic[rows])),
            "partition": fixed_array(partitions.partition[rows]),
            "result": pa.array(["under-min-isr", "offline"]).take(pa.array(offline.astype("i1"))),
            "already": pa.array(np.where(offline, leader == NOBODY, health.under_min_isr[rows])),
            "leader": pa.array(leader, mask=leader == NOBODY),
            "leader_after": pa.array(leader_after, mask=offline),
            "elected_from": ways,
            "isr_after": isr_after,
            "min_isr": fixed_array(min_isr),
        }
    )
