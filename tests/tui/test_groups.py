"""The view of groups: what needs attention first, a group's offsets and commits, transactions."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from metashell.sources.opening import open_fleet
from metashell.tui.app import Explorer
from metashell.tui.rows.table import RowTable
from metashell.tui.view_state import ask, view_state_of
from metashell.tui.views import groups as group_view
from metashell.tui.views.groups import GroupsView, find_commits
from metashell.tui.views.question import ViewQuestion
from support.fleets import backups
from support.node_sources import D1, D2, on, opened
from support.pilot import Driver, drive, plain_title, session_on
from support.waiting import LIMIT_S


def column(table: RowTable, name: str) -> list[object]:
    """A column of a table, in the order shown."""
    assert table.shown is not None
    found: list[object] = table.shown[name].to_pylist()
    return found


def groups_of(driver: Driver) -> RowTable:
    """The table of groups."""
    view = driver.view
    assert isinstance(view, GroupsView)
    return view.tables_by_name["groups"]


def said(driver: Driver, name: str) -> str:
    """What a line of the view says."""
    if name == "title":  # the border of the rows has it
        return plain_title(driver)
    return str(driver.view.query_one(f"#groups-{name}", Static).render())


def test_what_needs_attention_comes_first() -> None:
    """Stalled groups, those that wait for a transaction, those left behind, then the others."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        assert driver.app.focused is groups_of(driver)
        words = column(groups_of(driver), "attention")
        order = [word for i, word in enumerate(words) if not i or words[i - 1] != word]
        assert order == ["stalled", "pending", "left behind", ""]
        assert groups_of(driver).cursor == 0
        groups = column(groups_of(driver), "group")
        assert groups[0] in ("c-coop", "c-range", "k-uniform", "k-range", "k-mixed", "c-static")
        lags = column(groups_of(driver), "lag")
        n = words.count("stalled")
        assert sorted(lags[:n], reverse=True) == lags[:n]  # type: ignore[type-var]
        rows = ask(driver.view_state, ("groups", "-o", "table")).table
        assert rows is not None
        assert sorted(rows["group"].to_pylist()) == sorted(map(str, groups))
        stalled = ask(driver.view_state, ("offsets", "--stalled", "-o", "table")).table
        assert stalled is not None
        assert set(groups[:n]) <= set(stalled["group"].to_pylist())
        assert said(driver, "title").startswith(f"28 groups · {n} stalled · ")
        assert "pending" in driver.screen()

    drive(test, on(D1, D2))


def test_history_is_that_of_changes() -> None:
    """The line holds each offset that `changes` tells, also those of transactions."""
    source = opened(D1, D2)
    for group in ("eos-group", "n-roll-3", "c-offdel", "k-uniform"):
        rows = ask(
            view_state_of(source, "/"),
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


def test_nothing_is_read_in_the_thread_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """All reading is in jobs, and Escape ends those that take long."""
    begun, go_on = threading.Event(), threading.Event()
    threads: set[str] = set()
    find = group_view.find_extra

    def slow(question: ViewQuestion, *rest: Any) -> Any:
        threads.add(threading.current_thread().name)
        begun.set()
        while not question.job.cancelled() and not go_on.wait(0.01):
            pass
        return find(question, *rest)

    async def test(driver: Driver) -> None:
        monkeypatch.setattr("metashell.tui.views.groups.find_extra", slow)
        await driver.pilot.press("7")
        await driver.until(begun.is_set, "partitions are not looked at")
        assert column(groups_of(driver), "group")
        assert isinstance(driver.app, Explorer)
        await driver.press("escape")
        assert driver.told == ["cancelled: looking at the logs of partitions"]
        assert set(column(groups_of(driver), "lag")) == {None}

    drive(test, on(D1, D2))
    assert threads == {"metashell-explorer"}


def test_a_group_with_wildcards_in_its_name() -> None:
    """It is that group, and no other."""

    async def test(driver: Driver) -> None:
        await driver.press("7")
        assert said(driver, "title").startswith("28 groups")
        view = driver.view
        assert isinstance(view, GroupsView)
        assert [*view.extra] == ["offsets", "stalled", "hanging"]
        view.choose("groups", {"group": "c-*"})
        await driver.settled()
        assert view.opened is not None
        assert len(view.opened.rows["offsets"].table) == 0

    drive(test, on(D1, D2))


def test_groups_of_all_clusters_of_a_fleet(tmp_path: Path) -> None:
    """Outside of the clusters they are listed together; enter leads into the cluster of one."""
    backups(tmp_path / "fleet")
    paths = [str(D1), *map(str, sorted((tmp_path / "fleet").iterdir()))]

    async def test(driver: Driver) -> None:
        await driver.press("7")
        table = groups_of(driver)
        assert {"72HgMVPyQUSIB9AHQB3hhg"} == set(column(table, "cluster"))
        group = column(table, "group")[0]
        await driver.press("enter")
        assert driver.app.path == f"/clusters/72HgMVPyQUSIB9AHQB3hhg/groups/{group}"
        driver.app.go("/clusters/controller-1")
        await driver.press("7")
        assert "no logs of groups or transactions here" in driver.screen()

    drive(test, session_on(lambda: open_fleet(paths)))
