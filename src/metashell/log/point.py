"""Points of a log as people write them: an offset, a time, or how long ago."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from metashell.errors import UsageError

_DURATION: Final = re.compile(r"(?:[0-9]{1,9}(?:ms|[smhdw]))+")
_DURATION_PART: Final = re.compile(r"([0-9]+)(ms|[smhdw])")
_UNIT_MS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
}
_OFFSET_DIGITS: Final = 19
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Point:
    """Where in a log: at an offset, or at a time in ms since the epoch; the other is None."""

    offset: int | None = None
    timestamp_ms: int | None = None


def parse_point(text: str, *, now_ms: int | None = None) -> Point:
    """Read an offset (``4111``), a time (``2026-09-21T14:14``; UTC unless it says otherwise),
    an age (``-2h``, ``-1d12h``, ``2h``; back from now) or ``now``.

    Args:
        text: What was typed.
        now_ms: The present; None for the clock's.

    Raises:
        UsageError: It is none of these.
    """
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return Point(offset=int(text))
    now = int(time.time() * 1000) if now_ms is None else now_ms
    if text == "now":
        return Point(timestamp_ms=now)
    age_ms = parse_duration(text.removeprefix("-"))
    if age_ms is not None:
        return Point(timestamp_ms=now - age_ms)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text or repr('')}: neither an offset nor a time",
            hint="such as 4111, 2026-09-21T14:14:09Z, 2026-09-21 or -2h",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Point(timestamp_ms=(moment - _EPOCH) // timedelta(milliseconds=1))


def parse_duration(text: str) -> int | None:
    """The ms of a duration such as ``2h`` or ``1d12h``, or None."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(int(number) * _UNIT_MS[unit] for number, unit in _DURATION_PART.findall(text))
