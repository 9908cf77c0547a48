"""Topics as rows: size, health, configs, and how much has been written about each.

The order of topics by their names, and of their partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.health import READS, Health
from metashell.answers.row_times import when
from metashell.image.image import Image
from metashell.redact import Redaction
from metashell.schema.arena import I32, I64, AnyArray, Bools, ranges
from metashell.schema.arrow import list_array, number_array, string_array, uuid_array
from metashell.schema.resource_types import ResourceType


def topic_order(image: Image, rows: I64) -> I64:
    """int64[n]: how to order partitions by their topics' names.

    Args:
        image: The image.
        rows: int64[n]: the partitions, ascending: those of a topic follow each other.
    """
    topic = image.partitions.topic[rows]
    starts = np.flatnonzero(np.diff(topic, prepend=-1))
    counts = np.diff(starts, append=len(rows))
    order = name_order(image, topic[starts])
    return ranges(starts[order], counts[order])[0]


def name_order(image: Image, topics: I32 | I64) -> I64:
    """int64[n]: how to order topics by their names, by code point."""
    names = string_array(image.topics.raw_names.take(topics))
    order: I64 = pc.sort_indices(names).to_numpy().astype(np.int64)
    return order


INTERNAL: Final = ("__consumer_offsets", "__share_group_state", "__transaction_state")
"""Source: org.apache.kafka.common.internals.Topic."""


def topics_table(
    image: Image,
    redaction: Redaction,
    chosen: Bools,
    wanted: Collection[str] | None = None,
    assumptions: Assumptions = NO_ASSUMPTIONS,
    leads: Callable[[str], object] | None = None,
) -> pa.Table:
    """Topics as rows, by name.

    Args:
        image: The image.
        redaction: The redaction of configs.
        chosen: bool[topics]: which.
        wanted: The columns to make (``topic`` where that is none of them); all if None.
        assumptions: The configs that the nodes' own files are assumed to set.
        leads: Tells which keys come first among the configs; None for the order of all.
    """
    if wanted is None or "under_replicated" in wanted:
        image.expect(READS["under-replicated"])
    rows = np.flatnonzero(chosen)
    rows = rows[name_order(image, rows)]
    makers = _makers(image, redaction, rows, assumptions, leads)
    if wanted is None:
        wanted = makers
    names = [name for name in makers if name in wanted] or ["topic"]
    return pa.table({name: makers[name]() for name in names})


def _makers(
    image: Image,
    redaction: Redaction,
    rows: I64,
    assumptions: Assumptions,
    leads: Callable[[str], object] | None,
) -> Mapping[str, Callable[[], pa.Array]]:
    """The function that makes each column. It decodes partitions only for columns about them."""
    topics, n = image.topics, len(image.topics)

    @cache
    def health() -> Health:
        return Health(image, assumptions)

    def count(mask: Bools) -> pa.Array:
        return number_array(np.bincount(image.partitions.topic[mask], minlength=n)[rows])

    def size() -> pa.Array:
        return number_array(np.diff(image.partitions.topic_bounds)[rows].astype(np.int32))

    @cache
    def factors() -> tuple[I64, I64]:
        return _extremes(health().n_of("replicas"), image.partitions.topic_bounds)

    def factor(which: int) -> pa.Array:
        return number_array(factors()[which][rows].astype(np.int32))

    def written(which: int) -> pa.Array:
        return number_array(image.partitions.written[which][rows])

    @cache
    def created() -> Mapping[str, pa.Array]:
        return when(image, "created", topics.created[rows])

    @cache
    def changed() -> Mapping[str, pa.Array]:
        return when(image, "changed", image.touched.each_topic[rows])

    return {
        "topic": lambda: string_array(topics.raw_names.take(rows)),
        "partitions": size,
        "replication": lambda: factor(0),
        "replication_most": lambda: factor(1),
        "internal": lambda: number_array(internal(image)[rows]),
        "offline": lambda: count(health().offline),
        "under_replicated": lambda: count(health().under_replicated),
        "configs": lambda: _configs(image, redaction, leads).take(number_array(rows)),
        "topic_id": lambda: uuid_array(topics.ids[rows]),
        "history_records": lambda: written(0),
        "history_bytes": lambda: written(1),
        "created_offset": lambda: created()["created_offset"],
        "created_time": lambda: created()["created_time"],
        "changed_offset": lambda: changed()["changed_offset"],
        "changed_time": lambda: changed()["changed_time"],
    }


def replicated(health: Health, replicas: int) -> Bools:
    """bool[topics]: those with a partition of exactly so many replicas."""
    out = np.zeros(len(health.image.topics), dtype=np.bool_)
    out[health.image.partitions.topic[health.n_of("replicas") == replicas]] = True
    return out


def internal(image: Image) -> Bools:
    """bool[topics]: Kafka's own."""
    names = image.topics.raw_names
    out = np.zeros(len(image.topics), dtype=np.bool_)
    for name in INTERNAL:
        out[names.find(name.encode())] = True
    return out


def _extremes(values: AnyArray, bounds: I64) -> tuple[I64, I64]:
    """Smallest and largest value of each topic's partitions, 0 where it has none."""
    low, high = (np.zeros(len(bounds) - 1, dtype=np.int64) for _ in range(2))
    some = np.flatnonzero(np.diff(bounds) > 0)
    if some.size:
        low[some] = np.minimum.reduceat(values, bounds[:-1][some])
        high[some] = np.maximum.reduceat(values, bounds[:-1][some])
    return low, high


def topic_configs(image: Image) -> tuple[I64, I64]:
    """Configs of topics that exist: (row in that part: int64[m], topic: int64[m])."""
    columns = image.part("configs").columns
    at = np.flatnonzero(columns.fixed("resource_type") == ResourceType.TOPIC)
    topic = image.topics.indices_of(columns.span("resource_name").take(at))
    known = topic >= 0
    return at[known], topic[known]


def _configs(image: Image, redaction: Redaction, leads: Callable[[str], object] | None) -> pa.Array:
    """``key=value`` of each topic's own configs, sorted: a list of strings a topic."""
    at, topic = topic_configs(image)
    columns = image.part("configs").columns
    keys = columns.span("name").take(at).texts()
    values = columns.span("value").take(at).texts()
    texts = pa.array(
        [
            f"{key}={redaction.config_value('TOPIC', key, value)}"
            for key, value in zip(keys, values, strict=True)
        ],
        pa.string(),
    )
    behind = pa.array([leads is None or not leads(key) for key in keys], pa.bool_())
    order = pc.sort_indices(
        pa.table({"topic": topic, "behind": behind, "text": texts}),
        sort_keys=[(name, "ascending") for name in ("topic", "behind", "text")],
    )
    list_offsets = np.searchsorted(np.sort(topic), np.arange(len(image.topics) + 1))
    return list_array(texts.take(order), list_offsets, None)
