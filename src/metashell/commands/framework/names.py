"""Names as words of a command: which rows they choose, and what is near a name of nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.errors import ExitCode

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.query import RowsQuery

_MOST_NEAR: Final = 3
_MOST_LISTED: Final = 12
"""Numbers that are all told in place of those that are near."""
_MOST_COMPARED: Final = 2000
"""Names that are compared letter by letter, which is slow."""


def near_names(word: str, names: Iterable[str]) -> list[str]:
    """The names that are most like a word, the nearest first; of very many, likely ones only."""
    from difflib import get_close_matches

    if set("*?[{") & set(word):
        return []
    wanted, head = word.casefold(), word[:1].casefold()
    folded = {name.casefold(): name for name in names}
    holding = sorted((n for n in folded if wanted and wanted in n), key=lambda n: (len(n), n))
    likely = list(folded)
    if len(folded) > _MOST_COMPARED:
        alike = (n for n in folded if n.startswith(head) or wanted in n)
        likely = list(islice(alike, _MOST_COMPARED))
    found = [*get_close_matches(wanted, likely, _MOST_NEAR, 0.7), *holding]
    return [folded[name] for name in dict.fromkeys(found)][:_MOST_NEAR]


def did_you_mean(near: Sequence[str]) -> str:
    """``; did you mean a, b or c?``; nothing where nothing is near."""
    if not near:
        return ""
    *others, last = near
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def tell_unknown(query: RowsQuery, word: str, what: str, names: Iterable[str]) -> None:
    """Report a word that names nothing, with the names near it; the exit status becomes 1."""
    known = list(names)
    if 0 < len(known) <= _MOST_LISTED and all(name.isdigit() for name in known):
        near = f"; there are {', '.join(sorted(known, key=int))}"
    else:
        near = did_you_mean(near_names(word, known))
    query.warn(f"{word}: no such {what}{near}")
    query.status = ExitCode.FAILED


def rows_named(
    query: RowsQuery,
    table: pa.Table,
    column: str,
    what: str,
    *,
    plain: Callable[[str], str] = str,
) -> pa.Table:
    """The rows that the command's arguments name; all where it has none.

    Args:
        query: Has the arguments, which may hold wildcards; told of those that name nothing.
        table: The rows.
        column: Its column of names or numbers.
        what: What a row stands for, in the singular.
        plain: Takes from an argument what people may write around a name.
    """
    words = query.parsed.arguments
    if not words:
        return table
    import pyarrow as pa

    from metashell.fs.pattern import Pattern

    names = ["" if value is None else str(value) for value in table.column(column).to_pylist()]
    chosen = [False] * len(names)
    for word in words:
        match = Pattern(plain(word)).match
        hits = [bool(match(name)) for name in names]
        if not any(hits):
            tell_unknown(query, word, what, dict.fromkeys(names))
        chosen = [a or b for a, b in zip(chosen, hits, strict=True)]
    return table.filter(pa.array(chosen, pa.bool_()))
