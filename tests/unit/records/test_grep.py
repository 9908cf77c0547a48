"""Which lines a regular expression matches, however that is found out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.records.window import GREP_CHARS, matching
from metashell.records.written_lines import WrittenLines

_LINES = [
    "10 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=orders",
    "",
    "11 2026-11-22T12:00:00.000Z 1 PARTITION_RECORD topic=orders orders orders",
    "13 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=ORDERS",
    "12 2026-11-22T12:00:00.000Z 1 TOPIC_RECORD name=bestellungen-ä",
]


def written(lines: Sequence[str]) -> WrittenLines:
    """Lines as the kernel writes them, as a part of others."""
    raws = [b"ab\n", *(f"{line}\n".encode() for line in lines), "ä\n".encode()]
    if all(map(str.isascii, lines)):
        raws.pop()
    bounds = np.cumsum([0, *map(len, raws)])[1 : len(lines) + 2]
    return WrittenLines(np.frombuffer(b"".join(raws), dtype=np.uint8), bounds)


FORMS = pytest.mark.parametrize("form", [list, written])
Form = Callable[[Sequence[str]], Sequence[str]]


def check(lines: Sequence[str], pattern: re.Pattern[str], form: Form) -> None:
    """A line matches where its beginning would match alone."""
    expected = [i for i, line in enumerate(lines) if pattern.search(line[:GREP_CHARS])]
    assert list(matching(form(lines), pattern)) == expected


@FORMS
@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize(
    "text",
    [
        *("orders", "TOPIC_RECORD", "ä", "1", "Z", " ", "orders 11", "\n", "no line", ""),
        *("^11", "orders$", r"name=\w+$", "(?i)orders", "orders|ä", "o.d", "[.]", "^$", r"\n", "#"),
        *(
            "x*",
            "Z?",
            "(orders )+",
            r"\bname\b",
            r"RECORD.*orders",
            r"s\s1",
            "[^a]$",
            r"\B1",
            "o++r",
        ),
        *("(?=11)", "(?<=11) ", r"(o)\1*", r"1{1,2} ", "[(]", r"\\", r"\.000Z 1", "-.", "ä.*|1.+o"),
    ],
)
def test_each_line_for_itself(text: str, n: int, form: Form) -> None:
    """A line matches where it would match alone; in ASCII, and where a line is not."""
    check(_LINES[:n], re.compile(text), form)


@given(
    lines=st.lists(st.text("ab0 ä.=", max_size=6), max_size=6),
    text=st.from_regex(
        re.compile(r"([ab0 .=ä]|\\[.dwbBsSWD]|\[\^?[ab0 ]\]|\((\?:)?[ab.]\|?[ab]?\)|\^|\$)"
                   r"([*+?]|\{1,2\})?[?+]?(\|?[ab0 .]([*+?]|\\b)?){0,3}"),
        fullmatch=True,
    ),
)  # fmt: skip
def test_any_patterns(lines: list[str], text: str) -> None:
    """Whatever they are made of."""
    try:
        pattern = re.compile(text)
    except re.error:
        return
    check(lines, pattern, list)
    check(lines, pattern, written)


@FORMS
@pytest.mark.parametrize("flags", [0, re.IGNORECASE, re.VERBOSE, re.ASCII])
def test_flags(flags: int, form: Form) -> None:
    """They count for plain texts too."""
    check(_LINES, re.compile("oRders", flags), form)


@FORMS
@pytest.mark.parametrize("text", ["end", "end$", "x$", r"\bx+e", "e[n]d", "nd?"])
@pytest.mark.parametrize("letter", ["x", "ä"])
def test_long_lines(text: str, letter: str, form: Form) -> None:
    """Only the beginning of a line is looked at."""
    lines = [letter * GREP_CHARS + "end", "end", letter * (GREP_CHARS - 3) + "end"]
    check(lines, re.compile(text), form)


@FORMS
@pytest.mark.parametrize("text", ["a5", "a", "x*", r"77\b", "^a1"])
def test_many_lines(text: str, form: Form) -> None:
    """More than are looked at together."""
    check([f"a{i}" * (i % 30) for i in range(5_000)], re.compile(text), form)


@FORMS
def test_no_lines(form: Form) -> None:
    """Nothing matches where there is nothing."""
    for text in ("x", "x*", "^"):
        check([], re.compile(text), form)
