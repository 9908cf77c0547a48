"""What is wrong with keyed records, as far as their types and versions tell: nothing is decoded."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.log.frames import NO_NUMBER, Frames
from metashell.records.verdicts import NEVER_TOMBSTONES, Flaw
from metashell.schema.arena import I64
from metashell.schema.coordinators import RecordTypes

I8: TypeAlias = npt.NDArray[np.int8]

_TYPES: Final = 1 << 15
"""How many numbers a type can have; those below 0 are of no definition."""


def flaws_by_version(frames: Frames, types: RecordTypes) -> I8:
    """The `Flaw` of each record that its type and the version of its value tell: int8[n].

    Cost: mostly that of two comparisons a record.
    """
    flaws = np.zeros(len(frames), dtype=np.int8)
    rows = _unlike_most(frames, types)
    flaws[rows] = _flaws_of(frames, types, rows)
    return flaws


def _unlike_most(frames: Frames, types: RecordTypes) -> I64:
    """int64: the rows of all records but those that are like most, if nothing is wrong with it.

    Of a type, with a value of a version: those that the record in the middle has.
    """
    n = len(frames)
    middle = np.array([n // 2] if n else [], dtype=np.int64)
    if not n or frames.value_size[middle] < 0 or _flaws_of(frames, types, middle) != Flaw.NONE:
        return np.arange(n)
    unlike = frames.api_key.narrow != frames.api_key[middle]
    unlike |= frames.version.narrow != frames.version[middle]
    return np.flatnonzero(unlike)


def _flaws_of(frames: Frames, types: RecordTypes, rows: I64) -> I8:
    """The same of some records."""
    flaws = np.zeros(len(rows), dtype=np.int8)
    # By type: the versions that its values may have. The last element is for unknown types.
    low, high = np.zeros(_TYPES + 1, dtype=np.int32), np.full(_TYPES + 1, -1, dtype=np.int32)
    for each, record_type in types.by_number.items():
        versions = record_type.value.versions
        low[each], high[each] = versions.low, versions.high
    found, version = frames.api_key[rows], frames.version[rows]
    has_value = frames.value_size[rows] >= 0
    number = np.where((found >= 0) & (found < _TYPES), found, _TYPES)
    strange = (version < low.take(number)) | (version > high.take(number))
    flaws[strange & has_value] = Flaw.UNKNOWN_VERSION
    flaws[(version == NO_NUMBER) & has_value] = Flaw.SHORT_VALUE
    without = types.by_name.get(NEVER_TOMBSTONES.get(types.log, ""))
    if without is not None:
        flaws[(number == without.number) & ~has_value] = Flaw.NO_VALUE
    flaws[high.take(number) < 0] = Flaw.UNKNOWN_TYPE
    flaws[found == NO_NUMBER] = Flaw.SHORT_KEY
    flaws[frames.key_size[rows] < 0] = Flaw.NO_KEY
    flaws[frames.is_control[rows]] = Flaw.NONE
    return flaws
