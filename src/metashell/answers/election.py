"""Elects the leader of a partition by the controller's own rules.

The next leader is the first replica, in the order of the assignment, that is in the ISR (in the
eligible leader replicas where the ISR is empty) and whose broker can lead: it is registered, not
fenced, not in controlled shutdown, and its directory of that replica is online. Where there is
none, and the ISR and the ELR are both empty, the last known leader is taken (eligible leader
replicas enabled); else, only where unclean election is allowed, the first replica that can lead.

A last known leader that can't lead does not count here. Kafka's check only logs it.

Source: org.apache.kafka.controller.PartitionChangeBuilder.electAnyLeader,
ReplicationControlManager.LeaderAcceptor, org.apache.kafka.common.DirectoryId.isOnline.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.directories import not_online
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, AnyArray, Bools

NOBODY: Final = -1

HOW: Final = ("none", "isr", "elr", "last-known-leader", "unclean")
"""How an election ends; the last two lose what only others had."""
_NONE, _ISR, _ELR, _LAST_KNOWN, _UNCLEAN = range(len(HOW))
_ELR_FEATURE: Final = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True)
class Elections:
    """The outcome for n partitions.

    ``leader``: int32[n], `NOBODY` for none; ``how``: int8[n], index into `HOW`; ``candidate``:
    int32[n], who an unclean election that an operator asks for would take, `NOBODY` for none.
    """

    leader: I32
    how: AnyArray
    candidate: I32


@dataclass(slots=True)
class Ragged:
    """Lists of brokers of n partitions: ``brokers``: int[m]; ``row``: int64[m], whose it is."""

    brokers: AnyArray
    row: I64

    def within(self, other: Ragged) -> Bools:
        """bool[m]: whether each is in the other's list of the same partition."""
        return np.isin(_pairs(self), _pairs(other))


def lists_of(image: Image, name: str, rows: I64) -> Ragged:
    """A list field of the partitions given."""
    values, list_offsets = image.partitions.list_column(name).take(rows).gather()
    return Ragged(values, np.repeat(np.arange(len(rows)), np.diff(list_offsets)))


def elect(
    image: Image, rows: I64, unclean: AnyArray, down: frozenset[int] = frozenset()
) -> Elections:
    """Elect leaders of the partitions given, whoever leads them now.

    Args:
        image: The image.
        rows: int64[n]: the partitions.
        unclean: bool[n]: whether unclean election is allowed.
        down: Brokers to take for dead, and out of every ISR and ELR.
    """
    replicas = lists_of(image, "replicas", rows)
    isr, elr = (_without(lists_of(image, name, rows), down) for name in ("isr", "elr"))
    can_lead = _can_lead(image, rows, replicas, down)
    has_isr = _some(isr, len(rows))
    in_isr, in_elr = replicas.within(isr), replicas.within(elr) & ~has_isr[replicas.row]
    # A broker that leaves a too small ISR becomes eligible. So only lists that were empty stay so.
    partitions = image.partitions
    nobody_left = (partitions.list_column("isr").counts[rows] <= 0) & (
        partitions.list_column("elr").counts[rows] <= 0
    )
    leader = np.full(len(rows), NOBODY, dtype=np.int32)
    how = np.zeros(len(rows), dtype=np.int8)
    candidate = _first(replicas, can_lead, len(rows))
    for code, eligible in (
        (_ISR, _first(replicas, in_isr & can_lead, len(rows))),
        (_ELR, _first(replicas, in_elr & can_lead, len(rows))),
        (_LAST_KNOWN, _last_known(image, rows, replicas, can_lead, nobody_left)),
        (_UNCLEAN, np.where(unclean, candidate, NOBODY)),
    ):
        new = (leader == NOBODY) & (eligible != NOBODY)
        leader[new], how[new] = eligible[new], code
    return Elections(leader, how, candidate)


