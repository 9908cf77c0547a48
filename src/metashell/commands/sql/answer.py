"""Statements of ``sql``, and its .tables and .schema.

The mode of the shell in which lines are SQL: several make a statement, up to a semicolon.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from metashell.commands.framework.command import Command, Completion, Context
from metashell.commands.framework.options import Parsed, parse_options, refuse_more
from metashell.commands.framework.run import run_words
from metashell.commands.rows.columns import Column
from metashell.commands.rows.output import Shape
from metashell.commands.rows.query import form_of
from metashell.commands.rows.stream import RowWriter
from metashell.commands.shared.unread import status_after
from metashell.commands.sql.cells import as_cells, column_names, empty_cells
from metashell.commands.sql.completion import complete_sql, highlight_sql
from metashell.commands.sql.session import names_of, runner
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.sources.delegate import Result
from metashell.sql.statements import is_blank, split_statements
from metashell.sql.tables import type_name

_ENDS: Final = frozenset({".exit", ".quit"})
_HELP: Final = """\
SELECT ...;      a statement ends with ; and may take several lines
.tables          the tables
.schema [TABLE]  columns of a table, or of all
.exit            back to commands (as ^D)
^C               forgets what was typed, or ends what runs
"""


class SqlMode:
    """Reads statements.

    Args:
        options: The options of `sql`, which hold for each statement.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self._options = list(options)
        self._begun = ""

    @property
    def prompt(self) -> str:
        """The prompt before the next line."""
        return "sql> " if is_blank(self._begun) else "...> "

    def run(self, context: Context, line: str) -> int:
        """Take a line, and run the statements that it completes."""
        stripped = line.strip()
        if is_blank(self._begun) and stripped.startswith("."):
            self._begun = ""
            return self._run_dot(context, stripped)
        statements, self._begun = split_statements(f"{self._begun}{line}\n")
        status = int(ExitCode.OK)
        for statement in statements:
            status = self._run_command(context, statement)
            if status != ExitCode.OK:
                break
        return status

    def give_up(self) -> None:
        """Forget a statement that is not complete yet."""
        self._begun = ""

    def complete(self, context: Context, line: str) -> list[Completion]:
        """Propose what may stand at the end of a line."""
        return complete_sql(context, self._begun + line)

    def highlight(self, line: str) -> list[tuple[str, str]]:
        """Split a line into (kind, text)."""
        return highlight_sql(line)

    def _run_dot(self, context: Context, line: str) -> int:
        words = line.rstrip("; ").split()
        if words[0] in _ENDS:
            context.mode = None
            return ExitCode.OK
        if words[0] == ".help":
            context.out.write(_HELP)
            return ExitCode.OK
        if words[0] not in (".schema", ".tables"):
            context.warn(escape(f"sql: {words[0]}: unknown; .help lists what there is"))
            return ExitCode.USAGE
        return self._run_command(context, *words)

    def _run_command(self, context: Context, *words: str) -> int:
        return run_words(context, ["sql", *self._options, "--", *words])


_PLAN: Final = ("explain_key", "explain_value")
"""The columns of a plan."""

_SCRIPT_BYTES: Final = 1 << 20
"""A longer script on standard input is refused."""

_NO_STATEMENT: Final = "no statement given"

_HOW: Final = '`sql "select ..."`, or statements on standard input'


def run_sql(command: Command, context: Context, args: Sequence[str]) -> int:
    """Run statements, or enter the mode."""
    parsed = parse_options(command, args)
    text = " ".join(map(str, parsed.arguments)).strip()
    if not text:
        if context.interactive:
            return _enter(context, args, parsed)
        text = _standard_input()
    if text.startswith("."):
        return _run_dot(command, context, parsed, text.rstrip("; ").split())
    return _run_statements(context, parsed, text)


def _enter(context: Context, args: Sequence[str], parsed: Parsed) -> int:
    form_of(parsed)
    context.mode = SqlMode([word for word in args if word != "--"])
    return ExitCode.OK


def _standard_input() -> str:
    """Statements that are piped in.

    Raises:
        UsageError: There are none, or too many.
    """
    try:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError(_NO_STATEMENT, hint=_HOW)
        text = sys.stdin.read(_SCRIPT_BYTES + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"standard input can't be read: {error}", hint=_HOW) from error
    if len(text) > _SCRIPT_BYTES:
        raise UsageError(f"standard input is longer than {_SCRIPT_BYTES:,} characters")
    if not text.strip():
        raise UsageError(_NO_STATEMENT, hint=_HOW)
    return text.strip()


def _run_statements(context: Context, parsed: Parsed, text: str) -> int:
    complete, rest = split_statements(text)
    statements = complete if is_blank(rest) else [*complete, rest]
    if not statements:
        raise UsageError(_NO_STATEMENT, hint=_HOW)
    n_rows, status = 0, int(ExitCode.OK)
    for statement in statements:
        engine = runner(context, history="--history" in parsed.switches)
        result = engine.run(statement.strip(), context.cancelled)
        if result.is_answer:
            n_rows += write_result(context, result, parsed)
        else:
            for _ in result.batches:
                pass
        status = status_after(context, "sql", result.unread) or status
    return ExitCode.FAILED if "--exit-code" in parsed.switches and n_rows else status


def _run_dot(command: Command, context: Context, parsed: Parsed, words: Sequence[str]) -> int:
    if words[0] == ".tables":
        refuse_more(command, words[1:])
        result = _tables(context)
    elif words[0] == ".schema":
        refuse_more(command, words[2:])
        result = _schema(context, words[1] if len(words) > 1 else None)
    else:
        raise UsageError(f"{words[0]}: unknown", hint="use .tables or .schema")
    write_result(context, result, parsed)
    return ExitCode.OK


def _tables(context: Context) -> Result:
    names = names_of(context)
    rows = [{"table": name, "help": names.info(name).help} for name in names.names]
    return _result(pa.Table.from_pylist(rows))


def _schema(context: Context, table: str | None) -> Result:
    names = names_of(context)
    chosen: Sequence[str] = names.names
    if table is not None:
        found = names.find(table)
        if found is None:
            raise names.missing(table)
        chosen = [found]
    rows = [
        {"table": name, "column": field.name, "type": type_name(field.type)}
        for name in chosen
        for field in names.info(name).schema
    ]
    return _result(pa.Table.from_pylist(rows))


def _result(table: pa.Table) -> Result:
    return Result(table.schema, iter(table.to_batches()), True)


def write_result(context: Context, result: Result, parsed: Parsed) -> int:
    """Write the rows of a statement; its columns are known once it runs.

    Returns:
        The number of rows.

    Raises:
        UsageError: The options name columns that it has not.
    """
    names = column_names(result.schema)
    columns = tuple(Column(name, "") for name in names)
    shape = Shape.of(parsed, columns)
    if shape.form == "table" and tuple(names) == _PLAN and not shape.count:
        return _write_plan(context, result)
    writer = RowWriter(context, columns, shape, empty=lambda: empty_cells(result.schema, names))
    for batch in result.batches:
        if batch.num_rows:
            writer.add(as_cells(batch, names))
    n_rows = writer.close()
    if not n_rows and shape.form == "table" and not shape.count:
        context.warn("sql: the statement gives no rows")
    return n_rows


def _write_plan(context: Context, result: Result) -> int:
    n_rows = 0
    for batch in result.batches:
        for text in batch.column(1).to_pylist():
            context.write(text.rstrip("\n") + "\n")
            n_rows += 1
    return n_rows
