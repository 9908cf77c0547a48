"""Differences between two images as nodes of the file system, in the order of their paths.

Owns which nodes a difference is, and what of ``/image`` is compared: all but ``provenance``, which
always differs, and ``topics/byId``, which says the same again; that is compared instead where it
is what was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.checks.compare import (
    ChangeKind,
    TopicPairs,
    compare_partitions,
    compare_rows,
    pair_topics,
)
from metashell.dataclass import dataclass
from metashell.fs.node import Directory, Leaf, Node
from metashell.image.partitions import Partitions, shape_names
from metashell.parts.known import all_parts
from metashell.parts.spec import hook
from metashell.parts.view import view_of
from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    from metashell.image.image import Image

Names = tuple[str, ...]
"""Real names from the root to a node."""

_FEW_TOPICS: Final = 16
"""Topics whose partitions are compared one topic after the other, without folding all."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A leaf that differs, or a topic that only one image has."""

    change: ChangeKind
    part: str
    """The name of the part, the same that digests use."""
    names: Names
    topic: str | None = None
    """For a topic that is reported as a whole: its id."""
    n_partitions: int = 0
    """Likewise."""


class Scope:
    """The nodes to compare, with all below them."""

    def __init__(self, nodes: Collection[Names]) -> None:
        self._nodes = frozenset(nodes)
        self._above = {names[:n] for names in self._nodes for n in range(len(names))}

    def covers(self, names: Names) -> bool:
        """Whether a node is one of these or below one."""
        return any(names[:n] in self._nodes for n in range(len(names) + 1))

    def touches(self, names: Names) -> bool:
        """Whether anything at or below a node is to be compared."""
        return names in self._above or self.covers(names)

    def below(self, names: Names) -> Collection[str] | None:
        """The children of a node that are touched; None for all."""
        if self.covers(names):
            return None
        depth = len(names)
        return {n[depth] for n in self._nodes if len(n) > depth and n[:depth] == names}


_IMAGE: Final = "image"
_BY_NAME: Final = ("image", "topics", "byName")
_BY_ID: Final = ("image", "topics", "byId")


def find_differences(
    left: Image,
    right: Image,
    scope: Scope,
    *,
    whole_topics: bool = False,
) -> Iterator[Difference]:
    """Yield what differs, sorted by path.

    Args:
        left: The image before.
        right: The image after.
        scope: The nodes to compare.
        whole_topics: Tell a topic that only one image has leaf by leaf.
    """
    for part in sorted((part for part in all_parts() if part.path), key=lambda part: part.path):
        if part.differences:
            yield from hook(part.differences)(left, right, scope, whole=whole_topics)
        elif not part.by_topic and scope.touches((_IMAGE, *part.path)):
            rows = compare_rows(left, right, part.name)
            view, base = view_of(part, left.records.registry), (_IMAGE, *part.path)
            found = [(base + (view.names_of(key) or ()), change) for change, key in rows]
            for names, change in sorted(found):
                if scope.covers(names):
                    yield Difference(change, part.name, names)


def count_by_part(found: Iterable[Difference]) -> dict[str, Counter[ChangeKind]]:
    """How many things of each part differ; those of a topic told in one count as well."""
    counts: dict[str, Counter[ChangeKind]] = {}
    for difference in found:
        counts.setdefault(difference.part, Counter())[difference.change] += 1
        if difference.n_partitions:
            partitions = counts.setdefault("partitions", Counter())
            partitions[difference.change] += difference.n_partitions
    return counts


def node_differences(
    left: Node | None, right: Node | None, names: Names, scope: Scope
) -> Iterator[Difference]:
    """Yield the leaves that differ at and below two nodes, sorted by path.

    Nodes that only one of them has at hand are left out.

    Args:
        left: The node before; None where there was none.
        right: The node after.
        names: The names of the node, from the root down.
        scope: The nodes to compare.
    """
    if not scope.touches(names):
        return
    here = [node if isinstance(node, Directory) else None for node in (left, right)]
    directories = [node for node in here if node is not None]
    if directories:
        wanted = scope.below(names)
        if wanted is None:
            wanted = {name for directory in directories for name in directory.names()}
        for name in sorted(wanted):
            if all(directory.is_at_hand(name) for directory in directories):
                before, after = (None if node is None else node.child(name) for node in here)
                yield from node_differences(before, after, (*names, name), scope)
    elif isinstance(left, Leaf) and isinstance(right, Leaf):
        if left.value() != right.value():
            yield Difference(ChangeKind.CHANGED, names[0], names)
    elif left is not right:
        change = ChangeKind.ADDED if left is None else ChangeKind.REMOVED
        yield Difference(change, names[0], names)


