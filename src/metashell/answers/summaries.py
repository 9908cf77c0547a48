"""Partitions counted: by topic, by broker, by rack."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.election import lists_of
from metashell.answers.health import NO_LEADER, Health
from metashell.dataclass import dataclass
from metashell.image.cluster import Brokers
from metashell.image.image import Image
from metashell.schema.arena import I64, AnyArray, repeats
from metashell.schema.arrow import string_array

_STATES: Final = (
    "offline",
    "under-replicated",
    "under-min-isr",
    "at-min-isr",
    "no-preferred-leader",
    "reassigning",
)
_NO_RACK: Final = -1
_SMALL: Final = 1 << 20
"""Ids below are looked up in a table."""


def summary_table(health: Health, rows: I64, by: str) -> pa.Table:
    """Counts of the partitions given, a row for each topic, broker or rack that has any.

    Args:
        health: The image's health.
        rows: int64[n]: the partitions.
        by: ``topic``, ``broker`` or ``rack``. A broker's row counts partitions with a replica
            there, whether it is registered or not. A rack's row likewise; a null rack is that of
            brokers without one.
    """
    image = health.image
    if by == "topic":
        return _by_topic(health, rows)
    placed = lists_of(image, "replicas", rows)
    keys, group = _coded(placed.brokers)
    names = pa.array(keys)
    if by == "rack":
        racks = Racks.of(image)
        keys, rack_of = np.unique(racks.codes(keys), return_inverse=True)
        names, group = racks.texts(keys), rack_of[group]
    leads = image.partitions.leader[rows][placed.row] == placed.brokers
    # A partition counts once in a group, however many of its replicas are there.
    once = ~repeats(placed.row, group)
    things = _Things(placed.row[once], group[once], len(keys))
    columns = {
        "partitions": things.count(),
        "leaders": pa.array(np.bincount(group[leads], minlength=len(keys)).astype(np.int64)),
        "replicas": pa.array(np.bincount(group, minlength=len(keys)).astype(np.int64)),
        **_states(health, rows, things),
    }
    return pa.table({by: names} | columns)


def _by_topic(health: Health, rows: I64) -> pa.Table:
    partitions, topics = health.image.partitions, health.image.topics
    keys, group = _coded(partitions.topic[rows])
    things = _Things(np.arange(len(rows)), group, len(keys))
    replicas = np.bincount(group, weights=health.n_of("replicas")[rows], minlength=len(keys))
    names = string_array(topics.raw_names.take(keys))
    columns = {
        "partitions": things.count(),
        "leaders": things.count(partitions.leader[rows] != NO_LEADER),
        "replicas": pa.array(replicas.astype(np.int64)),
        **_states(health, rows, things),
    }
    table = pa.table({"topic": names} | columns)
    return table.take(pc.sort_indices(names))


@dataclass(frozen=True, slots=True)
class _Things:
    """Partitions in groups: ``row``: int64[m]: which; ``group``: int64[m], below ``n``."""

    row: I64
    group: I64
    n: int

    def count(self, flags: AnyArray | None = None) -> pa.Array:
        """By group, those partitions that have the flag: bool by row."""
        group = self.group if flags is None else self.group[flags[self.row]]
        return pa.array(np.bincount(group, minlength=self.n).astype(np.int64))


def _states(health: Health, rows: I64, things: _Things) -> dict[str, pa.Array]:
    return {state.replace("-", "_"): things.count(health.mask(state)[rows]) for state in _STATES}


def _coded(values: AnyArray) -> tuple[AnyArray, I64]:
    """Distinct values, ascending, and the index of each value there; small ones are not sorted."""
    if not len(values) or int(values.min()) < 0 or int(values.max()) >= _SMALL:
        keys, codes = np.unique(values, return_inverse=True)
        return keys, codes
    keys = np.flatnonzero(np.bincount(values)).astype(values.dtype)
    index = np.zeros(int(keys[-1]) + 1, dtype=np.int64)
    index[keys] = np.arange(len(keys))
    return keys, index[values]


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of an image's brokers."""

    names: list[str]
    """Sorted."""
    _brokers: Brokers
    _codes: I64
    """int64[brokers + 1]: of each broker; the last is for those that are not registered."""

    @classmethod
    def of(cls, image: Image) -> Racks:
        """The racks that the registrations name."""
        texts = image.brokers.registration.span("rack").strings()
        names = sorted({text for text in texts if text is not None})
        codes: dict[str | None, int] = {name: i for i, name in enumerate(names)}
        found = [codes.get(text, _NO_RACK) for text in (*texts, None)]
        return cls(names, image.brokers, np.array(found, dtype=np.int64))

    def codes(self, brokers: AnyArray) -> I64:
        """int64[m]: index into `names` of each broker's rack, `_NO_RACK` for none."""
        codes: I64 = self._codes[self._brokers.places(brokers)]
        return codes

    def texts(self, codes: I64) -> pa.Array:
        """Names by code, null for `_NO_RACK`."""
        names = pa.array(self.names, pa.string())
        return names.take(pa.array(codes, mask=codes == _NO_RACK))
