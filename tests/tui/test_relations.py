"""The neighbours of a node, walked as a small tree."""

from __future__ import annotations

import pytest
from textual.widgets import Input

import metashell
from metashell.fs.path import resolve
from metashell.tui.node.relations import relations_of
from metashell.tui.records.filters import Chip
from metashell.tui.scene import Scene
from metashell.tui.screens.relations import RelationsScreen
from metashell.tui.views.records import RecordsView
from support.fixtures import DEMO, fixture
from support.pilot import Driver, drive, session_on

ORDERS = "/image/topics/byName/orders"
SECOND = "/image/cluster/brokers/102"


def screen_of(driver: Driver) -> RelationsScreen:
    """The tree."""
    screen = driver.app.screen
    assert isinstance(screen, RelationsScreen)
    return screen


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        (ORDERS, ["topic", "configs", "partitions", "brokers", "ACLs", "quotas", "records"]),
        (f"{ORDERS}/0", ["topic", "configs", "brokers", "ACLs", "quotas", "records"]),
        ("/image/configs/TOPIC:orders", ["configs", "topic", "brokers", "records"]),
        ("/image/configs/BROKER:101", ["configs", "broker", "records"]),
        ("/image/cluster/brokers/101", ["configs", "partitions", "topics", "records"]),
        ("/image/acls/byId/29kxD1wLT82JZKvafQAfgQ", ["topics", "ACLs", "quotas"]),
        ("/image/clientQuotas/user(analytics)", ["ACLs", "quotas"]),
    ],
)
def test_neighbours(path: str, groups: list[str]) -> None:
    """Each kind of node has its groups, and every path in them is there."""
    source = metashell.open(DEMO)
    found = relations_of(Scene(opened=source, cluster=source), path)
    assert found is not None
    assert groups == [group.name for group in found.groups]
    nodes = [node for group in found.groups for node in (group, *group.children)]
    for node in nodes:
        if node.path is not None:
            resolve(source.root, node.path)
    assert any(group.children for group in found.groups)


def test_none() -> None:
    """A node of another kind has none, nor has one that is not there."""
    source = metashell.open(DEMO)
    scene = Scene(opened=source, cluster=source)
    for path in ("/", "/image/topics", "/image/topics/byName/nowhere"):
        assert relations_of(scene, path) is None


def test_none_are_told() -> None:
    """No box is opened for a node without neighbours."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        await driver.press("R")
        assert not driver.app.screen.is_modal
        assert ["no neighbours of /image/topics are known"] == driver.told

    drive(test, session_on(DEMO))


def test_walks() -> None:
    """Right shows a neighbour's neighbours, left goes back, enter goes there, alt+left returns."""

    async def test(driver: Driver) -> None:
        driver.app.go(ORDERS)
        await driver.settled()
        await driver.press("R")
        screen = screen_of(driver)
        assert ORDERS in str(screen.query_one("Vertical").border_title)
        await driver.press("b", "down", "down")
        assert screen.chosen is not None
        assert ("102", SECOND) == (screen.chosen.name, screen.chosen.path)
        assert "leads p2 p3, follows p0 p1 p4 p5" == screen.chosen.told
        assert "leads p2 p3, follows p0 p1 p4 p5" in driver.screen()
        await driver.press("right")
        assert ["configs", "partitions"] == [r.name for r in screen.shown if r.key][:2]
        await driver.press("left", "b", "down", "down", "enter")
        assert SECOND == driver.app.path
        await driver.press("alt+left")
        assert ORDERS == driver.app.path

    drive(test, session_on(DEMO))


def test_to_configs_and_records() -> None:
    """Letters lead to the configs and to the topic's own records, and back."""

    async def test(driver: Driver) -> None:
        driver.app.go(ORDERS)
        await driver.settled()
        await driver.press("R", "c", "enter")
        assert "/image/configs/TOPIC:orders" == driver.app.path
        await driver.press("R", "t", "enter")
        assert ORDERS == driver.app.path
        await driver.press("R", "r", "enter")
        view = driver.view
        assert isinstance(view, RecordsView)
        assert [Chip("--topic", "orders")] == view.chips
        assert 42 == view.model.n_records
        await driver.press("alt+left")
        assert "explorer" == driver.view.id
        assert ORDERS == driver.app.path
        driver.app.go(SECOND)
        await driver.settled()
        await driver.press("R", "r", "enter")
        assert [Chip("--broker", "102")] == view.chips

    drive(test, session_on(DEMO))


def test_fenced_brokers_are_named() -> None:
    """A broker that is fenced says so before what it leads and follows; so does the group."""
    source = metashell.open(fixture("real-44-broker-down").input)
    found = relations_of(Scene(opened=source, cluster=source), ORDERS)
    assert found is not None
    (group,) = (group for group in found.groups if group.name == "brokers")
    assert "3, 1 fenced" == group.told
    told = {child.name: child.told for child in group.children}
    assert "fenced, follows p0 p1 p2 p3 p4" == told["103"]
    assert not told["101"].startswith("fenced")


@pytest.mark.cases(2)
@pytest.mark.parametrize("keys", [("R",), ("g",), ("B",), ("at",), ("2", "a")])
def test_a_box_has_its_own_keys(keys: tuple[str, ...]) -> None:
    """The last line shows the keys of what is open above the view, not those below it."""

    async def test(driver: Driver) -> None:
        driver.app.go(ORDERS)
        await driver.settled()
        await driver.press(*keys)
        bar = driver.screen().splitlines()[-1]
        assert "esc" in bar
        assert "Filter" not in bar

    drive(test, session_on(DEMO))


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "keys", [("R",), ("B",), ("c",), ("f",), ("g",), ("at",), ("x",), ("colon",)]
)
def test_a_box_lists_its_keys(keys: tuple[str, ...]) -> None:
    """The key that a message names for that does so: in a line `?` is text."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        await driver.press("tab")
        if keys == ("R",):
            driver.app.show_relations(ORDERS)
            await driver.settled()
        else:
            await driver.press(*keys)
        assert driver.app.screen.is_modal
        await driver.press("f5")
        is_line = isinstance(driver.app.focused, Input)
        help_key = "f1" if is_line else "?"
        assert [f"f5 does nothing here: {help_key} lists the keys"] == driver.told
        await driver.press("f1" if is_line else "question_mark")
        assert driver.app.screen.query("HelpPanel")
        await driver.press("escape")
        assert not driver.app.screen.query("HelpPanel")
        assert driver.app.screen.is_modal

    drive(test, session_on(DEMO))


def test_of_the_row_under_the_cursor() -> None:
    """`R` in Records and Brokers is about the row's node, wherever the explorer is."""

    async def test(driver: Driver) -> None:
        await driver.press("5")
        await driver.press("R")
        assert screen_of(driver).walked == "/image/cluster/brokers/101"
        assert screen_of(driver).shown
        await driver.press("escape")
        await driver.look("records")
        view = driver.one(RecordsView)
        while view.detail is None or view.detail.topic is None or view.detail.target is None:
            await driver.press("up")
        assert driver.app.path in ("/", "/image/cluster/brokers/101")
        await driver.press("R")
        assert view.detail.target.path == screen_of(driver).walked
        assert "topic" in [relation.name for relation in screen_of(driver).shown]

    drive(test, session_on(DEMO))
