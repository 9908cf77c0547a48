"""The line for commands: completion, output, and what commands do to the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from unittest.mock import patch

import pytest
from textual.events import Key
from textual.widgets import Static

from metashell.commands.framework.aliases import Habits
from metashell.commands.framework.command import Completion
from metashell.tui.asking.completing import CompletingInput, Proposals
from metashell.tui.asking.output_lines import wrapped
from metashell.tui.asking.output_pane import OutputPane
from metashell.tui.frame.filter_bar import FilterBar
from metashell.tui.frame.help import Help
from metashell.tui.rows.table import RowTable
from metashell.tui.scene import Scene
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.moment import MomentScreen
from metashell.tui.screens.relations import RelationsScreen
from support.pilot import Driver, drain, drive, session_on
from support.waiting import LIMIT_S


async def opened(driver: Driver) -> CommandScreen:
    """The line, once it has the focus."""
    await driver.press("colon")
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    await driver.until(lambda: screen.line.has_focus, "no focus")
    return screen


async def run(driver: Driver, text: str) -> OutputPane:
    """Run a line, as if it had been typed."""
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    pane = screen.pane
    screen.run(text)
    await driver.settled()
    return pane


async def proposed(driver: Driver, text: str) -> Proposals:
    """Type a text and wait for what is proposed."""
    line = driver.one(CompletingInput)
    line.value = text
    line.cursor_position = len(text)
    await driver.settled()
    assert line.is_up_to_date
    assert line.proposals.are_shown
    return line.proposals


def test_completes() -> None:
    """Tab takes what is common, arrows choose, enter takes the choice and then runs."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        found = await proposed(driver, "partit")
        assert [item.display for item in found.items] == ["partitions"]
        await driver.press("tab")
        assert screen.line.value == "partitions "
        await proposed(driver, "ls /image/topics/by")
        await driver.press("down", "down", "enter")
        assert screen.line.value == "ls /image/topics/byName/"
        assert screen.line.proposals.are_shown
        assert "esc Hide" in driver.screen().splitlines()[-1]
        await driver.press("escape")
        assert not screen.line.proposals.are_shown
        assert "esc Close" in driver.screen().splitlines()[-1]
        await driver.press("enter")
        await driver.until(lambda: screen.pane.text.lines, "no output")
        assert "topic-000" in screen.pane.text.text
        assert screen.pane.text.text.split()[0] in driver.screen()

    drive(test)


def test_says_how_the_command_is_called() -> None:
    """From the blank behind its name on, as long as its arguments are typed."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        usage = screen.query_one("#command-usage", Static)
        await proposed(driver, "dif")
        assert not usage.display
        await proposed(driver, "diff ")
        assert str(usage.content).startswith("usage: diff [--all]")
        await proposed(driver, "diff 1 end --st")
        assert usage.display
        await proposed(driver, "partitions --off")
        assert str(usage.content).startswith("usage: partitions ")
        await proposed(driver, "par")
        assert not usage.display
        await proposed(driver, "diff ")
        assert usage.display
        await run(driver, "pwd")
        assert not usage.display

    drive(test)


def test_a_difference_is_no_failure() -> None:
    """The exit status is told only where nothing else says what is wrong."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        low, high = driver.scene.source.history.range()
        pane = await run(driver, f"diff --stat {low} {high}")
        assert pane.text.text
        assert "exit status" not in pane.notes.text
        pane = await run(driver, f"diff --quiet {low} {high}")
        assert "exit status 1" in pane.notes.text

    drive(test)


def test_what_was_proposed_for_another_line() -> None:
    """Nothing of it can be chosen: keys wait for what is proposed for the line as it is now."""
    goes_on = Event()

    def slow(_scene: Scene, _line: str, _cancelled: Callable[[], bool]) -> Sequence[Completion]:
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
        await driver.until(lambda: driver.app.jobs.leading, "keys do not wait")
        assert screen.line.proposals.chosen is None
        goes_on.set()
        await driver.settled()
        assert "version" in screen.pane.text.text

    drive(test)


def test_dismissed_while_asked() -> None:
    """What comes after escape is not shown, until tab asks for it."""
    goes_on = Event()

    def slow(_scene: Scene, _line: str, _cancelled: Callable[[], bool]) -> Sequence[Completion]:
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


