"""What each screen looks like on the bundled cluster: first what it is, then the picture.

After a change that is meant, ``METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py``
writes the pictures anew; look at them before they are kept.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final
from xml.etree import ElementTree

import pytest

from metashell.tui.frame.themes import HIGH_CONTRAST, THEMES
from support.contrast import LEAST, faint
from support.pilot import Driver
from support.recording import Frame, Run, recording, states_of
from support.screens import SCREENS, Screen, show
from support.snapshots import FOLDER, check_snapshot, picture, skip_unless_comparable

MOST_BYTES: Final = 400_000
"""Of a recording: it is part of a page."""


@pytest.mark.cases(6)
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_screen(screen: Screen) -> None:
    """It is the screen that it should be, and looks as it did. In each theme it can be read."""

    async def test(driver: Driver) -> None:
        check_snapshot(driver.app, screen.name)
        for theme in THEMES:
            driver.app.theme = theme.name
            await driver.settled()
            assert [] == faint(driver, 7 if theme is HIGH_CONTRAST else LEAST), theme.name

    skip_unless_comparable()
    show(screen, test)


@pytest.mark.slow
def test_pictures_are_the_same_each_time() -> None:
    """Nothing in them depends on the run."""
    drawn: list[str] = []
    for _ in range(2):
        show(SCREENS[0], lambda driver: drawn.append(picture(driver.app)))
    assert drawn[0] == drawn[1]
    assert "terminal-" in drawn[0]


def test_no_picture_is_left_over() -> None:
    """Each belongs to a screen."""
    kept = {path.stem for path in FOLDER.glob("*.svg")}
    assert kept <= {screen.name for screen in SCREENS}


def test_screenshots_for_documents(tmp_path: Path) -> None:
    """The script writes a picture of a screen, the same each time; here one is enough."""
    script = _script()
    for _ in range(2):
        assert script.main(["--folder", str(tmp_path), "explorer"]) == 0
    (path,) = tmp_path.iterdir()
    assert path.name == "explorer-explorer.svg"
    assert "end&#160;of&#160;the&#160;log" in path.read_text("utf-8")
    assert script.main(["--folder", str(tmp_path), "no such screen"]) == 2


def test_a_recording_draws_what_changes() -> None:
    """A row is drawn once for each text, and is seen while it has it."""
    white = ("#ffffff", False, False, False)

    def row(text: str) -> tuple[Run, ...]:
        return (Run(text, len(text), white, "#000000"),)

    frames = [
        Frame(1, "one", "at 1", (row("same"), row("a <b>"))),
        Frame(2, "two", "at 2", (row("same"), row("c  d"))),
        Frame(1, "three", "at 3", (row("same"), row("a <b>"))),
    ]
    svg = recording(frames, "title", poster=1)
    assert states_of(svg) == ["one: at 1", "two: at 2", "three: at 3"]
    assert [svg.count(text) for text in (">same<", "a\u00a0&lt;b&gt;", "c\u00a0\u00a0d")] == [
        1,
        1,
        1,
    ]
    tree = ElementTree.fromstring(svg)
    hidden = [
        "".join(element.itertext()).replace("\u00a0", " ")
        for element in tree.iter()
        if element.get("visibility") == "hidden"
    ]
    assert hidden == ["one", "three", "a <b>"]
    assert "0%{visibility:hidden}25%{visibility:visible}75%{visibility:hidden}" in svg
    assert "0%{visibility:visible}25%{visibility:hidden}75%{visibility:visible}" in svg
    assert "animation:4s step-end infinite" in svg


@pytest.mark.slow
def test_recording_for_documents() -> None:
    """It can be made again, goes through the same states, and needs nothing but itself."""
    script = _script()
    svg = script.take_recording()
    kept = script.ROOT / "docs" / "images" / "explorer-timeline.svg"
    assert states_of(svg) == states_of(kept.read_text("utf-8"))
    for text in (svg, kept.read_text("utf-8")):
        assert len(text.encode()) < MOST_BYTES
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
        assert names == {
            "svg", "title", "desc", "style", "rect", "circle", "g", "text",
        }  # fmt: skip
        assert "url(" not in text
        assert "href" not in text


def _script() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "take_screenshots.py"
    spec = importlib.util.spec_from_file_location("take_screenshots", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module
