"""How a line is shared between metashell and the system's shell."""

from __future__ import annotations

import pytest

from metashell.errors import UsageError
from metashell.repl.line import Line, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Line(None, None)),
        ("  \t ", Line(None, None)),
        ("# a remark | with a bar", Line(None, None)),
        ("  # indented", Line(None, None)),
        (" ls /image ", Line("ls /image", None)),
        ("!date", Line(None, "date")),
        ("! date -u | cat", Line(None, "date -u | cat")),
        ("!", Line(None, "")),
        ("ls | wc -l", Line("ls", "wc -l")),
        ("ls|wc|cat", Line("ls", "wc|cat")),
        ("find / -regex 'a|b' | head", Line("find / -regex 'a|b'", "head")),
        ('cat "a|b"', Line('cat "a|b"', None)),
        (r'cat "a\"|b" | wc', Line(r'cat "a\"|b"', "wc")),
        (r"cat 'a\' | wc", Line(r"cat 'a\'", "wc")),
        (r"cat a\|b", Line(r"cat a\|b", None)),
        (r"cat \'| wc", Line(r"cat \'", "wc")),
        ("cat 'open | wc", Line("cat 'open | wc", None)),
        ("ls !x", Line("ls !x", None)),
    ],
)
def test_parse(text: str, expected: Line) -> None:
    """A line is split at the first bar outside quotes, a bang first takes all."""
    assert expected == parse(text)


@pytest.mark.parametrize("text", ["| wc", "ls |", "ls |  ", "|"])
def test_bar_without_neighbour(text: str) -> None:
    """A bar needs something on both sides."""
    with pytest.raises(UsageError):
        parse(text)
