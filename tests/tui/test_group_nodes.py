"""Sources with coordinators' logs in the explorer: nodes of groups, and views without metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.node.inspector import NodeInspector
from metashell.tui.node.node_detail import DetailMode, NodeDetail
from metashell.tui.view_state import ask, view_state_of
from support.node_sources import D1, D2, on, opened
from support.pilot import Driver, drive

OFFSET = "/groups/k-uniform/offsets/orders/0"


def looked(source: Source, path: str, *modes: DetailMode) -> NodeDetail:
    """What the right side shows of a node."""
    return NodeInspector(view_state_of(source, path), path, lambda: False).look(modes)


def said(detail: NodeDetail) -> list[str]:
    """The lines of a look."""
    return [line.text for line in detail.lines or ()]


@pytest.mark.parametrize(
    ("paths", "path"),
    [((D1,), OFFSET), ((D1, D2), OFFSET), ((D1 / "__consumer_offsets-2",), OFFSET),
     ((D2,), "/groups/c-coop/offsets/orders/0"), ((D1,), "/transactions/tx-hang")],
    ids=["node", "joined", "partition", "no metadata", "transaction"],
)  # fmt: skip
def test_nodes_show_what_commands_say(paths: Sequence[Path], path: str) -> None:
    """Value, text, times and history are those of `cat`, `stat` and `changes`; no wrong record."""
    source = opened(*paths)
    view_state = view_state_of(source, path)
    text = looked(source, path, DetailMode.TEXT)
    assert ask(view_state, ("cat", path)).text.splitlines() == said(text)
    assert {DetailMode.VALUE, DetailMode.TEXT, DetailMode.HISTORY} == set(text.modes)
    (stat,) = ask(view_state, ("stat", "-o", "table", "--columns", "all", path)).tables
    assert f"changed {stat['changed_offset'][0].as_py()}" == text.head[0]
    assert text.head[1].startswith("2026-11-22")
    assert said(looked(source, path, DetailMode.VALUE))
    history = looked(source, path, DetailMode.HISTORY).table
    assert history is not None
    (changes,) = ask(view_state, ("changes", "-o", "table", path)).tables
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
        detail = looked(source, path, DetailMode.TABLE)
        assert detail.table is not None
        (rows,) = ask(view_state_of(source, path), (*command, "-o", "table")).tables
        assert len(rows) == len(detail.table) == (n or len(rows))
        row = detail.table.slice(0, 1).to_pylist()[0]
        assert (detail.path_of(row) or "").startswith(f"{path}/")


def test_no_directory_is_listed_in_the_thread_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """News are shown with what is known of the source."""
    seen: list[object] = []

    async def test(driver: Driver) -> None:
        import metashell.tui.view_state as module

        wrapped: Callable[[Source], frozenset[str]] = module._kinds_of
        monkeypatch.setattr(module, "_kinds_of", lambda s: seen.append(s) or wrapped(s))
        assert isinstance(driver.app, Explorer)
        driver.app.news(opened(D1))
        await driver.settled()
        assert "groups" in driver.view_state.kinds

    drive(test, on(D1))
    assert seen == []
