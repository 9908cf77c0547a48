"""Control records: batches of the log that say something of the log itself.

Source: org.apache.kafka.common.record.ControlRecordType.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from metashell.errors import DecodeError


class ControlType(IntEnum):
    """What a control record is; the value is the type in its key."""

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
"""What kafka-dump-log calls them."""


def control_type_name(control_type: int) -> str:
    """What a control record's type is called; ``UNKNOWN(9)`` where nothing describes it."""
    return CONTROL_NAMES.get(control_type, f"UNKNOWN({control_type})")


CHECKPOINT_ENDS: Final = (
    (ControlType.SNAPSHOT_HEADER, "header"),
    (ControlType.SNAPSHOT_FOOTER, "footer"),
)
"""Types of the first and the last batch of a whole checkpoint, and what they are called."""


def first_control_type(view: memoryview, position: int) -> int | None:
    """The control type of a batch's first record, or None for a batch of data."""
    attributes = view[position + 22]
    if not attributes & 0x20:
        return None
    record = view[position + 61 :]
    if attributes & 0x07:
        from metashell.log.compression import inflate_start

        length = int.from_bytes(view[position + 8 : position + 12], "big")
        try:
            record = memoryview(inflate_start(attributes & 0x07, record[: length - 49]))
        except DecodeError:
            return None
    pos = 0
    # Length; attributes; timestamp and offset deltas; a key of four bytes: version and type.
    try:
        for width in (5, 1, 10, 5):
            for _ in range(width):
                pos += 1
                if width == 1 or record[pos - 1] < 0x80:
                    break
        return record[pos + 3] << 8 | record[pos + 4] if record[pos] == 8 else None
    except IndexError:
        return None
