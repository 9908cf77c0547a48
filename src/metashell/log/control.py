"""Control records: batches of the log that say something of the log itself.

Source: org.apache.kafka.common.record.ControlRecordType.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import DecodeError

_KEY_BYTES: Final = 4
"""Bytes of a control record's key: its version and type."""


class ControlType(IntEnum):
    """The types of control records; the value is the type in the key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


CONTROL_NAMES: Final[dict[int, str]] = {
    ControlType.ABORT: "Abort",
    ControlType.COMMIT: "Commit",
    ControlType.LEADER_CHANGE: "LeaderChange",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}
"""The names in kafka-dump-log."""


def control_type_name(control_type: int) -> str:
    """The name of a control record's type; ``UNKNOWN(9)`` where nothing describes it."""
    return CONTROL_NAMES.get(control_type, f"UNKNOWN({control_type})")


CHECKPOINT_ENDS: Final = (
    (ControlType.SNAPSHOT_HEADER, "header"),
    (ControlType.SNAPSHOT_FOOTER, "footer"),
)
"""Types of the first and the last batch of a whole checkpoint, and what they are called."""


@dataclass(frozen=True, slots=True)
class FirstKey:
    """The key of a batch's first record."""

    is_control: bool
    """Whether the batch is one of control records."""
    n_bytes: int
    """-1 for null."""
    beginning: bytes
    """Up to four bytes: of a control record its version and type."""


def first_key(view: memoryview, position: int) -> FirstKey | None:
    """The key of the first record of a batch at a position; None where it can't be read."""
    attributes = view[position + 22]
    record = view[position + 61 :]
    if attributes & 0x07:
        from metashell.log.compression import inflate_start

        length = int.from_bytes(view[position + 8 : position + 12], "big")
        try:
            record = memoryview(inflate_start(attributes & 0x07, record[: length - 49]))
        except DecodeError:
            return None
    pos = n_bytes = 0
    # Length; attributes; timestamp and offset deltas; the length of the key, in zigzag.
    try:
        for width in (5, 1, 10, 5, 5):
            n_bytes = 0
            for i in range(width):
                pos += 1
                n_bytes |= (record[pos - 1] & 0x7F) << 7 * i
                if width == 1 or record[pos - 1] < 0x80:
                    break
    except IndexError:
        return None
    return FirstKey(
        bool(attributes & 0x20), n_bytes >> 1 ^ -(n_bytes & 1), bytes(record[pos : pos + 4])
    )


def first_control_type(view: memoryview, position: int) -> int | None:
    """The control type of a batch's first record, or None for a batch of data."""
    # The batch of a record that is no control record need not be decompressed.
    key = first_key(view, position) if view[position + 22] & 0x20 else None
    if key is None or key.n_bytes != len(key.beginning) or key.n_bytes != _KEY_BYTES:
        return None
    return int.from_bytes(key.beginning[2:], "big")
