"""The columns of rows: their names, what their cells are, and what a manual says of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Final, Protocol

from metashell.commands.framework.command import Completion
from metashell.dataclass import dataclass
from metashell.fs.node import Directory, Node


class CellKind(StrEnum):
    """The kinds of cells that a column can have."""

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
    """JSON, given as text."""


class Shrink(StrEnum):
    """The part of a cell that a too narrow terminal leaves out. Numbers and times stay whole."""

    MIDDLE = "middle"
    """The middle of a name: its ends tell it from others."""
    END = "end"
    WRAP = "wrap"
    """Nothing: a sentence takes more lines."""


NEEDED: Final = 8
"""A terminal never leaves out columns of this priority: the answer is about them."""
IDENTIFYING: Final = 9
"""Columns of this priority tell which row it is."""

NOT_ZERO: Final = ("*",)
"""In place of words: every cell but 0, no, and an empty one."""


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
    priority: int = 0
    """A terminal that is too narrow leaves out the lowest first; of equal ones the last first. It
    leaves out none from `NEEDED` on, and none that the user named.
    """
    shrink: Shrink = Shrink.MIDDLE
    """How a text fits a terminal."""
    worst_first: bool = False
    """Whether the first of a list is enough on a terminal, unless ``-v`` asks for the others."""
    red: tuple[str, ...] = ()
    """Words that are red on a terminal, or `NOT_ZERO`."""
    yellow: tuple[str, ...] = ()
    """Words that are yellow, likewise."""
    usual: tuple[str, ...] = ()
    """Cells that say nothing: a terminal's table has the column where a row has another one."""
    runs: bool = False
    """Whether rows that follow each other in this number alone are one line on a terminal."""
    yields: bool = False
    """Whether a terminal leaves it out where half of the lines are enough without it: see runs."""

    @property
    def described(self) -> str:
        """The column's text in a manual."""
        return self.help if self.shown else f"{self.help} (not in the table)"


class _MakeColumn(Protocol):
    def __call__(
        self,
        name: str,
        help: str,
        *,
        shown: bool = True,
        priority: int = 0,
        shrink: Shrink = Shrink.MIDDLE,
        worst_first: bool = False,
        red: tuple[str, ...] = (),
        yellow: tuple[str, ...] = (),
        usual: tuple[str, ...] = (),
        runs: bool = False,
    ) -> Column: ...


text: Final[_MakeColumn] = partial(Column, kind=CellKind.TEXT)
sentence: Final[_MakeColumn] = partial(Column, kind=CellKind.TEXT, shrink=Shrink.WRAP)
integer: Final[_MakeColumn] = partial(Column, kind=CellKind.INTEGER)
number: Final[_MakeColumn] = partial(Column, kind=CellKind.NUMBER)
flag: Final[_MakeColumn] = partial(Column, kind=CellKind.FLAG)
time_at: Final[_MakeColumn] = partial(Column, kind=CellKind.TIME)
integers: Final[_MakeColumn] = partial(Column, kind=CellKind.INTEGERS)
texts: Final[_MakeColumn] = partial(Column, kind=CellKind.TEXTS)
json_value: Final[_MakeColumn] = partial(Column, kind=CellKind.JSON)
json_text: Final[_MakeColumn] = partial(Column, kind=CellKind.JSON_TEXT)
"""A column of each kind; a `sentence` is a text that a terminal wraps."""


def of_record(
    when: str, record: str, *, shown: bool = False, priority: int = 0
) -> tuple[Column, Column]:
    """The offset and the time of the record that did something to a row.

    Args:
        when: The beginning of their names: ``created``.
        record: The verb of the record, such as ``made it``.
        shown: Whether a table shows the time.
        priority: That of the time.
    """
    return (
        integer(
            f"{when}_offset",
            f"Offset of the record that {record}; null: no file that was read has it.",
            shown=False,
        ),
        time_at(f"{when}_time", "Time of that record.", shown=shown, priority=priority),
    )


CLUSTER: Final = text("cluster", "The cluster's name below /clusters.", priority=9)
"""In front of the columns of a fleet's rows."""


DISK_BYTES: Final = integer(
    "disk_bytes",
    "Bytes on the log directories that are open, as `replicas` counts them.",
    priority=5,
)
"""A row is a topic or a broker; null where no disk is open."""

SINCE_BEFORE: Final = time_at(
    "since_before",
    "If a checkpoint hides since_time: when the checkpoint ended. It began then or earlier.",
    shown=False,
)
"""Beside a ``since_time`` that may be null."""

BEFORES: Final = {"since_time": SINCE_BEFORE.name}
"""Columns of times, and those that say when the checkpoint ended that hides them."""
AT_OR_BEFORE: Final = "at or before "
"""Before the end of such a checkpoint, where a person reads it."""


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """One of the tables that a command has."""

    asked_by: str
    """The words that ask for it, such as ``--by topic``; empty for the one that comes unasked."""
    columns: tuple[Column, ...]
    labels: tuple[str, ...] = ()
    """Columns that tell a row in metrics."""
    measures: tuple[str, ...] = ()
    """Columns that are metrics; none where the table has none."""

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


KIND: Final = text("kind", "directory or leaf.")
DEPTH: Final = integer("depth", "How many levels it is below PATH.")
CHANGED: Final = (
    time_at("changed_time", "Time of the record that last changed it; null: none tells."),
    integer("changed_offset", "That record's offset; null: none tells."),
    integer("changed_epoch", "Its leader epoch.", shown=False),
    text("changed_type", "Its type; null: none tells."),
    integer(
        "changed_at_or_before",
        "Where only a checkpoint tells of the change: the last offset that it holds.",
        shown=False,
    ),
)
"""When a node was last changed; see `metashell.commands.shared.node_times.moment_cells`."""


def kind_of(node: Node | None) -> str:
    """The cell of `KIND`."""
    return kind_name(is_dir=isinstance(node, Directory))


def kind_name(*, is_dir: bool) -> str:
    """The name of a node's kind, by whether it is a directory."""
    return "directory" if is_dir else "leaf"
