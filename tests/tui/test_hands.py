"""Keys and the mouse do what hands expect, in every view alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.frame.status import StatusLine
from metashell.tui.records.filters import Chip
from metashell.tui.rows.table import RowTable
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.relations import RelationsScreen
from metashell.tui.screens.sql import SqlScreen
from metashell.tui.tree.tree import NodeTree
from metashell.tui.views.records import RecordsView
from support.bindings import declared_bindings
from support.fixtures import DEMO
from support.node_sources import on
from support.pilot import Driver, drive, plain_title, session_on
from support.screens import BROKER, TOPIC
from support.waiting import until
from tui.test_explorer import keys, sample_with


def footer(driver: Driver) -> str:
    """The keys in the last line."""
    return driver.app.screen.query_one(KeyBar).render().plain


def test_escape_goes_back_step_by_step() -> None:
    """A filter is dropped, then what was opened, then the view is left; the footer says which."""

    async def test(driver: Driver) -> None:
        assert "esc" not in footer(driver).split()
        await driver.press("5", "w", "z", "slash")
        await driver.type("csv")
        await driver.press("enter")
        assert "esc Drop filter" in footer(driver)
        await driver.press("escape")
        assert driver.view.filter_text == ""
        assert driver.view.is_inside
        assert driver.app.screen.maximized is not None
        assert "esc Restore size" in footer(driver)
        await driver.press("escape")
        assert driver.app.screen.maximized is None
        assert "esc Back" in footer(driver)
        await driver.press("escape")
        assert not driver.view.is_inside
        assert driver.view.id == "brokers"
        await driver.press("escape")
        assert driver.view.id == "explorer"
        assert "esc" not in footer(driver).split()

    drive(test, session_on(DEMO))


def test_escape_does_not_walk_through_time() -> None:
    """It leaves a change that was gone to as a whole, but never a time that was chosen."""

    async def test(driver: Driver) -> None:

        def shown() -> tuple[str | None, int | None]:
            cluster = driver.view_state.cluster
            assert cluster is not None
            return driver.view.id, cluster.moment_offset

        await driver.press("2", "enter")
        assert ("explorer", 1935) == shown()
        await driver.press("escape")
        assert ("records", None) == shown()
        await driver.press("enter", "left_square_bracket")
        await driver.press("escape")
        assert ("records", 1917) == shown()
        await driver.press("3", "E")
        await driver.press("escape")
        assert ("records", None) == shown()
        await driver.press("escape")
        assert ("explorer", None) == shown()
        assert "esc" not in footer(driver).split()

    drive(test, session_on(DEMO))


def test_escape_drops_the_filters_of_records() -> None:
    """All of them, then it goes back; those that a node's records came with go with the view."""

    async def test(driver: Driver) -> None:
        await driver.press("2", "a")
        await driver.type("type Config")
        await driver.press("enter")
        assert "esc Drop filter" in footer(driver)
        await driver.press("escape")
        assert "filter dropped: type Config" in driver.told[-1]
        assert "esc Back" in footer(driver)
        await driver.press("escape")
        assert driver.view.id == "explorer"
        driver.app.show_records(Chip("--topic", "orders"))
        await driver.settled()
        assert "topic orders" in driver.screen()
        assert "esc Back" in footer(driver)
        await driver.press("escape")
        assert driver.view.id == "explorer"
        await driver.press("2")
        assert "topic orders" not in driver.screen()

    drive(test, session_on(DEMO))


def test_escape_leads_back_from_every_way_into_a_view() -> None:
    """A key, a row of Home and a click on a tab alike."""

    async def test(driver: Driver) -> None:
        await driver.press("0")
        for way in ("3", "enter", "tab of Health"):
            assert driver.view.id == "home", way
            if way == "tab of Health":
                at = driver.screen().splitlines()[0].index("Health")
                await driver.pilot.click(offset=(at + 1, 0))
                await driver.settled()
            else:
                await driver.press(way)
            assert driver.view.id == "health", way
            await driver.press("escape")
        assert driver.view.id == "home"

    drive(test, session_on(DEMO))


@pytest.mark.parametrize("view", ["4", "5"])
def test_enter_is_in_the_footer_of_tables(view: str) -> None:
    """It is the main key of rows."""

    async def test(driver: Driver) -> None:
        await driver.press(view)
        assert isinstance(driver.app.focused, RowTable)
        assert footer(driver).startswith("⏎ Open")

    drive(test, session_on(DEMO))


