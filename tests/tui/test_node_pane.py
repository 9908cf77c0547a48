"""The right side of the explorer: the node looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Static

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.path import resolve
from metashell.sources.opening import open_fleet
from metashell.tui.node import look as node_look
from metashell.tui.node.look import Seen
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.node_look import LookMode, NodeLook
from metashell.tui.node.pane import NodePane
from metashell.tui.part import AppPart
from metashell.tui.rows.table import RowTable
from metashell.tui.rows.whole_text import WholeText
from metashell.tui.scene import ask, scene_at, scene_of
from metashell.tui.session import ExplorerSession
from support.fleets import OTHER_ID, backups
from support.logs import make_directory, record
from support.pilot import SAMPLE, SMALL, WIDE, Driver, drive, session_on

ORDERS = "/image/topics/byName/orders"


class OnePane(AppPart, Screen[None]):
    """A screen with nothing but the pane."""

    def compose(self) -> ComposeResult:
        """The pane."""
        yield NodePane()


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

    def mode(self) -> LookMode | None:
        """How the node is looked at."""
        return self.pane.mode

    async def at(self, path: str) -> None:
        """Look at a node, and go on there."""
        self.pane.show_node(self.driver.scene, path)
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


def test_leaf() -> None:
    """A leaf is shown as value, as Kafka's text, as record and with its history, by keys."""

    async def test(look: Looking) -> None:
        await look.at(f"{ORDERS}/0")
        assert LookMode.VALUE is look.mode()
        assert "replicas             [101, 102]" in look.lines
        assert "leaf  offline: waits for 101 (ELR), since 3981" in look.driver.screen()
        await look.driver.press("a")
        assert [look.driver.scene.source.cat(f"{ORDERS}/0")] == look.lines
        assert ("text", look.lines[0]) == look.pane.copyable()
        await look.driver.press("r")
        assert LookMode.RECORD is look.mode()
        assert "offset   3981" in look.lines
        assert "type     PARTITION_CHANGE_RECORD" in look.lines
        assert "  partitionId             0" in look.lines
        assert any(line.startswith("  0000  01 05 02") for line in look.lines)
        await look.driver.press("h")
        assert [3981, None, 2980] == look.column("offset")
        assert [("history", 3)] == [(name, len(table)) for name, table in look.pane.tables()]
        await look.driver.press("v")
        assert LookMode.VALUE is look.mode()
        assert isinstance(look.driver.app.focused, LineView)

    looking(test)


def test_history_travels() -> None:
    """Enter on a change goes to where it is made: the end of its batch, which counts whole.

    What comes later can still be seen from there.
    """

    async def test(look: Looking) -> None:
        await look.at(f"{ORDERS}/0")
        await look.driver.press("h")
        gone = look.catch_moves()
        await look.driver.press("enter")
        await look.driver.press("end", "enter")
        assert [(f"{ORDERS}/0", 4106), (f"{ORDERS}/0", 2980)] == gone
        assert look.driver.told[0].startswith("offset 3981 lies inside the batch of offsets")
        assert look.driver.told[0].endswith("shown is the state after offset 4106")
        assert len(look.driver.told) == 1
        look.driver.app.clear_notifications()
        assert not [words for words in look.column("what") if str(words).startswith("later: ")]
        look.driver.app.travel(3499)
        await look.driver.settled()
        await look.at(f"{ORDERS}/0")
        assert [3981, None, 2980] == look.column("offset")
        later = [str(words).startswith("later: leader ") for words in look.column("what")]
        assert [True, False, False] == later
        assert ("offset", "time", "what") == look.rows.columns_shown
        assert "later: leader " in look.driver.screen()
        await look.driver.press("home", "down", "enter")
        assert ["only a checkpoint holds this: it has no offset"] == look.driver.told

    looking(test)


def test_all_of_a_change_stands_below_the_history() -> None:
    """Whatever the table has room for; in a low pane the rows have all of it."""

    async def test(look: Looking) -> None:
        await look.at(f"{ORDERS}/0")
        await look.driver.press("h")
        change = look.driver.one(WholeText)
        assert str(look.column("what")[0]) == str(change.content)
        assert "isr [102] → [101,102]" not in str(change.content)
        await look.driver.press("end")
        assert str(look.column("what")[2]) == str(change.content)
        await look.driver.pilot.resize_terminal(80, 9)
        await look.driver.until(lambda: not change.display, "it takes the room of rows")
        await look.driver.pilot.resize_terminal(*SMALL)
        await look.driver.until(lambda: change.display, "it is not shown again")
        await look.driver.press("v")
        assert not change.display

    looking(test)


