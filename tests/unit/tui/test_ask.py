"""Commands that run on a view state."""

from __future__ import annotations

from typing import Any

import metashell
from metashell.tui.view_state import ask, view_state_of
from support.fixtures import DEMO


def test_commands_keep_values_where_they_are_told_to() -> None:
    """In the given mapping, or in one of this run alone."""
    view_state = view_state_of(metashell.open(DEMO), "/")
    kept: dict[Any, Any] = {}
    assert kept is ask(view_state, ["pwd"], kept=kept).context.kept
    assert {} == ask(view_state, ["pwd"]).context.kept
