"""The messages of the consumer protocol that clients put into the records of their groups.

The members of a classic group have a *subscription* and an *assignment* as bytes: an int16, the
version, and a message that is never flexible. A consumer group's member that speaks the classic
protocol has subscriptions, too. Any bytes may stand there: other protocols (``connect``) use the
same fields, and no coordinator refuses a record for them.

Clients and coordinators read a version above theirs as theirs, and refuse one below 0. A message is
shown of either, as kafka-dump-log shows those that it can read.

Source: org.apache.kafka.clients.consumer.internals.ConsumerProtocol.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import DecodeError
from metashell.log.frames import NO_NUMBER
from metashell.schema.arena import I32, Arena, Bools
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, SpanColumn, merge_columns
from metashell.schema.coordinators import data_message
from metashell.schema.decoding import decode
from metashell.schema.dump import fields_json
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
