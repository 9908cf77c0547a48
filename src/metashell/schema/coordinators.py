"""The record types of the coordinators' logs, by log and by number.

A coordinator's record has a key and a value. The key is an int16, the record's *type*, and a
message that is never flexible; the value is an int16, its *version*, and a message. No value is a
tombstone. ``coordinator_messages/`` has the definitions, a folder a log. ``data`` has the messages
inside or beside their records. These files are read only when a coordinator's log is.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde, and the generated
CoordinatorRecordType of each coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.schema.model import (
    COORDINATOR_KEY,
    MessageSpec,
    parse_message,
    read_definitions,
    snake_case,
)
from metashell.shipped import shipped


class CoordinatorLog(StrEnum):
    """A topic whose partitions are coordinators' logs; the value is the topic's name."""

    GROUPS = "__consumer_offsets"
    TRANSACTIONS = "__transaction_state"
    SHARE = "__share_group_state"


_FOLDERS: Final[Mapping[CoordinatorLog, str]] = {
    CoordinatorLog.GROUPS: "group",
    CoordinatorLog.TRANSACTIONS: "transaction",
    CoordinatorLog.SHARE: "share",
}


@dataclass(frozen=True)
class RecordType:
    """A type of a coordinator's records."""

    number: int
    """The int16 that the key begins with."""
    name: str
    """Such as ``OffsetCommit``: the definitions' names are this and ``Key`` or ``Value``."""
    key: MessageSpec
    value: MessageSpec

    @cached_property
    def type_name(self) -> str:
        """The name as Kafka's CoordinatorRecordType has it: ``OFFSET_COMMIT``."""
        return snake_case(self.name).upper()


class RecordTypes:
    """The types of one log's records, by number and by name."""

    def __init__(self, log: CoordinatorLog, types: Iterable[RecordType]) -> None:
        self.log = log
        self.by_number: dict[int, RecordType] = {}
        """By what keys begin with."""
        self.by_name: dict[str, RecordType] = {}
        """By name, such as ``OffsetCommit``."""
        for record_type in sorted(types, key=lambda t: t.number):
            self.by_number[record_type.number] = record_type
            self.by_name[record_type.name] = record_type

    def type_name(self, number: int) -> str:
        """Name a type as Kafka does; ``UNKNOWN(99)`` for numbers without a definition."""
        known = self.by_number.get(number)
        return known.type_name if known is not None else f"UNKNOWN({number})"


def coordinator_log(topic: str) -> CoordinatorLog | None:
    """Which coordinator writes a topic, or None for every other topic."""
    try:
        return CoordinatorLog(topic)
    except ValueError:
        return None


def load_record_types(log: CoordinatorLog, extra: Iterable[Path] = ()) -> RecordTypes:
    """Read our definitions of a log's records, then those of the directories given.

    A user's definition replaces ours of the same name or number. Kafka's definitions do not say of
    which log they are: one with a name that no log of ours has is of ``__consumer_offsets``.

    Raises:
        SchemaError: A file is no definition, or a key has no value or the reverse.
    """
    halves: dict[tuple[int, bool], MessageSpec] = {}
    for spec in (*builtin_definitions(log), *_users(log, extra)):
        halves[_number_of(spec), spec.kind == COORDINATOR_KEY] = spec
    types = []
    for number in {number for number, _ in halves}:
        key, value = halves.get((number, True)), halves.get((number, False))
        if key is None or value is None:
            there, missing = (value, "key") if key is None else (key, "value")
            assert there is not None
            raise SchemaError(f"{there.name}: type {number} of {log} has no {missing} definition")
        types.append(RecordType(number, key.name.removesuffix("Key"), key, value))
    return RecordTypes(log, types)


@cache
def data_message(name: str) -> MessageSpec:
    """Read the definition of what stands inside or beside coordinators' records.

    Args:
        name: ``ConsumerProtocolSubscription``, ``ConsumerProtocolAssignment``, ``EndTxnMarker`` or
            ``ProducerSnapshot``.
    """
    path = shipped(__file__, "coordinator_messages") / "data" / f"{name}.json"
    return parse_message(path.read_text(encoding="utf-8"), where=f"{name}.json")


@cache
def builtin_definitions(log: CoordinatorLog) -> tuple[MessageSpec, ...]:
    """Read Kafka's own definitions of a log's records, once per process."""
    return tuple(read_definitions(shipped(__file__, "coordinator_messages") / _FOLDERS[log]))


def _users(log: CoordinatorLog, extra: Iterable[Path]) -> Iterable[MessageSpec]:
    specs = [spec for path in extra for spec in read_definitions(path) if spec.of_coordinator]
    if not specs:
        return ()
    log_of = {spec.name: each for each in CoordinatorLog for spec in builtin_definitions(each)}
    return [spec for spec in specs if log_of.get(spec.name, CoordinatorLog.GROUPS) is log]


def _number_of(spec: MessageSpec) -> int:
    if spec.api_key is None:
        raise SchemaError(f"{spec.name}: no apiKey")
    return spec.api_key
