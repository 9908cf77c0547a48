"""From columns back to rows: the values of records as Python objects.

For what shows single records (and for the tests, which compare with the scalar decoder); never on
the way to the image.
"""

from __future__ import annotations

import numpy as np

from metashell.schema.columns import Columns, DecodedColumn, FixedColumn, SpanColumn, StructColumn
from metashell.schema.model import ELEMENT, FieldSpec


def to_rows(columns: Columns) -> list[dict[str, object]]:
    """One dict a row, as `scalar.decode_message` gives it (without unknown tags)."""
    specs = [spec for spec in columns.specs if spec.column_name in columns.fields]
    values = [values_of(spec, columns.fields[spec.column_name]) for spec in specs]
    names = [spec.column_name for spec in specs]
    if not names:
        return [{} for _ in range(columns.n)]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def value_of(spec: FieldSpec, column: DecodedColumn, row: int) -> object:
    """The value of one row."""
    if isinstance(column, FixedColumn):
        value = column.values[row]
        return value.tobytes() if spec.type == "uuid" else value.item()
    if isinstance(column, SpanColumn) and not spec.is_array:
        return column.text(row) if spec.type == "string" else column.raw(row)
    return values_of(spec, column.take(np.array([row], dtype=np.int64)))[0]


def values_of(spec: FieldSpec, column: DecodedColumn) -> list[object]:
    """The values of all rows."""
    if isinstance(column, FixedColumn):
        if spec.type == "uuid":
            return [value.tobytes() for value in column.values]
        return list(column.values.tolist())
    if isinstance(column, SpanColumn):
        return _span_values(spec, column)
    if isinstance(column, StructColumn):
        rows = to_rows(column.items) if column.items.fields else [{}] * len(column.present)
        return [
            row if here else None for row, here in zip(rows, column.present.tolist(), strict=True)
        ]
    if column.items.specs and column.items.specs[0].name == ELEMENT:
        items: list[object] = [row[ELEMENT] for row in to_rows(column.items)]
    else:
        items = list(to_rows(column.items))
    bounds = column.list_offsets.tolist()
    return [
        items[a:b] if count >= 0 else None
        for a, b, count in zip(bounds, bounds[1:], column.counts.tolist(), strict=False)
    ]


def _span_values(spec: FieldSpec, column: SpanColumn) -> list[object]:
    if not spec.is_array:
        return list(column.strings() if spec.type == "string" else column.raws())
    values, list_offsets = column.gather()
    if spec.type == "uuid":
        items: list[object] = [value.tobytes() for value in values]
    elif spec.type == "bool":
        items = (values != 0).tolist()
    else:
        items = values.tolist()
    bounds = list_offsets.tolist()
    return [
        items[a:b] if count >= 0 else None
        for a, b, count in zip(bounds, bounds[1:], column.counts.tolist(), strict=False)
    ]
