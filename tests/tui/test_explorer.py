"""The explorer's left side: the tree, the path above it, going somewhere, bookmarks."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

import metashell
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.tui.node.pane import NodePane
from metashell.tui.session import ExplorerSession
from metashell.tui.tree.outline import LOADING, NodeKey
from metashell.tui.tree.tree import NodeTree
from support.fixtures import DEMO
from support.pilot import SAMPLE, SMALL, WIDE, Driver, drive, session_on
from support.waiting import until

BROKER = "/image/cluster/brokers/104"
HOSTILE = ("[bold]x[/]", "\x1b[31mred", "a\nb", "a/b", "n" * 200, "", "漢字" * 30, "\u202ertl")


class Slow(Directory):
    """A directory whose names come when they are let."""

    def __init__(self, names: Sequence[str]) -> None:
        self.may = threading.Event()
        self._names = sorted(names)
        self.n_drawn = 0
        """Children that the drawing thread asked for."""

    def names(self) -> Sequence[str]:
        """The names, as soon as that is allowed."""
        self.may.wait()
        return self._names

    def child(self, name: str) -> Node | None:
        """A directory of two."""
        self.n_drawn += threading.current_thread() is threading.main_thread()
        return FixedDirectory({name: lambda: TextLeaf("x") for name in ("id", "name")})


def sample_with(**nodes: Node) -> Any:
    """The sample with further nodes at its root."""
    source = metashell.open(SAMPLE)
    makers = {name: (lambda node=node: node) for name, node in nodes.items()}
    root = source.root
    assert isinstance(root, FixedDirectory)
    source.__dict__["root"] = root.but(makers)
    return source


def tree(driver: Driver) -> NodeTree:
    """The tree."""
    return driver.one(NodeTree)


def drive_tree(
    test: Callable[[Driver], Awaitable[None]],
    session: ExplorerSession | None = None,
    size: tuple[int, int] = SMALL,
) -> None:
    """Run the explorer for a test, which begins when the tree is there."""

    async def begin(driver: Driver) -> None:
        await driver.until(lambda: tree(driver).outline.listing(()), "no tree")
        await driver.settled()
        await test(driver)

    drive(begin, session, size)


def keys(driver: Driver) -> list[NodeKey]:
    """What has a line, from top to bottom."""
    outline = tree(driver).outline
    return [outline.line(i).key for i in range(outline.n_lines)]


def names(driver: Driver) -> list[str]:
    """Its names."""
    return [key[-1] if key else "/" for key in keys(driver)]


def row(driver: Driver) -> int:
    """How far below the top of the tree the cursor stands."""
    return tree(driver).cursor - tree(driver).scroll_offset.y


async def go(driver: Driver, path: str, **options: Any) -> None:
    """Go to a path, and wait until it is shown."""
    driver.app.go(path, **options)
    await driver.settled()
    await driver.until(lambda: tree(driver).path == driver.app.path == path, "not there")


def test_the_cursor_stands_still_when_names_appear_above() -> None:
    """News above the cursor move nothing on the screen, and no key waits for them."""

    class Growing(Slow):
        """More names each time that a view state asks."""

        def __init__(self, n: int) -> None:
            super().__init__([f"{i:04}" for i in range(1000 - n, 1100)])

        def child(self, name: str) -> Node | None:
            return TextLeaf(name) if name in self._names else None

    few, more = Growing(10), Growing(30)
    few.may.set()

    async def test(driver: Driver) -> None:
        await go(driver, "/grows/1050")
        before, line = row(driver), tree(driver).cursor
        assert tree(driver).scroll_offset.y > 0
        driver.app.news(sample_with(grows=more))
        jobs = driver.app.jobs
        await driver.until(lambda: any(job.key == "look" for job in jobs.busy), "no look begins")
        assert not jobs.leading
        more.may.set()
        await driver.settled()
        assert tree(driver).cursor == line + 20
        assert row(driver) == before
        assert driver.app.path == "/grows/1050"

    drive_tree(test, session_on(lambda: sample_with(grows=few)))


def test_names_are_data() -> None:
    """Names that look like markup, or would steer the terminal, are shown as they are written."""
    node = FixedDirectory({name: lambda: TextLeaf("x") for name in HOSTILE})

    async def test(driver: Driver) -> None:
        await driver.press("end")
        await go(driver, "/zz")
        await driver.press("right")
        screen = driver.screen()
        for text in (
            "[bold]x[/]",
            "\\x1b[31mred",
            "a\\nb",
            "a/b",
            "nnn…",
            "漢字漢字",
            "\\u202ertl",
        ):
            assert text in screen, text
        assert "\x1b" not in screen
        width = tree(driver).size.width
        assert all(tree(driver).render_line(y).cell_length == width for y in range(20))
        for name in sorted(HOSTILE):
            await driver.press("down")
            line = tree(driver).line
            assert line is not None
            assert line.key == ("zz", name)
            assert metashell.fs.path.resolve(driver.view_state.root, driver.app.path).name == name
            assert driver.one(NodePane)._named[0] == driver.app.path

    drive_tree(test, session_on(lambda: sample_with(zz=node)), size=WIDE)


def test_listing_shows_and_can_be_cancelled() -> None:
    """A directory says that it is being listed; escape closes it again, and it can be retried."""
    slow = Slow(["a", "b"])

    async def test(driver: Driver) -> None:
        await driver.pilot.press("end")
        await driver.until(lambda: driver.app.jobs.busy, "the right side does not begin")
        await driver.pilot.press("right")
        await driver.until(lambda: LOADING in driver.screen(), "does not say that it lists")
        assert driver.app.jobs.busy[-1].title == "listing /zz"
        await driver.pilot.press("escape")
        await driver.until(lambda: LOADING not in driver.screen(), "not closed")
        slow.may.set()
        await driver.press("right")
        assert keys(driver)[-2:] == [("zz", "a"), ("zz", "b")]

    drive_tree(test, session_on(lambda: sample_with(zz=slow)), size=WIDE)


def test_many_names_cost_what_is_seen() -> None:
    """Of 100,000 directories only those are made that can be seen."""
    many = Slow([f"topic-{i:06}" for i in range(100_000)])
    many.may.set()

    async def test(driver: Driver) -> None:
        await driver.press("end", "right", "end", "home", "end")
        outline = tree(driver).outline
        assert outline.n_lines > 100_000
        assert driver.app.path == "/zz/topic-099999"
        await until(lambda: many.n_drawn > 0, "what is seen is drawn")
        assert many.n_drawn < 10 * tree(driver).size.height
        await driver.press("right")
        assert keys(driver)[-2:] == [("zz", "topic-099999", name) for name in ("id", "name")]

    drive_tree(test, session_on(lambda: sample_with(zz=many)))


def test_filters_the_directory_at_hand() -> None:
    """The filter narrows one directory as it is typed, and escape brings all back."""
    many = Slow(["Orders", "orders-2", "payments", "shop"])
    many.may.set()

    async def test(driver: Driver) -> None:
        await driver.press("end", "right", "slash")
        await driver.type("ord")
        await driver.press("enter")
        assert names(driver)[-2:] == ["Orders", "orders-2"]
        assert "/ord" in driver.screen()
        assert driver.app.focused is tree(driver)
        await driver.press("down")
        assert driver.app.path == "/zz/Orders"
        driver.app.news(sample_with(zz=many))
        await driver.settled()
        assert names(driver)[-2:] == ["Orders", "orders-2"]
        await driver.press("slash")
        await driver.type("x")
        assert "(nothing with ordx)" in driver.screen()
        await driver.press("escape")
        assert names(driver)[-4:] == ["Orders", "orders-2", "payments", "shop"]
        await driver.press("slash")
        await driver.type("pay")
        await driver.press("enter")
        assert driver.app.path == "/zz/payments"

    drive_tree(test, session_on(lambda: sample_with(zz=many)))


def test_filters_the_history_that_was_asked_for() -> None:
    """Its key was the last: until the cursor moves in the tree, a filter is of the rows."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/configs")
        await driver.settled()
        await driver.press("h", "slash")
        await driver.type("retention")
        await driver.press("enter")
        assert driver.one(NodePane).filter_text == "retention"
        assert not tree(driver).filter_text
        await driver.press("escape", "up", "slash")
        await driver.type("acl")
        await driver.press("enter")
        assert tree(driver).filter_text == "acl"
        assert not driver.one(NodePane).filter_text

    drive(test, session_on(DEMO))


