"""``fleet``: a row for each directory that is open, and whether copies of a cluster agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.fleet.verify_rows import VERIFY_COLUMNS
from metashell.commands.framework.columns import table_lines
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of, refuse_more
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.commands.framework.usage_scan import write_lines
from metashell.commands.rows.columns import AnswerTable, Column, integer, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.fleet.rows import FleetRow

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
    "TIME",
    "FAULTS",
)
_TEXTS: Final = frozenset({0, 1, 9, 11})
"""Columns of `_HEADER` that are texts."""
_ASCENDING: Final = frozenset({"name", "cluster", "node", "version"})
_UNKNOWN: Final = "-"
_VERIFY: Final = "--verify"
_KEYS: Final = {"cluster": "name", "time": "timestamp"}
"""Keys of a row where they are not the column's name in camel case."""
_TABLES: Final = (
    AnswerTable(
        "",
        (
            text("cluster", "The directory's name below /clusters."),
            text("cluster_id", "The cluster's id."),
            integer("node_id", "The node whose directory it is."),
            integer("brokers", "Registered brokers."),
            integer("fenced", "Of these, fenced."),
            integer("topics", "Topics."),
            integer("partitions", "Partitions."),
            integer("offline", "Of these, without a leader."),
            integer("under_replicated", "With an ISR smaller than the replicas."),
            text("metadata_version", "The finalized metadata.version."),
            integer("offset", "Offset of the last record."),
            time_at("time", "Its time."),
            integer("faults", "Faults of its files and records, a torn tail aside."),
            text("fault", "The first of them.", shown=False),
            text("directory", "Its path.", shown=False),
            text("error", "Why it can't be read."),
        ),
    ),
    AnswerTable(_VERIFY, VERIFY_COLUMNS),
)


class FleetCommand(RowsCommand):
    """Tell of all directories."""

    group = "whole cluster"
    name = "fleet"
    summary = "Show a row for each directory that is open, or whether copies of a cluster agree."
    takes_paths = False
    tables = _TABLES
    has_text = True
    own_options = frozenset({"--sort"})
    manual = Manual(
        synopsis="fleet [--sort COLUMN] [-o FORMAT] | fleet --verify [-o FORMAT]",
        description=(
            "Shows of each directory its name under /clusters, cluster id and node id; the "
            "registered brokers, and how many of them are fenced; topics and partitions; the "
            "partitions without a leader (OFFLINE) and those whose ISR is smaller than their "
            "replicas (UNDER); metadata.version; the last record's offset and time; and the "
            "faults of its files and records, a torn tail aside, as any copy of a running node "
            "may have one. Of a directory that can't be read the last column says why.\n\n"
            "With --verify directories of one cluster are compared: their logs batch by batch, and "
            "their states by the digests that checksum prints. States are compared at the offset "
            "that the most of them have; that is the smallest of their last offsets, unless the "
            "files of others begin behind it. A line a directory says `equal`, `differs` (from the "
            "digest that most have; all do where none has a majority), `diverged` (its log holds "
            "another batch at an offset than most of those that have one there; all do where none "
            "has a majority), `alone` (no other directory of its cluster can be compared with it, "
            "or nothing says of which it is) or `unknown` (it can't be read, or does not cover the "
            "offset). DIVERGED is the first offset at which a log leaves the others; a warning "
            "says the leader epochs of both batches, and why a directory is `unknown`. Digests "
            "are compared without configs of topics that do not exist, as checksum explains; "
            "WITHOUT-ORPHANS has them where there are such configs. Copies of one log that end at "
            "different offsets are `equal`. The last records of a directory may "
            "not be committed and then differ rightly: --committed-only leaves them out.\n\n"
            "One directory (-d) is a fleet of one. The exit status is 1 where a directory can't "
            "be read or has faults; with --verify, where one differs, diverged or can't be "
            "compared. Many bytes are read by as many processes as there are processors."
        ),
        options=(
            Option(
                ("--sort",),
                "Sort by this column: texts ascending, numbers and times descending; by name if "
                "not given. Rows (-o) sort by the names of their columns, separated by commas, "
                "descending with a - before the name.",
                "COLUMN",
                tuple(_COLUMNS),
            ),
            Option((_VERIFY,), "Compare the directories of each cluster."),
        ),
        examples=(
            ("fleet", "a row for each directory"),
            ("fleet --sort offline", "the most partitions without a leader first"),
            ("fleet --json", "for scripts"),
            ("fleet --verify", "whether copies of a cluster agree"),
            ("fleet -o csv --sort -offline,cluster", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the rows."""
        refuse_more(self, parsed.arguments)
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each directory."""
        if _VERIFY in query.parsed.switches:
            from metashell.commands.fleet.verify import verify

            compared = verify(query.context)
            query.add(compared.mappings())
            query.status = compared.status
            return
        rows = _sorted(_rows(query.context), "name")
        query.add(map(_mapping, rows))
        query.status = _status(rows)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each directory."""
        sort = parsed.values.get("--sort")
        if _VERIFY in parsed.switches:
            if sort is not None:
                raise UsageError(
                    "--sort is not for --verify", hint=f"usage: {self.manual.synopsis}"
                )
            from metashell.commands.fleet.verify import verify

            compared = verify(context)
            write_lines(context, compared.lines(context))
            return compared.status
        rows = _sorted(_rows(context), one_of("--sort", sort or "name", tuple(_COLUMNS)))
        cells = [_cells(context, row) for row in rows]
        write_lines(context, list(table_lines(_HEADER, cells, _TEXTS)))
        return _status(rows)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The directories, or what is said of each that is compared."""
        return _TABLES[_VERIFY in parsed.switches].columns


def rows_table(rows: Sequence[FleetRow]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    from metashell.commands.rows.stream import table_of_mappings

    return table_of_mappings(_TABLES[0].columns, [_mapping(row) for row in rows])


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


def _cells(context: Context, row: FleetRow) -> list[str]:
    from metashell.schema.timestamps import iso_time

    cells = [_UNKNOWN if (value := row[key]) is None else str(value) for key in _COLUMNS.values()]
    timestamp = row["timestamp"]
    if isinstance(timestamp, int):
        cells[_HEADER.index("TIME")] = iso_time(timestamp)
    if row["error"] is not None:
        cells[-1] = escape(str(row["error"]))
    return [shown(context, cell) for cell in cells]


COMMAND = FleetCommand()
