"""Finding nodes: results as they come, what is wrong in place, and going there."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.fs.node import Directory
from metashell.tui.asking.completing import CompletingInput
from metashell.tui.asking.path_list import PathList
from metashell.tui.screens.find import FindScreen
from metashell.tui.tree.listing import walk
from support.fixtures import copy_of, fixture
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


def test_finds_parts_of_names() -> None:
    """A bare word finds all nodes with it in their names, a topic of that very name first."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "topic-000")
        expected = ["/image/topics/byName/topic-000", "/image/configs/TOPIC:topic-000"]
        assert screen.results.paths == expected
        assert "2 found" in driver.screen()
        await driver.press("enter")
        assert driver.app.path == expected[0]
        assert driver.app.screen is not screen

    drive(test)


def test_topics_with_the_word_come_first() -> None:
    """Enter goes to the topic, not to its configs, which the tree has before it."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "opic-000")
        assert screen.results.paths == [
            "/image/topics/byName/topic-000",
            "/image/configs/TOPIC:topic-000",
        ]
        await find(driver, "topic-0")
        paths = screen.results.paths
        assert len(paths) == len(set(paths))
        assert paths[0].startswith("/image/topics/byName/")

    drive(test)


def test_each_topic_is_found_once() -> None:
    """By its name; by its id where the search is below that, or finds nothing else."""

    async def test(driver: Driver) -> None:
        by_ids = walk(driver.scene.root, ("image", "topics", "byId"))
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


def test_a_dash_begins_a_test() -> None:
    """It is no file, and says nothing of one."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "-")
        assert (screen.problem, screen.results.paths) == (None, [])
        assert "type to search" in driver.screen()

    drive(test)


def test_searches_everywhere_where_nothing_is_below() -> None:
    """Nothing is below a leaf: what is found elsewhere is said to be so."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/provenance")
        await driver.settled()
        await driver.press("f")
        assert " find below provenance: ctrl+t everywhere " in driver.screen()
        screen = await find(driver, "topic-000")
        assert screen.results.paths[0] == "/image/topics/byName/topic-000"
        assert "2 found everywhere, nothing below provenance" in driver.screen()
        assert "\n find everywhere topic-000" in driver.screen()
        await find(driver, "no-such-name-anywhere")
        assert screen.results.paths == []
        said = "no name contains 'no-such-name-anyw…' · tests: -offline · values: :grep TEXT"
        assert f" {said}" in driver.screen().splitlines()
        await find(driver, "-name no-such-name")
        assert "no node passes these tests · values: :grep TEXT" in driver.screen()
        await find(driver, "provenance")
        assert screen.results.paths == ["/image/provenance"]
        assert "1 found everywhere, nothing below provenance" in driver.screen()

    drive(test)


def test_where_one_is_is_not_below_it() -> None:
    """From a topic its configs are found, too, whichever part of its name is typed."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/topic-000")
        await driver.settled()
        for text in ("topic-000", "opic-000"):
            screen = await find(driver, text)
            assert screen.results.paths == [
                "/image/topics/byName/topic-000",
                "/image/configs/TOPIC:topic-000",
            ]
        await find(driver, "0")
        assert screen.results.paths[0] == "/image/topics/byName/topic-000/0"
        assert " find below topic-000: ctrl+t everywhere 0" in driver.screen()

    drive(test)


def test_finds_by_tests() -> None:
    """The tests of find count, and another query is another search."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "-fenced")
        assert screen.results.paths
        assert all(path.startswith("/image/cluster/brokers/") for path in screen.results.paths)
        await find(driver, "no-such-name")
        assert screen.results.paths == []
        assert "no name contains 'no-such-name'" in driver.screen()
        assert "ctrl+t" not in driver.screen()

    drive(test, session_on(fixture("real-44-broker-down").input))


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-nmae x", "find: "),
        ("-name", "find: "),
        ("'x", "the quote ' is not closed"),
        ("-name x -exec cat {} ;", "-exec: here are tests alone"),
    ],
)
def test_tells_what_is_wrong(text: str, said: str) -> None:
    """What find says of an expression stands above the line, which stays."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, text)
        assert screen.problem is not None
        assert screen.problem.startswith(said)
        assert said in driver.screen()
        await find(driver, "topic-001")
        assert screen.problem is None

    drive(test)


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


def test_begins_where_one_is() -> None:
    """The search is below the directory looked at, or everywhere."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/configs")
        await driver.settled()
        screen = await find(driver, "topic-000")
        assert screen.results.paths == ["/image/configs/TOPIC:topic-000"]
        await driver.press("escape", "f")
        screen = await find(driver, "topic-000")
        await driver.press("tab")
        await driver.until(lambda: len(screen.results.paths) == 2, "not everywhere")

    drive(test)


def test_completes_tests() -> None:
    """Tab completes a test, and does not propose what is no test."""

    async def test(driver: Driver) -> None:
        await driver.press("f")
        line = driver.one(CompletingInput)
        line.value = "-under-m"
        line.cursor_position = len(line.value)
        await driver.settled()
        assert line.proposals.are_shown
        await driver.press("tab")
        assert line.value == "-under-min-isr "
        line.value = "-e"
        line.cursor_position = 2
        await driver.settled()
        assert [item.text for item in line.proposals.items] == ["-elr"]

    drive(test)


def test_list_goes_far() -> None:
    """A list of any length is gone through with the keys."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "-type f")
        paths = screen.query_one(PathList)
        n = len(paths.paths)
        assert n > 200
        paths.focus()
        await driver.press("end")
        assert paths.chosen == paths.paths[-1]
        assert paths.paths[-1] in driver.screen()
        await driver.press("pageup", "home", "up")
        assert paths.cursor == 0

    drive(test)


def test_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is kept than can be gone through, which is told."""
    monkeypatch.setattr("metashell.tui.asking.output_lines.MOST_LINES", 20)

    async def test(driver: Driver) -> None:
        screen = await find(driver, "*")
        await driver.until(lambda: len(screen.results.paths) == 20, "not all came")
        assert "narrow the search" in driver.screen()

    drive(test)


def test_keys_lead_to_results_and_back() -> None:
    """Where there are none the keys stay in the line, also after a search elsewhere."""

    async def test(driver: Driver) -> None:
        screen = await find(driver, "no-such-name")
        await driver.press("down")
        assert driver.app.focused is screen.line
        assert ["there are no results to go to"] == driver.told
        await driver.press("shift+tab")
        assert driver.app.focused is screen.line
        await find(driver, "topic-000")
        await driver.press("down")
        assert driver.app.focused is screen.results
        await driver.press("down", "up")
        assert (driver.app.focused, screen.results.cursor) == (screen.results, 0)
        await driver.press("up")
        assert driver.app.focused is screen.line
        await driver.press("down", "ctrl+t")
        assert driver.app.focused is screen.line

    drive(test)
