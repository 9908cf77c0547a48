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
    "acls",
    "at",
    "brokers",
    "can-upgrade",
    "cat",
    "cd",
    "changes",
    "check",
    "checksum",
    "config",
    "diff",
    "du",
    "exit",
    "export",
    "find",
    "fleet",
    "grep",
    "health",
    "help",
    "history",
    "log",
    "ls",
    "man",
    "nodes",
    "partitions",
    "pwd",
    "quorum",
    "quotas",
    "save",
    "sql",
    "stat",
    "stats",
    "tokens",
    "topics",
    "tree",
    "users",
    "watch",
    "who-can",
)
_ALIASES = {"quit": "exit"}


def all_names() -> tuple[str, ...]:
    """Names of the commands, sorted, without aliases."""
    return _NAMES


def is_command(name: str) -> bool:
    """Whether a command has that name or alias; imports nothing."""
    return name in _NAMES or name in _ALIASES


def get(name: str) -> Command | None:
    """The command of that name or alias, or None."""
    name = _ALIASES.get(name, name)
    if name not in _NAMES:
        return None
    command: Command = import_module(f"metashell.commands.{name.replace('-', '_')}").COMMAND
    return command
