"""``.index`` files: where in a segment the batch with an offset lies, nearly.

Entries of eight bytes, ascending: the last offset of a batch, less the segment's base offset, and
the position where the batch begins. One is written every few KiB. The preallocated entries behind
the last are zero. A wrong index is no harm: a position is used only where a batch begins there.

Source: org.apache.kafka.storage.internals.log.OffsetIndex.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from metashell.errors import SourceError
from metashell.log.read import opened
from metashell.places.place import FileRef
from metashell.places.vanished import VanishedError

_ENTRY: Final = Struct(">II")


def position_before(file: FileRef, relative_offset: int) -> int:
    """Where to begin to look for an offset in a segment; 0 where the index does not tell.

    Args:
        file: The segment's index.
        relative_offset: The offset, less the segment's base offset.

    Cost: a few reads of eight bytes.
    """
    try:
        with opened(file) as source:
            low, high, found = 0, source.size // _ENTRY.size, 0
            buffer = memoryview(bytearray(_ENTRY.size))
            while low < high:
                middle = (low + high) // 2
                if source.read_into(buffer, middle * _ENTRY.size) < _ENTRY.size:
                    return 0
                offset, position = _ENTRY.unpack(buffer)
                # The first entry alone can be of offset 0; others that are were never written.
                if offset > relative_offset or (middle and not offset):
                    high = middle
                else:
                    low, found = middle + 1, position
            return found
    except (SourceError, VanishedError):
        return 0
