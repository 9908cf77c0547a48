"""``/image``: the cluster's metadata, exactly as Kafka's shell shows it.

Source: org.apache.kafka.image.node.MetadataImageNode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.fs.java import java_time
from metashell.fs.node import FixedDirectory, JsonValue, Node
from metashell.fs.times import changed_at
from metashell.redact import Redaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.image.image import Image


class ImageDirectory(FixedDirectory):
    """``/image``, which knows the image that it shows: rows of times are those of its records."""

    __slots__ = ("_load",)

    def __init__(self, makers: Mapping[str, Callable[[], Node]], load: Callable[[], Image]) -> None:
        super().__init__(makers)
        self._load = load

    @property
    def image(self) -> Image:
        """The image."""
        return self._load()


def image_node(load: Callable[[], Image], redaction: Redaction) -> ImageDirectory:
    """The directory ``/image``.

    Args:
        load: Gives the image; called when a part is first looked into, so that listing the parts
            decodes nothing.
        redaction: What may be shown.
    """

    def acls() -> Node:
        from metashell.fs.nodes.security import acls_node

        return acls_node(load())

    def quotas() -> Node:
        from metashell.fs.nodes.settings import quotas_node

        return quotas_node(load())

    def cluster() -> Node:
        from metashell.fs.nodes.cluster import cluster_node

        return cluster_node(load())

    def configs() -> Node:
        from metashell.fs.nodes.settings import configs_node

        return configs_node(load(), redaction)

    def tokens() -> Node:
        from metashell.fs.nodes.security import tokens_node

        return tokens_node(load(), redaction)

    def features() -> Node:
        from metashell.fs.nodes.settings import features_node

        return features_node(load())

    def producer_ids() -> Node:
        from metashell.fs.nodes.settings import producer_ids_node

        return producer_ids_node(load())

    def scram() -> Node:
        from metashell.fs.nodes.security import scram_node

        return scram_node(load(), redaction)

    def topics() -> Node:
        from metashell.fs.nodes.topics import topics_node

        return topics_node(load())

    def provenance() -> Node:
        from metashell.fs.nodes.tables import RowLeaf

        leaf = RowLeaf(lambda: _provenance_value(load()), _provenance_text)
        return leaf.timed(lambda: changed_at(load().records.last_row))

    return ImageDirectory(
        {
            "acls": acls,
            "clientQuotas": quotas,
            "cluster": cluster,
            "configs": configs,
            "delegationToken": tokens,
            "features": features,
            "producerIds": producer_ids,
            "provenance": provenance,
            "scram": scram,
            "topics": topics,
        },
        load,
    )


def _provenance_value(image: Image) -> dict[str, JsonValue]:
    last = image.provenance
    return {"offset": last.offset, "epoch": last.epoch, "timestampMs": last.timestamp_ms}


def _provenance_text(value: Mapping[str, JsonValue]) -> str:
    time = value["timestampMs"]
    assert isinstance(time, int)
    return f"offset {value['offset']}, epoch {value['epoch']}, time {java_time(time)}"
