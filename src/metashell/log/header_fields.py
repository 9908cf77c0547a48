"""Headers of very many batches, read where they are asked for.

A log of small batches has a header for every record or two. A copy of all of them would take a
third of the memory of what is known of its records.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from metashell.log.layout import CODEC, OLD_FORMATS
from metashell.schema.arena import I64, AnyArray, Arena

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""The 61 bytes before a batch's records."""
_MESSAGE: Final = np.dtype(
    {
        "names": ["crc", "attributes", "timestamp"],
        "formats": [">u4", "u1", ">i8"],
        "offsets": [12, 17, 18],
        "itemsize": HEADER.itemsize,
    }
)
"""The head of a message of an older format; format 0 has no timestamp."""
_LOG_APPEND_TIME: Final = 0x08


def as_batches(header: AnyArray) -> AnyArray:
    """Headers in which messages of formats 0 and 1 read like batches of one record.

    Args:
        header: `HEADER`, of messages their first 61 bytes.

    Returns:
        A copy. A message that wraps others has no count, and its offset is that of the last of
        them.
    """
    header = header.copy()
    old = np.flatnonzero(header["magic"] < OLD_FORMATS)
    of, raw = header[old], header[old].view(_MESSAGE)
    has_time = of["magic"] > 0
    for name in ("epoch", "producer_id", "producer_epoch", "base_sequence"):
        of[name] = -1
    kept = np.where(has_time, CODEC | _LOG_APPEND_TIME, CODEC)
    of["crc"], of["attributes"] = raw["crc"], raw["attributes"] & kept
    of["base_timestamp"] = of["max_timestamp"] = np.where(has_time, raw["timestamp"], -1)
    of["last_delta"], of["count"] = 0, raw["attributes"] & CODEC == 0
    header[old] = of
    return header


class HeaderFields:
    """Reads like an array of `HEADER`: by a field's name, or by batches.

    Args:
        arena: The bytes.
        pos: int64[n], where each header begins.
    """

    dtype = HEADER

    def __init__(self, arena: Arena, pos: I64) -> None:
        self._arena, self._pos = arena, pos
        self._kept: dict[str, AnyArray] = {}

    def keep(self, field: str, values: AnyArray) -> None:
        """Take the values of a field of all batches, in native byte order, from who read them."""
        self._kept[field] = values

    def __len__(self) -> int:
        return len(self._pos)

    def __getitem__(self, key: str | int | slice | AnyArray) -> Any:
        """A field of all batches, in native byte order; or headers of the batches given."""
        if isinstance(key, str):
            if key in self._kept:
                return self._kept[key]
            assert HEADER.fields is not None
            dtype, begin = HEADER.fields[key][:2]
            return self._arena.gather(dtype.str, self._pos + begin)
        whole = self._arena.gather(f"V{HEADER.itemsize}", np.atleast_1d(self._pos[key]))
        found = whole.view(HEADER)
        return found[0] if np.ndim(self._pos[key]) == 0 else found
