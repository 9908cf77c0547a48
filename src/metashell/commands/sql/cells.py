"""Results of engines as columns of the few types that rows are written with.

Integers, floats, booleans, texts, times in ms, and lists of these stay what they are; everything
else becomes text, nested values JSON: bytes with ``\\xNN`` for what is not printable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.fs.escape import escape
from metashell.schema.dump import to_json

_TIME: Final = pa.timestamp("ms", tz="UTC")
_EXACT_DIGITS: Final = 15
"""Digits that a double keeps."""


def column_names(schema: pa.Schema) -> list[str]:
    """Names of the columns, each different, none with characters that steer a terminal."""
    found: list[str] = []
    for name in schema.names:
        shown, n = escape(name), 1
        while shown in found:
            shown, n = f"{escape(name)}_{n}", n + 1
        found.append(shown)
    return found


def as_cells(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    """A batch with columns that can be written."""
    return pa.table([as_cell_column(column) for column in batch.columns], list(names))


def empty_cells(schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """No rows, with the columns that can be written."""
    return as_cells(pa.RecordBatch.from_pylist([], schema=schema), names)


def as_cell_column(array: pa.Array) -> pa.Array:
    """A column of one of the types that can be written, with the same values."""
    kind = array.type
    types = pa.types
    if types.is_dictionary(kind):
        return as_cell_column(array.dictionary_decode())
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_string(kind):
        return array
    if types.is_floating(kind):
        return array.cast(pa.float64())
    if types.is_timestamp(kind):
        return array.cast(pa.timestamp("ms", tz=kind.tz), safe=False).cast(_TIME)
    if types.is_decimal(kind):
        return _of_decimals(array)
    if types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_date(kind):
        return array.cast(pa.string())
    if types.is_list(kind) or types.is_large_list(kind):
        return _of_lists(array)
    values = _values(array)
    if types.is_nested(kind):
        return _json_array(values)
    return _texts(values, _plain)


def _of_decimals(array: pa.Array) -> pa.Array:
    """Whole numbers as such where they fit, as sums are."""
    kind = array.type
    if kind.scale == 0:
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            return array.cast(pa.string())
    return array.cast(pa.float64() if kind.precision <= _EXACT_DIGITS else pa.string())


def _of_lists(array: pa.Array) -> pa.Array:
    kind = array.type.value_type
    is_flat = pa.types.is_integer(kind) or pa.types.is_string(kind)
    # An element that is null has no text of its own.
    if is_flat and not pc.any(array.flatten().is_null(), min_count=0).as_py():
        return array.cast(pa.list_(kind))
    return _json_array(_values(array))


def _values(array: pa.Array) -> list[Any]:
    """Python's values; of times that its calendar does not reach, the numbers of ms."""
    try:
        found: list[Any] = array.to_pylist()
    except (OverflowError, ValueError):
        of_ms = array.cast(_with_times_as(array.type, lambda kind: pa.timestamp("ms", kind.tz)))
        found = of_ms.cast(_with_times_as(of_ms.type, lambda _: pa.int64())).to_pylist()
    return found


def _with_times_as(kind: pa.DataType, other: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with another in place of each timestamp in it."""
    types = pa.types
    if types.is_timestamp(kind):
        return other(kind)
    if types.is_list(kind):
        return pa.list_(_with_times_as(kind.value_type, other))
    if types.is_map(kind):
        key, item = (_with_times_as(one, other) for one in (kind.key_type, kind.item_type))
        return pa.map_(key, item)
    if types.is_struct(kind):
        return pa.struct([f.with_type(_with_times_as(f.type, other)) for f in kind])
    return kind


def _json_array(values: Sequence[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(), _texts(values, _json))


def _texts(values: Sequence[Any], write: Any) -> pa.Array:
    return pa.array([None if v is None else write(v) for v in values], pa.string())


def _json(value: object) -> str:
    return to_json(_jsonable(value), default=_plain)


def _jsonable(value: object) -> object:
    """Maps, which Arrow gives as pairs, stay pairs; bytes become text; no NaN, as JSON has none."""
    if isinstance(value, dict):
        return {str(key): _jsonable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [_jsonable(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return "".join(
            chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02X}"
            for byte in value
        )
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    if isinstance(value, pa.MonthDayNano):
        months, days, nanoseconds = value
        return f"P{months}M{days}DT{Decimal(nanoseconds) / 10**9:f}S"
    return str(value)
