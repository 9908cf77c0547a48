"""The root of a source's tree.

``/image``: the cluster's metadata, exactly as Kafka's shell shows it.

Source: org.apache.kafka.image.node.MetadataImageNode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.fs.java import java_time
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Node, newest_of
from metashell.fs.touch_times import Times, changed_at
from metashell.redact import Redaction

if TYPE_CHECKING:
    from metashell.image.image import Image

_PROVENANCE: Final = "provenance"


class ImageDirectory(Directory):
    """``/image``, which knows the image that it shows: rows of times are those of its records.

    Listing the parts decodes nothing, and looking into one imports no other.
    """

    def __init__(self, load: Callable[[], Image], redaction: Redaction) -> None:
        self._load, self._redaction = load, redaction
        self._made: dict[str, Node] = {}

    @property
    def image(self) -> Image:
        """The image."""
        return self._load()

    def names(self) -> Sequence[str]:
        from metashell.parts.known import directory_names

        return sorted([*directory_names(), _PROVENANCE])

    def child(self, name: str) -> Node | None:
        if name not in self._made:
            found = self._provenance() if name == _PROVENANCE else self._part(name)
            if found is None:
                return None
            self._made[name] = found
        return self._made[name]

    def times(self) -> Times | None:
        return newest_of(self)

    def _part(self, name: str) -> Node | None:
        from metashell.fs.nodes.parts import directory_below

        return directory_below(self._load, name, self._redaction)

    def _provenance(self) -> Node:
        from metashell.fs.nodes.tables import RowLeaf

        load = self._load
        leaf = RowLeaf(lambda: _provenance_value(load()), _provenance_text)
        return leaf.timed(lambda: changed_at(load().records.last_row))


def image_node(load: Callable[[], Image], redaction: Redaction) -> ImageDirectory:
    """The directory ``/image``.

    Args:
        load: Gives the image; called when a part is first looked into, so that listing the parts
            decodes nothing.
        redaction: Says what may be shown.
    """
    return ImageDirectory(load, redaction)


def _provenance_value(image: Image) -> dict[str, JsonValue]:
    last = image.provenance
    return {"offset": last.offset, "epoch": last.epoch, "timestampMs": last.timestamp_ms}


def _provenance_text(value: Mapping[str, JsonValue]) -> str:
    time = value["timestampMs"]
    assert isinstance(time, int)
    return f"offset {value['offset']}, epoch {value['epoch']}, time {java_time(time)}"


Makers = Mapping[str, Callable[[], Node]]
Children = Mapping[str, Node | Callable[[], Node]]


class RootDirectory(FixedDirectory):
    """A root that may have directories of which nobody knows before looking.

    Args:
        makers: Make the children that are always there.
        load: Gives the others, or what makes them; called when the root is listed, or when a name
            is looked up that is none of the former.
    """

    __slots__ = ("_load", "_more")

    def __init__(self, makers: Makers, load: Callable[[], Children]) -> None:
        super().__init__(makers)
        self._load = load
        self._more: FixedDirectory | None = None

    @property
    def _others(self) -> FixedDirectory:
        if self._more is None:
            self._more = FixedDirectory(
                {name: partial(_made, child) for name, child in self._load().items()}
            )
        return self._more

    def but(self, makers: Makers) -> RootDirectory:
        return RootDirectory({**self._makers, **makers}, self._load)

    def names(self) -> Sequence[str]:
        return sorted([*self._names, *self._others.names()])

    def child(self, name: str) -> Node | None:
        found = super().child(name)
        return self._others.child(name) if found is None else found


def _made(child: Node | Callable[[], Node]) -> Node:
    return child() if callable(child) else child
