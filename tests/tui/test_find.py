"""Finding nodes: results as they come, what is wrong in place, and going there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metashell.fs.node import Directory
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.find import FindScreen
from metashell.tui.tree.listing import walk
from support.fixtures import DEMO, copy_of, fixture
from support.pilot import Driver, drive, session_on


async def find(driver: Driver, text: str) -> FindScreen:
    """Type a search and wait for its end."""
    if not isinstance(driver.app.screen, FindScreen):
        await driver.press("f")
    screen = driver.app.screen
    assert isinstance(screen, FindScreen)
    driver.one(CompletingInput).value = text
    await driver.settled()
    await driver.until(lambda: not screen.is_searching, "it goes on")
    await driver.settled()
    return screen


def test_each_topic_is_found_once() -> None:
    """By its name; by its id where the search is below that, or finds nothing else."""

    async def test(driver: Driver) -> None:
        by_ids = walk(driver.view_state.root, ("image", "topics", "byId"))
        assert isinstance(by_ids, Directory)
        screen = await find(driver, "-offline")
        paths = screen.results.paths
        assert len(paths) == 3
        assert all(path.startswith("/image/topics/byName/") for path in paths)
        topic_id = by_ids.names()[0]
        await find(driver, topic_id)
        by_id = f"/image/topics/byId/{topic_id}"
        assert screen.results.paths == [by_id]
        await driver.press("enter")
        assert driver.app.path == by_id
        screen = await find(driver, "0")
        assert f"{by_id}/0" in screen.results.paths

    drive(test, session_on(fixture("real-44-broker-down").input))


def test_tells_what_could_not_be_looked_at(tmp_path: Path) -> None:
    """What was found stays to be gone to, and the warning stands behind how much it is."""
    made = copy_of("real-44-broker-down", tmp_path)
    (made / "__cluster_metadata-0" / "quorum-state").write_text("{")

    async def test(driver: Driver) -> None:
        screen = await find(driver, "kraft.version")
        assert "/quorum/kraft.version" in screen.results.paths
        assert screen.problem is None
        assert "found; find: /quorum/quorum-state: " in " ".join(driver.screen().split())

    drive(test, session_on(made), size=(200, 40))


def test_what_is_found_is_shown_with_what_it_holds() -> None:
    """A leaf has its value beside its path, a directory its names; only what is seen is read."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "min.insync.replicas")
        screen.results.focus()
        shown = driver.screen()
        assert re.search(r"/TOPIC:payments/min.insync.replicas +1\n", shown), shown
        await find(driver, "-type f -path */topics/byName/*")
        assert re.search(r"byName/__consumer_offsets/0 +replicas \[\d+, ", driver.screen())
        found, height = screen.results, screen.results.size.height
        assert len(found.held.known) <= height < len(found.paths)
        await find(driver, "orders")
        assert re.search(r"byName/orders  0  1  2  3  4  5  id  name\n", driver.screen())

    drive(test, session_on(DEMO))


def test_no_number_is_cut_by_the_scroll_bar() -> None:
    """A value without room is left out, or ends with an ellipsis."""

    async def test(driver: Driver) -> None:
        await find(driver, "retention.ms")
        shown = re.search(r"/delete.retention.ms *([0-9…]*)", driver.screen())
        assert shown is not None
        assert shown[1] in ("", "172800000") or shown[1].endswith("…"), shown[1]

    drive(test, session_on(DEMO), size=(60, 20))


def test_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is kept than can be gone through, which is told."""
    monkeypatch.setattr("metashell.tui.screens.output_lines.MOST_LINES", 20)

    async def test(driver: Driver) -> None:
        screen = await find(driver, "*")
        await driver.until(lambda: len(screen.results.paths) == 20, "not all came")
        assert "narrow the search" in driver.screen()

    drive(test)
