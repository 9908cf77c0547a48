"""The log directories of a recorded broker, as the explorer opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from support.fixtures import fixture_dir
from support.pilot import session_on

NODE: Final = fixture_dir("node-44")
D1: Final = NODE / "broker102" / "d1"
"""Has the metadata log."""
D2: Final = NODE / "broker102" / "d2"


def opened(*paths: Path) -> Source:
    """What the explorer opens for directories of one node."""
    choice = Choice(str(paths[0]), log_dirs=tuple(map(str, paths[1:])))
    source = open_request(OpenRequest(choice=choice))
    assert isinstance(source, Source)
    return source


def on(*paths: Path) -> ExplorerSession:
    """A session on directories of one node."""
    return session_on(lambda: opened(*paths))
