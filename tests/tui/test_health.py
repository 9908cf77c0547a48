"""The view of everything that is wrong: kinds, rows, and the ways from them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from textual.widgets import OptionList, Static

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.rows.table import RowTable
from metashell.tui.scene import Scene
from metashell.tui.screens.command import CommandScreen
from metashell.tui.views.health import HealthView
from metashell.tui.views.health_lists import KindList, ProblemTable
from metashell.tui.views.health_text import HealthRows, ask_health
from support.fixtures import DEMO, fixture
from support.fleets import backups
from support.live import Cluster
from support.logs import record
from support.pilot import SMALL, WIDE, Driver, drive, session_on
from support.shell import run_on
from support.small_cluster import broker, cluster

TOPIC_ID = bytes([7]) * 16
HOSTILE = "[bold]x[/]\x1b[31m\n\u202eend"


def down() -> Source:
    """A cluster one of whose brokers is down."""
    return metashell.open(fixture("real-44-broker-down").directory)


def said(source: Source, line: str = "health") -> list[dict[str, Any]]:
    """What the command says."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return found


async def opened(driver: Driver) -> HealthView:
    """The view, with its answer."""
    await driver.look("health")
    view = driver.view
    assert isinstance(view, HealthView)
    await driver.until(lambda: view.found is not None, "nothing found")
    await driver.settled()
    return view


def subjects(driver: Driver) -> list[str]:
    """The subjects of the rows that are shown."""
    shown = driver.one(RowTable).shown
    assert shown is not None
    return [str(subject) for subject in shown.column("subject").to_pylist()]


def words(driver: Driver, selector: str) -> str:
    """What a line says."""
    return str(driver.app.query_one(selector, Static).render())


async def to_kind(driver: Driver, code: str) -> None:
    """Choose a kind."""
    kinds = driver.one(KindList)
    kinds.focus()
    kinds.highlighted = kinds.codes.index(code)
    await driver.settled()


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_shows_what_the_command_says(size: tuple[int, int]) -> None:
    """All rows at first, then those of each kind; symbols tell levels apart."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        expected = said(driver.scene.source)
        assert [row["subject"] for row in expected] == subjects(driver)
        kinds = driver.one(KindList)
        summary = said(driver.scene.source, "health --summary")
        assert kinds.codes == ["", *(row["problem"] for row in summary)]
        for code in kinds.codes[1:]:
            await to_kind(driver, code)
            assert [r["subject"] for r in expected if r["problem"] == code] == subjects(driver)
        await to_kind(driver, "")
        assert "● offline-partitions  3" in driver.screen()
        assert "▲ " in driver.screen()
        assert words(driver, "#health-words").startswith("● 2 critical  ▲ 3 warnings")

    drive(test, session_on(down), size)


def test_explains_the_row_and_goes_to_it() -> None:
    """What it means, what to do; enter goes to the node, m also to its beginning."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await to_kind(driver, "offline-partitions")
        (row,) = said(driver.scene.source, "health offline-partitions")
        about = f"offline-partitions · {row['subject']} · partitions {row['partitions']}"
        since = f" · since {row['since_offset']} "
        for text in (f"{about}{since}", row["explanation"], row["action"], f"$ {row['command']}"):
            assert text in words(driver, "#health-detail")
        await driver.press("enter")
        table = driver.one(RowTable)
        assert table.has_focus
        await driver.press("i")
        assert driver.app.clipboard == row["command"]
        await driver.press("enter")
        assert (driver.app.path, driver.view.id) == (row["path"], "explorer")
        assert driver.scene.is_newest
        await driver.look("health")
        await driver.press("m")
        assert driver.app.path == row["path"]
        now = driver.scene.source
        assert now.moment_offset is not None
        assert now.moment_offset >= row["since_offset"]
        inside = (
            f"it began at {row['since_offset']}, inside a batch: = lists what changed, [ goes back"
        )
        assert driver.told[-1] == inside
        (then,) = said(now, "health offline-partitions")
        assert then["since_offset"] == row["since_offset"]
        before = now.newest.at(row["since_offset"] - 1)
        assert [] == said(before, "health offline-partitions")

    drive(test, session_on(down))


def test_jumps_to_changes_of_the_row() -> None:
    """`{` is about what the cursor is on, not about a node of another view."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        await to_kind(driver, "fenced-broker")
        await driver.press("enter", "left_curly_bracket")
        (row,) = said(driver.scene.source.newest, "health fenced-broker")
        await driver.until(lambda: not driver.scene.is_newest, "not there")
        assert driver.scene.source.moment_offset == row["since_offset"]
        assert "fenced false → true" in driver.screen()

    drive(test, session_on(down), size=WIDE)


def test_the_problem_stays_beside_its_subject() -> None:
    """Where one scrolls to the last columns, rows still say what they are about."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        driver.one(RowTable).focus()
        await driver.press("end", "C")
        table = driver.one(RowTable)
        assert table.scroll_x > 0
        assert ("subject", "problem") == table.columns_shown[: table.fixed_columns]

    drive(test, session_on(down), size=SMALL)


