"""One run of ``log``, whatever log it prints."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.log.logs import MetadataLogPrinted, PrintedLog
from metashell.commands.log.output import LinePrinter, Printer, RowPrinter
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.waiting import wait_for_news
from metashell.errors import MetashellError
from metashell.log.changed import Signature, changed_names, signature
from metashell.log.directory import MetadataLog
from metashell.log.names import list_names
from metashell.log.truncation import ReadUpTo
from metashell.places.place import names_in, unreadable
from metashell.records.filter import MAX_OFFSET, Selection
from metashell.records.stream import Block, FileStream, LogPath
from metashell.records.window import matching_rows
from metashell.sources.source import Source


class LogRun:
    """One run of the command.

    Args:
        context: Where it runs.
        parsed: The command's words.
        query: Takes rows; None for lines.

    Raises:
        UsageError: The words are wrong, or ask for what only another log has.
        NotCoveredError: A point lies outside the log.
    """

    def __init__(self, context: Context, parsed: Parsed, query: RowsQuery | None = None) -> None:
        self._log = _printed(context, parsed)
        self._context, self._query = context, query
        self._request, self._report = self._log.request, self._log.report
        self._n_hidden = 0
        self._left = self._request.limit
        self._readable = self._log.lines(is_json=False)
        self._printer: Printer
        if query is None:
            writer = self._log.lines(is_json=True) if self._request.json else self._readable
            self._printer = LinePrinter(
                context,
                writer,
                batches=self._request.batches,
                repeats=self._request.tail is not None,
            )
        else:
            columns, wanted = self._log.columns, query.columns
            names = [c.name for c in columns if wanted is None or c.name in wanted]
            self._printer = RowPrinter(self._log.rows(names), query, columns)

    def run(self) -> int:
        """Print, then tell what was left out and what is wrong."""
        log, request = self._log, self._request
        paths = log.paths()
        log.look_for_names()
        # Before anything is looked at: what comes from then on is new.
        growth = LogGrowth(self._context, log.source) if request.follow else None
        stream = log.stream(request.selection)
        if request.tail is None:
            self._forward(stream.blocks(paths))
        elif request.tail == 0:
            stream = self._from_now(log.newest(paths))
        else:
            self._backward(stream, paths, request.tail)
        self._tell_the_rest()
        if growth is not None and self._left != 0:
            try:
                self._follow(growth, stream)
            except KeyboardInterrupt:
                # The usual end: what was read before it is not lost.
                self._context.out.flush()
                raise
        self._report.whether_found(request.single, is_filtered=log.is_filtered)
        return self._report.status

    # The two directions.

    def _forward(self, blocks: Iterable[Block[Any]]) -> None:
        for block in blocks:
            stop_if_cancelled(self._context)
            rows, lines = self._lines(block, most=self._left)
            self._printer.write(lines)
            if self._left is not None:
                self._left -= len(lines)
                if not self._left:
                    self._n_hidden += sum(row < rows[-1] for row in block.hidden.tolist())
                    return
            self._n_hidden += len(block.hidden)

    def _from_now(self, paths: Sequence[LogPath]) -> FileStream[Any]:
        """A stream that has come to the end of files, without a record of them."""
        stream = self._log.stream(replace(self._request.selection, first_offset=MAX_OFFSET))
        for path in paths:
            for _ in stream.blocks_of(path, is_last=True):
                stop_if_cancelled(self._context)
        return stream

    def _backward(self, stream: FileStream[Any], paths: Sequence[LogPath], n: int) -> None:
        """From the newest file to as old a one as is needed; each is read forwards."""
        kept: deque[tuple[Any, int]] = deque()
        behind = 0
        for group in reversed(self._log.groups(paths)):
            of_group: deque[tuple[Any, int]] = deque(maxlen=n - len(kept))
            before = 0
            for path in group:
                for block in stream.blocks_of(path, is_last=path is paths[-1]):
                    stop_if_cancelled(self._context)
                    rows, lines = self._lines(block, last=n)
                    hidden = block.hidden.tolist()
                    for row, line in zip(rows, lines, strict=True):
                        n_before = bisect_left(hidden, row)
                        of_group.append((line, before + n_before))
                        before, hidden = 0, hidden[n_before:]
                    before += len(hidden)
            behind += before
            if kept and of_group:
                kept[0] = (kept[0][0], kept[0][1] + before)
                behind -= before
            kept.extendleft(reversed(of_group))
            if len(kept) == n:
                break
        # NoOps before the first line are not among what was asked for.
        self._n_hidden = behind + sum(n_before for _, n_before in list(kept)[1:])
        lines = [line for line, _ in kept]
        if self._left is not None:
            lines = lines[: self._left]
            self._left -= len(lines)
        self._printer.write(lines)

    def _follow(self, growth: LogGrowth, stream: FileStream[Any]) -> None:
        """Print what comes, until nothing more is asked for."""
        printed, selected, ends = self._log, self._request.selection, stream.ends
        self._report.is_following = True
        self._context.out.flush()
        for log in growth.logs():
            printed.grew(log)
            if last_offset(ends) >= selected.last_offset:
                return
            paths, selection = growth.new_paths(log, selected, ends, compacts=printed.compacts)
            stream = printed.stream(selection)
            stream.ends = ends
            self._forward(stream.blocks(paths))
            # Not when the next records come: those may be long in coming.
            self._context.out.flush()
            if self._left == 0:
                return

    def _lines(
        self, block: Block[Any], *, most: int | None = None, last: int | None = None
    ) -> tuple[list[int], Sequence[Any]]:
        """Rows of a block's records, and what is written of each.

        Args:
            block: Some records.
            most: Only so many, the first ones.
            last: Only so many, the last ones.
        """
        records, rows, request = block.records, block.rows, self._request
        if len(rows) and request.single is not None:
            found = self._log.offset_is_among(records, rows, request.single)
            self._report.single_found |= found
        if request.grep is not None:
            rows = matching_rows(partial(self._readable.lines, records), rows, request.grep)
        rows = rows[:most] if last is None else rows[-last:]
        if not len(rows):
            return [], []
        return rows.tolist(), self._printer.items(records, rows)

    def _tell_the_rest(self) -> None:
        self._report.rest()
        if self._n_hidden and self._request.grep is None:
            records = "record" if self._n_hidden == 1 else "records"
            self._context.warn(f"log: {self._n_hidden} NoOp {records} not shown (--all shows them)")


def _printed(context: Context, parsed: Parsed) -> PrintedLog:
    """The log that is open."""
    coordinator, topic = context.needs_source().of_coordinator, context.needs_source().of_topic
    if topic is not None:
        from metashell.commands.log.topic_log import TopicLogPrinted

        return TopicLogPrinted(context, parsed, topic)
    if coordinator is None:
        return MetadataLogPrinted(context, parsed)
    from metashell.commands.log.coordinator_log import CoordinatorLogPrinted

    return CoordinatorLogPrinted(context, parsed, coordinator)


POLL_S = 0.5
"""How often a directory is looked at; a quorum tells of changes itself."""

REMOTE_POLL_S = 5.0
"""Seconds between looks at a store, where each look is a request that costs money."""


class LogGrowth:
    """Says when a log has grown, and what of it is new.

    Args:
        context: Is warned of what a directory loses, and asked whether to stop.
        source: The source to follow, before anything of it was streamed.
    """

    def __init__(self, context: Context, source: Source) -> None:
        self._context, self._source = context, source
        self._is_directory = source.live is None
        # Not what the files are now: they may have changed since the source was opened.
        self._seen: Signature = ()
        self._changed: frozenset[str] = frozenset()
        self._problem: str | None = None

    def logs(self) -> Iterator[MetadataLog]:
        """The log as it is now, at once and after each change. Never ends by itself."""
        yield self._source.log
        while True:
            found = self._directory() if self._is_directory else self._live()
            if found is not None:
                yield found

    def _live(self) -> MetadataLog:
        live = self._source.live
        assert live is not None
        while True:
            generation = live.generation
            newest = self._source.refreshed()
            self._tell(live.status().problem)
            if newest is not self._source:
                self._source = newest
                return newest.log
            wait_for_news(self._context, newest, 1.0, generation)

    def _directory(self) -> MetadataLog | None:
        log = self._source.log
        wait_for_news(self._context, self._source, POLL_S if log.remote is None else REMOTE_POLL_S)
        try:
            now = signature(log.place)
            if now == self._seen:
                return None
            listing = list_names(names_in(log.place))
        except (OSError, MetashellError) as error:
            self._tell(_reason(log.path, error))
            return None
        self._tell(None)
        # At first nothing says which files are what they were when they were read.
        before = self._seen or tuple((segment.name,) for segment in log.listing.segments)
        self._seen, self._changed = now, changed_names(before, now)
        return replace(log, listing=listing)

    def new_paths(
        self, log: MetadataLog, selection: Selection, ends: dict[str, ReadUpTo], *, compacts: bool
    ) -> tuple[list[LogPath], Selection]:
        """The segments with new records, and the selection for them.

        Records that were printed and are gone are reported on stderr; the records now in their
        place are new.

        Args:
            log: The log as it is now.
            selection: The selection that was asked for.
            ends: How far files were read, by name; what is gone is forgotten.
            compacts: Whether older segments are compacted.
        """
        from metashell.log.truncation import forget_truncated
        from metashell.records.stream import segment_paths

        if self._is_directory:
            changed, self._changed = self._changed, frozenset()
            gone = forget_truncated(ends, log.listing, log.path_of, changed, compacts=compacts)
            if gone is not None:
                self._context.warn(f"log: {gone}: what was printed behind that is gone")
        seen = last_offset(ends)
        selection = replace(selection, first_offset=max(selection.first_offset, seen + 1))
        paths = []
        for path in segment_paths(log, selection):
            end = ends.get(path.name)
            after = -1 if end is None else end.last_offset
            if path.base_offset is not None and path.base_offset > seen:
                after = max(after, seen)
            paths.append(replace(path, begin=0 if end is None else end.end, after=after))
        return paths, selection

    def _tell(self, problem: str | None) -> None:
        """Warn of what keeps news from coming, once until it is something else."""
        if problem is not None and problem != self._problem:
            self._context.warn(f"log: {problem}")
        self._problem = problem


def _reason(path: str, error: OSError | MetashellError) -> str:
    found = unreadable(path, error) if isinstance(error, OSError) else error
    return found.message


def last_offset(ends: Mapping[str, ReadUpTo]) -> int:
    """The last offset that was looked at; -1 for none."""
    return max((end.last_offset for end in ends.values()), default=-1)
