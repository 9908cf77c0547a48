"""Times as a terminal shows them: the time of day, and the date only where it is another one.

In every other format times are whole, as ISO 8601 has them.
"""

from __future__ import annotations

from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_text import shown_texts

_FIRST_ODD_YEAR_MS: Final = 253_402_300_800_000
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
