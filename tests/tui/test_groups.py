"""The view of groups: what needs attention first, a group's offsets and commits, transactions."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from textual.widgets import Static

import metashell
from metashell.tui.app import Explorer
from metashell.tui.rows.drawn import DrawnTable
from metashell.tui.scene import NO_GROUPS, ask, scene_of
from metashell.tui.views import group_rows
from metashell.tui.views.commit_line import find_commits
from metashell.tui.views.group_rows import NO_LAG_EARLIER, find_extra, find_group, find_groups
from metashell.tui.views.group_tables import (
    GroupTable,
    MemberTable,
    OffsetTable,
    TransactionTable,
)
from metashell.tui.views.groups import GroupsView
from support.fixtures import DEMO
from support.fleets import backups
from support.node_sources import D1, D2, NODE, on, opened
from support.pilot import WIDE, Driver, drive, session_on
from support.waiting import LIMIT_S


def view_of(driver: Driver) -> GroupsView:
    """The view, which is seen."""
    view = driver.view
    assert isinstance(view, GroupsView)
    return view


def column(table: DrawnTable, name: str) -> list[object]:
    """A column of a table, in the order shown."""
    assert table.shown is not None
    found: list[object] = table.shown[name].to_pylist()
    return found


def said(driver: Driver, name: str) -> str:
    """What a line of the view says."""
    return str(driver.view.query_one(f"#groups-{name}", Static).render())


async def open_group(driver: Driver, group: str) -> None:
    """Open a group, as a user does."""
    table = driver.one(GroupTable)
    table.place_at(group)
    await driver.settled()
    await driver.press("enter")
    assert view_of(driver).group is not None


def test_what_needs_attention_comes_first() -> None:
    """Stalled groups, those that wait for a transaction, those left behind, then the others."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        assert driver.app.focused is driver.one(GroupTable)
        words = column(driver.one(GroupTable), "attention")
        order = [word for i, word in enumerate(words) if not i or words[i - 1] != word]
        assert order == ["stalled", "pending", "left behind", ""]
        assert driver.one(GroupTable).cursor_row == 0
        groups = column(driver.one(GroupTable), "group")
        assert groups[0] in ("c-coop", "c-range", "k-uniform", "k-range", "k-mixed", "c-static")
        lags = column(driver.one(GroupTable), "lag")
        n = words.count("stalled")
        assert sorted(lags[:n], reverse=True) == lags[:n]  # type: ignore[type-var]
        rows = ask(driver.scene, ("groups", "-o", "table")).table
        assert rows is not None
        assert sorted(rows["group"].to_pylist()) == sorted(map(str, groups))
        stalled = ask(driver.scene, ("offsets", "--stalled", "-o", "table")).table
        assert stalled is not None
        assert set(groups[:n]) <= set(stalled["group"].to_pylist())
        assert said(driver, "title").startswith(f"28 groups · {n} stalled · ")
        assert "pending" in driver.screen()

    drive(test, on(D1, D2))


def test_transactions_hanging_and_open_come_first() -> None:
    """A hanging transaction tells the command that ends it; Enter goes to the partition."""

    async def test(driver: Driver) -> None:
        await driver.press("7", "tab")
        table = driver.one(TransactionTable)
        assert driver.app.focused is table
        assert column(table, "transaction")[:3] == ["producer 777000", "tx-eos-pending", "tx-hang"]
        assert column(table, "hanging")[:2] == ["yes", None]
        assert "1 hanging" in said(driver, "heading")
        await driver.press("home")
        assert "abort --topic streams-in --partition 1" in said(driver, "about")
        await driver.press("i")
        assert driver.told[-1] == "command copied"
        assert "abort --topic streams-in" in driver.app.clipboard
        await driver.press("enter")
        assert driver.app.path == "/image/topics/byName/streams-in/1"
        await driver.press("7")
        await driver.press("down", "enter")
        assert driver.app.path == "/transactions/tx-eos-pending"

    drive(test, on(D1, D2))


