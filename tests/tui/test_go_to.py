"""The line for a path: what it says of a name that is elsewhere."""

from __future__ import annotations

from metashell.tui.screens.go_to import GoToScreen
from support.fixtures import DEMO
from support.pilot import Driver, drive, session_on


async def go_to(driver: Driver, text: str) -> None:
    """Type a path, and enter."""
    await driver.press("g")
    await driver.type(text)
    await driver.press("enter")


def test_the_name_of_a_topic_leads_to_it() -> None:
    """A name that is not here but that a topic has: the hint tells its path, enter goes there."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/orders")
        await driver.settled()
        await go_to(driver, "topic-006")
        assert driver.app.path == "/image/topics/byName/orders"
        path = "/image/topics/byName/topic-006"
        assert f"topic topic-006: {path}" in driver.screen()
        await driver.press("enter")
        assert not isinstance(driver.app.screen, GoToScreen)
        assert driver.app.path == path

    drive(test)


def test_another_name_is_looked_for_again() -> None:
    """What is typed behind the hint is what enter looks for."""

    async def test(driver: Driver) -> None:
        await go_to(driver, "topic-00")
        assert "No such file or directory" in driver.screen()
        await driver.press("6", "enter")
        assert "topic topic-006" in driver.screen()
        await driver.press("backspace", "7", "enter")
        assert "topic topic-007" in driver.screen()
        assert driver.app.path == "/"

    drive(test)


def test_the_line_stays_where_nothing_is() -> None:
    """A path or an offset that is wrong is told in place, and the node stays."""

    async def test(driver: Driver) -> None:
        await go_to(driver, "/image/nope@1500")
        assert "No such file or directory, here or at offset 1500" in driver.screen()
        await driver.press("ctrl+u")
        await driver.type("/image@9999")
        await driver.press("enter")
        assert "offset 9999 is not covered" in driver.screen()
        assert (driver.app.path, driver.scene.is_newest) == ("/", True)
        await driver.press("escape")
        await go_to(driver, "/image@1500")
        assert not isinstance(driver.app.screen, GoToScreen)
        assert (driver.app.path, driver.scene.is_newest) == ("/image", False)

    drive(test, session_on(DEMO))
