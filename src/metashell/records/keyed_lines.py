"""Records of a coordinator's log as lines: JSON, or one that reads well.

A record's key and value are shown as Kafka's own JSON has them. The texts of a block are built by
type and version, as those of a metadata log are (`metashell.records.lines`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from metashell.log.control import control_type_name
from metashell.log.frames import NO_NUMBER
from metashell.log.layout import TRANSACTIONAL
from metashell.records.consumer_protocol import (
    CONSUMER,
    MEMBER_BYTES,
    MEMBERS_RECORD,
    PROTOCOLS_RECORD,
    SUBSCRIPTION,
    decode_nested,
    protocols_json,
)
from metashell.records.filter import TopicNames
from metashell.records.flaws import Flaw
from metashell.records.json_values import JsonValues
from metashell.records.keyed_records import TRANSACTION_STATES, KeyedColumns, KeyedRecords
from metashell.records.lines import ReadableLines
from metashell.redact import Redaction, hidden_bytes
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import fields_json, json_text
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.registry import Registry
from metashell.schema.rows import to_rows
from metashell.schema.scalar import decode_prefix
from metashell.schema.timestamps import iso_time

_KEY_IS_SOUND: Final = frozenset(
    {
        Flaw.SHORT_VALUE,
        Flaw.UNKNOWN_VERSION,
        Flaw.BAD_VALUE,
        Flaw.NO_VALUE,
        Flaw.UNKNOWN_STATE,
        Flaw.NO_PARTITIONS,
        Flaw.UNKNOWN_TRANSACTION_VERSION,
    }
)
"""What may be wrong with a record whose key can be read."""
_VALUE_IS_SOUND: Final = frozenset(
    {Flaw.UNKNOWN_STATE, Flaw.NO_PARTITIONS, Flaw.UNKNOWN_TRANSACTION_VERSION}
)
"""What may be wrong with a record whose value can be read, too."""

_TRANSACTION_RECORD: Final = "TransactionLog"
"""The record type whose value has the number of a transaction's state."""
TOLD_APART: Final = frozenset({MEMBERS_RECORD, PROTOCOLS_RECORD, _TRANSACTION_RECORD})
"""Record types whose values say more than their fields do."""