def test_tab_on_an_empty_line() -> None:
    """It lists all commands; a line that was emptied lists none by itself."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        line = screen.line
        for _ in range(2):
            await driver.press("tab")
            assert line.proposals.are_shown
            commands = {item.display for item in line.proposals.items}
            assert {"acls", "ls", "partitions"} <= commands
            await driver.type("l")
            await driver.press("backspace")
            assert not line.proposals.are_shown

    drive(test)


def test_right_takes_what_is_grey() -> None:
    """The first proposal is shown behind the cursor, and the arrow takes it."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await proposed(driver, "part")
        await driver.until(lambda: "partitions" in driver.screen(), "no suggestion")
        await driver.press("right")
        assert screen.line.value == "partitions"

    drive(test)


def test_table_leads_to_nodes() -> None:
    """Rows are a table that is gone through and filtered; one that is taken leads to its node."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        pane = await run(driver, "partitions --topic topic-000")
        (table,) = pane.row_tables
        n_rows = table.row_count
        assert n_rows > 2
        assert table.has_focus
        await driver.press("shift+tab")
        assert driver.one(CompletingInput).has_focus
        await driver.press("shift+tab")
        assert table.has_focus
        await driver.press("slash")
        driver.one(FilterBar).value = "topic-000"
        await driver.settled()
        assert table.row_count == n_rows
        await driver.press("enter")
        assert table.has_focus
        await driver.press("escape")
        assert not pane.filter_text
        await driver.press("down", "enter")
        assert driver.app.path == "/image/topics/byName/topic-000/1"
        assert not isinstance(driver.app.screen, CommandScreen)

    drive(test)


def test_moves_in_the_tree_and_in_time() -> None:
    """`cd` moves the explorer and closes the line; `at` travels."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        pane = await run(driver, "at 3499")
        assert driver.scene.source.moment_offset == 3499
        assert "offset 3499" in pane.text.text
        await run(driver, "cd image/topics")
        assert driver.app.path == "/image/topics"
        screen = await opened(driver)
        await run(driver, "pwd")
        assert screen.pane.text.text == "/image/topics"
        await run(driver, "at end")
        assert driver.scene.is_newest

    drive(test)


def test_exits() -> None:
    """`exit` leaves with its status."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await run(driver, "exit 3")
        await driver.until(lambda: not driver.app.is_running, "it goes on")
        assert driver.app.return_code == 3

    drive(test)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("art", "art: unknown command\n  hint: did you mean at?\nexit status 2"),
        ("cat /nothing", "cat: /nothing: No such file or directory\nexit status 1"),
        ("ls 'x", "the quote ' is not closed: 'x\nexit status 2"),
        ("ls | wc", "|: system programs run only in the shell and in scripts\n"),
        ("!ls", "!: system programs run only in the shell and in scripts\n"),
        ("sql", "sql: which statement?"),
        ("cd /", "done"),
        ("find /bootstrap -offline", "nothing found"),
        ("grep nowhere /image/features", "exit status 1\nnothing found"),
        ("cd /; log --topic nowhere", "nothing found"),
    ],
)
def test_tells_what_is_wrong(text: str, said: str) -> None:
    """Errors are in the words of the shell, and what is not for here is refused with a hint."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        pane = await run(driver, text)
        assert pane.notes.text.startswith(said)
        assert not pane.row_tables
        assert said.split("\n", maxsplit=1)[0] in driver.screen()

    drive(test)


def test_tells_which_file_was_written(tmp_path: Path) -> None:
    """A line that prints into a file says where."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        file = tmp_path / "topics.csv"
        pane = await run(driver, f"topics -o csv > {file}")
        n_rows = len(file.read_text().splitlines()) - 1
        assert pane.notes.text == f"{n_rows:,} rows written to {file}"
        assert file.read_text().startswith("topic,")
        pane = await run(driver, f"topics --count > {file}")
        assert pane.notes.text == f"1 line written to {file}"
        pane = await run(driver, f"ls /image > {file}")
        n_lines = len(file.read_text().splitlines())
        assert n_lines > 1
        assert pane.notes.text == f"{n_lines} lines written to {file}"

    drive(test)


def test_tells_which_state_was_written(tmp_path: Path) -> None:
    """Before the end of the log the moment is told too."""

    async def test(driver: Driver) -> None:
        driver.app.travel(3499)
        await driver.settled()
        await opened(driver)
        file = tmp_path / "topics.csv"
        pane = await run(driver, f"topics -n 1 > {file}")
        assert pane.notes.text == f"1 row written to {file} (state at offset 3499)"

    drive(test)


def test_habits_and_history() -> None:
    """Aliases count; `up` brings lines back, when the line is opened anew too."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await run(driver, "where")
        assert screen.pane.text.text == "/"
        await run(driver, "history")
        assert "where" in screen.pane.text.text
        await driver.press("escape")
        screen = await opened(driver)
        await driver.press("up")
        assert screen.line.value == "history"
        await driver.press("up")
        assert screen.line.value == "where"
        await driver.press("down", "down")
        assert screen.line.value == ""

    drive(test, session_on(habits=Habits(aliases={"where": "pwd"})))


