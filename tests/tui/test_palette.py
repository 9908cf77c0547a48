"""The palette: what can be done, with its keys, and paths by their beginning."""

from __future__ import annotations

from textual.command import CommandInput, CommandList, CommandPalette

from metashell.tui.frame.keys import KEYS
from metashell.tui.frame.palette import paths_from
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.export import FORMATS
from support.pilot import Driver, drive


async def found(driver: Driver, query: str, expected: str) -> list[str]:
    """What the palette shows for a query, once something is there."""
    if not isinstance(driver.app.screen, CommandPalette):
        driver.app.action_command_palette()
        await driver.until(lambda: driver.app.screen.query(CommandInput), "no palette")
    driver.one(CommandInput).value = query

    def shown() -> list[str]:
        return [str(option.prompt) for option in driver.one(CommandList).options]

    await driver.until(lambda: any(text.startswith(expected) for text in shown()), expected)
    return shown()


def test_offers_views_and_actions_with_their_keys() -> None:
    """Without a query there is what can be done; a view without a fleet is not offered."""

    async def test(driver: Driver) -> None:
        shown = await found(driver, "", "View: Health")
        assert "View: Health  3  what is wrong, since when, and what to do" in shown
        assert "Find  f  search names, or nodes by tests" in shown
        assert any(text.startswith("Export  x  to a file") for text in shown)
        assert not any(text.startswith("View: Fleet") for text in shown)
        assert any(text.startswith(": partitions  ") for text in shown)

    drive(test)


def test_chooses_a_view() -> None:
    """What is chosen is done."""

    async def test(driver: Driver) -> None:
        await found(driver, "view quorum", "View: Quorum")
        await driver.press("enter")
        await driver.until(lambda: driver.view.id == "quorum", "another view")

    drive(test)


def test_types_a_command() -> None:
    """A command of the shell opens the line, with its name in it."""

    async def test(driver: Driver) -> None:
        await found(driver, ": who-can", ": who-can")
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, CommandScreen), "no line")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        assert screen.line.value == "who-can "

    drive(test)


def test_goes_to_paths() -> None:
    """A path goes on, a topic is found by how it begins, and both can be gone to."""

    async def test(driver: Driver) -> None:
        view_state = driver.view_state
        assert paths_from(view_state, "/image/cluster/b") == ["/image/cluster/brokers"]
        assert "/image/topics/byName/topic-001" in paths_from(view_state, "topic-00")
        assert paths_from(view_state, "/nothing/x") == []
        shown = await found(driver, "/image/cluster", "/image/cluster")
        assert shown[0] == "/image/cluster"
        await driver.press("enter")
        await driver.until(lambda: driver.app.path == "/image/cluster", "not gone there")

    drive(test)


def test_sets_themes() -> None:
    """Each theme can be chosen by its name."""

    async def test(driver: Driver) -> None:
        await found(driver, "high-contrast", "Theme: high-contrast")
        await driver.press("enter")
        await driver.until(lambda: driver.app.theme == "high-contrast", "another theme")

    drive(test)


def test_offers_bookmarks() -> None:
    """A bookmark is gone to, in time as well."""

    async def test(driver: Driver) -> None:
        driver.app.travel(3499)
        await driver.settled()
        driver.app.action_bookmark()
        await driver.press("E")
        shown = await found(driver, "bookmark", "Bookmark: /")
        assert "Bookmark: / at offset 3499" in shown
        driver.one(CommandInput).value = "/ at offset 3499"
        await driver.until(lambda: driver.one(CommandList).option_count == 1, "more than one")
        await driver.press("enter")
        await driver.until(lambda: driver.view_state.source.moment_offset == 3499, "not there")

    drive(test)


def test_finds_by_what_help_says() -> None:
    """Words that only the help of it has lead to it, before mere letters."""

    async def test(driver: Driver) -> None:
        for query, expected in (
            ("csv", "Export"),
            ("hex", "View: Records"),
            ("bytes", "View: Records"),
            ("clipboard", "Copy path"),
        ):
            shown = await found(driver, query, expected)
            assert not shown[0].startswith("Theme"), query
            assert any(query in text for text in shown if text.startswith(expected)), query

    drive(test)


def test_says_that_nothing_matches() -> None:
    """A query that leads nowhere is answered."""

    async def test(driver: Driver) -> None:
        await found(driver, "csv", "Export")
        driver.one(CommandInput).value = "qqqzzz"
        await driver.until(lambda: "No matches found" in driver.screen(), "no word of that")

    drive(test)


def test_export_names_its_formats() -> None:
    """The words by which it is found are those that it writes."""
    export = next(binding for binding in KEYS if binding.id == "export")
    assert (export.tooltip or "").rpartition(": ")[2].split(", ") == list(FORMATS)
