"""A part that has the whole screen."""

from __future__ import annotations

import pytest
from textual.widget import Widget

from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.records.pane import RecordPane
from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from metashell.tui.views.brokers import LoadTable
from metashell.tui.views.health_lists import ProblemTable
from metashell.tui.views.quorum import EpochsTable
from support.pilot import SMALL, Driver, drive


def test_keys_stay_and_width_says_why_not() -> None:
    """The keys stay at the bottom; `w` says why it does nothing, until `z` takes that back."""

    async def test(driver: Driver) -> None:
        app = driver.app
        await driver.press("z")
        assert app.screen.maximized is not None
        assert driver.one(KeyBar).region.y == 23
        assert "Help" in driver.screen().split("\n")[-1]
        await driver.press("w")
        assert ["one part has the whole screen: z takes that back"] == driver.told
        assert not driver.view.has_class("-wide")
        await driver.press("z", "w")
        assert driver.view.has_class("-wide")

    drive(test)


def test_the_bar_says_the_way_back() -> None:
    """Whatever has the whole screen, the first key of the bar takes that back; so does escape."""

    async def test(driver: Driver) -> None:
        app = driver.app

        def bar() -> str:
            return driver.screen().split("\n")[-1]

        app.go("/image/topics")
        for key in ("z", "escape"):
            await driver.settled()
            driver.one(RowTable).focus()
            await driver.press("z")
            assert bar().startswith("z Restore size")
            await driver.press(key)
            assert app.screen.maximized is None
            assert "Restore" not in bar()
        tree = driver.one(NodeTree)
        tree.focus()
        before = tree.styles.max_width
        await driver.press("z")
        assert 80 == tree.outer_size.width
        await driver.press("escape")
        assert tree.styles.max_width == before

    drive(test)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("view", "part", "title"),
    [
        ("explorer", NodeTree, "/image/topics"),
        ("explorer", RowTable, "/image/topics"),
        ("records", RecordPane, "Records"),
        ("health", ProblemTable, "Health"),
        ("quorum", EpochsTable, "Leader epochs"),
        ("brokers", LoadTable, "2 brokers"),
    ],
)
def test_a_part_fills_the_screen_below_its_name(view: str, part: type[Widget], title: str) -> None:
    """Every part has all lines but those of status and keys, below a line that names it."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.look(view)
        await driver.settled()
        widget = driver.view.query(part).first()
        widget.focus()
        await driver.press("z")
        assert (80, 22) == widget.outer_size
        assert "offset " in driver.screen().splitlines()[-2]
        assert title in driver.screen().splitlines()[0]
        await driver.press("z")
        assert widget.outer_size.height < 22

    drive(test)


def test_the_name_follows() -> None:
    """Another path, by the tree or by a row, is named as soon as it is shown."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        driver.one(RowTable).focus()
        await driver.press("z", "enter")
        assert driver.app.path in driver.screen().splitlines()[0]
        assert "/image/topics" != driver.app.path

    drive(test)


def test_a_line_does_not_take_the_whole_screen() -> None:
    """The timeline has no more to show, and says so."""

    async def test(driver: Driver) -> None:
        await driver.press("t", "z")
        assert driver.app.screen.maximized is None
        assert ["this part shows no more on the whole screen"] == driver.told

    drive(test)


def test_another_part_takes_it_back() -> None:
    """Another view, and the timeline, are not hidden behind a part."""

    async def test(driver: Driver) -> None:
        app = driver.app
        await driver.press("z", "3")
        assert app.screen.maximized is None
        assert driver.view.region.height > 5
        await driver.press("1", "z", "t")
        assert app.screen.maximized is None
        assert app.focused is app.timeline

    drive(test)


@pytest.mark.parametrize("size", [SMALL, (40, 12)])
def test_the_state_shown_is_named(size: tuple[int, int]) -> None:
    """Moves in time are seen in the status line, also where a part has the whole screen."""

    async def test(driver: Driver) -> None:
        await driver.press("z")
        for key in ("left_square_bracket", "E"):
            await driver.press(key)
            assert driver.app.screen.maximized is not None
            assert str(driver.scene.source.status().offset) in driver.screen().splitlines()[-2]

    drive(test, size=size)


def test_a_jump_is_typed_below_the_tree() -> None:
    """The line of a jump can be seen where the tree has the whole screen."""

    async def test(driver: Driver) -> None:
        await driver.press("z", "i")
        assert "jump to" in driver.screen().splitlines()[-3]

    drive(test)


@pytest.mark.cases(2)
@pytest.mark.parametrize("key", ["i", "slash", "f1"])
def test_escape_first_ends_what_is_open(key: str) -> None:
    """A line, and help, are ended before the part gives the whole screen back."""

    async def test(driver: Driver) -> None:
        screen = driver.app.screen
        await driver.press("z", key)
        n_open = len(screen.children)
        await driver.press("escape")
        assert n_open - 1 == len(screen.children)
        assert screen.maximized is not None
        await driver.press("escape")
        assert screen.maximized is None

    drive(test)
