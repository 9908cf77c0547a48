"""The texts of a table's leaves, many at a time, as `fields_text` and JSON write each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from metashell.fs.texts import Texts
from metashell.schema.arena import I64

if TYPE_CHECKING:
    from metashell.fs.leaf_table import LeafTable

_TOGETHER: Final = 8192
"""Leaves whose texts are made together: groups are mostly small."""


class LeafTexts:
    """Gives texts of some leaves of a table that lie side by side; a `GridTexts`.

    Args:
        leaves: All of the table.
        first: The first of them.
        bounds: int64[n + 1]: where the leaves of each directory begin, from there on.
        as_json: Whether a leaf's text is its value as JSON, else what ``cat`` prints.
    """

    def __init__(
        self, leaves: LeafTable, first: int, bounds: I64, *, as_json: bool = False
    ) -> None:
        self._leaves, self._first, self.bounds = leaves, first, bounds
        self._as_json = as_json

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""
        first, last = self._first + start, self._first + stop - 1
        if start < stop and first // _TOGETHER == last // _TOGETHER:
            lines = self._block(first // _TOGETHER)
            return Texts.of(lines.slice(first % _TOGETHER, stop - start))
        return self.texts_of(np.arange(start, stop, dtype=np.int64))

    def texts_of(self, leaves: I64) -> Texts:
        """The texts of some leaves."""
        wanted = self._first + leaves
        pieces = [pa.array([], pa.large_string())]
        for block in np.unique(wanted // _TOGETHER).tolist():
            these = wanted[wanted // _TOGETHER == block] - block * _TOGETHER
            pieces.append(self._block(block).take(pa.array(these)))
        lines = pa.concat_arrays(pieces)
        if (np.diff(wanted) < 0).any():
            by_block = np.argsort(wanted // _TOGETHER, kind="stable")
            place = np.empty(len(wanted), dtype=np.int64)
            place[by_block] = np.arange(len(wanted))
            lines = lines.take(pa.array(place))
        return Texts.of(lines)

    def holders(self, literal: str) -> I64 | None:
        """None: what texts hold is not known without them."""
        return None

    def _block(self, number: int) -> pa.LargeStringArray:
        key = (number, self._as_json)
        kept = self._leaves.last_texts
        if kept is None or kept[0] != key:
            first = number * _TOGETHER
            stop = min(first + _TOGETHER, len(self._leaves))
            lines = self._leaves.lines(np.arange(first, stop), as_json=self._as_json)
            kept = self._leaves.last_texts = (key, lines)
        return kept[1]
