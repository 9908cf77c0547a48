"""Which lines a regular expression matches, however that is found out."""

from __future__ import annotations

import re

import pytest

from metashell.records.grep import GREP_CHARS, matching

_LINES = [
    "10 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=orders",
    "",
    "11 2026-11-22T12:00:00.000Z 1 PARTITION_RECORD topic=orders orders orders",
    "12 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=bestellungen-ä",
    "13 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=ORDERS",
]


@pytest.mark.parametrize(
    "text",
    [
        *("orders", "TOPIC_RECORD", "ä", "1", "Z", " ", "orders 11", "\n", "no line", ""),
        *("^11", "orders$", r"name=\w+$", "(?i)orders", "orders|ä", "o.d", "[.]", "^$", r"\n", "#"),
    ],
)
def test_each_line_for_itself(text: str) -> None:
    """A line matches where it would match alone."""
    pattern = re.compile(text)
    expected = [i for i, line in enumerate(_LINES) if pattern.search(line)]
    assert list(matching(_LINES, pattern)) == expected


@pytest.mark.parametrize("flags", [0, re.IGNORECASE, re.VERBOSE])
def test_flags(flags: int) -> None:
    """They count for plain texts too."""
    pattern = re.compile("oRders", flags)
    expected = [i for i, line in enumerate(_LINES) if pattern.search(line)]
    assert list(matching(_LINES, pattern)) == expected


@pytest.mark.parametrize("text", ["end", "end$", "x$"])
def test_long_lines(text: str) -> None:
    """Only the beginning of a line is looked at."""
    lines = ["x" * GREP_CHARS + "end", "end", "x" * (GREP_CHARS - 3) + "end"]
    pattern = re.compile(text)
    expected = [i for i, line in enumerate(lines) if pattern.search(line[:GREP_CHARS])]
    assert list(matching(lines, pattern)) == expected


def test_no_lines() -> None:
    """Nothing matches where there is nothing."""
    assert list(matching([], re.compile("x"))) == []
