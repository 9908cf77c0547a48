"""The columns of rows: their names, what their cells are, and what a manual says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, Protocol

from metashell.commands.framework.command import Completion


class CellKind(StrEnum):
    """What the cells of a column are."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"
    """Given as ms since the epoch."""
    INTEGERS = "integers"
    TEXTS = "texts"
    JSON = "json"
    """Any value that JSON has."""
    JSON_TEXT = "json-text"
    """The same, given as JSON."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer; its name is stable."""

    name: str
    """In snake_case, the same in every format."""
    help: str
    """One line of the manual."""
    kind: CellKind = CellKind.TEXT
    shown: bool = True
    """Whether the table for people has it unless ``--columns`` is given; other formats always."""

    @property
    def described(self) -> str:
        """What a manual says of it."""
        return self.help if self.shown else f"{self.help} (not in the table)"


class _MakeColumn(Protocol):
    def __call__(self, name: str, help: str, *, shown: bool = True) -> Column: ...


text: Final[_MakeColumn] = partial(Column, kind=CellKind.TEXT)
integer: Final[_MakeColumn] = partial(Column, kind=CellKind.INTEGER)
number: Final[_MakeColumn] = partial(Column, kind=CellKind.NUMBER)
flag: Final[_MakeColumn] = partial(Column, kind=CellKind.FLAG)
time_at: Final[_MakeColumn] = partial(Column, kind=CellKind.TIME)
integers: Final[_MakeColumn] = partial(Column, kind=CellKind.INTEGERS)
texts: Final[_MakeColumn] = partial(Column, kind=CellKind.TEXTS)
json_value: Final[_MakeColumn] = partial(Column, kind=CellKind.JSON)
json_text: Final[_MakeColumn] = partial(Column, kind=CellKind.JSON_TEXT)
"""A column of each kind."""

CLUSTER: Final = text("cluster", "The cluster's name below /clusters.")
"""In front of the columns of a fleet's rows."""


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """One of the tables that a command has."""

    asked_by: str
    """The words that ask for it, such as ``--by topic``; empty for the one that comes unasked."""
    columns: tuple[Column, ...]

    @property
    def documented(self) -> tuple[tuple[str, str], ...]:
        """(name, meaning) of each column, for a manual."""
        return tuple((column.name, column.described) for column in self.columns)


def one_table(*columns: Column) -> tuple[AnswerTable, ...]:
    """The tables of a command that has one."""
    return (AnswerTable("", columns),)


def complete_columns(columns: Sequence[Column], word: str, *, descending: bool) -> list[Completion]:
    """Propose names of columns for the last of a list."""
    last = word.rpartition(",")[2]
    sign = "-" if descending and last.startswith("-") else ""
    prefix = last[len(sign) :]
    return [
        Completion(sign + column.name, -len(last), column.name, column.help.rstrip("."))
        for column in columns
        if column.name.startswith(prefix)
    ]
