"""Records of groups as events, whatever the group's type; what a fold makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from enum import IntEnum

from metashell.dataclass import dataclass
from metashell.schema.arena import I32, I64, AnyArray, Bools


class GroupType(IntEnum):
    """The types of a group."""

    CLASSIC = 0
    CONSUMER = 1
    SHARE = 2
    STREAMS = 3


class GroupEvent(IntEnum):
    """The subjects of a record."""

    COMMIT = 0
    """A commit of an offset, which makes a simple group where there is none."""
    CLASSIC = 1
    """A classic group as a whole, members included."""
    GROUP = 2
    MEMBER = 3
    TARGET_EPOCH = 4
    TARGET = 5
    """The target assignment of a member."""
    CURRENT = 6
    """The current assignment of a member."""
    OTHER = 7
    """A record that only shows that the group exists, such as a resolved regular expression."""


@dataclass(slots=True)
class GroupEvents:
    """Records of groups in the order of the log; every array has one element a record."""

    row: I64
    """int64: the order of replay, ascending."""
    group: I64
    """int64: equal for equal group ids, dense."""
    member: I64
    """int64: equal for equal members of a group, dense; -1 where no member is meant."""
    event: AnyArray
    """int8: `GroupEvent`."""
    type: AnyArray
    """int8: `GroupType`; CLASSIC for commits."""
    is_put: Bools
    """False for tombstones."""
    epoch: I32
    """int32: the member's epoch of `CURRENT`, the assignment's of `TARGET_EPOCH`; else 0."""
    is_simple: Bools
    """A classic group without protocol type and members."""


@dataclass(slots=True)
class GroupsState:
    """The groups and members that exist; indexes into the events given, -1 for none.

    Groups have ``group``, ``type``, ``made`` (the event that made it), ``about`` (the last
    `CLASSIC` or `GROUP`), ``target_epoch``. Members have ``member_group``, ``member``, ``told``
    (the last `MEMBER`), ``current``, ``target``. All int64.
    ``refused``: events that a broker refuses, ascending.
    """

    group: I64
    type: I64
    made: I64
    about: I64
    target_epoch: I64
    member_group: I64
    member: I64
    told: I64
    current: I64
    target: I64
    refused: I64

    @classmethod
    def of(cls, groups: Sequence[I64], members: Sequence[I64], refused: I64) -> GroupsState:
        """From the columns of groups and those of members, in the order in which they stand."""
        names = (each.name for each in fields(cls))
        return cls(**dict(zip(names, (*groups, *members, refused), strict=True)))
