"""Commands that have an output of their own and write rows as well, where they are asked to.

Their own output stays as it is; ``-o`` and the options beside it ask for rows with named columns
instead, in the forms that all commands have. Rows come as mappings, one after the other, and are
written as they come where the form allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.commands.base import Command, Completion, Context, Manual, Option
from metashell.commands.options import Parsed, parse_options
from metashell.commands.rows import FORMATS, ROW_OPTIONS, Column, complete_columns, described
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from metashell.commands.rows_output import Shape

Record: TypeAlias = Mapping[str, Any]
"""A row: values by the name of their column; None, or nothing at all, where nothing is known."""

CHUNK_RECORDS: Final = 4096
"""Rows that are made and written together."""

_OUTPUT: Final = Option(
    ("-o", "--output"),
    "Write rows instead, with the columns below: as a table, or as json, jsonl, csv, tsv, yaml. "
    "The options that follow ask for rows too, as a table if no form is given.",
    "FORMAT",
    FORMATS,
)
_SORT: Final = "--sort"
_ASKING: Final = ("-o", "--columns", _SORT, "--count", "--exit-code")


class Kind(StrEnum):
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
class Field(Column):
    """A column of rows that are made one by one."""

    kind: Kind = Kind.TEXT


def text(name: str, meaning: str, *, shown: bool = True) -> Field:
    """A column of texts."""
    return Field(name, meaning, shown, Kind.TEXT)


def integer(name: str, meaning: str, *, shown: bool = True) -> Field:
    """A column of whole numbers."""
    return Field(name, meaning, shown, Kind.INTEGER)


def time_at(name: str, meaning: str, *, shown: bool = True) -> Field:
    """A column of times."""
    return Field(name, meaning, shown, Kind.TIME)


def of_kind(kind: Kind, name: str, meaning: str, *, shown: bool = True) -> Field:
    """A column of another kind."""
    return Field(name, meaning, shown, kind)


@dataclass(frozen=True, slots=True)
class RowTable:
    """One of the tables that a command has."""

    asked_by: str
    """The words that ask for it, such as ``--by topic``; empty for the one that comes unasked."""
    fields: tuple[Field, ...]


def one_table(*fields: Field) -> tuple[RowTable, ...]:
    """The tables of a command that has one."""
    return (RowTable("", fields),)


def with_rows(manual: Manual, tables: Sequence[RowTable], *, own_sort: bool = False) -> Manual:
    """A manual with the options and columns of rows.

    Args:
        manual: Without them.
        tables: The first is the one that comes unasked.
        own_sort: The command has a ``--sort`` of its own.
    """
    options = [option for option in ROW_OPTIONS[1:] if not own_sort or _SORT not in option.flags]
    first, *others = tables
    return replace(
        manual,
        options=(*manual.options, _OUTPUT, *options),
        columns=_documented(first),
        other_columns=tuple((table.asked_by, _documented(table)) for table in others),
    )


def _documented(table: RowTable) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, described(field)) for field in table.fields)


class TabularCommand(Command):
    """A command with an output of its own that writes rows as well."""

    tables: tuple[RowTable, ...]
    """The first is the one that comes unasked."""
    own_sort = False
    """Whether it has a ``--sort`` of its own, which does not ask for rows."""
    not_with_rows: tuple[str, ...] = ("--json",)
    """Options that shape its own output alone."""

    def table_of(self, parsed: Parsed) -> RowTable:
        """The table that the words ask for.

        Raises:
            UsageError: There is none like that.
        """
        return self.tables[0]

    def shape_of(self, parsed: Parsed) -> Shape | None:
        """What rows the words ask for; None where they ask for none.

        Raises:
            UsageError: An option does not go with rows, or a format or a column is unknown.
        """
        given = {*parsed.switches, *parsed.values}
        asked = [
            flag for flag in _ASKING if flag in given and not (self.own_sort and flag == _SORT)
        ]
        if not asked:
            return None
        for flag in self.not_with_rows:
            if flag in given:
                raise UsageError(
                    f"{asked[0]} and {flag} exclude each other",
                    hint="rows with -o json have stable names of columns",
                )
        from metashell.commands.rows_output import Shape

        return Shape.of(parsed, self.table_of(parsed).fields)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose columns where they are asked for, else as every command does."""
        found = self.complete_row_columns(args, word)
        return super().complete(context, args, word) if found is None else found

    def complete_row_columns(self, args: Sequence[str], word: str) -> list[Completion] | None:
        """Columns that may stand there; None where no columns are asked for."""
        last = args[-1] if args else ""
        is_row_sort = last == _SORT and (
            not self.own_sort or not {"-o", "--output"}.isdisjoint(args)
        )
        if last != "--columns" and not is_row_sort:
            return None
        try:
            fields = self.table_of(parse_options(self, args[:-1])).fields
        except UsageError:
            fields = self.tables[0].fields
        return complete_columns(fields, word, descending=last == _SORT)


def write_records(
    context: Context,
    shape: Shape,
    fields: Sequence[Field],
    records: Iterable[Record],
) -> int:
    """Write rows as they come, in bounded memory; tables and sorted rows need all of them first.

    Args:
        context: Where to.
        shape: What is asked for; see `TabularCommand.shape_of`.
        fields: All columns that the rows have.
        records: The rows.

    Returns:
        The number of rows.
    """
    from metashell.commands.rows_stream import RowWriter

    writer = RowWriter(context, fields, shape)
    rest = iter(records)
    while chunk := list(islice(rest, CHUNK_RECORDS)):
        writer.add(chunk)
    return writer.close()


def status_of(parsed: Parsed, n_rows: int, otherwise: int = ExitCode.OK) -> int:
    """The exit status after so many rows: the command's own unless ``--exit-code`` is given."""
    if "--exit-code" in parsed.switches:
        return ExitCode.FAILED if n_rows else ExitCode.OK
    return otherwise
