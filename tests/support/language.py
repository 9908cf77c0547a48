"""The texts in the sources and their sentences: those for users, docstrings and comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

MOST_WORDS: Final = 25
"""The most words that a sentence may have."""
INDIRECT: Final = re.compile(r"(?:[-*] )?(?:What|Those|The same|As|Of)\b")
"""Matches the beginning of a sentence that does not name its thing first."""

_END: Final = re.compile(
    r"""(?<=[.!?])["'`)]*\s+ | \n\s*\n | \n(?=-[ ] | \| | [^\n]*[ ]{2,}\S)""", re.VERBOSE
)
"""Where a sentence ends: at its full stop, an empty line, or a line of a list or a table."""
_VALUE: Final = "X"
"""The word that stands for a value that is put in."""
_NOT_READ: Final = frozenset({"CSS", "DEFAULT_CSS"})
_CLAUSE_END: Final = re.compile(r"(?<=[:;]) ")


class Text(NamedTuple):
    """A text in a source file."""

    file: Path
    line: int
    text: str


def texts(file: Path) -> Iterator[Text]:
    """Yield the strings of a module that are no docstrings and no styles.

    A value that is put into a string counts as one word.
    """
    pending: list[ast.AST] = [ast.parse(file.read_text("utf-8"))]
    while pending:
        node = pending.pop()
        if _docstring(node) is not None or _is_style(node):
            continue
        text = _text(node)
        if text is None:
            pending += _children(node)
        else:
            yield Text(file, getattr(node, "lineno", 0), text)


def remarks(file: Path) -> Iterator[Text]:
    """Yield the docstrings of a module, also those below constants, and its comments.

    Lines of comments that follow on each other are one text.
    """
    source = file.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        text = _docstring(node)
        if text is not None:
            yield Text(file, getattr(node, "lineno", 0), text)
    comments: list[Text] = []
    end = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("# ")
        is_alone = token.line.lstrip().startswith("#")
        if is_alone and line == end + 1:
            comments[-1] = comments[-1]._replace(text=f"{comments[-1].text} {text}")
        else:
            comments.append(Text(file, line, text))
        end = line if is_alone else -1
    yield from comments


def clauses(text: str) -> list[str]:
    """Split a text into sentences, and these at colons and semicolons."""
    found = sentences(" ".join(text.split()))
    return [clause for sentence in found for clause in _CLAUSE_END.split(sentence)]


def sentences(text: str) -> list[str]:
    """Split a text; other line breaks in a sentence are spaces."""
    return [" ".join(part.split()) for part in _END.split(text) if part and not part.isspace()]


def words(sentence: str) -> int:
    """The number of words: what spaces divide, if there is a letter or a digit in it."""
    return sum(any(map(str.isalnum, word)) for word in sentence.split())


def _text(node: ast.AST) -> str | None:
    """The string that an expression is, with `_VALUE` for what only a run can tell."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) or _VALUE for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _text(node.left), _text(node.right)
        return None if parts == (None, None) else "".join(part or _VALUE for part in parts)
    return None


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Like `ast.iter_child_nodes`, without looking for fields that a node may lack."""
    for value in vars(node).values():
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))


def _docstring(node: ast.AST) -> str | None:
    """The text of a docstring, also of one below a constant; None for another node."""
    return _text(node.value) if isinstance(node, ast.Expr) else None


def _is_style(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in _NOT_READ for target in targets)
