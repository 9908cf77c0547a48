"""The path of a node as the title of its panel: each component leads to its directory. No widget.

Components that do not fit are left out at the front.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from rich.cells import cell_len
from textual.content import Content

from metashell.fs.path import decode_name, split
from metashell.tui.tree.tree_lines import cut

_BETWEEN: Final = " › "
_LEFT_OUT: Final = "… "
_NOT_THERE: Final = "  (not there at this offset)"
_WIDEST: Final = 40
"""Columns that a component takes at most."""


class PathTitle:
    """A path, as far as there is room for its end.

    Args:
        path: An absolute path.
        missing: How many of its last components are not there.
        room: Columns of the title.
    """

    def __init__(self, path: str, missing: int, room: int) -> None:
        parts = split(path)
        labels = ["/", *(cut(decode_name(part), _WIDEST) for part in parts)]
        note = _NOT_THERE if missing else ""
        widths = [cell_len(label) + len(_BETWEEN) for label in labels]
        first = 0
        while first < len(labels) - 1 and sum(widths[first:]) + len(note) > room:
            first += 1
        pieces: list[str | tuple[str, str]] = [_LEFT_OUT] if first else []
        for i, label in enumerate(labels[first:], start=first):
            is_gone = i >= len(labels) - missing
            pieces += [(_BETWEEN, "$text-muted")] if i > first else []
            pieces.append((label, "$text-warning strike" if is_gone else ""))
        self.content: Final = Content.assemble(*pieces, (note, "$text-warning"))
        begin = len(_LEFT_OUT) if first else 0
        ends = accumulate(widths[first:], initial=begin)
        self._ends = [end - len(_BETWEEN) for end in ends][1:]
        self._paths = ["/" + "/".join(parts[:n]) for n in range(first, len(labels))]

    def path_at(self, column: int) -> str | None:
        """The path up to the component in a column; None beside all of them."""
        pairs = zip(self._ends, self._paths, strict=True)
        return next((path for end, path in pairs if 0 <= column < end), None)
