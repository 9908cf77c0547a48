#!/usr/bin/env python3
"""Write the pictures of the explorer that README and docs show: ``docs/images/explorer-*.svg``.

Each is a screen of `tests/support/screens.py` on the bundled cluster, 100 columns by 30 rows; one,
``timeline``, is the recording of the story there. The same program draws the same pictures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from support.fixtures import DEMO  # noqa: E402
from support.pilot import session_on  # noqa: E402
from support.recording import recording  # noqa: E402
from support.screens import (  # noqa: E402
    POSTER,
    SCREENS,
    STORY_NAME,
    TOPIC,
    Screen,
    record,
    show,
)
from support.snapshots import picture  # noqa: E402

SIZE = (100, 30)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Take pictures of the explorer for documents.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="SCREEN",
        help="these screens; by default those that a document shows",
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images", metavar="DIR")
    arguments = parser.parse_args(argv)
    known = {screen.name: partial(take, screen) for screen in SCREENS}
    known[STORY_NAME] = take_recording
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        print(f"no screen is called {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or filter(is_shown, known):
        path = arguments.folder / file_name(name)
        path.write_text(known[name](), "utf-8")
        print(path)
    return 0


def file_name(name: str) -> str:
    """Where the picture of a screen is."""
    return f"explorer-{name}.svg"


def is_shown(name: str) -> bool:
    """Whether a document shows the picture of a screen."""
    documents = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    return any(file_name(name) in page.read_text("utf-8") for page in documents)


def take(screen: Screen) -> str:
    """The picture of a screen."""
    drawn: list[str] = []
    name = "broker-102" if screen.directories else "demo"
    session = replace(screen.session(), name=name, title=lambda _: name)
    show(screen, lambda driver: drawn.append(picture(driver.app)), size=SIZE, session=session)
    return drawn[0]


def take_recording() -> str:
    """The recording of the timeline."""
    session = session_on(
        DEMO, name="demo", title=lambda _: "demo", theme="metashell-dark", path=TOPIC
    )
    title = "The explorer goes along the timeline to the moment when partitions went offline"
    return recording(record(session, SIZE), title, POSTER)


if __name__ == "__main__":
    sys.exit(main())
