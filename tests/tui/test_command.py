"""The line for commands: completion, output, and what commands do to the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event

import pytest
from textual.events import Key

from metashell.commands.framework.aliases import Habits
from metashell.commands.framework.command import Completion
from metashell.tui.lines import folded
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.completing import CompletingInput, Proposals
from metashell.tui.view_state import ViewState
from metashell.tui.views.rows import RowsView
from support.pilot import Driver, drive, session_on
from support.waiting import LIMIT_S


async def opened(driver: Driver) -> CommandScreen:
    """The line, once it has the focus."""
    await driver.press("colon")
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    await driver.until(lambda: screen.line.has_focus, "no focus")
    return screen


async def run(driver: Driver, text: str) -> CommandScreen:
    """Run a line, as if it had been typed."""
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    screen.run(text)
    await driver.settled()
    return screen


def rows_of(driver: Driver) -> RowsView:
    """The view of a command's rows, which is seen."""
    view = driver.view
    assert isinstance(view, RowsView)
    return view


async def proposed(driver: Driver, text: str) -> Proposals:
    """Type a text and wait for what is proposed."""
    line = driver.one(CompletingInput)
    line.value = text
    line.cursor_position = len(text)
    await driver.settled()
    assert line.is_up_to_date
    assert line.proposals.are_shown
    return line.proposals


def test_what_was_proposed_for_another_line() -> None:
    """Nothing of it can be chosen: keys wait for what is proposed for the line as it is now."""
    goes_on = Event()

    def slow(
        _view_state: ViewState, _line: str, _cancelled: Callable[[], bool]
    ) -> Sequence[Completion]:
        goes_on.wait(LIMIT_S)
        return ()

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await proposed(driver, "ls /image/topics/byName/o")
        screen.line._completer = slow
        screen.line.value = "ls /local"
        screen.line.cursor_position = len(screen.line.value)
        await driver.until(lambda: driver.app.jobs.busy, "nothing asked")
        assert screen.line.proposals.are_shown
        for key in ("down", "enter"):
            driver.app.post_message(Key(key, None))
        await driver.until(lambda: not driver.app.type_ahead.is_at_rest, "keys do not wait")
        assert screen.line.proposals.chosen is None
        goes_on.set()
        await driver.settled()
        assert "version" in screen.text.text

    drive(test)


def test_dismissed_while_asked() -> None:
    """What comes after escape is not shown, until tab asks for it."""
    goes_on = Event()

    def slow(
        _view_state: ViewState, _line: str, _cancelled: Callable[[], bool]
    ) -> Sequence[Completion]:
        goes_on.wait(LIMIT_S)
        return [Completion("pwd", -1, "pwd"), Completion("partitions", -1, "partitions")]

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        line = screen.line
        line._completer = slow
        await driver.pilot.press("p")
        line.dismiss_proposals()
        goes_on.set()
        running = driver.app.jobs._running
        await driver.until(lambda: all(job.key != "complete" for job in running), "no answer")
        assert not line.proposals.are_shown
        await driver.press("tab")
        assert line.proposals.are_shown

    drive(test)


@pytest.mark.parametrize(("line", "status"), [("exit 3", 3), ("q", 0)])
def test_exits(line: str, status: int) -> None:
    """`exit` leaves with its status, and so does `q`."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await run(driver, line)
        await driver.until(lambda: not driver.app.is_running, "it goes on")
        assert driver.app.return_code == status

    drive(test)


def test_habits_and_history() -> None:
    """Aliases count; `up` brings lines back, when the line is opened anew too."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await run(driver, "where")
        assert screen.text.text == "/"
        await run(driver, "history")
        assert "where" in screen.text.text
        await driver.press("escape")
        screen = await opened(driver)
        await driver.press("up")
        assert screen.line.value == "history"
        await driver.press("up")
        assert screen.line.value == "where"
        await driver.press("down", "down")
        assert screen.line.value == ""

    drive(test, session_on(habits=Habits(aliases={"where": "pwd"})))


def test_streams_until_escape() -> None:
    """What goes on writes as it goes, and escape ends it before it closes the line."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        screen.run("log -f --offset 4105.. --all -o jsonl")
        await driver.until(lambda: screen.text.lines, "nothing came")
        assert driver.app.jobs.busy
        await driver.press("escape")
        assert not driver.app.jobs.busy
        assert driver.app.screen is screen
        assert "cancelled" in screen.notes.text
        await driver.press("escape")
        assert driver.app.screen is not screen

    drive(test)


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that writes too much is ended, which is told."""
    monkeypatch.setattr("metashell.tui.screens.output_lines.MOST_LINES", 50)

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await run(driver, "find /")
        await driver.until(lambda: screen.notes.lines, "no end")
        assert len(screen.text.lines) == 50
        assert "ended after" in screen.notes.text

    drive(test)


def test_table_of_sql() -> None:
    """A statement of SQL is answered by a table."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await run(driver, "sql \"select 1 as one, '[bold]x[/]' as name\"")
        assert rows_of(driver).table.row == {"one": 1, "name": "[bold]x[/]"}
        assert "[bold]x[/]" in driver.screen()
        driver.app.kept.clear()  # the database with it

    drive(test)


def test_job_is_called_by_the_command_alone() -> None:
    """A URI on the line may hold credentials, and the status line names the job."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        screen.run("diff s3://key:hunter2@bucket/a .")
        titles = [job.title for job in driver.app.jobs.busy]
        assert any("diff" in title for title in titles)
        assert not any("hunter2" in title for title in titles)
        await driver.settled()

    drive(test)


def test_keys_behind_a_command_are_for_its_rows() -> None:
    """What is typed while it runs waits for its rows, which have the focus then."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        screen.run("partitions")
        await driver.pilot.press("down", "down")
        await driver.settled()
        table = rows_of(driver).table
        assert table.has_focus
        assert table.cursor == 2
        await driver.press("escape")
        assert driver.view.id == "explorer"
        await driver.press("9")
        assert rows_of(driver).table.cursor == 2

    drive(test)


def test_quits_from_rows() -> None:
    """`q` means the same as anywhere."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await run(driver, "partitions")
        await driver.pilot.press("q")
        await driver.until(lambda: driver.app._exit, "goes on")

    drive(test)


def test_long_lines_go_on_behind_a_space() -> None:
    """Also with signs that are not ASCII, no number or name is cut in two."""
    told = "1357  PARTITION_CHANGE_RECORD  leader 103 → 101, isr [103,101,102] → [101,102]"
    rows = [told[a:b] for a, b in folded(told, 40)]
    assert "".join(rows) == told
    assert all(len(row.rstrip()) <= 40 and row.endswith(" ") for row in rows[:-1])
    assert [(0, 2), (2, 3)] == folded("あああ", 5)
