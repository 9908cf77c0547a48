"""``fleet``: a row for each directory that is open, and whether copies of a cluster agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.fleet.verify_rows import VERIFY_COLUMNS
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of, refuse_more
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import (
    NOT_ZERO,
    AnswerTable,
    CellKind,
    Column,
    Shrink,
    flag,
    integer,
    integers,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.drawn_table import Table
    from metashell.sources.fleet.rows import FleetRow

VOTE_COLUMNS: Final = (
    text("cluster_id", "The cluster's id.", priority=2),
    integers("running", "Ids of the voters that run, and no other voter.", priority=9),
    integers("can_win", "Ids of the voters that can win the vote then.", priority=9),
    texts("directories", "Names below /clusters of those that run.", priority=5),
)

REPLICA_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters.", priority=8),
    text("topic", "The coordinators' topic.", priority=9),
    integer("partition", "The partition.", priority=9),
    integer("leader", "The broker that leads it; null for none, or if not known.", priority=5),
    integer("node_id", "The node that has the replica; null: no replica is here.", priority=8),
    flag("read", "Whether groups and transactions are read from it.", priority=9),
    integer("newest_epoch", "The newest leader epoch that the replica knows.", priority=6),
    integer("end_offset", "The offset behind its last one.", priority=7),
    integer(
        "diverges_at",
        "The first offset at which it has another batch, or epoch, than the one that is read.",
        priority=8,
        red=NOT_ZERO,
    ),
    text("directory", "Its directory.", shown=False),
    sentence("error", "Why it can't be read.", priority=4),
)

_COLUMNS: Final = {
    "name": "name",
    "cluster": "clusterId",
    "node": "nodeId",
    "brokers": "brokers",
    "fenced": "fenced",
    "topics": "topics",
    "partitions": "partitions",
    "offline": "offline",
    "under-replicated": "underReplicated",
    "version": "metadataVersion",
    "offset": "offset",
    "log-epoch": "logEpoch",
    "log-end-offset": "logEndOffset",
    "time": "timestamp",
    "faults": "faults",
}
"""Columns by the name that ``--sort`` takes."""
_HEADER: Final = (
    "NAME",
    "CLUSTER",
    "NODE",
    "BROKERS",
    "FENCED",
    "TOPICS",
    "PARTITIONS",
    "OFFLINE",
    "UNDER",
    "VERSION",
    "OFFSET",
    "LOG-EPOCH",
    "LOG-END-OFFSET",
    "TIME",
    "FAULTS",
)
_PRIORITIES: Final = (9, 1, 3, 4, 7, 3, 5, 8, 7, 5, 2, 2, 2, 6, 8)
"""Of the columns of `_HEADER`."""
_RED: Final = frozenset({"fenced", "offline", "faults"})
_YELLOW: Final = frozenset({"under-replicated"})
_KINDS: Final = {
    "name": CellKind.TEXT,
    "cluster": CellKind.TEXT,
    "version": CellKind.TEXT,
    "time": CellKind.TIME,
    "faults": CellKind.TEXT,
}
"""Kinds of the columns that are not whole numbers."""
_ASCENDING: Final = frozenset({"name", "cluster", "node", "version"})
_VERIFY: Final = "--verify"
_COORDINATORS: Final = "--coordinators"
_VOTES: Final = "--votes"
_KEYS: Final = {"cluster": "name", "time": "timestamp"}
"""Keys of a row where they are not the column's name in camel case."""
_TABLES: Final = (
    AnswerTable(
        "",
        (
            text("cluster", "The directory's name below /clusters.", priority=9),
            text("cluster_id", "The cluster's id."),
            integer("node_id", "The node that owns the directory.", priority=3),
            integer("brokers", "Registered brokers.", priority=4),
            integer("fenced", "Of these, fenced brokers.", priority=7, red=NOT_ZERO),
            integer("topics", "Topics.", priority=3),
            integer("partitions", "Partitions.", priority=5),
            integer("offline", "Partitions without a leader.", priority=8, red=NOT_ZERO),
            integer(
                "under_min_isr",
                "Partitions with an ISR smaller than min.insync.replicas, or without a leader.",
                priority=8,
                red=NOT_ZERO,
            ),
            integer(
                "under_replicated",
                "Partitions with replicas out of sync. Replicas being added do not count.",
                priority=7,
                yellow=NOT_ZERO,
            ),
            text("metadata_version", "The finalized metadata.version.", priority=5),
            integer("offset", "Offset of the last record.", priority=2),
            integer(
                "log_epoch",
                "Last leader epoch of the whole log: that of its last batch, or of the newest "
                "checkpoint if no batch is behind it. A vote compares it first.",
                priority=2,
            ),
            integer(
                "log_end_offset",
                "The offset behind the whole log. A vote compares it second.",
                priority=2,
            ),
            time_at("time", "Time of the last record.", priority=6),
            integer(
                "faults",
                "Faults of its files and records. A torn tail does not count.",
                priority=7,
                red=NOT_ZERO,
            ),
            text("fault", "The first of these faults.", shown=False),
            text("directory", "Its path.", shown=False),
            sentence("error", "Why it can't be read.", priority=8, red=NOT_ZERO),
        ),
    ),
    AnswerTable(_VERIFY, VERIFY_COLUMNS),
    AnswerTable(_COORDINATORS, REPLICA_COLUMNS),
    AnswerTable(_VOTES, VOTE_COLUMNS),
)


