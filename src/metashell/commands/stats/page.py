"""The page of ``stats``: what was counted, as rows and as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise

from metashell.answers.usage.usage import FileUsage, Usage, UsageRow
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.columns import table_lines
from metashell.commands.shared.usage_scan import share_text
from metashell.schema.sizes import size_text
from metashell.schema.timestamps import iso_time, span_text

_BAR = 40
GROUPED_BY = {
    "types": "type",
    "hours": "hour",
    "partitions": "partition",
    "brokers": "broker",
    "groups": "group",
    "transactions": "transaction",
    "codecs": "codec",
    "epochs": "epoch",
    "producers": "producer",
}
"""Sections that group records, and by what."""
_NAMES = {"partitions": "name", "transactions": "transactional_id", "producers": "producer_id"}
_TOLD_APART = ("partitions", "brokers", "epochs", "producers")
"""Sections in which more than a name tells what is grouped by."""
"""Columns with the name of what is grouped by, where they are called otherwise."""


class Page:
    """The counts, section by section: rows, and lines of them for people."""

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
        if section == "totals":
            return [self._totals()]
        if section == "files":
            return self._files()
        if section == "batches":
            return [asdict(batch) for batch in self._usage.batches]
        name = _name_column(section)
        return [
            {
                name: row.name,
                "records": row.records,
                "bytes": row.bytes,
                **row.marks,
                **(row.columns if section in _TOLD_APART else {}),
            }
            for row in self._grouped(section)
        ]

    def _grouped(self, section: str) -> Sequence[UsageRow]:
        """The rows with the most records; for hours the last ones."""
        if section == "hours":
            return self._usage.newest_hours(self._limit)
        return self._usage.by_records(GROUPED_BY[section], self._limit)

    def _totals(self) -> RowMapping:
        usage = self._usage
        # Not the zero checkpoint, which is no state of the log.
        states = [file for file in self._checkpoints if file.last_offset is not None]
        offsets = [_between(a.last_offset, b.last_offset) for a, b in pairwise(states)]
        times = [_between(a.last_ms, b.last_ms) for a, b in pairwise(states)]
        return {
            "segments": len(self._segments),
            "checkpoints": len(self._checkpoints) if "no_op_records" in usage.totals else None,
            "records": usage.n_records,
            "bytes": usage.n_bytes,
            **self._range(),
            "batches": sum(file.batches for file in usage.files),
            **usage.totals,
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

    def lines(self, context: Context, section: str, *, human: bool) -> list[str]:
        """A section as text."""
        if section == "totals":
            return self._total_lines(human=human)
        if section == "files":
            return self._file_lines(human=human)
        if section == "hours":
            return self._hour_lines(human=human)
        fields: Sequence[str] = ("bytes", "records", "offset", "pos", "file")
        if section in GROUPED_BY:
            marks = self._usage.marks(GROUPED_BY[section])
            fields = ("records", "bytes", *marks, _name_column(section))
        cells = [
            [
                size_text(row[field], human=human)
                if field.endswith("bytes")
                else shown(context, str(row[field]))
                for field in fields
            ]
            for row in self.rows(section)
        ]
        return list(table_lines([_HEADINGS.get(field, field.upper()) for field in fields], cells))

    def _total_lines(self, *, human: bool) -> list[str]:
        usage, totals = self._usage, self._totals()
        bytes_unit = "" if human else " bytes"
        batches = _plural(totals["batches"], "batch", "batches")
        lines = [
            f"{_plural(usage.n_records, 'record')} in {batches}"
            f" of {_plural(len(usage.files), 'file')},"
            f" {size_text(usage.n_bytes, human=human)}{bytes_unit},"
            f" offsets {_range(totals['first_offset'], totals['last_offset'])}"
        ]
        if "tombstones" in totals:
            superseded = totals["superseded_bytes"]
            return [
                *lines,
                f"{_plural(totals['tombstones'], 'tombstone')},"
                f" {_plural(totals['transactional_records'], 'record')} of transactions,"
                f" {_plural(totals['control_records'], 'control record')}",
                f"{_plural(totals['superseded_records'], 'superseded record')}:"
                f" {size_text(superseded, human=human)}{bytes_unit},"
                f" {share_text(superseded, usage.n_bytes)} of the bytes",
            ]
        if totals["checkpoints"] is None:
            return [
                *lines,
                f"{_plural(totals['transactional_records'], 'record')} of transactions,"
                f" {_plural(totals['control_records'], 'control record')}",
            ]
        checkpoints = _plural(totals["checkpoints"], "checkpoint")
        if totals["records_between_checkpoints"] is not None:
            checkpoints += f", {totals['records_between_checkpoints']} records apart on average"
        if totals["ms_between_checkpoints"] is not None:
            checkpoints += f", {span_text(totals['ms_between_checkpoints'])} of time"
        return [
            *lines,
            f"{_plural(totals['no_op_records'], 'NoOp record')}:"
            f" {share_text(totals['no_op_records'], usage.n_records)} of the records,"
            f" {share_text(totals['no_op_bytes'], usage.n_bytes)} of the bytes",
            checkpoints,
        ]

    def _file_lines(self, *, human: bool) -> list[str]:
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
                    else span_text(ends_ms - file.last_ms),
                    file.name,
                )
            )
        header = ("BYTES", "BATCHES", "RECORDS", "OFFSETS", "EPOCHS", "FIRST", "LAST", "AGE")
        return list(table_lines((*header, "FILE"), rows))

    def _hour_lines(self, *, human: bool) -> list[str]:
        found = self._grouped("hours")
        most = max((row.records for row in found), default=1)
        rows = [
            (
                row.name,
                str(row.records),
                size_text(row.bytes, human=human),
                "#" * max(row.records * _BAR // most, 1),
            )
            for row in found
        ]
        return list(table_lines(("HOUR", "RECORDS", "BYTES", ""), rows, left={0}))


_HEADINGS = {
    "leader_changes": "LEADER",
    "isr_changes": "ISR",
    "name": "PARTITION",
    "superseded_records": "SUPERSEDED",
    "superseded_bytes": "BYTES OF THEM",
}


def _name_column(section: str) -> str:
    return _NAMES.get(section, GROUPED_BY[section])


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


def _plural(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or f'{one}s'}"
