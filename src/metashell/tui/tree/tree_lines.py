"""A line of the tree as it is drawn: guides, an arrow, the name, a mark. No widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from metashell.fs.escape import escape
from metashell.tui.tree.outline import TreeLine

MARK: Final = "•"
"""The mark behind a node that changed."""
_LONGEST: Final = 300
"""Characters of a name that are measured: no tree is wider."""
_OPEN, _CLOSED = "▾ ", "▸ "


def arrow_columns(line: TreeLine) -> range:
    """Where the arrow of a directory is; empty for anything else."""
    if not line.is_dir or not line.depth:
        return range(0)
    start = 2 * (line.depth - 1)
    return range(start, start + len(_OPEN))


def width_of(line: TreeLine) -> int:
    """Columns that a line takes where nothing of it is cut, with room for a mark."""
    guides = 2 * max(line.depth - 1, 0) + len(_OPEN) * bool(line.is_dir and line.depth)
    guides += 2 * (line.depth > 1 and not line.is_dir)
    filtered = f" /{line.text}" if line.text else ""
    name = line.note or line.name
    return guides + cell_len(name[:_LONGEST]) + cell_len(filtered[:_LONGEST]) + 1 + len(MARK) + 1


def draw_line(
    line: TreeLine, is_marked: bool, style: Style, part: Callable[[str], Style], width: int
) -> Strip:
    """A line of the tree, cut to the width; `part` gives what a component adds to its style."""
    guides = "".join("  " if is_last else "│ " for is_last in line.lasts[1:-1])
    if line.depth > 1:
        guides += "└ " if line.lasts[-1] else "├ "
    if line.is_dir and line.depth:
        guides += _OPEN if line.is_open else _CLOSED
    # However deep: some of the name is to be seen.
    guides = guides[-max(width * 2 // 3, 1) :]
    tail = f" {MARK}" if is_marked else ""
    name = line.note or (line.name + "/" if line.is_dir else line.name)
    room = max(width - cell_len(guides) - len(tail), 0)
    kind = style
    if line.note:
        kind = style + part("node-tree--note")
    elif line.is_dir:
        kind = style + part("node-tree--directory")
    shown = cut(name, room)
    segments = [
        Segment(guides, style + part("node-tree--guide")),
        Segment(shown, kind),
        Segment(tail, style + part("node-tree--mark")),
    ]
    if line.text:
        left = room - cell_len(shown)
        segments.append(Segment(cut(f" /{line.text}", left), style + part("node-tree--note")))
    # A terminal would be told the style of an empty text, too.
    return Strip([piece for piece in segments if piece.text]).adjust_cell_length(width, style)


def cut(text: str, width: int) -> str:
    """Data as a text of at most some columns, a longer one with an ellipsis at its end."""
    # No more of a huge text is looked at than can be seen.
    shown = escape(text[: width + 1])
    if cell_len(shown) <= width and len(text) <= width + 1:
        return shown
    return set_cell_size(shown, width - 1).rstrip() + "…" if width > 0 else ""
