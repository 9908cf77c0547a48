"""Command lines whose outputs are kept, in groups: each group is one case of a directory.

They stand in tests/approved/lines.txt, below the name of their group. A line that begins with
``@N`` is run on a terminal of N columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from metashell.commands import all_names

_FILE: Final = Path(__file__).parents[1] / "approved" / "lines.txt"


def _lines() -> Mapping[str, tuple[str, ...]]:
    groups = {}
    for part in _FILE.read_text("utf-8").split("\n\n"):
        head, *lines = part.strip().split("\n")
        groups[head.strip("[]")] = tuple(lines)
    words = ["help", "help cheat", "runbook", "runbook quorum-lost"]
    words += [f"{word} {name}" for name in all_names() for word in ("man", "help")]
    return {**groups, "words": tuple(words)}


LINES: Final = _lines()
"""The lines of each group."""
