"""A line of data is shown anew only where it is another one, and laid out where it is wider."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from textual.widgets import Static

from metashell.tui.text import say


@pytest.mark.parametrize(
    ("text", "sets_width", "expected"),
    [
        ("12 records", True, []),
        ("13 records", True, [False]),
        ("漢字 cells", True, [False]),
        ("9 records", True, [True]),
        ("9 records", False, [False]),
        ("[b]", True, [True]),
    ],
)
def test_say(text: str, sets_width: bool, expected: list[bool]) -> None:
    """Every layout looks at the whole screen."""
    static, laid_out = Static(markup=False), list[bool]()
    update = Static.update

    def told(static: Static, content: object, *, layout: bool = True) -> None:
        laid_out.append(layout)
        update(static, content, layout=layout)  # type: ignore[arg-type]

    say(static, "12 records", sets_width=True)
    with patch.object(Static, "update", told):
        say(static, text, sets_width=sets_width)
    assert expected == laid_out
    assert text == str(static.content)
