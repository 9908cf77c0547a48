"""What can be read: the keys at the bottom."""

from __future__ import annotations

import pytest

from metashell.tui.view import VIEWS
from support.pilot import SMALL, WIDE, Driver, drive


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [(60, 20), SMALL, WIDE])
def test_keys_at_the_bottom(size: tuple[int, int]) -> None:
    """They fit in every view, in one order, and help is always there."""

    async def test(driver: Driver) -> None:
        for spec in VIEWS:
            if not spec.is_offered:
                continue
            await driver.look(spec.id)
            await driver.until(
                lambda: driver.screen().splitlines()[-1].endswith("? Help"), "help is not shown"
            )
            shown = driver.screen().splitlines()[-1]
            assert shown.index(": Command") < shown.index("/ Filter") < shown.index("? Help")

    drive(test, size=size)


def test_keys_of_what_is_closed() -> None:
    """A bar that goes while it is to show other keys does so in silence."""

    async def test(driver: Driver) -> None:
        for key in ("f", "colon", "x"):
            await driver.pilot.press(key, "tab", "escape", "escape")
        await driver.settled()
        assert len(driver.app.screen_stack) == 1

    drive(test)
