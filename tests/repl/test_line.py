"""How a line is shared between metashell and the system's shell."""

from __future__ import annotations

import pytest

from metashell.errors import UsageError
from metashell.repl.line import ShellLine, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ShellLine(None, None)),
        ("  \t ", ShellLine(None, None)),
        ("# a remark | with a bar", ShellLine(None, None)),
        ("  # indented", ShellLine(None, None)),
        (" ls /image ", ShellLine("ls /image", None)),
        ("!date", ShellLine(None, "date")),
        ("! date -u | cat", ShellLine(None, "date -u | cat")),
        ("!", ShellLine(None, "")),
        ("ls | wc -l", ShellLine("ls", "wc -l")),
        ("ls|wc|cat", ShellLine("ls", "wc|cat")),
        ("find / -regex 'a|b' | head", ShellLine("find / -regex 'a|b'", "head")),
        ('cat "a|b"', ShellLine('cat "a|b"', None)),
        (r'cat "a\"|b" | wc', ShellLine(r'cat "a\"|b"', "wc")),
        (r"cat 'a\' | wc", ShellLine(r"cat 'a\'", "wc")),
        (r"cat a\|b", ShellLine(r"cat a\|b", None)),
        (r"cat \'| wc", ShellLine(r"cat \'", "wc")),
        ("cat 'open | wc", ShellLine("cat 'open | wc", None)),
        ("ls !x", ShellLine("ls !x", None)),
    ],
)
def test_parse(text: str, expected: ShellLine) -> None:
    """A line is split at the first bar outside quotes, a bang first takes all."""
    assert expected == parse(text)


@pytest.mark.parametrize("text", ["| wc", "ls |", "ls |  ", "|"])
def test_bar_without_neighbour(text: str) -> None:
    """A bar needs something on both sides."""
    with pytest.raises(UsageError):
        parse(text)
