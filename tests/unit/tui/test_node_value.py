"""A node's value as lines."""

from __future__ import annotations

import pytest

from metashell.fs.node import JsonValue
from metashell.tui.node.value import (
    MOST_CHARACTERS,
    MOST_LINES,
    ValueLine,
    clipped,
    scalar_text,
    text_lines,
    value_lines,
)


def shown(value: JsonValue) -> list[str]:
    """The texts of a value's lines."""
    return [line.text for line in value_lines(value)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ["null"]),
        (7, ["7"]),
        ("orders", ["orders"]),
        ({}, ["{}"]),
        ([1, 2], ["[1, 2]"]),
        ({"a": 1, "long": [1, 2]}, ["a     1", "long  [1, 2]"]),
        ({"a": {"b": None}, "c": []}, ["a", "  b  null", "c  []"]),
        ({"a": [{"b": 1}, 2]}, ["a", "  - #0", "    b  1", "  - 2"]),
        ({"漢": 1, "abc": 2}, ["漢   1", "abc  2"]),
        ({"a": ["x" * 40, "y" * 40]}, ["a", f"  - {'x' * 40}", f"  - {'y' * 40}"]),
    ],
)
def test_value_lines(value: JsonValue, expected: list[str]) -> None:
    """Keys are aligned, short lists stand on one line, what is in something is indented."""
    assert expected == shown(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", '""'),
        ("null", '"null"'),
        ("-1", '"-1"'),
        ("a b", "a b"),
        (" a", '" a"'),
        (True, "true"),
    ],
)
def test_texts_are_told_from_other_values(value: JsonValue, expected: str) -> None:
    """A text that looks like a number or nothing is quoted."""
    assert expected == scalar_text(value)


def test_unsafe_characters_are_escaped() -> None:
    """Neither keys nor values steer a terminal or reorder what is read."""
    text = "\n".join(shown({"k\x1b[31m\n": "v\u202e\x07"}))
    assert r"k\x1b[31m\n" in text
    assert r"v\u202e\x07" in text


def test_deep_values() -> None:
    """How deep a value is nested is not ours to say."""
    value: JsonValue = 1
    for _ in range(400):
        value = {"a": value}
    lines = shown(value)
    assert len(lines) < 100
    assert '{"a": {"a"' in lines[-1]


def test_much_is_cut() -> None:
    """No more is kept than is shown, and it is told that there is more."""
    many, is_whole = clipped(ValueLine("x") for _ in range(MOST_LINES + 1))
    assert (MOST_LINES, False) == (len(many), is_whole)
    wide, is_whole = clipped([ValueLine("x" * (MOST_CHARACTERS + 1)), ValueLine("y")])
    assert [MOST_CHARACTERS] == [len(line.text) for line in wide]
    assert not is_whole
    full = ValueLine("x" * MOST_CHARACTERS)
    assert ([full], False) == clipped([full, ValueLine("y")])
    assert ([full], True) == clipped([full])


def test_text_lines() -> None:
    """A text keeps its lines; all else that is unsafe is escaped."""
    assert ["a", r"b\x1b", "    c"] == [line.text for line in text_lines("a\nb\x1b\n\tc")]
