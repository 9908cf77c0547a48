"""Kafka's Uuid as text: sixteen bytes as base64 for URLs, without padding.

Source: org.apache.kafka.common.Uuid, org.apache.kafka.common.DirectoryId.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metashell.schema.arena import AnyArray

MIGRATING: Final = bytes(16)
"""Directory id of a replica whose place is not known yet."""
UNASSIGNED: Final = bytes(15) + b"\x01"
LOST: Final = bytes(15) + b"\x02"

TEXT_LENGTH: Final = 22


def uuid_text(raw: bytes) -> str:
    """Base64 text of sixteen bytes."""
    return base64.urlsafe_b64encode(raw)[:TEXT_LENGTH].decode("ascii")


def parse_uuid(text: str) -> bytes | None:
    """The bytes of a text exactly as Kafka would write it, or None."""
    if len(text) != TEXT_LENGTH:
        return None
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if uuid_text(raw) == text else None


def uuid_texts(ids: AnyArray) -> list[str]:
    """Texts of ``V16[n]``, all encoded in one go.

    Each id is padded to eighteen bytes, so that base64 gives exactly 24 characters for each, of
    which the first 22 are the text (the bits behind them are zero either way).
    """
    import numpy as np

    n = len(ids)
    if not n:
        return []
    padded = np.zeros((n, 18), dtype=np.uint8)
    padded[:, :16] = np.ascontiguousarray(ids).view(np.uint8).reshape(n, 16)
    text = base64.urlsafe_b64encode(padded.tobytes()).decode("ascii")
    return [text[at : at + TEXT_LENGTH] for at in range(0, 24 * n, 24)]
