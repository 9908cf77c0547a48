"""Numbers in few words: ``1-3,5``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.schema.arena import I64
from metashell.schema.arrow import fixed_array, list_array


def ranges_texts(numbers: I64, starts: I64) -> pa.Array:
    """string[n]: the numbers of each group, those behind each other as first and last.

    Args:
        numbers: int64[k]: those of a group behind each other, ascending.
        starts: int64[n]: where each group begins, ascending; no group is empty.
    """
    if not len(numbers):
        return pa.array([], pa.string())
    begins = np.diff(numbers, prepend=np.int64(-1)) != 1
    begins[starts] = True
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(numbers)) - 1
    low, high = (fixed_array(numbers[at]).cast(pa.string()) for at in (first, last))
    texts = pc.if_else(pa.array(first == last), low, pc.binary_join_element_wise(low, high, "-"))
    bounds = np.searchsorted(first, np.append(starts, len(numbers)))
    return pc.binary_join(list_array(texts, bounds, None), ",")
