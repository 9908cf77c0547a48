"""Words: quoting, spans, what is under the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.commands.framework.command_line import (
    Word,
    complete_at,
    quote,
    quote_words,
    split,
)
from metashell.errors import UsageError
from support.strategies import CHARACTERS


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  ls\t-1  /a ", ["ls", "-1", "/a"]),
        ("cat 'a b' \"c d\" e\\ f", ["cat", "a b", "c d", "e f"]),
        ("a'b'\"c\"d", ["abcd"]),
        ("'' \"\"", ["", ""]),
        ('\'\\\' "\\\\" "\\"" "\\a"', ["\\", "\\", '"', "\\a"]),
        ("a\\'b \\\\", ["a'b", "\\"]),
        ("é\u00a0x", ["é\u00a0x"]),
    ],
)
def test_words_of_a_line(line: str, words: list[str]) -> None:
    """Quotes and backslashes as in a POSIX shell."""
    assert words == split(line)


@pytest.mark.parametrize(
    ("line", "pattern", "wild"),
    [
        ("a*", "a*", True),
        ("'a*'", "a\\*", False),
        ("a\\*b*", "a\\*b*", True),
        ("'[a]'[b-c]", "\\[a\\][b-c]", True),
        ('"{a,b}"', "\\{a\\,b\\}", False),
        ("plain", "plain", False),
    ],
)
def test_a_word_remembers_what_was_quoted(line: str, pattern: str, wild: bool) -> None:
    """The pattern has a backslash before what was quoted."""
    (word,) = split(line)
    assert (pattern, wild) == (word.pattern, word.wild)


def test_a_word_knows_where_it_stands() -> None:
    """Spans are those of the raw text."""
    line = " ls  'a b'c "
    assert ["ls", "'a b'c"] == [line[word.start : word.stop] for word in split(line)]


@pytest.mark.parametrize("line", ["cat 'a", 'cat "a', "cat a\\", 'cat "a\\"'])
def test_an_unfinished_line_is_a_usage_error(line: str) -> None:
    """A quote that is not closed, or a backslash at the end."""
    with pytest.raises(UsageError):
        split(line)


@pytest.mark.parametrize(
    ("line", "before", "word", "raw", "open_quote"),
    [
        ("", [], "", "", ""),
        ("l", [], "l", "l", ""),
        ("ls ", ["ls"], "", "", ""),
        ("ls /a b", ["ls", "/a"], "b", "b", ""),
        ("ls 'a b", ["ls"], "a b", "'a b", "'"),
        ('ls a\\ b"c', ["ls"], "a bc", 'a\\ b"c', '"'),
        ("ls a\\", ["ls"], "a", "a\\", ""),
        ("ls 'a' ", ["ls", "a"], "", "", ""),
    ],
)
def test_the_word_under_the_cursor(
    line: str, before: list[str], word: str, raw: str, open_quote: str
) -> None:
    """What stands before the cursor counts, quotes may be open."""
    at = complete_at(line + "ignored", len(line))
    found = (list(at.before), at.word, at.word.raw, at.word.open_quote)
    assert (before, word, raw, open_quote) == found


@given(st.text(CHARACTERS))
def test_no_line_breaks_completion(line: str) -> None:
    """Any text has words and a cursor."""
    for cursor in (0, len(line) // 2, len(line)):
        at = complete_at(line, cursor)
        assert cursor == at.word.stop


@given(st.lists(st.text(CHARACTERS)))
def test_quoted_words_are_read_back(words: list[str]) -> None:
    """`quote_words` is undone by `split`."""
    read = split(quote_words(words))
    assert words == read
    assert not any(word.wild for word in read)


@given(st.text(CHARACTERS), st.sampled_from(["'", '"']))
def test_text_in_an_open_quote_is_read_back(text: str, open_quote: str) -> None:
    """`quote` leaves the quote open that it was told of."""
    assert [text] == split(open_quote + quote(text, open_quote) + open_quote)


def test_a_word_is_a_string() -> None:
    """It compares and hashes as one."""
    assert {"a"} == {Word("a"), "a"}