def test_a_group_is_opened() -> None:
    """Enter shows members, offsets with their lag, and the history of an offset; and back."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        await open_group(driver, "eos-group")
        view = view_of(driver)
        assert driver.app.focused is driver.one(OffsetTable)
        assert "eos-group · classic · Empty" in said(driver, "title")
        offsets = ask(driver.scene, ("offsets", "eos-group", "--lag", "-o", "table")).table
        assert offsets is not None
        for name in ("offset", "lag"):
            assert offsets[name].to_pylist() == column(driver.one(OffsetTable), name)
        assert view.commits is not None
        assert (view.commits.topic, view.commits.partition) == ("orders", 0)
        first = said(driver, "history")
        assert first.splitlines()[0] == view.commits.drawn(78)
        assert "commits" in first
        await driver.press("down")
        assert view.commits.partition == 1
        assert said(driver, "history") != first
        await driver.press("enter")
        assert driver.app.path == "/groups/eos-group/offsets/orders/1"
        await driver.press("7")
        assert driver.app.focused is driver.one(OffsetTable)
        await driver.press("backspace")
        assert view.group is None
        assert driver.app.focused is driver.one(GroupTable)
        row = driver.one(GroupTable).row
        assert row is not None
        assert row["group"] == "eos-group"
        await open_group(driver, "k-uniform")
        assert len(column(driver.one(MemberTable), "member")) == 2
        await driver.press("shift+tab", "enter")
        assert driver.app.path.startswith("/groups/k-uniform/members/")

    drive(test, on(D1, D2))


def test_history_is_that_of_changes() -> None:
    """The line holds each offset that `changes` tells, also those of transactions."""
    source = opened(D1, D2)
    for group in ("eos-group", "n-roll-3", "c-offdel", "k-uniform"):
        rows = ask(
            scene_of(source, "/"),
            ("changes", "-o", "table", "--columns", "all", f"/groups/{group}/offsets/orders/0"),
        ).table
        assert rows is not None
        told = []
        for row in rows.to_pylist():
            fields = row["fields"]
            fields = json.loads(fields) if isinstance(fields, str) else fields
            if row["change"] == "removed":
                told.append(-1)
            elif "offset" in fields and fields["offset"][1] is not None:
                told.append(fields["offset"][1])
        line = find_commits(source, group, "orders", 0, lambda: False)
        kept = [offset for i, offset in enumerate(line.offsets.tolist())
                if not i or offset != line.offsets[i - 1]]  # fmt: skip
        assert kept == told, group


def test_tables_are_filtered_sorted_and_exported() -> None:
    """As every table; a row is copied."""

    async def test(driver: Driver) -> None:
        await driver.press("7", "slash")
        await driver.type("k-")
        await driver.press("enter")
        assert 0 < len(column(driver.one(GroupTable), "group")) < 28
        await driver.press("L")
        lags = [lag for lag in column(driver.one(GroupTable), "lag") if lag is not None]
        assert lags == sorted(lags, reverse=True)  # type: ignore[type-var]
        names = [name for name, _ in driver.view.tables()]
        assert names == ["groups", "transactions"]
        await driver.press("Y")
        assert "group: " in driver.app.clipboard
        await driver.press("r")
        assert view_of(driver).filter_text == "k-"

    drive(test, on(D1, D2), WIDE)


def test_other_sources() -> None:
    """A partition alone and a directory without metadata have the view, with what they know."""

    async def partition(driver: Driver) -> None:
        await driver.press("7")
        assert set(column(driver.one(GroupTable), "lag")) == {None}  # No log beside it is read.
        assert not driver.one(TransactionTable).display
        await open_group(driver, "k-uniform")
        assert view_of(driver).commits is not None

    async def transactions(driver: Driver) -> None:
        await driver.press("7")
        assert driver.app.focused is driver.one(TransactionTable)
        assert not driver.one(GroupTable).display

    async def no_metadata(driver: Driver) -> None:
        await driver.press("7")
        assert driver.one(TransactionTable).display
        assert "stalled" in column(driver.one(GroupTable), "attention")
        assert "undecided" in column(driver.one(TransactionTable), "hanging")

    drive(partition, on(D1 / "__consumer_offsets-2"))
    (log,) = NODE.glob("broker102/d2/__transaction_state-0")
    drive(transactions, on(log))
    drive(no_metadata, on(D2))


def test_earlier_states_have_no_lag() -> None:
    """The logs of partitions do not move in time; groups do."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        driver.app.travel("2026-11-22T11:56:00Z")
        await driver.settled()
        assert not driver.scene.is_newest
        assert set(column(driver.one(GroupTable), "lag")) == {None}
        assert NO_LAG_EARLIER in said(driver, "notes")
        assert len(column(driver.one(GroupTable), "group")) < 28
        await driver.press("E")
        assert set(column(driver.one(GroupTable), "lag")) != {None}
        assert len(column(driver.one(GroupTable), "group")) == 28

    drive(test, on(D1, D2))


