"""How a line is shared between metashell and the system's shell.

``!COMMAND`` goes to the system's shell whole; in ``COMMAND | PIPELINE`` all that follows the first
bar outside quotes does. Words and options are the business of `metashell.commands`.
"""

from __future__ import annotations

from dataclasses import dataclass

from metashell.commands.framework.command_line import find_pipe
from metashell.errors import UsageError


@dataclass(frozen=True, slots=True)
class ShellLine:
    """One line, taken apart."""

    command: str | None
    """What metashell runs, or None."""
    shell: str | None
    """What the system's shell runs, or None."""


def is_comment(line: str) -> bool:
    """Tell whether a line says nothing to run."""
    return line.lstrip().startswith("#")


def parse(line: str) -> ShellLine:
    """Take a line apart.

    Raises:
        UsageError: A bar has nothing before or behind it.
    """
    stripped = line.strip()
    if not stripped or is_comment(stripped):
        return ShellLine(None, None)
    if stripped.startswith("!"):
        return ShellLine(None, stripped[1:].strip())
    bar = find_pipe(line)
    if bar is None:
        return ShellLine(stripped, None)
    command, pipeline = line[:bar].strip(), line[bar + 1 :].strip()
    if not command:
        raise UsageError("nothing stands before |")
    if not pipeline:
        raise UsageError("nothing stands behind |")
    return ShellLine(command, pipeline)