def test_a_narrow_history_shows_time_node_and_words() -> None:
    """The names of nodes are cut there, and not on a wide screen."""

    async def test(driver: Driver) -> None:
        driver.app.go(ORDERS)
        await driver.settled()
        await driver.press("h")
        driver.app.travel(3499)
        await driver.settled()
        assert ("offset", "time", "node", "what") == driver.one(RowTable).columns_shown
        shown = " ".join(driver.screen().split())
        assert "• 3981 08:28:53 0 later: leader 101 → -1… " in shown
        assert "…ntion.ms" in shown
        assert "configs/retention.ms" not in shown
        await driver.pilot.resize_terminal(200, 50)
        await driver.settled()
        assert "configs/retention.ms" in driver.screen()

    drive(test)


def test_a_history_keeps_its_order() -> None:
    """What the user sorts it by holds when it is shown again, in place of other rows."""

    async def test(look: Looking) -> None:
        await look.at(ORDERS)
        await look.driver.press("h", "s", "s", "d")
        assert LookMode.TABLE is look.mode()
        await look.driver.press("h")
        assert LookMode.HISTORY is look.mode()
        assert ("offset", False) == look.rows.sorted_by

    looking(test)


def test_changes_in_words_are_seen_to_their_end() -> None:
    """They have the room that is left beside the tree, up to the edge."""

    async def test(driver: Driver) -> None:
        driver.app.go(f"{ORDERS}/0")
        await driver.settled()
        await driver.press("h")
        assert "leader 101 → -1, isr [101] → [], elr [] → [101]" in driver.screen()

    drive(test, size=(120, 40))


def test_the_bar_says_what_enter_does() -> None:
    """On a row of a table it goes to a node, on one of a history in time."""

    async def test(look: Looking) -> None:
        def said() -> str:
            (active,) = (
                binding.description
                for _, binding, _, _ in look.driver.app.screen.active_bindings.values()
                if binding.key == "enter"
            )
            return active

        await look.at(ORDERS)
        assert "Go to node" == said()
        await look.driver.press("h")
        assert "Go to that state" == said()
        await look.driver.press("d")
        assert "Go to node" == said()

    looking(test)


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

    async def test(look: Looking) -> None:
        await look.at(path)
        answer = ask(look.driver.scene, words)
        assert answer.table == look.rows.table
        gone = look.catch_moves()
        await look.driver.press("enter")
        assert [(target, None)] == gone
        await look.driver.press("d")
        assert LookMode.CHILDREN is look.mode()
        assert look.driver.scene.source.ls(path) == look.column("name")
        await look.driver.press("enter")
        assert (target, None) == gone[1]
        await look.driver.press("d")
        assert LookMode.TABLE is look.mode()

    looking(test)


def test_children_tell_values_and_times() -> None:
    """A list of children has their values and when they were made and changed."""

    async def test(look: Looking) -> None:
        await look.at(ORDERS)
        await look.driver.press("d")
        at = look.column("name").index("0")
        assert 3981 == look.column("changed_offset")[at]
        assert "orders" == look.column("value")[look.column("name").index("name")]
        await look.at("/")
        assert ["directory"] * 5 == look.column("kind")
        assert look.driver.scene.source.ls("/") == look.column("name")

    looking(test)


def test_marks_what_changed() -> None:
    """After a move in time, what changed since the stop before is marked, in every table."""

    async def test(look: Looking) -> None:
        driver = look.driver
        driver.app.travel(3879)
        await driver.settled()
        driver.app.travel(None)
        await driver.settled()
        await look.at(ORDERS)
        marked = ["• " in line for line in driver.screen().splitlines()[3:12]]
        assert [True, False, True, True, True, True, True, True, True] == marked
        assert "• changed between offsets 3879 and 4111" in driver.screen()
        await driver.press("d")
        assert "• 0 " in driver.screen()
        await look.at(f"{ORDERS}/0")
        assert "• changed 3981" in driver.screen()
        await driver.press("h")
        assert "• 3981" in driver.screen()
        await look.at("/image/topics/byName")
        assert "• orders" in driver.screen()
        await look.at("/image/configs")
        assert "•" not in driver.screen()
        assert "changed between" not in driver.screen()

    looking(test, size=WIDE)


