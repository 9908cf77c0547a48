"""Jumping to a name in the tree."""

from __future__ import annotations

from metashell.tui.node.pane import NodePane
from metashell.tui.tree.jump_bar import JumpBar
from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive


async def jump(driver: Driver, text: str) -> str:
    """Type a jump; the line in which it is typed, as it is drawn."""
    await driver.press("i")
    await driver.type(text)
    return driver.screen().split("\n")[-3]


def test_jumps_from_the_right_side() -> None:
    """On the right side, also where it has the whole screen, `i` goes to the tree and jumps."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/orders")
        await driver.settled()
        for keys in ((), ("z",)):
            driver.one(NodePane).focus_content()
            await driver.press(*keys)
            await jump(driver, "man")
            assert driver.app.path == "/image/topics/byName/manual"
            await driver.press("enter")
            assert driver.one(NodeTree).has_focus
            assert driver.one(NodeTree).region.width

    drive(test)


def test_the_line_says_what_it_is_for() -> None:
    """The line has a label, and the bar below names the keys that end it."""

    async def test(driver: Driver) -> None:
        await jump(driver, "")
        lines = driver.screen().split("\n")
        assert lines[-3].startswith(" jump to")
        assert lines[-1].startswith("⏎ Stay there esc Back")

    drive(test)


def test_a_name_that_contains_the_text_comes_second() -> None:
    """Names that begin with the text come first, then those that contain it."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/configs/BROKER:101")
        await driver.settled()
        await jump(driver, "topic")
        assert driver.app.path == "/image/configs/TOPIC:orders"
        await driver.type("-006")
        assert driver.app.path == "/image/configs/TOPIC:topic-006"

    drive(test)


def test_says_that_no_name_fits() -> None:
    """Where no name fits, the line says so; enter ends it all the same, and escape."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/orders")
        await driver.settled()
        assert "no name contains manq" in await jump(driver, "manq")
        await driver.press("enter")
        assert not driver.app.query(JumpBar)
        assert driver.one(NodeTree).has_focus
        assert driver.app.path == "/image/topics/byName/orders"
        told = "no name in this directory or above contains manq: f finds names elsewhere"
        assert [told] == driver.told
        await jump(driver, "configs")
        assert driver.app.path == "/image/configs"
        await driver.press("escape")
        assert driver.app.path == "/image/topics/byName/orders"
        await jump(driver, "qqq")
        await driver.press("escape")
        assert not driver.app.query(JumpBar)
        assert driver.one(NodeTree).has_focus

    drive(test)
