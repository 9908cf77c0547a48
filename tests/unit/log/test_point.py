"""How points of a log are written."""

from __future__ import annotations

import pytest

from metashell.errors import UsageError
from metashell.log.point import Point, parse_point

NOW = 1_790_000_000_000


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("0", Point(offset=0)),
        ("4111", Point(offset=4111)),
        ("now", Point(timestamp_ms=NOW)),
        ("-2h", Point(timestamp_ms=NOW - 7_200_000)),
        ("1d12h", Point(timestamp_ms=NOW - 129_600_000)),
        ("-90s", Point(timestamp_ms=NOW - 90_000)),
        ("-250ms", Point(timestamp_ms=NOW - 250)),
        ("1970-01-01", Point(timestamp_ms=0)),
        ("1970-01-01T00:00:01.5Z", Point(timestamp_ms=1500)),
        ("1970-01-01T01:00+01:00", Point(timestamp_ms=0)),
    ],
)
def test_points(text: str, point: Point) -> None:
    """Offsets, times in UTC unless they say otherwise, ages."""
    assert parse_point(text, now_ms=NOW) == point


@pytest.mark.parametrize("text", ["", "-", "-2", "2 h", "yesterday", "1e3", "9" * 20, "²"])
def test_no_points(text: str) -> None:
    """Anything else is an error of the command line."""
    with pytest.raises(UsageError, match="neither an offset nor a time"):
        parse_point(text)
