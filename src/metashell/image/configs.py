"""Configurations: a value per resource and key.

A null value removes the key. Removing a topic removes the configs of its name, which a topic made
later under that name does not get back.

Kafka forgets that for a topic that was configured and removed within one delta, because its removal
only looks at configs that the image before the delta has. Configs of such a topic stay in the
images and checkpoints of the nodes whose delta held both records: *orphans*, which differ from node
to node, since a delta holds what a node happened to publish at once.

Source: org.apache.kafka.image.ConfigurationsDelta, MetadataDelta.replay(RemoveTopicRecord).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metashell.image.fold import group_keys
from metashell.image.keyed import Part, fold_nullable, join_spans
from metashell.image.topics import Topics
from metashell.records.records import Records
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns
from metashell.schema.resource_types import ResourceType, resource_type_name

if TYPE_CHECKING:
    from metashell.image.image import Image


def resource_directory(code: int, name: str) -> str:
    """Name of a resource's directory below ``/image/configs``."""
    kind = resource_type_name(code)
    return f"{kind}:{name}" if name else kind


def fold_configs(image: Image) -> Part:
    """The config values that are set, by resource and key."""
    rows, columns = image.records.columns("ConfigRecord")
    gone_with_topic = _removed_with_topic(rows, columns, image.topics)
    if gone_with_topic.any():
        keep = np.flatnonzero(~gone_with_topic)
        rows, columns = rows[keep], columns.take(keep)
    gone = ~columns.span("value").valid()
    return fold_nullable(rows, columns, ["resource_type", "resource_name", "name"], gone)


def _removed_with_topic(rows: I64, columns: Columns, topics: Topics) -> Bools:
    """Which records set configs of a topic that was removed later."""
    removed = topics.removed
    if not len(removed.rows) or not len(rows):
        return np.zeros(len(rows), dtype=np.bool_)
    names = join_spans(columns.span("resource_name"), removed.names)
    types = np.concatenate(
        [
            columns.fixed("resource_type"),
            np.full(len(removed.rows), ResourceType.TOPIC, dtype=np.int8),
        ]
    )
    groups = group_keys([types, names], len(types))
    last_removal = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(last_removal, groups[len(rows) :], removed.rows)
    found: Bools = rows <= last_removal[groups[: len(rows)]]
    return found


def orphans(configs: Part, topics: Topics) -> I64:
    """Configs of topics that do not exist: int64[n], indexes into the part."""
    columns, k = configs.columns, len(topics)
    rows = np.flatnonzero(columns.fixed("resource_type") == ResourceType.TOPIC)
    if not len(rows):
        return rows
    names = columns.span("resource_name").take(rows)
    joined = join_spans(topics.raw_names, names) if k else names
    groups = group_keys([joined], k + len(rows))
    known = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
    known[groups[:k]] = True
    found: I64 = rows[~known[groups[k:]]]
    return found


def removed_in_log(records: Records, topics: Topics) -> Columns:
    """The ConfigRecords of the log, checkpoints aside, whose topic was removed later."""
    rows, columns = records.columns("ConfigRecord")
    files, frames = records.loaded.files, records.frames
    is_log = np.array([not file.is_checkpoint for file in files], dtype=np.bool_)
    in_log = is_log[frames.batches.file[frames.batch[rows]]]
    return columns.take(np.flatnonzero(in_log & _removed_with_topic(rows, columns, topics)))
