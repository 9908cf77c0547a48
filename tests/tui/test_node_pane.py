"""The right side of the explorer: the node looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult
from textual.screen import Screen

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.path import resolve
from metashell.tui.node import inspector
from metashell.tui.node.inspector import NodeInspector
from metashell.tui.node.node_detail import DetailMode, NodeDetail
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.pane import MODE_KEYS, NodePane
from metashell.tui.part import AppPart
from metashell.tui.rows.table import RowTable
from metashell.tui.session import ExplorerSession
from metashell.tui.view_state import ask, view_state_at, view_state_of
from support.fixtures import DEMO
from support.logs import make_directory, record
from support.pilot import SAMPLE, SMALL, Driver, drive, session_on

ORDERS = "/image/topics/byName/orders"


class OnePane(AppPart, Screen[None]):
    """A screen with nothing but the pane."""

    BINDINGS: ClassVar = MODE_KEYS

    def compose(self) -> ComposeResult:
        """The pane."""
        yield NodePane()

    def action_look(self, mode: str) -> None:
        """Look at the node in another way."""
        self.query_one(NodePane).look_by_key(DetailMode(mode))


class Looking:
    """A pane in the hands of a test."""

    def __init__(self, driver: Driver, pane: NodePane) -> None:
        self.driver, self.pane = driver, pane

    @property
    def rows(self) -> RowTable:
        """Its table."""
        return self.driver.one(RowTable)

    @property
    def lines(self) -> list[str]:
        """The lines that it shows."""
        return [line.text for line in self.driver.one(LineView).lines]

    def mode(self) -> DetailMode | None:
        """How the node is looked at."""
        return self.pane.mode

    async def at(self, path: str) -> None:
        """Look at a node, and go on there."""
        self.pane.show_node(self.driver.view_state, path)
        await self.driver.settled()
        self.pane.focus_content()
        await self.driver.settled()
        assert path == self.pane.shown_path

    def catch_moves(self) -> list[tuple[str, int | None]]:
        """Keep where it is gone to, (path, offset), in place of going there."""
        gone: list[tuple[str, int | None]] = []
        app: Any = self.driver.app
        app.go = lambda path, offset=None, **_: gone.append((path, offset))
        return gone

    def column(self, name: str) -> list[object]:
        """A column of all rows."""
        table = self.rows.table
        assert table is not None
        return list(table.column(name).to_pylist())


def looking(
    test: Callable[[Looking], Awaitable[None]],
    session: ExplorerSession | None = None,
    size: tuple[int, int] = SMALL,
) -> None:
    """Run a test on a pane that has the whole screen."""

    async def run(driver: Driver) -> None:
        await driver.app.push_screen(OnePane())
        await driver.settled()
        await test(Looking(driver, driver.one(NodePane)))

    drive(run, session, size)


@pytest.mark.parametrize(
    ("path", "words", "target"),
    [
        ("/image/topics/byName", ["topics", "--columns", "all"], "/image/topics/byName/..."),
        (ORDERS, ["partitions", "orders", "--columns", "all"], f"{ORDERS}/0"),
        ("/image/cluster/brokers", ["brokers"], "/image/cluster/brokers/101"),
    ],
)
def test_described_directory(path: str, words: list[str], target: str) -> None:
    """A directory is described by a command, whose rows lead to their nodes; `d` lists it."""

    async def test(detail: Looking) -> None:
        await detail.at(path)
        answer = ask(detail.driver.view_state, words)
        assert answer.table == detail.rows.table
        gone = detail.catch_moves()
        await detail.driver.press("enter")
        assert [(target, None)] == gone
        await detail.driver.press("D")
        assert DetailMode.CHILDREN is detail.mode()
        assert detail.driver.view_state.source.ls(path) == detail.column("name")
        await detail.driver.press("enter")
        assert (target, None) == gone[1]
        await detail.driver.press("D")
        assert DetailMode.TABLE is detail.mode()

    looking(test)


@pytest.mark.parametrize(
    ("path", "mode", "key"),
    [
        ("/", DetailMode.CHILDREN, "name"),
        ("/image/topics", DetailMode.TABLE, "topic"),
        ("/image/topics/byName", DetailMode.CHILDREN, "name"),
        (ORDERS, DetailMode.TABLE, "partition"),
        (ORDERS, DetailMode.CHILDREN, "name"),
        (f"{ORDERS}/0", DetailMode.TEXT, ""),
        (f"{ORDERS}/0", DetailMode.HISTORY, "offset"),
        ("/image/configs", DetailMode.CHILDREN, "name"),
    ],
)
def test_marks_the_same_going_back(path: str, mode: DetailMode, key: str) -> None:
    """What is marked at the earlier of two stops is what is marked at the later one."""
    newest = view_state_of(metashell.open(SAMPLE), "/")
    earlier = view_state_at(newest, 3879)
    later = view_state_at(earlier, None)
    seen = []
    for view_state in (earlier, later):
        detail = NodeInspector(view_state, path, lambda: False).look([mode])
        assert mode is detail.mode
        marks = {"": "•" in "".join(detail.head)}
        if detail.table is not None:
            assert detail.marked is not None
            marks.update(zip(detail.table[key].to_pylist(), detail.marked.to_pylist(), strict=True))
        seen.append(marks)
    back, forward = seen
    common = back.keys() & forward.keys()
    assert {name: forward[name] for name in common} == {name: back[name] for name in common}
    assert any(back.values()) is (path != "/image/configs")


def test_tells_ahead_what_is_compared() -> None:
    """A table is told without its marks only where those of its cells are yet to be found."""
    newest = view_state_of(metashell.open(SAMPLE), "/")
    for view_state, is_told in ((newest, False), (view_state_at(newest, 3879), True)):
        told: list[NodeDetail] = []
        modes = [DetailMode.TABLE]
        detail = NodeInspector(view_state, ORDERS, lambda: False).look(modes, told.append)
        assert [one.changed for one in told] == [None] * is_told
        assert (detail.changed is not None) is is_told


HOSTILE = [
    "[bold]x[/]",
    "\x1b[2J",
    "a\nb",
    "a/b",
    "\u202ex",
    "漢" * 60,
    "*",
    "-x",
    "%41",
    "x" * 200,
]


def test_hostile_names(tmp_path: Path) -> None:
    """Whatever a config is called, its row leads to it and nothing steers the screen."""
    records = [
        record("ConfigRecord", resource_type=2, resource_name=name, name=name, value=name)
        for name in HOSTILE
    ]
    directory = make_directory(tmp_path, (0, encode_batch(records, base_offset=0, leader_epoch=1)))

    async def test(detail: Looking) -> None:
        root = detail.driver.view_state.root
        gone = detail.catch_moves()
        await detail.at("/image/configs")
        assert sorted(HOSTILE) == sorted(map(str, detail.column("key")))
        for _ in HOSTILE:
            await detail.driver.press("enter", "down")
        assert len(HOSTILE) == len(set(gone))
        for path, _ in gone:
            value = resolve(root, path).node.text()  # type: ignore[union-attr]
            assert value in HOSTILE
            await detail.at(path)
            assert "\x1b" not in detail.driver.screen()
        await detail.at("/image/configs")
        await detail.driver.press("D", "enter")
        assert [] == [said for said in detail.driver.told if "not available" not in said]

    looking(test, session_on(directory))


def test_big_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long to be shown is cut, which is said; copied it is whole."""
    monkeypatch.setattr("metashell.tui.node.value.MOST_CHARACTERS", 50)

    async def test(detail: Looking) -> None:
        await detail.at(f"{ORDERS}/0")
        await detail.driver.press("V")
        assert 50 == sum(map(len, detail.lines))
        assert "cut: `o` shows all of it" in detail.driver.screen()
        assert (
            "text",
            detail.driver.view_state.source.cat(f"{ORDERS}/0"),
        ) == detail.pane.copyable()

    looking(test)


