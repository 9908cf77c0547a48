"""A recording of the explorer as one animated SVG: no script, no fonts, small enough for a page.

A row of the screen is drawn once for each text that it ever has, and is seen while it has it. What
looks the same has one class, and what is seen at the same times one animation. Where nothing moves,
because animations are not wanted, the frame called the poster stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from rich.color import blend_rgb
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from support.pilot import Driver

_CELL, _LINE, _SIZE = 8.4, 17.0, 14
"""Width and height of a cell and of its letters, in pixels."""
_MARGIN, _HEAD = 10, 38
_DIM: Final = 0.5
_SPACE: Final = "\u00a0"
"""Several of them stay several everywhere."""
_FRAME: Final = "#1e1e1e"
_TITLE: Final = "#e0e0e0"
_FONTS: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
Look = tuple[str, bool, bool, bool]
"""Colour of the letters; whether they are bold, underlined, italic."""


@dataclass(frozen=True, slots=True)
class Run:
    """Cells of a row that look the same."""

    text: str
    width: int
    """Cells."""
    look: Look
    background: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The screen at one moment."""

    seconds: float
    """How long it is seen."""
    caption: str
    """What is told above it."""
    state: str
    """What the explorer shows, such as its path and offset: what is to stay the same."""
    rows: tuple[tuple[Run, ...], ...]


def frame_of(driver: Driver, caption: str, seconds: float) -> Frame:
    """The screen as it is now."""
    strips = driver.app.screen._compositor.render_strips()
    cluster = driver.view_state.cluster
    assert cluster is not None
    offset = "the end" if cluster.moment_offset is None else f"offset {cluster.moment_offset}"
    rows = tuple(tuple(map(_run, Segment.simplify(strip))) for strip in strips)
    return Frame(seconds, caption, f"{driver.view.id} {driver.app.path} at {offset}", rows)


def _run(segment: Segment) -> Run:
    style = segment.style or Style()
    theme = SVG_EXPORT_THEME
    front, back = style.color, style.bgcolor
    colour = theme.foreground_color if front is None else front.get_truecolor(theme)
    ground = theme.background_color if back is None else back.get_truecolor(theme, foreground=False)
    if style.reverse:
        colour, ground = ground, colour
    if style.dim:
        colour = blend_rgb(colour, ground, _DIM)
    look = (colour.hex, bool(style.bold), bool(style.underline), bool(style.italic))
    return Run(segment.text, segment.cell_length, look, ground.hex)


def text_of(frame: Frame) -> str:
    """The screen of a frame as text."""
    return "\n".join("".join(run.text for run in row).rstrip() for row in frame.rows)


def states_of(svg: str) -> list[str]:
    """What each frame of a recording shows, as the recording says it."""
    start, end = svg.index("<desc>") + len("<desc>"), svg.index("</desc>")
    return svg[start:end].strip().split("\n")


def states(frames: Sequence[Frame]) -> list[str]:
    """What `states_of` gives of the recording of some frames."""
    return [escape(f"{frame.caption}: {frame.state}") for frame in frames]


