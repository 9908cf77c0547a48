"""A part that has the whole screen."""

from __future__ import annotations

from metashell.tui.frame.key_bar import KeyBar
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
