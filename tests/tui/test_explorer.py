"""The explorer's left side: the tree, the path above it, going somewhere, bookmarks."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from textual.widgets import Input, OptionList

import metashell
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.places import VisitedNode
from metashell.tui.screens.bookmarks import BookmarksScreen
from metashell.tui.screens.go_to import GoToScreen
from metashell.tui.session import ExplorerSession
from metashell.tui.tree.breadcrumbs import Breadcrumbs
from metashell.tui.tree.listing import walk
from metashell.tui.tree.outline import LOADING, NodeKey
from metashell.tui.tree.tree import NodeTree
from support.fleets import backups
from support.pilot import SAMPLE, SMALL, WIDE, Driver, drive, session_on

FIRST = 3262
"""The first offset whose state the sample knows."""
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


def topics_of(source: Source) -> Sequence[str]:
    """Names of topics."""
    directory = walk(source.root, ("image", "topics", "byName"))
    assert isinstance(directory, Directory)
    return directory.names()


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
        await driver.until(lambda: tree(driver).outline is not None, "no tree")
        await driver.settled()
        await test(driver)

    drive(begin, session, size)


def keys(driver: Driver) -> list[NodeKey]:
    """What has a line, from top to bottom."""
    outline = tree(driver).outline
    assert outline is not None
    return [outline.line(i).key for i in range(outline.n_lines)]


def names(driver: Driver) -> list[str]:
    """Its names."""
    return [key[-1] if key else "/" for key in keys(driver)]


def row(driver: Driver) -> int:
    """How far below the top of the tree the cursor stands."""
    return tree(driver).cursor_line - tree(driver).scroll_offset.y


async def go(driver: Driver, path: str, **options: Any) -> None:
    """Go to a path, and wait until it is shown."""
    driver.app.go(path, **options)
    await driver.settled()
    await driver.until(lambda: tree(driver).path == driver.app.path == path, "not there")


def test_begins_with_the_image_open() -> None:
    """The root and the image are listed at first, and the tree has the focus."""

    async def test(driver: Driver) -> None:
        assert names(driver)[:4] == ["/", "bootstrap", "image", "acls"]
        assert driver.app.focused is tree(driver)
        assert "▾ image/" in driver.screen()
        assert "▸ topics/" in driver.screen()
        assert "├ provenance" in driver.screen()

    drive_tree(test)


def test_keys_move_open_and_close() -> None:
    """Arrows move, open and close; what is looked at is known at once, and shown soon."""

    async def test(driver: Driver) -> None:
        await driver.press("down", "down")
        assert driver.app.path == "/image"
        await driver.press("left")
        assert names(driver) == ["/", "bootstrap", "image", "local", "log", "quorum"]
        await driver.press("right")
        assert "topics" in names(driver)
        await driver.press("right")
        assert driver.app.path == "/image/acls"
        await driver.press("enter")
        assert ("image", "acls", "byId") in keys(driver)
        await driver.press("j", "l", "l")
        first = driver.app.path
        assert first.startswith("/image/acls/byId/")
        await driver.press("backspace")
        assert driver.app.path == "/image/acls/byId"
        await driver.press("left", "left", "left")
        assert driver.app.path == "/image/acls"
        assert ("image", "acls", "byId") not in keys(driver)
        await driver.press("end")
        assert driver.app.path == "/quorum"
        await driver.press("home")
        assert driver.app.path == "/"
        await driver.press("pagedown", "pageup")
        assert driver.app.path == "/"
        await driver.press("up")
        assert tree(driver).cursor_line == 0

    drive_tree(test)


def test_goes_to_a_path() -> None:
    """The directories on the way are opened, and the path above tells where one is.

    The key that closes leads back up.
    """

    async def test(driver: Driver) -> None:
        name = topics_of(driver.scene.source)[-1]
        await go(driver, f"/image/topics/byName/{name}/id")
        line = tree(driver).line
        assert line is not None
        assert line.key == ("image", "topics", "byName", name, "id")
        assert driver.one(Breadcrumbs).path == f"/image/topics/byName/{name}/id"
        assert 0 <= row(driver) < tree(driver).size.height
        await go(driver, "/local")
        await driver.press("alt+left")
        assert driver.app.path == f"/image/topics/byName/{name}/id"
        for is_open in (True, False):  # first it goes up, then it closes
            await driver.press("left")
            assert driver.app.path == f"/image/topics/byName/{name}"
            assert is_open is (("image", "topics", "byName", name, "id") in keys(driver))

    drive_tree(test)


def test_a_node_that_is_not_there_comes_back() -> None:
    """At an offset where the node is not there the path stays, and travelling on finds it."""

    async def test(driver: Driver) -> None:
        now = driver.scene.source
        name = min(set(topics_of(now)) - set(topics_of(now.at(FIRST))))
        path = f"/image/topics/byName/{name}/0"
        await go(driver, path)
        driver.app.travel(FIRST)
        await driver.settled()
        assert driver.scene.source.moment_offset == FIRST
        assert driver.app.path == path
        line = tree(driver).line
        assert line is not None
        assert line.key[:2] == ("image", "topics")
        assert len(line.key) < 5
        assert "not there at this offset" in driver.screen()
        await driver.press("E")
        line = tree(driver).line
        assert line is not None
        assert line.key == ("image", "topics", "byName", name, "0")
        assert "not there" not in driver.screen()
        assert 0 <= row(driver) < tree(driver).size.height

    drive_tree(test, size=WIDE)


def test_the_cursor_stands_still_when_names_appear_above() -> None:
    """News above the cursor move nothing on the screen, and no key waits for them."""

    class Growing(Slow):
        """More names each time that a scene asks."""

        def __init__(self, n: int) -> None:
            super().__init__([f"{i:04}" for i in range(1000 - n, 1100)])

        def child(self, name: str) -> Node | None:
            return TextLeaf(name) if name in self._names else None

    few, more = Growing(10), Growing(30)
    few.may.set()

    async def test(driver: Driver) -> None:
        await go(driver, "/grows/1050")
        before, line = row(driver), tree(driver).cursor_line
        assert tree(driver).scroll_offset.y > 0
        driver.app.news(sample_with(grows=more))
        jobs = driver.app.jobs
        await driver.until(lambda: any(job.key == "look" for job in jobs.busy), "no look begins")
        assert not jobs.leading
        more.may.set()
        await driver.settled()
        assert tree(driver).cursor_line == line + 20
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
            assert metashell.fs.path.resolve(driver.scene.root, driver.app.path).name == name
            assert driver.one(Breadcrumbs).path == driver.app.path

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
        assert outline is not None
        assert outline.n_lines > 100_000
        assert driver.app.path == "/zz/topic-099999"
        assert 0 < many.n_drawn < 10 * tree(driver).size.height
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


def test_filter_stays_in_the_directory_that_it_was_begun_in() -> None:
    """While it is typed the cursor goes to what it leaves, which may be open."""

    async def test(driver: Driver) -> None:
        await go(driver, "/image/topics/byName/topic-000")
        await driver.press("right")
        await go(driver, "/image/topics/byName/topic-027")
        await driver.press("slash")
        for character in "topic-000":
            await driver.type(character)
        outline = tree(driver).outline
        assert outline is not None
        assert outline.filters() == {("image", "topics", "byName"): "topic-000"}
        assert driver.app.path == "/image/topics/byName/topic-000"
        await driver.press("enter", "slash")
        await driver.type("1")
        assert outline.filters()["image", "topics", "byName", "topic-000"] == "1"

    drive_tree(test)


def test_jumps_to_a_name() -> None:
    """Typed letters go to the name that begins so; escape goes back."""
    many = Slow([f"t{i:03}" for i in range(500)])
    many.may.set()

    async def test(driver: Driver) -> None:
        await driver.press("end", "right", "i")
        await driver.type("t3")
        assert driver.app.path == "/zz/t300"
        await driver.type("42")
        assert driver.app.path == "/zz/t342"
        await driver.press("down", "enter")
        assert driver.app.path == "/zz/t343"
        assert driver.app.focused is tree(driver)
        await driver.press("i")
        await driver.type("T4")
        assert driver.app.path == "/zz/t400"
        await driver.press("escape")
        assert driver.app.path == "/zz/t343"

    drive_tree(test, session_on(lambda: sample_with(zz=many)))


def test_the_mouse() -> None:
    """A click goes to a line, its arrow opens, a double click too; a part of the path goes up."""

    async def test(driver: Driver) -> None:
        at = names(driver).index("quorum")
        await driver.pilot.click(NodeTree, offset=(5, at))
        await driver.settled()
        assert driver.app.path == "/quorum"
        assert ("quorum", "status") not in keys(driver)
        n_lines = len(keys(driver))
        await driver.pilot.click(NodeTree, offset=(0, at))
        await driver.settled()
        assert len(keys(driver)) > n_lines
        at = names(driver).index("acls") - tree(driver).scroll_offset.y
        await driver.pilot.click(NodeTree, offset=(5, at), times=2)
        await driver.settled()
        assert ("image", "acls", "byId") in keys(driver)
        assert driver.app.path == "/image/acls"
        await driver.pilot.click(Breadcrumbs, offset=(5, 0))
        await driver.settled()
        assert driver.app.path == "/image"

    drive_tree(test, size=WIDE)


def test_marks_what_changed() -> None:
    """After a move in time there is a mark behind what changed since."""

    async def test(driver: Driver) -> None:
        assert "•" not in driver.screen()
        driver.app.travel(3398)
        await driver.settled()
        await driver.until(lambda: tree(driver).is_marked(("image",)), "no mark")
        assert not tree(driver).is_marked(("local",))
        assert "image/ •" in driver.screen()

    drive_tree(test)


def test_the_tree_can_be_wider_and_alone() -> None:
    """One key makes it wider, another gives it the whole screen."""

    async def test(driver: Driver) -> None:
        narrow = tree(driver).size.width
        assert narrow > 20
        await driver.press("w")
        assert tree(driver).size.width > narrow
        await driver.press("w")
        assert tree(driver).size.width == narrow
        await driver.press("z")
        assert tree(driver).size.width > 70
        await driver.press("z")
        assert tree(driver).size.width == narrow

    drive_tree(test)


def test_a_fleet(tmp_path: Path) -> None:
    """Clusters are opened as they are gone to; the scene then is that cluster's."""
    parent = backups(tmp_path / "fleet")

    async def test(driver: Driver) -> None:
        assert driver.scene.cluster is None
        await driver.look("explorer")
        await go(driver, "/clusters")
        await driver.press("right")
        await driver.press("down", "down")
        path = "/clusters/controller-2"
        assert driver.app.path == path
        await driver.until(lambda: driver.scene.prefix == path, "no cluster at hand")
        await driver.settled()
        await driver.press("right")
        assert ("clusters", "controller-2", "image") in keys(driver)
        await go(driver, f"{path}/image/topics/byName")
        assert driver.scene.prefix == path
        driver.app.travel(3398)
        await driver.settled()
        assert driver.app.path == f"{path}/image/topics/byName"
        await driver.until(
            lambda: tree(driver).is_marked(("clusters", "controller-2", "image")), "no mark"
        )
        assert not tree(driver).is_marked(("clusters", "controller-1"))
        await go(driver, "/clusters/controller-1/image/features")
        await driver.until(
            lambda: driver.scene.prefix == "/clusters/controller-1", "not the other cluster"
        )

    drive(test, session_on(lambda: open_fleet(sorted(map(str, parent.iterdir())))))


