"""A part that has the whole screen."""

from __future__ import annotations

from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive


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
        assert tree.styles.max_width is None
        await driver.press("escape")
        assert tree.styles.max_width == before

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
