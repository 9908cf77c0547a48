"""Which columns of a table fit a terminal, and how wide each is there.

A column that is needed never goes: its cells take more lines, or it comes on a page of its own
below the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow.compute as pc

from metashell.commands.rows.columns import IDENTIFYING, Shrink
from metashell.commands.rows.drawn_column import LEAST_NAME, MOST_WRAPPED, ROOMY, DrawnColumn
from metashell.commands.shared.columns import display_width

GAP: Final = "  "
_MOST_OF_USUAL: Final = 2
"""Where not all fits, no column is wider for the sake of a few names that are longer than that."""

Page = list[DrawnColumn]


def fit(columns: Sequence[DrawnColumn], width: int) -> list[Page]:
    """The columns that a terminal shows: side by side, and on further pages what must not go."""
    most = max(LEAST_NAME, width // 2)
    chosen = [
        replace(c, least=min(c.least, max(most, display_width(c.header))))
        if c.column.shrink is Shrink.MIDDLE and not c.is_rigid
        else c
        for c in columns
        if not c.says_nothing
    ] or list(columns)
    if whole(chosen) > width:
        chosen = [replace(c, width=min(c.width, _capped(c))) for c in chosen]
    if whole(chosen) > width:
        # Where there is little room nothing gives way to columns that say nothing.
        chosen = [c for c in chosen if not c.is_empty or c.is_needed] or chosen
    needed = [c for c in chosen if c.is_needed]
    if _least(needed) <= width:
        return [_narrowed(_most_important(chosen, width), width)]
    needed = [replace(c, wraps=True) for c in needed]
    tight = [replace(c, least=c.tight, width=c.below_header) for c in needed]
    if _least(tight) <= width:
        is_wrapped = len(columns[0].texts) <= MOST_WRAPPED
        return [_wrapping(tight, width) if is_wrapped else _narrowed(tight, width)]
    return [_narrowed(page, width) for page in _pages(needed, width)]


def whole(columns: Sequence[DrawnColumn]) -> int:
    """Width of a table in which nothing is cut."""
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def _least(columns: Sequence[DrawnColumn]) -> int:
    return sum(column.least for column in columns) + len(GAP) * (len(columns) - 1)


def _capped(column: DrawnColumn) -> int:
    """How wide a column is at most where not all fits: not all rows pay for a few long names."""
    return max(column.least, _MOST_OF_USUAL * column.usual, ROOMY)


def _most_important(columns: Sequence[DrawnColumn], width: int) -> Page:
    """The columns that have room, by priority; a narrow one may stand for a wide one."""
    by_priority = lambda i: (not columns[i].is_needed, -columns[i].column.priority, i)  # noqa: E731
    chosen: set[int] = set()
    used = -len(GAP)
    for i in sorted(range(len(columns)), key=by_priority):
        need = columns[i].least + len(GAP)
        if not chosen or used + need <= width:
            chosen.add(i)
            used += need
    return [column for i, column in enumerate(columns) if i in chosen]


def _pages(columns: Sequence[DrawnColumn], width: int) -> list[Page]:
    """Pages of columns; each begins with those that tell which row it is."""
    keys = [c for c in columns if c.column.priority >= IDENTIFYING] or list(columns[:1])
    widest = max(columns, key=lambda c: c.least)
    while len(keys) > 1 and _least([*keys, widest]) > width:
        keys.pop()
    pages = [keys]
    ids = set(map(id, keys))
    for column in columns:
        if id(column) in ids:
            continue
        if len(pages[-1]) > len(keys) and _least([*pages[-1], column]) > width:
            pages.append(keys)
        pages[-1] = [*pages[-1], column]
    return pages


def _narrowed(columns: Page, width: int) -> Page:
    """Columns with the widths that have room; the widest gives way first."""
    widths = [column.width for column in columns]
    spare = width - len(GAP) * (len(columns) - 1)
    while sum(widths) > spare:
        candidates = [i for i, column in enumerate(columns) if widths[i] > column.least]
        if not candidates:
            break
        candidates.sort(key=lambda i: -widths[i])
        next_widest = widths[candidates[1]] if len(candidates) > 1 else 0
        at = candidates[0]
        floor = max(columns[at].least, min(next_widest, widths[at] - 1))
        widths[at] = max(floor, widths[at] - (sum(widths) - spare))
    return [replace(column, width=w) for column, w in zip(columns, widths, strict=True)]


def _wrapping(columns: Page, width: int) -> Page:
    """Columns with the widths at which their rows take about the fewest lines."""
    widths = [column.width for column in columns]
    spare = width - len(GAP) * (len(columns) - 1)
    lengths = [pc.utf8_length(column.texts).to_numpy() for column in columns]
    heights = np.ones(len(lengths[0]), dtype=np.int64)
    while (over := sum(widths) - spare) > 0:
        steps = []
        for i, column in enumerate(columns):
            for narrower in range(column.least, widths[i]):
                saved = min(over, widths[i] - narrower)
                lines = np.maximum(heights, -(-lengths[i] // narrower)).sum() - heights.sum()
                steps.append((lines / saved, -saved, -narrower, i))
        _, _, narrower, at = min(steps)
        widths[at] = -narrower
        heights = np.maximum(heights, -(-lengths[at] // widths[at]))
    return [replace(column, width=w) for column, w in zip(columns, widths, strict=True)]
