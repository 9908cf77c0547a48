"""The page of ``stats``: what was counted, as rows and as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.columns import table_lines
from metashell.commands.shared.usage_scan import share_text, size_text
from metashell.records.counted import Counted, FileUsage, hour_name
from metashell.records.usage import Usage
from metashell.schema.timestamps import iso_time

_BAR = 40
_NO_OP = 20
"""Api key of NoOpRecord."""


class Page:
    """What was counted, section by section: rows, and lines of them for people."""

    def __init__(
        self,
        usage: Counted,
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
        return self._sections()[section]()

    def _sections(self) -> dict[str, Callable[[], Sequence[RowMapping]]]:
        """What makes the rows of each section."""
        return {
            "totals": lambda: [self._totals()],
            "files": self._files,
            "types": self._types,
            "hours": self._hours,
            "partitions": self._partitions,
            "brokers": self._brokers,
            "batches": self._batches,
        }

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
            for key, n_bytes, records, *_ in self._usage.by_records("type", self._limit)
        ]

    def _hours(self) -> list[RowMapping]:
        return [
            {"hour": hour_name(key), "records": records, "bytes": n_bytes}
            for key, n_bytes, records, *_ in self._usage.tallies["hour"].by_key()[-self._limit :]
        ]

    def _partitions(self) -> list[RowMapping]:
        found: list[RowMapping] = []
        assert isinstance(self._usage, Usage)
        amounts = self._usage.by_records("partition", self._limit)
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
            for key, n_bytes, records in self._usage.by_records("broker", self._limit)
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
        fields = self._columns(section)
        cells = [
            [
                size_text(row[field], human=human)
                if field.endswith("bytes")
                else shown(context, str(row[field]))
                for field in fields
            ]
            for row in rows
        ]
        return list(table_lines([_HEADINGS.get(field, field.upper()) for field in fields], cells))

    def _columns(self, section: str) -> Sequence[str]:
        """The columns of a section that are shown to people."""
        return _COLUMNS[section]

    def _total_lines(self, *, human: bool) -> list[str]:
        usage, totals = self._usage, self._totals()
        n_records = usage.n_records
        no_ops, no_op_bytes = totals["no_op_records"], totals["no_op_bytes"]
        lines = [
            self._counted_line(human=human),
            f"{plural(no_ops, 'NoOp record')}: {share_text(no_ops, n_records)} of the records,"
            f" {share_text(no_op_bytes, usage.n_bytes)} of the bytes",
            plural(len(self._checkpoints), "checkpoint"),
        ]
        between, ms = totals["records_between_checkpoints"], totals["ms_between_checkpoints"]
        if between is not None:
            lines[-1] += f", {between} records apart on average"
        if isinstance(ms, int):
            lines[-1] += f", {_duration(ms)} of time"
        return lines

    def _counted_line(self, *, human: bool) -> str:
        """How much was counted."""
        usage, offsets = self._usage, self._range()
        n_batches = sum(file.batches for file in usage.files)
        return (
            f"{plural(usage.n_records, 'record')} in {n_batches}"
            f" batch{'' if n_batches == 1 else 'es'} of {plural(len(usage.files), 'file')},"
            f" {size_text(usage.n_bytes, human=human)}{'' if human else ' bytes'},"
            f" offsets {_range(offsets['first_offset'], offsets['last_offset'])}"
        )

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
                    else _duration(ends_ms - file.last_ms),
                    file.name,
                )
            )
        header = ("BYTES", "BATCHES", "RECORDS", "OFFSETS", "EPOCHS", "FIRST", "LAST", "AGE")
        return list(table_lines((*header, "FILE"), rows))

    def _hour_lines(self, *, human: bool) -> list[str]:
        found = self._usage.tallies["hour"].by_key()[-self._limit :]
        most = max((amounts[2] for amounts in found), default=1)
        rows = [
            (
                hour_name(key),
                str(records),
                size_text(n_bytes, human=human),
                "#" * max(records * _BAR // most, 1),
            )
            for key, n_bytes, records, *_ in found
        ]
        return list(table_lines(("HOUR", "RECORDS", "BYTES", ""), rows, left={0}))


_COLUMNS = {
    "types": ("records", "bytes", "type"),
    "partitions": ("records", "bytes", "leader_changes", "isr_changes", "name"),
    "brokers": ("records", "bytes", "leader_changes", "isr_changes", "broker"),
    "batches": ("bytes", "records", "offset", "pos", "file"),
}
_HEADINGS = {
    "leader_changes": "LEADER",
    "isr_changes": "ISR",
    "name": "PARTITION",
    "superseded_records": "SUPERSEDED",
    "superseded_bytes": "BYTES OF THEM",
}


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


def plural(n: int, what: str) -> str:
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