def waited_for(image: Image, rows: I64) -> Ragged:
    """Brokers that partitions without a leader wait for, whether these live or not.

    They are the ISR; where it is empty the ELR; where that is empty too the last known leader.

    Args:
        image: The image.
        rows: int64[n]: the partitions.
    """
    isr, elr = lists_of(image, "isr", rows), lists_of(image, "elr", rows)
    last = lists_of(image, "last_known_elr", rows)
    has_isr, has_elr = _some(isr, len(rows)), _some(elr, len(rows))
    alone = np.bincount(last.row, minlength=len(rows)) == 1
    counts = alone & ~has_isr & ~has_elr & elr_enabled(image)
    kept = [(isr, has_isr), (elr, ~has_isr), (last, counts)]
    return Ragged(
        np.concatenate([lists.brokers[keep[lists.row]] for lists, keep in kept]),
        np.concatenate([lists.row[keep[lists.row]] for lists, keep in kept]),
    )


def elr_enabled(image: Image) -> bool:
    """Whether eligible leader replicas are enabled (KIP-966)."""
    columns = image.part("features").columns
    names = columns.span("name").texts()
    return _ELR_FEATURE in names and bool(
        columns.fixed("feature_level")[names.index(_ELR_FEATURE)] > 0
    )


def active_brokers(image: Image) -> I32:
    """int32[k]: registered brokers that are neither fenced nor in controlled shutdown."""
    brokers = image.brokers
    return brokers.ids[~(brokers.fenced | brokers.in_controlled_shutdown)]


def _without(lists: Ragged, down: frozenset[int]) -> Ragged:
    if not down:
        return lists
    keep = ~np.isin(lists.brokers, list(down))
    return Ragged(lists.brokers[keep], lists.row[keep])


def _can_lead(image: Image, rows: I64, replicas: Ragged, down: frozenset[int]) -> Bools:
    """bool[m]: of each replica, whether its broker can lead with it."""
    active = np.isin(replicas.brokers, active_brokers(image))
    if down:
        active &= ~np.isin(replicas.brokers, list(down))
    return active & _online(image, rows, replicas)


def _online(image: Image, rows: I64, replicas: Ragged) -> Bools:
    """bool[m]: of each replica, whether its directory is among the broker's online ones."""
    partitions = image.partitions
    online = np.ones(len(replicas.row), dtype=np.bool_)
    is_told = ~partitions.directories_default[rows]
    known = is_told[replicas.row]
    directories, _ = partitions.list_column("directories").take(rows[is_told]).gather()
    offline, lost = not_online(image.brokers, replicas.brokers[known], directories)
    online[known] = ~(offline | lost)
    return online


def _last_known(
    image: Image, rows: I64, replicas: Ragged, can_lead: Bools, nobody_left: Bools
) -> I32:
    """The last known leader of partitions whose ISR and ELR are empty, where it is one broker."""
    if not elr_enabled(image):
        return np.full(len(rows), NOBODY, dtype=np.int32)
    known = lists_of(image, "last_known_elr", rows)
    alone = np.bincount(known.row, minlength=len(rows)) == 1
    wanted = replicas.within(known) & can_lead & (alone & nobody_left)[replicas.row]
    return _first(replicas, wanted, len(rows))


def _first(lists: Ragged, wanted: Bools, n: int) -> I32:
    """int32[n]: of each partition the first of those wanted, `NOBODY` without one."""
    out = np.full(n, NOBODY, dtype=np.int32)
    at = np.flatnonzero(wanted)[::-1]
    # The last of several values for one row stays: the first in the list.
    out[lists.row[at]] = lists.brokers[at]
    return out


def _some(lists: Ragged, n: int) -> Bools:
    """bool[n]: whose list is not empty."""
    out = np.zeros(n, dtype=np.bool_)
    out[lists.row] = True
    return out


def _pairs(lists: Ragged) -> I64:
    pairs: I64 = (lists.row << 32) | (lists.brokers.astype(np.int64) & 0xFFFFFFFF)
    return pairs
