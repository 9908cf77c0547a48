"""Pictures of screens, compared with those that are kept in ``tests/data/snapshots``.

A picture is SVG as Textual exports it, of a fixed size and theme, with neither a blinking cursor
nor a clock in it. ``METASHELL_UPDATE_SNAPSHOTS=1`` writes anew what differs. Which versions of
Textual and Rich drew them is kept beside them: others draw otherwise, and the comparison is
skipped.
"""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from metashell.tui.app import Explorer

FOLDER: Final = Path(__file__).parents[1] / "data" / "snapshots"
_DRAWN_BY: Final = FOLDER / "versions.json"
_PACKAGES: Final = ("textual", "rich")
UPDATE: Final = "METASHELL_UPDATE_SNAPSHOTS"
_ID: Final = re.compile(r"terminal-\d+")
_FIXTURES: Final = re.compile(r"metashell-fixtures-\w{8}")
"""A folder whose name differs in each run."""
_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_LINE: Final = re.compile(r"<text[^>]*>(.*?)</text>")


def is_updating() -> bool:
    """Whether what differs is written anew."""
    return bool(os.environ.get(UPDATE))


def picture(app: Explorer, title: str = "metashell") -> str:
    """The screen as SVG, the same in each run: Rich numbers its ids by what else is in there."""
    svg = app.export_screenshot(title=title, simplify=True)
    svg = _FIXTURES.sub("metashell-fixtures-", _FONTS.sub("", svg))
    lines = [line.rstrip() for line in _ID.sub("terminal", svg).splitlines()]
    return "\n".join(line for line in lines if line) + "\n"


def skip_unless_comparable() -> None:
    """Skip the test where other versions drew what is kept, or nothing is."""
    if is_updating():
        return
    if not _DRAWN_BY.exists():
        pytest.skip(f"no snapshots are kept yet: {UPDATE}=1 writes them")
    drawn_by = json.loads(_DRAWN_BY.read_text("utf-8"))
    if drawn_by != _versions():
        pytest.skip(f"the snapshots were drawn by {drawn_by}, and here are {_versions()}")


def check_snapshot(app: Explorer, name: str) -> None:
    """Compare the screen with the one that is kept under a name."""
    drawn, kept = picture(app), FOLDER / f"{name}.svg"
    if is_updating():
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(drawn, "utf-8")
        _DRAWN_BY.write_text(json.dumps(_versions(), indent=2) + "\n", "utf-8")
        return
    if not kept.exists():
        pytest.skip(f"{kept.name} is not kept yet: {UPDATE}=1 writes it")
    expected = kept.read_text("utf-8")
    # Texts first: what they say is easier to read than where they stand.
    assert _LINE.findall(expected) == _LINE.findall(drawn), f"{kept.name} shows something else"
    assert expected == drawn, f"{kept.name} looks otherwise; {UPDATE}=1 writes it anew"


def _versions() -> dict[str, str]:
    return {package: version(package) for package in _PACKAGES}
