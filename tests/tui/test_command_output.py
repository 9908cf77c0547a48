"""What a command said, and how to get on from the line below it."""

from __future__ import annotations

from textual.widgets import Static

from metashell.tui.rows.cluster_rows import path_of
from metashell.tui.views.rows import RowsView
from support.pilot import Driver, drive

FIRST = 3262
"""The first offset whose state the sample knows."""


def test_a_node_of_another_state_is_named() -> None:
    """Enter, and the key of neighbours, on a node that was made later say where it is not."""

    async def test(driver: Driver) -> None:
        driver.app.travel(FIRST)
        await driver.settled()
        await driver.press("equals_sign")
        view = driver.view
        assert isinstance(view, RowsView)
        table, view_state = view.table, driver.view_state
        assert table.shown is not None
        paths = table.shown.column("path").to_pylist()
        at = next(
            i for i in range(len(paths)) if path_of({"path": paths[i]}, view_state.root, "") is None
        )
        table.go_to_line(at)
        for key in ("enter", "R"):
            await driver.press(key)
            assert [f"{paths[at]} is not there at offset {FIRST}"] == driver.told
            assert driver.view is view

    drive(test)


def test_what_is_cut_in_a_row_stands_below_the_rows() -> None:
    """All of it, with the names of its columns, of the row under the cursor; else nothing."""

    async def test(driver: Driver) -> None:
        driver.app.travel(FIRST)
        await driver.settled()
        await driver.press("equals_sign")
        whole = driver.view.query_one("#rows-detail", Static)
        path = "/image/configs/TOPIC:topic-015/max.message.bytes"
        assert path not in driver.screen().splitlines()[3]
        assert f" path: {path}" in driver.screen().splitlines()
        await driver.press("down")
        assert str(whole.render()).startswith("path: /image/configs/TOPIC:topic-015/retention.")
        await driver.pilot.resize_terminal(160, 24)
        await driver.settled()
        assert not whole.display
        await driver.pilot.resize_terminal(80, 24)
        await driver.settled()
        assert whole.display

    drive(test)
