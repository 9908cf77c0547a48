"""Walks through the explorer: each step shows what it did when its note was kept.

After a change that is meant, ``METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_walks.py`` writes
the notes anew; a run without it before that prints what differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from support.bindings import declared_bindings
from support.snapshots import skip_unless_comparable
from support.walk_scripts import WALKS
from support.walks import FOLDER, Walk, check_walk

MOST_BYTES: Final = 600_000
"""Of all kept notes."""
NOT_WALKED: Final = {
    "Explorer ctrl+z suspend_process": "stops the process",
    "Explorer o open_in('pager')": "starts a program",
    "Explorer e open_in('editor')": "starts a program",
    "Timeline space app.play": "goes on with the time",
    "_Neighbours h screen.out": "`left` does it",
}
"""Bindings that no walk presses, and why."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose path is as long each time: screens show it, and break lines behind it."""
    with TemporaryDirectory(prefix="metashell-walk-", dir="/tmp") as path:
        yield Path(path)


@pytest.mark.cases(8)
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_walk(walk: Walk, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step shows what it did."""
    skip_unless_comparable()
    there = directory / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    check_walk(walk, directory)


def test_every_binding_is_walked() -> None:
    """Some step of a walk presses each of them, and the binding answers."""
    walked = {
        (key, answer)
        for walk in WALKS
        for key, answers in re.findall(r"^## \d+ (\S+): (.*)$", walk.kept(), re.MULTILINE)
        for answer in answers.split(" | ")
    }
    missing = {
        f"{kind} {binding.key} {binding.action}"
        for kind, binding in declared_bindings()
        if (binding.key, f"{kind} {binding.action}") not in walked
    }
    assert set(NOT_WALKED) == missing


def test_kept_notes_are_few() -> None:
    """Each belongs to a walk, and all together are small."""
    files = sorted(FOLDER.iterdir())
    assert sorted(walk.file for walk in WALKS) == files
    assert sum(file.stat().st_size for file in files) < MOST_BYTES


def test_no_defect_is_kept() -> None:
    """An internal error is a bug, and never what a walk should show."""
    assert [] == [walk.name for walk in WALKS if "internal error" in walk.kept()]
