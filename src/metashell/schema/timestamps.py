"""Times as text: as Java prints them, which is how Kafka's nodes read, and for columns.

Any int64 of milliseconds has a text, also where no calendar of Python's reaches.

Source: java.time.format.DateTimeFormatter.ISO_ZONED_DATE_TIME.
"""

from __future__ import annotations

from typing import Final

_DAY_MS: Final = 86_400_000


def java_time(timestamp_ms: int) -> str:
    """``2026-09-21T14:14:09.411Z[UTC]``: any int64 of ms since the epoch.

    Zeros at the end of the second's fraction are left out, as in Java.
    """
    text, ms = _to_the_second(timestamp_ms)
    if ms:
        text += f".{ms:03}".rstrip("0")
    return f"{text}Z[UTC]"


def iso_time(timestamp_ms: int) -> str:
    """``2026-09-21T14:14:09.410Z``: always with milliseconds, so that columns align."""
    text, ms = _to_the_second(timestamp_ms)
    return f"{text}.{ms:03}Z"


def span_text(ms: int) -> str:
    """A span of time by its two largest units, such as ``3d 4h``."""
    sign, seconds = ("-" if ms < 0 else ""), abs(ms) // 1000
    for size, unit, below, smaller in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if seconds >= size:
            return f"{sign}{seconds // size}{unit} {seconds % size // below}{smaller}"
    return f"{sign}{seconds}s"


def _to_the_second(timestamp_ms: int) -> tuple[str, int]:
    """Date and time without a zone, and the milliseconds left."""
    days, ms = divmod(timestamp_ms, _DAY_MS)
    year, month, day = _civil_date(days)
    seconds, ms = divmod(ms, 1000)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{sign}{abs(year):04}-{month:02}-{day:02}T{text}", ms


def _civil_date(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01, in the proleptic calendar.

    Years begin in March here, so that the leap day is a year's last; an era is 400 years.
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year + (month <= 2), month, day
