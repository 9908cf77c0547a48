"""The usage of a metadata log's files: bytes and records, grouped.

Files are read one at a time, so that memory is bounded by the largest. A record's bytes are those
of its value, like ``valueSize`` of kafka-dump-log. In a compressed batch the inflated value counts.

Names in records are gathered as numbers and grouped by them. The names come in where rows are made.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np

from metashell.answers.usage.usage import (
    FileUsage,
    Usage,
    UsageRow,
    known_time,
    ranks_of,
    usage_of_file,
)
from metashell.log.chain import Chain
from metashell.log.frames import CONTROL_KEY, HEADER, value_spans
from metashell.log.names import CheckpointName, parse_name
from metashell.log.read import Loaded, LogFile, load
from metashell.places.place import FileRef
from metashell.records.density import NO_OP
from metashell.records.records import Records
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns
from metashell.schema.id_table import hash_ids, id_pairs
from metashell.schema.model import MessageSpec, Registry
from metashell.schema.resource_types import ResourceType
from metashell.schema.uuids import uuid_text

NO_TOPIC: Final = "(no topic)"
"""Name of the row of the records that are about no topic."""

_NONE: Final = -1
"""Key of the records that are about no topic."""
_CONFIGS: Final = -2
"""Configs name their topic: the topic of number i has the key ``_CONFIGS - i``."""
_FENCING: Final = ("FenceBrokerRecord", "UnfenceBrokerRecord")
_FIELDS: Final = frozenset(
    {
        *("TopicId", "PartitionId", "Name", "Leader", "Isr"),
        *("BrokerId", "Id", "ResourceType", "ResourceName"),
    }
)
"""Fields that records are grouped by, of the types that have them."""


class MetadataUsage(Usage):
    """The usage of a metadata log by now.

    Args:
        registry: Message definitions.
        wanted: The groupings. A metadata log also has ``topic``, ``partition`` and ``broker``.
            Changes are those of the leader and of the ISR: PartitionChangeRecords that name one, or
            that name a broker in it.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(
        self, registry: Registry, wanted: Collection[str], n_batches: int | None = 0
    ) -> None:
        super().__init__(wanted, n_batches)
        self._registry = registry
        self._id_numbers: dict[bytes, int] = {}
        self._ids: list[bytes] = []
        self._names: dict[int, str] = {}
        self._config_names: dict[str, int] = {}
        self._decoded: dict[str, tuple[I64, Columns]] = {}

    def marks(self, by: str) -> tuple[str, ...]:
        return ("leader_changes", "isr_changes") if by in ("partition", "broker") else ()

    @property
    def totals(self) -> dict[str, int]:
        n_bytes, n_records = self.tallies["type"].amounts(NO_OP)
        return {"no_op_records": n_records, "no_op_bytes": n_bytes}

    def count(self, path: FileRef) -> None:
        """Count a file.

        Raises:
            VanishedError: It is gone.
            SourceError: It can't be read.
        """
        loaded = load([path])
        records = Records(loaded, self._registry)
        frames = records.frames
        start = frames.start[:]
        value, stop = value_spans(frames.arena, start, np.full_like(start, frames.arena.size))
        # A value with a false length is cut off at the end of its record, like in frames.
        sizes = np.maximum(np.minimum(stop, frames.stop[:]) - value, 0)
        file = _describe(loaded, self._registry)
        file.records = len(frames)
        file.faults = [*loaded.faults, *records.faults]
        self.files.append(file)
        self._add_records(frames, sizes)
        if self.tallies.keys() & {"topic", "partition"}:
            self._count_topics(records, sizes)
        if "broker" in self.tallies:
            self._count_brokers(records, sizes)
        self._decoded.clear()
        self._keep_largest(frames, loaded)

    # Topics and partitions.

    def _count_topics(self, records: Records, sizes: I64) -> None:
        topic = np.full(len(records.frames), _NONE, dtype=np.int64)
        for spec in self._with_field("TopicId", "uuid"):
            rows, columns = self._decode(records, spec)
            numbers = self._number(columns.fixed("topic_id"))
            topic[rows] = numbers
            if spec.name == "TopicRecord":
                self._names.update(zip(numbers.tolist(), columns.span("name").texts(), strict=True))
            if "partition" in self.tallies and _has(spec, "PartitionId", "int32"):
                self._count_partitions(spec, numbers, columns, sizes[rows])
        if "topic" in self.tallies:
            rows, names = self._configs(records, ResourceType.TOPIC)
            topic[rows] = [
                _CONFIGS - self._config_names.setdefault(name, len(self._config_names))
                for name in names
            ]
            self.tallies["topic"].add(topic, sizes)

    def _count_partitions(
        self, spec: MessageSpec, numbers: I64, columns: Columns, sizes: I64
    ) -> None:
        keys = _pairs(numbers, columns.fixed("partition_id"))
        marks: list[Bools] = []
        if spec.name == "PartitionChangeRecord":
            marks = [columns.fixed("leader") != -2, columns.span("isr").counts >= 0]
        self.tallies["partition"].add(keys, sizes, *marks)

    def _decode(self, records: Records, spec: MessageSpec) -> tuple[I64, Columns]:
        """Decode what of a type is counted by, once a file."""
        if spec.name not in self._decoded:
            fields = [f.column_name for f in spec.fields if f.name in _FIELDS]
            self._decoded[spec.name] = records.decode(spec.name, _rows_of(records, spec), fields)
        return self._decoded[spec.name]

    def _number(self, ids: AnyArray) -> I64:
        """A number for each topic id, the same in every file."""
        if not len(ids):
            return np.empty(0, dtype=np.int64)
        _, first, inverse = np.unique(hash_ids(ids), return_index=True, return_inverse=True)
        distinct = ids[first]
        if (id_pairs(distinct)[inverse] != id_pairs(ids)).any():
            # Two ids of one hash, by a chance of nearly none: as pairs, which takes longer.
            distinct, inverse = np.unique(id_pairs(ids), axis=0, return_inverse=True)
            distinct, inverse = distinct.view("V16").ravel(), inverse.ravel()
        known = self._id_numbers
        numbers = [known.setdefault(raw, len(known)) for raw in distinct.tolist()]
        return np.array(numbers, dtype=np.int64)[inverse]

    def _configs(self, records: Records, resource_type: int) -> tuple[I64, list[str]]:
        """Rows of the ConfigRecords of a type of resource, and the names of their resources."""
        rows, columns = self._decode(records, self._registry.by_name["ConfigRecord"])
        these = np.flatnonzero(columns.fixed("resource_type") == resource_type)
        return rows[these], columns.span("resource_name").take(these).texts()

    @property
    def has_unnamed(self) -> bool:
        """Whether a topic id was met whose name is not known."""
        return len(self._names) < len(self._id_numbers)

    def learn_names(self, records: Records) -> None:
        """Take the names of unnamed topics from TopicRecords that are not counted."""
        spec = self._registry.by_name["TopicRecord"]
        _, columns = records.decode(spec.name, _rows_of(records, spec), ["topic_id", "name"])
        ids = columns.fixed("topic_id").tolist()
        for raw, name in zip(ids, columns.span("name").texts(), strict=True):
            number = self._id_numbers.get(raw)
            if number is not None:
                self._names.setdefault(number, name)

    # Brokers.

    def _count_brokers(self, records: Records, sizes: I64) -> None:
        """Count a record once for each broker that it names."""
        by_name, tally = self._registry.by_name, self.tallies["broker"]
        for spec in self._with_field("BrokerId", "int32"):
            rows, columns = self._decode(records, spec)
            tally.add(columns.fixed("broker_id"), sizes[rows])
        for name in _FENCING:
            rows, columns = self._decode(records, by_name[name])
            tally.add(columns.fixed("id"), sizes[rows])
        rows, names = self._configs(records, ResourceType.BROKER)
        ids = np.array([_broker_id(name) for name in names], dtype=np.int64)
        tally.add(ids[ids >= 0], sizes[rows[ids >= 0]])
        for name in ("PartitionRecord", "PartitionChangeRecord"):
            rows, columns = self._decode(records, by_name[name])
            leader, of_rows = columns.fixed("leader"), sizes[rows]
            members, bounds = columns.span("isr").gather()
            member_of = np.repeat(np.arange(len(rows)), np.diff(bounds))
            outside = leader >= 0
            outside[member_of[members == leader[member_of]]] = False
            of = np.append(member_of, np.flatnonzero(outside))
            brokers = np.append(members, leader[outside])
            is_change = np.full(len(of), name == "PartitionChangeRecord")
            in_isr = np.arange(len(of)) < len(members)
            leads = (brokers == leader[of]) & (brokers >= 0)
            tally.add(brokers, of_rows[of], is_change & leads, is_change & in_isr)

    def _with_field(self, name: str, kind: str) -> Iterable[MessageSpec]:
        """Record types that have such a field, a vendor's among them."""
        for spec in self._registry.metadata.values():
            if _has(spec, name, kind):
                yield spec

    # The rows.

    def _ranks(self, by: str, keys: I64) -> I64:
        if by != "partition":
            return super()._ranks(by, keys)
        of_topic = ranks_of(["\0".join(self._label(i)) for i in range(len(self._id_numbers))])
        # In the low half the sign of a partition is a bit among others.
        return _pairs(of_topic[keys >> 32], keys) ^ (1 << 31)

    def _named(self, by: str, key: int) -> tuple[str, Mapping[str, object]]:
        if by == "broker":
            return str(key), {"broker": key}
        if by != "partition":
            return super()._named(by, key)
        number, low = key >> 32, key & 0xFFFFFFFF
        partition = low - (1 << 32) if low >> 31 else low
        topic, topic_id = self._label(number)
        columns = {"topic": topic, "partition": partition, "topic_id": topic_id}
        return f"{topic}-{partition}", columns

    def _label(self, number: int) -> tuple[str, str]:
        """(name of a topic, its id where nothing names it; its id)."""
        if len(self._ids) != len(self._id_numbers):
            self._ids = list(self._id_numbers)
        text = uuid_text(self._ids[number])
        return self._names.get(number, text), text

    def _listed(self, by: str) -> list[UsageRow] | None:
        if by != "topic":
            return super()._listed(by)
        # Topics that had one name are one row with its configs, which know no ids.
        found: dict[str | None, tuple[int, int, tuple[str, ...]]] = {}
        config_names = list(self._config_names)
        for key, n_bytes, n_records in self.tallies["topic"].by_key():
            name: str | None = None
            ids: tuple[str, ...] = ()
            if key <= _CONFIGS:
                name = config_names[_CONFIGS - key]
            elif key != _NONE:
                name, topic_id = self._label(key)
                ids = (topic_id,)
            before = found.get(name, (0, 0, ()))
            found[name] = (before[0] + n_bytes, before[1] + n_records, before[2] + ids)
        return [
            UsageRow(
                NO_TOPIC if name is None else name,
                n_bytes,
                n_records,
                {by: name, "topic_ids": ids},
                {},
            )
            for name, (n_bytes, n_records, ids) in found.items()
        ]

    def type_name(self, key: int) -> str:
        """Name of the record type that stands behind an api key of frames."""
        if key <= CONTROL_KEY:
            spec = self._registry.control.get(CONTROL_KEY - key)
            return f"CONTROL({CONTROL_KEY - key})" if spec is None else spec.type_name
        return "(no record)" if key < 0 else self._registry.type_name(key)


