"""The texts of committed offsets, many at a time, as `fields_text` and JSON write each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.fs.change_texts import TIMES
from metashell.fs.coordinator_paths import Fields, fields_text, plain_fields
from metashell.fs.texts import Texts
from metashell.image.coordinators.commits import COMMITS
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import string_array, uuid_array
from metashell.schema.arrow_texts import Piece, number_texts, side_by_side, time_texts
from metashell.schema.columns import Columns, FixedColumn, SpanColumn
from metashell.schema.coordinators import RecordType
from metashell.schema.id_table import id_pairs
from metashell.schema.json_writer import finite, null, text_to_json, to_json

if TYPE_CHECKING:
    from metashell.fs.offset_leaves import OffsetLeaves
    from metashell.schema.model import FieldSpec

_TOGETHER: Final = 8192
"""Leaves whose texts are made together: groups are mostly small."""


class OffsetTexts:
    """Gives texts of the leaves of one group; a `GridTexts`.

    Args:
        leaves: Those of all groups of its partition.
        first: The group's first leaf.
        bounds: int64[n + 1]: where the leaves of each of its topics begin, from there on.
        as_json: Whether a leaf's text is its value as JSON, else what ``cat`` prints.
    """

    def __init__(
        self, leaves: OffsetLeaves, first: int, bounds: I64, *, as_json: bool = False
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
            lines = _lines(self._leaves, np.arange(first, stop), as_json=self._as_json)
            kept = self._leaves.last_texts = (key, lines)
        return kept[1]


def _lines(leaves: OffsetLeaves, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
    """The line of each of some leaves."""
    records = leaves.records
    rows, number = leaves.single_rows(wanted), np.full(len(wanted), -1, dtype=np.int64)
    number[rows >= 0] = records.frames.key_type[rows[rows >= 0]]
    pieces, places = [], []
    for name in COMMITS:
        record_type = records.types.by_name[name]
        at = np.flatnonzero(number == record_type.number)
        fields = plain_fields(record_type)
        if not at.size or fields is None:
            continue
        at = at[np.argsort(rows[at], kind="stable")]
        value = records.decode(name, rows[at], ()).value
        pieces.append(_of_type(record_type, fields, value, as_json=as_json))
        places.append(at)
    is_told = np.zeros(len(wanted), dtype=np.bool_)
    for at in places:
        is_told[at] = True
    others = np.flatnonzero(~is_told)
    write = _json_of if as_json else fields_text
    lines = [f"{write(leaves.value(leaf))}\n" for leaf in wanted[others].tolist()]
    pieces.append(pa.array(lines, pa.large_string()))
    order = np.empty(len(wanted), dtype=np.int64)
    order[np.concatenate([*places, others])] = np.arange(len(wanted))
    return pa.concat_arrays(pieces).take(pa.array(order))


def _json_of(fields: Fields) -> str:
    return to_json(finite(fields, null), ascii_only=True)


def _of_type(
    record_type: RecordType, fields: Sequence[FieldSpec], value: Columns, *, as_json: bool
) -> pa.LargeStringArray:
    """The lines of values of a type."""
    high = record_type.value.versions.high
    pieces: list[Piece] = ["{"] if as_json else []
    for i, field in enumerate(fields):
        name, column = field.json_name, value.fields[field.column_name]
        before = (", " if i else "") + (f'"{name}": ' if as_json else f"{name}=")
        if isinstance(column, SpanColumn):
            pieces += [before, _strings(column, as_json=as_json)]
        elif field.type == "uuid":
            pieces += _uuids(before, value.fixed(field.column_name), high in field.tagged, as_json)
        else:
            assert isinstance(column, FixedColumn)
            is_time = name in TIMES and not as_json
            pieces += [before, (_times if is_time else number_texts)(column.values)]
    return side_by_side([*pieces, "}\n" if as_json else "\n"])


def _strings(column: SpanColumn, *, as_json: bool) -> pa.LargeStringArray:
    if as_json:
        texts = column.strings()
        json = ("null" if text is None else text_to_json(text) for text in texts)
        return pa.array(json, pa.large_string())
    return string_array(column).cast(pa.large_string()).fill_null("none")


def _times(timestamps_ms: I64) -> pa.LargeStringArray:
    known = pa.array(timestamps_ms >= 0)
    return pc.if_else(known, time_texts(timestamps_ms), "none")


def _uuids(before: str, ids: AnyArray, leaves_out_zero: bool, as_json: bool) -> list[Piece]:
    quote = '"' if as_json else ""
    texts = side_by_side([before + quote, uuid_array(ids).cast(pa.large_string()), quote])
    if not leaves_out_zero:
        return [texts]
    return [pc.if_else(pa.array((id_pairs(ids) == 0).all(axis=1)), "", texts)]
