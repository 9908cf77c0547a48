"""The commands of the shell, by name.

A command's module is imported when it is first asked for, so that a one-shot command pays for
itself alone. Each module has its command as ``COMMAND``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.commands.base import Command

_NAMES = (
    "at",
    "cat",
    "cd",
    "changes",
    "check",
    "checksum",
    "diff",
    "du",
    "exit",
    "find",
    "fleet",
    "help",
    "history",
    "log",
    "ls",
    "man",
    "pwd",
    "quorum",
    "save",
    "stat",
    "stats",
    "tree",
    "watch",
)
_ALIASES = {"quit": "exit"}


def all_names() -> tuple[str, ...]:
    """Names of the commands, sorted, without aliases."""
    return _NAMES


def get(name: str) -> Command | None:
    """The command of that name or alias, or None."""
    name = _ALIASES.get(name, name)
    if name not in _NAMES:
        return None
    command: Command = import_module(f"metashell.commands.{name}").COMMAND
    return command
