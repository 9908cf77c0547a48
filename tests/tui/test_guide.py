"""What the explorer's guide says of keys and pictures is so.

Every key is in docs/reference/keys.md, which tests/tui/test_start.py writes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metashell.tui.frame.themes import HIGH_CONTRAST
from metashell.tui.view import VIEWS
from support.bindings import all_bindings, shown
from support.screens import SCREENS, STORY_NAME

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "explorer.md"
_OF_TEXTUAL = {"tab", "shift+tab", "ctrl+p", "left", "right", "up", "down", "6"}
"""Keys that Textual's own screen and table bind; 6 is a view's."""


def rows_of_keys() -> list[tuple[list[str], str]]:
    """(keys, what they do) of each row of the guide's tables of keys."""
    rows: list[tuple[list[str], str]] = []
    is_inside = False
    for line in GUIDE.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            is_inside = False
        elif re.match(r"\| key( [a-z ]+)? \|", line):
            is_inside = True
        elif is_inside and not line.startswith("| ---"):
            _, keys, what, _ = re.split(r"(?<!\\)\|", line)
            rows.append((re.findall("`([^`]+)`", keys), what.strip()))
    return rows


def known_keys() -> set[str]:
    """Every key that some part of the explorer binds, as documents show it."""
    return {shown(binding.key) for binding in all_bindings()} | _OF_TEXTUAL


def test_keys_of_the_guide_exist() -> None:
    """Each key in a table is bound."""
    rows = rows_of_keys()
    assert rows
    assert [] == [key for keys, _ in rows for key in keys if key not in known_keys()]


@pytest.mark.parametrize("page", ["README.md", "docs/guides/explorer.md"])
def test_pictures_are_those_of_the_screens(page: str) -> None:
    """Each picture is of what scripts/take_screenshots.py knows, the recording among them."""
    named = re.findall(r"!\[[^]]+\]\(\S*images/explorer-(\S+)\.svg\)", (ROOT / page).read_text())
    assert named
    assert STORY_NAME in named
    assert set(named) <= {STORY_NAME, *(screen.name for screen in SCREENS)}


def test_views_of_the_guide_are_all() -> None:
    """Each view has its section, and so has what works in all of them."""
    headings = re.findall(r"^## (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert {spec.title for spec in VIEWS} <= set(headings)
    assert f'theme = "{HIGH_CONTRAST.name}"' in GUIDE.read_text("utf-8")
