"""Walks through the explorer: steps in, and a note of each screen out, compared with a kept one.

A step is a word of the walk's script: a key as Textual names it, or one of these.

- ``type:TEXT`` types a text.
- ``click:X,Y`` clicks at a cell; ``on:TEXT`` clicks on the first cell of a text on the screen, and
  ``on2:TEXT`` twice.
- ``hover:X,Y`` and ``wheel:X,Y`` and ``wheelup:X,Y`` move and turn the mouse.
- ``go:PATH``, ``at:OFFSET`` and ``size:COLUMNSxROWS`` go, travel and resize.

The note of a step names the binding that answered, the view, the path, the focus, cursors, what was
copied, what was told, and the rows of the screen that differ from those of the step before, with
their looks.
``METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_walks.py`` writes the kept notes anew.
"""

from __future__ import annotations

import asyncio
import lzma
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import Compositor
from textual.app import App
from textual.binding import Binding
from textual.widgets import Input, TextArea

from metashell.tui.session import ExplorerSession
from support.fixtures import DATA
from support.pilot import SMALL, Driver, drive
from support.snapshots import UPDATE, is_updating
from support.waiting import LIMIT_S

FOLDER: Final = DATA / "walks"
_MOST_LINES: Final = 120
"""Of a difference that is printed."""
_RESTING: Final = frozenset(
    {
        "App.run_test.<locals>.run_app",
        "MessagePump._process_messages",
        "Timer._run_timer",
        "drive.<locals>.run",
    }
)
"""Tasks that go on while nothing happens."""
_MOST_COPIED: Final = 300
"""Characters of a copied text that are noted."""
_MOST_DRAWN: Final = 9
"""So often a screen is drawn until drawing it changes nothing."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Steps through a source."""

    name: str
    open: Callable[[Path], ExplorerSession]
    """Makes the session, below a directory that is the test's own."""
    script: str
    size: tuple[int, int] = SMALL

    @property
    def steps(self) -> list[str]:
        """The words of the script."""
        return shlex.split(self.script)

    @property
    def file(self) -> Path:
        """Where the kept note is."""
        return FOLDER / f"{self.name}.txt.xz"

    def kept(self) -> str:
        """The kept note."""
        return lzma.decompress(self.file.read_bytes()).decode()


def check_walk(walk: Walk, directory: Path) -> None:
    """Go a walk and compare its note with the kept one."""
    noted = go(walk, directory)
    if is_updating():
        FOLDER.mkdir(exist_ok=True)
        if not walk.file.exists() or walk.kept() != noted:
            walk.file.write_bytes(lzma.compress(noted.encode(), preset=9))
        return
    assert walk.file.exists(), f"{walk.file.name} is not kept yet: {UPDATE}=1 writes it"
    kept = walk.kept()
    if kept != noted:
        lines = [
            *unified_diff(kept.split("\n"), noted.split("\n"), "kept", "now", lineterm="", n=6)
        ]
        more = len(lines) - _MOST_LINES
        tail = [f"... {more} more lines"] if more > 0 else []
        shown = "\n".join([*lines[:_MOST_LINES], *tail])
        raise AssertionError(
            f"the walk {walk.name} shows something else; {UPDATE}=1 writes it anew if that is "
            f"meant\n{shown}"
        )


def go(walk: Walk, directory: Path) -> str:
    """Go a walk.

    Returns:
        Its note.
    """
    noted: list[str] = []

    async def test(driver: Driver) -> None:
        notes = _Notes(driver, directory)
        with _noted(notes):
            noted.extend(await notes.take("begin"))
            for number, step in enumerate(walk.steps, 1):
                await _do(driver, step)
                if not driver.app.is_running or driver.app._exit:
                    noted.append(f"## {number} {step}: {' | '.join(notes.answers)}")
                    return
                noted.extend(await notes.take(f"{number} {step}"))

    drive(test, walk.open(directory), walk.size)
    return "\n".join(noted) + "\n"