def test_one_tab_carries_a_key() -> None:
    """The key between the table and the children stands on the one that it goes to."""

    async def test(driver: Driver) -> None:
        driver.app.go(TOPIC)
        await driver.settled()
        assert "D Children" in driver.screen()
        assert "D Partitions" not in driver.screen()
        await driver.press("D")
        assert "D Partitions" in driver.screen()
        assert "D Children" not in driver.screen()

    drive(test, session_on(DEMO))


def test_numbers_are_in_the_order_of_their_values() -> None:
    """Partitions in the tree, before the leaves of their topic."""
    names = ("0", "1", "10", "11", "2", "9", "id", "name")
    topic = FixedDirectory({name: lambda: TextLeaf("x") for name in names})

    async def test(driver: Driver) -> None:
        driver.app.go("/topic")
        await driver.settled()
        await driver.press("right")
        found = [key[1] for key in keys(driver) if key[:1] == ("topic",) and len(key) == 2]
        assert ["0", "1", "2", "9", "10", "11", "id", "name"] == found
        for name in ("10", "id"):
            driver.app.go(f"/topic/{name}")
            await driver.settled()
            assert driver.one(NodeTree).path == f"/topic/{name}"

    drive(test, session_on(lambda: sample_with(topic=topic)))


def test_the_line_between_both_sides_can_be_dragged() -> None:
    """The tree is as wide as the mouse says, until another width is asked for."""

    async def test(driver: Driver) -> None:
        tree, pilot = driver.one(NodeTree), driver.pilot
        before = tree.outer_size.width
        await pilot.mouse_down(offset=(tree.region.right - 1, 8))
        await pilot.hover(offset=(49, 9))
        await pilot.mouse_up(offset=(49, 9))
        await driver.settled()
        assert tree.outer_size.width == 50
        await pilot.hover(offset=(60, 9))
        assert tree.outer_size.width == 50
        await driver.press("W", "W")
        assert tree.outer_size.width == before

    drive(test, session_on(DEMO))


def test_a_letter_means_one_thing() -> None:
    """In every view and list alike, but that it also closes what it opened."""
    names: dict[str, set[str]] = {}
    for _, binding in declared_bindings():
        # Keys that move a cursor are as in other programs.
        if len(binding.key) == 1 and binding.key not in "hjkl" and binding.description != "Back":
            names.setdefault(binding.key, set()).add(binding.description)
    several = {key: words for key, words in names.items() if len(words) > 1}
    assert several == {
        "G": {"Last", "Newest"},
        "a": {"Add", "Add filter"},
        "u": {"By rack", "Time/offsets"},
    }


def test_a_topic_has_one_page() -> None:
    """From any row about it: its findings, partitions, configs, ACLs and changes."""

    async def test(driver: Driver) -> None:
        await driver.press("T")
        assert driver.told[-1] == "no topic is under the cursor"
        await driver.press("0", "g")
        await driver.type(f"{TOPIC}/1")
        await driver.press("enter", "T")
        view = driver.view
        assert view.id == "topic"
        assert "T Topic" in driver.screen()
        found = dict(view.tables())
        assert {"findings", "partitions", "configs", "acls", "changes"} == set(found)
        assert "offline-partitions" in found["findings"]["code"].to_pylist()
        assert "topic csv-imports · 6 partitions · 3 offline" in driver.screen()
        assert "Groups not read: no log of groups is open" in driver.screen()
        assert "none:" not in driver.screen()
        await driver.press("R")
        screen = driver.app.screen
        assert isinstance(screen, RelationsScreen)
        assert screen.walked == TOPIC
        await driver.press("escape", "escape")
        assert (driver.view.id, driver.app.path) == ("explorer", f"{TOPIC}/1")
        await driver.press("3", "enter", "down", "T")
        assert driver.view.id == "topic"

    drive(test, session_on(DEMO))


def test_the_page_of_a_topic_has_the_findings_about_its_configs() -> None:
    """They name another node than the topic's."""

    async def test(driver: Driver) -> None:
        await driver.press("g")
        await driver.type("/image/topics/byName/audit-log")
        await driver.press("enter", "T")
        found = dict(driver.view.tables())
        assert found["findings"]["code"].to_pylist() == ["lowered-config"]

    drive(test, session_on(DEMO))


def test_d_describes_what_the_cursor_is_on() -> None:
    """A topic on its page, a broker by the command, whether a row or the node is about it."""

    async def test(driver: Driver) -> None:
        await driver.press("d")
        assert driver.told[-1] == "no topic, broker, group or user is under the cursor"
        driver.app.go(f"{TOPIC}/1")
        await driver.settled()
        assert "d Describe" in footer(driver)
        await driver.press("d")
        assert driver.view.id == "topic"
        await driver.press("d")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen), "on its page the command says more"
        assert screen.text.text.startswith("topic ")
        await driver.press("escape", "5", "end", "d")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        assert screen.text.text.startswith("broker 105")
        await driver.press("escape")
        driver.app.go("/image/acls")
        await driver.settled()
        await driver.press("tab", "d")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        assert screen.text.text.startswith("user ")

    drive(test, session_on(DEMO))