class KeyedLineWriter(ABC):
    """Writes the lines of records; one for a whole log.

    Args:
        redaction: What may be shown.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def lines(self, records: KeyedRecords, rows: I64) -> Sequence[str]:
        """The line of each row, without its end. Rows ascend."""
        bodies: dict[int, str] = {}
        numbers = records.frames.api_key[rows]
        for number in np.unique(numbers).tolist():
            record_type = records.types.by_number.get(number)
            if record_type is not None:
                columns = records.decode(record_type.name, rows[numbers == number])
                texts = self._sound(records, record_type, columns)
                bodies.update(zip(columns.rows.tolist(), texts, strict=True))
        control = rows[records.frames.is_control[rows]]
        kinds = records.frames.control_types(control).tolist()
        epochs = records.frames.coordinator_epochs(control).tolist()
        for row, kind, epoch in zip(control.tolist(), kinds, epochs, strict=True):
            bodies[row] = self._control(control_type_name(kind), epoch)
        for row in rows.tolist():
            if row not in bodies:
                bodies[row] = self._at_fault(records, row)
        return self._with_heads(records, rows, [bodies[row] for row in rows.tolist()])

    def _sound(
        self, records: KeyedRecords, record_type: RecordType, columns: KeyedColumns
    ) -> list[str]:
        """The bodies of sound records of a type."""
        keys = self._texts(record_type.key, record_type.key.versions.low, columns.key)
        versions = records.frames.version[columns.rows]
        versions = np.where(columns.is_tombstone, NO_NUMBER, versions)
        bodies = [""] * len(columns)
        for version in np.unique(versions).tolist():
            at = np.flatnonzero(versions == version)
            if version == NO_NUMBER:
                values: Sequence[tuple[str | None, str]] = [(None, "")] * len(at)
            else:
                whole = len(at) == len(columns)
                value = columns.value if whole else columns.value.take(at)
                values = self._values(record_type, version, value)
            for i, (text, more) in zip(at.tolist(), values, strict=True):
                bodies[i] = self._body(record_type, keys[i], version, text, more)
        return bodies

    def _values(
        self, record_type: RecordType, version: int, value: Columns
    ) -> Sequence[tuple[str, str]]:
        """Texts of values, and what is said beside them of the bytes in them."""
        if record_type.name not in TOLD_APART:
            return [(text, "") for text in self._texts(record_type.value, version, value)]
        return [self._told_apart(record_type, version, fields) for fields in to_rows(value)]

    def _at_fault(self, records: KeyedRecords, row: int) -> str:
        """The body of a record at fault."""
        at = np.array([row])
        frames = records.frames
        number, version = int(frames.api_key[row]), int(frames.version[row])
        _ = records.flaws()
        (key,), (value,) = frames.keys(at), frames.values(at)
        key_text = value_text = None
        if (flaw := records.flaw(row)) in _KEY_IS_SOUND:
            record_type = records.types.by_number[number]
            spec = record_type.key
            (key_text,) = self._texts(spec, spec.versions.low, records.keys_of(record_type, at))
            if flaw in _VALUE_IS_SOUND and value is not None:
                fields, _ = decode_prefix(record_type.value, version, value[2:])
                value_text, _ = self._told_apart(record_type, version, fields)
        name = None if number == NO_NUMBER else records.types.type_name(number)
        position = records.batch_position(row)
        parts = {
            "type": None if number == NO_NUMBER else number,
            "version": None if version == NO_NUMBER else version,
            "key": None if key is None else self._raw(key, position),
            "value": None if value is None else self._raw(value, position),
        }
        texts = key_text, value_text
        return self._fault(name, texts, parts, records.reason(row), records.verdict(row))

    def _raw(self, data: bytes, position: int) -> str:
        if self._redaction.hides_raw(None, None):
            return hidden_bytes(None, data, position)
        return data.hex()

    # What the two forms of lines differ in.

    @abstractmethod
    def _texts(self, spec: MessageSpec, version: int, columns: Columns) -> list[str]:
        """The fields of each message."""

    @abstractmethod
    def _told_apart(
        self, record_type: RecordType, version: int, fields: Mapping[str, object]
    ) -> tuple[str, str]:
        """The fields of a value of `TOLD_APART`, and what is said beside them."""

    @abstractmethod
    def _body(
        self, record_type: RecordType, key: str, version: int, value: str | None, more: str
    ) -> str:
        """What stands behind a sound record's place; the value is None for a tombstone."""

    @abstractmethod
    def _control(self, name: str, coordinator_epoch: int) -> str:
        """The same of a control record."""

    @abstractmethod
    def _fault(
        self,
        name: str | None,
        texts: tuple[str | None, str | None],
        parts: Mapping[str, int | str | None],
        reason: str,
        verdict: str,
    ) -> str:
        """The same of a record at fault.

        Args:
            name: Of its type.
            texts: The fields of its key and of its value, None where they can't be read.
            parts: Its numbers, and its bytes as text.
            reason: What is wrong.
            verdict: What a broker does with it.
        """

    @abstractmethod
    def _with_heads(self, records: KeyedRecords, rows: I64, bodies: list[str]) -> list[str]:
        """Whole lines."""