def recording(frames: Sequence[Frame], title: str, poster: int = 0) -> str:
    """The SVG.

    Args:
        frames: In their order; they begin anew after the last.
        title: What it is, for who cannot see it.
        poster: The frame that stands still where nothing may move.
    """
    n_columns = max(sum(run.width for run in row) for row in frames[0].rows)
    width = n_columns * _CELL + 2 * _MARGIN
    height = len(frames[0].rows) * _LINE + _HEAD + _MARGIN
    writer = _Writer(frames, poster)
    middle = f'<text x="{_n(width / 2)}" y="24" text-anchor="middle" class="h"'
    captions = [
        f"{middle}{writer.seen({i})}>{escape(frame.caption)}</text>"
        for i, frame in enumerate(frames)
    ]
    rows = [piece for y in range(len(frames[0].rows)) for piece in writer.row(y)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}"'
        f' width="{_n(width)}" height="{_n(height)}" role="img">',
        f"<title>{escape(title)}</title>",
        "<desc>",
        *states(frames),
        "</desc>",
        "<style>",
        f"text{{font:{_SIZE}px {_FONTS}}}",
        f".h{{fill:{_TITLE};font-weight:bold}}",
        *writer.rules(),
        "@media (prefers-reduced-motion:reduce){*{animation:none!important}}",
        "</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{_FRAME}"/>',
        *(
            f'<circle cx="{18 + 18 * i}" cy="19" r="6" fill="{colour}"/>'
            for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
        *captions,
        f'<g transform="translate({_MARGIN} {_HEAD})">',
        *rows,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Writer:
    """Writes rows, and keeps which styles and animations they need."""

    def __init__(self, frames: Sequence[Frame], poster: int) -> None:
        self._frames, self._poster = frames, poster
        self._looks: dict[Look, str] = {}
        self._shows: dict[frozenset[int], str] = {}

    def row(self, y: int) -> list[str]:
        """A group for each text that a row has."""
        found: dict[tuple[Run, ...], set[int]] = {}
        for i, frame in enumerate(self._frames):
            found.setdefault(frame.rows[y], set()).add(i)
        return [
            f'<g{self.seen(frames)} transform="translate(0 {_n(y * _LINE)})">'
            f"{self._cells(runs)}</g>"
            for runs, frames in found.items()
        ]

    def seen(self, frames: set[int]) -> str:
        """The attributes of what is seen in some of the frames."""
        if len(frames) == len(self._frames):
            return ""
        name = self._shows.setdefault(frozenset(frames), f"s{len(self._shows)}")
        hidden = "" if self._poster in frames else ' visibility="hidden"'
        return f' style="animation-name:{name}"{hidden}'

    def _cells(self, runs: Sequence[Run]) -> str:
        grounds, texts, x = [], [], 0
        for run in runs:
            place = f'x="{_n(x * _CELL)}"'
            wide = _n(run.width * _CELL)
            if run.background != _FRAME:
                grounds.append(
                    f'<rect {place} width="{wide}" height="{_n(_LINE)}" fill="{run.background}"/>'
                )
            text = run.text if run.look[2] else run.text.rstrip()
            if text.strip() or (run.look[2] and text):
                texts.append(self._text(run, text, x))
            x += run.width
        return "".join(grounds + texts)

    def _text(self, run: Run, text: str, x: int) -> str:
        blank = 0 if run.look[2] else len(text) - len(text.lstrip())
        text = text[blank:]
        cells = run.width - blank - (0 if run.look[2] else len(run.text) - len(run.text.rstrip()))
        name = self._looks.setdefault(run.look, f"l{len(self._looks)}")
        return (
            f'<text class="{name}" x="{_n((x + blank) * _CELL)}" y="{_n(_LINE - 4)}"'
            f' textLength="{_n(cells * _CELL)}">{escape(text.replace(" ", _SPACE))}</text>'
        )

    def rules(self) -> list[str]:
        """The style sheet of all that was written."""
        rules = []
        for (colour, is_bold, is_underlined, is_italic), name in self._looks.items():
            rule = f"fill:{colour}"
            rule += ";font-weight:bold" if is_bold else ""
            rule += ";text-decoration:underline" if is_underlined else ""
            rule += ";font-style:italic" if is_italic else ""
            rules.append(f".{name}{{{rule}}}")
        whole = sum(frame.seconds for frame in self._frames)
        rules.append(f"[style]{{animation:{_n(whole)}s step-end infinite}}")
        rules += [f"@keyframes {name}{{{self._steps(at)}}}" for at, name in self._shows.items()]
        return rules

    def _steps(self, frames: frozenset[int]) -> str:
        """The moments from which on something is seen, and no longer."""
        whole, passed, steps = sum(frame.seconds for frame in self._frames), 0.0, []
        before: bool | None = None
        for i, frame in enumerate(self._frames):
            is_seen = i in frames
            if is_seen is not before:
                value = "visible" if is_seen else "hidden"
                steps.append(f"{_n(100 * passed / whole)}%{{visibility:{value}}}")
            before, passed = is_seen, passed + frame.seconds
        return "".join(steps)


def _n(value: float) -> str:
    """A number as short as it may be."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
