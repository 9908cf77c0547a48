"""Commands that have rows: which are asked for, in what form and order, and of which clusters.

Such a command declares its columns and gives rows to a query, as Arrow tables or as mappings; all
else is decided here. Some have a text of their own and write rows where they are asked to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import (
    IMAGE_IMPORTS,
    Command,
    Completion,
    Context,
    Manual,
)
from metashell.commands.framework.options import Parsed, parse_options
from metashell.commands.rows.columns import CLUSTER, AnswerTable, Column, complete_columns
from metashell.commands.rows.query import (
    COLUMNS_FLAG,
    FILE_FORMS,
    FORM_FLAGS,
    METRICS,
    OUTPUT,
    OUTPUT_INSTEAD,
    ROW_OPTIONS,
    SCHEMA,
    SORT_FLAG,
    TO,
    RowsQuery,
)
from metashell.errors import UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.rows.output import Shape


_ROW_FLAGS: Final = frozenset(flag for option in ROW_OPTIONS for flag in option.flags)


class RowsCommand(Command):
    """A command that has rows."""

    tables: tuple[AnswerTable, ...]
    """The first is the one that comes unasked."""
    noun: tuple[str, str] = ("row", "rows")
    """The name of a row, and of several of them."""
    argument_phrase = ""
    """A phrase about each row for the command's arguments, see `Option.phrase`."""
    counted_by = ""
    """The column whose values a sentence about many rows counts; its name is their noun."""
    of_each_cluster = False
    """Whether each cluster of a fleet is asked for itself; its name stands before its rows."""
    has_text = False
    """Whether it has a text of its own, and writes rows only where their options are given. A
    command with `write_text` has one."""
    text_options: tuple[str, ...] = ()
    """Options that shape this text alone."""
    own_options: frozenset[str] = frozenset()
    """Options of rows that it has in a sense of its own, which ask for none: those that its manual
    declares, and further ones."""
    imports: Sequence[str] = (*IMAGE_IMPORTS, "metashell.commands.rows.stream")
    """Modules to import early; by default only the image's for a command with its own text."""

    def __init_subclass__(cls) -> None:
        """Put the options and columns of rows into the manual."""
        super().__init_subclass__()
        cls.has_text |= "write_text" in cls.__dict__
        if cls.has_text and "imports" not in cls.__dict__:
            cls.imports = IMAGE_IMPORTS
        if "manual" in cls.__dict__:
            declared = {flag for option in cls.manual.options for flag in option.flags}
            cls.own_options |= _ROW_FLAGS & declared
            cls.manual = manual_with_rows(
                cls.manual, cls.tables, has_text=cls.has_text, own_options=cls.own_options
            )

    def answer(self, query: RowsQuery) -> None:
        """Add the rows to the query, with the columns of `columns_of`.

        By default the module ``answer`` beside the command does so.

        Raises:
            UsageError: The arguments are wrong.
            MetashellError: There is no answer.
        """
        module = type(self).__module__.rpartition(".")[0]
        import_module(f"{module}.answer").answer(query)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write its own text where it has one; returns the exit status."""
        raise NotImplementedError

    def _write_texts(self, context: Context, parsed: Parsed) -> int:
        """Write the text; of a fleet that of each cluster below its name, if each is asked."""
        from metashell.commands.framework.cluster import contexts_of, warn_of

        if context.fleet is None or not self.of_each_cluster:
            return self.write_text(context, parsed)
        status = 0
        for name, own in contexts_of(context):
            own.warn = partial(warn_of, context, self, name)
            status = max(status, self.write_member(name, own, parsed))
        return status

    def write_member(self, name: str, context: Context, parsed: Parsed) -> int:
        """Write the text of a cluster of a fleet below its name; returns the exit status."""
        context.out.write(escape(f"{name}:") + "\n")
        return self.write_text(context, parsed)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The columns of an answer to these words.

        Raises:
            UsageError: There are none like that.
        """
        asked = (table for table in self.tables if table.asked_by in parsed.switches)
        return next(asked, self.tables[0]).columns

    def parse(self, args: Sequence[str]) -> Parsed:
        """Sort its words out."""
        return parse_options(self, args)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write what is asked for."""
        parsed = self.parse(args)
        self._take_ending(context, parsed)
        path = parsed.values.pop(TO.flags[0], None) if TO in self.manual.options else None
        if path is not None:
            return self._run_to(path, context, parsed)
        return self._run_here(context, parsed)

    def _take_ending(self, context: Context, parsed: Parsed) -> None:
        """Write rows in the form that the name of the file behind ``>`` ends in."""
        ending = getattr(context.out, "ending", None)
        given = {*parsed.switches, *parsed.values}
        if ending in FILE_FORMS and given.isdisjoint((*FORM_FLAGS, *self.text_options)):
            parsed.values[OUTPUT.flags[0]] = ending

    def _run_here(self, context: Context, parsed: Parsed) -> int:
        if SCHEMA.flags[0] in parsed.switches:
            return self._write_schema(context, parsed)
        return self.run_parsed(context, parsed)

    def _write_schema(self, context: Context, parsed: Parsed) -> int:
        from metashell.commands.rows.schemas import schema_of, schema_text

        parsed.values[OUTPUT.flags[0]] = "json"
        columns = self.columns_of(parsed)
        if self.of_each_cluster and context.fleet is not None:
            columns = (CLUSTER, *columns)
        names = self.shape_of(parsed, columns).columns
        context.write(schema_text(schema_of(self.name, columns, names)))
        return 0

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Run with parsed words."""
        if self.has_text and not self.asking(parsed):
            return self._write_texts(context, parsed)
        return self.write_rows(context, parsed)

    def _run_to(self, path: str, context: Context, parsed: Parsed) -> int:
        from metashell.commands.rows.to_file import written_to

        with written_to(context, path):
            return self._run_here(context, parsed)

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

        shape = Shape.of(parsed, columns, self.own_options)
        if shape.form != METRICS:
            return shape
        own = self.columns_of(parsed)
        of = next((one for one in self.tables if one.columns == own), self.tables[0])
        if not of.measures or shape.count:
            raise UsageError(
                f"-o {METRICS}: this answer has no metrics",
                hint="health, brokers, quorum, offsets --lag and fleet have some",
            )
        return shape.as_metrics(self.name, of.labels, of.measures)

    def write_rows(self, context: Context, parsed: Parsed) -> int:
        """Write rows; returns the exit status."""
        from metashell.commands.rows.answering import write_answer

        return write_answer(self, context, parsed)

    def nothing(self, parsed: Parsed) -> str:
        """Say that an answer has no rows."""
        from metashell.commands.rows.answering import nothing

        return nothing(self, parsed)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose columns where they are asked for, else as every command does."""
        found = self.complete_row_columns(context, args, word)
        return super().complete(context, args, word) if found is None else found

    def complete_row_columns(
        self, context: Context, args: Sequence[str], word: str
    ) -> list[Completion] | None:
        """Columns that may stand there; None where no columns are asked for."""
        last = args[-1] if args else ""
        is_row_sort = last == SORT_FLAG and (
            SORT_FLAG not in self.own_options or not set(OUTPUT.flags).isdisjoint(args)
        )
        if last != COLUMNS_FLAG and not is_row_sort:
            return None
        try:
            columns = self.columns_of(self.parse(args[:-1]))
        except UsageError:
            columns = self.tables[0].columns
        if self.of_each_cluster and context.fleet is not None:
            columns = (CLUSTER, *columns)
        return complete_columns(columns, word, descending=last == SORT_FLAG)


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
    for option in (OUTPUT_INSTEAD if has_text else OUTPUT, *ROW_OPTIONS[1:]):
        flags = tuple(flag for flag in option.flags if flag not in own_options)
        if flags:
            options.append(option._replace(flags=flags))
    return replace(
        manual,
        options=(*manual.options, *options),
        columns=first.documented,
        other_columns=tuple((table.asked_by, table.documented) for table in others),
    )
