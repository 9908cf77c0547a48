"""``stats``: one page about the log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from metashell.commands.framework.columns import table_lines
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of, refuse_more
from metashell.commands.framework.targets import shown
from metashell.commands.framework.unread import status_after, unread_of
from metashell.commands.framework.usage_scan import Survey, share_text, size_text, write_lines
from metashell.commands.rows.columns import Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.stats.rows import TABLES
from metashell.commands.stats.timeline_text import timeline_lines
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.log.unread import Unread
    from metashell.records.density import Axis
    from metashell.records.usage import FileUsage, Usage

_PAGE = ("totals", "files", "types", "hours", "partitions", "brokers", "batches")
_TIMELINE = "timeline"
_SECTIONS = (*_PAGE, _TIMELINE)
_GROUPED_BY = {"types": "type", "hours": "hour", "partitions": "partition", "brokers": "broker"}
_DEFAULT_ROWS = 10
_TIMELINE_ROWS = 40
_AXES = ("time", "offset")
_BAR = 40
_NO_OP = 20
"""Api key of NoOpRecord."""


class StatsCommand(RowsCommand):
    """Figures about the log."""

    group = "history"
    name = "stats"
    summary = "Show figures about the log: files, types, hours, busiest partitions and brokers."
    takes_paths = False
    one_cluster = True
    tables = TABLES
    has_text = True
    own_options = frozenset({"-n", "--limit"})
    manual = Manual(
        synopsis=("stats [-h] [--section NAME] [-n N] [--by AXIS] [--checkpoints] [-o FORMAT]"),
        description=(
            "Counts the records of every segment in the directory, as `du` does. Shows the totals, "
            "the share of NoOp records, and how often a checkpoint was made. Shows the files, the "
            "records by type, the last hours and the largest batches. Shows the partitions and "
            "brokers with the most records.\n\n"
            "LEADER and ISR count changes. For a partition: records that name a leader or an ISR. "
            "For a broker: records that make it leader or put it into the ISR. A checkpoint's time "
            "and offset are those of the last record in it. AGE is the time from a file's last "
            "record to the last record of the log, or to now on a live quorum.\n\n"
            "`--section timeline` divides the log into N parts of equal time, or of equal offsets "
            "with --by offset. It counts the records of each part by subject. A batch counts "
            "whole, by its last time or offset. The timeline counts faults of batches; `check` "
            "finds all faults.\n\n"
            "Rows (-o) are those of one section: the totals, or the section that --section names."
        ),
        options=(
            Option(("-h",), "Print sizes in KiB, MiB, GiB."),
            Option(("--section",), "Print only this section.", "NAME", _SECTIONS),
            Option(
                ("-n", "--limit"),
                f"Print N rows of each section. Default: {_DEFAULT_ROWS} rows, all files, and "
                f"{_TIMELINE_ROWS} parts of the timeline.",
                "N",
            ),
            Option(("--by",), "Divide the timeline by time (default) or offset.", "AXIS", _AXES),
            Option(("--checkpoints",), "Count the records of checkpoints too."),
        ),
        examples=(
            ("stats", "the whole page"),
            ("stats --section brokers", "the brokers with the most records"),
            ("stats -n 3 --section batches", "the three largest batches"),
            ("stats --json --section files", "checkpoints and segments, for scripts"),
            ("stats --section timeline -n 60", "what was written when, in sixty parts"),
            ("stats -o csv --section types", "how many records of each type, as CSV"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Count and print."""
        refuse_more(self, parsed.arguments)
        section = one_of("--section", parsed.values.get("--section", _SECTIONS[0]), _SECTIONS)
        if "--by" in parsed.values and section != _TIMELINE:
            raise UsageError("--by needs --section timeline", hint="add --section timeline")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """The rows of one section."""
        section = query.parsed.values.get("--section", _SECTIONS[0])
        if section == _TIMELINE:
            rows, _, unread = self._timeline(query.context, query.parsed)
            query.add(rows)
            query.status = status_after(query.context, self.name, unread)
            return
        page, query.status = self._page(query.context, query.parsed, [section])
        query.add(page.rows(section))

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """The whole page, or a section of it."""
        section = parsed.values.get("--section")
        if section == _TIMELINE:
            rows, axis, unread = self._timeline(context, parsed)
            write_lines(context, timeline_lines(rows, axis))
            return status_after(context, self.name, unread)
        sections = _PAGE if section is None else [section]
        page, status = self._page(context, parsed, sections)
        lines: list[str] = []
        for name in sections:
            if len(sections) > 1:
                lines += ["", name] if lines else [name]
            lines += page.lines(context, name, human="-h" in parsed.switches)
        write_lines(context, lines)
        return status

    def _page(self, context: Context, parsed: Parsed, sections: Sequence[str]) -> tuple[_Page, int]:
        """What is counted for some sections, and the exit status."""
        n_rows = parsed.count("-n")
        limit = n_rows or _DEFAULT_ROWS
        grouped_by = {by for section, by in _GROUPED_BY.items() if section in sections} | {"type"}
        survey = Survey(context, self.name, grouped_by, limit if "batches" in sections else 0)
        counts_checkpoints = "--checkpoints" in parsed.switches
        survey.count(checkpoints=counts_checkpoints)
        if "partitions" in sections:
            survey.find_names()
        usage = survey.usage
        checkpoints = [file for file in usage.files if file.is_checkpoint]
        if not counts_checkpoints and {"totals", "files"} & set(sections):
            checkpoints += survey.describe_checkpoints()
        from metashell.sources.log_clock import clock_of

        ends_ms = clock_of(context.needs_source().newest).origin_ms
        return _Page(usage, checkpoints, limit, n_rows, ends_ms), survey.status

    def _timeline(self, context: Context, parsed: Parsed) -> tuple[list[RowMapping], Axis, Unread]:
        """The parts of the log, what they are equally long in, and what of it was not read."""
        from metashell.commands.stats.timeline import density_of_source, timeline_rows
        from metashell.records.density import Axis

        axis = Axis(one_of("--by", parsed.values.get("--by", _AXES[0]), _AXES))
        n = parsed.count("-n") or _TIMELINE_ROWS
        source = context.needs_source()
        density = density_of_source(source, context.cancelled)
        rows = timeline_rows(density, n, axis, source.registry)
        return rows, axis, unread_of(density.faults, source.log)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """That of the section."""
        section = parsed.values.get("--section", _SECTIONS[0])
        return TABLES[_SECTIONS.index(one_of("--section", section, _SECTIONS))].columns


