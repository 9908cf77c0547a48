"""Filters of records: each is a chip, an option of ``log`` with its value. No widget here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Command, Completion, Context, Nowhere
from metashell.commands.framework.command_line import Word, complete_at, quote, split
from metashell.commands.log.command import COMMAND
from metashell.commands.log.options import parse_request
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.records.window import Filter
from metashell.tui.records.short_lines import with_short_words

if TYPE_CHECKING:
    from metashell.sources.source import Source

_FLAGS: Final = (
    "--type",
    "--not-type",
    "--topic",
    "--broker",
    "--partition",
    "--offset",
    "--since",
    "--until",
    "--epoch",
    "--grep",
    "--control",
    "--all",
)
_REPEATED: Final = ("--type", "--not-type")
_SWITCHES: Final = {"--control": "control only", "--all": "NoOps shown"}
_EMPTY: Final = "''"
GREP: Final = "--grep"
ALL: Final = "--all"


@dataclass(frozen=True, slots=True)
class Chip:
    """One condition."""

    flag: str
    """Option of ``log``."""
    value: str | None
    """The option's value; None for a switch."""

    @property
    def words(self) -> tuple[str, ...]:
        """The filter as words of ``log``."""
        return (self.flag,) if self.value is None else (f"{self.flag}={self.value}",)

    @property
    def text(self) -> str:
        """The filter as a chip shows it."""
        if self.value is None:
            return _SWITCHES[self.flag]
        return f"{self.flag.removeprefix('--')} {self.value}"

    @property
    def line(self) -> str:
        """The filter as a user types it."""
        name = self.flag.removeprefix("--")
        return name if self.value is None else f"{name} {quote(self.value) or _EMPTY}"


def chip_of(typed: str) -> Chip | None:
    """The chip of a typed filter; None if nothing was typed.

    Raises:
        UsageError: The text is no filter.
    """
    words = split(typed)
    if not words:
        return None
    first, values = words[0], list[str](words[1:])
    name, equals, value = first.partition("=")
    flag = name if name.startswith("--") else f"--{name}"
    if flag not in _FLAGS:
        known = ", ".join(f.removeprefix("--") for f in _FLAGS)
        raise UsageError(f"{name}: no such filter", hint=f"one of {known}")
    if equals:
        values = [value, *values]
    if flag in _SWITCHES:
        if values:
            raise UsageError(f"{flag} takes no value")
        return Chip(flag, None)
    if not values:
        raise UsageError(f"{flag} needs a value")
    if flag != GREP and len(values) > 1:
        raise UsageError(f"{flag} takes one value", hint="quote what has spaces in it")
    return Chip(flag, " ".join(values))


def with_chip(chips: Sequence[Chip], new: Chip, at: int | None = None) -> list[Chip]:
    """Chips with one more, in place of the one at an index or of one that it would contradict."""

    def gives_way(chip: Chip) -> bool:
        return chip == new or (chip.flag == new.flag and new.flag not in _REPEATED)

    if at is None:
        at = next((i for i, chip in enumerate(chips) if gives_way(chip)), len(chips))
    kept = [chip for chip in chips[:at] if not gives_way(chip)]
    return [*kept, new, *(chip for chip in chips[at + 1 :] if not gives_way(chip))]


def without(chips: Sequence[Chip], flag: str) -> list[Chip]:
    """Chips without those of an option."""
    return [chip for chip in chips if chip.flag != flag]


def grep_of(chips: Sequence[Chip]) -> str:
    """The regular expression among chips; empty for none."""
    return next((chip.value or "" for chip in chips if chip.flag == GREP), "")


def context_of(source: Source) -> Context:
    """The context that parses and completes words of ``log``. Cost: may open the source's log."""
    full = source.full_log
    return Context(full.root, Nowhere(), lambda _: None, source=full)


def filter_of(context: Context, chips: Sequence[Chip]) -> Filter:
    """The filter that some chips ask for.

    Raises:
        UsageError: ``log`` rejects the words.
    """
    words = [Word(word) for chip in chips for word in chip.words]
    request = parse_request(COMMAND, context, words)
    noop = context.needs_source().registry.by_name.get("NoOpRecord")
    hide = noop.api_key if noop is not None and request.hides_noops else None
    return Filter(request.selection, with_short_words(request.grep), hide)


def complete_chip(context: Context, typed: str) -> list[Completion]:
    """Proposals for the word at the end of what is typed, as ``log`` has them."""
    at = complete_at(typed, len(typed))
    if at.before:
        first = str(at.before[0])
        flag = first if first.startswith("--") else f"--{first}"
        if flag not in _FLAGS or flag in _SWITCHES or len(at.before) > 1:
            return []
        return COMMAND.complete(context, [Word(flag)], at.word)
    return _flags(COMMAND, str(at.word))


def _flags(command: Command, typed: str) -> list[Completion]:
    options = {option.flags[0]: option for option in command.manual.options}
    names = [flag.removeprefix("--") for flag in _FLAGS]
    begun = typed.removeprefix("--").casefold()
    return [
        Completion(name, -len(typed), name, options[f"--{name}"].help)
        for name in names
        if name.startswith(begun)
    ]