def test_beginnings_that_nobody_knows() -> None:
    """Of what a checkpoint says it is told that nothing is known."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        assert view.found is not None
        hidden = view.found.rows.column("since_offset").is_null().to_pylist().index(True)
        table = driver.one(RowTable)
        table.focus()
        table.move_cursor(row=hidden)
        await driver.settled()
        await driver.press("m")
        assert "no record shows when that began: a checkpoint may hide it" in driver.told
        assert driver.view.id == "health"

    drive(test)


def test_filters_exports_and_copies() -> None:
    """The filter holds for the rows; tables and values are those shown."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        every = len(subjects(driver))
        assert view.filter_text == ""
        view.filter_by("broker 103")
        await driver.settled()
        shown = driver.one(RowTable).shown
        assert shown is not None
        assert 0 < len(shown) < every
        about = [f"{row['subject']} {row['why']}" for row in shown.to_pylist()]
        assert all("broker 103" in text for text in about)
        (name, rows), *_ = view.tables()
        assert (name, len(rows)) == ("health", len(subjects(driver)))
        view.filter_by("")
        await driver.settled()
        assert len(subjects(driver)) == every
        await to_kind(driver, "fenced-broker")
        assert [name for name, _ in view.tables()] == ["fenced-broker", "health"]
        assert view.found is not None
        assert pa.types.is_dictionary(view.found.rows.schema.field("action").type)
        taken = view.tables()[1][1]
        assert not any(pa.types.is_dictionary(field.type) for field in taken.schema)
        actions = [row["action"] for row in said(down(), "health --columns all")]
        assert taken.column("action").to_pylist() == actions
        assert view.copyable() == ("command", "changes /image/cluster/brokers/103")

    drive(test, session_on(down))


def partition(number: int, **fields: object) -> bytes:
    """A partition of topic NUMBER, without a leader."""
    known: dict[str, object] = {"partition_id": 0, "replicas": [1], "isr": [1], "leader": -1}
    return record("PartitionRecord", topic_id=bytes([number]) * 16, **{**known, **fields})


def test_news_leave_the_cursor_where_it_is() -> None:
    """Rows that come before do not move the cursor off its problem, nor another kind in view."""
    topics = [record("TopicRecord", name=f"t{n}", topic_id=bytes([n]) * 16) for n in range(1, 6)]
    quorum = Cluster(encode_batch([broker(1), *topics, partition(4), partition(5)]))

    async def test(driver: Driver) -> None:
        await opened(driver)
        await to_kind(driver, "offline-partitions")
        table = driver.one(RowTable)
        table.focus()
        table.move_cursor(row=1)
        await driver.settled()
        assert table.row is not None
        assert table.row["subject"] == "topic t5"
        quorum.commit(encode_batch([partition(1), partition(2)], base_offset=8))
        driver.app.news(quorum.source())
        await driver.until(lambda: len(subjects(driver)) == 4, "no news")
        await driver.settled()
        assert ["topic t1", "topic t2", "topic t4", "topic t5"] == subjects(driver)
        assert table.row["subject"] == "topic t5"
        assert driver.one(KindList).code == "offline-partitions"

    drive(test, session_on(quorum.source))


@pytest.fixture
def sound() -> Iterator[Path]:
    """A cluster in which nothing is wrong."""
    topic = record("TopicRecord", name="t", topic_id=TOPIC_ID)
    part = {"topic_id": TOPIC_ID, "partition_id": 0, "replicas": [1, 2], "isr": [1, 2]}
    with cluster(
        broker(1), broker(2), topic, record("PartitionRecord", **part, leader=1)
    ) as source:
        yield Path(source.path)


def test_nothing_is_wrong(sound: Path) -> None:
    """It is said in words, in place of empty tables."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        assert words(driver, "#health-words") == "nothing is wrong: 1 partition, 2 brokers"
        assert not driver.app.query_one("#health-body").is_on_screen
        assert (view.tables(), view.copyable()) == ((), None)
        await driver.press("m", "i", "r", "d")
        assert "nothing is wrong" in driver.screen()

    drive(test, session_on(sound))


def test_names_are_data() -> None:
    """A name with markup and control characters is shown, not obeyed."""
    topic = record("TopicRecord", name=HOSTILE, topic_id=TOPIC_ID)
    part = record(
        "PartitionRecord",
        topic_id=TOPIC_ID,
        partition_id=0,
        replicas=[1, 2],
        isr=[1],
        leader=-1,
    )
    with cluster(broker(1), topic, part) as source:
        directory = Path(source.path)

        async def test(driver: Driver) -> None:
            await opened(driver)
            assert "[bold]x[/]" in driver.screen()
            assert "\x1b" not in driver.screen()
            await to_kind(driver, "offline-partitions")
            await driver.press("enter", "enter")
            (row,) = said(driver.scene.source, "health offline-partitions")
            assert driver.app.path == row["path"]

        drive(test, session_on(directory))


def test_fleets(tmp_path: Path) -> None:
    """Outside of clusters rows of all of them; a row's node is in its own cluster."""
    places = sorted(map(str, backups(tmp_path / "all").iterdir()))

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        assert driver.scene.cluster is None
        assert view.found is not None
        clusters = view.found.rows.column("cluster").unique().to_pylist()
        assert len(clusters) > 1
        table = driver.one(ProblemTable)
        table.focus()
        row = table.row
        assert row is not None
        assert view.path_of(row) == f"/clusters/{row['cluster']}{row['path']}"
        await driver.press("enter")
        assert driver.app.path == f"/clusters/{row['cluster']}{row['path']}"
        inside = await opened(driver)
        assert driver.scene.prefix == f"/clusters/{row['cluster']}"
        assert inside.found is not None
        assert "cluster" not in inside.found.rows.column_names

    drive(test, session_on(lambda: open_fleet(places)))  # type: ignore[arg-type, return-value]


