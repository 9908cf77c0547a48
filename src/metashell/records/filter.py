"""Which records of a log are asked for, decided on whole batches and on columns.

Batches outside a selection are left out before they are framed; of the records that remain only the
key columns are looked at, of all rows at once. Rows are turned into values after that.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.chain import Chain
from metashell.log.compression import MAX_BATCH_BYTES
from metashell.log.fault import Fault
from metashell.log.frames import HEADER, Frames
from metashell.log.layout import CODEC, CONTROL
from metashell.log.payloads import INFLATED_BYTES, MIN_RECORD_BYTES, RECORD_BYTES
from metashell.log.read import Loaded, LogFile
from metashell.parts.partition_fields import BROKER_LISTS, LISTS
from metashell.records.records import Records
from metashell.schema.arena import I64, AnyArray, Bools, rows_with
from metashell.schema.columnar import prefix_distance
from metashell.schema.columns import Columns, FixedColumn, SpanColumn
from metashell.schema.resource_types import ResourceType

MAX_OFFSET: Final = (1 << 63) - 1
_NO_EPOCH, _MAX_EPOCH = -(1 << 31), (1 << 31) - 1

_RESOURCES_OF_BROKERS: Final = (4, 8)

_BLOCK: Final = 32_768
"""Rows compared together, so that what is gathered stays in the cache."""

_INFLATES_BY: Final = 64
"""More than records inflate by; what does is left out where it is too much."""

_FEW: Final = 4
"""Ids that are compared one by one."""

_BY_TOPIC_ID: Final = ("RemoveTopicRecord", "PartitionRecord", "PartitionChangeRecord")
_OF_PARTITIONS: Final = ("PartitionRecord", "PartitionChangeRecord")
_BROKER_IDS: Final = {"FenceBrokerRecord": "id", "UnfenceBrokerRecord": "id"}
"""Columns that name a broker by another name than all others do."""
_BROKER_ID: Final = "broker_id"
_BROKER_LISTS: Final = tuple(LISTS[name] for name in BROKER_LISTS)

Matcher: TypeAlias = Callable[[str], bool]
"""Whether a name is one of those asked for."""

_Handler: TypeAlias = Callable[[Records, str, I64], I64]
"""(Records, message, rows of the message's records) -> the rows that match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The conditions on records; every condition given must hold."""

    first_offset: int = 0
    last_offset: int = MAX_OFFSET
    since_ms: int | None = None
    until_ms: int | None = None
    first_epoch: int = _NO_EPOCH
    last_epoch: int = _MAX_EPOCH
    keys: frozenset[int] | None = None
    """Api keys, for control records those of `metashell.log.frames`; None for all."""
    not_keys: frozenset[int] = frozenset()
    control: bool = False
    """Control records only."""
    topic: Matcher | None = None
    """Records of topics with such names, and those that are about all topics. In a coordinator's
    log: commits and transactions."""
    name: Matcher | None = None
    """Records of groups or transactions with such ids; of a coordinator's log alone."""
    partition: int | None = None
    broker: int | None = None

    @property
    def skips_batches(self) -> bool:
        """Whether batches may be left out that make topics which later ones speak of."""
        return (
            self.first_offset > 0
            or self.since_ms is not None
            or self.control
            or self.first_epoch > 0
        )

    @property
    def by_content(self) -> bool:
        """Whether what a record is decides, and not only where it stands."""
        return (
            self.keys is not None
            or self.control
            or self.topic is not None
            or self.partition is not None
            or self.broker is not None
        )


@dataclass(slots=True)
class TopicNames:
    """Names by topic id, from TopicRecords met so far and, where one is missing, from elsewhere.

    For an id with two names, which only damage makes, the first one counts.
    """

    elsewhere: Iterator[Iterable[Records]] = field(default_factory=lambda: iter(()))
    """Files that may know more, each looked at once."""
    matcher: Matcher | None = None
    names: dict[bytes, str] = field(default_factory=dict)
    matching: set[bytes] = field(default_factory=set)
    """Ids of the topics whose names match."""

    def learn(self, records: Records) -> None:
        """Note the topics that some records make."""
        spec = records.registry.by_name.get("TopicRecord")
        if spec is None:
            return
        rows = np.flatnonzero(records.frames.api_key.narrow == spec.api_key)
        if not len(rows):
            return
        _, columns = records.decode(spec.name, rows, ("name", "topic_id"))
        ids, names = columns.fields.get("topic_id"), columns.fields.get("name")
        if not isinstance(ids, FixedColumn) or not isinstance(names, SpanColumn):
            return
        new = list(zip(ids.values.tolist(), names.texts(), strict=True))
        for i, name in new:
            self.names.setdefault(i, name)
        if self.matcher is not None:
            matcher = self.matcher
            self.matching.update(i for i, name in new if matcher(name))

    def look_up(self, ids: Iterable[bytes]) -> None:
        """Make sure that the ids which are known anywhere are known here."""
        missing = [i for i in ids if i not in self.names]
        while missing:
            found = next(self.elsewhere, None)
            if found is None:
                return
            for records in found:
                self.learn(records)
            missing = [i for i in missing if i not in self.names]


def select_batches(loaded: Loaded, selection: Selection) -> Loaded:
    """Leave out the batches of one file that can't hold what is asked for."""
    (file,) = loaded.files
    pos = np.frombuffer(file.chain.positions, dtype=np.int64)
    if not len(pos):
        return loaded
    header = _headers(loaded, pos)
    base = header["base_offset"].astype(np.int64)
    keep = base <= selection.last_offset
    keep &= base + header["last_delta"] >= selection.first_offset
    keep &= header["epoch"] >= selection.first_epoch
    keep &= header["epoch"] <= selection.last_epoch
    if selection.control:
        keep &= (header["attributes"] & CONTROL) != 0
    if selection.since_ms is not None:
        keep &= header["max_timestamp"] >= selection.since_ms
    if keep.all():
        return loaded
    return of_batches(loaded, file, pos[keep], file.chain.faults)


def framed_apart(loaded: Loaded) -> Iterator[Loaded]:
    """Cut the batches of one file into runs of which each is framed by itself.

    Compressed ones are about as many as may be inflated together; else there is one run.
    """
    (file,) = loaded.files
    pos = np.frombuffer(file.chain.positions, dtype=np.int64)
    header = _headers(loaded, pos)
    is_inflated = (header["attributes"] & CODEC) != 0
    if not is_inflated.any():
        yield loaded
        return
    size = np.clip(header["length"].astype(np.int64) * _INFLATES_BY, 0, MAX_BATCH_BYTES)
    n_records = np.clip(header["count"].astype(np.int64), 0, size // MIN_RECORD_BYTES)
    needed = (size + n_records * RECORD_BYTES) * is_inflated
    first, taken = 0, 0
    for i, more in enumerate(needed.tolist()):
        # Half, because the run before is still held by who looks at its records.
        if taken and taken + more > INFLATED_BYTES // 2:
            yield of_batches(loaded, file, pos[first:i], file.chain.faults)
            first, taken = i, 0
        taken += more
    yield of_batches(loaded, file, pos[first:], file.chain.faults)


def _headers(loaded: Loaded, pos: I64) -> AnyArray:
    view: AnyArray = np.ndarray(
        shape=(max(loaded.size - HEADER.itemsize + 1, 0),),
        dtype=f"V{HEADER.itemsize}",
        buffer=loaded.buffer,
        strides=(1,),
    )
    return view[pos].view(HEADER)


def of_batches(loaded: Loaded, file: LogFile, pos: I64, faults: Sequence[Fault] = ()) -> Loaded:
    """Some batches of a file, by their positions."""
    chain = Chain(array("q", pos.tobytes()), list(faults))
    return Loaded(loaded.buffer, loaded.size, [LogFile(file.name, file.start, file.size, chain)])


def in_memory(
    whole: Loaded, name: str, begin: int = 0, end: int = MAX_OFFSET
) -> tuple[LogFile, I64] | None:
    """A file that is read already, and where its batches lie between two of its positions.

    None where it is not, or where one is compressed. Inflating copies the whole buffer, which the
    windows of a file read again keep small.
    """
    file = next((f for f in whole.files if f.name == name), None)
    if file is None:
        return None
    pos = np.frombuffer(file.chain.positions, dtype=np.int64)
    first, behind = np.searchsorted(pos - file.start, [begin, end])
    pos = pos[first:behind]
    if (np.frombuffer(whole.buffer, dtype=np.uint8)[pos + 22] & 0x07).any():
        return None
    return file, pos


def rows_by_frames(frames: Frames, selection: Selection) -> I64:
    """Rows of the records that are asked for as far as frames tell, ascending: int64.

    Cost: nothing is decoded.
    """
    keys = frames.api_key.narrow
    mask: Bools = np.ones(len(frames), dtype=np.bool_)
    if selection.first_offset > 0 or selection.last_offset < MAX_OFFSET:
        offsets = frames.offset.narrow
        mask &= (offsets >= selection.first_offset) & (offsets <= selection.last_offset)
    if selection.control:
        mask &= frames.is_control
    if selection.keys is not None:
        mask &= np.isin(keys, list(selection.keys))
    if selection.not_keys:
        mask &= ~np.isin(keys, list(selection.not_keys))
    rows = np.flatnonzero(mask)
    if selection.first_epoch > _NO_EPOCH or selection.last_epoch < _MAX_EPOCH:
        epochs = frames.epochs(rows)
        rows = rows[(epochs >= selection.first_epoch) & (epochs <= selection.last_epoch)]
    if selection.since_ms is not None or selection.until_ms is not None:
        times = frames.timestamps(rows)
        in_time = np.ones(len(rows), dtype=np.bool_)
        if selection.since_ms is not None:
            in_time &= times >= selection.since_ms
        if selection.until_ms is not None:
            in_time &= times <= selection.until_ms
        rows = rows[in_time]
    return rows


def select_rows(records: Records, selection: Selection, names: TopicNames) -> I64:
    """Rows of the records asked for, ascending: int64."""
    rows = rows_by_frames(records.frames, selection)
    if selection.partition is not None:
        rows = _matching(records, rows, _partition_handlers(selection.partition))
    if selection.topic is not None:
        rows = _matching(records, rows, _topic_handlers(selection.topic, names.matching))
    if selection.broker is not None:
        rows = _matching(records, rows, _broker_handlers(selection.broker, records))
    return rows


def _matching(records: Records, rows: I64, handlers: dict[str, _Handler]) -> I64:
    """Rows that match, each judged by the handler of its message; others do not."""
    keys = records.frames.api_key[rows]
    found = [rows[:0]]
    for name, handler in handlers.items():
        spec = records.registry.by_name.get(name)
        if spec is None:
            continue
        these = rows[keys == spec.api_key]
        if len(these):
            found.append(handler(records, name, these))
    return np.sort(np.concatenate(found))


def _partition_handlers(partition: int) -> dict[str, _Handler]:
    def with_number(records: Records, name: str, rows: I64) -> I64:
        found, values = _near_the_front(records, name, rows, "partition_id", ">i4")
        matching: I64 = found[values == partition]
        return matching

    return dict.fromkeys(_OF_PARTITIONS, with_number)


def _topic_handlers(matcher: Matcher, ids: set[bytes]) -> dict[str, _Handler]:
    def by_id(records: Records, name: str, rows: I64) -> I64:
        return _with_id(records, name, rows, ids)

    def by_name(field_name: str, is_meant: Matcher = matcher) -> _Handler:
        def handler(records: Records, name: str, rows: I64) -> I64:
            good, columns = records.decode(name, rows, (field_name,))
            return good[_texts_match(columns, field_name, is_meant)]

        return handler

    def configs(records: Records, name: str, rows: I64) -> I64:
        good, columns = records.decode(name, rows, ("resource_type", "resource_name"))
        of_topics = _numbers_match(columns, "resource_type", (ResourceType.TOPIC,))
        return good[of_topics & _texts_match(columns, "resource_name", matcher)]

    return {
        "TopicRecord": by_name("name"),
        # Without a name it is about every topic, so about those asked for where there are any.
        "ClearElrRecord": by_name(
            "topic_name", lambda name: matcher(name) or (not name and bool(ids))
        ),
        "ConfigRecord": configs,
        **dict.fromkeys(_BY_TOPIC_ID, by_id),
    }


def _broker_handlers(broker: int, records: Records) -> dict[str, _Handler]:
    by_broker = {
        spec.name: field.column_name
        for spec in records.registry.metadata.values()
        for field in spec.fields
        if field.column_name == _BROKER_IDS.get(spec.name, _BROKER_ID)
    }

    def by_number(records: Records, name: str, rows: I64) -> I64:
        good, columns = records.decode(name, rows, (by_broker[name],))
        return good[_numbers_match(columns, by_broker[name], (broker,))]

    def in_lists(records: Records, name: str, rows: I64) -> I64:
        good, columns = records.decode(name, rows, (*_BROKER_LISTS, "leader"))
        named = _numbers_match(columns, "leader", (broker,))
        for field_name in _BROKER_LISTS:
            column = columns.fields.get(field_name)
            if isinstance(column, SpanColumn):
                values, list_offsets = column.gather()
                named |= rows_with(values == broker, list_offsets)
        return good[named]

    def configs(records: Records, name: str, rows: I64) -> I64:
        good, columns = records.decode(name, rows, ("resource_type", "resource_name"))
        of_brokers = _numbers_match(columns, "resource_type", _RESOURCES_OF_BROKERS)
        return good[of_brokers & _texts_match(columns, "resource_name", str(broker).__eq__)]

    return {
        **dict.fromkeys(by_broker, by_number),
        **dict.fromkeys(_OF_PARTITIONS, in_lists),
        "ConfigRecord": configs,
    }


def _numbers_match(columns: Columns, name: str, wanted: tuple[int, ...]) -> Bools:
    """bool[n]: a user's definition may lack the field, and then nothing matches."""
    column = columns.fields.get(name)
    if not isinstance(column, FixedColumn) or column.values.dtype.kind not in "iu":
        return np.zeros(columns.n, dtype=np.bool_)
    return np.isin(column.values, wanted)


def _texts_match(columns: Columns, name: str, matcher: Matcher) -> Bools:
    column = columns.fields.get(name)
    if not isinstance(column, SpanColumn) or column.dtype != "u1":
        return np.zeros(columns.n, dtype=np.bool_)
    known: dict[str, bool] = {}
    for text in (texts := column.texts()):
        if text not in known:
            known[text] = matcher(text)
    return np.fromiter((known[text] for text in texts), dtype=np.bool_, count=columns.n)


def _with_id(records: Records, name: str, rows: I64, ids: set[bytes]) -> I64:
    """Rows whose topic id is one of those given; half of each id is compared first."""
    halves = np.array([int.from_bytes(i[8:], "little") for i in ids], dtype=np.uint64)
    found = [rows[:0]]
    for first in range(0, len(rows) if ids else 0, _BLOCK):
        block, values = _near_the_front(
            records, name, rows[first : first + _BLOCK], "topic_id", "V16"
        )
        low = np.frombuffer(values.tobytes(), dtype="<u8")[1::2]
        if len(halves) <= _FEW:
            hit = np.zeros(len(low), dtype=np.bool_)
            for half in halves:
                hit |= low == half
        else:
            hit = np.isin(low, halves)
        at = np.flatnonzero(hit)
        sure = [
            i for i, value in zip(at.tolist(), values[at].tolist(), strict=True) if value in ids
        ]
        found.append(block[sure])
    return np.concatenate(found)


def _near_the_front(
    records: Records, name: str, rows: I64, field_name: str, dtype: str
) -> tuple[I64, AnyArray]:
    """A fixed-size field of records, read where it lies, nothing else of them being looked at.

    Returns:
        (rows that have one, its values).
    """
    spec, frames = records.registry.by_name[name], records.frames
    size = np.dtype(dtype).itemsize
    versions = frames.version[rows]
    parts: list[tuple[I64, AnyArray]] = []
    for version in range(spec.versions.low, min(spec.versions.high, 127) + 1):
        distance = prefix_distance(spec, version, field_name)
        these = rows[versions == version]
        if distance is None or not len(these):
            continue
        at = frames.body[these] + distance
        fits = at + size <= frames.stop[these]
        if not fits.all():
            these, at = these[fits], at[fits]
        parts.append((these, frames.arena.gather(dtype, at)))
    if not parts:
        return rows[:0], np.empty(0, dtype=np.dtype(dtype).newbyteorder("="))
    if len(parts) == 1:
        return parts[0]
    together = np.concatenate([part[0] for part in parts])
    order = np.argsort(together, kind="stable")
    return together[order], np.concatenate([part[1] for part in parts])[order]
