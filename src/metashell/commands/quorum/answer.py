"""The answer of ``quorum``: rows, and a text for people."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import shown, write_lines
from metashell.commands.quorum.columns import EPOCHS, STATUS, TABLES
from metashell.commands.quorum.report import Summary, epochs_of, summary_of
from metashell.commands.quorum.words import age_text, quorum_lines, spans
from metashell.commands.rows.columns import CellKind
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.rows.stream import cells
from metashell.commands.shared.wrapped import wrapped
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.fs.node import JsonValue
from metashell.image.quorum_members import Epoch
from metashell.schema.timestamps import iso_time

_UNKNOWN = "-"

_MEMBER_HEADERS: Final = (
    ("NodeId", "id"),
    ("DirectoryId", "directory_id"),
    ("LogEndOffset", "log_end_offset"),
    ("Lag", "lag"),
    ("LastFetch", "last_fetch_time"),
    ("Age", "last_fetch_age_ms"),
    ("LastCaughtUp", "last_caught_up_time"),
    ("Age", "last_caught_up_age_ms"),
    ("Status", "status"),
    ("Endpoints", "endpoints"),
)
"""(header, column of the rows), as Kafka's own tool has them."""

_AGE_OF: Final = {"last_fetch_age_ms": "LastFetch", "last_caught_up_age_ms": "LastCaughtUp"}

_EPOCH_HEADERS: Final = ("Epoch", "StartOffset", "Leader", "Time")

_COLUMNS: Final = {table.asked_by: table.columns for table in TABLES}

_MEMBER_COLUMNS: Final = {column.name: column for column in _COLUMNS[""]}


def answer(query: RowsQuery) -> None:
    """A row for each node or leader epoch, or one for the quorum."""
    source, parsed = query.context.needs_source(), query.parsed
    if EPOCHS in parsed.switches:
        epochs, notes = epochs_of(source)
        query.add(_epoch_mappings(epochs, query.now_ms or source.image.provenance.timestamp_ms))
        query.status, remarks = _of_epochs(epochs, notes)
    else:
        summary = summary_of(source)
        is_status = STATUS in parsed.switches
        live = None if source.newest.live is None else source.newest.live.status()
        is_now = source.moment_offset is None
        query.verdict = tuple(quorum_lines(summary, live, is_now=is_now))
        query.add([_status_mapping(summary)] if is_status else _mappings(summary))
        query.status, remarks = _of_summary(summary)
    query.remarks += remarks


def write_text(context: Context, parsed: Parsed) -> int:
    """Lines about the quorum and its nodes, or about leader epochs."""
    source = context.needs_source()
    if EPOCHS in parsed.switches:
        epochs, notes = epochs_of(source)
        if epochs:
            write_table(context, _epochs_table(epochs, context))
        status, remarks = _of_epochs(epochs, notes)
    else:
        summary = summary_of(source)
        write_lines(context, _lines(context, summary))
        if summary.members:
            table = _members(summary, context, ages_only="-h" in parsed.switches)
            context.out.write("\n")
            write_table(context, table)
        status, remarks = _of_summary(summary)
    for remark in remarks:
        context.warn(escape(f"quorum: {remark}"))
    return status


def _of_epochs(epochs: Sequence[Epoch], notes: Sequence[str]) -> tuple[int, list[str]]:
    """The exit status, and what is told after leader epochs."""
    return _outcome(notes, is_known=bool(epochs), is_whole=not notes)


def _of_summary(summary: Summary) -> tuple[int, list[str]]:
    """The exit status and the messages after a summary."""
    known = (summary.leader_id, summary.leader_epoch, summary.members or None)
    return _outcome(
        (*summary.notes, *map(_finding_text, summary.disagreements)),
        is_known=any(part is not None for part in known),
        is_whole=summary.is_whole,
    )


def _outcome(notes: Sequence[str], *, is_known: bool, is_whole: bool) -> tuple[int, list[str]]:
    if is_known:
        return ExitCode.OK if is_whole else ExitCode.FAILED, [*notes]
    return ExitCode.FAILED, [*notes, "the source says nothing of the quorum"]


def _finding_text(finding: Mapping[str, JsonValue]) -> str:
    file = "" if finding["file"] is None else f"{finding['file']}: "
    return f"{finding['severity']} {finding['code']}: {file}{finding['message']}"


