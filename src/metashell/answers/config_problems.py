"""Configs that need a look: throttles that a reassignment left, and safety that was lowered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.image.image import Image
from metashell.schema.arena import I64, Bools
from metashell.schema.arrow import string_array
from metashell.schema.resource_types import ResourceType, resource_type_name

_THROTTLED: Final = (
    b"leader.replication.throttled.replicas",
    b"follower.replication.throttled.replicas",
)
"""Set on topics by kafka-reassign-partitions.sh --throttle, and taken away by its --verify."""
_RATES: Final = (
    b"leader.replication.throttled.rate",
    b"follower.replication.throttled.rate",
)
"""Set on brokers likewise."""
_MIN_ISR: Final = b"min.insync.replicas"
_LOWERED: Final = (_MIN_ISR, b"retention.ms", b"retention.bytes")
"""Configs that keep less data, or keep it less safely, when they are lowered."""
_UNITS: Final = {
    b"retention.ms": (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)),
    b"retention.bytes": (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)),
}
_UNLIMITED: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class MarkedConfigs:
    """Configs of n resources, by type and name."""

    types: Sequence[str]
    names: Sequence[str]
    counts: Sequence[int]
    rows: Sequence[int]
    """The row of the first record that set one."""
    details: Sequence[str]

    @classmethod
    def of(cls, found: Iterable[tuple[str, str, int, str]]) -> Self:
        """Group configs by their resources.

        Args:
            found: Type, name, row of the record and a detail of each.
        """
        by_resource: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for kind, name, row, text in found:
            by_resource.setdefault((kind, name), []).append((row, text))
        by_resource = dict(sorted(by_resource.items()))
        return cls(
            [kind for kind, _ in by_resource],
            [name for _, name in by_resource],
            [len(each) for each in by_resource.values()],
            [min(row for row, _ in each) for each in by_resource.values()],
            [", ".join(text for _, text in each) for each in by_resource.values()],
        )


def leftover_throttles(image: Image, reassigning: Bools) -> MarkedConfigs:
    """Throttles of replication that no reassignment needs.

    Args:
        image: The image.
        reassigning: bool[k]: the partitions that are being reassigned.
    """
    part = image.part("configs")
    columns, topics = part.columns, image.topics
    types = columns.fixed("resource_type")
    keys = columns.span("name")
    at = np.concatenate([keys.find(key) for key in _THROTTLED])
    at = at[(types[at] == ResourceType.TOPIC) & (columns.span("value").counts[at] > 0)]
    names = string_array(columns.span("resource_name").take(at))
    busy = np.unique(image.partitions.topic[reassigning])
    busy_names = string_array(topics.raw_names.take(busy))
    at = at[~pc.is_in(names, busy_names).to_numpy(zero_copy_only=False)]
    if not reassigning.any():
        rates = np.concatenate([keys.find(key) for key in _RATES])
        at = np.concatenate([at, rates[types[rates] == ResourceType.BROKER]])
    return _by_resource(image, np.sort(at))


def lowered_configs(image: Image) -> MarkedConfigs:
    """Configs of topics that were lowered while the topic was there.

    A config that a topic did not set before counts where it is min.insync.replicas and the default
    of the cluster, set before, is higher. A value that a checkpoint tells hides what was before.
    """
    part = image.part("configs")
    log_rows, records = image.records.columns("ConfigRecord")
    found = []
    for key in _LOWERED:
        at = records.span("name").find(key)
        at = at[records.fixed("resource_type")[at] == ResourceType.TOPIC]
        if len(at):
            rows = np.asarray(log_rows)[at]
            names = string_array(records.span("resource_name").take(at))
            values = _numbers(string_array(records.span("value").take(at)))
            found += list(_lowered(image, key, rows, names, values))
    columns = part.columns
    current = {row: i for i, row in enumerate(part.changed.tolist())} if found else {}
    kept = [(current[row], row, text) for row, text in found if row in current]
    names_of = columns.span("resource_name").take(np.array([i for i, _, _ in kept], dtype=np.int64))
    names = zip(names_of.texts(), kept, strict=True)
    return MarkedConfigs.of(("TOPIC", name, row, text) for name, (_, row, text) in names)


def _lowered(
    image: Image, key: bytes, rows: I64, names: pa.Array, values: I64
) -> Iterator[tuple[int, str]]:
    """Rows of records that lowered a key, each the last about its topic, and how."""
    topic = pc.fill_null(pc.index_in(names, string_array(image.topics.raw_names)), -1).to_numpy()
    # Records before a topic's creation are about another topic of that name.
    kept = np.flatnonzero(topic >= 0)
    kept = kept[rows[kept] > image.topics.created[topic[kept]]]
    kept = kept[np.lexsort((rows[kept], topic[kept]))]
    if not len(kept):
        return
    topic, rows, values = topic[kept], rows[kept], values[kept]
    first = np.flatnonzero(np.diff(topic, prepend=-1))
    last = np.append(first[1:], len(topic)) - 1
    before = values[first]
    if key == _MIN_ISR:
        default_row, default = _default_min_isr(image)
        created = image.topics.created[topic[first]]
        times = [image.records.frames_at(r).timestamps(r) for r in (rows[first], created)]
        # The value that a topic is created with lowers nothing.
        before[(times[0] != times[1]) & (rows[first] > default_row)] = default
    is_lower = (values[last] >= 0) & (values[last] < before)
    for row, low, high in zip(
        rows[last][is_lower], values[last][is_lower], before[is_lower], strict=True
    ):
        yield int(row), f"{key.decode()} from {_text(key, int(high))} to {_text(key, int(low))}"


def _default_min_isr(image: Image) -> tuple[int, int]:
    """The cluster's dynamic default, and the row that set it; (-1, -1) without one."""
    part = image.part("configs")
    columns = part.columns
    at = columns.span("name").find(_MIN_ISR)
    at = at[columns.fixed("resource_type")[at] == ResourceType.BROKER]
    at = at[columns.span("resource_name").counts[at] == 0]
    if not len(at):
        return -1, -1
    (value,) = _numbers(string_array(columns.span("value").take(at[:1])))
    return int(part.changed[at[0]]), int(value)


def _numbers(texts: pa.Array) -> I64:
    """int64[n]: numbers; those below zero stand for no limit, -1 is what is no number."""
    is_number = pc.fill_null(pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$"), False)
    numbers = pc.if_else(is_number, texts, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    found = np.where(numbers < 0, _UNLIMITED, numbers)
    out: I64 = np.where(np.asarray(is_number), found, -1)
    return out


def _text(key: bytes, value: int) -> str:
    """A value, with the largest unit that it is whole in: ``3600000 (1 h)``."""
    if value == _UNLIMITED:
        return "-1"
    for unit, size in _UNITS.get(key, ()):
        if value and not value % size:
            return f"{value} ({value // size:,} {unit})"
    return str(value)


def _by_resource(image: Image, at: I64) -> MarkedConfigs:
    """Configs by their resources, which are few."""
    part = image.part("configs")
    columns = part.columns
    types = [resource_type_name(code) for code in columns.fixed("resource_type")[at].tolist()]
    names = columns.span("resource_name").take(at).texts()
    keys = columns.span("name").take(at).texts()
    return MarkedConfigs.of(zip(types, names, part.changed[at].tolist(), keys, strict=True))
