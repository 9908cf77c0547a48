"""Names as words of a command: which rows they choose, and which names are near an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.rows.query import COUNT
from metashell.errors import ExitCode, MetashellError
from metashell.fs.pattern import Pattern
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.query import RowsQuery

_MOST_LISTED: Final = 12
"""Numbers that are all told in place of those that are near."""


def and_meant(message: str, near: Sequence[str]) -> str:
    """A message that names nothing, with the names near it where there are any."""
    meant = did_you_mean(near)
    return f"{message}; {meant}" if meant else message


def tell_unknown(query: RowsQuery, word: str, what: str, names: Iterable[str]) -> None:
    """Report a word that names nothing, with the names near it, as `refuse_count` does."""
    refuse_count(query, unknown(word, what, names))


def unknown(word: str, what: str, names: Iterable[str], flag: str = "") -> str:
    """That a word, or an option's value, names nothing, with few ids whole or the names near it."""
    known, title = list(names), f"{flag} {word}" if flag else word
    if 0 < len(known) <= _MOST_LISTED and all(name.isdigit() for name in known):
        return f"{title}: no such {what}; there are {', '.join(sorted(known, key=int))}"
    return and_meant(f"{title}: no such {what}", near_names(word, known))


def refuse_count(query: RowsQuery, message: str) -> None:
    """Report a name that names nothing; the exit status becomes 1.

    Rows of other names are an answer. A number is none: a script that compares it with 0 would
    take a misspelt name for good news.

    Raises:
        MetashellError: A number is asked for, or a program asks.
    """
    if COUNT in query.parsed.switches or query.context.refuses_names:
        raise MetashellError(message)
    query.warn(message)
    query.status = ExitCode.FAILED


def rows_named(
    query: RowsQuery,
    table: pa.Table,
    column: str,
    what: str,
    *,
    plain: Callable[[str], str] = str,
    words: Sequence[str] | None = None,
) -> pa.Table:
    """The rows that the command's arguments name; all where it has none.

    Args:
        query: Has the arguments, which may hold wildcards; told of those that name nothing.
        table: The rows.
        column: Its column of names or numbers.
        what: The noun for a row, in the singular.
        plain: Takes from an argument what people may write around a name.
        words: The arguments that count; None for all.
    """
    words = query.parsed.arguments if words is None else words
    if not words:
        return table
    import pyarrow as pa

    names = ["" if value is None else str(value) for value in table.column(column).to_pylist()]
    chosen = [False] * len(names)
    for word in words:
        match = Pattern(plain(word)).match
        hits = [bool(match(name)) for name in names]
        if not any(hits):
            tell_unknown(query, word, what, dict.fromkeys(names))
        chosen = [a or b for a, b in zip(chosen, hits, strict=True)]
    return table.filter(pa.array(chosen, pa.bool_()))