async def _do(driver: Driver, step: str) -> None:
    kind, colon, rest = step.partition(":")
    if not colon:
        await driver.press(step)
        return
    pilot = driver.pilot
    if kind == "type":
        # Letter by letter: a filter that is asked again before it answers may scroll otherwise.
        for letter in rest:
            await driver.type(letter)
    elif kind in ("click", "on", "on2"):
        at = _cell(rest) if kind == "click" else _place_of(driver, rest)
        await pilot.click(offset=at, times=2 if kind == "on2" else 1)
    elif kind == "hover":
        await pilot.hover(offset=_cell(rest))
    elif kind in ("wheel", "wheelup"):
        event = events.MouseScrollDown if kind == "wheel" else events.MouseScrollUp
        await pilot._post_mouse_events([event], offset=_cell(rest), button=0)
    elif kind == "go":
        driver.app.go(rest)
    elif kind == "at":
        driver.app.travel(int(rest))
    elif kind == "size":
        columns, rows = rest.split("x")
        await pilot.resize_terminal(int(columns), int(rows))
    else:
        raise ValueError(f"no step is named {kind}")
    await driver.settled()


def _cell(text: str) -> tuple[int, int]:
    x, y = text.split(",")
    return int(x), int(y)


def _place_of(driver: Driver, text: str) -> tuple[int, int]:
    for y, strip in enumerate(driver.app.screen._compositor.render_strips()):
        before, found, _ = strip.text.partition(text)
        if found:
            return Segment(before).cell_length, y
    raise AssertionError(f"{text!r} is not on the screen:\n{driver.screen()}")


@contextmanager
def _noted(notes: _Notes) -> Iterator[None]:
    """Note which bindings answer, and that the screen changes."""
    run, render = App.run_action, Compositor.render_update

    async def run_action(app: App[Any], action: Any, *where: Any, **more: Any) -> bool:
        has_run = await run(app, action, *where, **more)
        owner = more.get("default_namespace", where[0] if where else app)
        if has_run and isinstance(action, str):
            notes.answers.append(f"{_declarer(owner, action)} {action}")
        return has_run

    def render_update(compositor: Compositor, *how: Any, **more: Any) -> Any:
        notes.n_changes += 1
        return render(compositor, *how, **more)

    # Two clicks on one cell are a double click, however busy the machine is.
    chained = patch.object(App, "CLICK_CHAIN_TIME_THRESHOLD", LIMIT_S)
    counted = patch.object(Compositor, "render_update", render_update)
    with patch.object(App, "run_action", run_action), counted, chained:
        yield


def _declarer(owner: object, action: str) -> str:
    for kind in type(owner).__mro__:
        declared = Binding.make_bindings(vars(kind).get("BINDINGS", ()))
        if any(binding.action == action for binding in declared):
            return kind.__name__
    return type(owner).__name__


