"""The order that a key asks for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Sort = tuple[str, bool]
"""(column, whether descending)."""


def sort_again(name: str, current: Sort | None, *, descends: bool) -> Sort | None:
    """The order of a column that is taken: its usual one, then in reverse, then none."""
    if current == (name, not descends):
        return None
    return (name, not descends) if current == (name, descends) else (name, descends)


def sort_by_letter(
    names: Sequence[str],
    letter: str,
    current: Sort | None,
    sorted_column: Callable[[str], str],
    descends: Callable[[str], bool],
) -> tuple[int, Sort] | None:
    """(place of the column, order) for a letter; None where no column begins with it.

    Each column comes in both orders before the next one does.

    Args:
        names: The columns shown.
        letter: A small one.
        current: The order that holds.
        sorted_column: The column that a column shown is sorted by.
        descends: Whether a column's usual order is descending.
    """
    ways: list[tuple[int, Sort]] = []
    for i, name in enumerate(names):
        if name.startswith(letter):
            by = sorted_column(name)
            ways += [(i, (by, descends(by))), (i, (by, not descends(by)))]
    if not ways:
        return None
    orders = [order for _, order in ways]
    at = orders.index(current) + 1 if current in orders else 0
    return ways[at % len(ways)]
