"""The fields of coordinators' nodes as texts, a column at a time, as `fields_text` and JSON write
each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.fs.change_texts import TIMES, whole_text
from metashell.fs.record_paths import Fields, column_fields, fields_text, forms_of
from metashell.image.fold import distinct
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.arrow import list_array, string_array, uuid_array
from metashell.schema.arrow_texts import (
    Piece,
    number_texts,
    same_text,
    side_by_side,
    time_texts,
)
from metashell.schema.columns import FixedColumn, SpanColumn, StructArrayColumn
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import finite, null, text_to_json, to_json
from metashell.schema.id_table import id_pairs
from metashell.schema.model import FieldSpec
from metashell.schema.scalar import default_value


@dataclass(slots=True)
class Cells:
    """A field of n nodes.

    ``texts``: large_string[n]; ``there``: bool[n], which have the field; None for all.
    """

    name: str
    texts: pa.LargeStringArray
    there: Bools | None = None


def lines_of(fields: Sequence[Cells], *, as_json: bool) -> pa.LargeStringArray:
    """A line for each node, with its line feed; all have the first field."""
    pieces: list[Piece] = ["{"] if as_json else []
    for i, cells in enumerate(fields):
        before = (", " if i else "") + (f'"{cells.name}": ' if as_json else f"{cells.name}=")
        if cells.there is None:
            pieces += [before, cells.texts]
        elif cells.there.any():
            texts = side_by_side([before, cells.texts])
            pieces.append(pc.if_else(pa.array(cells.there), texts, ""))
    return side_by_side([*pieces, "}\n" if as_json else "\n"])


def lines_one_by_one(values: Iterable[Fields], *, as_json: bool) -> pa.LargeStringArray:
    """The lines of fields that are no columns."""
    write = _json_of if as_json else fields_text
    return pa.array([f"{write(fields)}\n" for fields in values], pa.large_string())


def row_lines(
    records: KeyedRecords, rows: I64, values: Callable[[I64], Iterable[Fields]], *, as_json: bool
) -> pa.LargeStringArray:
    """The line of each of some nodes.

    Args:
        records: The records of the partition.
        rows: int64[n]: the record that tells of each.
        values: Gives the fields of the nodes at int64[k] places.
        as_json: Whether they are JSON.
    """
    numbers = records.frames.api_key[rows]
    pieces, places = [pa.array([], pa.large_string())], [np.empty(0, dtype=np.int64)]
    for number in distinct(numbers).tolist():
        at = np.flatnonzero(numbers == number)
        record_type = records.types.by_number.get(number)
        if record_type is None or column_fields(record_type) is None:
            pieces.append(lines_one_by_one(values(at), as_json=as_json))
        else:
            pieces.append(_record_lines(records, record_type, rows[at], as_json=as_json))
        places.append(at)
    return pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(places))))


def _record_lines(
    records: KeyedRecords, record_type: RecordType, rows: I64, *, as_json: bool
) -> pa.LargeStringArray:
    """The lines of records of a type; tagged fields only where they are not as by default."""
    order = np.argsort(rows, kind="stable")
    value = records.decode(record_type.name, rows[order], ()).value
    lines = lines_of(
        [
            _record_cells(record_type, field, value.fields[field.column_name], as_json)
            for field in column_fields(record_type) or ()
        ],
        as_json=as_json,
    )
    return lines.take(pa.array(np.argsort(order)))


def _record_cells(
    record_type: RecordType, field: FieldSpec, column: object, as_json: bool
) -> Cells:
    name, is_tagged = field.json_name, record_type.value.versions.high in field.tagged
    shown = forms_of(record_type).get(name)
    if shown is not None:
        assert isinstance(column, FixedColumn)
        return Cells(shown[0], _codes(column.values, shown[1], as_json=as_json))
    if isinstance(column, SpanColumn):
        return Cells(name, _strings(column, as_json=as_json))
    if isinstance(column, StructArrayColumn):
        return Cells(name, _partitions(column, as_json=as_json))
    assert isinstance(column, FixedColumn)
    values, there = column.values, None
    if field.type == "uuid":
        if is_tagged:
            there = (id_pairs(values) != 0).any(axis=1)
        texts = uuid_array(values).cast(pa.large_string())
        return Cells(name, _quoted(texts) if as_json else texts, there)
    if is_tagged:
        there = values != default_value(field)
    return number_cells(name, values, as_json=as_json, there=there)


def number_cells(
    name: str, values: AnyArray, *, as_json: bool, there: Bools | None = None
) -> Cells:
    """A field of numbers; times are written as such."""
    if name in TIMES and not as_json:
        known = pa.array(values >= 0)
        return Cells(name, pc.if_else(known, time_texts(values), "none"), there)
    return Cells(name, number_texts(values), there)


def list_texts(
    items: pa.LargeStringArray, list_offsets: I64, *, as_json: bool
) -> pa.LargeStringArray:
    """A list of texts for each node; in JSON these are what stands between the quotes."""
    lists = list_array(_quoted(items) if as_json else items, list_offsets, None)
    joined = pc.binary_join(lists, same_text(", " if as_json else ","))
    return side_by_side(["[", joined, "]"])


def _partitions(column: StructArrayColumn, *, as_json: bool) -> pa.LargeStringArray:
    """Partitions by topic, as ``TOPIC-PARTITION`` each."""
    topics = string_array(column.items.span("topic")).cast(pa.large_string())
    if as_json:
        distinct = topics.dictionary_encode()
        escaped = [text_to_json(text)[1:-1] for text in distinct.dictionary.to_pylist()]
        topics = pa.array(escaped, pa.large_string()).take(distinct.indices)
    numbers, bounds = column.items.span("partition_ids").gather()
    of = np.repeat(np.arange(column.items.n), np.diff(bounds))
    items = side_by_side([topics.take(pa.array(of)), "-", number_texts(numbers)])
    texts = list_texts(items, bounds[column.list_offsets], as_json=as_json)
    return pc.if_else(pa.array(column.counts < 0), "null" if as_json else "none", texts)


def _codes(values: AnyArray, shown: Callable[[Any], Any], *, as_json: bool) -> pa.LargeStringArray:
    """The form of each number, of few different ones."""
    numbers, index = np.unique(values, return_inverse=True)
    write = to_json if as_json else whole_text
    texts = pa.array((write(shown(number)) for number in numbers.tolist()), pa.large_string())
    return texts.take(pa.array(index))


def _strings(column: SpanColumn, *, as_json: bool) -> pa.LargeStringArray:
    if as_json:
        texts = column.strings()
        json = ("null" if text is None else text_to_json(text) for text in texts)
        return pa.array(json, pa.large_string())
    return string_array(column).cast(pa.large_string()).fill_null("none")


@dataclass(slots=True)
class ColumnFields:
    """Reads fields that stand in columns; as `metashell.fs.leaf_table.FieldsReader`."""

    columns: Mapping[str, AnyArray | pa.Array]

    def values(self, places: I64) -> Sequence[Fields]:
        columns = (
            column[places].tolist()
            if isinstance(column, np.ndarray)
            else column.take(pa.array(places)).to_pylist()
            for column in self.columns.values()
        )
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        cells = []
        for name, column in self.columns.items():
            if isinstance(column, np.ndarray):
                cells.append(number_cells(name, column[places], as_json=as_json))
                continue
            some = column.take(pa.array(places))
            items, bounds = some.flatten().cast(pa.large_string()), some.offsets.to_numpy()
            texts = list_texts(items, bounds - bounds[0], as_json=as_json)
            cells.append(Cells(name, texts))
        return lines_of(cells, as_json=as_json)


def _quoted(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return side_by_side(['"', texts, '"'])


def _json_of(fields: Fields) -> str:
    return to_json(finite(fields, null), ascii_only=True)