class _Notes:
    """Notes of one screen after the other."""

    def __init__(self, driver: Driver, directory: Path) -> None:
        self.answers: list[str] = []
        self.n_changes = 0
        self._driver, self._directory = driver, directory
        self._rows: list[str] = []
        self._state: list[str] = []

    async def take(self, title: str) -> list[str]:
        """The note of the screen as it is."""
        driver, app = self._driver, self._driver.app
        for line in (*app.screen.query(Input), *app.screen.query(TextArea)):
            line.cursor_blink = False
        told = driver.told
        if told:
            app.clear_notifications()
            await driver.settled()
        answers = " | ".join(dict.fromkeys(self.answers))
        self.answers.clear()
        noted = [f"## {title}: {answers}".rstrip(": ")]
        noted += [f"told: {self._named(line)}" for text in told for line in text.split("\n")]
        rows = await self._at_rest()
        state = self._standing()
        noted += [line for line in state if line not in self._state]
        noted += [
            f"{y:2} {row}"
            for y, row in enumerate(rows)
            if y >= len(self._rows) or row != self._rows[y]
        ]
        self._state, self._rows = state, rows
        return noted

    async def _at_rest(self) -> list[str]:
        """The rows, once what drawing them asks for is drawn, too."""
        for _ in range(_MOST_DRAWN):
            rows, n_changes = self._drawn(), self.n_changes
            await self._driver.settled()
            await self._driver.until(self._has_ended, "everything ended")
            await self._driver.settled()
            if n_changes == self.n_changes:
                return rows
        raise AssertionError("the screen does not come to rest")

    def _has_ended(self) -> bool:
        """Whether no job goes on, not even in the background, and nothing is being mounted."""
        is_busy = any(job.key != "following" for job in self._driver.app.jobs.running)
        resting = {worker._task for worker in self._driver.app.workers if worker.name == "keys"}
        return not is_busy and not any(
            getattr(task.get_coro(), "__qualname__", "") not in _RESTING
            for task in asyncio.all_tasks() - resting
        )

    def _named(self, text: str) -> str:
        return text.replace(str(self._directory), "DIRECTORY")

    def _standing(self) -> list[str]:
        app = self._driver.app
        view = "none" if app.view is None else app.view.id
        focused = app.focused
        lines = [
            f"at: {type(app.screen).__name__} {view} {app.path!r}"
            f" {'newest' if self._driver.view_state.is_newest else 'earlier'}"
        ]
        lines.append(f"focus: {type(focused).__name__} {focused.id if focused else ''}".rstrip())
        cursor = {
            name: getattr(focused, name)
            for name in ("cursor", "cursor_row", "cursor_position", "cursor_line", "highlighted")
            if isinstance(getattr(focused, name, None), int)
        }
        if cursor:
            lines.append("cursor: " + " ".join(f"{name}={at}" for name, at in cursor.items()))
        if focused is not None and focused.max_scroll_y:
            lines.append(f"scrolled: {focused.scroll_offset.x},{focused.scroll_offset.y}")
        if app.clipboard:
            lines.append(f"copied: {self._named(app.clipboard)[:_MOST_COPIED]!r}")
        return lines

    def _drawn(self) -> list[str]:
        self._driver.has_drawn = True
        strips = self._driver.app.screen._compositor.render_strips()
        return [self._named(_row(tuple(strip))) for strip in strips]


@lru_cache(maxsize=4096)
def _row(segments: tuple[Segment, ...]) -> str:
    """A row's text, and where it looks unlike most of it."""
    text = "".join(segment.text for segment in segments).rstrip()
    runs = [(run.cell_length, run.style or Style()) for run in Segment.simplify(segments)]
    fronts: Counter[str] = Counter()
    backs: Counter[str] = Counter()
    for cells, style in runs:
        fronts[_colour(style.color)] += cells
        backs[_colour(style.bgcolor)] += cells
    usual = (
        max(fronts, key=fronts.__getitem__, default=""),
        max(backs, key=backs.__getitem__, default=""),
    )
    looks, x = [], 0
    for cells, style in runs:
        look = _look(style, usual)
        if look and cells:
            looks.append(f"{x}-{x + cells}{look}")
        x += cells
    return f"{text}  ~{usual[0]}/{usual[1]} {' '.join(looks)}".rstrip()


def _look(style: Style, usual: tuple[str, str]) -> str:
    marks = "".join(
        mark
        for mark, has in zip(
            "brudi",
            (style.bold, style.reverse, style.underline, style.dim, style.italic),
            strict=True,
        )
        if has
    )
    front, back = _colour(style.color), _colour(style.bgcolor)
    marks += front if front != usual[0] else ""
    return marks + (f"/{back}" if back != usual[1] else "")


def _colour(colour: Any) -> str:
    """A colour in three digits: shades that none tells apart are one."""
    if colour is None:
        return ""
    if colour.triplet is None:
        return f"({colour.name})"
    return "#" + "".join(f"{part // 16:x}" for part in colour.triplet)
