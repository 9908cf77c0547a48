"""Completion: what may stand at the cursor of a command line. Pure but for looking at nodes.

Paths are completed one component at a time, from a bounded number of names, so that a directory of
a million children answers at once. A proposal is written so that the line means it: quoted as the
line is quoted there, and a name that can't be typed in its ``%XX`` form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from metashell.commands import all_names, get
from metashell.commands.framework.aliases import NO_HABITS, Habits, expand_aliases
from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.command_line import Word, complete_at, quote
from metashell.commands.framework.options import Option
from metashell.errors import PathError, UsageError
from metashell.fs.escape import escape
from metashell.fs.node import Directory
from metashell.fs.path import decode_name, encode_name, is_absolute, needs_encoding, resolve

LIMIT = 200
"""Proposals at most. Where there are more names, the last one is among the proposals: the common
beginning of the proposals is then that of all names.
"""
_SKIPPED = "… "
"""Stands before a proposal where others before it are left out."""
_SMALL_DIRECTORY = 20_000
"""Names that are also searched whatever their case."""


def complete_line(context: Context, line: str, cursor: int | None = None) -> list[Completion]:
    """Propose what may stand at the cursor: a command's name, else what the command proposes."""
    at = complete_at(line, len(line) if cursor is None else cursor)
    if not at.before:
        return complete_commands(at.word, context.habits)
    return complete_words(context, at.before, at.word)


def complete_words(context: Context, before: Sequence[str], word: str) -> list[Completion]:
    """Propose what may follow the words of a command line, of which there is one at least."""
    try:
        name, *args = expand_aliases(context.habits, before)
    except UsageError:
        return []
    command = get(name)
    return [] if command is None else command.complete(context, args, word)


def complete_commands(
    word: str, habits: Habits = NO_HABITS, *, remarks: bool = True
) -> list[Completion]:
    """Propose names of commands and aliases; without remarks no command is imported."""
    start = -len(_raw(word))
    found = []
    for name in sorted({*all_names(), *habits.aliases}):
        if not name.startswith(word):
            continue
        stands_for = habits.aliases.get(name)
        command = get(name) if stands_for is None and remarks else None
        if not remarks:
            found.append(Completion(name, start, name))
        elif stands_for is not None:
            found.append(Completion(name, start, name, f"= {stands_for}"))
        elif command is not None:
            found.append(Completion(name, start, name, command.summary.rstrip(".")))
    return found


def complete_option(
    options: Sequence[Option], context: Context, args: Sequence[str], word: str
) -> list[Completion] | None:
    """Propose options after a ``-``, and an option's values after it; None for an argument."""
    if "--" in args:
        return None
    if args and (option := takes_value(options, args[-1])) is not None:
        if option.complete is not None:
            return option.complete(context, word)
        return [
            Completion(choice, -len(_raw(word)), choice)
            for choice in option.choices
            if choice.startswith(word)
        ]
    if word.startswith("-"):
        return [
            Completion(flag, -len(_raw(word)), flag, option.help.rstrip("."))
            for option in options
            for flag in option.flags
            if flag.startswith(word)
        ]
    return None


def complete_names(word: str, names: Iterable[str], metas: str = "") -> list[Completion]:
    """Propose those of some names, sorted, that begin with the word, quoted as the line is."""
    found = [name for name in names if name.startswith(word)]
    skips = len(found) > LIMIT
    if skips:
        found[LIMIT - 1 :] = found[-1:]
    return _proposed(word, found, metas, skips=skips)


def complete_children(context: Context, path: str, word: str) -> list[Completion]:
    """Propose names of a directory of the tree that begin with the word, as arguments."""
    try:
        directory = resolve(context.root, path).node
    except PathError:
        return []
    if not isinstance(directory, Directory):
        return []
    found, skips = _first_and_last(directory, word)
    return _proposed(word, found, "", skips=skips)