class FleetCommand(RowsCommand):
    """Tell of all directories."""

    group = "whole cluster"
    name = "fleet"
    summary = "Show a row for each open directory, or whether copies of a cluster agree."
    takes_paths = False
    noun = ("directory", "directories")
    tables = _TABLES
    has_text = True
    own_options = frozenset({"--sort"})
    manual = Manual(
        synopsis="fleet [--sort COLUMN] [-o FORMAT] | fleet --verify|--coordinators|--votes "
        "[-o FORMAT]",
        description=(
            "Shows a row for each directory: its name under /clusters, cluster id and node id. "
            "BROKERS counts registered brokers, FENCED the fenced ones. OFFLINE counts partitions "
            "without a leader, UNDER partitions with an ISR smaller than the replicas. VERSION is "
            "metadata.version. OFFSET and TIME are those of the last record. "
            "LOG-EPOCH and LOG-END-OFFSET are the end of the whole log, also with --at. A vote "
            "compares them, in this order. The epoch in quorum-state does not count. FAULTS counts "
            "damage in files and records. A torn tail does not count: a copy of a running node may "
            "have one. If a directory can't be read, the last column says why.\n\n"
            "--verify compares the directories of one cluster. It compares their logs batch by "
            "batch, and their states by the digests of `checksum`. States are compared at the "
            "offset that most of them have. That is the smallest of their last offsets, unless "
            "the files of others begin after it. Each directory has one result:\n\n"
            "`equal`: it agrees. `differs`: its digest is not that of the majority. `diverged`: "
            "its log has another batch at an offset than the majority. Without a majority all "
            "differ or diverge. `alone`: no other directory of its cluster can be compared. "
            "`unknown`: it can't be read, or does not cover the offset.\n\n"
            "DIVERGED is the first offset at which a log leaves the others. A warning names the "
            "leader epochs of both batches, and why a directory is `unknown`. Digests leave out "
            "configs of topics that do not exist: see `man checksum`. WITHOUT-ORPHANS shows them. "
            "Copies of one log that end "
            "at different offsets are `equal`. The last records of a directory may not be "
            "committed: --committed-only leaves them out. No result says which copy can win a "
            "vote: --votes does.\n\n"
            "--coordinators lists the replicas of `__consumer_offsets`, `__transaction_state` and "
            "`__share_group_state`. If several replicas of a partition are together, one is READ: "
            "the one that reaches furthest in the newest leader epoch. Several are together in the "
            "directories of one node, and in those of one cluster with `metashell --join`. Where "
            "another replica has another batch or epoch, a warning tells the offset. All replicas "
            "are read.\n\n"
            "--votes lists each set of voters that can elect a leader, and the voters that can win "
            "then. Of CAN-WIN each can become the leader. A voter wins if its log does not end "
            "before the logs of a majority of all voters. Lost voters count for the majority. The "
            "voters are those of the latest record in the log, or of quorum-state. Only a "
            "directory with the voter's node.id and directory.id has its vote. Two metadata logs "
            "of one node are two copies: one of them can run. Without a majority "
            "no vote is possible: a warning names the missing voters.\n\n"
            "One directory (-d) is a fleet of one. The exit status is 1 if a directory can't be "
            "read or has faults. With --verify or --coordinators it is 1 if one differs, "
            "diverged or can't be compared. With --votes it is 1 if no vote is possible, or if the "
            "answer is not sure: a warning says why. Large fleets are read by one process for each "
            "processor."
        ),
        options=(
            Option(
                ("--sort",),
                "Sort by this column (default: name). Texts ascend, numbers and times descend. "
                "With -o: sort by names of columns, separated by commas; a - before the name "
                "sorts descending.",
                "COLUMN",
                tuple(_COLUMNS),
            ),
            Option((_VERIFY,), "Compare the directories of each cluster."),
            Option((_COORDINATORS,), "List the replicas of coordinators' partitions."),
            Option((_VOTES,), "List the sets of voters that can elect a leader, and who can win."),
        ),
        examples=(
            ("fleet", "a row for each directory"),
            ("fleet --sort offline", "the most partitions without a leader first"),
            ("fleet --json", "for scripts"),
            ("fleet --verify", "whether copies of a cluster agree"),
            ("fleet --coordinators", "which replicas groups and transactions are read from"),
            ("fleet --votes", "who can become the leader, by these copies of the voters"),
            ("fleet -o csv --sort -offline,cluster", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the rows."""
        refuse_more(self, parsed.arguments)
        chosen = [flag for flag in (_VERIFY, _COORDINATORS, _VOTES) if flag in parsed.switches]
        if len(chosen) > 1:
            raise UsageError(
                f"{chosen[0]} and {chosen[1]} exclude each other",
                hint=f"usage: {self.manual.synopsis}",
            )
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each directory."""
        if _VERIFY in query.parsed.switches:
            from metashell.commands.fleet.verify import verify

            compared = verify(query.context)
            query.add(compared.mappings())
            query.status = compared.status
            return
        if _COORDINATORS in query.parsed.switches:
            from metashell.commands.fleet.replicas import replica_rows

            replica_rows(query)
            return
        if _VOTES in query.parsed.switches:
            from metashell.commands.fleet.votes import vote_rows

            vote_rows(query)
            return
        rows = _sorted(_rows(query.context), "name")
        query.add(map(_mapping, rows))
        query.status = _status(rows)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each directory."""
        from metashell.commands.rows.drawn_table import write_table

        sort = parsed.values.get("--sort")
        if not parsed.switches.isdisjoint((_COORDINATORS, _VOTES)):
            return self.write_rows(context, parsed)
        if _VERIFY in parsed.switches:
            if sort is not None:
                raise UsageError(
                    "--sort is not for --verify", hint=f"usage: {self.manual.synopsis}"
                )
            from metashell.commands.fleet.verify import verify

            compared = verify(context)
            write_table(context, compared.table(context))
            return compared.status
        rows = _sorted(_rows(context), one_of("--sort", sort or "name", tuple(_COLUMNS)))
        write_table(context, _table(context, rows))
        return _status(rows)

    def nothing(self, parsed: Parsed) -> str:
        """That no coordinator's log is here: there is a directory always."""
        if _COORDINATORS in parsed.switches:
            return "no log of a coordinator is here"
        return super().nothing(parsed)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The directories, what is said of each that is compared, or replicas."""
        return next((t for t in _TABLES if t.asked_by in parsed.switches), _TABLES[0]).columns


def rows_table(rows: Sequence[FleetRow]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    from metashell.commands.rows.cell_colours import with_colours
    from metashell.commands.rows.stream import table_of_mappings

    columns = _TABLES[0].columns
    return with_colours(table_of_mappings(columns, [_mapping(row) for row in rows]), columns)


def _mapping(row: FleetRow) -> dict[str, str | int | None]:
    names = [column.name for column in _TABLES[0].columns]
    return {name: row.get(_KEYS.get(name, _camel(name))) for name in names}


def _status(rows: Sequence[FleetRow]) -> int:
    is_sound = all(row["error"] is None and not row["faults"] for row in rows)
    return ExitCode.OK if is_sound else ExitCode.FAILED


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(context: Context) -> list[FleetRow]:
    """A row for each directory, by name."""
    fleet = context.fleet
    if fleet is not None:
        return fleet.rows(stop=lambda: stop_if_cancelled(context))
    from metashell.sources.fleet import unique_names
    from metashell.sources.fleet.rows import FIELDS, cluster_id_of, row_of

    # What a row needs a condensed log has as well.
    source = context.source or context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    row = {**row_of(source), "directory": source.path, "error": None}
    return [{"name": name, **{key: row[key] for key in FIELDS}}]


def _sorted(rows: list[FleetRow], by: str) -> list[FleetRow]:
    """Rows in the order asked for: those of which it is not known last, equal ones by name."""
    key = _COLUMNS[by]
    if by == "faults":
        # What can't be read at all is the worst.
        return sorted(rows, key=lambda row: (row["error"] is None, -int(row["faults"] or 0)))
    known = [row for row in rows if row[key] is not None]
    known.sort(key=lambda row: row[key], reverse=by not in _ASCENDING)  # type: ignore[arg-type,return-value]
    return known + [row for row in rows if row[key] is None]


def _table(context: Context, rows: Sequence[FleetRow]) -> Table:
    """The rows as people see them; why a directory can't be read stands in place of its faults."""
    from metashell.commands.rows.drawn_table import Table
    from metashell.commands.rows.stream import cells

    columns = []
    for (name, key), header, priority in zip(_COLUMNS.items(), _HEADER, _PRIORITIES, strict=True):
        values: list[Any] = [row[key] for row in rows]
        kind = _KINDS.get(name, CellKind.INTEGER)
        if name == "faults":
            values = [
                str(row["error"] if row["error"] is not None else n)
                for row, n in zip(rows, values, strict=True)
            ]
        shrink = Shrink.WRAP if name == "faults" else Shrink.MIDDLE
        column = Column(
            name.replace("-", "_"),
            "",
            kind,
            priority=priority,
            shrink=shrink,
            red=NOT_ZERO if name in _RED else (),
            yellow=NOT_ZERO if name in _YELLOW else (),
        )
        columns.append((column, cells(kind, values), header))
    return Table.of_columns(columns, short=context.out.is_terminal)


COMMAND = FleetCommand()