def test_groups_of_a_topic_have_their_lag() -> None:
    """Where the logs of the broker are open; a row that names the topic leads there."""

    async def test(driver: Driver) -> None:
        await driver.press("7", "enter", "T")
        await driver.until(lambda: "groups" in dict(driver.view.tables()), "groups")
        groups = dict(driver.view.tables())["groups"]
        assert {"group", "partition", "lag", "offset"} <= set(groups.column_names)
        assert groups["lag"].null_count == 0

    drive(test, on(*map(Path, BROKER)))


def test_rows_of_configs_and_acls_lead_to_their_nodes() -> None:
    """Also those of a command."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("config --all topic:csv-imports retention.ms")
        await driver.press("enter", "enter")
        assert driver.app.path == "/image/configs/TOPIC:csv-imports/retention.ms"

    drive(test, session_on(DEMO))


def test_sql_in_several_lines() -> None:
    """Rows have their view; a mistake is told; tables stand beside, and statements come back."""
    pytest.importorskip("duckdb")

    async def test(driver: Driver) -> None:
        await driver.press("S")
        screen = driver.app.screen
        assert isinstance(screen, SqlScreen)
        await driver.press("ctrl+r")
        assert "no statement is typed" in driver.screen()
        screen.area.insert("select topic\nfrom nowhere")
        await driver.press("ctrl+r")
        assert "nowhere" in driver.screen().splitlines()[-2] + driver.screen().splitlines()[-3]
        screen.area.text = "select topic\nfrom "
        screen.area.move_cursor(screen.area.document.end)
        await driver.press("tab", "t", "end", "enter")
        assert driver.app.focused is screen.area
        screen.area.text = "select topic\nfrom topics"
        await driver.press("ctrl+r")
        assert driver.view.id == "rows"
        ((name, rows),) = driver.view.tables()
        assert (name, rows.column_names) == ("sql", ["topic"])
        await driver.press("S", "ctrl+up", "ctrl+up")
        screen = driver.app.screen
        assert isinstance(screen, SqlScreen)
        assert screen.area.text == "select topic\nfrom nowhere"
        await driver.press("escape", "S", "s")
        screen = driver.app.screen
        assert isinstance(screen, SqlScreen)
        assert screen.area.text == "s"  # in place of the last statement
        await driver.press("escape", "ctrl+r")
        assert driver.view.id == "rows"
        driver.app.kept.clear()  # the database with it

    drive(test, session_on(DEMO))


def test_an_age_says_what_it_counts_from() -> None:
    """Back from the last record, as everywhere; the shown state has a bar of its own."""

    async def test(driver: Driver) -> None:
        status = driver.one(StatusLine)
        usual = status.styles.background
        await driver.press("@")
        await driver.type("-5m")
        await driver.press("enter")
        assert driver.told == ["-5m: before the last record, 2026-11-22T12:43:40.666Z"]
        assert driver.screen().splitlines()[-2].startswith(" earlier state  E: newest")
        assert usual != status.styles.background
        await driver.press("escape")
        assert driver.told[-1] == "no further place; E returns to the end of the log"
        await driver.press("E")
        assert usual == status.styles.background
        await driver.press("@")
        await driver.type("-1h")
        await driver.press("enter")
        assert "is before the log: shown is its oldest state, of 2026" in driver.told[-1]

    drive(test, session_on(DEMO))


def test_a_time_as_shown_leads_to_its_records() -> None:
    """Records have the cursor there, and the last record of that second is among them."""

    async def test(driver: Driver) -> None:
        await driver.press("2", "home", "@")
        await driver.type("12:39:49")
        await driver.press("enter")
        view = driver.view
        assert isinstance(view, RecordsView)
        assert 1891 == view.records.here
        assert "1891 12:39:49" in driver.screen()
        assert driver.app.here.offset == 1891, "1892 of that second changed nothing"
        previous = driver.view_state.previous
        assert previous is not None
        assert previous.moment_offset is None, "the state shown before"
        await driver.press("left_square_bracket", "equals_sign")
        await driver.until(lambda: driver.view.id == "rows", "no rows")
        assert "1878  12:39:49" in driver.screen()
        assert "later:" not in driver.screen()

    drive(test, session_on(DEMO))


def test_m_shows_the_record_applied() -> None:
    """A record inside a batch counts once all of the batch does; the cursor stays with it."""

    async def test(driver: Driver) -> None:
        await driver.press("2", "home", "@")
        await driver.type("1885")
        await driver.press("enter", "up", "m")
        view, cluster = driver.view, driver.view_state.cluster
        assert isinstance(view, RecordsView)
        assert cluster is not None
        assert (1884, 1891) == (view.records.here, cluster.moment_offset)
        assert "1884 lies inside the batch of offsets 1878 to 1891" in driver.told[-1]

    drive(test, session_on(DEMO))


def test_what_changed_since_the_previous_stop() -> None:
    """Neither more nor less, whichever way one went; the rows say which state they are about."""

    async def test(driver: Driver) -> None:
        for before, now, rows in (
            (2049, 1891, "1891 to 2049  3 rows at offset 1891"),
            (1891, 1877, "1877 to 1891  14 rows at offset 1877"),
            (1877, 1891, "1877 to 1891  14 rows at offset 1891"),
        ):
            for offset in (before, now):
                driver.app.travel(offset)
                await driver.settled()
            await driver.press("equals_sign")
            told = f"what changed from offset {rows}"
            assert plain_title(driver).strip() == told
            await driver.press("r")
            assert plain_title(driver).strip() == told
        await driver.press("E")
        assert plain_title(driver).strip() == told

    drive(test, session_on(DEMO))


def test_a_proposed_command_shows_the_newest() -> None:
    """Of a command whose newest line is the last; the first lines are above."""

    async def test(driver: Driver) -> None:
        await driver.look("health")
        await driver.press("enter")
        await driver.settled()
        await driver.press("!")
        newest = "1891  2026-11-22T12:39:49.172Z"
        await until(lambda: newest in driver.screen(), "the last lines are shown")
        await driver.press("pageup", "pageup", "pageup")
        assert "711  2026-11-22T12:21:01.585Z" in driver.screen()

    drive(test, session_on(DEMO))


def test_a_message_covers_no_detail() -> None:
    """It stands where the timeline is."""

    async def test(driver: Driver) -> None:
        await driver.press("3")
        driver.app.tell("something")
        await driver.settled()
        (toast,) = driver.app.screen.query("Toast")
        assert driver.app.timeline is not None
        assert toast.region.y >= driver.app.timeline.region.y
        assert toast.region.bottom <= driver.one(StatusLine).region.y

    drive(test, session_on(DEMO))


def test_the_filter_says_what_it_filters() -> None:
    """Of the tree one directory, else rows."""

    async def test(driver: Driver) -> None:
        for path, told in (("/", "filter names in /; f searches everywhere"),):
            driver.app.go(path)
            await driver.press("slash")
            assert told in driver.screen()
            await driver.press("escape")
        await driver.press("5", "slash")
        assert "filter these rows: what they must contain" in driver.screen()

    drive(test, session_on(DEMO))


def test_rows_are_where_they_were() -> None:
    """Who comes back to them finds the cursor and the scrolled rows as they were left."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("topics")
        await driver.press("enter", "pagedown", "pagedown")
        table = driver.one(RowTable)
        before = table.cursor, table.scroll_y
        assert before[1] > 0
        await driver.press("3")
        await driver.press("escape")
        assert driver.view.id == "rows"
        assert before == (table.cursor, table.scroll_y)

    drive(test, session_on(DEMO))


def test_a_view_is_as_it_was_left() -> None:
    """Its number brings back the cursor, what was opened, the filter and the scrolled rows."""

    async def test(driver: Driver) -> None:
        for view, *typed in (
            ("1", "end", "tab", "down"),
            ("2", "pageup", "pageup", "up", "tab", "pagedown"),
            ("3", "down", "enter", "slash", *"csv", "enter"),
            ("4", "tab", "down", "s"),
            ("5", "down", "w", "down", "right"),
        ):
            await driver.press(view, *typed)
            before = driver.screen().splitlines()[1:22]
            await driver.press("0", "down", view)
            assert before == driver.screen().splitlines()[1:22], view

    drive(test, session_on(DEMO), size=(100, 30))


@pytest.mark.parametrize(("keys", "told"), [(("0",), "R x"), (("5",), "w"), (("1",), "R x")])
def test_keys_that_matter_are_in_the_footer(keys: tuple[str, ...], told: str) -> None:
    """At 80 columns, too."""

    async def test(driver: Driver) -> None:
        await driver.press(*keys)
        found = footer(driver).split()
        assert set(told.split()) <= set(found)

    drive(test, session_on(DEMO, path=""))
