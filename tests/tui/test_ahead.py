"""Views that are there before a key asks for them, and keys typed meanwhile."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from textual.events import Key

from metashell.tui.ahead import ViewsAhead
from metashell.tui.tree.listing import list_tree
from metashell.tui.tree.tree import NodeTree
from metashell.tui.view import VIEWS, View
from metashell.tui.views.health_text import ask_health
from support.pilot import Driver, drain, drive
from support.waiting import LIMIT_S

_AHEAD = [spec for spec in VIEWS if not (spec.for_fleet or spec.for_groups)]


def test_views_are_mounted_one_by_one_unseen() -> None:
    """Each view that means something comes once, hidden; what is shown and focused stays."""

    async def test(driver: Driver) -> None:
        app = driver.app
        before = (driver.screen(), app.focused)
        mounted = []
        while (spec := app.ahead.mount_next()) is not None:
            mounted.append(spec.id)
            await driver.settled()
            assert (driver.screen(), app.focused) == before
        assert mounted == [spec.id for spec in _AHEAD[1:]]
        views = list(app.query(View))
        assert all(view.is_composed for view in views)
        assert [view.id for view in views if view.display] == [_AHEAD[0].id]

    drive(test)


def test_a_view_mounted_ahead_is_the_one_that_is_shown() -> None:
    """A key shows the view that was made, with what it has to show, and takes the focus there."""

    async def test(driver: Driver) -> None:
        app = driver.app
        while app.ahead.mount_next() is not None:
            await driver.settled()
        made = {view.id: view for view in app.query(View)}
        for spec in _AHEAD:
            await driver.press(spec.key)
            assert driver.view is made[spec.id]
            assert driver.view.is_ready
            assert app.focused is not None
            assert driver.view in app.focused.ancestors_with_self
        assert len(app.query(View)) == len(_AHEAD)

    drive(test, size=(120, 35))


def test_nothing_is_mounted_while_keys_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as somebody types the thread that draws is theirs."""
    monkeypatch.setattr("metashell.tui.ahead._REST_S", 0.0)

    async def test(driver: Driver) -> None:
        ahead, made = driver.app.ahead, len(driver.app.query(View))
        driver.view.is_ready = False
        ahead._look()
        assert len(driver.app.query(View)) == made
        driver.view.is_ready = True
        ahead._look()
        assert len(driver.app.query(View)) == made + 1
        monkeypatch.setattr("metashell.tui.ahead._REST_S", LIMIT_S)
        ahead.touch()
        ahead._look()
        assert len(driver.app.query(View)) == made + 1

    drive(test)


def test_a_view_that_is_not_imported_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that draws imports nothing for it."""

    async def test(driver: Driver) -> None:
        ahead = ViewsAhead(driver.app)
        monkeypatch.delitem(sys.modules, _AHEAD[1].module, raising=False)
        assert ahead.mount_next() is _AHEAD[2]

    drive(test)


def test_leaving_while_a_view_is_on_its_way() -> None:
    """A view whose parts are not mounted any more is no defect of a program that ends."""

    async def test(driver: Driver) -> None:
        app = driver.app
        while (spec := app.ahead.mount_next()) is not None and spec.id != "quorum":
            await driver.settled()
        assert not app.query("#quorum-notes")
        app.exit(return_code=3)
        assert app.ahead.mount_next() is None
        app.call_later(app.mount_view, _AHEAD[-1])  # as where it ends meanwhile
        await driver.until(lambda: not app.is_running, "it goes on")
        assert app.defect is None
        assert app.return_code == 3

    drive(test)


def test_a_view_does_not_wait_for_the_tree() -> None:
    """A key to another view is obeyed while the tree follows a path; keys of the tree wait.

    They do so whatever the other view waits for.
    """
    goes_on = threading.Event()

    def slowly(*arguments: Any) -> Any:
        goes_on.wait(LIMIT_S)
        return list_tree(*arguments)

    def ask_slowly(*arguments: Any, **options: Any) -> Any:
        goes_on.wait(LIMIT_S)
        return ask_health(*arguments, **options)

    async def test(driver: Driver) -> None:
        app, tree = driver.app, driver.one(NodeTree)
        app.go("/image/topics")
        assert app.jobs.leading
        for key in ("3", "1", "down"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await driver.until(
            lambda: any(job.key == "health" for job in app.jobs.running), "no Health"
        )
        await driver.until(lambda: driver.view.id == "explorer", "the tree is not shown again")
        await drain(driver.pilot)
        assert not app.type_ahead.is_at_rest
        assert tree.cursor_line == 0
        goes_on.set()
        await driver.settled()
        assert tree.path == "/local"  # the line below
        await driver.press("up")
        assert tree.path == "/image/topics"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metashell.tui.tree.tree.list_tree", slowly)
        patch.setattr("metashell.tui.views.health.ask_health", ask_slowly)
        goes_on.set()
        drive(_with(goes_on, test))


def _with(goes_on: threading.Event, test: Any) -> Any:
    async def run(driver: Driver) -> None:
        goes_on.clear()
        await test(driver)

    return run
