"""How densely a log is written, by type: what a bar over the whole log is drawn from.

Owns which batches the log has, in the order in which they are replayed, and which records each
holds. A batch is never taken apart: it is what time travel applies, whole or not at all. Neither
values nor keys are decoded, so that a log of millions of records takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.control import ControlType
from metashell.log.fault import Fault
from metashell.log.frames import CONTROL_KEY, control_key
from metashell.parts.known import all_parts
from metashell.parts.spec import RecordGroup
from metashell.records.records import Records
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.model import Registry

NO_OP: Final = 20
"""Api key of NoOpRecord."""
LEADER_CHANGE: Final = control_key(ControlType.LEADER_CHANGE)
"""Key of LeaderChangeMessage."""

_LOWEST: Final = CONTROL_KEY - 64
_HIGHEST: Final = 1 << 14
"""Api keys beyond these count as one type: no definition describes them."""

_INT64: Final = (1 << 63) - 1


_OF_NO_PART: Final[Mapping[int, RecordGroup]] = {
    **dict.fromkeys((21, 23, 24, 25), RecordGroup.QUORUM),
    NO_OP: RecordGroup.NO_OPS,
}
"""By api key: the end of migrations from ZooKeeper, transactions, and what says nothing."""


@lru_cache(maxsize=16)
def _groups(registry: Registry) -> Mapping[int, RecordGroup]:
    """By api key; control records are of the quorum."""
    found = dict(_OF_NO_PART)
    for part in all_parts():
        for message in part.own_messages:
            spec = registry.by_name.get(message)
            if spec is not None and spec.api_key is not None:
                found[spec.api_key] = RecordGroup(part.group)
    return found


def group_of(key: int, registry: Registry) -> RecordGroup:
    """The subject of the records of an api key."""
    if _LOWEST < key <= CONTROL_KEY:
        return RecordGroup.QUORUM
    return _groups(registry).get(key, RecordGroup.OTHER)


def type_title(key: int, registry: Registry) -> str:
    """A short name of a type, such as ``PartitionChange``."""
    if _LOWEST < key <= CONTROL_KEY:
        spec = registry.control.get(CONTROL_KEY - key)
    else:
        spec = registry.metadata.get(key)
    if spec is None:
        return "unknown"
    return spec.name.removesuffix("Record").removesuffix("Message")


class Axis(StrEnum):
    """The measure in which a bar's columns are equally wide."""

    TIME = "time"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """The batches of a log; each array has one element a batch, in the order of offsets."""

    base: I64
    """First offset."""
    last: I64
    """Last offset; ascending."""
    time: I64
    """maxTimestamp, ms since the epoch, as it is written."""
    passed: I64
    """The latest time up to there: never goes back, as clocks do."""
    changes: Bools
    """Whether it holds anything but NoOps."""
    of_key: Mapping[int, I32]
    """By api key the batch of each record of that type, ascending."""
    faults: tuple[Fault, ...] = ()
    """The faults of the files and batches that were read."""

    def __len__(self) -> int:
        return len(self.base)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return sum(map(len, self.of_key.values()))

    # Columns.

    def edges(self, n: int, axis: Axis) -> I64:
        """Divide the log into columns.

        Args:
            n: How many columns.
            axis: The measure in which columns are equally wide.

        Returns:
            int64[n + 1]: the first batch of each column, and the number of batches.
        """
        if not len(self):
            return np.zeros(n + 1, dtype=np.int64)
        along = self.passed if axis is Axis.TIME else self.last
        first, last = int(along[0]), int(along[-1])
        span = last - first + 1
        starts = [min(first - (-i * span // n), _INT64) for i in range(n)]
        edges = np.searchsorted(along, np.array(starts, dtype=np.int64), side="left")
        edges[0] = 0
        return np.append(edges, len(self)).astype(np.int64)

    def starts(self, n: int, axis: Axis) -> list[int]:
        """Where columns begin: times (ms), or offsets."""
        along = self.passed if axis is Axis.TIME else self.last
        if not len(self):
            return [0] * n
        first, span = int(along[0]), int(along[-1]) - int(along[0]) + 1
        return [first - (-i * span // n) for i in range(n)]

    def by_key(self, edges: I64) -> dict[int, I64]:
        """Records of each type in columns: int64[n] by api key."""
        # Edges of another type would make numpy copy the whole array that is searched.
        return {
            key: np.diff(np.searchsorted(batches, edges.astype(batches.dtype)))
            for key, batches in self.of_key.items()
        }

    def by_group(self, edges: I64, registry: Registry) -> dict[RecordGroup, I64]:
        """Records of each group in columns: int64[n], for every group."""
        found = {group: np.zeros(len(edges) - 1, dtype=np.int64) for group in RecordGroup}
        for key, counts in self.by_key(edges).items():
            found[group_of(key, registry)] += counts
        return found

    def within(self, first: int, end: int) -> list[tuple[int, int]]:
        """(api key, records) of the batches from one up to another, most records first."""
        edges = np.array([first, end])
        found = [(key, int(counts[0])) for key, counts in self.by_key(edges).items()]
        return sorted(((k, n) for k, n in found if n), key=lambda pair: (-pair[1], pair[0]))

    # Single batches.

    def applied(self, offset: int) -> int:
        """How many batches lie whole at or before an offset."""
        return int(np.searchsorted(self.last, offset, side="right"))

    def ends(self, offsets: I64) -> I64:
        """Last offset of the batch that each offset lies in; itself where it lies in none."""
        if not len(self):
            return offsets
        batches = np.minimum(np.searchsorted(self.last, offsets), len(self) - 1)
        ends: I64 = np.where(self.base[batches] <= offsets, self.last[batches], offsets)
        return np.where(offsets <= self.last[-1], ends, offsets)

    def columns_of(self, offsets: I64, edges: I64) -> I64:
        """int64[n]: columns that offsets lie in; of those outside of all batches the nearest."""
        batches = np.minimum(np.searchsorted(self.last, offsets), len(self) - 1)
        columns: I64 = np.searchsorted(edges, batches, side="right") - 1
        return columns

    def offsets_of(self, keys: Iterable[int]) -> I64:
        """Last offsets of the batches with records of any of some types, ascending."""
        batches = [self.of_key[key] for key in keys if key in self.of_key]
        if not batches:
            return np.empty(0, dtype=np.int64)
        found: I64 = self.last[np.unique(np.concatenate(batches))]
        return found

    @property
    def stops(self) -> I64:
        """Offsets behind which the state may be another one: int64, ascending."""
        stops: I64 = self.last[self.changes]
        return stops

    @property
    def elections(self) -> I64:
        """Offsets at which a controller said that it leads, ascending."""
        return self.offsets_of([LEADER_CHANGE])


def density_of(records: Records, after: int = -1, faults: Sequence[Fault] = ()) -> Density:
    """Look at the log's own batches among records, those of checkpoints left out. Cost: frames.

    Args:
        records: The records that were read.
        after: Batches up to this offset are left out.
        faults: The faults of the files.
    """
    frames, files = records.frames, records.loaded.files
    batches = frames.batches
    is_log = np.array([not (f.is_checkpoint or f.is_alone) for f in files], dtype=np.bool_)
    base = batches.header["base_offset"].astype(np.int64)
    last = base + batches.header["last_delta"]
    wanted = is_log[batches.file] if len(files) else np.zeros(0, dtype=np.bool_)
    wanted &= (base > after) & (last >= base)
    at = np.flatnonzero(wanted)
    # Offsets that go back were cut off when a leader changed, or are damage: they are no place to
    # stop at.
    highest = np.maximum.accumulate(last[at])
    at = at[base[at] > np.append(after, highest[:-1])[: len(at)]]
    number = np.full(len(base), -1, dtype=np.int32)
    number[at] = np.arange(len(at), dtype=np.int32)
    of_record = number[frames.batch]
    keys = frames.api_key[:]
    if len(at) != len(base):
        inside = of_record >= 0
        of_record, keys = of_record[inside], keys[inside]
    changes = np.zeros(len(at), dtype=np.bool_)
    changes[of_record[keys != NO_OP]] = True
    time = batches.header["max_timestamp"][at].astype(np.int64)
    return Density(
        base[at],
        last[at],
        time,
        np.maximum.accumulate(time),
        changes,
        _by_key(keys, of_record),
        (*faults, *records.unframed),
    )


def _by_key(keys: AnyArray, batch: I32) -> dict[int, I32]:
    """Batches of the records of each type, ascending as they come."""
    # Numbers of two bytes are sorted by their digits: in one go, and without changing the order.
    slots = (np.clip(keys, _LOWEST, _HIGHEST) - _LOWEST).astype(np.uint16)
    counts = np.bincount(slots)
    known = np.flatnonzero(counts)
    ordered = batch[np.argsort(slots, kind="stable")]
    parts = np.split(ordered, np.cumsum(counts[known])[:-1]) if len(known) else []
    return {int(slot) + _LOWEST: part for slot, part in zip(known, parts, strict=True)}


def join(parts: Sequence[Density]) -> Density:
    """Put parts of a log together, each behind the one before it."""
    if len(parts) == 1:
        return parts[0]
    time = _joined([part.time for part in parts], np.int64)
    of_key: dict[int, list[I32]] = {}
    before = 0
    for part in parts:
        for key, batches in part.of_key.items():
            of_key.setdefault(key, []).append(batches + np.int32(before))
        before += len(part)
    return Density(
        _joined([part.base for part in parts], np.int64),
        _joined([part.last for part in parts], np.int64),
        time,
        np.maximum.accumulate(time),
        _joined([part.changes for part in parts], np.bool_),
        {key: np.concatenate(pieces) for key, pieces in of_key.items()},
        tuple(dict.fromkeys(fault for part in parts for fault in part.faults)),
    )


def _joined(arrays: Sequence[AnyArray], kind: type) -> AnyArray:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=kind)


def extended(density: Density, records: Records) -> Density | None:
    """The density of the same log after more came behind it; None where it is another log.

    Args:
        density: The density before.
        records: The newest ones: they hold what came, and begin where the log was known.
    """
    if not len(density):
        return None
    end = int(density.last[-1])
    newer = density_of(records, after=end)
    batches, files = records.frames.batches, records.loaded.files
    overlap = np.flatnonzero(batches.header["base_offset"] == density.base[-1])
    is_log = [not files[i].is_checkpoint for i in batches.file[overlap].tolist()]
    known = batches.header[overlap[np.array(is_log, dtype=np.bool_)]]
    if len(known):
        first = known[0]
        ends_so = int(first["base_offset"]) + int(first["last_delta"]) == end
        if not ends_so or int(first["max_timestamp"]) != int(density.time[-1]):
            return None
    elif not len(newer) or int(newer.base[0]) != end + 1:
        return None
    return join([density, newer]) if len(newer) else density
