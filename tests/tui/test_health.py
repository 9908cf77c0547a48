"""The view of everything that is wrong: kinds, rows, and the ways from them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from textual.widgets import Static

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.rows.table import RowTable
from metashell.tui.view_state import ViewState
from metashell.tui.views.health import HealthView
from metashell.tui.views.health_lists import KindList, ProblemTable
from metashell.tui.views.health_text import HealthAnswer, ask_health
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
    await driver.until(lambda: view.answer is not None, "nothing found")
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
        expected = said(driver.view_state.source)
        assert [row["subject"] for row in expected] == subjects(driver)
        kinds = driver.one(KindList)
        summary = said(driver.view_state.source, "health --summary")
        assert kinds.codes == ["", *(row["code"] for row in summary)]
        for code in kinds.codes[1:]:
            await to_kind(driver, code)
            assert [r["subject"] for r in expected if r["code"] == code] == subjects(driver)
        await to_kind(driver, "")
        assert "● offline-partitions  3" in driver.screen()
        assert "▲ " in driver.screen()
        assert words(driver, "#health-title").startswith("● 2 critical  ▲ 3 warnings")

    drive(test, session_on(down), size)


def test_says_that_nothing_is_wrong() -> None:
    """In the view, and on Home."""
    topic = record("TopicRecord", name="t", topic_id=TOPIC_ID)
    known: dict[str, object] = {"topic_id": TOPIC_ID, "partition_id": 0, "leader": 1}
    part = record("PartitionRecord", replicas=[1, 2], isr=[1, 2], **known)
    with cluster(broker(1), broker(2), topic, part) as source:
        directory = Path(source.path)

        async def test(driver: Driver) -> None:
            assert "Health nothing is wrong: 1 partition, 2 brokers" in driver.screen()
            await opened(driver)
            assert words(driver, "#health-title").startswith("nothing is wrong: 1 partition")

        drive(test, session_on(directory, path=""))


def test_names_the_causes() -> None:
    """In a line for each, with since when; lowered configs in others."""
    source = metashell.open(DEMO)
    lowered = said(source, "health lowered-config")
    assert lowered

    async def test(driver: Driver) -> None:
        await opened(driver)
        lines = words(driver, "#health-words").splitlines()
        assert any(line.startswith("broker 104 is fenced since ") for line in lines)
        assert any(": lowered " in line for line in lines)

    drive(test, session_on(DEMO), WIDE)


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
        assert view.answer is not None
        assert pa.types.is_dictionary(view.answer.found.schema.field("action").type)
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
        table.go_to_line(1)
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
            (row,) = said(driver.view_state.source, "health offline-partitions")
            assert driver.app.path == row["path"]

        drive(test, session_on(directory))


def test_fleets(tmp_path: Path) -> None:
    """Outside of clusters rows of all of them; a row's node is in its own cluster."""
    places = sorted(map(str, backups(tmp_path / "all").iterdir()))

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        assert driver.view_state.cluster is None
        assert view.answer is not None
        clusters = view.answer.found.column("cluster").unique().to_pylist()
        assert len(clusters) > 1
        table = driver.one(ProblemTable)
        table.focus()
        row = table.row
        assert row is not None
        assert view.path_of("rows", row) == f"/clusters/{row['cluster']}{row['path']}"
        await driver.press("enter")
        assert driver.app.path == f"/clusters/{row['cluster']}{row['path']}"
        inside = await opened(driver)
        assert driver.view_state.prefix == f"/clusters/{row['cluster']}"
        assert inside.answer is not None
        assert "cluster" not in inside.answer.found.column_names

    drive(test, session_on(lambda: open_fleet(places)))  # type: ignore[arg-type, return-value]


def test_a_check_that_was_cancelled_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line says that it runs, and how to end it; then all is as it was."""
    may_end = threading.Event()

    def ask(view_state: ViewState, **options: Any) -> HealthAnswer:
        if options["is_deep"]:
            may_end.wait()
        return ask_health(view_state, **options)

    async def test(driver: Driver) -> None:
        await opened(driver)
        before = words(driver, "#health-title")
        await driver.pilot.press("d")
        runs = "  check runs: escape cancels"
        await driver.until(lambda: words(driver, "#health-title").endswith(runs), "not said")
        await driver.press("escape")
        assert before == words(driver, "#health-title")
        may_end.set()

    monkeypatch.setattr("metashell.tui.views.health.ask_health", ask)
    try:
        drive(test, session_on(DEMO))
    finally:
        may_end.set()
