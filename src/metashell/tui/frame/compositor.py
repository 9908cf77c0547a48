"""Draws the lines that changed and can be seen, each once.

Textual has every widget draw all of its lines, also those that nothing is asked of, or that lie
below other widgets. It asks the whole way up to the program for the style of each line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

_ONCE: Final = ("rich_style", "background_colors")
"""Attributes of a node that no drawing changes; computing them takes a walk up to the program."""


class _Drawing:
    styles: dict[tuple[DOMNode, str], Any] | None = None
    """By node and name, what was worked out for the picture at hand; None while there is none."""


_DRAWING: Final = _Drawing()


class LineCompositor(Compositor):
    """Asks widgets for no more lines than are shown."""

    _spans: Mapping[int, Sequence[tuple[int, int]]] | None = None
    """By line, (from, to) of the columns to be drawn; None for all of them."""

    has_told = False
    """Whether the last layout had anything to tell widgets: that they are seen, or their size."""

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay everything out."""
        result = super().reflow(parent, size)
        self.has_told = bool(result.shown or result.resized)
        return result

    def render_partial_update(self) -> ChopsUpdate | None:
        """Draw what has to be drawn anew."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for y, start, stop in self._regions_to_spans(self._dirty_regions):
            spans.setdefault(y, []).append((start, stop))
        self._spans = spans
        try:
            return super().render_partial_update()
        finally:
            self._spans = None

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        """By line and first column, the pieces that are drawn there; those in front win."""
        before, _DRAWING.styles = _DRAWING.styles, {}
        try:
            return self._pieces(crop, is_rendered_line)
        finally:
            _DRAWING.styles = before

    def _pieces(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        pieces: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        missing = [
            self._missing(y, cuts[y]) if is_rendered_line(y) else set() for y in range(len(cuts))
        ]
        for widget, (region, clip) in self.visible_widgets.items():
            if not crop.overlaps(clip):
                continue
            seen = region.intersection(clip)
            first, last = seen.column_span
            lines = [y for y in seen.line_range if any(first <= at < last for at in missing[y])]
            if not lines:
                continue
            top, n_lines = lines[0], lines[-1] + 1 - lines[0]
            strips = widget.render_lines(
                Region(first - region.x, top - region.y, seen.width, n_lines)
            )
            for y in lines:
                at = [cut for cut in cuts[y] if first <= cut <= last]
                parts = strips[y - top].divide([cut - first for cut in at[1:]])
                for cut, part in zip(at, parts, strict=False):
                    if cut in missing[y]:
                        missing[y].remove(cut)
                        pieces[y][cut] = part
        return cast("Sequence[Mapping[int, Strip]]", pieces)  # a whole picture leaves none out

    def _missing(self, y: int, cuts: Sequence[int]) -> set[int]:
        """First columns of the pieces of a line that have to be drawn."""
        if self._spans is None:
            return set(cuts[:-1])
        spans = self._spans.get(y, ())
        return {
            start
            for start, stop in pairwise(cuts)
            if any(start < end and begin < stop for begin, end in spans)
        }


def ask_styles_once() -> None:
    """Have nodes work out their styles once a drawing, for all programs of the process."""
    for name in _ONCE:
        work_out = vars(DOMNode)[name].fget
        if not hasattr(work_out, "once"):
            setattr(DOMNode, name, property(_once(name, work_out)))


def _once(name: str, work_out: Callable[[DOMNode], Any]) -> Callable[[DOMNode], Any]:
    def style(node: DOMNode) -> Any:
        styles = _DRAWING.styles
        if styles is None:
            return work_out(node)
        key = (node, name)
        if key not in styles:
            styles[key] = work_out(node)
        return styles[key]

    vars(style)["once"] = True
    return style
