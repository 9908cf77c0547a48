"""``/image``: the cluster's metadata, exactly as Kafka's shell shows it.

Source: org.apache.kafka.image.node.MetadataImageNode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.fs.java import java_time
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Node
from metashell.redact import Redaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.image.image import Image


def image_node(load: Callable[[], Image], redaction: Redaction) -> Directory:
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

        return RowLeaf(lambda: _provenance_value(load()), _provenance_text)

    return FixedDirectory(
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
        }
    )


def _provenance_value(image: Image) -> dict[str, JsonValue]:
    last = image.provenance
    return {"offset": last.offset, "epoch": last.epoch, "timestampMs": last.timestamp_ms}


def _provenance_text(value: Mapping[str, JsonValue]) -> str:
    time = value["timestampMs"]
    assert isinstance(time, int)
    return f"offset {value['offset']}, epoch {value['epoch']}, time {java_time(time)}"
