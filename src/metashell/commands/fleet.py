"""``fleet``: a row for each directory that is open, and whether copies of a cluster agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.base import Context, Manual, Option
from metashell.commands.fleet_verify_rows import VERIFY_FIELDS
from metashell.commands.options import Parsed, parse_options, refuse_more
from metashell.commands.rows_of import (
    RowTable,
    TabularCommand,
    integer,
    status_of,
    text,
    time_at,
    with_rows,
    write_records,
)
from metashell.commands.survey import one_of, table, write_json, write_lines
from metashell.commands.targets import shown, stop_if_cancelled
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.fleet.rows import Row

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
    RowTable(
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
    RowTable(_VERIFY, VERIFY_FIELDS),
)


class Fleet(TabularCommand):
    """Tell of all directories."""

    name = "fleet"
    summary = "Show a row for each directory that is open, or whether copies of a cluster agree."
    takes_paths = False
    tables = _TABLES
    own_sort = True
    manual = Manual(
        synopsis="fleet [--sort COLUMN] [--json|-o FORMAT] | fleet --verify [--json|-o FORMAT]",
        description=(
            "Shows of each directory its name under /clusters, cluster id and node id; the "
            "registered brokers, and how many of them are fenced; topics and partitions; the "
            "partitions without a leader (OFFLINE) and those whose ISR is smaller than their "
            "replicas (UNDER); metadata.version; the last record's offset and time; and the "
            "faults of its files and records, a torn tail aside, as any copy of a running node "
            "may have one. Of a directory that can't be read the last column says why.\n\n"
            "With --verify directories of one cluster are compared: each is replayed up to the "
            "smallest of their last offsets, where the digests that checksum prints must be equal. "
            "A line a directory says `equal`, `differs` (from the digest that most have; all do "
            "where none has a majority), `alone` (no other directory is of its cluster, or "
            "nothing says of which it is) or `unknown` (it can't be read, or does not cover that "
            "offset: a warning says why). The last records of a directory may not be committed "
            "and then differ rightly: --committed-only leaves them out.\n\n"
            "One directory (-d) is a fleet of one. The exit status is 1 where a directory can't "
            "be read or has faults; with --verify, where one differs or can't be compared. Many "
            "bytes are read by as many processes as there are processors."
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
            Option(
                ("--json",),
                "Print JSON, with the directories' paths and the first fault; times are in ms "
                "since the epoch.",
            ),
        ),
        examples=(
            ("fleet", "a row for each directory"),
            ("fleet --sort offline", "the most partitions without a leader first"),
            ("fleet --json", "for scripts"),
            ("fleet --verify", "whether copies of a cluster agree"),
            ("fleet -o csv --sort -offline,cluster", "for a spreadsheet"),
        ),
    )
    manual = with_rows(manual, _TABLES, own_sort=True)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the rows."""
        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments)
        as_json = "--json" in parsed.switches
        sort = parsed.values.get("--sort")
        shape = self.shape_of(parsed)
        if _VERIFY in parsed.switches:
            if sort is not None and shape is None:
                raise UsageError(
                    "--sort is not for --verify", hint=f"usage: {self.manual.synopsis}"
                )
            from metashell.commands.fleet_verify import verify

            return verify(context, parsed, shape)
        by = one_of("--sort", sort or "name", tuple(_COLUMNS)) if shape is None else "name"
        rows = _sorted(_rows(context), by)
        n_rows = 0
        if shape is not None:
            records = map(_record, rows)
            n_rows = write_records(context, shape, _TABLES[0].fields, records)
        elif as_json:
            write_json(context, {"directories": rows})
        else:
            cells = [_cells(context, row) for row in rows]
            write_lines(context, list(table(_HEADER, cells, _TEXTS)))
        is_sound = all(row["error"] is None and not row["faults"] for row in rows)
        return status_of(parsed, n_rows, ExitCode.OK if is_sound else ExitCode.FAILED)

    def table_of(self, parsed: Parsed) -> RowTable:
        """The directories, or what is said of each that is compared."""
        return _TABLES[_VERIFY in parsed.switches]


def rows_table(rows: Sequence[Row]) -> pa.Table:
    """Rows of directories as ``-o`` has them, with every column."""
    import pyarrow as pa

    from metashell.commands.rows_stream import cells

    records = [_record(row) for row in rows]
    return pa.table(
        {f.name: cells(f.kind, [record[f.name] for record in records]) for f in _TABLES[0].fields}
    )


def _record(row: Row) -> dict[str, str | int | None]:
    return {f.name: row.get(_KEYS.get(f.name, _camel(f.name))) for f in _TABLES[0].fields}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(context: Context) -> list[Row]:
    """A row for each directory, by name."""
    fleet = context.fleet
    if fleet is not None:
        return fleet.rows(stop=lambda: stop_if_cancelled(context))
    from metashell.fleet import unique_names
    from metashell.fleet.rows import FIELDS, row_of

    # What a row needs a condensed log has as well.
    source = context.source or context.needs_source()
    (name,) = unique_names([(source.path, source.cluster_id)])
    row = {**row_of(source), "directory": source.path, "error": None}
    return [{"name": name, **{key: row[key] for key in FIELDS}}]


def _sorted(rows: list[Row], by: str) -> list[Row]:
    """Rows in the order asked for: those of which it is not known last, equal ones by name."""
    key = _COLUMNS[by]
    if by == "faults":
        # What can't be read at all is the worst.
        return sorted(rows, key=lambda row: (row["error"] is None, -int(row["faults"] or 0)))
    known = [row for row in rows if row[key] is not None]
    known.sort(key=lambda row: row[key], reverse=by not in _ASCENDING)  # type: ignore[arg-type,return-value]
    return known + [row for row in rows if row[key] is None]


def _cells(context: Context, row: Row) -> list[str]:
    from metashell.schema.times import iso_time

    cells = [_UNKNOWN if (value := row[key]) is None else str(value) for key in _COLUMNS.values()]
    timestamp = row["timestamp"]
    if isinstance(timestamp, int):
        cells[_HEADER.index("TIME")] = iso_time(timestamp)
    if row["error"] is not None:
        cells[-1] = escape(str(row["error"]))
    return [shown(context, cell) for cell in cells]


COMMAND = Fleet()
