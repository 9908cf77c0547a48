"""The prompt and the toolbar as text."""

from __future__ import annotations

import pytest
from prompt_toolkit.formatted_text import fragment_list_to_text

from metashell.commands.shared.status import SourceStatus
from metashell.repl.appearance import prompt, shorten_path, toolbar


def test_prompt() -> None:
    """It names the program, the source and the path."""
    text = fragment_list_to_text(prompt("demo", "/image/topics", width=80, failed=False))
    assert "metashell demo:/image/topics> " == text


def test_prompt_is_escaped() -> None:
    """Neither a source nor a path can steer the terminal."""
    text = fragment_list_to_text(prompt("a\x1b[2J", "/x\u202ey", width=80, failed=True))
    assert r"metashell a\x1b[2J:/x\u202ey> " == text


@pytest.mark.parametrize(
    ("path", "width", "expected"),
    [
        ("/image/topics", 13, "/image/topics"),
        ("/image/topics/byName", 16, "…/topics/byName"),
        ("/image/topics/byName", 9, "…/byName"),
        ("/image/" + "x" * 50, 12, "…/" + "x" * 10),
        ("/image/" + "漢" * 50, 12, "…/" + "漢" * 5),
    ],
)
def test_shorten_path(path: str, width: int, expected: str) -> None:
    """The end of a long path is what stays."""
    assert expected == shorten_path(path, width)


def test_toolbar_before_the_first_status() -> None:
    """Something stands there at once."""
    assert " …" == fragment_list_to_text(toolbar(None, show_secrets=False))


def test_toolbar_is_escaped() -> None:
    """A name from the cluster can't steer the terminal."""
    status = SourceStatus(offset=1, notes=("\x1b]0;x\x07",))
    assert r" offset 1 · \x1b]0;x\x07" == fragment_list_to_text(toolbar(status, show_secrets=False))
