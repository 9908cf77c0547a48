"""``sql``: statements over the cluster's metadata as tables."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import (
    IMAGE_IMPORTS,
    Command,
    Completion,
    Context,
    Manual,
)
from metashell.commands.rows.query import HISTORY, ROW_OPTIONS, SCHEMA


class SqlCommand(Command):
    """Run SQL over the metadata as tables.

    Runs statements in DuckDB's SQL. `.tables` lists the tables, `.schema TABLE` lists columns.
    Tables of the image: topics, partitions, brokers, controllers, configs, client_quotas, acls,
    scram_credentials, delegation_tokens, features, producer_ids, voters. Tables of the log:
    records, and one for each record type, such as PartitionChangeRecord. Other tables: files,
    faults, findings. In a broker's log directory: groups, members, offsets, transactions,
    share_partitions, producers, replicas, and one for each record type of coordinators, such as
    OffsetCommit.

    Without a statement, the shell reads SQL until .exit or ^D. A one-shot command reads
    statements from standard input.

    The tables of the image show the state that the shell is at. The tables of the log hold the
    records of all checkpoints and segments up to that state. An unreadable record causes a
    warning on stderr and exit status 1.

    The columns created_* and changed_* say when a row was made and last changed. Give --history
    to read also the records before the newest checkpoint. Only the columns of the statement are
    decoded.

    Secrets are redacted before SQL sees them. Statements cannot reach files, the network or
    settings. Their views and tables are in memory and end with the shell.

    In a fleet, each table has the rows of all clusters, with the column cluster first. In
    /clusters/NAME, it has the rows of that cluster. With Spark as the engine, statements are
    Spark SQL over the same tables.

    Nested values are written as JSON. offset is a keyword in SQL: write that column as
    "offset", in quotes.
    """

    group = "look"
    # DuckDB looks for pandas and pyarrow.dataset with the first statement.
    imports = (*IMAGE_IMPORTS, "metashell.commands.rows.stream", "pyarrow.dataset", "duckdb")
    manual = Manual(
        synopsis='sql [OPTION...] ["STATEMENT; ..." | .tables | .schema [TABLE]]',
        # A statement alone tells its columns.
        options=(HISTORY, *(option for option in ROW_OPTIONS if option is not SCHEMA)),
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
        from metashell.commands.sql.answer import run_sql

        return run_sql(self, context, args)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose tables, columns and keywords inside of a statement."""
        if word.startswith("-") or (args and args[-1] in ("-o", "--output")):
            return super().complete(context, args, word)
        from metashell.commands.sql.completion import complete_sql

        before = [one for one in args if not one.startswith("-")]
        return complete_sql(context, " ".join([*before, str(word)]))


COMMAND = SqlCommand()
