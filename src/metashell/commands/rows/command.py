"""Commands that have rows: which are asked for, in what form and order, and of which clusters.

Such a command declares its columns and gives rows to a query, as Arrow tables or as mappings; all
else is decided here. Some have a text of their own and write rows where they are asked to.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import (
    IMAGE_IMPORTS,
    Command,
    Completion,
    Context,
    Manual,
    TableOutput,
)
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, parse_options
from metashell.commands.rows.columns import CLUSTER, AnswerTable, Column, complete_columns
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.errors import ExitCode, SourceError, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.output import Shape
    from metashell.commands.rows.stream import RowWriter
    from metashell.sources.source import Source

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv", "yaml")
"""What ``-o`` takes."""

OUTPUT: Final = Option(
    ("-o", "--output"),
    "Write rows as a table for people (the default), or as json, jsonl, csv, tsv, yaml.",
    "FORMAT",
    FORMATS,
)
_OUTPUT_INSTEAD: Final = OUTPUT._replace(
    help="Write rows with the columns below: as a table, or as json, jsonl, csv, tsv, yaml. The "
    "options that follow ask for rows too, as a table without -o.",
)
_JSON: Final = "--json"
_SORT: Final = "--sort"
_COLUMNS: Final = "--columns"
_EXIT_CODE: Final = "--exit-code"
LIMIT: Final = Option(
    ("--limit", "-n"), "Show the first N rows only; -5 is short for --limit 5.", "N"
)
VERBOSE: Final = Option(
    ("--verbose", "-v"), "In a terminal's table, show times with their date, and every state."
)
ROW_OPTIONS: Final = (
    OUTPUT,
    Option((_JSON,), "The same as -o json."),
    Option(
        (_COLUMNS,),
        "Show these columns in this order, separated by commas. `all` stands for every one.",
        "NAMES",
    ),
    Option(
        (_SORT,),
        "Sort by these columns, separated by commas. A - before the name sorts descending. Nulls "
        "come last.",
        "NAMES",
    ),
    LIMIT,
    VERBOSE,
    Option(("--count",), "Print the number of rows instead."),
    Option(
        (_EXIT_CODE,),
        "Exit with 1 if there is any row, or if the answer is not complete; else with 0.",
    ),
)
"""Options of every command that has rows."""


class RowsCommand(Command):
    """A command that has rows."""

    tables: tuple[AnswerTable, ...]
    """The first is the one that comes unasked."""
    noun: tuple[str, str] = ("row", "rows")
    """What a row is, and several of them."""
    argument_phrase = ""
    """What its arguments make true of each row, as `Option.phrase`."""
    counted_by = ""
    """The column whose values a sentence about many rows counts; its name is their noun."""
    of_each_cluster = False
    """Whether each cluster of a fleet is asked for itself; its name stands before its rows."""
    has_text = False
    """Whether it has a text of its own, and writes rows only where their options are given."""
    text_options: tuple[str, ...] = ()
    """Options that shape this text alone."""
    own_options: frozenset[str] = frozenset()
    """Options of rows that it has in a sense of its own, which ask for none."""
    imports: Sequence[str] = (*IMAGE_IMPORTS, "metashell.commands.rows.stream")
    """Of a command with a text of its own only those of the image, unless it says more."""

    def __init_subclass__(cls) -> None:
        """Put the options and columns of rows into the manual."""
        super().__init_subclass__()
        if cls.has_text and "imports" not in cls.__dict__:
            cls.imports = IMAGE_IMPORTS
        if "manual" in cls.__dict__:
            cls.manual = manual_with_rows(
                cls.manual, cls.tables, has_text=cls.has_text, own_options=cls.own_options
            )

    @abstractmethod
    def answer(self, query: RowsQuery) -> None:
        """Add the rows to the query, with the columns of `columns_of`.

        Raises:
            UsageError: The arguments are wrong.
            MetashellError: There is no answer.
        """

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write its own text where it has one; returns the exit status."""
        raise NotImplementedError

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The columns of an answer to these words.

        Raises:
            UsageError: There are none like that.
        """
        return self.tables[0].columns

    def parse(self, args: Sequence[str]) -> Parsed:
        """Sort its words out."""
        return parse_options(self, args)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write what is asked for."""
        return self.run_parsed(context, self.parse(args))

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """The same with the words sorted out."""
        if self.has_text and not self.asking(parsed):
            return self.write_text(context, parsed)
        return self.write_rows(context, parsed)

    def asking(self, parsed: Parsed) -> list[str]:
        """Options that ask for rows, of those given."""
        given = {*parsed.switches, *parsed.values}
        return [
            option.flags[0]
            for option in ROW_OPTIONS
            if option.flags[0] in given and not self.own_options.issuperset(option.flags)
        ]

    def shape_of(self, parsed: Parsed, columns: Sequence[Column]) -> Shape:
        """How rows are to be written.

        Raises:
            UsageError: An option does not go with rows, or a format or a column is unknown.
        """
        given = {*parsed.switches, *parsed.values}
        for flag in self.text_options:
            if flag in given:
                raise UsageError(
                    f"{self.asking(parsed)[0]} and {flag} exclude each other",
                    hint="rows with -o json have stable names of columns",
                )
        from metashell.commands.rows.output import Shape

        return Shape.of(parsed, columns, self.own_options)

    def write_rows(self, context: Context, parsed: Parsed) -> int:
        """Write rows; returns the exit status."""
        from metashell.commands.rows.stream import RowWriter

        columns = self.columns_of(parsed)
        asks_clusters = self.of_each_cluster and context.fleet is not None
        if asks_clusters:
            columns = (CLUSTER, *columns)
        shape = self.shape_of(parsed, columns)
        writer = RowWriter(context, columns, shape, holds=asks_clusters)
        remarks: list[str] = []
        query: RowsQuery | None = None
        if asks_clusters:
            status = self._ask_clusters(context, parsed, writer)
        else:
            query = self.query(context, parsed, shape, writer)
            self.answer(query)
            status, remarks = query.status, query.remarks
        n_rows = writer.close(
            lambda table: self._lead(context, parsed, shape, table, query),
            is_told=status != ExitCode.OK and not isinstance(context.out, TableOutput),
        )
        context.n_rows = None if shape.count else n_rows
        if not (n_rows or status or remarks) and shape.form == "table" and not shape.count:
            self._tell_nothing(context, parsed)
        for remark in remarks:
            context.warn(escape(f"{self.name}: {remark}"))
        return status_after(parsed, n_rows, status)

    def nothing(self, parsed: Parsed) -> str:
        """What is said where an answer has no rows."""
        from metashell.commands.rows.sentences import nothing

        return nothing(self, parsed)

    def _tell_nothing(self, context: Context, parsed: Parsed) -> None:
        if not isinstance(context.out, TableOutput):
            context.warn(escape(f"{self.name}: {self.nothing(parsed)}"))

    def _lead(
        self,
        context: Context,
        parsed: Parsed,
        shape: Shape,
        table: pa.Table,
        query: RowsQuery | None,
    ) -> str:
        """A sentence about all rows, where a terminal's screen does not hold them."""
        from metashell.commands.rows.sentences import is_for_screen, summary

        if not is_for_screen(context, shape, len(table)):
            return ""
        return summary(self, parsed, table, query)

    def query(self, context: Context, parsed: Parsed, shape: Shape, writer: RowWriter) -> RowsQuery:
        """The query for rows that go straight to a writer."""
        return RowsQuery(
            context=context,
            parsed=parsed,
            add=writer.add,
            warn=lambda text: context.warn(escape(f"{self.name}: {text}")),
            columns=shape.looked_at(),
            limit=None if shape.sort else shape.limit,
            streams=writer.streams,
            has_history=HISTORY in self.manual.options,
        )

    def _ask_clusters(self, context: Context, parsed: Parsed, writer: RowWriter) -> int:
        """Write the rows of all clusters; returns the exit status."""
        from metashell.commands.rows.fleet import answers, with_cluster

        status = int(ExitCode.OK)
        for answered in answers(context, self, parsed, writer.looked_at):
            writer.add(with_cluster(answered))
            status = max(status, answered.status)
        return status

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose columns where they are asked for, else as every command does."""
        found = self.complete_row_columns(context, args, word)
        return super().complete(context, args, word) if found is None else found

    def complete_row_columns(
        self, context: Context, args: Sequence[str], word: str
    ) -> list[Completion] | None:
        """Columns that may stand there; None where no columns are asked for."""
        last = args[-1] if args else ""
        is_row_sort = last == _SORT and (
            _SORT not in self.own_options or not set(OUTPUT.flags).isdisjoint(args)
        )
        if last != _COLUMNS and not is_row_sort:
            return None
        try:
            columns = self.columns_of(self.parse(args[:-1]))
        except UsageError:
            columns = self.tables[0].columns
        if self.of_each_cluster and context.fleet is not None:
            columns = (CLUSTER, *columns)
        return complete_columns(columns, word, descending=last == _SORT)


def manual_with_rows(
    manual: Manual,
    tables: Sequence[AnswerTable],
    *,
    has_text: bool = False,
    own_options: frozenset[str] = frozenset(),
) -> Manual:
    """A manual with the options and columns of rows; arguments as of `RowsCommand`."""
    first, *others = tables
    options = []
    for option in (_OUTPUT_INSTEAD if has_text else OUTPUT, *ROW_OPTIONS[1:]):
        flags = tuple(flag for flag in option.flags if flag not in own_options)
        if flags:
            options.append(option._replace(flags=flags))
    return replace(
        manual,
        options=(*manual.options, *options),
        columns=first.documented,
        other_columns=tuple((table.asked_by, table.documented) for table in others),
    )


def form_of(parsed: Parsed) -> str:
    """The form that rows are asked for in, one of `FORMATS`.

    Raises:
        UsageError: It is none.
    """
    short = "json" if _JSON in parsed.switches else None
    form = parsed.values.get(OUTPUT.flags[0], short or FORMATS[0])
    if form not in FORMATS:
        raise UsageError(f"-o {form}: not one of {', '.join(FORMATS)}")
    if short not in (None, form):
        raise UsageError(f"-o {form} and {_JSON} exclude each other", hint=f"{_JSON} is -o json")
    return form


def limit_of(parsed: Parsed) -> int | None:
    """How many rows are asked for; None for all.

    Raises:
        UsageError: It is no number.
    """
    return parsed.count(LIMIT.flags[0])


def status_after(parsed: Parsed, n_rows: int, otherwise: int = ExitCode.OK) -> int:
    """The exit status after so many rows: the command's own; with ``--exit-code`` rows count."""
    return max(otherwise, ExitCode.FAILED if _EXIT_CODE in parsed.switches and n_rows else 0)


def opened(context: Context) -> Iterator[Source]:
    """The sources that a question here would be asked, as far as they are open: for completion.

    Of a fleet, in no cluster's directory, those that were looked at already: opening hundreds takes
    longer than anyone waits for a word.

    Raises:
        UsageError: There is none.
    """
    from metashell.commands.framework.cluster import member_at

    fleet = context.fleet
    if fleet is None:
        if context.source is None:
            raise UsageError("no source is open")
        yield context.source
        return
    here = member_at(fleet, context.cwd)
    if here is not None:
        with suppress(SourceError):
            yield here.source()
        return
    yield from filter(None, [member.opened for member in fleet.members.values()])
