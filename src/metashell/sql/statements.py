"""The text of SQL statements, as far as it must be understood before an engine sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$.*?(?:\$(?P=tag)\$|\Z))
    |(?P<text>'(?:[^']|'')*(?:'|\Z))
    |(?P<quoted>"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z))
    |(?P<word>[^\W\d]\w*)
    |(?P<end>;)
    |(?P<space>\s+)
    |(?P<other>\d\w*|.)""",
    re.VERBOSE | re.DOTALL,
)
KEYWORDS: Final = tuple(
    """
    select from where group by order having limit offset join left right full inner outer cross on
    using as and or not in is null like ilike between exists case when then else end distinct all
    union intersect except with recursive asc desc nulls first last count sum min max avg filter
    over partition qualify unnest list_contains true false cast explain describe create temp view
    table drop values pivot summarize interval
    """.split()  # noqa: SIM905 - seventy quoted words are harder to read
)
"""Keywords that completion proposes besides names."""

_BEFORE_TABLES: Final = frozenset({"from", "join", "table", "describe", "desc"})
"""The words before a table's name."""
_BEHIND_TABLES: Final = frozenset(
    {"select", "where", "group", "order", "having", "limit", "union", "except", "intersect"}
)
"""The words that begin another clause: behind a comma of theirs no table can stand."""


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Split a text into (kind, piece); the pieces joined are the text.

    Kinds: ``comment``, ``dollar`` and ``text`` (strings), ``quoted`` (a name), ``word``, ``end``
    (a semicolon), ``space``, ``other``. A string or comment without an end reaches to the text's
    end.
    """
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        yield ("dollar" if kind == "tag" else kind), match[0]


def split_statements(text: str) -> tuple[list[str], str]:
    """Split a text at its semicolons.

    Returns:
        The statements that are complete, without semicolons, and what stands behind the last.
    """
    found: list[str] = []
    pieces: list[str] = []
    for kind, piece in tokens(text):
        if kind == "end":
            found.append("".join(pieces))
            pieces = []
        else:
            pieces.append(piece)
    return [one for one in found if not is_blank(one)], "".join(pieces)


def is_blank(text: str) -> bool:
    """Whether a text holds spaces and comments alone."""
    return all(kind in ("space", "comment") for kind, _ in tokens(text))


def names_in(text: str) -> frozenset[str]:
    """Everything in a statement that may be a name, in lower case."""
    return frozenset(
        (piece if kind == "word" else piece[1:-1].replace(piece[0] * 2, piece[0])).casefold()
        for kind, piece in tokens(text)
        if kind in ("word", "quoted")
    )


def sources_in(text: str) -> frozenset[str]:
    """The names in a statement that stand where a table can, in lower case."""
    found, before = [], ""
    # For each open parenthesis: whether a comma there stands between tables.
    lists = [False]
    for kind, piece in tokens(text):
        if kind in ("space", "comment"):
            continue
        can_be = before in _BEFORE_TABLES or (before == "," and lists[-1])
        if kind in ("word", "quoted") and can_be:
            found.append(piece)
        before = piece.casefold()
        if before == "(":
            lists.append(False)
        elif before == ")" and len(lists) > 1:
            lists.pop()
        elif kind == "word" and before in _BEFORE_TABLES:
            lists[-1] = True
        elif kind in ("word", "end") and before in (*_BEHIND_TABLES, ";"):
            lists[-1] = False
    return names_in(" ".join(found))


def words_of(text: str) -> tuple[str, ...]:
    """The bare words of a statement, in lower case, in order."""
    return tuple(piece.casefold() for kind, piece in tokens(text) if kind == "word")
