"""The parts that brokers have in partitions by the metadata, and who else has the data.

Source: org.apache.kafka.controller.ReplicationControlManager (handleBrokerShutdown,
handleBrokerUnfenced), PartitionChangeBuilder.electAnyLeader.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

from metashell.answers.election import Ragged, active_brokers, lists_of
from metashell.answers.topic_settings import unclean_election
from metashell.dataclass import dataclass
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, AnyArray, Bools


class Role(IntEnum):
    """The part of a broker in a partition, by its code."""

    NONE = 0
    """It is no replica, or nothing tells."""
    OUT_OF_SYNC = 1
    LAST_LEADER = 2
    """The last known leader of a partition whose ISR and ELR are empty."""
    ELR = 3
    ISR = 4
    LEADER = 5

    @property
    def text(self) -> str | None:
        """The part as it is shown."""
        return self.name.lower().replace("_", "-") if self else None


_LISTS: Final = ((Role.LAST_LEADER, "last_known_elr"), (Role.ELR, "elr"), (Role.ISR, "isr"))


@dataclass(slots=True)
class Roles:
    """The parts of n replicas."""

    role: AnyArray
    """int8[n]: `Role`."""
    others: Ragged
    """Other brokers that have all data: the ISR and the ELR; without any the last known leader."""
    is_led: Bools
    """bool[n]: whether one of these lives."""
    unclean: Bools
    """bool[n]: whether a replica that is out of sync may be elected without being asked for."""

    @property
    def has_data(self) -> Bools:
        """Which replicas have all data, by the metadata."""
        found: Bools = self.role >= Role.LAST_LEADER
        return found

    @property
    def is_alone(self) -> Bools:
        """Which replicas have data that no other broker has."""
        found: Bools = self.has_data & (np.bincount(self.others.row, minlength=len(self.role)) == 0)
        return found


def roles_of(image: Image, rows: I64, broker: I32) -> Roles:
    """Tell the parts of brokers in partitions.

    Args:
        image: The metadata.
        rows: int64[n]: the partitions; -1 for none.
        broker: int32[n]: the broker in each.
    """
    known = np.flatnonzero(rows >= 0)
    at = rows[known]
    lists = [lists_of(image, name, at) for _, name in _LISTS]
    brokers = np.concatenate([one.brokers for one in lists])
    row = known[np.concatenate([one.row for one in lists])]
    code = np.repeat([code for code, _ in _LISTS], [len(one.row) for one in lists])
    in_sync = np.zeros(len(rows), dtype=np.bool_)
    in_sync[row[code > Role.LAST_LEADER]] = True
    counts = (code > Role.LAST_LEADER) | ~in_sync[row]
    is_own = brokers == broker[row]
    role = np.zeros(len(rows), dtype=np.int8)
    role[known] = Role.OUT_OF_SYNC
    # The last list counts for a broker in two.
    role[row[counts & is_own]] = code[counts & is_own]
    role[known[image.partitions.leader[at] == broker[known]]] = Role.LEADER
    others = Ragged(brokers[counts & ~is_own], row[counts & ~is_own])
    is_led = np.zeros(len(rows), dtype=np.bool_)
    is_led[others.row[np.isin(others.brokers, active_brokers(image))]] = True
    unclean = np.zeros(len(rows), dtype=np.bool_)
    unclean[known] = unclean_election(image, rows=at).values != 0
    return Roles(role, others, is_led, unclean)
