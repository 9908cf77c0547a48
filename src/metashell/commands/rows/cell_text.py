"""The cells of a table as text, a column at a time.

Types that an answer's columns can have: bool, integers, floats, strings, timestamps in ms (UTC),
lists of integers and of strings, JSON (Arrow's own type); null where there is nothing or nothing
is known. Everything is done by Arrow on whole columns; only columns with unusual characters are
gone through in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.fs.escape import escape
from metashell.schema.dump import text_to_json
from metashell.schema.timestamps import iso_time

_PLAIN: Final = r"^[ -~]*$"
_PLAIN_IN_JSON: Final = r"^[ !#-\[\]-~]*$"
_ODD_IN_LIST: Final = '[,"]|^$'
_FIRST_ODD_YEAR_MS: Final = 253_402_300_800_000
"""Times from the year 10000 on are written one by one."""


def plain_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Cells as they are: ``true``, ``12``, ISO times; lists with commas between, and elements
    in double quotes, doubled inside, that hold such or a comma or are empty; null stays.

    Returns:
        Strings, as many.
    """
    return _texts(_one(column), "true", "false")


def plain(rows: pa.Table) -> pa.Table:
    """The rows with a text in each cell, also in columns that hold each text once."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            rows = rows.set_column(at, field.name, plain_column(rows.column(at)))
    return rows


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One column of them."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def shown_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Cells as a person reads them: ``yes``, ``-`` for null, control characters escaped."""
    array = _one(column)
    texts = _texts(array, "yes", "no")
    return pc.fill_null(texts if _is_plain(array.type) else escaped(texts), "-")


def json_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Cells as JSON texts; null is ``null``."""
    array = _one(column)
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _relisted(array, json_texts(array.flatten()))
        body = pc.binary_join(inner, ", ")
        texts = pc.binary_join_element_wise("[", body, "]", "")
    elif pa.types.is_floating(kind):
        texts = pa.array(
            [None if v is None or not math.isfinite(v) else repr(v) for v in array.to_pylist()],
            pa.string(),
        )
    elif is_json(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts = _texts(array, "true", "false")
    else:
        texts = _quoted(_texts(array, "true", "false"))
    return pc.fill_null(texts, "null")


def replaced(texts: pa.ChunkedArray, pairs: Sequence[tuple[str, str]]) -> pa.ChunkedArray:
    """The texts with a character, then the next one, replaced by what is written for it."""
    for character, written in pairs:
        texts = pc.replace_substring(texts, character, written)
    return texts


def escaped(texts: pa.Array) -> pa.Array:
    """Strings with what steers a terminal or ends a line written as escapes."""
    return _mapped(texts, _PLAIN, escape)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column stands to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether cells are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def is_json(kind: pa.DataType) -> bool:
    """Whether cells are JSON, which JSON and YAML have as it is."""
    return isinstance(kind, pa.JsonType)


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _texts(array: pa.Array, true: str, false: str) -> pa.Array:
    kind = array.type
    if is_list(kind):
        values = _texts(array.flatten(), true, false)
        inner = _relisted(array, values if _is_sound(array.flatten()) else _elements(values))
        return pc.binary_join(inner, ",")
    if is_json(kind):
        return array.storage
    if pa.types.is_string(kind):
        return array
    if pa.types.is_boolean(kind):
        return pc.if_else(array, true, false)
    if pa.types.is_timestamp(kind):
        return _times(array)
    return array.cast(pa.string())


def _is_plain(kind: pa.DataType) -> bool:
    """Whether texts of such cells have nothing to escape."""
    if is_list(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_timestamp(kind)
    )


def _is_sound(elements: pa.Array) -> bool:
    """Whether commas can stand between the texts of these as they are."""
    return _is_plain(elements.type) and not elements.null_count


def _elements(texts: pa.Array) -> pa.Array:
    """Texts that commas can stand between: what could be taken for more or none is quoted."""
    odd = pc.match_substring_regex(texts, _ODD_IN_LIST)
    if pc.any(odd, min_count=0).as_py():
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(odd, pc.binary_join_element_wise('"', doubled, '"', ""), texts)
    return pc.fill_null(texts, "")


def _relisted(array: pa.Array, values: pa.Array) -> pa.Array:
    """Lists of the same lengths with other elements; null lists stay null."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = pc.cumulative_sum(lengths.cast(pa.int32()))
    list_offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    lists = pa.ListArray.from_arrays(list_offsets, values)
    return lists if not array.null_count else pc.if_else(array.is_valid(), lists, None)