@pytest.mark.parametrize(
    ("path", "mode", "key"),
    [
        ("/", LookMode.CHILDREN, "name"),
        ("/image/topics", LookMode.TABLE, "topic"),
        ("/image/topics/byName", LookMode.CHILDREN, "name"),
        (ORDERS, LookMode.TABLE, "partition"),
        (ORDERS, LookMode.CHILDREN, "name"),
        (f"{ORDERS}/0", LookMode.TEXT, ""),
        (f"{ORDERS}/0", LookMode.HISTORY, "offset"),
        ("/image/configs", LookMode.CHILDREN, "name"),
    ],
)
def test_marks_the_same_going_back(path: str, mode: LookMode, key: str) -> None:
    """What is marked at the earlier of two stops is what is marked at the later one."""
    newest = scene_of(metashell.open(SAMPLE), "/")
    earlier = scene_at(newest, 3879)
    later = scene_at(earlier, None)
    seen = []
    for scene in (earlier, later):
        look = Seen(scene, path, lambda: False).look([mode], [mode])
        assert mode is look.mode
        marks = {"": "•" in look.head}
        if look.table is not None:
            assert look.marked is not None
            marks.update(zip(look.table[key].to_pylist(), look.marked.to_pylist(), strict=True))
        seen.append(marks)
    back, forward = seen
    common = back.keys() & forward.keys()
    assert {name: forward[name] for name in common} == {name: back[name] for name in common}
    assert any(back.values()) is (path != "/image/configs")


def test_tells_ahead_what_is_compared() -> None:
    """A table is told without its marks only where those of its cells are yet to be found."""
    newest = scene_of(metashell.open(SAMPLE), "/")
    for scene, is_told in ((newest, False), (scene_at(newest, 3879), True)):
        told: list[NodeLook] = []
        modes = [LookMode.TABLE]
        look = Seen(scene, ORDERS, lambda: False).look(modes, modes, told.append)
        assert [one.changed for one in told] == [None] * is_told
        assert (look.changed is not None) is is_told


def test_newer_scene_keeps_place() -> None:
    """Another scene changes neither cursor, order and filter, nor how the node is looked at."""

    async def test(look: Looking) -> None:
        driver = look.driver
        await look.at("/image/topics/byName")
        look.rows.sort_by("partitions", descending=True)
        look.pane.filter_by("topic-0")
        await driver.settled()
        await driver.press("down", "down", "down")
        before = look.rows.row
        assert before is not None
        driver.app.travel(3980)
        await driver.settled()
        look.pane.show_node(driver.scene, "/image/topics/byName")
        await driver.settled()
        assert look.rows.row is not None
        assert before["topic"] == look.rows.row["topic"]
        assert "topic-0" == look.pane.filter_text
        assert ("partitions", True) == look.rows.sorted_by
        await look.at("/image/configs")
        assert "" == look.pane.filter_text

    looking(test)


def test_comes_back_to_the_child() -> None:
    """Going up puts the cursor on what was left."""

    async def test(look: Looking) -> None:
        await look.at(ORDERS)
        await look.at("/image/topics/byName")
        assert look.rows.row is not None
        assert "orders" == look.rows.row["topic"]

    looking(test)


def test_gone() -> None:
    """Of what is not there any more the history is shown."""

    async def test(look: Looking) -> None:
        look.driver.app.travel(3300)
        await look.driver.settled()
        await look.at("/image/topics/byName/absent")
        assert "gone  not there at this offset" in look.driver.screen()
        await look.at("/absent")
        assert look.pane.mode is not None

    looking(test)


def test_filter_of_lines() -> None:
    """Lines are filtered too, and what is found is not lost by wrapping."""

    async def test(look: Looking) -> None:
        await look.at(f"{ORDERS}/0")
        look.pane.filter_by("EPOCH")
        await look.driver.settled()
        shown = look.driver.screen()
        assert "leaderEpoch" in shown
        assert "replicas" not in shown
        await look.driver.press("w")
        assert not look.driver.one(LineView).wraps
        look.pane.filter_by("absent")
        await look.driver.settled()
        assert "no line contains 'absent': escape drops the filter" in look.driver.screen()

    looking(test)


