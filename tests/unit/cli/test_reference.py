"""docs/reference/cli.md tells of everything that the program has."""

from __future__ import annotations

from pathlib import Path

from metashell.cli.arguments import OPTIONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"


def test_every_option_is_documented() -> None:
    """Long names, short names and other spellings."""
    text = PAGE.read_text(encoding="utf-8")
    names = [name for option in OPTIONS for name in option.flags]
    assert [] == [name for name in names if f"`{name}" not in text]
