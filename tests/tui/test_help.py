"""Help for the focused part, and themes in which everything can be read."""

from __future__ import annotations

import pytest
from rich.color import ColorSystem
from textual.color import Color
from textual.containers import VerticalScroll

from metashell.tui.frame.help import Help, help_text, keys_table
from metashell.tui.frame.status import TabStrip
from metashell.tui.rows.table import RowTable
from support.bindings import shown
from support.fixtures import DEMO
from support.pilot import Driver, drive, session_on
from support.seeds import chosen

_LEAST = 7.0
_TEXTS = (
    "foreground",
    "foreground-muted",
    "foreground-disabled",
    "primary",
    "secondary",
    "accent",
    "warning",
    "error",
    "success",
    "text-primary",
    "text-accent",
    "text-warning",
    "text-error",
    "text-success",
    "footer-key-foreground",
    "markdown-h1-color",
    "markdown-h6-color",
)
_PAIRS = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("foreground", "block-hover-background"),
    ("link-color-hover", "link-background-hover"),
)


def _luminance(color: Color) -> float:
    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def _contrast(one: Color, other: Color) -> float:
    """The contrast ratio as WCAG 2 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_all_themes_can_be_used() -> None:
    """The styles of the program hold in each theme, and those of what opens above it."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        names = sorted(driver.app.available_themes)
        for i in chosen(5, len(names)):
            driver.app.theme = name = names[i]
            await driver.settled()
            assert "Explorer" in driver.screen(), name
            assert "Complete" in driver.screen(), name

    drive(test, draws=True)


def test_unknown_theme_is_passed_over() -> None:
    """A theme of the session is used, and one that does not exist is not."""

    async def test(driver: Driver) -> None:
        assert driver.app.theme == "high-contrast"

    drive(test, session_on(theme="high-contrast"))

    async def other(driver: Driver) -> None:
        assert driver.app.theme in driver.app.available_themes

    drive(other, session_on(theme="none-such"))


def test_state_is_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NO_COLOR the current tab and the cursor are marked all the same."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(driver: Driver) -> None:
        assert driver.app.no_color
        strip = driver.app.query_one(TabStrip)
        named = next(s for s in strip.render_line(0) if "Explorer" in s.text)
        assert named.style is not None
        assert named.style.reverse

    drive(test)


def test_help_of_what_has_the_focus() -> None:
    """The panel tells what the focused part is, then the view, and follows the focus."""

    async def test(driver: Driver) -> None:
        app = driver.app
        await app.screen.mount(Help())
        await driver.settled()
        text = help_text(app.focused, app.screen)
        assert driver.view.HELP.strip() in text
        assert "ctrl+p" in text
        table = RowTable()
        await driver.view.mount(table)
        table.focus()
        await driver.settled()
        assert help_text(app.focused, app.screen).startswith(RowTable.HELP.strip())
        assert driver.app.screen.query_one("#help-keys").region.width > 20
        await driver.until(lambda: "A table." in driver.screen(), "no help")
        # What is focused to be scrolled is the help itself, which stays what it was.
        app.screen.query_one(Help).query_one(VerticalScroll).focus()
        await driver.press("end")
        assert "A table." not in driver.screen()
        assert "Editor" in driver.screen()

    drive(test)


def test_help_lists_only_keys_that_matter() -> None:
    """Keys have names in the configuration; those of Textual's widgets are not in the way."""

    async def test(driver: Driver) -> None:
        table = keys_table(driver.app.screen)
        keys = [str(cell) for cell in table.columns[0].cells]
        described = [str(cell) for cell in table.columns[1].cells]
        assert "Quit: leave the explorer" in described
        assert "Timeline: move along the log, in time" in described
        assert "Filter" in described  # which the text above explains
        assert "q" in keys
        assert not any("Focus" in text or "Copy selected" in text for text in described)

    drive(test)


def test_only_views_of_what_is_open_have_a_key() -> None:
    """One directory without coordinators' logs has no fleet and no groups, in rows too."""

    async def test(driver: Driver) -> None:
        for keys in ((), ("colon", *"topics", "enter")):
            await driver.press(*keys)
            column = keys_table(driver.app.screen).columns[1].cells
            described = [str(text) for text in column]
            assert "Brokers" in described
            assert not {"Fleet", "Groups"} & set(described)

    drive(test)


_MOVES = frozenset(
    ("Up", "Down", "Left", "Right", "Page up", "Page down", "First", "Last", "To the top",
     "To the end", "Next", "Previous", "Newest", "Oldest", "Back", "On", "Open", "Close")
)  # fmt: skip
"""Words that say all there is to say of a key."""


@pytest.mark.cases(2)
@pytest.mark.parametrize("keys", ["", "tab", "tab,h", "t", "2", "3", "3,tab", "4", "5"])
def test_every_key_is_explained(keys: str) -> None:
    """Each key of the bar and of the help has a line of its own, or is in the help's text."""

    async def test(driver: Driver) -> None:
        app = driver.app
        app.go("/image/topics")
        await driver.settled()
        for key in filter(None, keys.split(",")):
            await driver.press(key)
        text = help_text(app.focused, app.screen)
        unexplained = [
            (binding.description, binding.key)
            for _, binding, is_enabled, tooltip in app.screen.active_bindings.values()
            if is_enabled and binding.id and not tooltip and binding.description not in _MOVES
            and not binding.id.startswith("view.") and f"`{shown(binding.key)}`" not in text
        ]  # fmt: skip
        assert not unexplained

    drive(test)


def test_no_key_of_the_tree_is_explained_twice() -> None:
    """The tree and its view say each thing once."""

    async def test(driver: Driver) -> None:
        text = help_text(driver.app.focused, driver.app.screen)
        assert [1, 1] == [text.count(f"`{key}`") for key in "/W"]

    drive(test)


def test_no_color_has_no_shades_of_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn with NO_COLOR has the terminal's own colours alone."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(driver: Driver) -> None:
        await driver.look("health")
        cursor = driver.one(RowTable).get_component_rich_style("row-table--cursor")
        assert cursor.reverse
        filters = driver.app.get_line_filters()
        strips = [
            s.apply_filter(f, driver.app.screen.background_colors[1])
            for s in driver.app.screen._compositor.render_strips()
            for f in filters[-1:]
        ]
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert any(style.reverse for style in styles)
        assert all(c is None or c.is_default for s in styles for c in (s.color, s.bgcolor))

    drive(test)


@pytest.mark.parametrize("theme", ["metashell-dark", "metashell-light", "ansi-dark", "ansi-light"])
def test_severity_in_sixteen_colours(theme: str) -> None:
    """It keeps red and yellow; without colours signs tell it."""

    async def test(driver: Driver) -> None:
        driver.app.theme = theme
        await driver.press("down", "down", "down")  # the cursor has colours of its own
        found: dict[str, int | None] = {}
        for strip in driver.app.screen._compositor.render_strips():
            for segment in strip:
                if segment.text.strip() in ("●", "▲") and segment.style and segment.style.color:
                    colour = segment.style.color.downgrade(ColorSystem.STANDARD)
                    found.setdefault(segment.text.strip(), colour.number)
        assert found["●"] in (1, 9)
        assert found["▲"] in (3, 11)

    drive(test, session_on(DEMO, path=""))


def test_signs_are_explained() -> None:
    """Each that Home can have is told of in its help."""

    async def test(driver: Driver) -> None:
        said = help_text(driver.app.focused, driver.app.screen)
        assert [] == [sign for sign in "•●▲·│" if f"`{sign}`" not in said]

    drive(test, session_on(DEMO, path=""))