def test_metadata_alone_has_no_such_view() -> None:
    """There is no tab, and the key says which directory to give."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        assert driver.view.id == "explorer"
        assert driver.told == [NO_GROUPS]
        assert not driver.app.query_one("#tab-groups").display

    drive(test, session_on(DEMO))


def test_metadata_alone_imports_nothing_of_coordinators() -> None:
    """Looking at all views of a metadata log loads no module that reads coordinators' logs."""
    code = (
        "import sys\n"
        "from support.fixtures import DEMO\n"
        "from support.pilot import drive, session_on\n"
        "async def test(driver):\n"
        "    for key in '1234571':\n"
        "        await driver.press(key)\n"
        "drive(test, session_on(DEMO))\n"
        "readers = ('keyed_', 'image.coordinators', 'fs.coordinator', 'sources.coordinator')\n"
        "print([m for m in sys.modules if any(reader in m for reader in readers)])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[]\n"


def test_fleet_of_brokers(tmp_path: Path) -> None:
    """The tab comes with the cluster that has groups; elsewhere a line says what to give."""
    paths = [str(path) for path in sorted(backups(tmp_path).iterdir())]
    session = session_on(lambda: metashell.open_fleet(paths))  # type: ignore[arg-type,return-value]

    async def test(driver: Driver) -> None:
        await driver.press("7")
        assert "go into one of /clusters" in said(driver, "title")
        assert driver.scene.fleet is not None
        name = next(iter(driver.scene.fleet.members))
        driver.app.go(f"/clusters/{name}")
        await driver.settled()
        await driver.press("7")
        assert driver.view.why_not == NO_GROUPS

    drive(test, session)


def test_nothing_is_read_in_the_thread_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """All reading is in jobs, and Escape ends those that take long."""
    begun, go_on = threading.Event(), threading.Event()
    threads: set[str] = set()
    find = group_rows.find_extra

    def slow(scene, cancelled, tell, known):  # type: ignore[no-untyped-def]
        threads.add(threading.current_thread().name)
        begun.set()
        while not cancelled() and not go_on.wait(0.01):
            pass
        return find(scene, cancelled, tell, known)

    async def test(driver: Driver) -> None:
        monkeypatch.setattr("metashell.tui.views.groups.find_extra", slow)
        await driver.pilot.press("7")
        await driver.until(begun.is_set, "partitions are not looked at")
        assert column(driver.one(GroupTable), "group")
        assert isinstance(driver.app, Explorer)
        await driver.press("escape")
        assert driver.told == ["cancelled: looking at the logs of partitions"]
        assert set(column(driver.one(GroupTable), "lag")) == {None}

    drive(test, on(D1, D2))
    assert threads == {"metashell-explorer"}


def test_rows_without_widgets() -> None:
    """Each stage tells what it has; a group with wildcards in its name is that group."""
    source = opened(D1, D2)
    scene = scene_of(source, "/")
    found = find_groups(scene, lambda: False)
    assert found.groups is not None
    assert found.transactions is not None
    assert found.heading == "28 groups"
    stages: list[group_rows.Extra] = []
    extra = find_extra(scene, lambda: False, stages.append)
    assert [stage.hanging is None for stage in stages] == [True, True, False]
    assert extra.offsets is not None
    one = find_group(scene, "c-*", {}, None, lambda: False)
    assert len(one.offsets) == 0
