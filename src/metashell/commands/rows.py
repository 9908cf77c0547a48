"""Commands whose answer is rows: what they share.

Such a command says which columns it has and makes an Arrow table of one cluster's image; which of
them are shown, in what order and form, and for which clusters of a fleet, is decided here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from metashell.commands.base import Command, Completion, Context, Manual, Option
from metashell.commands.options import Parsed, parse_options
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.image import Image
    from metashell.source import Source

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv", "yaml")
"""What ``-o`` takes."""

OUTPUT: Final = Option(
    ("-o", "--output"),
    "How the rows are written: a table for people (the default), or json, jsonl, csv, tsv, yaml.",
    "FORMAT",
    FORMATS,
)
ROW_OPTIONS: Final = (
    OUTPUT,
    Option(
        ("--columns",),
        "These columns in this order, separated by commas; `all` stands for every one.",
        "NAMES",
    ),
    Option(
        ("--sort",),
        "Sort by these columns, separated by commas; descending with a - before the name. Nulls "
        "come last.",
        "NAMES",
    ),
    Option(("--count",), "Print the number of rows instead."),
    Option(("--exit-code",), "Exit with 1 where there is any row, with 0 where there is none."),
)
"""Options of every command that has rows."""

HISTORY: Final = Option(
    ("--history",),
    "Read the files before the newest checkpoint too, to tell when what it says came to be.",
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer; its name is stable."""

    name: str
    """In snake_case, the same in every format."""
    help: str
    """One line of the manual."""
    shown: bool = True
    """Whether the table for people has it unless ``--columns`` is given; other formats always."""


CLUSTER: Final = Column("cluster", "The cluster's name below /clusters.")
"""In front of the columns of a fleet's rows."""


@dataclass(slots=True)
class Asked:
    """One cluster that is asked a question."""

    source: Source
    parsed: Parsed
    """The command's words."""
    warn: Callable[[str], None]
    """Report a diagnostic; the command's name is put in front."""
    cancelled: Callable[[], bool]
    """Polled in long loops."""
    status: int = 0
    """Set to 1 where something asked for was not there."""
    wanted: frozenset[str] | None = None
    """Columns that will be looked at; an answer may leave out others where there are many rows. It
    has one at least. None: all."""
    verdict: tuple[str, ...] = ()
    """Lines that people are told before the rows."""

    @property
    def image(self) -> Image:
        """The image; with ``--history`` folded from the oldest state in the directory."""
        if "--history" in self.parsed.switches:
            return self.source.exact.history_image
        return self.source.image

    @property
    def exact_image(self) -> Image:
        """The same image made of the log itself: see `Source.exact`."""
        return self.image if "--history" in self.parsed.switches else self.source.exact.image


class RowsCommand(Command):
    """A command whose answer is rows of one cluster, or of each cluster of a fleet."""

    takes_paths = False
    columns: tuple[Column, ...]

    @abstractmethod
    def answer(self, asked: Asked) -> pa.Table:
        """The rows: a table with the columns of `columns_of`, of the types that `rows_text` knows.

        Raises:
            UsageError: The arguments are wrong.
            MetashellError: There is no answer.
        """

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The columns of an answer to these words."""
        return self.columns

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Ask each cluster, and write the rows."""
        return self.run_parsed(context, parse_options(self, args))

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """The same with the words sorted out."""
        from metashell.commands.rows_output import Shape, write_rows

        columns = self.columns_of(parsed)
        is_fleet = context.fleet is not None
        if is_fleet:
            columns = (CLUSTER, *columns)
        shape = Shape.of(parsed, columns)
        table, status = self._ask_all(context, parsed, shape.looked_at())
        n_rows = write_rows(context, table, shape)
        if "--exit-code" in parsed.switches:
            return ExitCode.FAILED if n_rows else ExitCode.OK
        return status

    def _ask_all(
        self, context: Context, parsed: Parsed, wanted: frozenset[str]
    ) -> tuple[pa.Table, int]:
        """The rows of all clusters, and the exit status."""
        import pyarrow as pa

        from metashell.commands.rows_fleet import answers

        tables, status = [], int(ExitCode.OK)
        for answered in answers(context, self, parsed, wanted):
            table, name = answered.table, answered.cluster
            if name is not None:
                names = pa.repeat(pa.scalar(name, pa.string()), len(table))
                table = table.add_column(0, CLUSTER.name, names)
            tables.append(table)
            status = max(status, answered.status)
        if not tables:
            names = [CLUSTER.name, *(c.name for c in self.columns_of(parsed))]
            return pa.table({name: pa.array([], pa.string()) for name in names}), status
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables), status

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose columns after ``--columns`` and ``--sort``, else as every command does."""
        if args and args[-1] in ("--columns", "--sort"):
            columns = self._columns_after(args[:-1])
            if context.fleet is not None:
                columns = (CLUSTER, *columns)
            return complete_columns(columns, word, descending=args[-1] == "--sort")
        return super().complete(context, args, word)

    def _columns_after(self, args: Sequence[str]) -> tuple[Column, ...]:
        """The columns that these words ask for, as far as they can be understood."""
        try:
            return self.columns_of(parse_options(self, args))
        except UsageError:
            return self.columns


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


def opened(context: Context) -> Iterator[Source]:
    """The sources that a question here would be asked, as far as they are open: for completion.

    Of a fleet, in no cluster's directory, those that were looked at already: opening hundreds takes
    longer than anyone waits for a word.
    """
    from metashell.commands.cluster import member_at
    from metashell.errors import SourceError

    fleet = context.fleet
    if fleet is None:
        if context.source is not None:
            yield context.source
        return
    here = member_at(fleet, context.cwd)
    if here is not None:
        with suppress(SourceError):
            yield here.source()
        return
    yield from filter(None, [member.opened for member in fleet.members.values()])


def rows_manual(
    synopsis: str,
    description: str,
    columns: Sequence[Column],
    options: Sequence[Option] = (),
    examples: Sequence[tuple[str, str]] = (),
    others: Sequence[tuple[str, Sequence[Column]]] = (),
) -> Manual:
    """The manual of a command that has rows, with the options and columns that all of them have.

    Args:
        synopsis: Without these options.
        description: As for `Manual`.
        columns: In the order of the table.
        options: The command's own.
        examples: As for `Manual`.
        others: Columns of the command's other tables, with what asks for each.
    """
    return Manual(
        synopsis=synopsis,
        description=description,
        options=(*options, *ROW_OPTIONS),
        examples=tuple(examples),
        columns=_documented(columns),
        other_columns=tuple((asked_by, _documented(table)) for asked_by, table in others),
    )


def _documented(columns: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, described(column)) for column in columns)


def described(column: Column) -> str:
    """What a manual says of a column."""
    return column.help if column.shown else f"{column.help} (not in the table)"
