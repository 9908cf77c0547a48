"""Records of a log with keys, decoded by what they are, and what is wrong with the others.

Values of coordinators' records that say more than their fields do, as kafka-dump-log has them.

The state of a transaction has its name. Messages of the consumer protocol stand in place of their
bytes.

The messages of the consumer protocol that clients put into the records of their groups.

The members of a classic group have a *subscription* and an *assignment* as bytes: an int16, the
version, and a message that is never flexible. A consumer group's member that speaks the classic
protocol has subscriptions, too. Any bytes may stand there: other protocols (``connect``) use the
same fields, and no coordinator refuses a record for them.

Clients and coordinators read a version above theirs as theirs, and refuse one below 0. A message is
shown of either, as kafka-dump-log shows those that it can read.

Source: org.apache.kafka.clients.consumer.internals.ConsumerProtocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import DecodeError
from metashell.log.frames import NO_NUMBER, is_keyed_control
from metashell.records.field_texts import FieldTexts
from metashell.records.flaws import TRANSACTION_STATES, Flaw
from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import FaultyRecord, LineForm, LinePieces, field_key
from metashell.records.messages import DecodedMessages
from metashell.schema.arena import I32, I64, Arena, Bools
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, FixedColumn, SpanColumn, merge_columns
from metashell.schema.coordinators import RecordType, data_message
from metashell.schema.decoding import decode
from metashell.schema.dump import fields_json, json_text
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.rows import to_rows
from metashell.schema.scalar import decode_prefix

SUBSCRIPTION: Final = "ConsumerProtocolSubscription"
ASSIGNMENT: Final = "ConsumerProtocolAssignment"

CONSUMER: Final = "consumer"
"""The protocol type of the groups whose members speak it."""

MEMBERS_RECORD: Final = "GroupMetadata"
"""The record type whose members hold both."""
PROTOCOLS_RECORD: Final = "ConsumerGroupMemberMetadata"
"""The record type whose classic protocols hold subscriptions."""
MEMBER_BYTES: Final = {"subscription": SUBSCRIPTION, "assignment": ASSIGNMENT}
"""Fields of a classic group's member that hold messages, and which."""


@dataclass(slots=True)
class NestedColumns:
    """Subscriptions or assignments as a coordinator reads them, an element each."""

    version: I32
    """int32: the version that is written; `NO_NUMBER` where there are no two bytes."""
    ok: Bools
    """Whether the bytes are such a message."""
    fields: Columns
    """Its fields; where it is none they hold their defaults."""


def nested_columns(
    arena: Arena, column: SpanColumn, name: str, fields: Collection[str] | None = None
) -> NestedColumns:
    """Decode the subscriptions or assignments in a column of bytes.

    Args:
        arena: Where the bytes lie.
        column: The bytes of each.
        name: `SUBSCRIPTION` or `ASSIGNMENT`.
        fields: Names of the fields wanted, None for all.
    """
    spec = data_message(name)
    starts, sizes = np.asarray(column.starts), np.asarray(column.counts).astype(np.int64)
    written = arena.gather(">i2", np.minimum(starts, arena.size)).astype(np.int32)
    version = np.where(sizes >= 2, written, NO_NUMBER).astype(np.int32)
    ok = (version >= spec.versions.low) & (version != NO_NUMBER)
    read_as = np.minimum(version, spec.versions.high)
    parts = []
    for each in range(spec.versions.low, spec.versions.high + 1):
        these = np.flatnonzero(ok & (read_as == each))
        if not these.size:
            continue
        begin, end = starts[these] + 2, starts[these] + sizes[these]
        columns = decode(arena, spec, each, begin, end, fields, trailing=True)
        ok[these] = columns.ok
        good = np.flatnonzero(columns.ok)
        parts.append((these[good], columns.take(good)))
    others = np.flatnonzero(~ok)
    if others.size or not parts:
        parts.append((others, default_columns(arena, spec, len(others), fields)))
    _, merged = merge_columns(parts)
    return NestedColumns(version, ok, merged)


@dataclass(frozen=True, slots=True)
class NestedMessage:
    """One subscription or assignment."""

    version: int | None
    """None where there are no two bytes."""
    data: dict[str, object] | None
    """Its fields as Kafka's JSON has them; None where the bytes are no such message."""
    error: str | None
    """Why they are none."""
    left: int
    """Bytes behind the message."""
    is_dumped: bool
    """Whether kafka-dump-log shows it in place of its bytes."""

    def to_json(self) -> dict[str, object]:
        """The message as JSON: its version, then its fields, or the reason why there are none."""
        out: dict[str, object] = {} if self.version is None else {"version": self.version}
        if self.data is None:
            return out | {"error": self.error}
        return out | {"data": self.data, "bytesLeft": self.left}