def test_fleet(tmp_path: Path) -> None:
    """In a fleet paths are those of the whole tree, and each cluster is asked for itself."""
    directories = [str(path) for path in sorted(backups(tmp_path / "b").iterdir())]
    root = "/clusters/controller-2"

    async def test(look: Looking) -> None:
        gone = look.catch_moves()
        await look.at("/clusters")
        assert ["controller-1", "controller-2", OTHER_ID] == look.column("cluster")
        await look.driver.press("down", "enter")
        await look.at(root)
        assert LookMode.OVERVIEW is look.mode()
        assert "topics      59" in look.lines
        await look.driver.press("d")
        assert "image" in look.column("name")
        await look.driver.press("d")
        await look.at(f"{root}{ORDERS}")
        await look.driver.press("enter")
        await look.at(f"{root}{ORDERS}/0")
        await look.driver.press("r")
        assert "offset   3981" in look.lines
        await look.driver.press("h")
        await look.driver.press("enter")
        assert [
            (root, None),
            (f"{root}{ORDERS}/0", None),
            (f"{root}{ORDERS}/0", 4106),
        ] == gone

    looking(
        test,
        session_on(lambda: open_fleet(directories)),  # type: ignore[arg-type,return-value]
    )


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

    async def test(look: Looking) -> None:
        root = look.driver.scene.root
        gone = look.catch_moves()
        await look.at("/image/configs")
        assert sorted(HOSTILE) == sorted(map(str, look.column("key")))
        for _ in HOSTILE:
            await look.driver.press("enter", "down")
        assert len(HOSTILE) == len(set(gone))
        for path, _ in gone:
            value = resolve(root, path).node.text()  # type: ignore[union-attr]
            assert value in HOSTILE
            await look.at(path)
            assert "\x1b" not in look.driver.screen()
        await look.at("/image/configs")
        await look.driver.press("d", "enter")
        assert [] == [said for said in look.driver.told if "not available" not in said]

    looking(test, session_on(directory))


def test_big_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long to be shown is cut, which is said; copied it is whole."""
    monkeypatch.setattr("metashell.tui.node.value.MOST_CHARACTERS", 50)

    async def test(look: Looking) -> None:
        await look.at(f"{ORDERS}/0")
        await look.driver.press("a")
        assert 50 == sum(map(len, look.lines))
        assert "cut: `o` shows all of it" in look.driver.screen()
        assert ("text", look.driver.scene.source.cat(f"{ORDERS}/0")) == look.pane.copyable()

    looking(test)


def test_long_history_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long history the newest changes are shown, which is said."""
    monkeypatch.setattr(node_look, "MOST_CHANGES", 5)

    async def test(look: Looking) -> None:
        await look.at("/image/topics")
        await look.driver.press("h")
        assert 5 == look.rows.row_count
        assert "the newest 5 changes" in look.driver.screen()

    looking(test)


def test_history_of_much_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a directory with many records only the newest are followed, which is said."""
    monkeypatch.setattr(node_look, "MOST_RECORDS", 7)

    async def test(look: Looking) -> None:
        await look.at("/image/topics")
        await look.driver.press("h")
        assert 0 < look.rows.row_count <= 14
        assert "from the newest 7 records; ? was before them" in look.driver.screen()

    looking(test)


def test_every_directory() -> None:
    """Every directory near the root can be looked at in every way, however small the screen."""

    async def test(look: Looking) -> None:
        source = look.driver.scene.source
        for path in ["/", *(f"/image/{name}" for name in source.ls("/image"))]:
            await look.at(path)
            for key in "dh":
                await look.driver.press(key)
        assert [] == [said for said in look.driver.told if "not available" not in said]

    looking(test, size=(30, 8))


def test_count_is_named() -> None:
    """The number beside the tabs says what it counts: all rows, also those that a filter hides."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        table = driver.one(RowTable)
        count = str(driver.app.query_one("#node-count", Static).content)
        assert count == f"{table.row_count:,} rows"
        table.filter_by("topic-001")
        await driver.settled()
        assert count == str(driver.app.query_one("#node-count", Static).content)
        assert f"filter topic-001: 1 of {count.removesuffix(' rows')}" in driver.screen()

    drive(test, size=(120, 35))