def _proposed(word: str, found: Sequence[str], metas: str, *, skips: bool) -> list[Completion]:
    at_cursor = word.open_quote if isinstance(word, Word) else ""
    start = -len(_raw(word))
    proposals = [
        Completion(at_cursor + quote(name, at_cursor) + at_cursor, start, escape(name), metas)
        for name in found
    ]
    if skips:
        proposals[-1] = replace(proposals[-1], display=_SKIPPED + proposals[-1].display)
    return proposals


def complete_paths(
    context: Context, word: str, *, directories_only: bool = False
) -> list[Completion]:
    """Propose the children of what the word names up to its last slash."""
    head, slash, last = word.rpartition("/")
    try:
        place = resolve(context.root, head + slash or ".", context.cwd)
    except PathError:
        return []
    directory = place.node
    if not isinstance(directory, Directory):
        return []
    raw = _raw(word)
    cut = raw.rfind("/") + 1
    before = complete_at(raw[:cut], cut).word.open_quote
    at_cursor = word.open_quote if isinstance(word, Word) else ""
    ambiguous = not head and not is_absolute(word)
    found = []
    names, skips = _names(directory, last)
    for name in names:
        child = directory.child(name)
        is_directory = isinstance(child, Directory)
        if directories_only and not is_directory:
            continue
        typed = encode_name(name, directory)
        if ambiguous and typed.startswith("-"):
            typed = f"./{typed}"
        found.append(
            Completion(
                text=_written(typed, before, at_cursor, is_directory=is_directory),
                start=cut - len(raw),
                display=escape(name) + ("/" if is_directory else ""),
            )
        )
    if skips and found:
        found[-1] = replace(found[-1], display=_SKIPPED + found[-1].display)
    return found


def _names(directory: Directory, typed: str) -> tuple[Sequence[str], bool]:
    """Names that the typed beginning may mean, and whether some before the last are left out."""
    exact, skips = _first_and_last(directory, typed)
    return (
        (exact, True)
        if skips
        else (list(islice(_all_names(directory, typed, exact), LIMIT)), False)
    )


def _first_and_last(directory: Directory, prefix: str) -> tuple[Sequence[str], bool]:
    """Names that begin so; of too many the first ones and the last, and whether that is so."""
    exact = directory.names_from(prefix, LIMIT)
    if len(exact) == LIMIT:
        last = directory.last_from(prefix)
        if last is not None and last != exact[-1]:
            return [*exact[:-1], last], True
    return exact, False


def _all_names(directory: Directory, typed: str, exact: Sequence[str]) -> Iterator[str]:
    """Names that the typed beginning may mean, the most likely first."""
    yield from exact
    seen = set(exact)
    decoded = decode_name(typed) if "%" in typed else typed
    for name in directory.names_from(decoded, LIMIT) if decoded != typed else ():
        if name not in seen:
            yield name
            seen.add(name)
    if seen or not typed:
        return
    names = directory.names()
    if len(names) > _SMALL_DIRECTORY:
        return
    folded = typed.casefold()
    for name in names:
        encodable = "%" in typed and needs_encoding(name)
        written = encode_name(name) if encodable else name
        if name.casefold().startswith(folded) or written.startswith(typed):
            yield name


def _written(typed: str, before: str, at_cursor: str, *, is_directory: bool) -> str:
    """A component as it replaces what the line has after its last slash.

    Args:
        typed: The component.
        before: The quote open at the slash.
        at_cursor: The quote open at the cursor: the one the user goes on in.
        is_directory: Whether the path can go on.
    """
    tail = "/" if is_directory else ""
    if before:
        return quote(typed, before) + (tail or before)
    if at_cursor:
        return at_cursor + quote(typed, at_cursor) + (tail or at_cursor)
    return quote(typed) + tail


def takes_value(options: Sequence[Option], word: str) -> Option | None:
    for option in options:
        if word in option.flags and option.metavar is not None:
            return option
    return None


def _raw(word: str) -> str:
    """The characters of the line that a word was written with."""
    return word.raw if isinstance(word, Word) else word