def test_long_history_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long history the newest changes are shown, which is said."""
    monkeypatch.setattr(inspector, "MOST_CHANGES", 5)

    async def test(detail: Looking) -> None:
        await detail.at("/image/topics")
        await detail.driver.press("h")
        assert 5 == detail.rows.n_lines
        assert "the newest 5 changes" in detail.driver.screen()

    looking(test)


def test_history_of_configs_names_the_resources() -> None:
    """Many topics have the same keys: the key stands before what changed."""

    async def test(detail: Looking) -> None:
        await detail.at("/image/configs")
        await detail.driver.press("h")
        assert "TOPIC:sessions" in detail.column("node")
        assert "retention.ms: created 7200000" in detail.column("what")

    looking(test, session_on(DEMO))


def test_history_of_a_config_says_what_it_replaced() -> None:
    """Where a topic sets a config, that was the cluster's value, from which health counts too."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/configs/TOPIC:payments/min.insync.replicas")
        await driver.settled()
        await driver.press("h")
        assert "2 by default → 1" in driver.screen()
        driver.app.go("/image/configs/TOPIC:wishlists/retention.ms")
        await driver.settled()
        await driver.press("h")
        assert "created 2592000000" in driver.screen()

    drive(test, session_on(DEMO))


def test_a_way_to_look_stays_among_siblings() -> None:
    """The next topic has its history, too; a node of another directory is looked at as usual."""

    async def test(detail: Looking) -> None:
        await detail.at(ORDERS)
        await detail.driver.press("h")
        await detail.at("/image/topics/byName/shipments")
        assert detail.mode() is DetailMode.HISTORY
        await detail.at("/image/cluster")
        assert detail.mode() is DetailMode.TABLE

    looking(test)