class _Page:
    """What was counted, section by section: rows, and lines of them for people."""

    def __init__(
        self,
        usage: Usage,
        checkpoints: list[FileUsage],
        limit: int,
        file_limit: int | None,
        ends_ms: int | None,
    ) -> None:
        self._ends_ms = ends_ms
        self._usage, self._checkpoints, self._limit = usage, checkpoints, limit
        self._segments = [file for file in usage.files if not file.is_checkpoint]
        files = [*checkpoints, *self._segments]
        # By where they end: the last ones are the newest.
        files.sort(key=lambda file: -1 if file.last_offset is None else file.last_offset)
        self._listed = files[-file_limit:] if file_limit else files

    def rows(self, section: str) -> Sequence[RowMapping]:
        """The rows of a section."""
        return {
            "totals": lambda: [self._totals()],
            "files": self._files,
            "types": self._types,
            "hours": self._hours,
            "partitions": self._partitions,
            "brokers": self._brokers,
            "batches": self._batches,
        }[section]()

    def _totals(self) -> RowMapping:
        usage = self._usage
        no_op_bytes, no_ops = usage.tallies["type"].amounts(_NO_OP)
        # Not the zero checkpoint, which is no state of the log.
        states = [file for file in self._checkpoints if file.last_offset is not None]
        offsets = [_between(a.last_offset, b.last_offset) for a, b in pairwise(states)]
        times = [_between(a.last_ms, b.last_ms) for a, b in pairwise(states)]
        return {
            "segments": len(self._segments),
            "checkpoints": len(self._checkpoints),
            "records": usage.n_records,
            "bytes": usage.n_bytes,
            **self._range(),
            "batches": sum(file.batches for file in usage.files),
            "no_op_records": no_ops,
            "no_op_bytes": no_op_bytes,
            "records_between_checkpoints": _mean(offsets),
            "ms_between_checkpoints": _mean(times),
        }

    def _range(self) -> dict[str, int | None]:
        """The offsets that are counted."""
        firsts = [f.first_offset for f in self._segments if f.first_offset is not None]
        lasts = [f.last_offset for f in self._segments if f.last_offset is not None]
        return {
            "first_offset": min(firsts, default=None),
            "last_offset": max(lasts, default=None),
        }

    def _files(self) -> list[RowMapping]:
        return [
            {
                "file": file.name,
                "kind": "checkpoint" if file.is_checkpoint else "segment",
                "bytes": file.size,
                "batches": file.batches,
                "records": file.records,
                "first_offset": file.first_offset,
                "last_offset": file.last_offset,
                "first_epoch": file.first_epoch,
                "last_epoch": file.last_epoch,
                "first_time": file.first_ms,
                "last_time": file.last_ms,
                "faults": len(file.faults),
            }
            for file in self._listed
        ]

    def _types(self) -> list[RowMapping]:
        return [
            {"type": self._usage.type_name(key), "records": records, "bytes": n_bytes}
            for key, n_bytes, records in self._usage.tallies["type"].by_records(self._limit)
        ]

    def _hours(self) -> list[RowMapping]:
        from metashell.records.usage import hour_name

        return [
            {"hour": hour_name(key), "records": records, "bytes": n_bytes}
            for key, n_bytes, records in self._usage.tallies["hour"].by_key()[-self._limit :]
        ]

    def _partitions(self) -> list[RowMapping]:
        found: list[RowMapping] = []
        amounts = self._usage.tallies["partition"].by_records(self._limit)
        for key, n_bytes, records, leader, isr in amounts:
            row = self._usage.partition_row(key, n_bytes, records)
            found.append(
                {
                    "topic": row.name.removesuffix(f"-{row.partition}"),
                    "partition": row.partition,
                    "name": row.name,
                    "topic_id": row.topic_ids[0],
                    "records": records,
                    "bytes": n_bytes,
                    "leader_changes": leader,
                    "isr_changes": isr,
                }
            )
        return found

    def _brokers(self) -> list[RowMapping]:
        tallies = self._usage.tallies
        return [
            {
                "broker": key,
                "records": records,
                "bytes": n_bytes,
                "leader_changes": tallies["broker-leader"].amounts(key)[1],
                "isr_changes": tallies["broker-isr"].amounts(key)[1],
            }
            for key, n_bytes, records in tallies["broker"].by_records(self._limit)
        ]

    def _batches(self) -> list[RowMapping]:
        return [
            {
                "file": b.file,
                "pos": b.pos,
                "offset": b.offset,
                "bytes": b.bytes,
                "records": b.records,
            }
            for b in self._usage.batches
        ]

    def lines(self, context: Context, section: str, *, human: bool) -> list[str]:
        """A section as text."""
        if section == "totals":
            return self._total_lines(human=human)
        if section == "files":
            return self._file_lines(human=human)
        if section == "hours":
            return self._hour_lines(human=human)
        rows = self.rows(section)
        fields = _COLUMNS[section]
        cells = [
            [
                size_text(row[field], human=human)
                if field == "bytes"
                else shown(context, str(row[field]))
                for field in fields
            ]
            for row in rows
        ]
        return list(table_lines([_HEADINGS.get(field, field.upper()) for field in fields], cells))

    def _total_lines(self, *, human: bool) -> list[str]:
        usage, totals = self._usage, self._totals()
        n_records = usage.n_records
        no_ops, no_op_bytes = totals["no_op_records"], totals["no_op_bytes"]
        n_batches = sum(file.batches for file in usage.files)
        lines = [
            f"{_plural(n_records, 'record')} in {n_batches} batch{'' if n_batches == 1 else 'es'}"
            f" of {_plural(len(usage.files), 'file')},"
            f" {size_text(usage.n_bytes, human=human)}{'' if human else ' bytes'},"
            f" offsets {_range(totals['first_offset'], totals['last_offset'])}",
            f"{_plural(no_ops, 'NoOp record')}: {share_text(no_ops, n_records)} of the records,"
            f" {share_text(no_op_bytes, usage.n_bytes)} of the bytes",
            _plural(len(self._checkpoints), "checkpoint"),
        ]
        between, ms = totals["records_between_checkpoints"], totals["ms_between_checkpoints"]
        if between is not None:
            lines[-1] += f", {between} records apart on average"
        if isinstance(ms, int):
            lines[-1] += f", {_duration(ms)} of time"
        return lines

    def _file_lines(self, *, human: bool) -> list[str]:
        from metashell.schema.timestamps import iso_time

        rows, ends_ms = [], self._ends_ms
        for file in self._listed:
            rows.append(
                (
                    size_text(file.size, human=human),
                    str(file.batches),
                    str(file.records),
                    _range(file.first_offset, file.last_offset),
                    _range(file.first_epoch, file.last_epoch),
                    "-" if file.first_ms is None else iso_time(file.first_ms),
                    "-" if file.last_ms is None else iso_time(file.last_ms),
                    "-"
                    if file.last_ms is None or ends_ms is None
                    else _duration(ends_ms - file.last_ms),
                    file.name,
                )
            )
        header = ("BYTES", "BATCHES", "RECORDS", "OFFSETS", "EPOCHS", "FIRST", "LAST", "AGE")
        return list(table_lines((*header, "FILE"), rows))

    def _hour_lines(self, *, human: bool) -> list[str]:
        found = self._usage.tallies["hour"].by_key()[-self._limit :]
        from metashell.records.usage import hour_name

        most = max((records for _, _, records in found), default=1)
        rows = [
            (
                hour_name(key),
                str(records),
                size_text(n_bytes, human=human),
                "#" * max(records * _BAR // most, 1),
            )
            for key, n_bytes, records in found
        ]
        return list(table_lines(("HOUR", "RECORDS", "BYTES", ""), rows, left={0}))


_COLUMNS = {
    "types": ("records", "bytes", "type"),
    "partitions": ("records", "bytes", "leader_changes", "isr_changes", "name"),
    "brokers": ("records", "bytes", "leader_changes", "isr_changes", "broker"),
    "batches": ("bytes", "records", "offset", "pos", "file"),
}
_HEADINGS = {"leader_changes": "LEADER", "isr_changes": "ISR", "name": "PARTITION"}


def _range(first: int | None, last: int | None) -> str:
    """``3..9``; ``..9`` where it begins with all before."""
    if last is None:
        return "-"
    if first is None:
        return f"..{last}"
    return str(last) if first == last else f"{first}..{last}"


def _between(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else b - a


def _mean(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) // len(known) if known else None


def _plural(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _duration(ms: int) -> str:
    """A span of time by its two largest units, such as ``3d 4h``."""
    sign, seconds = ("-" if ms < 0 else ""), abs(ms) // 1000
    for size, unit, below, smaller in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if seconds >= size:
            return f"{sign}{seconds // size}{unit} {seconds % size // below}{smaller}"
    return f"{sign}{seconds}s"


COMMAND = StatsCommand()
