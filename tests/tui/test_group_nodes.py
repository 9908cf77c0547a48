"""Sources with coordinators' logs in the explorer: nodes of groups, and views without metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.node.look import Seen
from metashell.tui.node.node_look import LookMode, NodeLook
from metashell.tui.node.pane import NodePane
from metashell.tui.scene import NO_IMAGE, ask, scene_of
from metashell.tui.timeline.timeline import Timeline
from metashell.tui.view import VIEWS
from support.node_sources import D1, D2, on, opened
from support.pilot import Driver, drive

OFFSET = "/groups/k-uniform/offsets/orders/0"
WAYS = tuple(LookMode)


def looked(source: Source, path: str, *modes: LookMode) -> NodeLook:
    """What the right side shows of a node."""
    return Seen(scene_of(source, path), path, lambda: False).look(modes, modes)


def said(look: NodeLook) -> list[str]:
    """The lines of a look."""
    return [line.text for line in look.lines or ()]


@pytest.mark.parametrize(
    ("paths", "path"),
    [((D1,), OFFSET), ((D1, D2), OFFSET), ((D1 / "__consumer_offsets-2",), OFFSET),
     ((D2,), "/groups/c-coop/offsets/orders/0"), ((D1,), "/transactions/tx-hang")],
    ids=["node", "joined", "partition", "no metadata", "transaction"],
)  # fmt: skip
def test_nodes_show_what_commands_say(paths: Sequence[Path], path: str) -> None:
    """Value, text, times and history are those of `cat`, `stat` and `changes`; no wrong record."""
    source = opened(*paths)
    scene = scene_of(source, path)
    text = looked(source, path, LookMode.TEXT)
    assert ask(scene, ("cat", path)).text.splitlines() == said(text)
    assert {LookMode.VALUE, LookMode.TEXT, LookMode.HISTORY} == set(text.modes)
    (stat,) = ask(scene, ("stat", "-o", "table", "--columns", "all", path)).tables
    assert f"changed {stat['changed_offset'][0].as_py()} 2026-11-22" in text.head
    assert said(looked(source, path, LookMode.VALUE))
    history = looked(source, path, LookMode.HISTORY).table
    assert history is not None
    (changes,) = ask(scene, ("changes", "-o", "table", path)).tables
    assert changes["offset"].to_pylist()[::-1] == history["offset"].to_pylist()


def test_directories_are_tables() -> None:
    """Groups, members, offsets and transactions are the tables of the commands."""
    source = opened(D1)
    for path, command, n in (
        ("/groups", ("groups",), 10),
        ("/groups/k-uniform/members", ("members", "k-uniform"), 2),
        ("/groups/k-uniform/offsets", ("offsets", "k-uniform"), 10),
        ("/transactions", ("transactions",), None),
    ):
        look = looked(source, path, LookMode.TABLE)
        assert look.table is not None
        (rows,) = ask(scene_of(source, path), (*command, "-o", "table")).tables
        assert len(rows) == len(look.table) == (n or len(rows))
        row = look.table.slice(0, 1).to_pylist()[0]
        assert (look.path_of(row) or "").startswith(f"{path}/")


def test_a_change_of_a_group_leads_to_its_time() -> None:
    """Enter goes to the state at that time, where the newest commit is not there yet."""

    async def test(driver: Driver) -> None:
        path = "/groups/eos-group/offsets/orders/0"
        driver.app.go(path)
        await driver.settled()
        await driver.press("tab", "h")
        pane = driver.one(NodePane)
        assert pane._look is not None
        assert pane._look.mode is LookMode.HISTORY
        rows = pane._look.table
        assert rows is not None
        assert len(rows) > 1
        await driver.press("end", "enter")
        assert driver.app.path == path
        assert driver.scene.cluster is not None
        oldest = rows["time"].cast("int64").to_pylist()[-1]
        assert driver.scene.cluster.moment_ms == oldest
        assert len(looked(driver.scene.cluster, path, LookMode.TEXT).lines or ()) == 1
        await driver.look("explorer")
        driver.app.go("/groups")
        await driver.settled()
        await driver.press("E")
        driver.app.go(path)
        await driver.settled()
        await driver.press("left_curly_bracket")
        await driver.until(lambda: not driver.scene.is_newest, "no change before was found")

    drive(test, on(D1, D2))


@pytest.mark.parametrize("paths", [(D2,), (D1 / "__consumer_offsets-2",)], ids=["d2", "partition"])
def test_views_without_metadata_say_so(paths: Sequence[Path]) -> None:
    """Each says in a line what to give, and no key does harm."""

    async def test(driver: Driver) -> None:
        assert not driver.one(Timeline).display
        for spec in VIEWS[1:5]:
            await driver.look(spec.id)
            assert driver.view.why_not == NO_IMAGE
            assert "no metadata log here: also give" in driver.screen()
            for key in ("enter", "r", "a", "w", "m", "d", "n", "s", "x", "escape", "Y"):
                await driver.press(key)
        driver.app.clear_notifications()
        for key in ("left_square_bracket", "comma", "space", "R"):
            await driver.press(key)
        assert driver.told == [NO_IMAGE]
        await driver.press("1")
        assert driver.view.id == "explorer"

    drive(test, on(*paths))


def test_a_coordinators_partition_moves_in_time() -> None:
    """`@` goes to an offset of its log."""

    async def test(driver: Driver) -> None:
        driver.app.travel(20)
        await driver.settled()
        assert driver.scene.cluster is not None
        assert driver.scene.cluster.moment_offset == 20
        assert "k-uniform" in driver.scene.root.child("groups").names()  # type: ignore[union-attr]
        await driver.look("explorer")
        driver.app.travel(None)
        await driver.settled()
        assert driver.scene.is_newest

    drive(test, on(D1 / "__consumer_offsets-2"))


def test_no_directory_is_listed_in_the_thread_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """News are shown with what is known of the source."""
    seen: list[object] = []

    async def test(driver: Driver) -> None:
        import metashell.tui.scene as module

        wrapped: Callable[[Source], bool] = module._has_groups
        monkeypatch.setattr(module, "_has_groups", lambda s: bool(seen.append(s)) or wrapped(s))
        assert isinstance(driver.app, Explorer)
        driver.app.news(opened(D1))
        await driver.settled()
        assert driver.scene.has_groups

    drive(test, on(D1))
    assert seen == []
