"""``/image/topics``: every topic twice, by name and by id.

Source: org.apache.kafka.image.node.{TopicsImageNode, TopicImageNode}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from metashell.fs.java import java_list
from metashell.fs.node import Directory, FixedDirectory, Grid, JsonValue, Node, TextLeaf
from metashell.fs.nodes.tables import RowLeaf
from metashell.image.image import Image
from metashell.image.partitions import Partitions, shape_names
from metashell.schema.uuids import MIGRATING, uuid_text

_RECOVERY_STATES: Final = {0: "RECOVERED", 1: "RECOVERING"}


def topics_node(image: Image) -> Directory:
    """The directory ``topics``."""
    return FixedDirectory(
        {
            "byId": lambda: TopicsDirectory(
                image,
                lambda: image.topics.id_texts,
                lambda: image.topics.by_id,
                lambda text: image.topics.find_id(text),  # noqa: PLW0108  not before a look-up
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
    """

    def __init__(
        self,
        image: Image,
        keys: Callable[[], Sequence[str]],
        by_key: Callable[[], Mapping[str, int]],
        find: Callable[[str], int | None],
    ) -> None:
        self._image, self._keys, self._by_key, self._find = image, keys, by_key, find

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self._by_key())

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        # Once the names were listed, the index of all is there.
        listed = "_names" in self.__dict__
        topic = self._by_key().get(name) if listed else self._find(name)
        return None if topic is None else TopicDirectory(self._image, topic)

    def grid(self) -> Grid:
        return self._grid

    @cached_property
    def _grid(self) -> Grid:
        names, by_key, layout = self._names, self._by_key(), self._image.partition_layout
        topics = np.fromiter(map(by_key.__getitem__, names), dtype=np.int64, count=len(names))
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
        return Grid(names, list(shapes), shape_of[topics].tolist())


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
            return TextLeaf(lambda: uuid_text(topics.ids[self._topic].tobytes()))
        if name == "name":
            return TextLeaf(lambda: topics.raw_names.text(self._topic) or "")
        partition = _partition_id(name)
        if partition is None:
            return None
        row = self._partitions.index(self._topic, partition)
        if row is None:
            return None
        return RowLeaf(lambda: partition_value(self._partitions, row), partition_text)


def _partition_id(name: str) -> int | None:
    """The partition id that a name writes as Java would, or None."""
    if not (name.isascii() and name.removeprefix("-").isdigit() and len(name) <= 11):
        return None
    number = int(name)
    return number if str(number) == name and -(2**31) <= number < 2**31 else None


def partition_value(partitions: Partitions, row: int) -> dict[str, JsonValue]:
    """The fields of a partition, named as Kafka's PartitionRegistration names them."""

    def numbers(name: str) -> list[int]:
        return partitions.list_column(name).int32s(row)

    replicas = numbers("replicas")
    if partitions.directories_default[row]:
        directories = [uuid_text(MIGRATING)] * len(replicas)
    else:
        raw = partitions.list_column("directories").raw(row) or b""
        directories = [uuid_text(raw[at : at + 16]) for at in range(0, len(raw), 16)]
    recovery = int(partitions.leader_recovery_state[row])
    return {
        "replicas": replicas,
        "directories": directories,
        "isr": numbers("isr"),
        "removingReplicas": numbers("removing_replicas"),
        "addingReplicas": numbers("adding_replicas"),
        "elr": numbers("elr"),
        "lastKnownElr": numbers("last_known_elr"),
        "leader": int(partitions.leader[row]),
        "leaderRecoveryState": _RECOVERY_STATES[recovery],
        "leaderEpoch": int(partitions.leader_epoch[row]),
        "partitionEpoch": int(partitions.partition_epoch[row]),
    }


def partition_text(value: Mapping[str, JsonValue]) -> str:
    """A partition as Kafka prints it."""
    fields = dict(value)
    directories = fields["directories"]
    assert isinstance(directories, list)
    # Python writes lists of numbers as Java does.
    fields["directories"] = java_list(directories)
    return f"PartitionRegistration({', '.join([f'{k}={v}' for k, v in fields.items()])})"
