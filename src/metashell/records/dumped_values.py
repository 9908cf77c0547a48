"""Values of coordinators' records that say more than their fields do, as kafka-dump-log has them.

The state of a transaction has its name. Messages of the consumer protocol stand in place of their
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.frames import NO_NUMBER
from metashell.records.consumer_protocol import (
    CONSUMER,
    MEMBER_BYTES,
    MEMBERS_RECORD,
    PROTOCOLS_RECORD,
    SUBSCRIPTION,
    decode_nested,
    protocols_json,
)
from metashell.records.flaws import TRANSACTION_STATES
from metashell.records.line_forms import LineForm, LinePieces, field_key
from metashell.schema.columns import Columns
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import fields_json, json_text
from metashell.schema.model import FieldSpec
from metashell.schema.rows import to_rows

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