def test_go_to_completes_and_goes() -> None:
    """Tab completes, arrows choose, Enter goes; a wrong path is told and changes nothing."""

    async def test(driver: Driver) -> None:
        await driver.press("g")
        screen = driver.app.screen
        assert isinstance(screen, GoToScreen)
        await driver.type("/im")
        assert [p.text for p in screen.line.proposals.items] == ["/image/"]
        await driver.press("tab")
        line = screen.query_one(Input)
        assert line.value == "/image/"
        await driver.type("to")
        await driver.press("tab")
        assert line.value == "/image/topics/"
        await driver.press("down", "down", "enter")
        assert driver.app.screen is not screen
        assert driver.app.path == "/image/topics/byName"
        await driver.press("g")
        await driver.type("nothing")
        await driver.press("enter")
        assert isinstance(driver.app.screen, GoToScreen)
        assert "No such file or directory" in driver.screen()
        assert "No such file or directory  " in driver.screen()  # the hint is a line of its own
        assert "escape, then f finds a name" in driver.screen()
        await driver.press("escape", "g")
        await driver.type("1884")
        await driver.press("enter")
        assert "escape, then @ goes to an offset" in driver.screen()
        await driver.press("escape")
        assert driver.app.path == "/image/topics/byName"

    drive_tree(test)


