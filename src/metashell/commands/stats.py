"""``stats``: one page about the log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from metashell.commands.base import Context, Manual, Option
from metashell.commands.options import Parsed, parse_options, refuse_more
from metashell.commands.rows_of import (
    RowTable,
    TabularCommand,
    status_of,
    with_rows,
    write_records,
)
from metashell.commands.stats_rows import TABLES, records_of
from metashell.commands.stats_timeline import timeline_lines
from metashell.commands.survey import (
    Survey,
    one_of,
    share_text,
    size_text,
    table,
    write_json,
    write_lines,
)
from metashell.commands.targets import shown
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from metashell.fs.node import JsonValue
    from metashell.image.usage import FileUsage, Usage

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


class Stats(TabularCommand):
    """Figures about the log."""

    name = "stats"
    summary = "Show figures about the log: files, types, hours, busiest partitions and brokers."
    takes_paths = False
    one_cluster = True
    tables = TABLES
    manual = Manual(
        synopsis=(
            "stats [-h] [--section NAME] [-n N] [--by AXIS] [--checkpoints] [--json|-o FORMAT]"
        ),
        description=(
            "Counts the records of every segment in the directory, as du does, and shows the "
            "totals with the share of NoOp records and how often a checkpoint was made; the files; "
            "the records by type; the last hours; the partitions and brokers that most records are "
            "about; the largest batches.\n\n"
            "LEADER and ISR count the changes: of a partition, those that name a leader or an ISR; "
            "of a broker, those that make it leader or have it in the new ISR. A checkpoint's "
            "time and offset are those of the last record that it includes; AGE is the time since "
            "a file's last record. The section timeline, which comes only where --section names "
            "it, divides the log that time travel reaches into N parts equally long in time, or "
            "in offsets with --by offset, and counts the records of each by what they are about; "
            "a batch counts whole, by its last time or offset, and faults are those of batches: "
            "check finds the others. Rows (-o) are those of one section: totals (one row), or "
            "the one that --section names."
        ),
        options=(
            Option(("-h",), "Sizes in KiB, MiB, GiB."),
            Option(("--section",), "Only this part.", "NAME", _SECTIONS),
            Option(
                ("-n",),
                f"N rows in each part; {_DEFAULT_ROWS} if not given, but all files, and "
                f"{_TIMELINE_ROWS} parts of the timeline.",
                "N",
            ),
            Option(("--by",), "What parts of the timeline are equally long in.", "AXIS", _AXES),
            Option(("--checkpoints",), "Count the records of checkpoints too."),
            Option(("--json",), "Print JSON; times are in ms since the epoch."),
        ),
        examples=(
            ("stats", "the whole page"),
            ("stats --section brokers", "who is named by most records"),
            ("stats -n 3 --section batches", "where the three largest batches stand"),
            ("stats --json --section files", "checkpoints and segments, for scripts"),
            ("stats --section timeline -n 60", "when what was written, in sixty parts"),
            ("stats -o csv --section types", "how many records of each type, as CSV"),
        ),
    )
    manual = with_rows(manual, TABLES)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Count and print."""
        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments)
        if parsed.values.get("--section") == _TIMELINE:
            return self._timeline(context, parsed)
        if "--by" in parsed.values:
            raise UsageError("--by is for the timeline", hint="add --section timeline")
        sections: Sequence[str] = _PAGE
        if "--section" in parsed.values:
            sections = [one_of("--section", parsed.values["--section"], _SECTIONS)]
        shape = self.shape_of(parsed)
        if shape is not None:
            sections = [parsed.values.get("--section", _SECTIONS[0])]
        n_rows = parsed.count("-n")
        limit = n_rows or _DEFAULT_ROWS
        wanted = {by for section, by in _GROUPED_BY.items() if section in sections} | {"type"}
        survey = Survey(context, self.name, wanted, limit if "batches" in sections else 0)
        counts_checkpoints = "--checkpoints" in parsed.switches
        survey.count(checkpoints=counts_checkpoints)
        if "partitions" in sections:
            survey.find_names()
        usage = survey.usage
        checkpoints = [file for file in usage.files if file.is_checkpoint]
        if not counts_checkpoints and {"totals", "files"} & set(sections):
            checkpoints += survey.describe_checkpoints()
        page = _Page(usage, checkpoints, limit, n_rows)
        if shape is not None:
            found = records_of(sections[0], page.values(sections[0]))
            fields = self.table_of(parsed).fields
            n_written = write_records(context, shape, fields, found)
            return status_of(parsed, n_written, survey.status)
        if "--json" in parsed.switches:
            write_json(context, {name: page.values(name) for name in sections})
            return survey.status
        lines: list[str] = []
        for name in sections:
            if len(sections) > 1:
                lines += ["", name] if lines else [name]
            lines += page.lines(context, name, human="-h" in parsed.switches)
        write_lines(context, lines)
        return survey.status

    def _timeline(self, context: Context, parsed: Parsed) -> int:
        """Print the parts of the log."""
        from metashell.commands.timeline import density_of_source, timeline_rows
        from metashell.image.density import Axis

        axis = Axis(one_of("--by", parsed.values.get("--by", _AXES[0]), _AXES))
        density = density_of_source(context.needs_source(), context.cancelled)
        rows = timeline_rows(density, parsed.count("-n") or _TIMELINE_ROWS, axis)
        shape = self.shape_of(parsed)
        if shape is not None:
            found = records_of(_TIMELINE, list(rows))
            fields = self.table_of(parsed).fields
            return status_of(parsed, write_records(context, shape, fields, found), ExitCode.OK)
        if "--json" in parsed.switches:
            write_json(context, {_TIMELINE: list(rows)})
        else:
            write_lines(context, timeline_lines(rows, axis))
        return ExitCode.OK

    def table_of(self, parsed: Parsed) -> RowTable:
        """That of the section."""
        section = parsed.values.get("--section", _SECTIONS[0])
        return TABLES[_SECTIONS.index(one_of("--section", section, _SECTIONS))]


