"""Colours of the line being typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.document import Document

from metashell.repl.highlight import LineLexer, highlight

is_command = {"ls", "cat", "find"}.__contains__


def pieces(line: str) -> str:
    """Return the pieces of a line in one string, spaces left out."""
    return " ".join(
        f"{kind}:{text}" for kind, text in highlight(line, is_command) if kind != "space"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("ls", "command:ls"),
        ("lss", "unknown:lss"),
        ("  ls -l /image foo", "command:ls option:-l path:/image word:foo"),
        ("ls .. .", "command:ls path:.. path:."),
        ("ls -- -l", "command:ls option:-- word:-l"),
        ("ls -", "command:ls word:-"),
        ("cat 'a b' \"c d", "command:cat quote:'a b' quote:\"c d"),
        ("cat /a'b c'/d", "command:cat path:/a quote:'b c' path:/d"),
        (r"cat a\ b", r"command:cat word:a\ b"),
        ("cat 'a|b' | wc -l", "command:cat quote:'a|b' bar:| shell: wc -l"),
        ("!ls -l", "bar:! shell:ls -l"),
        ("# ls", "comment:# ls"),
    ],
)
def test_highlight(line: str, expected: str) -> None:
    """Each part of a line has its kind."""
    assert expected == pieces(line)


@given(st.text(alphabet="ls -/'\"\\|!# a\x1b\u202e"))
def test_nothing_is_lost(line: str) -> None:
    """The pieces joined are the line, whatever it holds."""
    assert line == "".join(text for _, text in highlight(line, is_command))


def test_lexer() -> None:
    """prompt_toolkit gets a style class for every piece, and nothing past the end."""
    get_line = LineLexer(is_command).lex_document(Document("ls /a"))
    assert [
        ("class:line.command", "ls"),
        ("class:line.space", " "),
        ("class:line.path", "/a"),
    ] == get_line(0)
    assert [] == get_line(1)
