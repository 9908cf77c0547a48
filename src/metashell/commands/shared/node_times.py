"""Times of nodes as commands show and test them.

They are taken from the node at the same path of a tree that remembers most, which begins with the
oldest state in the directory; the tree on show may begin with the newest checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.dataclass import dataclass
from metashell.fs.node import Directory, Node
from metashell.fs.path import NodePlace
from metashell.schema.timestamps import iso_time

if TYPE_CHECKING:
    from metashell.image.touched import Moment, Moments
    from metashell.sources.fleet.member import FleetMember

UNKNOWN = "-"
"""Shown where nothing is known."""


def timed_root(context: Context) -> Directory:
    """The root of the tree whose nodes know most about their times."""
    return context.root if context.opened is None else context.opened.history_root


@dataclass(frozen=True, slots=True)
class Touch:
    """When a node was made and last changed; None where nothing is known."""

    created: Moment | None
    changed: Moment | None
    row: int
    """The row of the last change, -1 for none: tells apart changes of the same batch."""

    @property
    def order(self) -> tuple[int, int]:
        """To sort by: what is not known is oldest."""
        return (-2 if self.changed is None else self.changed.position, self.row)


NOTHING = Touch(None, None, -1)


@dataclass(frozen=True, slots=True)
class Timed:
    """A node that knows its times, and what they mean."""

    node: Node
    moments: Moments | None
    """None where there is nothing but a tree."""
    member: FleetMember | None = None
    """The directory of a fleet that it is of."""

    def touch(self) -> Touch:
        """When the node was made and last changed; of a file, its last record."""
        moment = getattr(self.node, "moment", None)
        if moment is not None:
            return Touch(None, moment, 0)
        times = self.node.times()
        if times is None or self.moments is None:
            return NOTHING
        rows = [-1 if row is None else row for row in (times.created, times.changed)]
        created, changed = self.moments.of(rows)
        return Touch(created, changed, rows[1])

    def children(self, names: Sequence[str]) -> list[Touch]:
        """The times of each child of a directory; `NOTHING` for a missing child."""
        if self.moments is None or not isinstance(self.node, Directory):
            return [NOTHING] * len(names)
        created, changed = self.node.child_times(names)
        moments = self.moments
        each = zip(moments.of(created), moments.of(changed), changed.tolist(), strict=True)
        return [Touch(made, last, row) for made, last, row in each]


class NodeTimeline:
    """Finds the nodes that know the times of those on show; of a fleet, each member's own."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._of_member: tuple[object, Moments | None] = (None, None)

    @cached_property
    def _root(self) -> Directory:
        return timed_root(self._context)

    @cached_property
    def _moments(self) -> Moments | None:
        return moments_of(self._root)

    @cached_property
    def _own_moments(self) -> Moments | None:
        return moments_of(self._context.root)

    def of(self, place: NodePlace) -> Timed:
        """The node at the same path of the tree that remembers most, else the node itself."""
        names = place.names()
        timed = Timed(self._root, self._moments)
        for name in names:
            child = timed.node.child(name) if isinstance(timed.node, Directory) else None
            if child is None:
                # The member, if any, is known by then: it is in both trees.
                return self._own(place.node, timed.member)
            timed = self._step(timed, child)
        return timed

    def below(self, timed: Timed, node: Node, name: str) -> Timed:
        """The times of a child: `node`, of that name below the directory that `timed` is for."""
        child = timed.node.child(name) if isinstance(timed.node, Directory) else None
        return self._step(timed, child) if child else self._own(node, timed.member)

    def entered(self, node: Node | None, above: Timed) -> Timed | None:
        """For a node of the tree that remembers most: with its times, where it has its own.

        Such nodes are a member's root, and nodes of other logs than the rest.
        """
        return self._step(above, node) if node is not None and has_own_times(node) else None

    def _step(self, above: Timed, node: Node) -> Timed:
        member = getattr(node, "member", None)
        if member is None:
            return Timed(node, getattr(node, "moments", above.moments), above.member)
        assert isinstance(node, Directory)
        return Timed(node, self._kept(node), member)

    def _own(self, node: Node, member: FleetMember | None) -> Timed:
        moments = self._own_moments if member is None else self._kept(member.directory)
        return Timed(node, moments, member)

    def _kept(self, root: Directory) -> Moments | None:
        """The moments of a member's rows; the last member's are kept: nodes come by member."""
        if self._of_member[0] is not root:
            self._of_member = (root, moments_of(root))
        return self._of_member[1]


def has_own_times(node: Node) -> bool:
    """Whether rows mean something else in a node than around it."""
    return hasattr(node, "member") or hasattr(node, "moments")


def moments_of(root: Directory) -> Moments | None:
    """The moments of the rows of a tree's times; None where it has none."""
    from metashell.fs.nodes.root import ImageDirectory
    from metashell.image.touched import Moments

    image = root.child("image")
    return Moments(image.image.records) if isinstance(image, ImageDirectory) else None


def moment_fields(moment: Moment | None) -> tuple[str, str, str, str]:
    """Time, offset, epoch and record type as columns; ``<=3262`` for at or before a checkpoint."""
    if moment is None:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    if moment.at_or_before is not None:
        return f"<={moment.at_or_before}", UNKNOWN, UNKNOWN, moment.type
    assert moment.timestamp_ms is not None
    return iso_time(moment.timestamp_ms), str(moment.offset), str(moment.epoch), moment.type


def moment_text(moment: Moment | None) -> str:
    """A moment in a sentence's part."""
    if moment is None:
        return UNKNOWN
    if moment.at_or_before is not None:
        return f"at or before checkpoint {moment.at_or_before}  {moment.type}"
    time, offset, epoch, type_name = moment_fields(moment)
    return f"{time}  offset {offset}  epoch {epoch}  {type_name}"


def moment_cells(prefix: str, moment: Moment | None) -> dict[str, int | str | None]:
    """A moment as cells of columns that begin with the prefix; none where nothing is known."""
    if moment is None:
        return {}
    return {
        f"{prefix}_time": moment.timestamp_ms,
        f"{prefix}_offset": moment.offset,
        f"{prefix}_epoch": moment.epoch,
        f"{prefix}_type": moment.type,
        f"{prefix}_at_or_before": moment.at_or_before,
    }
