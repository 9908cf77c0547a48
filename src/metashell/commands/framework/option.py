"""What an option is, of the program and of its commands alike. Imports nothing.

Help, completion, manuals, variables and the configuration file are derived from such values.
"""

from __future__ import annotations

from typing import NamedTuple


class Option(NamedTuple):
    """One option."""

    flags: tuple[str, ...]
    """All its names, such as ``("-L",)`` or ``("-o", "--output")``; its values are kept by the
    first.
    """
    help: str
    """What it does. Where it has several lines, they are those of the program's help."""
    metavar: str | None = None
    """Name of the value, None for a switch."""
    choices: tuple[str, ...] = ()
    """Values offered by completion where they are known, or how they begin."""
    path: str = ""
    """``file`` or ``directory`` where the value is a path of the system."""
    group: str = ""
    """Heading in the program's help."""
    repeatable: bool = False
    """Whether each of several values counts."""
    phrase: str = ""
    """What it says of each row, such as ``offline`` or ``led by broker {}``, {} being its value.
    Sentences about an answer are made of these.
    """

    @property
    def long(self) -> str:
        """Its long name; empty where it has none."""
        return next((flag for flag in self.flags if flag.startswith("--")), "")

    @property
    def short(self) -> str:
        """Its short name; empty where it has none."""
        return next((flag for flag in self.flags if not flag.startswith("--")), "")

    @property
    def title(self) -> str:
        """The option as help and errors call it, such as ``-d/--directory``."""
        return "/".join(name for name in (self.short, self.long) if name)

    @property
    def meaning(self) -> str:
        """What it does, on one line."""
        return " ".join(self.help.split())
