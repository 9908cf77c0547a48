"""``log`` of a coordinator's log: its records as lines, JSON lines or rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.log.files import no_such_file
from metashell.commands.log.follow import LogGrowth, last_offset
from metashell.commands.log.options import (
    FOLLOW,
    each,
    glob,
    number,
    offsets,
    plain,
    regex,
    type_key,
)
from metashell.commands.log.output import TABLES, RowPrinter
from metashell.commands.log.report import LogReport
from metashell.commands.shared.period import period_of
from metashell.errors import UsageError
from metashell.log.control import CONTROL_NAMES
from metashell.log.frames import keyed_control
from metashell.records.filter import MAX_OFFSET, Selection, TopicNames
from metashell.records.grep import matching_rows
from metashell.records.keyed_stream import KeyedStream
from metashell.records.lines import json_lines, readable_lines
from metashell.records.rows import RecordRows
from metashell.records.stream import Block, LogPath
from metashell.records.written_lines import whole
from metashell.schema.coordinators import CoordinatorLog

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.commands.rows.query import RowsQuery
    from metashell.log.truncation import ReadUpTo
    from metashell.records.keyed_records import KeyedRecords
    from metashell.schema.arena import I64
    from metashell.schema.coordinators import RecordTypes
    from metashell.sources.coordinator import CoordinatorSource

_OF_METADATA: Final = ("--broker", "--checkpoints")
"""Options that ask for something that only a metadata log has."""
_OF_OTHERS: Final[Mapping[CoordinatorLog, tuple[str, ...]]] = {
    CoordinatorLog.GROUPS: ("--transaction",),
    CoordinatorLog.SHARE: ("--transaction", "--topic"),
    CoordinatorLog.TRANSACTIONS: ("--group",),
}
"""Options that ask for something that the records of another coordinator have."""


class KeyedRun:
    """One run of the command on a coordinator's log.

    Args:
        context: Where it runs.
        source: The log.
        parsed: The command's words.
        query: Takes rows; None for lines.

    Raises:
        UsageError: The words are wrong, or ask for what only a metadata log has.
        NotCoveredError: A point lies outside the log.
    """

    def __init__(
        self,
        context: Context,
        source: CoordinatorSource,
        parsed: Parsed,
        query: RowsQuery | None = None,
    ) -> None:
        given = {*parsed.switches, *parsed.values}
        for flag in _OF_METADATA:
            if flag in given:
                raise UsageError(
                    f"{flag} is for metadata logs, and this is {source.partition_log.partition}",
                    hint="--grep REGEX finds records by what their lines say",
                )
        partition = source.partition_log.partition
        for flag in _OF_OTHERS[partition.log]:
            if flag in given:
                raise UsageError(
                    f"{flag}: the records of {partition} have none",
                    hint="--grep REGEX finds records by what their lines say",
                )
        self._context, self._source, self._query = context, source, query
        self._grep = regex(parsed.values.get("--grep"))
        self._left = parsed.count("--limit")
        self._follows = FOLLOW in parsed.switches
        self._tail = parsed.count("--tail", least=0 if self._follows else 1)
        self._batches = "--batches" in parsed.switches
        self._json = "--json" in parsed.switches
        self._file = parsed.values.get("--file")
        self._selection, self._single = _selection(context, source, parsed)
        self._is_filtered = len(given - {"--offset", "--json", "--all", "--batches"}) > 0
        self._report = LogReport(context, source.log.faults, follows=self._follows)
        self._readable = readable_lines(source.redaction)
        self._json_lines = json_lines(source.redaction)
        self._last_batch = "", -1
        if query is not None:
            columns = [c.name for c in TABLES[0].columns]
            self._rows = RowPrinter(RecordRows(TopicNames(), source.redaction, columns), query)

    def run(self) -> int:
        """Print, then tell what is wrong."""
        stream = self._stream(self._selection)
        # Before anything is looked at: what comes from then on is new.
        growth = LogGrowth(self._context, self._source) if self._follows else None
        self._print(stream.blocks(self._paths()))
        if growth is not None and self._left != 0:
            try:
                self._follow(growth, stream.ends)
            except KeyboardInterrupt:
                # The usual end: what was read before it is not lost.
                self._context.out.flush()
                raise
        self._report.rest()
        self._report.whether_found(self._single, is_filtered=self._is_filtered)
        return self._report.status

    def _stream(self, selection: Selection) -> KeyedStream:
        return KeyedStream(
            self._source.partition_log,
            self._source.record_types,
            selection,
            self._report.fault,
            poll=lambda: stop_if_cancelled(self._context),
            reads_anew=self._report.is_following,
        )

    def _paths(self) -> list[LogPath]:
        """The files of the log, or the one that --file names."""
        log = self._source.partition_log
        names = [file.name for file in log.loaded.files]
        if self._file is None:
            return [LogPath(log.path_of(name), name, 0) for name in names]
        if self._file not in names:
            raise no_such_file(self._file, names)
        return [LogPath(log.path_of(self._file), self._file, 0)]

    def _print(self, blocks: Iterable[Block[KeyedRecords]]) -> None:
        """Write the records of blocks: all, or the last of them."""
        last: deque[Any] | None = None if self._tail is None else deque(maxlen=self._tail)
        for block in blocks:
            stop_if_cancelled(self._context)
            if last is None:
                if self._write(self._items(block)):
                    break
            elif self._tail or self._single is not None:
                last.extend(self._items(block, self._tail))
        if last is not None:
            self._write(list(last))

    def _follow(self, growth: LogGrowth, ends: dict[str, ReadUpTo]) -> None:
        """Print what comes, until nothing more is asked for."""
        self._report.is_following, self._tail = True, None
        self._context.out.flush()
        for log in growth.logs():
            if last_offset(ends) >= self._selection.last_offset:
                return
            paths, selection = growth.new_paths(log, self._selection, ends, compacts=True)
            stream = self._stream(selection)
            stream.ends = ends
            self._print(stream.blocks(paths))
            # Not when the next records come: those may be long in coming.
            self._context.out.flush()
            if self._left == 0:
                return

    def _items(self, block: Block[KeyedRecords], n_last: int | None = None) -> Sequence[Any]:
        """The items to write for the records of a block; only the last ones, where so asked."""
        records, rows = block.records, block.rows
        if self._single is not None:
            found = bool((records.frames.offset[rows] == self._single).any())
            self._report.single_found |= found
        if self._grep is not None:
            rows = matching_rows(partial(self._readable.lines, records), rows, self._grep)
        if n_last is not None:
            rows = rows[len(rows) - min(n_last, len(rows)) :]
        elif self._left is not None:
            rows = rows[: self._left]
        if not len(rows):
            return []
        if self._query is not None:
            return self._rows.items(records, rows)
        writer = self._json_lines if self._json else self._readable
        lines = writer.lines(records, rows)
        return self._with_batches(records, rows, list(lines)) if self._batches else lines

    def _write(self, items: Sequence[Any]) -> bool:
        """Write some of them; returns whether no more are wanted."""
        if self._query is not None:
            self._rows.write(items)
        elif items:
            self._context.write(whole(items))
        if self._left is not None:
            self._left -= len(items)
        return self._left == 0

    def _with_batches(self, records: KeyedRecords, rows: I64, lines: list[str]) -> list[str]:
        """Lines, that of a batch before that of its first record."""
        writer = self._json_lines if self._json else self._readable
        for i, header in writer.batch_lines(records, rows):
            place = records.file_of(int(rows[i])).name, records.batch_position(int(rows[i]))
            if place != self._last_batch:
                self._last_batch = place
                lines[i] = f"{header}\n{lines[i]}"
        return lines


def _selection(
    context: Context, source: CoordinatorSource, parsed: Parsed
) -> tuple[Selection, int | None]:
    """Which records are asked for, and the one offset where it is one."""
    values = parsed.values
    first, last = offsets("--offset", values.get("--offset"))
    single = first if first is not None and first == last else None
    around = number("--context", values.get("--context")) or 0
    low = 0 if first is None else max(first - around, 0)
    high = MAX_OFFSET if last is None else min(last + around, MAX_OFFSET)
    period = period_of(
        source,
        parsed,
        lambda text: context.warn(f"log: {text}"),
        is_open=FOLLOW in parsed.switches,
    )
    if source.moment_offset is not None:
        high = min(high, source.moment_offset)
    if source.end is not None:
        high = min(high, source.end - 1)
    if period.since is not None and period.since.offset is not None:
        low = max(low, period.since.offset)
    if period.until is not None and period.until.offset is not None:
        high = min(high, period.until.offset)
    since_ms = None if period.since is None else period.since.timestamp_ms
    until_ms = None if period.until is None else period.until.timestamp_ms
    if since_ms is None and until_ms is not None:
        # A message of format 0 has no time.
        since_ms = 0
    epochs = offsets("--epoch", values.get("--epoch"))
    wanted, unwanted = each(parsed, "--type"), each(parsed, "--not-type")
    names = _type_names(source.record_types)
    return Selection(
        first_offset=min(low, MAX_OFFSET),
        last_offset=high,
        since_ms=since_ms,
        until_ms=until_ms,
        first_epoch=-(1 << 31) if epochs[0] is None else min(epochs[0], (1 << 31) - 1),
        last_epoch=(1 << 31) - 1 if epochs[1] is None else min(epochs[1], (1 << 31) - 1),
        keys=frozenset(type_key(name, names) for name in wanted) if wanted else None,
        not_keys=frozenset(type_key(name, names) for name in unwanted),
        control="--control" in parsed.switches,
        name=glob(values.get("--group", values.get("--transaction"))),
        topic=glob(values.get("--topic")),
        partition=number("--partition", values.get("--partition")),
    ), single


def _type_names(types: RecordTypes) -> dict[str, tuple[int, str]]:
    """By a type's name without what may be left out: its number and its name."""
    names = {plain(name): (keyed_control(kind), name) for kind, name in CONTROL_NAMES.items()}
    names.update({plain(t.name): (t.number, t.name) for t in types.by_number.values()})
    return names
