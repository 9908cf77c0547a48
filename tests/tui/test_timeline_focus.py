"""The focus of the timeline: what leads back from it, and which keys are offered meanwhile."""

from __future__ import annotations

from threading import Event

import pytest
from textual.geometry import Region

from support.fixtures import fixture
from support.pilot import Driver, drive, session_on


def test_escape_first_cancels_the_way() -> None:
    """While another moment is on its way escape ends that, and the timeline keeps the focus."""

    async def test(driver: Driver) -> None:
        app, timeline = driver.app, driver.app.timeline
        assert timeline is not None
        is_over = Event()
        await driver.press("t")
        app.jobs.start(
            "going", lambda _: is_over.wait(), lambda _: None, owner=app, key="view-state"
        )
        timeline.action_leave()
        assert app.focused is timeline
        assert not timeline.is_travelling
        is_over.set()
        await driver.press("escape")
        assert app.focused is not timeline

    drive(test, session_on(fixture("real-44-broker-down").input))


def test_the_focus_is_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the focus the offset and its time are drawn reversed; without it they are not."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(driver: Driver) -> None:
        timeline = driver.app.timeline
        assert timeline is not None

        def reversed_text() -> str:
            lines = timeline.render_lines(Region(0, 0, *timeline.size))
            found = (s.text for s in lines[-1] if s.style is not None and s.style.reverse)
            return "".join(found)

        assert not reversed_text()
        await driver.press("t")
        assert reversed_text().startswith("newest ")
        await driver.press("escape")
        assert not reversed_text()

    drive(test, session_on(fixture("real-44-broker-down").input))
