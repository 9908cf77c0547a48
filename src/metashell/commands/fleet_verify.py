"""``fleet --verify``: directories of one cluster, compared where all of them have been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.base import Context
from metashell.commands.fleet_verify_rows import VERIFY_FIELDS
from metashell.commands.options import Parsed
from metashell.commands.rows_of import Record, status_of, write_records
from metashell.commands.survey import table, write_json, write_lines
from metashell.commands.targets import shown, stop_if_cancelled
from metashell.errors import ExitCode, MetashellError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.rows_output import Shape
    from metashell.fleet.rows import Row
    from metashell.fleet.source import FleetSource
    from metashell.fs.node import JsonValue

EQUAL: Final = "equal"
DIFFERS: Final = "differs"
ALONE: Final = "alone"
UNKNOWN: Final = "unknown"


def verify(context: Context, parsed: Parsed, shape: Shape | None) -> int:
    """Compare and print; the exit status is 1 where one differs or can't be compared."""
    ends = _ends(context)
    common = common_offsets(ends)
    found = _checksums(context, ends, common)
    groups: dict[str, list[Row]] = {}
    for row in ends:
        groups.setdefault(_group(row), []).append(row)
    lines: list[list[str]] = []
    clusters: list[JsonValue] = []
    records: list[Record] = []
    verdicts: list[str] = []
    n_unidentified = sum(row["clusterId"] is None and row["error"] is None for row in ends)
    for group in sorted(groups):
        rows = [{**row, **found.get(str(row["name"]), {})} for row in groups[group]]
        told = _verdicts(rows)
        verdicts += told
        cluster_id, offset = rows[0]["clusterId"], common.get(group)
        for row, verdict in zip(rows, told, strict=True):
            if verdict is UNKNOWN:
                context.warn(escape(f"fleet: {row['name']}: {row['error']}"))
            cells = (cluster_id, offset, row.get("checksum"), verdict, row["name"])
            lines.append([shown(context, "-" if c is None else str(c)) for c in cells])
        members: list[dict[str, str | int | None]] = [
            {
                "name": row["name"],
                "directory": row["directory"],
                "lastOffset": end["offset"],
                "checksum": row.get("checksum"),
                "verdict": verdict,
                "error": row["error"],
            }
            for row, end, verdict in zip(rows, groups[group], told, strict=True)
        ]
        records += _records(cluster_id, offset, members)
        clusters.append({"clusterId": cluster_id, "offset": offset, "directories": list(members)})
    if n_unidentified and len(ends) > 1:
        context.warn(
            f"fleet: {n_unidentified} of {len(ends)} directories do not say of which cluster"
            " they are: not compared"
        )
    n_rows = 0
    if shape is not None:
        n_rows = write_records(context, shape, VERIFY_FIELDS, records)
    elif "--json" in parsed.switches:
        write_json(context, {"clusters": clusters})
    else:
        header = ("CLUSTER", "OFFSET", "CHECKSUM", "VERDICT", "NAME")
        write_lines(context, list(table(header, lines, {0, 2, 3})))
    is_sound = not {DIFFERS, UNKNOWN}.intersection(verdicts)
    return status_of(parsed, n_rows, ExitCode.OK if is_sound else ExitCode.FAILED)


def _records(
    cluster_id: str | int | None, offset: int | None, members: Sequence[Row]
) -> Iterator[Record]:
    for member in members:
        yield {
            "cluster": member["name"],
            "cluster_id": cluster_id,
            "offset": offset,
            "last_offset": member["lastOffset"],
            **{key: member[key] for key in ("checksum", "verdict", "directory", "error")},
        }


def _group(row: Row) -> str:
    """What a directory is compared with: those of its cluster, else nothing but itself."""
    cluster_id = row["clusterId"]
    return f"id {cluster_id}" if cluster_id is not None else f"~ {row['name']}"


def common_offsets(ends: Sequence[Row]) -> dict[str, int]:
    """The smallest last offset of each group that has one."""
    common: dict[str, int] = {}
    for row in ends:
        offset = row["offset"]
        if isinstance(offset, int):
            group = _group(row)
            common[group] = min(common.get(group, offset), offset)
    return common


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """A word for each directory of a cluster."""
    digests = Counter(row["checksum"] for row in rows if row.get("checksum") is not None)
    ranked = digests.most_common(2)
    has_most = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][1] > ranked[1][1])
    told = []
    for row in rows:
        checksum = row.get("checksum")
        if checksum is None:
            told.append(UNKNOWN)
        elif len(rows) == 1 or digests.total() == 1:
            told.append(ALONE)
        else:
            told.append(EQUAL if has_most and checksum == ranked[0][0] else DIFFERS)
    return told


def _ends(context: Context) -> list[Row]:
    """Where each directory ends."""
    from metashell.fleet.rows import last_offset, last_offset_of

    fleet = context.fleet
    if fleet is None:
        from metashell.fleet import unique_names

        source = context.needs_source()
        (name,) = unique_names([(source.path, source.cluster_id)])
        rows: list[Row] = [
            {"name": name, "directory": source.path, "error": None, **last_offset_of(source)}
        ]
    else:
        rows = fleet.compute(last_offset, last_offset_of, stop=lambda: stop_if_cancelled(context))
    for row in rows:
        if row["error"] is None and row["offset"] is None:
            row["error"] = "it holds no record"
    return rows


def _checksums(
    context: Context, ends: Sequence[Row], common: dict[str, int]
) -> dict[str, dict[str, str | int | None]]:
    """What was computed of each directory that has an end, by name."""
    from metashell.fleet.rows import checksum_at, checksum_of

    offsets = {str(row["name"]): common[_group(row)] for row in ends if row["offset"] is not None}
    fleet: FleetSource | None = context.fleet
    if fleet is None:
        out: dict[str, dict[str, str | int | None]] = {}
        for name, offset in offsets.items():
            try:
                out[name] = {**checksum_of(context.needs_source(), offset), "error": None}
            except MetashellError as error:
                out[name] = {"error": error.message}
        return out
    rows = fleet.compute(
        checksum_at,
        checksum_of,
        lambda member: (offsets[member.name],),
        members=[fleet.members[name] for name in offsets],
        stop=lambda: stop_if_cancelled(context),
    )
    return {str(row["name"]): {key: row.get(key) for key in ("checksum", "error")} for row in rows}