class _Page:
    """What was counted, section by section: values for JSON, lines of them for people."""

    def __init__(
        self, usage: Usage, checkpoints: list[FileUsage], limit: int, file_limit: int | None
    ) -> None:
        self._usage, self._checkpoints, self._limit = usage, checkpoints, limit
        self._segments = [file for file in usage.files if not file.is_checkpoint]
        files = [*checkpoints, *self._segments]
        # By where they end: the last ones are the newest.
        files.sort(key=lambda file: -1 if file.last_offset is None else file.last_offset)
        self._listed = files[-file_limit:] if file_limit else files

    def values(self, section: str) -> JsonValue:
        """A section as JSON: a list, but ``totals`` an object."""
        if section == "totals":
            return self._totals()
        rows = {
            "files": self._files,
            "types": self._types,
            "hours": self._hours,
            "partitions": self._partitions,
            "brokers": self._brokers,
            "batches": self._batches,
        }[section]()
        return list(rows)

    def _totals(self) -> dict[str, JsonValue]:
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
            "batches": sum(file.batches for file in usage.files),
            "noOpRecords": no_ops,
            "noOpBytes": no_op_bytes,
            "recordsBetweenCheckpoints": _mean(offsets),
            "msBetweenCheckpoints": _mean(times),
        }

    def _files(self) -> list[dict[str, JsonValue]]:
        return [
            {
                "name": file.name,
                "kind": "checkpoint" if file.is_checkpoint else "segment",
                "size": file.size,
                "batches": file.batches,
                "records": file.records,
                "firstOffset": file.first_offset,
                "lastOffset": file.last_offset,
                "firstEpoch": file.first_epoch,
                "lastEpoch": file.last_epoch,
                "firstTimestamp": file.first_ms,
                "lastTimestamp": file.last_ms,
                "faults": len(file.faults),
            }
            for file in self._listed
        ]

    def _types(self) -> list[dict[str, JsonValue]]:
        return [
            {"type": self._usage.type_name(key), "records": records, "bytes": n_bytes}
            for key, n_bytes, records in self._usage.tallies["type"].by_records(self._limit)
        ]

    def _hours(self) -> list[dict[str, JsonValue]]:
        from metashell.image.usage import hour_name

        return [
            {"hour": hour_name(key), "records": records, "bytes": n_bytes}
            for key, n_bytes, records in self._usage.tallies["hour"].by_key()[-self._limit :]
        ]

    def _partitions(self) -> list[dict[str, JsonValue]]:
        found: list[dict[str, JsonValue]] = []
        amounts = self._usage.tallies["partition"].by_records(self._limit)
        for key, n_bytes, records, leader, isr in amounts:
            row = self._usage.partition_row(key, n_bytes, records)
            found.append(
                {
                    "partition": row.name,
                    "topicId": row.topic_ids[0],
                    "records": records,
                    "bytes": n_bytes,
                    "leaderChanges": leader,
                    "isrChanges": isr,
                }
            )
        return found

    def _brokers(self) -> list[dict[str, JsonValue]]:
        tallies = self._usage.tallies
        return [
            {
                "broker": key,
                "records": records,
                "bytes": n_bytes,
                "leaderChanges": tallies["broker-leader"].amounts(key)[1],
                "isrChanges": tallies["broker-isr"].amounts(key)[1],
            }
            for key, n_bytes, records in tallies["broker"].by_records(self._limit)
        ]

    def _batches(self) -> list[dict[str, JsonValue]]:
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
        rows = self.values(section)
        assert isinstance(rows, list)
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
        return list(table([_HEADINGS.get(field, field.upper()) for field in fields], cells))

    def _total_lines(self, *, human: bool) -> list[str]:
        usage, totals = self._usage, self._totals()
        n_records = usage.n_records
        no_ops, no_op_bytes = totals["noOpRecords"], totals["noOpBytes"]
        assert isinstance(no_ops, int)
        assert isinstance(no_op_bytes, int)
        n_batches = sum(file.batches for file in usage.files)
        lines = [
            f"{_plural(n_records, 'record')} in {n_batches} batch{'' if n_batches == 1 else 'es'}"
            f" of {_plural(len(usage.files), 'file')},"
            f" {size_text(usage.n_bytes, human=human)}{'' if human else ' bytes'}",
            f"{_plural(no_ops, 'NoOp record')}: {share_text(no_ops, n_records)} of the records,"
            f" {share_text(no_op_bytes, usage.n_bytes)} of the bytes",
            _plural(len(self._checkpoints), "checkpoint"),
        ]
        between, ms = totals["recordsBetweenCheckpoints"], totals["msBetweenCheckpoints"]
        if between is not None:
            lines[-1] += f", {between} records apart on average"
        if isinstance(ms, int):
            lines[-1] += f", {_duration(ms)} of time"
        return lines

    def _file_lines(self, *, human: bool) -> list[str]:
        from metashell.schema.times import iso_time

        now = int(time.time() * 1000)
        rows = []
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
                    "-" if file.last_ms is None else _duration(now - file.last_ms),
                    file.name,
                )
            )
        header = ("BYTES", "BATCHES", "RECORDS", "OFFSETS", "EPOCHS", "FIRST", "LAST", "AGE")
        return list(table((*header, "FILE"), rows))

    def _hour_lines(self, *, human: bool) -> list[str]:
        found = self._usage.tallies["hour"].by_key()[-self._limit :]
        from metashell.image.usage import hour_name

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
        return list(table(("HOUR", "RECORDS", "BYTES", ""), rows, left={0}))


_COLUMNS = {
    "types": ("records", "bytes", "type"),
    "partitions": ("records", "bytes", "leaderChanges", "isrChanges", "partition"),
    "brokers": ("records", "bytes", "leaderChanges", "isrChanges", "broker"),
    "batches": ("bytes", "records", "offset", "pos", "file"),
}
_HEADINGS = {"leaderChanges": "LEADER", "isrChanges": "ISR"}


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


COMMAND = Stats()
