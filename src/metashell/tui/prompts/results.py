"""Rows that a command gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.tui.view_state import CommandAnswer


@dataclass(frozen=True, slots=True, eq=False)
class CommandResult:
    """The result of a command that has rows."""

    line: str
    """The command line."""
    answer: CommandAnswer
    cwd: str
    """The directory that it ran in."""
    offset: int | None = None
    """The offset of the earlier state that the rows are about; None for the newest, or another."""
