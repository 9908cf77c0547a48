"""The line that names a filter, beside what it leaves."""

from __future__ import annotations

import pytest

from support.pilot import Driver, drive


def test_the_count_gives_way_to_the_text() -> None:
    """A long text is cut at its end, and nothing of it is markup."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        driver.view.filter_by("[bold]" + 80 * "x")
        await driver.settled()
        assert "filter [bold]xxxxx" in driver.screen()

    drive(test)


@pytest.mark.cases(2)
@pytest.mark.parametrize("view", ["health", "quorum", "brokers"])
@pytest.mark.parametrize("end", ["enter", "down", "escape"])
def test_the_focus_goes_back(view: str, end: str) -> None:
    """Whatever ends the line, the part that had the focus before has it again."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        for part in driver.view.query("*"):
            if not part.focusable:
                continue
            part.focus()
            await driver.press("slash")
            await driver.type("1")
            await driver.press(end)
            assert part.has_focus
            driver.view.drop_filter()

    drive(test)
