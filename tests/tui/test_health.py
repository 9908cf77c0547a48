"""The view of everything that is wrong: findings, their rows, and the ways from them."""

from __future__ import annotations

import json
import re
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
from metashell.tui.views.health import HealthView
from metashell.tui.views.health_text import FINDINGS, ROWS, HealthAnswer, ask_health
from metashell.tui.views.question import ViewQuestion
from support.fixtures import DEMO, copy_of, fixture, fixture_dir
from support.fleets import backups
from support.live import Cluster
from support.logs import record
from support.pilot import SMALL, WIDE, Driver, drive, plain_title, session_on
from support.shell import run_on
from support.small_cluster import broker, cluster

TOPIC_ID = bytes([7]) * 16
_GAPS = {ord(gap): None for gap in " \n"}
"""A sentence is wrapped where it does not fit."""
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


def table(driver: Driver, name: str = ROWS) -> RowTable:
    """One of its tables."""
    view = driver.view
    assert isinstance(view, HealthView)
    return view.tables_by_name[name]


def subjects(driver: Driver) -> list[str]:
    """The subjects of the rows of the finding."""
    shown = table(driver).shown
    assert shown is not None
    return [str(subject) for subject in shown.column("subject").to_pylist()]


def findings(driver: Driver) -> list[str]:
    """The findings."""
    shown = table(driver, FINDINGS).shown
    assert shown is not None
    found: list[str] = shown.column("finding").to_pylist()
    return found


def words(driver: Driver, selector: str) -> str:
    """What a line says."""
    return str(driver.app.query_one(selector, Static).render())


async def to_finding(driver: Driver, text: str) -> None:
    """Put the cursor on the first finding that contains a text."""
    at = next(i for i, one in enumerate(findings(driver)) if text in one)
    table(driver, FINDINGS).go_to_line(at)
    await driver.settled()


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_shows_what_the_command_says(size: tuple[int, int]) -> None:
    """Its findings in its words and counts, then the rows of each, then all of them."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        told = run_on(driver.view_state.source, "health").out
        expected = said(driver.view_state.source)
        begins = [one.partition(" ")[0] for one in told.split("\n")]
        assert plain_title(driver) == "● 2 critical  · 2 notes"
        assert (begins.count("critical"), begins.count("note")) == (2, 2)
        *found, last = findings(driver)
        assert all(one.split(" (+")[0].replace(" ", "") in told.translate(_GAPS) for one in found)
        seen = []
        for one in found:
            await to_finding(driver, one)
            seen += subjects(driver)
        assert sorted(row["subject"] for row in expected) == sorted(seen)
        await to_finding(driver, last)
        assert [row["subject"] for row in expected] == subjects(driver)
        assert last == f"all {len(expected)} rows"
        assert view.is_inside is False
        await driver.press("enter")
        assert table(driver).columns_shown[:3] == ("mark", "code", "subject")
        codes = [f" {row['code']} " for row in expected]
        lines = [one for one in driver.screen().splitlines() if any(c in one for c in codes)]
        signs = {one[2] for one in lines if one.startswith("│ ")}
        assert {"●"} <= signs <= {"●", "▲", "·"}, "the severity needs no colour"
        await driver.press("ctrl+right")
        seen = [table(driver).columns_shown[i] for i, _ in table(driver).seen_columns]
        assert seen[:3] == ["mark", "code", "subject"], "these name the row"

    drive(test, session_on(down), size)


def test_a_finding_is_told_whole() -> None:
    """At 80x24 its sentence, cause, advice and command are seen; enter goes to its rows."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        detail = words(driver, "#health-detail")
        assert "partitions of csv-imports are offline" in detail
        assert "\ncause broker 104 is fenced since" in detail
        assert "\ndo start the broker" in detail
        assert "\n$ partitions --offline" in detail
        height = driver.app.query_one("#health-detail", Static).size.height
        assert height >= len(detail.splitlines())
        assert table(driver, FINDINGS).size.height >= 4
        await driver.press("enter")
        assert driver.app.focused is table(driver)
        assert "offline-partitions · topic csv-imports" in driver.screen().replace("\n", " ") or (
            "fenced-broker · broker 104" in driver.screen()
        )
        await driver.press("escape")
        assert driver.app.focused is table(driver, FINDINGS)

    drive(test, session_on(DEMO))


def test_another_size_keeps_the_findings() -> None:
    """Whatever the height, there are findings or rows, and the cursor's is seen."""

    async def test(driver: Driver) -> None:
        await opened(driver)
        for size in ((160, 48), (80, 20), (200, 50), (80, 18), (100, 24)):
            await driver.pilot.resize_terminal(*size)
            await driver.settled()
            assert table(driver, FINDINGS).size.height >= 2, size
            assert "csv-imports are offline" in driver.screen(), size

    drive(test, session_on(DEMO))


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


