"""Completion and highlighting of SQL: keywords, tables, and the columns of tables named."""

from __future__ import annotations

import re
from typing import Final

from metashell.commands.framework.command import Completion, Context
from metashell.commands.sql.session import names_of
from metashell.sql.catalog import TableNames
from metashell.sql.statements import KEYWORDS, names_in, tokens, words_of

_LIMIT: Final = 200
_LAST_WORD: Final = re.compile(r"[^\W\d]\w*\Z|\Z")
_BEFORE_TABLES: Final = frozenset({"from", "join", "describe", "summarize", "pivot", "table"})
_DOT_COMMANDS: Final = {
    ".tables": "the tables",
    ".schema": "columns of a table, or of all",
    ".help": "what there is",
    ".exit": "back to commands",
}
_KINDS: Final = {
    "space": "space",
    "comment": "comment",
    "dollar": "quote",
    "text": "quote",
    "quoted": "path",
}


def complete_sql(context: Context, text: str) -> list[Completion]:
    """Propose what may stand at the end of a statement that is not complete."""
    names = names_of(context)
    stripped = text.lstrip()
    if stripped.startswith("."):
        return _complete_dot(names, stripped)
    kinds = [kind for kind, _ in tokens(text)]
    if kinds and kinds[-1] in ("comment", "dollar", "text", "quoted"):
        return []
    found = _LAST_WORD.search(text)
    typed = found[0] if found is not None else ""
    head = text[: len(text) - len(typed)]
    before = words_of(head)
    proposals: dict[str, str] = {}
    after_a_table = bool(before) and head.rstrip().casefold().endswith(before[-1])
    if before and before[-1] in _BEFORE_TABLES and after_a_table:
        proposals.update(_tables(names, typed))
    else:
        proposals.update(_columns(names, text[: -len(typed)] if typed else text))
        if typed:
            proposals.update(_tables(names, typed))
            proposals.update((word, "") for word in KEYWORDS)
    return _matching(proposals, typed)


def highlight_sql(line: str) -> list[tuple[str, str]]:
    """Split a line into (kind, text)."""
    if line.lstrip().startswith("."):
        return [("command", line)]
    keywords = frozenset(KEYWORDS)
    return [
        (
            "command"
            if kind == "word" and piece.casefold() in keywords
            else _KINDS.get(kind, "word"),
            piece,
        )
        for kind, piece in tokens(line)
    ]


def _complete_dot(names: TableNames, text: str) -> list[Completion]:
    command, space, typed = text.partition(" ")
    if not space:
        return _matching(_DOT_COMMANDS, command)
    if command != ".schema":
        return []
    return _matching(_tables(names, typed), typed)


def _tables(names: TableNames, typed: str) -> dict[str, str]:
    """Tables of the image; those of record types once something is typed."""
    shown = names.names if typed else names.listed
    return {name: names.info(name).help.rstrip(".") if not typed else "table" for name in shown}


def _columns(names: TableNames, text: str) -> dict[str, str]:
    """Columns of the tables that a statement names."""
    found: dict[str, str] = {}
    for word in sorted(names_in(text)):
        table = names.find(word)
        if table is not None:
            found.update(dict.fromkeys(names.info(table).schema.names, table))
    return found


def _matching(proposals: dict[str, str], typed: str) -> list[Completion]:
    folded = typed.casefold()
    return [
        Completion(name, -len(typed), name, meta)
        for name, meta in proposals.items()
        if name.casefold().startswith(folded)
    ][:_LIMIT]