def decode_nested(name: str, raw: bytes) -> NestedMessage:
    """Decode one to show it.

    Args:
        name: `SUBSCRIPTION` or `ASSIGNMENT`.
        raw: Its bytes.
    """
    spec = data_message(name)
    if len(raw) < 2:
        return NestedMessage(None, None, f"{len(raw)} bytes, too few for a version", 0, False)
    version = int.from_bytes(raw[:2], "big", signed=True)
    # A version that nobody knows is taken for the nearest.
    nearest = min(max(version, spec.versions.low), spec.versions.high)
    try:
        fields, end = decode_prefix(spec, nearest, raw, 2)
    except DecodeError as e:
        return NestedMessage(version, None, e.message, 0, False)
    # Kafka's classes read the structs in a message by known versions only.
    has_structs = any(field.is_struct and fields[field.column_name] for field in spec.fields)
    is_dumped = version <= spec.versions.high or not has_structs
    data = fields_json(spec, nearest, fields)
    return NestedMessage(version, data, None, len(raw) - end, is_dumped)


def protocols_json(member: Mapping[str, object]) -> list[dict[str, object]]:
    """The subscriptions of a consumer group's member that speaks the classic protocol.

    Args:
        member: The field ``classic_member_metadata`` of its ConsumerGroupMemberMetadata value.
    """
    protocols = member["supported_protocols"]
    assert isinstance(protocols, Sequence)
    return [
        {"name": p["name"], "metadata": decode_nested(SUBSCRIPTION, p["metadata"]).to_json()}
        for p in protocols
    ]


_TRANSACTION_RECORD: Final = "TransactionLog"
"""The record type whose value has the number of a transaction's state."""
HOLDS_MESSAGES: Final = frozenset({MEMBERS_RECORD, PROTOCOLS_RECORD})
"""Record types whose values hold messages of the consumer protocol."""


def dumped(
    record_type: RecordType, version: int, fields: Mapping[str, object]
) -> dict[str, object]:
    """The fields of such a value as kafka-dump-log prints them."""
    data = fields_json(record_type.value, version, fields)
    status = status_field(record_type, version)
    if status is not None:
        number = fields[status.column_name]
        assert isinstance(number, int)
        is_known = 0 <= number < len(TRANSACTION_STATES)
        data[status.json_name] = TRANSACTION_STATES[number] if is_known else str(number)
    if record_type.name == MEMBERS_RECORD and fields.get("protocol_type") == CONSUMER:
        _show_nested(fields["members"], data["members"], MEMBER_BYTES)
    return data


def status_field(record_type: RecordType | None, version: int) -> FieldSpec | None:
    """The field of a value that has the number of a transaction's state, if there is one."""
    if record_type is None or record_type.name != _TRANSACTION_RECORD:
        return None
    found = (f for f in record_type.value.fields if f.json_name == "transactionStatus")
    field = next(found, None)
    # A user's definition may say something else.
    if field is None or field.type != "int8" or version not in field.versions:
        return None
    return None if field.is_array or version in field.tagged else field


@dataclass(frozen=True, slots=True)
class DumpedValues:
    """Some values of a type and version that say more than their fields do."""

    type: RecordType
    version: int
    columns: Columns

    def add_to(self, texts: LinePieces, form: LineForm) -> bool:
        """Add them to lines."""
        status = status_field(self.type, self.version)
        if status is None:
            return texts.each(partial(self._texts, form))
        spec, at = self.type.value, self.type.value.fields.index(status)
        parts = (replace(spec, fields=part) for part in (spec.fields[:at], spec.fields[at + 1 :]))
        if not texts.fields(next(parts), self.version, self.columns):
            return False
        names = form.strings(TRANSACTION_STATES)
        numbers = self.columns.fixed(status.column_name).astype(np.int64)
        texts.choice(
            field_key(status.json_name, is_bare=form.is_bare), names, numbers, is_of_line=False
        )
        return texts.fields(next(parts), self.version, self.columns)

    def add_beside(self, texts: LinePieces) -> bool:
        """Add what members say in the classic protocol."""
        return self.type.name != PROTOCOLS_RECORD or texts.each(self._protocols)

    def _texts(self, form: LineForm) -> list[str]:
        found = []
        for fields in to_rows(self.columns):
            data = dumped(self.type, self.version, fields)
            member, shown = fields.get("classic_member_metadata"), data.get("classicMemberMetadata")
            if form.is_bare and isinstance(member, Mapping) and isinstance(shown, dict):
                protocols = member["supported_protocols"], shown["supportedProtocols"]
                _show_nested(*protocols, {"metadata": SUBSCRIPTION})
            found.append(form.of_object(data))
        return found

    def _protocols(self) -> list[str]:
        members = (fields.get("classic_member_metadata") for fields in to_rows(self.columns))
        return [
            f',"classicProtocolsDecoded":{json_text(protocols_json(member))}'
            if isinstance(member, Mapping)
            else ""
            for member in members
        ]


