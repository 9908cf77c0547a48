"""A metadata log that ``log`` prints: which files are read, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.log.files import file_alone, paths_of
from metashell.commands.log.options import FOLLOW, request_of
from metashell.commands.log.output import TABLES
from metashell.commands.rows.columns import Column
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault, FaultKind
from metashell.records.filter import Selection, TopicNames
from metashell.records.lines import json_lines, readable_lines
from metashell.records.stream import (
    FileStream,
    LogPath,
    LogStream,
    records_with_names,
    sources_needed,
)
from metashell.schema.arena import I64
from metashell.sources.source import Source


class PrintedLog(ABC):
    """A log that is printed.

    Args:
        context: Where the command runs.
        parsed: Its words.
        source: The log.
        hint: Where more faults are told.
    """

    def __init__(self, context: Context, parsed: Parsed, source: Source, hint: str = "") -> None:
        self._context, self.source = context, source
        self.request = request_of(context, source, parsed)
        self.names = TopicNames(matcher=self.request.selection.topic)
        self.report = LogReport(context, source.log.faults, follows=self.request.follow, hint=hint)

    compacts: bool
    """Whether older segments are compacted."""

    @abstractmethod
    def paths(self) -> Sequence[LogPath]:
        """The files that are read."""

    def newest(self, paths: Sequence[LogPath]) -> Sequence[LogPath]:
        """The files whose ends may be truncated away."""
        return paths

    def groups(self, paths: Sequence[LogPath]) -> Sequence[Sequence[LogPath]]:
        """The files that are read together where the last records are asked for."""
        return [paths]

    @abstractmethod
    def stream(self, selection: Selection) -> FileStream[Any]:
        """A stream of records."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of its rows."""
        return TABLES[0].columns

    def lines(self, *, is_json: bool) -> Any:
        """Makes its lines; see `LineWriter`."""
        make = json_lines if is_json else readable_lines
        return make(self.source.redaction, self.names)

    def rows(self, columns: Sequence[str]) -> Any:
        """Makes its rows; see `RecordRows`.

        Args:
            columns: The wanted columns.
        """
        from metashell.records.rows import RecordRows

        return RecordRows(self.names, self.source.redaction, columns)

    def offset_is_among(self, records: Any, rows: I64, offset: int) -> bool:
        """Whether the record of an offset is one of some."""
        return bool((records.frames.offset[rows] == offset).any())

    @property
    @abstractmethod
    def is_filtered(self) -> bool:
        """Whether a record may be there that is not printed."""

    @abstractmethod
    def look_for_names(self) -> None:
        """Let the names of topics be found that records are about."""

    @abstractmethod
    def grew(self, log: MetadataLog) -> None:
        """Be told of the log as it is now."""

    def _poll(self) -> None:
        stop_if_cancelled(self._context)


class MetadataLogPrinted(PrintedLog):
    """A metadata log; see `PrintedLog`."""

    compacts = False

    def __init__(self, context: Context, parsed: Parsed) -> None:
        source = context.needs_source()
        if FOLLOW in parsed.switches and source.live is not None:
            source = source.refreshed()
        super().__init__(context, parsed, source, ": see `check`")
        self._segments = set(source.log.listing.segments)

    def paths(self) -> Sequence[LogPath]:
        return paths_of(self.source, self.request)

    def newest(self, paths: Sequence[LogPath]) -> Sequence[LogPath]:
        # With the newest one its end may be truncated away.
        return paths[-2:]

    def groups(self, paths: Sequence[LogPath]) -> Sequence[Sequence[LogPath]]:
        return [[path] for path in paths]

    def stream(self, selection: Selection) -> LogStream:
        noop = self.source.registry.by_name.get("NoOpRecord")
        return LogStream(
            self.source.registry,
            selection,
            self.names,
            self.report.fault,
            poll=self._poll,
            hide=noop.api_key if noop is not None and self.request.hides_noops else None,
            learns_all=self.report.is_following,
        )

    @property
    def is_filtered(self) -> bool:
        selection = self.request.selection
        asks_for_more = selection.by_content or selection.since_ms is not None
        return asks_for_more or self.report.n_faults > 0

    def look_for_names(self) -> None:
        # With --topic, all are known before the first record is looked at.
        request = self.request
        if file_alone(self.source) is None:
            skips = request.selection.skips_batches or request.tail is not None
            skips = skips or request.file is not None or request.checkpoints
            self._look_elsewhere(self.source.log, segments_too=skips)

    def grew(self, log: MetadataLog) -> None:
        if self._segments.isdisjoint(log.listing.segments):
            # It goes on behind a checkpoint, which knows the topics made in the gap.
            self._look_elsewhere(log, segments_too=False)
        self._segments = set(log.listing.segments)

    def _look_elsewhere(self, log: MetadataLog, *, segments_too: bool) -> None:
        """Let names be looked for in a log's files; with --topic, in all that are needed now."""
        names, registry = self.names, self.source.registry
        if names.matcher is None:
            names.elsewhere = records_with_names(log, registry, segments_too=segments_too)
            return
        # Without its name a topic's records would not be found: faults are told of.
        names.elsewhere = records_with_names(
            log, registry, segments_too=segments_too, on_fault=self.report.fault
        )
        for _ in range(sources_needed(log, segments_too=segments_too)):
            for records in next(names.elsewhere, ()):
                self._poll()
                names.learn(records)


_MOST_FAULTS: Final = 20


class LogReport:
    """Tells faults as they are found, some of them one by one.

    Args:
        context: Is warned.
        known: Faults that were told when the source was opened.
        follows: Whether the log is followed: files are then read several times.
        hint: Stands behind the number of faults that were not told one by one.
    """

    def __init__(
        self, context: Context, known: Iterable[Fault], *, follows: bool, hint: str = ""
    ) -> None:
        self._context, self._follows, self._hint = context, follows, hint
        self._told = set(known)
        self.status = ExitCode.OK
        self.n_faults = 0
        self.is_following = False
        """Whether what was there has been printed: a torn batch then is being written."""
        self.single_found = False
        """Whether the one record that was asked for came by."""

    def fault(self, fault: Fault, at_the_end: bool) -> None:
        """Tell a fault, and whether it is at the end of the last file."""
        if not (at_the_end and fault.kind is FaultKind.TORN):
            self.status = ExitCode.FAILED
        elif self.is_following:
            return
        if fault in self._told:
            return
        if self._follows or fault.kind is FaultKind.UNREADABLE:
            self._told.add(fault)
        self.n_faults += 1
        if self.n_faults <= _MOST_FAULTS:
            self._context.warn(escape(f"log: {fault}"))

    def rest(self) -> None:
        """Tell how many faults were not told one by one."""
        if self.n_faults > _MOST_FAULTS:
            self._context.warn(f"log: {self.n_faults - _MOST_FAULTS} more faults{self._hint}")

    def whether_found(self, single: int | None, *, is_filtered: bool) -> None:
        """Tell that no record is at the one offset that was asked for."""
        if single is not None and not self.single_found and not is_filtered:
            self._context.warn(f"log: no record at offset {single}")
            self.status = ExitCode.FAILED
