"""Wrapping lines, and finding texts in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.commands.shared.columns import display_width
from metashell.tui.lines import folded
from metashell.tui.node.node_lines import matches
from support.strategies import CHARACTERS


@pytest.mark.parametrize(
    ("text", "indent", "expected"),
    [
        ("", 0, [""]),
        ("short", 0, ["short"]),
        ("0123456789ab", 0, ["0123456789", "ab"]),
        ("one two three", 0, ["one two ", "three"]),
        ("key  0123456789", 5, ["key  01234", "56789"]),
        ("漢漢漢漢漢漢", 0, ["漢漢漢漢漢", "漢"]),
        ("漢漢漢漢漢a", 0, ["漢漢漢漢漢", "a"]),
    ],
)
def test_folded(text: str, indent: int, expected: list[str]) -> None:
    """Lines go on below between words, and within those that are too long."""
    assert expected == [text[a:b] for a, b in folded(text, 10, indent, indent)]


def test_a_word_that_fits_below_its_name_is_whole() -> None:
    """An id that has no room beside its name has a row of its own."""
    text = "directories  [r2gcbxjDNQ, wxXW]"
    assert ["directories  ", "[r2gcbxjDNQ, ", "wxXW]"] == [
        text[a:b] for a, b in folded(text, 18, 4, 13)
    ]


@given(
    st.text(CHARACTERS, max_size=80),
    st.integers(0, 20),
    st.integers(2, 30),
)
def test_nothing_is_lost(text: str, indent: int, width: int) -> None:
    """The pieces are the whole line, and each fits."""
    pieces = folded(text, width, min(indent, width // 2))
    assert text == "".join(text[a:b] for a, b in pieces)
    for n, (a, b) in enumerate(pieces):
        room = width - (min(indent, width // 2) if n else 0)
        assert display_width(text[a:b].rstrip(" ")) <= max(room, 2)


def test_matches() -> None:
    """A text is found whatever the case, more than once; an empty one nowhere."""
    assert [(0, 2), (3, 5)] == matches("AB ab", "aB")
    assert [] == matches("ab", "")
    assert [] == matches("ß", "s")
