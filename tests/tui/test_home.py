"""Home: what it shows of a cluster, for how much room, and where its rows lead."""

from __future__ import annotations

import json

import pytest

from metashell.tui.rows.table import RowTable
from metashell.tui.views.home import PANELS, HomeView
from support.fixtures import DEMO
from support.pilot import SMALL, Driver, drive, session_on
from support.screens import BROKER, Screen
from support.shell import run_on

LARGE = (200, 50)
HOME = session_on(DEMO, path="")


def home(driver: Driver) -> HomeView:
    """The view."""
    assert isinstance(driver.view, HomeView)
    return driver.view


def shown(driver: Driver) -> list[str]:
    """Names of the panels that are seen."""
    return [name for name, table in home(driver).tables_by_name.items() if table.size.height]


@pytest.mark.parametrize(
    ("size", "names"),
    [(SMALL, "health quorum brokers topics"), (LARGE, "health quorum brokers topics changes")],
)
def test_panels(size: tuple[int, int], names: str) -> None:
    """A small screen has the four that matter; what is not open has no panel."""

    async def test(driver: Driver) -> None:
        assert names.split() == shown(driver)
        view = home(driver)
        assert "csv-imports are offline" in driver.screen()
        brokers = view.tables_by_name["brokers"].shown
        assert brokers is not None
        told = json.loads(run_on(driver.view_state.source, "brokers -o json").out)
        assert [row["leaders"] for row in told] == brokers["leaders"].to_pylist()
        assert view.tables_by_name["topics"].row["topic"] == "csv-imports"
        # Only the end of this copy is known: the leader would look as if it had nothing.
        assert "log_end_offset" not in view.tables_by_name["quorum"].columns_shown

    drive(test, HOME, size)


def test_groups_and_disks() -> None:
    """They have panels where their logs are open: the groups by lag, the disks with bytes."""

    async def test(driver: Driver) -> None:
        assert [panel.name for panel in PANELS] == shown(driver)
        tables = home(driver).tables_by_name
        assert tables["groups"].shown["lag"].drop_null().to_pylist()
        assert all(tables["disks"].shown["bytes"].to_pylist())

    session = Screen("home", (), lambda _: None, path="", directories=BROKER).session()
    drive(test, session, LARGE)


@pytest.mark.parametrize(
    ("panel", "view", "path"),
    [
        ("health", "health", "/"),
        ("quorum", "quorum", "/"),
        ("brokers", "brokers", "/"),
        ("topics", "explorer", "/image/topics/byName/csv-imports"),
        ("changes", "explorer", "/image/acls/byId/2VfExrRgREu56EmmNRBUqg"),
    ],
)
def test_enter_goes_there(panel: str, view: str, path: str) -> None:
    """To the row in the view that has more of such rows, else to its node."""

    async def test(driver: Driver) -> None:
        table = home(driver).tables_by_name[panel]
        table.focus()
        if path == "/":
            await driver.press("down")
        row = table.row
        assert row is not None
        await driver.press("enter")
        assert driver.view.id == view
        assert driver.app.path == path
        if view != "explorer":
            chosen = driver.view.table.row  # type: ignore[attr-defined]
            assert chosen[table.columns_shown[0]] == row[table.columns_shown[0]]

    drive(test, HOME, LARGE)


def test_one_panel_shows_its_cursor() -> None:
    """That with the focus, which letters move as well."""

    async def test(driver: Driver) -> None:
        tables = home(driver).tables_by_name
        for name in ("health", "quorum"):
            tables[name].focus()
            await driver.press("j")
            assert tables[name].cursor == 1
            assert [name] == [other for other, table in tables.items() if shows_cursor(table)]
        await driver.press("G")
        assert tables["quorum"].cursor == tables["quorum"].n_lines - 1
        await driver.press("k")
        assert tables["quorum"].cursor == tables["quorum"].n_lines - 2

    drive(test, HOME)


def shows_cursor(table: RowTable) -> bool:
    """Whether one of its rows has the cursor's colour."""
    ground = table.get_component_rich_style("row-table--cursor").bgcolor
    rows = table.render_lines(table.outer_size.region)
    return any(part.style and part.style.bgcolor == ground for row in rows for part in row)


@pytest.mark.parametrize("view", ["home", "health"])
def test_signs_of_severities_have_their_colours(view: str) -> None:
    """In the title as in the rows."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        title = driver.view.table._border_title  # type: ignore[attr-defined]
        styles = {title.plain[span.start]: span.style for span in title.spans}
        assert {"●": "$text-error", "▲": "$text-warning"} == styles

    drive(test, HOME)


def test_a_title_ends_with_a_whole_word() -> None:
    """Where the border is too short for it, and it is whole where there is room again."""

    async def test(driver: Driver) -> None:
        assert "3 offline · 13 …" in driver.screen()
        await driver.pilot.resize_terminal(*LARGE)
        await driver.settled()
        assert "13 under-replicated · 115 partitions" in driver.screen()

    drive(test, HOME)


def test_detail() -> None:
    """A finding says why, and what to do."""

    async def test(driver: Driver) -> None:
        screen = driver.screen()
        assert "cause broker 104 is fenced since" in screen
        assert "do start the broker on its own log dirs" in screen

    drive(test, HOME, LARGE)
