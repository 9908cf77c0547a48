"""What changed from one stop to another: in the words of `changes`, and marked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pyarrow as pa
import pytest

from kraftgen.batch import encode_batch
from metashell.commands.partitions import COLUMNS
from metashell.commands.rows.cell_colours import with_colours
from metashell.fs.node import JsonValue
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.pane import NodePane
from metashell.tui.node.value_changes import changed_lines
from metashell.tui.rows.changes import changed_cells
from metashell.tui.rows.table import RowTable
from metashell.tui.timeline.timeline import Timeline
from support.fixtures import fixture
from support.logs import make_directory, record
from support.pilot import WIDE, Driver, drive, session_on

TIME = 1_700_000_000_000
TOPIC = "/image/topics/byName/orders"
ID = (1).to_bytes(16, "big")


def config(value: str) -> bytes:
    """A value of the topic's retention."""
    return record(
        "ConfigRecord", resource_type=2, resource_name="orders", name="retention.ms", value=value
    )


def cluster(parent: Path) -> Path:
    """A log in which a topic is made, configured, and loses its leader; a batch each."""
    values = [
        [record("TopicRecord", name="orders", topic_id=ID)],
        [
            record(
                "PartitionRecord", partition_id=number, topic_id=ID, leader=101,
                replicas=[101, 102], isr=[101, 102],
            )
            for number in range(2)
        ],
        [config("1000")],
        [config("2000")],
        [
            record("PartitionChangeRecord", partition_id=0, topic_id=ID, leader=-1, isr=[101]),
            record("PartitionChangeRecord", partition_id=1, topic_id=ID, isr=[101]),
        ],
        [record("PartitionChangeRecord", partition_id=0, topic_id=ID, leader=102, isr=[102])],
        [record("NoOpRecord")],
    ]  # fmt: skip
    offset, batches = 0, []
    for i, batch in enumerate(values):
        batches.append(encode_batch(batch, base_offset=offset, timestamp=TIME + i * 1000))
        offset += len(batch)
    return make_directory(parent, (0, b"".join(batches)))


OFFLINE = 6
"""The offset of the state in which partition 0 has no leader."""
END = 8


def drive_on(
    tmp_path: Path,
    test: Callable[[Driver], Awaitable[None]],
    size: tuple[int, int] = WIDE,
) -> None:
    """Drive the explorer on that log."""
    drive(test, session_on(cluster(tmp_path)), size)


async def at(driver: Driver, path: str, offset: int | None = None) -> NodePane:
    """Go to a node, and to an offset."""
    driver.app.go(path, offset=offset)
    await driver.settled()
    return driver.one(NodePane)


def column(driver: Driver, name: str) -> list[object]:
    """A column of the table on the right."""
    table = driver.one(RowTable).table
    assert table is not None
    return list(table.column(name).to_pylist())


def test_history_in_words(tmp_path: Path) -> None:
    """Each change is told as the command tells it."""

    async def test(driver: Driver) -> None:
        await at(driver, f"{TOPIC}/0")
        await driver.press("h")
        assert [
            "leader -1 → 102, isr [101] → [102]",
            "leader 101 → -1, isr [101,102] → [101]",
            "created replicas [101,102]",
        ] == [str(words).partition(", directories")[0] for words in column(driver, "what")]
        assert "leader 101 → -1" in driver.screen()

    drive_on(tmp_path, test)


def test_history_of_a_topic_has_its_configs(tmp_path: Path) -> None:
    """Changes of its configs stand among those of its partitions, newest first."""

    async def test(driver: Driver) -> None:
        await at(driver, TOPIC)
        await driver.press("h")
        assert [7, 6, 5, 4, 3, 2, 1, 0] == column(driver, "offset")
        assert ["0", "1", "0", "configs/retention.ms"] == column(driver, "node")[:4]
        assert "1000 → 2000" == column(driver, "what")[3]
        topics = driver.scene.root.child("image").child("topics")  # type: ignore[union-attr]
        (topic_id,) = topics.child("byId").names()
        await at(driver, f"/image/topics/byId/{topic_id}")
        assert "configs/retention.ms" in column(driver, "node")

    drive_on(tmp_path, test)


def test_history_of_configs_names_the_key(tmp_path: Path) -> None:
    """Also where only one key of a topic was ever set."""

    async def test(driver: Driver) -> None:
        await at(driver, "/image/configs/TOPIC:orders")
        await driver.press("h")
        assert {"retention.ms"} == set(column(driver, "node"))
        assert "retention.ms" in driver.screen()

    drive_on(tmp_path, test)


def test_jumps_of_a_topic_stop_at_its_configs(tmp_path: Path) -> None:
    """A change of a config is a change of the topic."""

    async def test(driver: Driver) -> None:
        await at(driver, TOPIC, OFFLINE)
        await driver.press("left_curly_bracket")
        await driver.until(lambda: driver.scene.source.moment_offset == 4, "not there")
        await driver.settled()
        assert "configs/retention.ms: 1000 → 2000" in str(driver.one(Timeline).render())

    drive_on(tmp_path, test)


