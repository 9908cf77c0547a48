"""The order of topics by their names, and of their partitions."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from metashell.image.image import Image
from metashell.schema.arena import I32, I64, ranges
from metashell.schema.arrow import string_array


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