class KeyedJsonLines(KeyedLineWriter):
    """JSON lines: the batch's fields, ``type``, ``key`` and ``value``.

    ``key`` has ``type``, a number, and ``data``. ``value`` has ``version`` and ``data``, or is
    null. Both ``data`` are kafka-dump-log's. A record at fault has ``error``, in ``broker`` what a
    broker does with it, and ``raw`` where ``data`` can't be read.
    """

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction)
        self._data = JsonValues(Registry(()), redaction)

    def _texts(self, spec: MessageSpec, version: int, columns: Columns) -> list[str]:
        return self._data.texts(spec, version, columns)

    def _told_apart(
        self, record_type: RecordType, version: int, fields: Mapping[str, object]
    ) -> tuple[str, str]:
        text = json_text(_dumped(record_type, version, fields))
        member = fields.get("classic_member_metadata")
        if record_type.name != PROTOCOLS_RECORD or not isinstance(member, Mapping):
            return text, ""
        return text, f',"classicProtocolsDecoded":{json_text(protocols_json(member))}'

    def _body(
        self, record_type: RecordType, key: str, version: int, value: str | None, more: str
    ) -> str:
        shown = "null" if value is None else f'{{"version":{version},"data":{value}}}'
        number = record_type.number
        head = f'"type":"{record_type.type_name}","key":{{"type":{number},"data":{key}}}'
        return f'{head},"value":{shown}{more}'

    def _control(self, name: str, coordinator_epoch: int) -> str:
        return f'"control":{json_text(name)},"data":{{"coordinatorEpoch":{coordinator_epoch}}}'

    def _fault(
        self,
        name: str | None,
        texts: tuple[str | None, str | None],
        parts: Mapping[str, int | str | None],
        reason: str,
        verdict: str,
    ) -> str:
        key, value = texts
        shown_key = f'"data":{key}' if key is not None else f'"raw":{json_text(parts["key"])}'
        shown = f'"data":{value}' if value is not None else f'"raw":{json_text(parts["value"])}'
        number, version = json_text(parts["type"]), json_text(parts["version"])
        key_text, value_text = f'{{"type":{number},{shown_key}}}', "null"
        if parts["key"] is None:
            key_text = "null"
        if parts["value"] is not None:
            value_text = f'{{"version":{version},{shown}}}'
        head = "" if name is None else f'"type":{json_text(name)},'
        tail = f'"error":{json_text(reason)},"broker":{json_text(str(verdict))}'
        return f'{head}"key":{key_text},"value":{value_text},{tail}'

    def _with_heads(self, records: KeyedRecords, rows: I64, bodies: list[str]) -> list[str]:
        frames, header = records.frames, records.frames.batches.header[records.frames.batch[rows]]
        starts = np.array([file.start for file in records.loaded.files], dtype=np.int64)
        files = frames.batches.file[frames.batch[rows]]
        names = [json_text(file.name) for file in records.loaded.files]
        transactional = header["attributes"] & TRANSACTIONAL != 0
        columns = (
            files,
            frames.batches.pos[frames.batch[rows]] - starts[files],
            frames.offset[rows],
            frames.timestamps(rows),
            header["epoch"],
            header["producer_id"],
            header["producer_epoch"],
            frames.sequences(rows),
            transactional,
        )
        places = zip(*(column.tolist() for column in columns), bodies, strict=True)
        return [
            f'{{"file":{names[f]},"pos":{p},"offset":{o},"timestamp":{t},"epoch":{e},'
            f'"producerId":{i},"producerEpoch":{n},"sequence":{s},'
            f'"transactional":{"true" if x else "false"},{body}}}'
            for f, p, o, t, e, i, n, s, x, body in places
        ]


