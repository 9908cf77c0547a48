"""The user's pager and editor: which programs they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.commands.shared.pager import editor_command, pager_command, pager_environment


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with a less and a pager of the user's."""
    for name in ("less", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "less"),
        ({"PAGER": "mine -x"}, "mine -x"),
        ({"PAGER": "LESS=R less"}, "LESS=R less"),
        ({"PAGER": "absent"}, "less"),
        ({"PAGER": ""}, None),
        ({"PAGER": "cat"}, None),
        ({"PAGER": "mine 'open"}, None),
        ({"TERM": "dumb"}, None),
        ({"PATH": "/nonexistent"}, None),
    ],
)
def test_pager_command(programs: Path, environ: dict[str, str], expected: str | None) -> None:
    """PAGER decides, then what is installed; a terminal that can't page gets none."""
    given = {"PATH": str(programs), "TERM": "xterm", **environ}
    assert expected == pager_command(given)


def test_pager_environment() -> None:
    """What the user has set is left alone."""
    assert "FRX" == pager_environment({})["LESS"]
    assert "i" == pager_environment({"LESS": "i"})["LESS"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"EDITOR": "mine -x"}, "mine -x"),
        ({"VISUAL": "mine", "EDITOR": "less"}, "mine"),
        ({"VISUAL": " ", "EDITOR": "less"}, "less"),
        ({"EDITOR": "A=1 mine"}, "A=1 mine"),
        ({"EDITOR": "absent"}, None),
        ({"EDITOR": "mine 'open"}, None),
    ],
)
def test_editor_command(programs: Path, environ: dict[str, str], expected: str | None) -> None:
    """VISUAL decides, then EDITOR; what is not installed is not replaced by another."""
    assert expected == editor_command({"PATH": str(programs), **environ})
