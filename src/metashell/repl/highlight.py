"""How the line being typed looks: a line to styled pieces, and nothing that steers the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.lexers import Lexer

from metashell.commands.framework.command import LineMode
from metashell.commands.framework.statement import is_comment, operators
from metashell.fs.escape import UNSAFE

# prompt_toolkit itself shows C0 and C1 as ^X.
_MISLEADING = re.compile(f"(?![\\x00-\\x1f\\x7f-\\x9f])[{UNSAFE}]")


def highlight(line: str, is_command: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Split a line into (kind, text); the texts joined are the line.

    Kinds: ``command``, ``unknown``, ``option``, ``path``, ``word``, ``quote``, ``bar``, ``shell``,
    ``comment``, ``space``.
    """
    if is_comment(line):
        return [("comment", line)]
    indent = len(line) - len(line.lstrip())
    if line[indent : indent + 1] == "!":
        whole = [("space", line[:indent]), ("bar", "!"), ("shell", line[indent + 1 :])]
        return [piece for piece in whole if piece[1]]
    pieces: list[tuple[str, str]] = []
    begin, is_file = 0, False
    for pos, operator in operators(line):
        pieces += [*_words(line[begin:pos], is_command, is_first=not is_file), ("bar", operator)]
        begin, is_file = pos + len(operator), operator[0] == ">"
        if operator == "|":
            pieces.append(("shell", line[begin:]))
            begin = len(line)
    pieces += _words(line[begin:], is_command, is_first=not is_file)
    return [piece for piece in pieces if piece[1]]


def _words(
    text: str, is_command: Callable[[str], bool], *, is_first: bool = True
) -> list[tuple[str, str]]:
    """Split what metashell runs into pieces."""
    pieces: list[tuple[str, str]] = []
    kind: str | None = None  # of the word that goes on, None between words
    pos = 0
    options_end = False
    while pos < len(text):
        if text[pos].isspace():
            stop = _skip(text, pos, str.isspace)
            pieces.append(("space", text[pos:stop]))
            kind = None
        elif text[pos] in "'\"":
            stop = _quoted(text, pos)
            pieces.append(("quote", text[pos:stop]))
            kind, is_first = kind or "word", False
        else:
            stop = _bare(text, pos)
            word = text[pos:stop]
            if kind is None:
                if is_first:
                    kind = "command" if is_command(word) else "unknown"
                elif word.startswith("-") and len(word) > 1 and not options_end:
                    kind = "option"
                    options_end = word == "--"
                else:
                    kind = "path" if "/" in word or word in {".", ".."} else "word"
            pieces.append((kind, word))
            is_first = False
        pos = stop
    return pieces


def _skip(text: str, pos: int, belongs: Callable[[str], bool]) -> int:
    while pos < len(text) and belongs(text[pos]):
        pos += 1
    return pos


def _quoted(text: str, pos: int) -> int:
    """Return where the quote that begins at `pos` ends; an open one ends with the text."""
    quote = text[pos]
    pos += 1
    while pos < len(text) and text[pos] != quote:
        pos += 2 if text[pos] == "\\" and quote == '"' else 1
    return min(len(text), pos + 1)


def _bare(text: str, pos: int) -> int:
    """Return where the unquoted stretch that begins at `pos` ends."""
    while pos < len(text) and not text[pos].isspace() and text[pos] not in "'\"":
        pos += 2 if text[pos] == "\\" else 1
    return min(len(text), pos)


class LineLexer(Lexer):
    """`highlight` for prompt_toolkit, or what a mode has in its place.

    Args:
        is_command: Tells whether a word names a command.
        mode: Returns what reads the lines in place of commands, if something does.
    """

    def __init__(
        self, is_command: Callable[[str], bool], mode: Callable[[], LineMode | None] = lambda: None
    ) -> None:
        self._is_command, self._mode = is_command, mode

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function from a line's number to its styled pieces."""
        mode = self._mode()
        if mode is None:
            rows = _rows(highlight(document.text, self._is_command))
        else:
            rows = [mode.highlight(line) for line in document.lines]

        def pieces(lineno: int) -> StyleAndTextTuples:
            if lineno >= len(rows):
                return []
            return [(f"class:line.{kind}", text) for kind, text in rows[lineno]]

        return pieces


def _rows(pieces: Iterable[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Pieces of a text as those of each of its rows."""
    rows: list[list[tuple[str, str]]] = [[]]
    for kind, text in pieces:
        first, *others = text.split("\n")
        rows[-1].append((kind, first))
        rows += [[(kind, other)] for other in others]
    return [[piece for piece in row if piece[1]] for row in rows]


class Misleading(Processor):
    """Shows characters that reorder what is read, pasted or from the history, as a mark."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Replace each by one character, so that positions stay."""
        fragments: StyleAndTextTuples = []
        for style, text, *_ in transformation_input.fragments:
            fragments.append((style, _MISLEADING.sub("\N{REPLACEMENT CHARACTER}", text)))
        return Transformation(fragments)
