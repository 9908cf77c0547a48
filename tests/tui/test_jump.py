"""Jumping to a name in the tree."""

from __future__ import annotations

from metashell.tui.node.pane import NodePane
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
