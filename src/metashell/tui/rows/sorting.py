"""The order that a key asks for. Pure."""

from __future__ import annotations

Sort = tuple[str, bool]
"""(column, whether descending)."""


def sort_again(name: str, current: Sort | None, *, descends: bool) -> Sort | None:
    """The order of a column that is taken: its usual one, then in reverse, then none."""
    if current == (name, not descends):
        return None
    return (name, not descends) if current == (name, descends) else (name, descends)
