"""What a command said, and how to get on from the line below it."""

from __future__ import annotations

from metashell.tui.asking.output_pane import path_of
from metashell.tui.rows.whole_text import WholeText
from metashell.tui.screens.command import CommandScreen
from support.pilot import Driver, drive

FIRST = 3262
"""The first offset whose state the sample knows."""


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
        await driver.press("pageup", "pageup")
        assert 0 == table.cursor_row
        assert screen.line.has_focus

    drive(test)


def test_a_node_of_another_state_is_named() -> None:
    """Enter, and the key of neighbours, on a node that was made later say where it is not."""

    async def test(driver: Driver) -> None:
        driver.app.travel(FIRST)
        await driver.settled()
        await driver.press("equals_sign")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        table, scene = screen.pane.row_tables[0], driver.scene
        assert table.shown is not None
        paths = table.shown.column("path").to_pylist()
        at = next(
            i for i in range(len(paths)) if path_of({"path": paths[i]}, scene.root, "") is None
        )
        table.move_cursor(row=at)
        for key in ("enter", "R"):
            await driver.press(key)
            assert [f"{paths[at]} is not there at offset {FIRST}"] == driver.told
            assert driver.app.screen is screen

    drive(test)


def test_rows_of_an_earlier_state_name_its_offset() -> None:
    """They do where the state is the newest one again, too; rows of that one name none."""

    async def test(driver: Driver) -> None:
        await run(driver, "brokers")
        assert driver.screen().splitlines()[0].endswith(" rows")
        await driver.press("escape")
        driver.app.travel(FIRST)
        await driver.settled()
        await run(driver, "brokers")
        assert driver.screen().splitlines()[0].endswith(f" rows at offset {FIRST}")
        await driver.press("enter")
        driver.app.travel(None)
        await driver.settled()
        await driver.press("alt+left")
        assert driver.screen().splitlines()[0].endswith(f" rows at offset {FIRST}")

    drive(test)


def test_what_is_cut_in_a_row_stands_below_the_rows() -> None:
    """All of it, with the names of its columns, of the row under the cursor; else nothing."""

    async def test(driver: Driver) -> None:
        driver.app.travel(FIRST)
        await driver.settled()
        await driver.press("equals_sign")
        whole = driver.one(WholeText)
        path = "/image/configs/TOPIC:topic-014/retention.ms"
        assert path not in driver.screen().splitlines()[2]
        assert f" path: {path}" in driver.screen().splitlines()
        await driver.press("down")
        assert str(whole.content).startswith("path: /image/configs/TOPIC:topic-015/max.")
        await driver.pilot.resize_terminal(160, 24)
        await driver.settled()
        assert not whole.display
        await driver.pilot.resize_terminal(80, 24)
        await driver.settled()
        assert whole.display

    drive(test)