def _times(array: pa.Array) -> pa.Array:
    ms = array.cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
    usual = pc.and_(pc.greater_equal(ms, 0), pc.less(ms, _FIRST_ODD_YEAR_MS))
    if not pc.all(usual, min_count=0).as_py():
        return pa.array([None if v is None else iso_time(v) for v in ms.to_pylist()], pa.string())
    # Seconds that are counted in ms have three digits after the point already. Arrow is 30 times
    # slower where it is told of the zone.
    text = pc.replace_substring(ms.cast(pa.timestamp("ms")).cast(pa.string()), " ", "T")
    return pc.binary_join_element_wise(text, "Z", "")


def _quoted(texts: pa.Array) -> pa.Array:
    """Strings as JSON writes them."""
    if _all_match(texts, _PLAIN_IN_JSON):
        return pc.binary_join_element_wise('"', texts, '"', "")
    return pa.array(
        [None if text is None else text_to_json(text) for text in texts.to_pylist()], pa.string()
    )


def _mapped(texts: pa.Array, plain: str, change: Callable[[str], str]) -> pa.Array:
    if _all_match(texts, plain):
        return texts
    changed: list[Any] = [None if t is None else change(t) for t in texts.to_pylist()]
    return pa.array(changed, pa.string())


def _all_match(texts: pa.Array, regex: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, regex), min_count=0).as_py())


_DATE: Final = len("2026-11-22")
_DAY_MS: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1)
_MS: Final = pa.timestamp("ms", tz="UTC")


def newest_day(table: pa.Table) -> str | None:
    """The date of the newest time of a table; None where it has none, or times of no usual year."""
    newest = None
    for column in table.columns:
        if not pa.types.is_timestamp(column.type):
            continue
        ends = pc.min_max(_ms(column))
        least, most = ends["min"].as_py(), ends["max"].as_py()
        if most is None:
            continue
        if least < 0 or most >= _FIRST_ODD_YEAR_MS:
            return None
        newest = most if newest is None else max(newest, most)
    return None if newest is None else day_of(newest)


def day_of(ms: int) -> str:
    """The date (UTC) of ms since the epoch."""
    (text,) = shown_texts(pa.array([ms], _MS))
    return str(text.as_py()[:_DATE])


def short_times(values: pa.ChunkedArray | pa.Array, day: str) -> tuple[pa.Array, bool]:
    """Times of a day as ``09:27:01``, others as ``2026-11-21 09:27:01``, null as ``-``.

    Args:
        values: Timestamps, of years from 1970 to 9999.
        day: The day, as of `newest_day`.

    Returns:
        string[n], and whether any is short.
    """
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    ms = array.cast(_MS, safe=False).cast(pa.int64())
    days = pc.divide(ms, _DAY_MS)
    of_day = pc.subtract(ms, pc.multiply(days, _DAY_MS))
    seconds = pc.divide(of_day, 1000).cast(pa.int32())
    time = seconds.cast(pa.time32("s")).cast(pa.string())
    newest = (date.fromisoformat(day) - _EPOCH).days
    is_short = pc.fill_null(pc.equal(days, newest), False)
    texts = time
    if not pc.all(pc.or_kleene(is_short, ms.is_null()), min_count=0).as_py():
        dates = days.cast(pa.int32()).cast(pa.date32()).cast(pa.string())
        texts = pc.if_else(is_short, time, pc.binary_join_element_wise(dates, time, " "))
    return pc.fill_null(texts, "-"), bool(pc.any(is_short, min_count=0).as_py())


def _ms(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_MS, safe=False).cast(pa.int64())
