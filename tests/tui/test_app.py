"""The frame of the explorer: opening, views, moving in the tree and in time."""

from __future__ import annotations

from support.pilot import Driver, drive


def test_opens() -> None:
    """The sample is opened, and the first view shown."""

    async def test(driver: Driver) -> None:
        assert driver.scene.cluster is driver.scene.source
        assert driver.view.id == "explorer"
        assert "Explorer" in driver.screen()

    drive(test)


def test_travels() -> None:
    """Another offset is another scene, which knows the one before."""

    async def test(driver: Driver) -> None:
        newest = driver.scene.source
        driver.app.travel(3398)
        await driver.settled()
        assert driver.scene.source.moment_offset == 3398
        assert driver.scene.previous is newest
        await driver.press("E")
        assert driver.scene.is_newest

    drive(test)
