"""Rows that a command gave, kept so that whoever followed one of them can come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.tui.places import VisitedNode
    from metashell.tui.view_state import CommandAnswer


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command, shown by one screen."""

    line: str
    """The command line."""
    answer: CommandAnswer
    cwd: str
    """The directory that it ran in."""
    offset: int | None = None
    """The offset of the earlier state that the rows are about; None for the newest, or another."""


@dataclass(frozen=True, slots=True)
class FollowedResult:
    """A result of which a row was followed."""

    result: CommandResult
    left: VisitedNode
    """Where the result was shown."""
    path: str
    """The node that the row led to."""
