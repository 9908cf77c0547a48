"""``/image/topics``: every topic twice, by name and by id.

The texts of topics' leaves, many at a time.

Source: org.apache.kafka.image.node.{TopicsImageNode, TopicImageNode}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.fs.java import java_list
from metashell.fs.node import Directory, FixedDirectory, Grid, JsonValue, Node, TextLeaf
from metashell.fs.nodes.tables import RowLeaf
from metashell.fs.texts import GridCodes, Judge, Texts
from metashell.fs.touch_times import GridTimes, Times, changed_at
from metashell.image.image import Image
from metashell.image.partitions import Partitions, shape_names
from metashell.kernel import threads
from metashell.parts.partition_fields import (
    DIRECTORIES,
    KAFKA_NAMES,
    LISTS,
    RECOVERY_STATE,
    RECOVERY_STATES,
)
from metashell.redact import Redaction
from metashell.schema.arena import I64, Bools
from metashell.schema.dump import text_to_json
from metashell.schema.uuids import MIGRATING, uuid_text, uuid_texts

if TYPE_CHECKING:
    import pyarrow as pa

_RUN: Final = 8_192
"""Names that are sorted in one go: some milliseconds."""


def in_order(names: Iterable[str]) -> list[str]:
    """Names by code point.

    A sort holds Python's lock to its end: a tenth of a second for 100,000 names. A thread that
    gives way to others sorts pieces and merges them two by two, so others run in between. That
    takes three quarters more time.
    """
    found = list(names)
    if not threads.leaves_a_cpu():
        found.sort()
        return found
    bounds = [*range(0, len(found), _RUN), len(found)]
    runs = [sorted(found[start:stop]) for start, stop in pairwise(bounds)]
    while len(runs) > 1:
        # Python finds the two parts that are in order already.
        runs = [sorted(chain(*runs[i : i + 2])) for i in range(0, len(runs), 2)]
    return runs[0] if runs else []


ID: Final = -1
"""In place of a partition's row: the leaf is the topic's id."""
NAME: Final = -2
"""The leaf is its name."""


@dataclass(frozen=True, slots=True)
class LeafLayout:
    """The leaves of a grid of topics, one topic's after the other's.

    ``topics``: int64[n], index of each directory's topic; ``bounds``: int64[n + 1], where each
    directory's leaves begin; ``rows``: int64, each leaf's partition, `ID` or `NAME`.
    """

    topics: I64
    bounds: I64
    rows: I64

    def topic_of_leaves(self, leaves: I64 | None = None) -> I64:
        """Index of the topic of each of some leaves; None for all."""
        if leaves is None:
            return np.repeat(self.topics, np.diff(self.bounds))
        return self.topics[np.searchsorted(self.bounds, leaves, side="right") - 1]


class TopicTexts:
    """Gives texts of the leaves of a grid of topics; a `GridTexts`.

    Args:
        image: The image.
        layout: The leaves.
        as_json: Whether a leaf's text is its value as JSON, else what ``cat`` prints.
    """

    def __init__(self, image: Image, layout: LeafLayout, *, as_json: bool = False) -> None:
        self._image, self._layout, self._as_json = image, layout, as_json

    @property
    def bounds(self) -> I64:
        """int64[n + 1]: where each directory's leaves begin."""
        return self._layout.bounds

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""
        return self.texts_of(np.arange(start, stop, dtype=np.int64))

    def texts_of(self, leaves: I64) -> Texts:
        """The texts of some leaves."""
        import pyarrow as pa

        from metashell.image.texts import JSON, KAFKA, partition_texts

        rows = self._layout.rows[leaves]
        topics = self._layout.topic_of_leaves(leaves)
        numbered, ids, names = (np.flatnonzero(of) for of in (rows >= 0, rows == ID, rows == NAME))
        form = JSON if self._as_json else KAFKA
        pieces: list[pa.Array] = [
            partition_texts(self._image.partitions, rows[numbered], form),
            self._lines(uuid_texts(self._image.topics.ids[topics[ids]])),
            self._lines(self._image.topics.raw_names.take(topics[names]).texts()),
        ]
        order = np.empty(len(rows), dtype=np.int64)
        order[np.concatenate([numbered, ids, names])] = np.arange(len(rows))
        return Texts.of(pa.concat_arrays(pieces).take(pa.array(order)))

    def holders(self, literal: str) -> I64 | None:
        """Leaves whose text may hold a literal; None where that takes their texts."""
        from metashell.image.texts import rows_holding

        held = None if self._as_json else rows_holding(self._image.partitions, literal)
        if held is None:
            return None
        rows, topics = self._layout.rows, self._image.topics
        may = np.append(held, [False, False])[rows]
        for kind, texts in ((ID, topics.id_texts), (NAME, topics.names)):
            leaves = np.flatnonzero(rows == kind)
            may[leaves] = _holding(texts, literal)[self._layout.topic_of_leaves(leaves)]
        return np.flatnonzero(may)

    def _lines(self, texts: list[str]) -> pa.LargeStringArray:
        import pyarrow as pa

        lines = map(text_to_json, texts) if self._as_json else texts
        return pa.array([f"{line}\n" for line in lines], pa.large_string())


