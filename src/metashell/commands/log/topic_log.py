"""A topic's log that ``log`` prints: the headers of its batches, and no record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.log.files import no_such_file
from metashell.commands.log.logs import PrintedLog
from metashell.commands.log.output import BATCHES
from metashell.records.batches import BatchMaker, BatchStream, batch_line, batch_rows
from metashell.records.line_forms import JsonForm
from metashell.records.stream import LogPath, segment_paths

if TYPE_CHECKING:
    from metashell.commands.rows.columns import Column
    from metashell.log.directory import MetadataLog
    from metashell.records.filter import Selection
    from metashell.schema.arena import I64
    from metashell.sources.topic import TopicSource


class TopicLogPrinted(PrintedLog):
    """A topic's log; see `PrintedLog`."""

    compacts = True

    def __init__(self, context: Context, parsed: Parsed, source: TopicSource) -> None:
        super().__init__(context, parsed, source, ": see `check`")
        self._tail = source.tail

    def paths(self) -> Sequence[LogPath]:
        paths = segment_paths(self.source.log, self.request.selection)
        if self.request.file is None:
            return paths
        names = [segment.name for segment in self.source.log.listing.segments]
        if self.request.file not in names:
            raise no_such_file(self.request.file, names)
        return [path for path in paths if path.name == self.request.file]

    def groups(self, paths: Sequence[LogPath]) -> Sequence[Sequence[LogPath]]:
        return [[path] for path in paths]

    def stream(self, selection: Selection) -> BatchStream:
        return BatchStream(self._tail, selection, self.report.fault, poll=self._poll)

    @property
    def columns(self) -> Sequence[Column]:
        return BATCHES.columns

    def lines(self, *, is_json: bool) -> BatchMaker:
        return BatchMaker(JsonForm().batch if is_json else batch_line)

    def rows(self, columns: Sequence[str]) -> BatchMaker:
        return batch_rows(columns)

    def offset_is_among(self, records: Any, rows: I64, offset: int) -> bool:
        header = records.header[rows]
        base = header["base_offset"]
        return bool(((base <= offset) & (offset <= base + header["last_delta"])).any())

    @property
    def is_filtered(self) -> bool:
        return False

    def look_for_names(self) -> None:
        """Do nothing: nothing has the name of a topic."""

    def grew(self, log: MetadataLog) -> None:
        """Do nothing: it is not followed."""