def test_closing_a_directory_above_goes_to_it() -> None:
    """The user is where the cursor is: at the directory that took its line along."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        (above,) = [key for key in keys(driver) if tree(driver).outline.path_of(key) == "/image"]
        tree(driver).close_at(above)
        await driver.settled()
        assert "/image" == driver.app.path

    drive_tree(test)


def test_a_click_on_the_path_goes_there() -> None:
    """The title of the node's panel is its path, whose parts lead to their directories."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        pane = driver.one(NodePane).region
        at = driver.screen().splitlines()[pane.y].index("image")
        await driver.pilot.click(offset=(at + 1, pane.y))
        await driver.settled()
        assert driver.app.path == "/image"

    drive_tree(test)


@pytest.mark.parametrize(
    "way",
    [
        ("0", "tab", "tab", "tab", "enter", "escape", "1"),
        ("0", "tab", "tab", "tab", "enter", "alt+left", "1"),
        ("5", "enter", "escape", "1"),
        ("3", "enter", "down", "enter", "escape", "1"),
    ],
)
def test_a_step_back_that_is_not_seen(way: Sequence[str]) -> None:
    """The tree, the title and the content are of the place that another view went back to."""

    async def test(driver: Driver) -> None:
        driver.app.go(BROKER)
        await driver.settled()
        for key in way[:-2]:
            await driver.press(key)
        assert (driver.view.id, driver.app.path == BROKER) == ("explorer", False)
        await driver.press(*way[-2:])
        assert "› brokers › 104" in driver.screen()
        await driver.press("tab", "h")
        shown = driver.one(NodePane).shown_path
        assert {BROKER} == {driver.app.path, tree(driver).path, shown}
        assert tree(driver).line.key[-1] == "104"
        assert "› brokers › 104" in driver.screen()

    drive_tree(test, session_on(DEMO))


def test_names_that_come_after_a_step_back() -> None:
    """The place is the one that was gone back to."""
    slow = Slow(["a"])

    async def test(driver: Driver) -> None:
        await driver.look("home")
        driver.app.go("/zz/a")
        driver.app.action_place_back()
        slow.may.set()
        await driver.settled()
        assert (driver.view.id, driver.app.path) == ("home", "/")
        await driver.press("1")
        assert {"/"} == {tree(driver).path, driver.one(NodePane).shown_path}

    drive_tree(test, session_on(lambda: sample_with(zz=slow)))
