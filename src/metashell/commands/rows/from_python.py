"""Rows of commands for Python: keyword arguments become a command's words, rows an Arrow table.

The command runs as with ``-o json``, and its rows are taken before they become text. Everything is
derived from the commands' declarations.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from numbers import Number
from typing import TYPE_CHECKING, Final

from metashell.commands import all_names, get
from metashell.commands.framework.command import Command, Context
from metashell.commands.framework.options import Option
from metashell.commands.framework.run import run_command
from metashell.commands.rows.query import COLUMNS_FLAG as COLUMNS
from metashell.commands.rows.query import FORMATS, LIMIT, OUTPUT, ROW_OPTIONS, SORT_FLAG
from metashell.dataclass import dataclass
from metashell.errors import (
    MetashellError,
    MetashellWarning,
    UnknownNameError,
    UsageError,
)
from metashell.fs.escape import escape
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

_OF_TABLES: Final = frozenset({COLUMNS, SORT_FLAG, *LIMIT.flags})
"""Options of rows that mean something for a table; the others tell how rows are written."""
_PACKAGE: Final = f"{__name__.partition('.')[0]}."


@dataclass(slots=True)
class _Taken:
    """An output that keeps tables, and drops text."""

    is_terminal: bool = False
    width: int = 80
    tables: list[pa.Table] = field(default_factory=list)

    def take_rows(self, table: pa.Table) -> None:
        self.tables.append(table)

    def write(self, text: str) -> None:
        """Drop it."""

    def flush(self) -> None:
        """Nothing is held back."""


def rows_of(
    opened: Source | FleetSource,
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> pa.Table:
    """The rows of a command; see `metashell.sources.questions.Questions.rows`."""
    command = _command(name)
    words = words_of(command, arguments, options)
    out, warnings = _Taken(), list[str]()
    # So members of a fleet stay open, and nothing is read from standard input.
    context = Context(root=opened.root, out=out, warn=warnings.append, interactive=True)
    context.show(opened)
    context.refuses_names = context.fleet is None
    try:
        run_command(context, command, words)
    except MetashellError as error:
        if error.hint and error.hint not in str(error):
            error.add_note(f"hint: {error.hint}")
        raise
    _warn([*_sentences(warnings), *map(escape, opened.warnings)])
    if not out.tables:
        raise UsageError(f"{name}: these words ask for no rows", hint=command.manual.synopsis)
    return out.tables[-1]


def _command(name: str) -> Command:
    """The command of that name.

    Raises:
        UnknownNameError: There is none, or it has no rows.
    """
    command = get(name)
    if command is not None and _has_rows(command):
        return command
    names = [one for one in all_names() if (found := get(one)) is not None and _has_rows(found)]
    hint = did_you_mean(near_names(name, names)) or f"rows have {', '.join(names)}"
    what = "unknown command" if command is None else "this command has no rows"
    raise UnknownNameError(f"{name}: {what}", hint=hint)


def _has_rows(command: Command) -> bool:
    return any(option.choices == FORMATS for option in command.manual.options)


def words_of(
    command: Command, arguments: Sequence[object], options: Mapping[str, object]
) -> list[str]:
    """The words of a command's arguments and options in Python.

    Raises:
        UnknownNameError: There is no such option.
        UsageError: A value is of the wrong type.
    """
    known = keywords_of(command)
    long, short = [f"{OUTPUT.long}=json"], list[str]()
    for name, value in options.items():
        keyword = name.rstrip("_")
        if keyword not in known:
            hint = did_you_mean(near_names(keyword, known)) or f"it has {', '.join(known)}"
            raise UnknownNameError(f"{command.name}: there is no option {name}", hint=hint)
        flag, option = known[keyword]
        words = long if flag.startswith("--") else short
        words += _words_of_option(f"{command.name}: {name}", flag, option, value)
    given = [_text(f"{command.name}: an argument", one) for one in arguments]
    # `find` has options of rows before its paths, and its tests behind them.
    if any(one.startswith("-") for one in given):
        return [*long, *short, "--", *given]
    return [*long, *given, *short]


def keywords_of(command: Command) -> dict[str, tuple[str, Option]]:
    """A command's options by their names in Python, each with its flag; none that shape text."""
    own: frozenset[str] = getattr(command, "own_options", frozenset())
    of_rows = {flag for option in ROW_OPTIONS for flag in option.flags} - own - _OF_TABLES
    of_text = of_rows.union(getattr(command, "text_options", ()))
    return {
        flag.lstrip("-").replace("-", "_"): (flag, option)
        for option in command.manual.options
        for flag in option.flags
        if flag.startswith("-") and flag not in of_text
    }


def _words_of_option(title: str, flag: str, option: Option, value: object) -> list[str]:
    """The words of one option."""
    if option.metavar is None:
        if value is not None and value not in (True, False):
            raise UsageError(f"{title} must be True or False, not {value!r}")
        return [flag] if value else []
    if value is None:
        return []
    if isinstance(value, bool):
        raise UsageError(f"{title} must be a value ({option.metavar}), not {value}")
    several: Iterable[object] = [value]
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike, Mapping)):
        several = value
    texts = [_text(title, one) for one in several]
    if not option.repeatable:
        texts = [",".join(texts)]
    if flag.startswith("--"):
        return [f"{flag}={text}" for text in texts]
    return [word for text in texts for word in (flag, text)]


def _text(title: str, value: object) -> str:
    """A value as a word."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, (str, os.PathLike, Number)):
        raise UsageError(f"{title} can't be a {type(value).__name__}: {value!r}")
    return str(value)


def _sentences(lines: Iterable[str]) -> list[str]:
    """Diagnostics, each with the indented lines below it."""
    found: list[str] = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1] += f" ({line.strip()})"
        else:
            found.append(line)
    return found


def _warn(texts: Iterable[str]) -> None:
    """Warn at the first line of the stack that is not of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(text, MetashellWarning, stacklevel=level)
