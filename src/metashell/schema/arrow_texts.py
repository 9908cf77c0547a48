"""Texts that are put together for thousands at once, without a Python object for each."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import number_array
from metashell.schema.timestamps import iso_time

Piece: TypeAlias = "str | pa.LargeStringArray"
_TABLE_MOST: Final = 1 << 16
_YEAR_10000_MS: Final = 253_402_300_800_000
_DATE: Final = 10


def side_by_side(pieces: list[Piece]) -> pa.LargeStringArray:
    """One text a row; a piece that is a string is the same in all, and there is an array."""
    joined: list[pa.Array | pa.Scalar] = []
    plain = ""
    for piece in pieces:
        if isinstance(piece, str):
            plain += piece
            continue
        joined += [same_text(plain), piece]
        plain = ""
    text: pa.LargeStringArray = pc.binary_join_element_wise(
        *joined, same_text(plain), same_text("")
    )
    return text


def same_text(text: str) -> pa.Scalar:
    """A text that is the same in all rows."""
    return pa.scalar(text, pa.large_string())


def number_texts(values: AnyArray) -> pa.LargeStringArray:
    """Each number in decimal digits."""
    values = np.ascontiguousarray(values)
    if len(values):
        least, most = int(values.min()), int(values.max())
        # Writing each number once and looking it up is faster than writing all.
        if most - least < min(_TABLE_MOST, len(values)):
            table = number_array(np.arange(most - least + 1) + least).cast(pa.large_string())
            return table.take(number_array(values.astype(np.int64) - least))
    return number_array(values).cast(pa.large_string())


def time_texts(timestamps_ms: I64) -> pa.LargeStringArray:
    """Each time as `iso_time` gives it.

    Args:
        timestamps_ms: int64[n], ms since the epoch.
    """
    # Arrow has no other years in this form.
    strange = np.flatnonzero((timestamps_ms < 0) | (timestamps_ms >= _YEAR_10000_MS))
    usual = timestamps_ms
    if strange.size:
        usual = timestamps_ms.copy()
        usual[strange] = 0
    texts = number_array(usual, kind=pa.timestamp("ms")).cast(pa.large_string())
    date, time = pc.utf8_slice_codeunits(texts, 0, _DATE), pc.utf8_slice_codeunits(texts, _DATE + 1)
    found = side_by_side([date, "T", time, "Z"])
    if not strange.size:
        return found
    others = pa.array(map(iso_time, timestamps_ms[strange].tolist()), pa.large_string())
    at = np.arange(len(timestamps_ms))
    at[strange] = len(at) + np.arange(len(strange))
    return pa.concat_arrays([found, others]).take(number_array(at))
