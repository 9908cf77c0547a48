"""``quorum``: who leads, who votes, who follows, and how far each has come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.columns import table_lines
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, refuse_more
from metashell.commands.framework.targets import shown
from metashell.commands.framework.usage_scan import write_lines
from metashell.commands.quorum.rows import EPOCHS, STATUS, TABLES
from metashell.commands.rows.columns import Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.schema.timestamps import iso_time

if TYPE_CHECKING:
    from metashell.commands.quorum.report import Summary
    from metashell.fs.node import JsonValue
    from metashell.image.quorum_members import Epoch

_HUMAN = "-h"
_UNKNOWN = "-"


class QuorumCommand(RowsCommand):
    """Describe the controller quorum."""

    group = "whole cluster"
    name = "quorum"
    summary = "Show the quorum: leader, voters, observers, their lag; or its leader epochs."
    takes_paths = False
    one_cluster = True
    tables = TABLES
    has_text = True
    manual = Manual(
        synopsis="quorum [-h] [--status|--epochs] [-o FORMAT]",
        description=(
            "Says what `kafka-metadata-quorum describe` says with --status and with --replication: "
            "the cluster, the leader and its epoch, the high watermark, how far the slowest voter "
            "is behind; then a line for each voter and observer, the leader first. Lag counts "
            "offsets behind the end of the leader's log. MaxFollowerLagTimeMs is the time between "
            "the moments when the leader and the slowest voter were last caught up. Times are the "
            "leader's, in UTC; an age stands beside each.\n\n"
            "Of a live quorum the leader is asked (DescribeQuorum, which needs DESCRIBE on the "
            "cluster). Where it may not be asked, and of a directory, a file or an earlier state, "
            "the log tells leader, voters and epochs, a node's quorum-state what is missing there, "
            "and - stands for what is not known. A voter of which only the log or only the leader "
            "knows is reported; so is what the node's files and the log say differently, which "
            "/quorum/disagreements has too.\n\n"
            "The exit status is 0, or 1 where nothing is known of the quorum, or a file that tells "
            "of it can't be used."
        ),
        options=(
            Option((_HUMAN, "--human-readable"), "Ages only, instead of times with their ages."),
            Option(
                (STATUS,),
                "With -o: one row about the quorum, instead of one for each node of it.",
            ),
            Option((EPOCHS,), "The leader epochs: where each starts, who led, since when."),
        ),
        examples=(
            ("quorum", "leader, voters and observers"),
            ("quorum --epochs", "who led when"),
            ("quorum --json", "the nodes, for scripts"),
            ("quorum -o csv", "a row for each voter and observer"),
            ("quorum --status -o yaml", "who leads, since which epoch, and the lag"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Gather and print."""
        refuse_more(self, parsed.arguments)
        if STATUS in parsed.switches and not self.asking(parsed):
            raise UsageError(f"{STATUS} goes with -o", hint="quorum alone shows all")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each node or leader epoch, or one for the quorum."""
        from metashell.commands.quorum.report import epochs_of, summary_of

        source, parsed = query.context.needs_source(), query.parsed
        if EPOCHS in parsed.switches:
            epochs, notes = epochs_of(source)
            query.add(map(_epoch_mapping, epochs))
            query.status, remarks = _of_epochs(epochs, notes)
        else:
            summary = summary_of(source)
            query.add(_mappings(summary, parsed))
            query.status, remarks = _of_summary(summary)
        query.remarks += remarks

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Lines about the quorum and its nodes, or about leader epochs."""
        from metashell.commands.quorum.report import epochs_of, summary_of

        source = context.needs_source()
        if EPOCHS in parsed.switches:
            epochs, notes = epochs_of(source)
            if epochs:
                write_lines(context, list(_epoch_lines(epochs)))
            status, remarks = _of_epochs(epochs, notes)
        else:
            summary = summary_of(source)
            lines = _lines(summary, ages_only=_HUMAN in parsed.switches)
            write_lines(context, [shown(context, line) for line in lines])
            status, remarks = _of_summary(summary)
        for remark in remarks:
            context.warn(escape(f"{self.name}: {remark}"))
        return status

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The nodes, the quorum, or the leader epochs."""
        chosen = [flag for flag in (STATUS, EPOCHS) if flag in parsed.switches]
        if len(chosen) > 1:
            raise UsageError(f"{STATUS} and {EPOCHS} exclude each other")
        return next(table.columns for table in TABLES if table.asked_by == "".join(chosen))


def _of_epochs(epochs: Sequence[Epoch], notes: Sequence[str]) -> tuple[int, list[str]]:
    """The exit status, and what is told after leader epochs."""
    return _outcome(notes, is_known=bool(epochs), is_whole=not notes)


def _of_summary(summary: Summary) -> tuple[int, list[str]]:
    """The same after a summary."""
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


# Text.


def _finding_text(finding: Mapping[str, JsonValue]) -> str:
    place = f"{finding['severity']} {finding['code']}: {finding['file']}"
    return f"{place}: {finding['message']}"


def _lines(summary: Summary, *, ages_only: bool) -> list[str]:
    origin = summary.origin_text
    if summary.as_of_ms is not None:
        origin += f", {iso_time(summary.as_of_ms)}"
        if summary.now_ms is not None:
            origin += f" ({age_text(int(time.time() * 1000) - summary.as_of_ms)} ago)"
    fields = {
        "ClusterId": summary.cluster_id,
        "LeaderId": summary.leader_id,
        "LeaderEpoch": summary.leader_epoch,
        "HighWatermark": summary.high_watermark,
        "MaxFollowerLag": summary.max_lag,
        "MaxFollowerLagTimeMs": summary.max_lag_ms,
        "kraft.version": summary.kraft_version,
        "From": origin,
    }
    lines = [f"{name + ':':<24}{_or_dash(value)}" for name, value in fields.items()]
    if summary.members:
        lines += ["", *_member_lines(summary, ages_only=ages_only)]
    return lines


def _member_lines(summary: Summary, *, ages_only: bool) -> list[str]:
    header = ["NodeId", "DirectoryId", "LogEndOffset", "Lag"]
    for name in ("LastFetch", "LastCaughtUp"):
        header += [name] if ages_only else [name, "Age"]
    rows = []
    for member, status in summary.members:
        row = [
            str(member.id),
            _or_dash(member.directory_id),
            _or_dash(member.log_end_offset),
            _or_dash(member.lag),
        ]
        for at in (member.last_fetch_ms, member.last_caught_up_ms):
            age = _age(summary, at)
            text = _UNKNOWN if age is None else age_text(age)
            row += [text] if ages_only else [_UNKNOWN if at is None else iso_time(at), text]
        rows.append([*row, status, ",".join(member.endpoints or ()) or _UNKNOWN])
    left = {1, len(header)}
    return list(table_lines([*header, "Status", "Endpoints"], rows, left=left))


def _epoch_lines(epochs: Sequence[Epoch]) -> list[str]:
    rows = [
        (
            str(epoch.epoch),
            _or_dash(epoch.start_offset),
            _or_dash(epoch.leader),
            _UNKNOWN if epoch.timestamp_ms is None else iso_time(epoch.timestamp_ms),
        )
        for epoch in epochs
    ]
    return list(table_lines(("Epoch", "StartOffset", "Leader", "Time"), rows))


def age_text(ms: int) -> str:
    """A span of time in short: ``232ms``, ``3.2s``, ``5m 3s``, ``2h 7m``, ``3d 4h``."""
    if abs(ms) < 1000:
        return f"{ms}ms"
    sign, seconds = ("-" if ms < 0 else ""), abs(ms) // 1000
    if seconds < 60:
        return f"{sign}{abs(ms) / 1000:.1f}s"
    units = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))
    size, unit, below, smaller = next(u for u in units if seconds >= u[0])
    return f"{sign}{seconds // size}{unit} {seconds % size // below}{smaller}"


def _age(summary: Summary, at: int | None) -> int | None:
    return None if at is None or summary.now_ms is None else max(summary.now_ms - at, 0)


def _or_dash(value: object) -> str:
    return _UNKNOWN if value is None else str(value)


# Rows.


def _mappings(summary: Summary, parsed: Parsed) -> Iterator[RowMapping]:
    if STATUS in parsed.switches:
        yield {
            "cluster_id": summary.cluster_id,
            "leader": summary.leader_id,
            "epoch": summary.leader_epoch,
            "high_watermark": summary.high_watermark,
            "max_follower_lag": summary.max_lag,
            "max_follower_lag_ms": summary.max_lag_ms,
            "kraft_version": summary.kraft_version,
            "origin": summary.origin,
            "time": summary.as_of_ms,
        }
        return
    for member, status in summary.members:
        yield {
            "id": member.id,
            "directory_id": member.directory_id,
            "log_end_offset": member.log_end_offset,
            "lag": member.lag,
            "last_fetch_time": member.last_fetch_ms,
            "last_fetch_age_ms": _age(summary, member.last_fetch_ms),
            "last_caught_up_time": member.last_caught_up_ms,
            "last_caught_up_age_ms": _age(summary, member.last_caught_up_ms),
            "status": status,
            "endpoints": member.endpoints,
            "only_in": member.only_in,
        }


def _epoch_mapping(epoch: Epoch) -> RowMapping:
    return {
        "epoch": epoch.epoch,
        "start_offset": epoch.start_offset,
        "leader": epoch.leader,
        "time": epoch.timestamp_ms,
    }


COMMAND = QuorumCommand()
