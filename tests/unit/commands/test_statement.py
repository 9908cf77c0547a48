"""How a line is taken apart: commands, files behind ``>``, and what the system's shell gets."""

from __future__ import annotations

import pytest

from metashell.commands.framework.statement import (
    Redirect,
    Statement,
    for_system,
    join_continued,
    last_statement,
    logical_lines,
    needs_more,
    one_line,
    statements,
)
from metashell.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \t ", []),
        (";", []),
        ("# a remark | with a bar", []),
        ("  # indented", []),
        (" ls /image ", [Statement("ls /image")]),
        ("ls | wc -l", [Statement("ls", pipeline="wc -l")]),
        ("ls|wc|cat", [Statement("ls", pipeline="wc|cat")]),
        ("ls | while read x; do echo > y; done", [
            Statement("ls", pipeline="while read x; do echo > y; done")]),
        ("find / -regex 'a|b' | head", [Statement("find / -regex 'a|b'", pipeline="head")]),
        ('cat "a|b"', [Statement('cat "a|b"')]),
        (r'cat "a\"|b" | wc', [Statement(r'cat "a\"|b"', pipeline="wc")]),
        (r"cat 'a\' | wc", [Statement(r"cat 'a\'", pipeline="wc")]),
        (r"cat a\|b\>c\;d", [Statement(r"cat a\|b\>c\;d")]),
        ("cat 'open | wc", [Statement("cat 'open | wc")]),
        ("ls;pwd ;", [Statement("ls"), Statement("pwd", ";")]),
        ("ls && pwd||cat a&b", [
            Statement("ls"), Statement("pwd", "&&"), Statement("cat a&b", "||")]),
        ("cd /; ls | wc", [Statement("cd /"), Statement("ls", ";", pipeline="wc")]),
        ("ls>a", [Statement("ls", redirect=Redirect("a", appends=False))]),
        ("ls >> 'a b' /image; pwd", [
            Statement("ls /image", redirect=Redirect("a b", appends=True)), Statement("pwd", ";")]),
        ("find / -exec cat {} ; -name x", [Statement("find / -exec cat {} ; -name x")]),
        ("find / -exec cat {} + ; pwd", [
            Statement("find / -exec cat {} +"), Statement("pwd", ";")]),
        ("sql select 1 > 2; select 3", [Statement("sql select 1 > 2; select 3")]),
        ("sql -o csv select 1 > 2 | wc", [Statement("sql -o csv select 1 > 2", pipeline="wc")]),
        ("sql 'select 1' > a", [
            Statement("sql 'select 1'", redirect=Redirect("a", appends=False))]),
        ("sql .tables > a", [Statement("sql .tables", redirect=Redirect("a", appends=False))]),
        ("ls \\\n-l", [Statement("ls -l")]),
    ],
)  # fmt: skip
def test_statements(text: str, expected: list[Statement]) -> None:
    """Operators count outside of quotes; a pipe takes all that is behind it."""
    assert expected == statements(text)


@pytest.mark.parametrize(
    "text",
    [
        "| wc", "ls |", "ls |  ", "|", "&& ls", "ls &&", "ls || && pwd", "> a", "ls >",
        "ls > a > b", "ls > a | wc", "ls 2> a", "ls &> a", "ls >&2", "ls 1> a", "ls ; ; pwd && ",
    ],
)  # fmt: skip
def test_what_lacks_a_neighbour(text: str) -> None:
    """Operators need something on both sides, and an output goes to one place."""
    with pytest.raises(UsageError):
        statements(text)


@pytest.mark.parametrize(
    ("text", "program"),
    [("!date", "date"), ("! date -u | cat", "date -u | cat"), ("!", ""), ("ls !x", None)],
)
def test_what_is_for_the_system(text: str, program: str | None) -> None:
    """A bang in front takes all."""
    assert program == for_system(text)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("ls", False), ("ls \\", True), ("ls \\\\", False), ("ls 'a", True), ("ls 'a\nb'", False),
        ('ls "a\\"', True), ("ls | awk '{", False), ("ls | cat \\", True), ("# it's", False),
        ("!echo it's", False), ("!echo \\", True), ("ls 'a\\", True), ("", False),
        ("ls || cat 'a", True),
    ],
)  # fmt: skip
def test_lines_that_go_on(text: str, more: bool) -> None:
    """A backslash at the end and an open quote ask for another row; the system's quotes do not."""
    assert more == needs_more(text)


def test_rows_of_one_line() -> None:
    """They are one line; a backslash and the line end behind it are nothing."""
    text = "ls \\\n -l\ncat 'a\nb'\npwd"
    assert ["ls \\\n -l", "cat 'a\nb'", "pwd"] == list(logical_lines(text))
    assert "ls  -l" == one_line("ls \\\n -l")
    assert "cat 'a b'" == one_line("cat 'a\nb'")
    assert "cat 'a\\\nb'" == join_continued("cat 'a\\\nb'")
    assert ["ls 'a"] == list(logical_lines("ls 'a"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls /im", (0, "")),
        ("ls; cat /im", (3, "")),
        ("ls && ", (5, "")),
        ("ls | w", (4, "|")),
        ("ls > fi", (4, ">")),
        ("ls >", (4, ">")),
        ("ls > file /im", (0, "")),
    ],
)
def test_what_stands_at_the_cursor(text: str, expected: tuple[int, str]) -> None:
    """Completion is about the last command, a program behind a pipe, or a file behind ``>``."""
    assert expected == last_statement(text)