def test_history_of_much_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a directory with many records only the newest are followed, which is said."""
    monkeypatch.setattr(inspector, "MOST_RECORDS", 7)

    async def test(detail: Looking) -> None:
        await detail.at("/image/topics")
        await detail.driver.press("h")
        assert 0 < detail.rows.n_lines <= 14
        assert "from the newest 7 records; ? was before them" in detail.driver.screen()

    looking(test)


def test_a_click_on_a_tab_takes_it() -> None:
    """A tab is named by its key and its title; a click looks at the node so."""

    async def test(detail: Looking) -> None:
        await detail.at(ORDERS)
        tabs = detail.driver.screen().splitlines()[1]
        for title, mode in (("History", DetailMode.HISTORY), ("Children", DetailMode.CHILDREN)):
            await detail.driver.pilot.click(offset=(tabs.index(title) + 1, 1))
            await detail.driver.settled()
            assert mode is detail.mode()
            tabs = detail.driver.screen().splitlines()[1]

    looking(test)


def test_every_directory() -> None:
    """Every directory near the root can be looked at in every way, however small the screen."""

    async def test(detail: Looking) -> None:
        source = detail.driver.view_state.source
        for path in ["/", *(f"/image/{name}" for name in source.ls("/image"))]:
            await detail.at(path)
            for key in "Dh":
                await detail.driver.press(key)
        assert [] == [said for said in detail.driver.told if "not available" not in said]

    looking(test, size=(30, 8))


@pytest.mark.parametrize(("broker", "leads"), [(104, True), (101, False)])
def test_a_fenced_broker_says_so_first(broker: int, leads: bool) -> None:
    """Its other fields keep their order, and so do those of an active broker."""

    async def test(driver: Driver) -> None:
        driver.app.go(f"/image/cluster/brokers/{broker}")
        await driver.settled()
        words = driver.screen().split()
        at = words.index("fenced") if "fenced" in words else len(words)
        assert leads is (at < words.index("incarnationId"))

    drive(test, session_on(DEMO))
