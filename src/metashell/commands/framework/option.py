"""The definition of an option, for the program and for its commands. Imports nothing.

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
    """The help text. Where it has several lines, they are those of the program's help."""
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
    """A phrase about each row, such as ``offline`` or ``led by broker {}``, {} being the option's
    value. Sentences about an answer are made of these.
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
        """The help text on one line."""
        return " ".join(self.help.split())
