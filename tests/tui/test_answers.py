"""Views of answers: a made-up one in a few lines, and the disks."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from textual.widgets import Static

from metashell.tui.rows.table import RowTable
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion
from support.node_sources import D1, D2, on
from support.pilot import Driver, drive, plain_title


class TopicsView(AnswerView[ViewAnswer]):
    """A view that is made up: topics, and what each of them is changed by."""

    HELP = "# Topics"
    ASKS = "listing topics"
    TABLES = ("topics", "changes")

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """All topics."""
        rows = question.rows("topics", key="topic", first=("topic", "partitions"))
        return ViewAnswer(title=f"{len(rows.table)} topics", rows={"topics": rows})

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """List the changes of a topic."""
        if name != "topics":
            super().choose(name, row)
            return
        topic = row["topic"]

        def ask(question: ViewQuestion) -> ViewAnswer:
            found = question.rows("changes", f"/image/topics/byName/{topic}")
            return ViewAnswer(title=topic, rows={"changes": found})

        self.open(f"listing changes of {topic}", ask)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the made-up view in place of the disks."""
    module: Any = ModuleType("made_up")
    module.DisksView = TopicsView
    monkeypatch.setitem(sys.modules, "metashell.tui.views.disks", module)


def said(driver: Driver, part: str) -> str:
    """What a part of the view says."""
    if part == "title":  # the border of the rows has it
        return plain_title(driver)
    return str(driver.view.query_one(f"#disks-{part}", Static).render())


@pytest.mark.usefixtures("made_up")
def test_a_view_is_a_declaration() -> None:
    """It has its title, its rows, their detail, filters and exports, and goes in and back."""

    async def test(driver: Driver) -> None:
        await driver.press("8")
        view = driver.view
        assert isinstance(view, TopicsView)
        assert said(driver, "title").endswith(" topics")
        assert view.table.columns_shown == ("topic", "partitions")
        assert "topic id " in said(driver, "detail")
        view.filter_by("orders")
        await driver.settled()
        ((name, rows),) = view.tables()
        assert name == "topics"
        assert rows["topic"].to_pylist() == ["orders"]
        await driver.press("enter")
        assert said(driver, "title") == "orders"
        assert [name for name, _ in view.tables()] == ["changes"]
        assert driver.app.focused is view.table
        await driver.press("backspace")
        assert said(driver, "title").endswith(" topics")
        assert view.filter_text == "orders"
        assert (view.copyable() or ("", ""))[1].startswith("topic: orders\n")
        await driver.press("ctrl+r")
        assert view.answer is not None

    drive(test, on(D1, D2))


def test_disks() -> None:
    """Enter on a directory shows its replicas alone; on a replica it goes to the partition."""

    async def test(driver: Driver) -> None:
        await driver.press("8")
        view = driver.view
        replicas = view.query_one("#disks-replicas", RowTable)
        n = replicas.n_lines
        assert said(driver, "title").startswith(f"{n} replicas · ")
        await driver.press("enter")
        assert 0 < replicas.n_lines < n
        assert driver.app.focused is replicas
        assert "state: " in (view.copyable() or ("", ""))[1]
        replicas.filter_by("orders")
        await driver.settled()
        await driver.press("enter")
        assert driver.app.path.startswith("/image/topics/byName/orders/")

    drive(test, on(D1, D2))


def test_no_disks_of_a_metadata_log() -> None:
    """The view is not there without the log of a topic, and its key says why."""

    async def test(driver: Driver) -> None:
        await driver.press("8")
        assert driver.view.id == "explorer"
        assert driver.told[-1].startswith("no log of a topic here")
        assert "8 Disks" not in driver.screen()

    drive(test)


def test_pandas_may_be_half_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job may be importing it while a table is made."""
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    assert RowTable().n_lines == 0