def _holding(texts: list[str], literal: str) -> Bools:
    """bool[n]: texts that may hold a literal, in whatever case."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(texts, pa.large_string())
    # The case of what is not ASCII is the pattern's to know.
    may = pc.invert(pc.string_is_ascii(array))
    if literal.isascii():
        same = pc.match_substring(pc.ascii_lower(array), literal.lower())
        may = pc.or_(may, same)
    held: Bools = may.to_numpy(zero_copy_only=False)
    return held


_OTHERS: Final = {"id": ID, "name": NAME}
"""Leaves of a topic that are no partitions."""


def topics_node(image: Image, _: Redaction) -> Directory:
    """The directory ``topics``."""
    return FixedDirectory(
        {
            "byId": lambda: TopicsDirectory(
                image,
                lambda: image.topics.id_texts,
                lambda: image.topics.by_id,
                lambda text: image.topics.find_id(text),  # noqa: PLW0108  not before a look-up
                is_by_id=True,
            ),
            "byName": lambda: TopicsDirectory(
                image,
                lambda: image.topics.names,
                lambda: image.topics.by_name,
                lambda name: image.topics.find_name(name),  # noqa: PLW0108  likewise
            ),
        }
    )


class TopicsDirectory(Directory):
    """All topics, by name or by id.

    Args:
        image: The image.
        keys: Gives the name or id of each topic.
        by_key: Gives the topic of each name or id.
        find: Finds the topic of one, without `by_key` where it is not made yet.
        is_by_id: Whether keys are ids.
    """

    def __init__(
        self,
        image: Image,
        keys: Callable[[], Sequence[str]],
        by_key: Callable[[], Mapping[str, int]],
        find: Callable[[str], int | None],
        *,
        is_by_id: bool = False,
    ) -> None:
        self._is_by_id = is_by_id
        self._image, self._keys, self._by_key, self._find = image, keys, by_key, find

    @cached_property
    def _names(self) -> Sequence[str]:
        return in_order(self._by_key())

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        # Once the names were listed, the index of all is there.
        listed = "_names" in self.__dict__
        topic = self._by_key().get(name) if listed else self._find(name)
        return None if topic is None else TopicDirectory(self._image, topic)

    @property
    def has_other_paths(self) -> bool:
        """Whether its topics have paths by name too: they do by id, unless topics share a name."""
        topics = self._image.topics
        return self._is_by_id and len(topics.by_name) == len(topics)

    def grid(self) -> Grid:
        return self._grid

    def _topics_of(self, names: Sequence[str]) -> I64:
        """Index of the topic of each name; int64[n], -1 for names of none."""
        found = map(self._by_key().get, names, repeat(-1))
        return np.fromiter(found, dtype=np.int64, count=len(names))

    def times(self) -> Times | None:
        return changed_at(self._image.touched.topics)

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        topics = self._topics_of(names)
        if not len(self._image.topics):
            return topics, topics.copy()
        none = topics < 0
        created, changed = (
            self._image.topics.created[topics],
            self._image.touched.each_topic[topics],
        )
        return np.where(none, -1, created), np.where(none, -1, changed)

    @cached_property
    def _topics(self) -> I64:
        """Index of the topic of each name."""
        return self._topics_of(self._names)

    @cached_property
    def _grid(self) -> Grid:
        names, layout = self._names, self._image.partition_layout
        topics = self._topics
        counts = np.diff(layout.bounds)
        # Nearly every topic has the partitions 0 to n - 1, so n is its shape.
        ends = np.append(layout.ids, 0)
        last = ends[np.maximum(layout.bounds[1:] - 1, 0)]
        regular = (counts == 0) | ((ends[layout.bounds[:-1]] == 0) & (last == counts - 1))
        shapes: dict[tuple[str, ...], int] = {}
        shape_by_count = np.full(int(counts.max(initial=0)) + 1, -1, dtype=np.int64)
        for n in np.flatnonzero(np.bincount(counts[regular])).tolist():
            shape_by_count[n] = shapes.setdefault(shape_names(range(n)), len(shapes))
        shape_of = np.where(regular, shape_by_count[counts], -1)
        for topic in np.flatnonzero(~regular).tolist():
            ids = layout.ids[layout.bounds[topic] : layout.bounds[topic + 1]]
            shape_of[topic] = shapes.setdefault(shape_names(ids.tolist()), len(shapes))
        return _TopicsGrid(
            self, names, list(shapes), shape_of[topics].tolist(), topics, self._image
        )


class _TopicsGrid(Grid):
    """A grid whose leaves are partitions, read from columns."""

    def __init__(
        self,
        directory: Directory,
        names: Sequence[str],
        shapes: Sequence[tuple[str, ...]],
        shape_of: Sequence[int],
        topics: I64,
        image: Image,
    ) -> None:
        super().__init__(directory, names, shapes, shape_of)
        self._topics, self._image = topics, image

    @cached_property
    def _layout(self) -> LeafLayout:
        topics, bounds, shape_of = self._topics, self.bounds, self.shape_numbers
        rows = np.empty(int(bounds[-1]), dtype=np.int64)
        by_shape = np.argsort(shape_of, kind="stable")
        ends = np.searchsorted(shape_of[by_shape], np.arange(len(self.shapes) + 1))
        first = self._image.partitions.topic_bounds
        for shape, names in enumerate(self.shapes):
            members = by_shape[ends[shape] : ends[shape + 1]]
            place = _places(names)
            of_partitions = first[topics[members]][:, None] + place
            to = bounds[members][:, None] + np.arange(len(names))
            rows[to] = np.where(place >= 0, of_partitions, place)
        return LeafLayout(topics, bounds, rows)

    def times(self) -> GridTimes:
        image, layout = self._image, self._layout
        changed = image.partitions.changed
        leaves = image.topics.changed[layout.topic_of_leaves()]
        numbered = layout.rows >= 0
        leaves[numbered] = changed[layout.rows[numbered]]
        return GridTimes(image.touched.each_topic[layout.topics], leaves, layout.bounds)

    def judged(self, judge: Judge) -> GridCodes:
        layout = self._layout
        # One more, of which no test is true, for the leaves that are no partitions.
        codes = np.append(judge.partitions(self._image), 0)
        directories = judge.topics(self._image)[layout.topics]
        return GridCodes(directories, codes[np.maximum(layout.rows, -1)], layout.bounds)

    def texts(self) -> TopicTexts:
        return TopicTexts(self._image, self._layout)

    def json(self) -> TopicTexts:
        return TopicTexts(self._image, self._layout, as_json=True)


class TopicDirectory(Directory):
    """One topic: its id, its name, and a leaf for each partition."""

    def __init__(self, image: Image, topic: int) -> None:
        self._image, self._topic = image, topic

    @cached_property
    def _partitions(self) -> Partitions:
        return self._image.partitions_of(self._topic)

    @cached_property
    def _names(self) -> Sequence[str]:
        return shape_names(self._partitions.ids_of(self._topic))

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        topics = self._image.topics
        if name == "id":
            return TextLeaf(lambda: uuid_text(topics.ids[self._topic].tobytes())).timed(self._made)
        if name == "name":
            return TextLeaf(lambda: topics.raw_names.text(self._topic) or "").timed(self._made)
        partition = _partition_id(name)
        if partition is None:
            return None
        row = self._partitions.index(self._topic, partition)
        if row is None:
            return None
        leaf = RowLeaf(lambda: partition_value(self._partitions, row), partition_text)
        leaf.about(lambda judge: judge.partition(self._image, self._topic, partition))
        return leaf.timed(
            lambda: Times(int(self._partitions.created[row]), int(self._partitions.changed[row]))
        )

    def judged(self, judge: Judge) -> int:
        return int(judge.topics(self._image)[self._topic])

    @property
    def partition_count(self) -> int:
        """How many partitions it has."""
        return len(self._partitions.ids_of(self._topic))

    def times(self) -> Times | None:
        created = int(self._image.topics.created[self._topic])
        return Times(created, self._image.touched.topic(self._topic))

    def _made(self) -> Times | None:
        topics = self._image.topics
        return Times(int(topics.created[self._topic]), int(topics.changed[self._topic]))


def _places(names: Sequence[str]) -> I64:
    """Where each leaf of a topic stands among its partitions (by unsigned id), `ID` and `NAME`."""
    ids = [(int(name) & 0xFFFFFFFF, i) for i, name in enumerate(names) if name not in _OTHERS]
    places = np.array([_OTHERS.get(name, 0) for name in names], dtype=np.int64)
    for place, (_, i) in enumerate(sorted(ids)):
        places[i] = place
    return places


def _partition_id(name: str) -> int | None:
    """The partition id that a name writes as Java would, or None."""
    if not (name.isascii() and name.removeprefix("-").isdigit() and len(name) <= 11):
        return None
    number = int(name)
    return number if str(number) == name and -(2**31) <= number < 2**31 else None


def partition_value(partitions: Partitions, row: int) -> dict[str, JsonValue]:
    """The fields of a partition, named as Kafka's PartitionRegistration names them."""

    def shown(name: str) -> JsonValue:
        if name == DIRECTORIES:
            return _directories(partitions, row)
        if name in LISTS:
            return partitions.list_column(name).int32s(row)
        number = int(getattr(partitions, name)[row])
        return RECOVERY_STATES[number] if name == RECOVERY_STATE else number

    return {kafka: shown(name) for name, kafka in KAFKA_NAMES.items()}


def _directories(partitions: Partitions, row: int) -> list[str]:
    if partitions.directories_default[row]:
        return [uuid_text(MIGRATING)] * max(int(partitions.list_column("replicas").counts[row]), 0)
    raw = partitions.list_column(DIRECTORIES).raw(row) or b""
    return [uuid_text(raw[at : at + 16]) for at in range(0, len(raw), 16)]


def partition_text(value: Mapping[str, JsonValue]) -> str:
    """A partition as Kafka prints it."""
    fields = dict(value)
    directories = fields["directories"]
    assert isinstance(directories, list)
    # Python writes lists of numbers as Java does.
    fields["directories"] = java_list(directories)
    return f"PartitionRegistration({', '.join([f'{k}={v}' for k, v in fields.items()])})"
