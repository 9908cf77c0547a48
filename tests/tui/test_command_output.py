"""What a command said, and how to get on from the line below it."""

from __future__ import annotations

from metashell.tui.screens.command import CommandScreen
from support.pilot import Driver, drive


async def run(driver: Driver, line: str) -> CommandScreen:
    """Run a line as it is typed; the screen that shows what it said."""
    await driver.press("colon")
    await driver.type(line)
    await driver.press("enter")
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    return screen


def test_pages_from_the_line() -> None:
    """Page up and down scroll the text, and what is typed is still for the line."""

    async def test(driver: Driver) -> None:
        screen = await run(driver, "help topics")
        text = screen.pane.text
        assert screen.line.has_focus
        await driver.press("pagedown")
        assert 0 < text.scroll_offset.y == text.size.height
        await driver.press("pageup", "x")
        assert 0 == text.scroll_offset.y
        assert "x" == screen.line.value

    drive(test)


def test_pages_of_rows_from_the_line() -> None:
    """Page up and down move the cursor of rows, too."""

    async def test(driver: Driver) -> None:
        screen = await run(driver, "topics")
        await driver.press("colon", "pagedown")
        table = screen.pane.row_tables[0]
        assert table.cursor_row
        await driver.press("pageup")
        assert 0 == table.cursor_row
        assert screen.line.has_focus

    drive(test)
