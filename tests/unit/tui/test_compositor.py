"""The compositor asks for the lines that changed and can be seen, and draws as the library does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Static

from metashell.tui.frame.compositor import ask_styles_once
from metashell.tui.frame.main_screen import MainScreen
from metashell.tui.tree.marks import Marks
from support.waiting import until


class _Lines(Static):
    """Notes which lines it is asked for."""

    def __init__(self, text: str, id: str) -> None:
        super().__init__(text, id=id)
        self.asked: list[tuple[int, int]] = []

    def render_lines(self, crop: Region) -> list[Strip]:
        """Note them."""
        self.asked.append((crop.y, crop.bottom))
        return super().render_lines(crop)


class _Box(Vertical):
    """Notes how often it is asked for anything."""

    asked = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        """Note it."""
        self.asked += 1
        return super().render_lines(crop)


class _Program(App[None]):
    CSS = """
    _Box { width: 30; height: 6; background: green; }
    #first, #second { width: 100%; height: 3; }
    #over { layer: above; offset: 5 1; width: 4; height: 2; background: red; }
    Screen { layers: default above; }
    """

    def get_default_screen(self) -> MainScreen:
        """The one that draws so."""
        return MainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """A box that is covered by its parts, and what lies above it."""
        with _Box():
            yield _Lines("a\nb\nc", "first")
            yield _Lines("d\ne\nf", "second")
        yield _Lines("OVER", "over")


def _texts(strips: list[Strip]) -> list[str]:
    return [strip.text for strip in strips]


def test_only_what_changed_and_is_seen() -> None:
    """A changed line is asked for alone; a box below its parts is not drawn at all."""

    async def run() -> None:
        async with _Program().run_test(size=(30, 8)) as pilot:
            screen: Any = pilot.app.screen
            first, second, box = (
                pilot.app.query_one("#first", _Lines),
                pilot.app.query_one("#second", _Lines),
                pilot.app.query_one(_Box),
            )
            await pilot.pause()
            first.asked.clear()
            second.asked.clear()
            box.asked = 0
            second.refresh(Region(0, 1, 30, 1))
            await pilot.pause()
            assert second.asked == [(1, 2)]
            assert not first.asked
            assert not box.asked
            screen.refresh()
            await pilot.pause()
            assert (0, 3) in first.asked
            assert not box.asked

    asyncio.run(run())


def test_the_picture_is_the_library_s() -> None:
    """What lies above is above, and what changed is drawn, as the library has it."""

    async def run() -> None:
        async with _Program().run_test(size=(30, 8)) as pilot:
            screen: Any = pilot.app.screen
            pilot.app.query_one("#first", _Lines).update("A\nB\nC")
            await pilot.pause()
            ours = screen._compositor.render_strips()
            theirs = Compositor.render_strips.__get__(_as_library(screen._compositor))()
            assert _texts(ours) == _texts(theirs)
            assert list(map(list, ours)) == list(map(list, theirs))
            assert "OVER" in ours[1].text

    asyncio.run(run())


def _as_library(compositor: Any) -> Compositor:
    """The library's compositor over the same widgets."""
    theirs = Compositor()
    vars(theirs).update(vars(compositor))
    return theirs


def test_styles_are_worked_out_once_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """While something is drawn a node works its style out once, and anew the next time."""
    counts: list[DOMNode] = []
    work_out: Any = vars(DOMNode)["rich_style"].fget

    def counted(node: DOMNode) -> Any:
        counts.append(node)
        return work_out(node)

    monkeypatch.setattr(DOMNode, "rich_style", property(counted))
    monkeypatch.setattr(DOMNode, "background_colors", vars(DOMNode)["background_colors"])
    ask_styles_once()

    class Asking(_Lines):
        def render_lines(self, crop: Region) -> list[Strip]:
            assert self.rich_style == self.rich_style
            return super().render_lines(crop)

    class Program(_Program):
        def compose(self) -> ComposeResult:
            yield Asking("text", "first")

    async def run() -> None:
        async with Program().run_test(size=(30, 8)) as pilot:
            asking = pilot.app.query_one(Asking)
            await pilot.pause()
            counts.clear()
            asking.refresh()
            await pilot.pause()
            assert counts.count(asking) == 1
            asking.styles.background = "blue"
            await pilot.pause()
            assert counts.count(asking) > 1
            assert asking.rich_style.bgcolor is not None
            assert asking.rich_style.bgcolor.name == "#0000ff"

    asyncio.run(run())


def test_lines_without_a_mark_are_not_drawn_again() -> None:
    """The tree draws itself again only where something is marked."""

    class Tree:
        n_drawn = 0

        def refresh(self) -> None:
            self.n_drawn += 1

    tree: Any = Tree()
    marks = Marks(tree)
    marks._take({("a",): False})
    assert tree.n_drawn == 0
    marks._take({("b",): True})
    assert tree.n_drawn == 1
    assert marks.has(("b",))
    assert not marks.has(("a",))


def test_a_layout_is_drawn_behind_what_it_tells() -> None:
    """Widgets learn their size before they are drawn with it."""

    class Told(_Lines):
        def on_resize(self) -> None:
            self.asked.append((0, 0))

    class Program(_Program):
        def compose(self) -> ComposeResult:
            yield Told("a\nb\nc", "first")

    async def run() -> None:
        async with Program().run_test(size=(30, 8)) as pilot:
            told = pilot.app.query_one(Told)
            await pilot.pause()
            told.asked.clear()
            told.styles.height = 2
            await until(lambda: (0, 2) in told.asked, lambda: "the layout is not drawn")
            assert (0, 0) == told.asked[0]

    asyncio.run(run())
