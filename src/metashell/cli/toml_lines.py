"""Where in a TOML file a key stands, which `tomllib` does not tell. For errors only."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence


def line_of(text: str, keys: Sequence[str]) -> int:
    """The line, from 1, at which what defines a key begins.

    Args:
        text: A file that can be parsed and has the key.
        keys: The way to it, such as ``("clusters", "prod", "at")``.
    """
    lines = text.split("\n")
    # A beginning of the file that can be parsed and has the key, and one that lacks it.
    with_it, without = len(lines), 0
    while with_it - without > 1:
        middle = (with_it + without) // 2
        # No line within a value of several ends such a beginning.
        last = next((n for n in range(middle, without, -1) if _parsed(lines, n) is not None), None)
        if last is None:
            last = next(n for n in range(middle, with_it + 1) if _parsed(lines, n) is not None)
            if last == with_it:
                break
        if _has(_parsed(lines, last), keys):
            with_it = last
        else:
            without = last
    return without + 1


def _parsed(lines: Sequence[str], count: int) -> object:
    """The first lines of a file as TOML, or None."""
    try:
        return tomllib.loads("\n".join(lines[:count]))
    except (ValueError, RecursionError):
        return None


def _has(tree: object, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(tree, dict) or key not in tree:
            return False
        tree = tree[key]
    return True
