"""How batches, and messages of older formats, begin. Imports no numpy, and nothing of the log.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch, LegacyRecord.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import Final

HEADER_BYTES: Final = 61
MIN_LENGTH: Final = HEADER_BYTES - 12
"""The least that batchLength can say: a header with no records."""

HEAD: Final = Struct(">qiiBIhi")
"""A batch's first 27 bytes: base offset, length, leader epoch, magic, CRC, attributes, and the last
offset's distance from the base."""
MAGIC_POS: Final = 16
"""Where a batch has its magic."""
MAX_TIMESTAMP: Final = Struct(">q")
MAX_TIMESTAMP_POS: Final = 35
"""Where a batch has its maxTimestamp."""

LOOKS_LIKE_BATCH: Final = re.compile(
    rb"(?s)(?=\x00.{7}[\x00-\x7f].{3}.{4}\x02.{4}\x00[\x00-\x7f][\x00-\x7f])"
)
"""A base offset below 2**56, a length that is not negative, magic 2, and no unknown attributes."""

CODEC: Final = 0x07
"""The bits of a batch's attributes that say how its records are compressed."""
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

OLD_FORMATS: Final = 2
"""Formats below this one have messages, not batches."""
OLD_HEAD: Final = Struct(">qiIB")
"""Offset, size, CRC and magic: what a message and a batch have in the same place, but the CRC."""
OLD_OVERHEAD: Final = (14, 22)
"""The least that the size of a message can say, by magic: neither a key nor a value."""