def dumped_values(kind: RecordType, version: int, columns: Columns) -> DumpedValues | None:
    """Values of a type, if they say more than their fields do."""
    says_more = kind.name in HOLDS_MESSAGES or status_field(kind, version) is not None
    return DumpedValues(kind, version, columns) if says_more and version != NO_NUMBER else None


def _show_nested(structs: object, shown: object, messages: Mapping[str, str]) -> None:
    """Put messages in place of their bytes, where kafka-dump-log can read them.

    Args:
        structs: Structs with fields of bytes.
        shown: The structs as JSON.
        messages: The message in each of those fields.
    """
    assert isinstance(structs, list)
    assert isinstance(shown, list)
    for struct, said in zip(structs, shown, strict=True):
        for part, message in messages.items():
            found = decode_nested(message, struct[part])
            if found.is_dumped:
                said[part] = found.data


_VALUE_IS_SOUND: Final = frozenset(
    {Flaw.UNKNOWN_STATE, Flaw.NO_PARTITIONS, Flaw.UNKNOWN_TRANSACTION_VERSION}
)
"""Flaws of records whose values can be read."""
_KEY_IS_SOUND: Final = _VALUE_IS_SOUND | {
    Flaw.SHORT_VALUE,
    Flaw.UNKNOWN_VERSION,
    Flaw.BAD_VALUE,
    Flaw.NO_VALUE,
}
"""Flaws of records whose keys can be read."""


def keyed_messages(
    records: KeyedRecords,
    rows: I64,
    number: int,
    version: int,
    is_wanted: Callable[[MessageSpec], bool],
) -> tuple[I64, DecodedMessages] | None:
    """The rows whose records, all of one type and version, decode, and their messages."""
    kind = records.types.by_number.get(number)
    if is_keyed_control(number):
        # A marker is read so whatever its version says.
        spec, n = data_message("EndTxnMarker"), len(rows)
        fields = {"coordinator_epoch": FixedColumn(records.frames.coordinator_epochs(rows))}
        columns = Columns(spec.fields, n, np.ones(n, dtype=np.bool_), fields)
        return rows, DecodedMessages(records.type_name(number) or "", rows, spec, 0, columns, True)
    if kind is None or not (is_wanted(kind.key) and is_wanted(kind.value)):
        return None
    found = records.decode(kind.name, rows)
    return found.rows, DecodedMessages(
        kind.type_name,
        found.rows,
        kind.value,
        version,
        found.value,
        type=kind,
        key=found.key,
        more=dumped_values(kind, version, found.value),
    )


def keyed_fault(
    records: KeyedRecords, row: int, fields: FieldTexts, raw: Callable[[bytes], str]
) -> FaultyRecord:
    """A record that can't be read.

    Args:
        records: The records of a file, whose flaws are known.
        row: Which.
        fields: Writes what can be read of it.
        raw: Writes bytes.
    """
    at, frames, flaw = np.array([row]), records.frames, records.flaw(row)
    number, version = int(frames.api_key[row]), int(frames.version[row])
    (key,), (value,) = frames.keys(at), frames.values(at)
    key_text = value_text = None
    if flaw in _KEY_IS_SOUND:
        kind = records.types.by_number[number]
        keys = records.keys_of(kind, at)
        (key_text,) = fields.texts(kind.key, kind.key.versions.low, keys)
        key_text = key_text[1:]
        if flaw in _VALUE_IS_SOUND and value is not None:
            of_value, _ = decode_prefix(kind.value, version, value[2:])
            value_text = fields.form.of_object(dumped(kind, version, of_value))[1:]
    return FaultyRecord(
        name=None if number == NO_NUMBER else records.types.type_name(number),
        number=None if number == NO_NUMBER else number,
        version=None if version == NO_NUMBER else version,
        reason=records.reason(row),
        raw=None if value is None else raw(value),
        verdict=str(records.verdict(row)),
        raw_key=None if key is None else raw(key),
        key=key_text,
        value=value_text,
    )