def _lines(context: Context, summary: Summary) -> Iterator[str]:
    """The lines about the quorum as a whole; a terminal wraps long ones."""
    origin = summary.origin_text
    if summary.as_of_ms is not None:
        origin += f", {iso_time(summary.as_of_ms)}"
        if summary.now_ms is not None:
            origin += f" ({age_text(int(time.time() * 1000) - summary.as_of_ms)} ago)"
    fields = {
        "ClusterId": summary.cluster_id,
        "LeaderId": summary.leader_id,
        "LeaderEpoch": summary.leader_epoch,
        "LogEpoch": None if summary.log_end is None else summary.log_end.epoch,
        "LogEndOffset": None if summary.log_end is None else summary.log_end.offset,
        "HighWatermark": summary.high_watermark,
        "MaxFollowerLag": summary.max_lag,
        "MaxFollowerLagTimeMs": summary.max_lag_ms,
        "kraft.version": summary.kraft_version,
        "From": origin,
    }
    indent = 24
    room = max(context.out.width - indent, indent)
    for name, value in fields.items():
        text = shown(context, _or_dash(value))
        lines = wrapped(text, room) if context.out.is_terminal else [text]
        for i, line in enumerate(lines):
            yield f"{'' if i else name + ':':<{indent}}{line}"


def _members(summary: Summary, context: Context, *, ages_only: bool) -> Table:
    """A row for each voter and observer."""
    rows = list(_mappings(summary))
    columns = []
    for header, name in _MEMBER_HEADERS:
        if ages_only and name.endswith("_time"):
            continue
        column = _MEMBER_COLUMNS[name]
        values = [row[name] for row in rows]
        if name.endswith("_age_ms"):
            texts = pa.array([None if v is None else age_text(v) for v in values], pa.string())
            age_header = _AGE_OF[name] if ages_only else header
            columns.append((replace(column, kind=CellKind.TEXT), texts, age_header))
        else:
            columns.append((column, cells(column.kind, values), header))
    return Table.of_columns(columns, short=context.out.is_terminal)


def _epochs_table(epochs: Sequence[Epoch], context: Context) -> Table:
    """A row for each leader epoch."""
    rows = list(_epoch_mappings(epochs, None))
    columns = [
        (column, cells(column.kind, [row[column.name] for row in rows]), header)
        for header, column in zip(_EPOCH_HEADERS, _COLUMNS[EPOCHS], strict=False)
    ]
    return Table.of_columns(columns, short=context.out.is_terminal)


def _age(summary: Summary, at: int | None) -> int | None:
    return None if at is None or summary.now_ms is None else max(summary.now_ms - at, 0)


def _or_dash(value: object) -> str:
    return _UNKNOWN if value is None else str(value)


def _status_mapping(summary: Summary) -> RowMapping:
    return {
        "cluster_id": summary.cluster_id,
        "leader": summary.leader_id,
        "epoch": summary.leader_epoch,
        "log_epoch": None if summary.log_end is None else summary.log_end.epoch,
        "log_end_offset": None if summary.log_end is None else summary.log_end.offset,
        "high_watermark": summary.high_watermark,
        "max_follower_lag": summary.max_lag,
        "max_follower_lag_ms": summary.max_lag_ms,
        "kraft_version": summary.kraft_version,
        "origin": summary.origin,
        "time": summary.as_of_ms,
    }


def _mappings(summary: Summary) -> Iterator[RowMapping]:
    """A row for each node."""
    for member, status in summary.members:
        end = summary.log_end if summary.has_log(member) else None
        yield {
            "id": member.id,
            "directory_id": member.directory_id,
            "log_epoch": None if end is None else end.epoch,
            "log_end_offset": member.log_end_offset if end is None else end.offset,
            "lag": member.lag,
            "last_fetch_time": member.last_fetch_ms,
            "last_fetch_age_ms": _age(summary, member.last_fetch_ms),
            "last_caught_up_time": member.last_caught_up_ms,
            "last_caught_up_age_ms": _age(summary, member.last_caught_up_ms),
            "status": status,
            "endpoints": member.endpoints,
            "only_in": member.only_in,
        }


def _epoch_mappings(epochs: Sequence[Epoch], now_ms: int | None) -> Iterator[RowMapping]:
    """A row for each leader epoch; the last one lasts until now."""
    lasted = spans([*(epoch.timestamp_ms for epoch in epochs), now_ms])
    offsets = spans([*(epoch.start_offset for epoch in epochs), None])
    for epoch, lasted_ms, n_offsets in zip(epochs, lasted, offsets, strict=True):
        yield {
            "epoch": epoch.epoch,
            "start_offset": epoch.start_offset,
            "leader": epoch.leader,
            "time": epoch.timestamp_ms,
            "lasted_ms": lasted_ms,
            "offsets": n_offsets,
        }
