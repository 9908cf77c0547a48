r"""Command lines as words: quotes ``'`` and ``"``, the backslash, and where each word stands.

The rules are those of POSIX shells without expansions: nothing is special between single quotes; a
backslash between double quotes quotes ``"`` and ``\`` alone; elsewhere it quotes any character. A
word remembers what was quoted, because a quoted ``*`` is no glob. Pure functions over one line.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.dataclass import dataclass
from metashell.errors import UsageError

_SPACE = frozenset(" \t\r\n\v\f")
_QUOTES = frozenset("'\"")
_IN_DOUBLE_QUOTES = frozenset('"\\')
_WILD = frozenset("*?[{")
_MAGIC = frozenset("*?[]{},\\!^-")
_BARE_SPECIAL = frozenset(" \t\r\n\v\f'\"\\*?[]{}|;&>")


class Word(str):
    """A word without its quotes; compares and behaves as the plain string.

    `pattern` is the word as a glob pattern (a backslash before each character that was quoted) and
    `wild` whether there is an unquoted wildcard in it; `start` and `stop` its span in the line,
    `raw` what stands there, and `open_quote` the quote that the line leaves open in it, or an empty
    string.
    """

    pattern: str
    wild: bool
    start: int
    stop: int
    raw: str
    open_quote: str

    def __new__(
        cls,
        text: str,
        pattern: str | None = None,
        *,
        wild: bool = False,
        start: int = 0,
        raw: str | None = None,
        open_quote: str = "",
    ) -> Word:
        word = super().__new__(cls, text)
        word.pattern = text if pattern is None else pattern
        word.wild = wild
        word.raw = text if raw is None else raw
        word.start = start
        word.stop = start + len(word.raw)
        word.open_quote = open_quote
        return word


@dataclass(frozen=True, slots=True)
class AtCursor:
    """A line as completion sees it: what stands before the cursor."""

    before: tuple[Word, ...]
    """Whole words before the one under the cursor, the command's name first."""
    word: Word
    """The part of the word under the cursor that stands before it; empty after a space."""


def split(line: str) -> list[Word]:
    """Split a command line into words.

    Raises:
        UsageError: A quote is not closed, or the line ends in a backslash.
    """
    words, problem = _scan(line)
    if problem:
        raise UsageError(problem)
    return words


def complete_at(line: str, cursor: int) -> AtCursor:
    """Split what stands before the cursor; quotes may be open. Pure."""
    line = line[: max(cursor, 0)]
    words, _ = _scan(line)
    if words and words[-1].stop == len(line):
        return AtCursor(tuple(words[:-1]), words[-1])
    return AtCursor(tuple(words), Word("", start=len(line)))


def quote(text: str, open_quote: str = "") -> str:
    """Write text so that it is read back as it is.

    Args:
        text: The text that the word stands for.
        open_quote: The quote already open where the text goes: it is kept open.
    """
    if open_quote == "'":
        return text.replace("'", "'\\''")
    if open_quote == '"':
        return "".join(f"\\{c}" if c in _IN_DOUBLE_QUOTES else c for c in text)
    return "".join(f"\\{c}" if c in _BARE_SPECIAL else c for c in text)


def quote_words(words: Sequence[str]) -> str:
    """Write words as one line that is split into the same words."""
    return " ".join(quote(word) or "''" for word in words)


class _Builder:
    """The word that is being read."""

    def __init__(self, line: str, start: int) -> None:
        self._line = line
        self._start = start
        self._text: list[str] = []
        self._pattern: list[str] = []
        self._wild = False

    def add(self, character: str, *, quoted: bool) -> None:
        """Append a character of the word."""
        self._text.append(character)
        self._pattern.append(f"\\{character}" if quoted and character in _MAGIC else character)
        self._wild = self._wild or (not quoted and character in _WILD)

    def word(self, stop: int, open_quote: str = "") -> Word:
        """The word, which ends before `stop`."""
        return Word(
            "".join(self._text),
            "".join(self._pattern),
            wild=self._wild,
            start=self._start,
            raw=self._line[self._start : stop],
            open_quote=open_quote,
        )


def _scan(line: str) -> tuple[list[Word], str]:
    """Split a line; an unfinished last word is kept.

    Returns:
        The words, and what is wrong at the end of the line or an empty string.
    """
    words: list[Word] = []
    builder: _Builder | None = None
    quote = ""
    problem = ""
    pos = 0
    while pos < len(line):
        character = line[pos]
        if not quote and character in _SPACE:
            if builder is not None:
                words.append(builder.word(pos))
                builder = None
            pos += 1
            continue
        builder = builder or _Builder(line, pos)
        if character == "\\" and quote != "'":
            following = line[pos + 1 : pos + 2]
            if quote and following not in _IN_DOUBLE_QUOTES:
                builder.add(character, quoted=True)
            elif following:
                builder.add(following, quoted=True)
                pos += 1
            else:
                problem = "nothing stands after the backslash"
        elif quote:
            if character == quote:
                quote = ""
            else:
                builder.add(character, quoted=True)
        elif character in _QUOTES:
            quote = character
        else:
            builder.add(character, quoted=False)
        pos += 1
    if builder is not None:
        words.append(builder.word(len(line), quote))
    if quote:
        problem = f"the quote {quote} is not closed: {words[-1].raw[:60]}"
    return words, problem
