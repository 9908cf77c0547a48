"""What a peer says, made fit for a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.security.peer_text import one_line
from support.strategies import CHARACTERS


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" two  words \n", "two words"),
        ("a\r\nb\x1b[2J\u202ec\x00", "a b [2J c"),
        ("x" * 11, "x" * 10 + "..."),
        ("x" * 10, "x" * 10),
        ("\n" * 1_000_000 + "x", ""),
    ],
)
def test_one_line(text: str, line: str) -> None:
    """One line of printable characters, cut where it is long."""
    assert one_line(text, 10) == line


@given(st.text(CHARACTERS))
def test_any_text(text: str) -> None:
    """Whatever it is: printable, and no longer than said."""
    line = one_line(text, 20)
    assert line.isprintable()
    assert len(line) <= 23
