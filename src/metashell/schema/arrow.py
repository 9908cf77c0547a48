"""Columns as Arrow arrays.

Arrow shares the memory of a column that lies in one piece: it is not copied. A uuid is sixteen
bytes (``fixed_size_binary[16]``). Where a person will read it, it is its text, the form that every
Kafka tool shows.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pyarrow as pa

from metashell.kernel import library as kernel_library
from metashell.kernel.keys import number_items
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import (
    Columns,
    DecodedColumn,
    FixedColumn,
    SpanColumn,
    StructColumn,
    is_constant,
)
from metashell.schema.model import ELEMENT, FieldSpec
from metashell.schema.uuids import TEXT_LENGTH

_MAX_INT32 = 2**31 - 1
_MANY = 1 << 16
"""Ids from which on it is worth to look whether they are there several times."""


def columns_to_arrow(columns: Columns, *, uuid_text: bool = True) -> dict[str, pa.Array]:
    """Every column by its name, in the definition's order."""
    return {
        spec.column_name: to_arrow(spec, columns.fields[spec.column_name], uuid_text=uuid_text)
        for spec in columns.specs
        if spec.column_name in columns.fields
    }


def to_arrow(spec: FieldSpec, column: DecodedColumn, *, uuid_text: bool = True) -> pa.Array:
    """One column: null where the field is null."""
    if isinstance(column, FixedColumn):
        return fixed_array(column.values, uuid_text=uuid_text)
    if isinstance(column, SpanColumn):
        if not spec.is_array:
            return string_array(column) if spec.type == "string" else binary_array(column)
        values, list_offsets = column.gather()
        if spec.type == "bool":
            values = values != 0
        inner = fixed_array(values, uuid_text=uuid_text)
        return list_array(inner, list_offsets, column.valid())
    if isinstance(column, StructColumn):
        return _struct(column.items, column.present, uuid_text)
    items = column.items
    if items.specs and items.specs[0].name == ELEMENT:
        inner = to_arrow(items.specs[0], items.fields[ELEMENT], uuid_text=uuid_text)
    else:
        inner = _struct(items, None, uuid_text)
    return list_array(inner, column.list_offsets, column.counts >= 0)


def number_array(
    values: AnyArray, valid: Bools | None = None, kind: pa.DataType | None = None
) -> pa.Array:
    """Numbers or bools in the machine's order, shared where possible.

    pa.array would first import pandas where that is installed, and the masked arrays of numpy.

    Args:
        values: dtype[n].
        valid: bool[n], False for null; None where there is none.
        kind: The meaning of the numbers, such as a time; None for plain ones.
    """
    if values.dtype == np.bool_:
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values)
    buffers = [_validity(valid), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind or pa.from_numpy_dtype(values.dtype), len(values), buffers)


def fixed_array(values: AnyArray, *, uuid_text: bool = True) -> pa.Array:
    """Numbers and bools as they are, ``V16`` as uuids."""
    if values.dtype.itemsize == 16:
        if uuid_text:
            return uuid_array(values)
        data = pa.py_buffer(np.ascontiguousarray(values).view(np.uint8))
        return pa.Array.from_buffers(pa.binary(16), len(values), [None, data])
    return number_array(values)


def uuid_array(ids: AnyArray) -> pa.Array:
    """Texts of ``V16[n]``, made without a Python object for each.

    Cost: of many ids of which most are there several times, each text is made once.
    """
    n = len(ids)
    if n >= _MANY and n <= _MAX_INT32 // TEXT_LENGTH:
        library = kernel_library.library()
        numbered = None if library is None else number_items(library, ids, None)
        if numbered is not None and len(numbered.firsts) <= n // 2:
            return uuid_array(ids[numbered.firsts]).take(number_array(numbered.numbers))
    padded = np.zeros((n, 18), dtype=np.uint8)
    padded[:, :16] = np.ascontiguousarray(ids).view(np.uint8).reshape(n, 16)
    encoded = np.frombuffer(base64.urlsafe_b64encode(padded.tobytes()), dtype=np.uint8)
    text = np.ascontiguousarray(encoded.reshape(n, 24)[:, :TEXT_LENGTH])
    return _strings(text.reshape(-1), np.arange(n + 1, dtype=np.int64) * TEXT_LENGTH, None)


def fixed_binary_array(ids: AnyArray) -> pa.FixedSizeBinaryArray:
    """``V16[n]`` as they are, nothing copied."""
    width = ids.dtype.itemsize
    data = pa.py_buffer(np.ascontiguousarray(ids))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(ids), [None, data])


def string_array(column: SpanColumn) -> pa.Array:
    """Text; bytes that are not UTF-8 become U+FFFD as in Kafka."""
    data, list_offsets = column.gather()
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return pa.array(column.strings(), type=pa.string())
    # Valid as a whole is not enough where a character lies across two values.
    heads = list_offsets[:-1][np.diff(list_offsets) > 0]
    if len(heads) and (data[heads] & 0xC0 == 0x80).any():
        return pa.array(column.strings(), type=pa.string())
    return _strings(data, list_offsets, column.valid())


def binary_array(column: SpanColumn) -> pa.Array:
    """Bytes."""
    data, list_offsets = column.gather()
    return _strings(data, list_offsets, column.valid(), binary=True)


def _strings(
    data: AnyArray, list_offsets: I64, valid: Bools | None, *, binary: bool = False
) -> pa.Array:
    large = int(list_offsets[-1]) > _MAX_INT32
    kinds = {
        (False, False): pa.string(),
        (False, True): pa.large_string(),
        (True, False): pa.binary(),
        (True, True): pa.large_binary(),
    }
    bounds = list_offsets if large else list_offsets.astype(np.int32)
    buffers = [_validity(valid), pa.py_buffer(bounds), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(kinds[binary, large], len(list_offsets) - 1, buffers)


def list_array(items: pa.Array, list_offsets: I64, valid: Bools | None) -> pa.Array:
    """A list a row."""
    if valid is not None and is_constant(valid) and len(valid) and not valid[0]:
        return pa.nulls(len(valid), pa.list_(items.type))
    large = int(list_offsets[-1]) > _MAX_INT32
    kind = pa.large_list(items.type) if large else pa.list_(items.type)
    bounds = list_offsets if large else list_offsets.astype(np.int32)
    buffers = [_validity(valid), pa.py_buffer(bounds)]
    return pa.Array.from_buffers(kind, len(list_offsets) - 1, buffers, children=[items])


def one_piece(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _struct(items: Columns, present: Bools | None, uuid_text: bool) -> pa.Array:
    arrays: dict[str, Any] = columns_to_arrow(items, uuid_text=uuid_text)
    n = items.n
    kind = pa.struct([(name, array.type) for name, array in arrays.items()])
    return pa.Array.from_buffers(kind, n, [_validity(present)], children=list(arrays.values()))


def _validity(valid: Bools | None) -> pa.Buffer | None:
    if valid is None or bool(valid.all()):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
