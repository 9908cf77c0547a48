"""The commands of the shell, by name.

A command is a module, or a package with a module ``command``; each has it as ``COMMAND``. Nothing
lists them. One is imported when it is first asked for, so that a one-shot command pays for itself
alone. A command never prints: it writes to its context.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from metashell.errors import SchemaError

if TYPE_CHECKING:
    from metashell.commands.framework.command import Command

_SHARED = frozenset({"framework", "rows", "shared"})
"""Packages beside the commands, which have what several of them share."""
_ALIASES = {"quit": "exit", "?": "help", ".": "source", "cls": "clear"}


@cache
def all_names() -> tuple[str, ...]:
    """Names of the commands, sorted, without aliases; imports none of them."""
    from pkgutil import iter_modules

    found = {module.name for module in iter_modules(__path__)} - _SHARED
    return tuple(sorted(name.replace("_", "-") for name in found))


def is_command(name: str) -> bool:
    """Whether a command has that name or alias; imports nothing."""
    return name in _ALIASES or name in all_names()


def get(name: str) -> Command | None:
    """The command of that name or alias, or None."""
    name = _ALIASES.get(name, name)
    if name not in all_names():
        return None
    module = import_module(f"metashell.commands.{name.replace('-', '_')}")
    if hasattr(module, "__path__"):
        module = import_module(f"{module.__name__}.command")
    command: Command | None = getattr(module, "COMMAND", None)
    if command is None:
        raise SchemaError(f"command {name}: {module.__name__} declares no COMMAND")
    return command