def text_of(driver: Driver) -> list[tuple[str, bool]]:
    """(line, whether it is marked) of the value on the right."""
    return [(line.text, line.is_marked) for line in driver.one(LineView).lines]


def test_value_in_both_directions(tmp_path: Path) -> None:
    """A field that changed has its old and new value, in the order of the log."""

    async def test(driver: Driver) -> None:
        await at(driver, f"{TOPIC}/0", 4)
        forward = ["• leader               101 → -1", "• isr                  [101, 102] → [101]"]
        await at(driver, f"{TOPIC}/0", OFFLINE)
        lines = text_of(driver)
        assert all((line, True) in lines for line in forward)
        assert ("  elr                  []", False) in lines
        assert "• was → is, since 4" in driver.screen()
        await at(driver, f"{TOPIC}/0", 4)
        lines = text_of(driver)
        assert all((line, True) in lines for line in forward)
        assert "• is → becomes, by offset 6" in driver.screen()

    drive_on(tmp_path, test)


def test_value_of_a_config(tmp_path: Path) -> None:
    """A value without fields has both on its line."""

    async def test(driver: Driver) -> None:
        path = "/image/configs/TOPIC:orders/retention.ms"
        await at(driver, path, 3)
        await at(driver, path, 4)
        assert [('• "1000" → "2000"', True)] == text_of(driver)
        await at(driver, path, OFFLINE)
        assert [('"2000"', False)] == text_of(driver)

    drive_on(tmp_path, test)


def test_lines_of_changed_values() -> None:
    """What is nested is compared field by field; what one side lacks is said so."""
    old: JsonValue = {"same": 1, "ends": [{"host": "a", "port": 1}], "gone": 2, "old": {"x": [{}]}}
    new: JsonValue = {"same": 1, "ends": [{"host": "b", "port": 1}], "new": {"y": {"z": 1}}}
    assert [
        ("  same  1", False),
        ("• ends", True),
        ("•   - #0", True),
        ("•     host  a → b", True),
        ("      port  1", False),
        ("• new  created", True),
        ("    y", False),
        ("      z  1", False),
        ("• gone  2 → none", True),
        ("• old  removed", True),
        ("    x", False),
        ("      - {}", False),
    ] == [(line.text, line.is_marked) for line in changed_lines(old, new)]


@pytest.mark.parametrize(("start", "stop"), [(4, OFFLINE), (OFFLINE, 4)])
def test_cells(tmp_path: Path, start: int, stop: int) -> None:
    """Cells of a table that changed are marked, forward and back."""

    async def test(driver: Driver) -> None:
        await at(driver, TOPIC, start)
        await at(driver, TOPIC, stop)
        changed = driver.one(RowTable).changed
        marks = {name: changed[name].to_pylist() for name in ("leader", "isr")}
        assert {"leader": [True, False], "isr": [True, True]} == marks
        assert {"partition", "replicas", "topic"}.isdisjoint(changed)
        shown = "•101,102" if stop == 4 else "•101 "
        assert shown in driver.screen()
        await driver.press("E")
        await at(driver, TOPIC, 8)
        await at(driver, TOPIC, 7)
        assert not driver.one(RowTable).changed

    drive_on(tmp_path, test)


def test_a_state_that_is_shown_the_same_has_no_mark() -> None:
    """Of several states a cell shows the worst: a lesser one that came is no change of the cell."""

    def rows(*states: list[str]) -> pa.Table:
        table = pa.table({"partition": [0, 1], "state": list(states)})
        return with_colours(table, COLUMNS)

    before = rows(["offline"], ["offline", "under-min-isr"])
    now = rows(["offline", "under-min-isr"], ["under-min-isr"])
    found = changed_cells(now, before, [0, 1], [0, 1])
    assert {"state": [False, True]} == {name: marks.to_pylist() for name, marks in found.items()}


def test_a_move_scrolls_to_what_changed() -> None:
    """The first field that changed comes into sight; without one, or after it, nothing scrolls."""

    async def test(driver: Driver) -> None:
        async def go(offset: int) -> None:
            driver.app.travel(offset)
            await driver.settled()

        driver.app.go("/image/cluster/brokers/103")
        await driver.settled()
        lines = driver.one(LineView)
        await go(147)
        assert "• fenced " in driver.screen()
        lines.focus()
        await driver.press("home")
        assert lines.scroll_offset.y == 0
        await go(146)
        assert lines.scroll_offset.y == 0
        await go(234)
        assert lines.scroll_offset.y > 0
        assert "• fenced                false → true" in driver.screen()

    drive(test, session_on(fixture("real-44-broker-down").input))
