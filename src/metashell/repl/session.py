"""All that the REPL needs to know of a source, and the REPL's entry point.

This module must stay cheap to import: whoever builds a `ShellSession` may never start the REPL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from metashell.commands.framework.aliases import NO_HABITS, Habits
from metashell.commands.shared.status import SourceStatus
from metashell.dataclass import dataclass
from metashell.fs.node import Directory

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSession:
    """One source, as the REPL sees it."""

    root: Directory
    """The root of the file system."""
    source_name: str
    """The source's name in the prompt, such as ``demo``."""
    status: Callable[[], SourceStatus]
    """The state for the toolbar. May be slow: it is called in a thread, never twice at once."""
    warm_up: Callable[[], None] | None = None
    """Computes what the first commands will need; called once, in the thread of `status`."""
    opened: Source | FleetSource | None = None
    """The source behind the tree, for commands that read more than the tree."""
    show_secrets: bool = False
    """Whether secrets are shown; the toolbar then says so."""
    habits: Habits = NO_HABITS
    """Aliases and default options of commands."""
    theme: Mapping[str, str] = field(default_factory=dict)
    """Style of each role of `metashell.themes`; the default one's where it is not there."""
    greeting: Callable[[Context], Iterable[str]] | None = None
    """Gives the lines that a terminal shows first."""
    is_plain: bool = False
    """Whether diagnostics are not coloured either."""


def run(session: ShellSession) -> int:
    """Read and run lines until the user leaves.

    Returns:
        The exit status of the program.
    """
    from metashell.repl.shell import Shell  # prompt_toolkit takes a tenth of a second to import

    return Shell(session).run()
