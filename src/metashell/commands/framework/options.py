"""Options: how the program and its commands declare them, and a command's words parsed by them.

Help, completion, manuals, variables and the configuration file are derived from the declarations.
Imports little: the program's own help reads them.

Short switches combine (``-1R``), values follow directly or as the next word (``-L2``, ``-L 2``,
``--level=2``), ``--`` ends the options and ``-`` alone is an argument. ``-20`` is ``--limit 20``
where a command has that option, and no switch of that digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.commands.framework.command import Command, Completion, Context


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
    complete: Callable[[Context, str], list[Completion]] | None = None
    """Proposes values that depend on the source, given the word under the cursor."""

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


_LIMIT = "--limit"


class Parsed:
    """A command's words, sorted out."""

    def __init__(self) -> None:
        self.switches: set[str] = set()
        """First flags of the switches given."""
        self.values: dict[str, str] = {}
        """Values by first flag; the last one given wins."""
        self.every: dict[str, list[str]] = {}
        """All values given, by first flag, in order."""
        self.arguments: list[str] = []
        """All that is no option, with its quoting."""
        self.read: dict[str, Any] = {}
        """The contents of named files, by first flag; read once, since a file may be a pipe."""

    def name(self, word: str, flag: str, value: str) -> None:
        """Take an argument for the value of an option.

        Raises:
            UsageError: The option has another value.
        """
        if self.values.setdefault(flag, value) != value:
            raise UsageError(f"{word}: {flag} {self.values[flag]} is given too")

    def count(self, flag: str, *, least: int = 1) -> int | None:
        """The value of an option that takes a whole number, or None.

        Args:
            flag: The option.
            least: The smallest one: 0 or 1.

        Raises:
            UsageError: The value is something else.
        """
        value = self.values.get(flag)
        if value is None:
            return None
        is_number = value.isascii() and value.isdigit() and len(value) <= 9
        if not is_number or int(value) < least:
            what = "must be a whole number above 0" if least else "must be a whole number"
            raise UsageError(f"{flag} {value}: {what}")
        return int(value)


def parse_options(command: Command, args: Sequence[str]) -> Parsed:
    """Sort a command's words into switches, values and arguments.

    Raises:
        UsageError: An option is unknown, lacks its value or has one too many.
    """
    by_flag = {flag: option for option in command.manual.options for flag in option.flags}
    parsed = Parsed()
    words = iter(args)
    for word in words:
        if word == "--":
            parsed.arguments.extend(words)
        elif word.startswith("--"):
            flag, equals, value = word.partition("=")
            option = _known(command, by_flag, flag)
            if option.metavar is None:
                if equals:
                    raise UsageError(f"{flag} takes no value")
                parsed.switches.add(option.flags[0])
            else:
                _take(parsed, option, value if equals else _next(words, flag))
        elif _is_limit(by_flag, word):
            _take(parsed, by_flag[_LIMIT], word[1:])
        elif word.startswith("-") and word != "-":
            _parse_short(command, by_flag, word, words, parsed)
        else:
            parsed.arguments.append(word)
    return parsed


def no_arguments(command: Command, args: Sequence[str], most: int = 0) -> list[str]:
    """Parse the words of a command that takes few arguments.

    Raises:
        UsageError: There are more than `most`.
    """
    arguments = parse_options(command, args).arguments
    refuse_more(command, arguments, most)
    return arguments


def refuse_more(command: Command, arguments: Sequence[str], most: int = 0) -> None:
    """Refuse more arguments than a command takes.

    Raises:
        UsageError: There are more than `most`.
    """
    if len(arguments) > most:
        raise UsageError(
            f"too many arguments: {arguments[most]}", hint=f"usage: {command.manual.synopsis}"
        )


def one_of(flag: str, value: str, choices: Sequence[str]) -> str:
    """The value of an option that takes one of a few words.

    Raises:
        UsageError: It is none of them.
    """
    if value not in choices:
        raise UsageError(f"{flag} {value}: must be one of {', '.join(choices)}")
    return value


def _is_limit(by_flag: dict[str, Option], word: str) -> bool:
    """Whether a word is a number of rows, as ``head -20`` takes it."""
    digits = word[1:]
    is_number = word.startswith("-") and digits.isascii() and digits.isdigit()
    return is_number and _LIMIT in by_flag and word[:2] not in by_flag


def _parse_short(
    command: Command,
    by_flag: dict[str, Option],
    word: str,
    words: Iterator[str],
    parsed: Parsed,
) -> None:
    for i, letter in enumerate(word[1:], 1):
        option = _known(command, by_flag, f"-{letter}")
        if option.metavar is None:
            parsed.switches.add(option.flags[0])
            continue
        _take(parsed, option, word[i + 1 :] or _next(words, f"-{letter}"))
        return


def _take(parsed: Parsed, option: Option, value: str) -> None:
    parsed.values[option.flags[0]] = value
    parsed.every.setdefault(option.flags[0], []).append(value)


def _known(command: Command, by_flag: dict[str, Option], flag: str) -> Option:
    option = by_flag.get(flag)
    if option is None:
        from metashell.commands.framework.near import near_option
        from metashell.commands.framework.other_tools import hint_of_option

        hint = hint_of_option(flag, command.name)
        near = near_option(flag, by_flag) if flag.startswith("--") else None
        if near is not None:
            hint = f"did you mean {near}?"
        raise UsageError(f"unknown option {flag}", hint=hint or f"usage: {command.manual.synopsis}")
    return option


def _next(words: Iterator[str], flag: str) -> str:
    value = next(words, None)
    if value is None:
        raise UsageError(f"{flag} needs a value")
    return value
