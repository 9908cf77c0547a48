"""Completion of what stands behind the predicates of ``find``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Final

from metashell.commands.framework.command import Completion, Context
from metashell.errors import PathError
from metashell.fs.node import Directory

_OF_BROKERS: Final = frozenset({"-leader", "-replica", "-isr"})


def complete_command(context: Context, args: Sequence[str], word: str) -> list[Completion] | None:
    """Propose what may stand in the command of an ``-exec``; None where the word is in none."""
    from metashell.commands.framework.completion import complete_commands, complete_words

    start = next((i for i in range(len(args) - 1, -1, -1) if args[i] == "-exec"), None)
    if start is None:
        return None
    words = args[start + 1 :]
    if ";" in words or any(pair == ("{}", "+") for pair in pairwise(words)):
        return None
    return complete_words(context, words, word) if words else complete_commands(word)


def complete_value(context: Context, args: Sequence[str], word: str) -> list[Completion] | None:
    """Propose brokers and keys of configs; None where neither comes next."""
    from metashell.commands.framework.completion import complete_names

    last = args[-1] if args else ""
    if last in _OF_BROKERS:
        return complete_names(word, _children(context, "/image/cluster/brokers"))
    return complete_names(word, _config_keys(context)) if last == "-config" else None


def _directory(context: Context, path: str) -> Directory | None:
    from metashell.commands.framework.cluster import inside
    from metashell.fs.path import resolve

    here = inside(context) or context
    try:
        node = resolve(here.root, path).node
    except PathError:
        return None
    return node if isinstance(node, Directory) else None


def _children(context: Context, path: str) -> Sequence[str]:
    directory = _directory(context, path)
    return () if directory is None else directory.names()


def _config_keys(context: Context) -> Sequence[str]:
    directory = _directory(context, "/image/configs")
    grid = None if directory is None else directory.grid()
    return () if grid is None else sorted(set(chain.from_iterable(grid.shapes)))