def topic_differences(
    left: Image, right: Image, scope: Scope, *, whole: bool
) -> Iterator[Difference]:
    """Differences of topics and their partitions; arguments as for `find_differences`."""
    by_name = scope.touches(_BY_NAME)
    # Below /image or /image/topics it is the same again.
    if scope.touches(_BY_ID) and not scope.covers(_BY_ID[:2]):
        yield from _TopicDifferences(left, right, scope, _BY_ID, whole=whole)
    if by_name:
        yield from _TopicDifferences(left, right, scope, _BY_NAME, whole=whole)


class _TopicDifferences:
    """Differences of topics, joined by name or by id."""

    def __init__(
        self, left: Image, right: Image, scope: Scope, base: Names, *, whole: bool
    ) -> None:
        self._left, self._right = left, right
        self._scope, self._base, self._whole = scope, base, whole

    def __iter__(self) -> Iterator[Difference]:
        wanted = self._scope.below(self._base)
        before, after = self._topics(self._left, wanted), self._topics(self._right, wanted)
        pairs = pair_topics(before, after)
        found = self._partitions(pairs, few=wanted is not None and len(wanted) <= _FEW_TOPICS)
        for key in sorted(before.keys() | after.keys()):
            i, j = before.get(key), after.get(key)
            if j is None:
                assert i is not None
                yield from self._whole_topic(ChangeKind.REMOVED, key, self._left, i)
            elif i is None:
                yield from self._whole_topic(ChangeKind.ADDED, key, self._right, j)
            else:
                yield from self._leaves(key, i, j, found.get(i, ()))

    def _topics(self, image: Image, wanted: Collection[str] | None) -> Mapping[str, int]:
        """Index of each topic by its name in the directory."""
        topics, by_name = image.topics, self._base == _BY_NAME
        if wanted is None or len(wanted) > _FEW_TOPICS:
            every = topics.by_name if by_name else topics.by_id
            if wanted is None:
                return every
            return {key: every[key] for key in wanted if key in every}
        find = topics.find_name if by_name else topics.find_id
        return {key: topic for key in wanted if (topic := find(key)) is not None}

    def _partitions(
        self, pairs: TopicPairs, *, few: bool
    ) -> Mapping[int, Sequence[tuple[int, ChangeKind]]]:
        """Partitions that differ, by the left image's topic."""
        found: dict[int, list[tuple[int, ChangeKind]]] = {}
        if not few:
            every = self._left.partitions, self._right.partitions
            self._compare(*every, pairs.left, pairs.right, found)
            return found
        for i, j in zip(pairs.left, pairs.right, strict=True):
            left, right = self._left.partitions_of(i), self._right.partitions_of(j)
            self._compare(left, right, [i], [j], found)
        return found

    @staticmethod
    def _compare(
        left: Partitions,
        right: Partitions,
        topics_left: Sequence[int],
        topics_right: Sequence[int],
        found: dict[int, list[tuple[int, ChangeKind]]],
    ) -> None:
        differ = compare_partitions(left, right, topics_left, topics_right)
        for pair, a, b in zip(
            differ.pair.tolist(), differ.left.tolist(), differ.right.tolist(), strict=True
        ):
            number = int(right.partition[b] if a < 0 else left.partition[a])
            change = (
                ChangeKind.ADDED if a < 0 else ChangeKind.REMOVED if b < 0 else ChangeKind.CHANGED
            )
            found.setdefault(topics_left[pair], []).append((number, change))

    def _leaves(
        self, key: str, i: int, j: int, partitions: Sequence[tuple[int, ChangeKind]]
    ) -> Iterator[Difference]:
        """Differences of a topic that both images have."""
        left, right = self._left.topics, self._right.topics
        leaves = [(str(number), change, "partitions") for number, change in partitions]
        if self._base == _BY_NAME and left.ids[i].tobytes() != right.ids[j].tobytes():
            leaves.append(("id", ChangeKind.CHANGED, "topics"))
        if self._base == _BY_ID and left.raw_names.text(i) != right.raw_names.text(j):
            leaves.append(("name", ChangeKind.CHANGED, "topics"))
        for leaf, change, part in sorted(leaves):
            names = (*self._base, key, leaf)
            if self._scope.covers(names):
                yield Difference(change, part, names)

    def _whole_topic(
        self, change: ChangeKind, key: str, image: Image, topic: int
    ) -> Iterator[Difference]:
        """A topic that only one image has: in one where all of it is asked for."""
        names = (*self._base, key)
        numbers = image.partitions_of(topic).ids_of(topic)
        if not self._whole and self._scope.covers(names):
            topic_id = uuid_text(image.topics.ids[topic].tobytes())
            yield Difference(change, "topics", names, topic_id, len(numbers))
            return
        for leaf in shape_names(numbers):
            if self._scope.covers((*names, leaf)):
                part = "topics" if leaf in ("id", "name") else "partitions"
                yield Difference(change, part, (*names, leaf))
