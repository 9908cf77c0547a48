"""What each screen looks like on the bundled cluster: first what it is, then the picture.

After a change that is meant, ``METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py``
writes the pictures anew; look at them before they are kept.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.screens import SCREENS, Screen, show
from support.snapshots import FOLDER, check_snapshot, picture, skip_unless_comparable


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_screen(screen: Screen) -> None:
    """It is the screen that it should be, and looks as it did."""
    skip_unless_comparable()
    show(screen, lambda driver: check_snapshot(driver.app, screen.name))


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
