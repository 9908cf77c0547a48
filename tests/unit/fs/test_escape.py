"""What a terminal is spared, and that no text fails to become bytes."""

from __future__ import annotations

import pytest

from metashell.fs.escape import escape, escape_text, to_bytes


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("Üñí-日本語-😀", "Üñí-日本語-😀"),
        ("a\x01\x1b[31m", "a\\x01\\x1b[31m"),
        ("tab\tline\nreturn\r", "tab\\tline\\nreturn\\r"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u2028\u2029\u202e\u2066\u061c\u200f", "\\u2028\\u2029\\u202e\\u2066\\u061c\\u200f"),
        ("\udc80", "\\udc80"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_unsafe_characters_of_a_name_are_shown(name: str, shown: str) -> None:
    """Controls, bidirectional marks and surrogates become escapes; all else stays."""
    assert shown == escape(name)


def test_a_text_keeps_its_lines_and_tabs() -> None:
    """A leaf's text keeps line feeds and tabs, but no other control."""
    assert "a\tb\nc\\r\\x1b" == escape_text("a\tb\nc\r\x1b")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("é", b"\xc3\xa9"),
        ("\udcff", b"\xff"),
        ("\ud800", b"\xed\xa0\x80"),
    ],
)
def test_every_text_becomes_bytes(text: str, data: bytes) -> None:
    """Lone surrogates go out as the bytes they came from, or leniently."""
    assert data == to_bytes(text)
