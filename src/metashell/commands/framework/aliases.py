"""A user's replacements for the first word of a line, and words put before a command's arguments.

Owns the expansion; where the words come from is the business of the front ends, which hand them in
as `Context.habits`. Pure functions over words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from metashell.commands.framework.command_line import Word, split
from metashell.commands.framework.statement import operators
from metashell.dataclass import dataclass
from metashell.errors import UsageError


@dataclass(frozen=True, slots=True)
class Habits:
    """The aliases and the default options of a user."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Alias -> the beginning of a command line that it stands for."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Command -> words that go before its arguments."""
    clusters: tuple[str, ...] = ()
    """Names that the user gave to clusters; told where a word is no command."""


_CLUSTERS_TOLD: Final = 10
NO_HABITS: Final = Habits()

BUILT_IN: Final[Mapping[str, str]] = {"ll": "ls -l", "q": "exit"}
"""Aliases that everybody has, unless the user gives the name to something else."""


def expand_aliases(habits: Habits, words: Sequence[str]) -> list[str]:
    """Put what an alias stands for in place of the first word; arguments stay behind it.

    The text of an alias may begin with another alias. Each is taken once, so that this ends and
    ``ls`` may stand for ``ls -1``. A first word that is quoted, even in part (``\\ls``), is none.

    Raises:
        UsageError: An alias is no command line.
    """
    line = list(words)
    taken: set[str] = set()
    while line and line[0] not in taken and not is_quoted(line[0]):
        text = habits.aliases.get(line[0], BUILT_IN.get(line[0]))
        if text is None:
            break
        taken.add(str(line[0]))
        line[:1] = alias_words(str(line[0]), text)
    return line


def default_words(habits: Habits, name: str, typed: str) -> list[str]:
    """The words that go before the arguments of a command; none if its name was typed in quotes.

    Raises:
        UsageError: They can't be split.
    """
    text = None if is_quoted(typed) else habits.options.get(name)
    return [] if text is None else list(split(text))


def alias_words(name: str, text: str) -> list[Word]:
    """The words of an alias.

    Raises:
        UsageError: It is no command, or more than one.
    """
    found = operators(text)
    if found:
        what = "a pipe" if found[0][1] == "|" else found[0][1]
        raise UsageError(
            f"the alias `{name}` holds {what}; it must be one command",
            hint=f"pipe its output: `{name} | ...`" if found[0][1] == "|" else None,
        )
    words = split(text)
    if not words or not words[0]:
        raise UsageError(f"the alias `{name}` is empty")
    return words


def is_quoted(word: str) -> bool:
    """Whether a word was typed with quotes or backslashes."""
    return isinstance(word, Word) and word.raw != str(word)


def clusters_text(names: Collection[str]) -> str:
    """Which clusters have a name; a few of many."""
    shown = ", ".join(sorted(names)[:_CLUSTERS_TOLD])
    more = f" and {len(names) - _CLUSTERS_TOLD} more" if len(names) > _CLUSTERS_TOLD else ""
    return f"the clusters are {shown}{more}" if len(names) > 1 else f"the only cluster is {shown}"
