"""Which keys the footer has room for."""

from __future__ import annotations

import pytest
from textual.binding import Binding

from metashell.tui.frame.key_bar import Shown, chosen


def key(name: str, description: str, key_id: str) -> Shown:
    """A key that may be shown."""
    return Shown(Binding(name, "do", description, id=key_id), name, True, "")


OF_ALL = [
    key("?", "Help", "help"),
    key(":", "Command", "command"),
    key("/", "Filter", "filter"),
    key("f", "Find", "find"),
    key("q", "Quit", "quit"),
]
OWN = [key("m", "Its beginning", "health.moment"), key("d", "Deep check", "health.deep")]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (200, "m d : / f q ?"),
        (69, "m d : / f q ?"),
        (68, "m d : / f ?"),
        (55, "m d : / ?"),
        (50, "m : / f ?"),
        (48, "m : / ?"),
        (27, ": / ?"),
        (8, "?"),
        (2, ""),
    ],
)
def test_chosen(width: int, expected: str) -> None:
    """Help is last and always there; a part's own keys stand before those of everything."""
    keys = chosen([*OWN, *OF_ALL], width)
    assert expected.split() == [shown.key for shown in keys]
    assert sum(shown.width for shown in keys) <= width