def test_a_deep_check() -> None:
    """`d` adds what `check` finds, and leaves it out again."""
    topic = record("TopicRecord", name="t", topic_id=TOPIC_ID)
    part = {"topic_id": TOPIC_ID, "partition_id": 0, "replicas": [1, 2], "isr": [2], "leader": 1}
    with cluster(broker(1), broker(2), topic, record("PartitionRecord", **part)) as source:
        directory = Path(source.path)

        async def test(driver: Driver) -> None:
            await opened(driver)
            kinds = driver.one(KindList)
            assert "leader-not-in-isr" not in kinds.codes
            await driver.press("d")
            assert "leader-not-in-isr" in kinds.codes
            assert "check found 1 more problem" in words(driver, "#health-words")
            await driver.press("d")
            assert "leader-not-in-isr" not in kinds.codes
            assert "check" not in words(driver, "#health-words")

        drive(test, session_on(directory))


def test_says_that_check_found_nothing() -> None:
    """In the first line, which has room for it on a small screen, and only where it ran."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        before = words(driver, "#health-words")
        assert before.splitlines()[0].endswith("  (kinds of problems)")
        await driver.press("d")
        assert driver.screen().splitlines()[1].endswith("  check found nothing more")
        await driver.press("d")
        assert before == words(driver, "#health-words")

    drive(test, session_on(DEMO))


def test_a_check_that_was_cancelled_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line says that it runs, and how to end it; then all is as it was."""
    may_end = threading.Event()

    def ask(scene: Scene, **options: Any) -> HealthRows:
        if options["is_deep"]:
            may_end.wait()
        return ask_health(scene, **options)

    async def test(driver: Driver) -> None:
        await opened(driver)
        before = words(driver, "#health-words")
        await driver.pilot.press("d")
        runs = "  check runs: escape cancels"
        await driver.until(
            lambda: words(driver, "#health-words").splitlines()[0].endswith(runs), "not said"
        )
        await driver.press("escape")
        assert before == words(driver, "#health-words")
        may_end.set()

    monkeypatch.setattr("metashell.tui.views.health.ask_health", ask)
    try:
        drive(test, session_on(DEMO))
    finally:
        may_end.set()


def test_tells_what_problems_follow_from() -> None:
    """The causes above the kinds; below the rows what the row under the cursor follows from."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        (cause, *_) = [
            row for row in said(driver.scene.source) if row["problem"] == "fenced-broker"
        ]
        told = words(driver, "#health-words")
        assert f"{cause['subject']} is fenced" in told
        await to_kind(driver, "offline-partitions")
        assert f"follows from: fenced-broker {cause['subject']}" in words(driver, "#health-detail")

    drive(test, session_on(down))


def test_the_command_stands_below_the_table_alone() -> None:
    """Its column can be chosen, and is not there at first."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        table = driver.one(ProblemTable)
        assert table.row is not None
        assert "command" not in table.columns_shown
        assert f"$ {table.row['command']}" in driver.screen()
        table.focus()
        await driver.press("c")
        choices = driver.app.screen.query_one(OptionList)
        names = [str(option.prompt).strip("✓ ") for option in choices.options]
        choices.highlighted = names.index("command")
        await driver.press("space", "enter")
        assert "command" in table.columns_shown

    drive(test, session_on(down), size=WIDE)


def test_runs_the_command() -> None:
    """`R` runs the command of the row in its cluster, and shows its rows on the whole screen."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        table = driver.one(ProblemTable)
        table.filter_by("offline-partitions")
        table.focus()
        await driver.settled()
        assert table.row is not None
        command = table.row["command"]
        await driver.press("exclamation_mark")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        (rows,) = screen.pane.row_tables
        assert rows.row_count
        assert rows.has_focus
        assert driver.screen().startswith(f" {command}")
        await driver.press("escape")
        assert driver.view is view

    drive(test)