class KeyedReadableLines(KeyedLineWriter):
    """Lines to be read: place, type, the fields of the key, ``->`` and those of the value."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction)
        self._data = _ReadableValues(Registry(()), TopicNames(), redaction)
        self._time = lru_cache(maxsize=1024)(iso_time)

    def _texts(self, spec: MessageSpec, version: int, columns: Columns) -> list[str]:
        return self._data.texts(spec, version, columns)

    def _told_apart(
        self, record_type: RecordType, version: int, fields: Mapping[str, object]
    ) -> tuple[str, str]:
        data = _dumped(record_type, version, fields)
        member, shown = fields.get("classic_member_metadata"), data.get("classicMemberMetadata")
        if isinstance(member, Mapping) and isinstance(shown, dict):
            protocols = member["supported_protocols"], shown["supportedProtocols"]
            _show_nested(*protocols, {"metadata": SUBSCRIPTION})
        return self._data.of_fields(data), ""

    def _body(
        self, record_type: RecordType, key: str, version: int, value: str | None, more: str
    ) -> str:
        return f"{record_type.type_name} {key} -> {'null' if value is None else value}"

    def _control(self, name: str, coordinator_epoch: int) -> str:
        return f"{name} coordinatorEpoch={coordinator_epoch}"

    def _fault(
        self,
        name: str | None,
        texts: tuple[str | None, str | None],
        parts: Mapping[str, int | str | None],
        reason: str,
        verdict: str,
    ) -> str:
        quoted = self._data.quoted
        key, value_text = texts
        shown = "null" if parts["key"] is None else f"raw={quoted(str(parts['key']))}"
        value = "null"
        if parts["value"] is not None:
            version = "" if parts["version"] is None else f"version={parts['version']} "
            raw = f"raw={quoted(str(parts['value']))}"
            value = f"{version}{raw if value_text is None else value_text}"
        head = f"{name or 'UNKNOWN'} {shown if key is None else key} -> {value}"
        return f"{head} error={quoted(reason)} broker={verdict}"

    def _with_heads(self, records: KeyedRecords, rows: I64, bodies: list[str]) -> list[str]:
        frames, time = records.frames, self._time
        header = frames.batches.header[frames.batch[rows]]
        columns = (
            frames.offset[rows],
            frames.timestamps(rows),
            header["epoch"],
            header["producer_id"],
            header["producer_epoch"],
        )
        places = zip(*(column.tolist() for column in columns), bodies, strict=True)
        return [
            f"{o} {time(t) if t >= 0 else '-'} {e} {body}"
            + (f" producerId={i} producerEpoch={n}" if i >= 0 else "")
            for o, t, e, i, n, body in places
        ]


class _ReadableValues(ReadableLines):
    """The fields of messages alone, to be read."""

    def texts(self, spec: MessageSpec, version: int, columns: Columns) -> list[str]:
        """The fields of messages, all of one version."""
        return self._bodies(spec, 0, version, columns)

    def quoted(self, text: str) -> str:
        """A text as a value of a field."""
        return self._string(text)

    def of_fields(self, data: Mapping[str, object]) -> str:
        """Fields that were turned into plain values."""
        return self._generic(data, with_topic=False)

    def _fields(self, spec: MessageSpec) -> Sequence[FieldSpec]:
        return spec.fields

    def _topics(self, columns: Columns) -> None:
        # Topics have names here, or ids whose names another log has.
        return None

    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        return texts


def _dumped(
    record_type: RecordType, version: int, fields: Mapping[str, object]
) -> dict[str, object]:
    """The fields of a value of `TOLD_APART` as kafka-dump-log prints them.

    The state of a transaction has its name. What members of the consumer protocol say stands in
    place of its bytes.
    """
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


def status_field(record_type: RecordType, version: int) -> FieldSpec | None:
    """The field of a value that has the number of a transaction's state, if there is one."""
    if record_type.name != _TRANSACTION_RECORD:
        return None
    found = (f for f in record_type.value.fields if f.json_name == "transactionStatus")
    field = next(found, None)
    # A user's definition may say something else.
    if field is None or field.type != "int8" or version not in field.versions:
        return None
    return None if field.is_array or version in field.tagged else field


def _show_nested(structs: object, shown: object, messages: Mapping[str, str]) -> None:
    """Put messages in place of their bytes, where kafka-dump-log can read them.

    Args:
        structs: Structs with fields of bytes.
        shown: The same as JSON.
        messages: The message in each of those fields.
    """
    assert isinstance(structs, list)
    assert isinstance(shown, list)
    for struct, said in zip(structs, shown, strict=True):
        for part, message in messages.items():
            found = decode_nested(message, struct[part])
            if found.is_dumped:
                said[part] = found.data