def test_escape_closes_from_the_output_too() -> None:
    """What the output of a command leads back to is the line by its keys, the view by escape."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("help topics")
        await driver.press("enter", "shift+tab")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        assert not screen.line.has_focus
        for key in ("shift+tab", "colon"):
            await driver.press(key)
            assert screen.line.has_focus
            await driver.press("shift+tab")
        await driver.press("escape")
        assert driver.app.screen is not screen

    drive(test)


def test_streams_until_escape() -> None:
    """What goes on writes as it goes, and escape ends it before it closes the line."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        screen.run("log -f --offset 4105.. --all -o jsonl")
        await driver.until(lambda: screen.pane.text.lines, "nothing came")
        assert driver.app.jobs.busy
        await driver.press("escape")
        assert not driver.app.jobs.busy
        assert driver.app.screen is screen
        assert "cancelled" in screen.pane.notes.text
        await driver.press("escape")
        assert driver.app.screen is not screen

    drive(test)


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that writes too much is ended, which is told."""
    monkeypatch.setattr("metashell.tui.asking.output_lines.MOST_LINES", 50)

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await run(driver, "find /")
        await driver.until(lambda: screen.pane.notes.lines, "no end")
        assert len(screen.pane.text.lines) == 50
        assert "ended after" in screen.pane.notes.text

    drive(test)


def test_asks_for_a_point() -> None:
    """The prompt's answer is where to travel; escape goes back without one."""

    async def test(driver: Driver) -> None:
        await driver.press("at")
        assert isinstance(driver.app.screen, MomentScreen)
        assert "offset" in driver.screen()
        await driver.press("escape")
        assert driver.scene.is_newest
        await driver.press("at", "3", "4", "9", "9", "enter")
        assert driver.scene.source.moment_offset == 3499

    drive(test)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("yesterday", "yesterday"),
        ("999999", "offset 999999 is not covered: the files hold the states at"),
    ],
)
def test_a_wrong_point_can_be_mended(typed: str, reason: str) -> None:
    """The prompt stays, with what was typed and why that is nowhere, until that is another."""

    async def test(driver: Driver) -> None:
        await driver.press("at", *typed, "enter")
        assert isinstance(driver.app.screen, MomentScreen)
        assert f"at {typed}" in driver.screen()
        assert reason in " ".join(driver.screen().split())
        assert not driver.told
        await driver.press(*["backspace"] * len(typed))
        assert reason not in " ".join(driver.screen().split())
        await driver.press("3", "4", "9", "9", "enter")
        assert not isinstance(driver.app.screen, MomentScreen)
        assert driver.scene.source.moment_offset == 3499

    drive(test)


def test_table_of_sql() -> None:
    """A statement of SQL is answered by a table."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        pane = await run(driver, "sql \"select 1 as one, '[bold]x[/]' as name\"")
        (table,) = pane.row_tables
        assert table.row == {"one": 1, "name": "[bold]x[/]"}
        assert "[bold]x[/]" in driver.screen()
        assert driver.one(RowTable) is table
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


def test_rows_fill_the_screen_and_back_shows_them_again() -> None:
    """Rows are a view of their own; `back` from a row's node leads to them, and Escape out."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        screen = await opened(driver)
        pane = await run(driver, "partitions")
        (table,) = pane.row_tables
        assert table.has_focus
        assert table.size.height > 18
        assert driver.screen().startswith(f" partitions  {table.row_count:,} rows")
        await driver.press("down", "down")
        row = table.row
        assert row is not None
        await driver.press("enter")
        path = f"/image/topics/byName/{row['topic']}/{row['partition']}"
        assert path == driver.app.path
        await driver.press("alt+left")
        again = driver.app.screen
        assert isinstance(again, CommandScreen)
        assert again is not screen
        (shown,) = again.pane.row_tables
        assert table.row_count == shown.row_count
        await driver.press("colon")
        assert again.line.has_focus
        await driver.press("escape")
        assert "/image/topics" == driver.app.path
        assert not driver.app.screen.is_modal

    drive(test)