def describe(path: FileRef, registry: Registry) -> FileUsage:
    """Look at a file without counting it: nothing but batch headers is read of it.

    Raises:
        VanishedError: It is gone.
        SourceError: It can't be read.
    """
    loaded = load([path])
    file = _describe(loaded, registry)
    file.faults = loaded.faults
    return file


def _describe(loaded: Loaded, registry: Registry) -> FileUsage:
    (read,) = loaded.files
    positions = np.frombuffer(read.chain.positions, dtype=np.int64)
    raw = np.ndarray(
        shape=(max(loaded.size - HEADER.itemsize + 1, 0),),
        dtype=f"V{HEADER.itemsize}",
        buffer=loaded.buffer,
        strides=(1,),
    )
    parsed = parse_name(read.name)
    file = usage_of_file(read, raw[positions].view(HEADER))
    if isinstance(parsed, CheckpointName):
        file.last_offset = parsed.end_offset - 1 if parsed.end_offset else None
        file.last_epoch = parsed.epoch
        file.last_ms = _last_contained_ms(loaded, registry)
    return file


def _last_contained_ms(loaded: Loaded, registry: Registry) -> int | None:
    """The time of the last record that a checkpoint includes, from its first batch."""
    (read,) = loaded.files
    first = LogFile(read.name, read.start, read.size, Chain(array("q", read.chain.positions[:1])))
    records = Records(Loaded(loaded.buffer, loaded.size, [first]), registry)
    spec = registry.by_name["SnapshotHeaderRecord"]
    _, columns = records.decode(
        spec.name, _rows_of(records, spec), ["last_contained_log_timestamp"]
    )
    if not columns.n:
        return None
    return known_time(int(columns.fixed("last_contained_log_timestamp")[0]))


def _rows_of(records: Records, spec: MessageSpec) -> I64:
    """Every row of a message, whether it counts in the image or not."""
    control = spec.control_type
    key = CONTROL_KEY - control if control is not None else spec.api_key
    return np.flatnonzero(records.frames.api_key.narrow == key)


def _pairs(numbers: I64, low: AnyArray) -> I64:
    """Two numbers as one: the second, an int32, in the low half."""
    pairs: I64 = numbers << 32 | low.astype(np.uint32).astype(np.int64)
    return pairs


def _has(spec: MessageSpec, name: str, kind: str) -> bool:
    """Whether a message has a field of that name that is one value of that type."""
    return any(f.name == name and f.type == kind and not f.is_array for f in spec.fields)


def _broker_id(name: str) -> int:
    """The broker that a config's resource name is; -1 for the cluster's default, or nonsense."""
    return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else -1