def test_a_finding_about_several_configs_tells_of_each() -> None:
    """Its command is about the first one, which its row names; a command of a row is its own."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        await to_finding(driver, "lowered retention")
        assert view.command == "changes /image/configs/TOPIC:audit-log"
        row = view.finding
        assert row is not None
        told = row["texts"][row["labels"].index("")]
        assert re.fullmatch("topic audit-log: lowered .*; topic payments: lowered .*", told)
        await driver.press("enter", "down")
        assert view.command == "changes /image/configs/TOPIC:payments"

    drive(test, session_on(DEMO))


def test_copies_of_a_cluster_are_counted_once(tmp_path: Path) -> None:
    """Two copies of one state tell of the same partitions."""
    places = [str(copy_of("real-44-broker-down", tmp_path / name)) for name in ("a", "b")]

    async def test(driver: Driver) -> None:
        await driver.press("3")
        told = "offline-partitions  3 of 1 cluster, in 2 copies"
        await driver.until(lambda: told in driver.screen(), "findings")

    drive(test, session_on(lambda: open_fleet(places)))  # type: ignore[arg-type, return-value]


def test_nothing_is_not_wrong_where_no_copy_can_win() -> None:
    """A note about the copies stands without that sentence."""
    places = [str(fixture_dir(f"voters-minority-5/voter-{node}")) for node in (4, 5)]

    async def test(driver: Driver) -> None:
        await driver.press("3")
        await driver.until(lambda: "no copy can win" in driver.screen(), "findings")
        assert "─ · 1 note ─" in driver.screen()

    drive(test, session_on(lambda: open_fleet(places)))  # type: ignore[arg-type, return-value]


def test_filters_exports_and_copies() -> None:
    """The filter holds for the rows; tables and values are those shown."""

    async def test(driver: Driver) -> None:
        view = await opened(driver)
        await to_finding(driver, "all ")
        await driver.press("enter")
        every = len(subjects(driver))
        assert view.filter_text == ""
        view.filter_by("broker 103")
        await driver.settled()
        shown = table(driver).shown
        assert shown is not None
        assert 0 < len(shown) < every
        about = [f"{row['subject']} {row['why']}" for row in shown.to_pylist()]
        assert all("broker 103" in text for text in about)
        (name, rows), *_ = view.tables()
        assert (name, len(rows)) == ("health", len(subjects(driver)))
        view.filter_by("")
        await driver.settled()
        assert len(subjects(driver)) == every
        await driver.press("escape")
        await to_finding(driver, "are offline")
        assert [name for name, _ in view.tables()] == ["offline-partitions", "health"]
        assert view.answer is not None
        assert pa.types.is_dictionary(view.answer.found.schema.field("action").type)
        taken = view.tables()[1][1]
        assert not any(pa.types.is_dictionary(field.type) for field in taken.schema)
        actions = [row["action"] for row in said(down(), "health --columns all")]
        assert taken.column("action").to_pylist() == actions
        assert view.copyable() == ("command", "partitions --offline --topic clicks")

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
        await to_finding(driver, "offline")
        await driver.press("enter")
        rows = table(driver)
        rows.go_to_line(1)
        await driver.settled()
        assert rows.row is not None
        assert rows.row["subject"] == "topic t5"
        quorum.commit(encode_batch([partition(1), partition(2)], base_offset=8))
        driver.app.news(quorum.source())
        await driver.until(lambda: len(subjects(driver)) == 4, "no news")
        await driver.settled()
        assert ["topic t1", "topic t2", "topic t4", "topic t5"] == subjects(driver)
        assert rows.row["subject"] == "topic t5"
        assert driver.app.focused is rows

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
            await to_finding(driver, "offline")
            (row,) = said(driver.view_state.source, "health offline-partitions")
            await driver.press("enter")
            table(driver).go_to_line(subjects(driver).index(row["subject"]))
            await driver.press("enter")
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
        await driver.press("enter")
        row = table(driver).row
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
    """A line says that it runs, and how to end it; then all is as it was."""
    may_end = threading.Event()

    def ask(question: ViewQuestion, **options: Any) -> HealthAnswer:
        if options.get("is_deep"):
            may_end.wait()
        return ask_health(question, **options)

    async def test(driver: Driver) -> None:
        await opened(driver)
        before = words(driver, "#health-words")
        await driver.pilot.press("C")
        runs = "check runs: escape cancels"
        await driver.until(lambda: words(driver, "#health-words") == runs, "not said")
        await driver.press("escape")
        assert before == words(driver, "#health-words")
        may_end.set()

    monkeypatch.setattr("metashell.tui.views.health.ask_health", ask)
    try:
        drive(test, session_on(DEMO))
    finally:
        may_end.set()