def test_rows_with_a_summary_fill_the_screen_too() -> None:
    """What a command says of its rows stands above them, when they come back too."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        pane = await run(driver, "health")
        (table,) = pane.row_tables
        said = pane.text.text
        assert said.startswith("critical:")
        assert table.has_focus
        assert table.region.y > pane.text.region.y
        assert table.size.height > 9
        assert driver.screen().startswith(f" health  {table.row_count:,} rows")
        await driver.press("enter")
        assert not driver.app.screen.is_modal
        await driver.press("alt+left")
        again = driver.app.screen
        assert isinstance(again, CommandScreen)
        assert said == again.pane.text.text
        assert again.has_class("-full")
        await driver.press("escape")
        assert not driver.app.screen.is_modal

    drive(test)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_the_line_is_seen_below_rows(size: tuple[int, int]) -> None:
    """More rows than a screen has leave it its place."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        (table,) = (await run(driver, "partitions")).row_tables
        assert table.row_count > size[1]
        assert ":keys are for what is above" in driver.screen()
        await driver.press("colon", *"topics")
        assert ":topics" == driver.screen().splitlines()[-2].rstrip()
        assert screen.line.has_focus

    drive(test, size=size)


def test_keys_behind_a_command_are_for_its_rows() -> None:
    """What is typed while it runs waits for its rows, which have the focus then."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        screen.run("partitions")
        await driver.pilot.press("down", "down")
        await driver.settled()
        assert screen.has_class("-full")
        (table,) = screen.pane.row_tables
        assert table.has_focus
        assert table.cursor_row == 2
        assert "" == screen.line.value

    drive(test)


def test_keys_wait_until_rows_are_drawn() -> None:
    """The rows have the focus only then: a busy machine takes a while."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        behind = []
        with patch.object(screen, "call_after_refresh", behind.append):
            screen.run("partitions")
            await driver.until(lambda: behind, "the rows")
        for _ in range(2):
            driver.app.post_message(Key("down", None))
        await drain(driver.pilot)
        (move,) = behind
        move()
        await driver.settled()
        (table,) = screen.pane.row_tables
        assert table.cursor_row == 2

    drive(test)


def test_a_colon_begins_no_command() -> None:
    """Who is in the line already and types `:` once more gets no `:` in it."""

    async def test(driver: Driver) -> None:
        screen = await opened(driver)
        await driver.press("colon", "colon")
        assert "" == screen.line.value
        await driver.press("p", "w", "d", "colon")
        assert "pwd:" == screen.line.value

    drive(test)


def test_keys_of_the_program_work_in_rows() -> None:
    """`y` copies the row, `?` opens help, `z` says what is true, digits and `t` go on below."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        (table,) = (await run(driver, "partitions")).row_tables
        await driver.press("down", "y")
        assert driver.app.clipboard == table.row_text
        assert driver.told == ["row copied"]
        await driver.press("question_mark")
        assert driver.app.screen.query(Help)
        await driver.press("escape")
        assert not driver.app.screen.query(Help)
        await driver.press("z")
        assert "fills the screen already" in driver.told[-1]
        await driver.press("5")
        assert not driver.app.screen.is_modal
        assert driver.view.id == "brokers"
        await opened(driver)
        await run(driver, "partitions")
        await driver.press("t")
        assert not driver.app.screen.is_modal
        assert driver.app.timeline is driver.app.focused
        assert not [told for told in driver.told if "does nothing" in told]

    drive(test)


def test_neighbours_of_a_row() -> None:
    """`R` shows those of the row's node."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        (table,) = (await run(driver, "partitions")).row_tables
        await driver.press("down")
        row = table.row
        assert row is not None
        await driver.press("R")
        screen = driver.app.screen
        assert isinstance(screen, RelationsScreen)
        assert screen.walked == f"/image/topics/byName/{row['topic']}/{row['partition']}"

    drive(test)


def test_quits_from_rows() -> None:
    """`q` means the same as anywhere."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await run(driver, "partitions")
        await driver.pilot.press("q")
        await driver.until(lambda: driver.app._exit, "goes on")

    drive(test)


def test_an_empty_line_says_so() -> None:
    """Enter behind an answer does nothing, and names the key that goes to it."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await driver.press("enter")
        assert ["no command is typed"] == driver.told
        await run(driver, "ls /")
        await driver.press("enter")
        assert "no command is typed: shift+tab goes to the output" in driver.told

    drive(test)


def test_long_lines_go_on_behind_a_space() -> None:
    """Also with signs that are not ASCII, no number or name is cut in two."""
    told = "1357  PARTITION_CHANGE_RECORD  leader 103 → 101, isr [103,101,102] → [101,102]"
    rows = wrapped(told, 40)
    assert "".join(map(str, rows)) == told
    assert all(len(row) <= 40 and str(row).endswith(" ") for row in rows[:-1])
    assert ["ああ", "あ"] == list(wrapped("あああ", 5))
    assert "ab" * 50 == "".join(map(str, wrapped("ab" * 50, 7)))