def test_enter_goes_to_what_is_typed() -> None:
    """Tab chooses no proposal where there is nothing to complete; the arrows do."""

    async def test(driver: Driver) -> None:
        for keys, path in (
            (("tab", "tab"), "/image"),
            (("down",), "/image/acls"),
        ):
            await driver.press("g")
            await driver.type("/image/")
            await driver.press(*keys)
            await driver.press("enter")
            assert driver.app.path == path

    drive_tree(test)


def test_go_to_an_offset() -> None:
    """PATH@OFFSET goes to the node at that offset."""

    async def test(driver: Driver) -> None:
        await driver.press("g")
        driver.app.screen.query_one(Input).value = "/image/features@3398"
        await driver.press("enter")
        assert driver.app.path == "/image/features"
        assert driver.scene.source.moment_offset == 3398

    drive_tree(test)


def test_bookmarks() -> None:
    """A bookmark is a node at an offset; Enter goes there, delete forgets it."""

    async def test(driver: Driver) -> None:
        await driver.press("B")
        assert "no bookmark yet" in driver.screen()
        await driver.press("escape")
        await go(driver, "/image/features", offset=3398)
        await driver.press("b", "E")
        await go(driver, "/local")
        await driver.press("b", "B")
        screen = driver.app.screen
        assert isinstance(screen, BookmarksScreen)
        assert screen.chosen == VisitedNode("/image/features", 3398)
        assert "/image/features @3398" in driver.screen()
        await driver.press("down")
        assert screen.chosen == VisitedNode("/local")
        await driver.press("delete")
        assert driver.app.places.bookmarks == [VisitedNode("/image/features", 3398)]
        assert screen.query_one(OptionList).highlighted is not None
        await driver.press("home", "enter")
        assert driver.app.path == "/image/features"
        assert driver.scene.source.moment_offset == 3398
        await driver.press("B")
        assert "recent" in driver.screen()
        await driver.press("escape")

    drive_tree(test)


def test_state_is_not_told_by_colour_alone() -> None:
    """Without colours the cursor can still be told from the other lines."""

    async def test(driver: Driver) -> None:
        styles = [tree(driver).render_line(y)._segments[0].style for y in (0, 1)]
        assert [bool(style and style.bold) for style in styles] == [True, False]
        await driver.press("tab")
        assert driver.app.focused is not tree(driver)
        blurred = tree(driver).render_line(0)
        assert any(segment.style and segment.style.underline for segment in blurred)

    drive_tree(test)
