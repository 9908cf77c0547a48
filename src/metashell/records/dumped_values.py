"""Values of coordinators' records that say more than their fields do, as kafka-dump-log has them.

The state of a transaction has its name. What members of the consumer protocol say stands in place
of its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.records.consumer_protocol import (
    CONSUMER,
    MEMBER_BYTES,
    MEMBERS_RECORD,
    PROTOCOLS_RECORD,
    SUBSCRIPTION,
    decode_nested,
)
from metashell.records.keyed_records import TRANSACTION_STATES
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import fields_json
from metashell.schema.model import FieldSpec

_TRANSACTION_RECORD: Final = "TransactionLog"
"""The record type whose value has the number of a transaction's state."""
HOLDS_MESSAGES: Final = frozenset({MEMBERS_RECORD, PROTOCOLS_RECORD})
"""Record types whose values hold messages of the consumer protocol."""
SAYS_MORE: Final = HOLDS_MESSAGES | {_TRANSACTION_RECORD}
"""Record types whose values say more than their fields do."""


def dumped(
    record_type: RecordType, version: int, fields: Mapping[str, object]
) -> dict[str, object]:
    """The fields of a value of `SAYS_MORE` as kafka-dump-log prints them."""
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


def show_protocols(fields: Mapping[str, object], data: Mapping[str, object]) -> None:
    """Put the subscriptions of a member in place of their bytes.

    Args:
        fields: Those of a value.
        data: The same as `dumped` has them.
    """
    member, shown = fields.get("classic_member_metadata"), data.get("classicMemberMetadata")
    if isinstance(member, Mapping) and isinstance(shown, dict):
        protocols = member["supported_protocols"], shown["supportedProtocols"]
        _show_nested(*protocols, {"metadata": SUBSCRIPTION})


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
