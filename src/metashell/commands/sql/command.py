"""``sql``: statements over the cluster's metadata as tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import (
    IMAGE_IMPORTS,
    Command,
    Completion,
    Context,
    Manual,
)
from metashell.commands.framework.options import Parsed, parse_options, refuse_more
from metashell.commands.rows.command import ROW_OPTIONS, form_of
from metashell.commands.rows.query import HISTORY
from metashell.commands.shared.unread import status_after
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sql.result import Result

_SCRIPT_BYTES: Final = 1 << 20
"""A longer script on standard input is refused."""
_NO_STATEMENT: Final = "no statement given"
_HOW: Final = '`sql "select ..."`, or statements on standard input'


class SqlCommand(Command):
    """Run SQL."""

    group = "look"
    name = "sql"
    summary = "Run SQL over the metadata as tables."
    takes_paths = False
    # DuckDB looks for pandas and pyarrow.dataset with the first statement.
    imports = (*IMAGE_IMPORTS, "metashell.commands.rows.stream", "pyarrow.dataset", "duckdb")
    manual = Manual(
        synopsis='sql [OPTION...] ["STATEMENT; ..." | .tables | .schema [TABLE]]',
        description=(
            "Runs statements in DuckDB's SQL. `.tables` lists the tables, `.schema TABLE` lists "
            "columns. Tables of the image: topics, partitions, brokers, controllers, configs, "
            "client_quotas, acls, scram_credentials, delegation_tokens, features, producer_ids, "
            "voters. Tables of the log: records, and one for each record type, such as "
            "PartitionChangeRecord. Other tables: files and faults. In a broker's log directory: "
            "groups, members, offsets, transactions, share_partitions, producers, and one for each "
            "record type of coordinators, such as OffsetCommit.\n\n"
            "Without a statement, the shell reads SQL until .exit or ^D. A one-shot command reads "
            "statements from standard input.\n\n"
            "The tables of the image show the state that the shell is at. The tables of the log "
            "hold the records of all checkpoints and segments up to that state. An unreadable "
            "record causes a warning on stderr and exit status 1.\n\n"
            "The columns created_* and changed_* say when a row was made and last changed. Give "
            "--history to read also the records before the newest checkpoint. Only the columns "
            "of the statement are decoded.\n\n"
            "Secrets are redacted before SQL sees them. Statements cannot reach files, the "
            "network or settings. Their views and tables are in memory and end with the "
            "shell.\n\n"
            "In a fleet, each table has the rows of all clusters, with the column cluster first. "
            "In /clusters/NAME, it has the rows of that cluster. With Spark as the engine, "
            "statements are Spark SQL over the same tables.\n\n"
            "Nested values are written as JSON. offset is a keyword in SQL: write that column as "
            '"offset", in quotes.'
        ),
        options=(HISTORY, *ROW_OPTIONS),
        examples=(
            (
                'sql "select topic, partition from partitions where leader = -1 limit 3"',
                "partitions without a leader",
            ),
            (
                'sql -o csv "select type, count(*) as n from records group by type order by type"',
                "how many records there are of each type",
            ),
            (
                'sql "select broker, count(*) as n from brokers join partitions '
                'on list_contains(replicas, broker) group by all order by all"',
                "replicas by broker",
            ),
            ("sql .tables", "the tables"),
            ("sql .schema partitions", "the columns of a table"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Run statements, or enter the mode."""
        parsed = parse_options(self, args)
        text = " ".join(map(str, parsed.arguments)).strip()
        if not text:
            if context.interactive:
                return _enter(self, context, args, parsed)
            text = _standard_input()
        if text.startswith("."):
            return _run_dot(self, context, parsed, text.rstrip("; ").split())
        return _run_statements(context, parsed, text)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose tables, columns and keywords inside of a statement."""
        if word.startswith("-") or (args and args[-1] in ("-o", "--output")):
            return super().complete(context, args, word)
        from metashell.commands.sql.completion import complete_sql

        before = [one for one in args if not one.startswith("-")]
        return complete_sql(context, " ".join([*before, str(word)]))


def _enter(command: Command, context: Context, args: Sequence[str], parsed: Parsed) -> int:
    from metashell.commands.sql.mode import SqlMode

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
    from metashell.commands.sql.output import write_result
    from metashell.commands.sql.session import runner
    from metashell.sql.statements import is_blank, split_statements

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
    from metashell.commands.sql.output import write_result

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
    import pyarrow as pa

    from metashell.commands.sql.session import names_of

    names = names_of(context)
    rows = [{"table": name, "help": names.info(name).help} for name in names.names]
    return _result(pa.Table.from_pylist(rows))


def _schema(context: Context, table: str | None) -> Result:
    import pyarrow as pa

    from metashell.commands.sql.session import names_of
    from metashell.sql.tables import type_name

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
    from metashell.sql.result import Result

    return Result(table.schema, iter(table.to_batches()), True)


COMMAND = SqlCommand()
