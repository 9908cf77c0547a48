"""A coordinator's log that ``log`` prints: which files are read, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.log.files import no_such_file
from metashell.commands.log.logs import PrintedLog
from metashell.log.directory import MetadataLog
from metashell.records.filter import Selection
from metashell.records.keyed_stream import KeyedStream
from metashell.records.stream import LogPath
from metashell.sources.coordinator import CoordinatorSource

_NO_FILTERS: Final = frozenset({"--offset", "--json", "--all", "--batches"})
"""Options with which every record of the offsets asked for is printed."""


class CoordinatorLogPrinted(PrintedLog):
    """A coordinator's log; see `PrintedLog`."""

    compacts = True

    def __init__(self, context: Context, parsed: Parsed, source: CoordinatorSource) -> None:
        super().__init__(context, parsed, source)
        self._coordinator = source
        self._given = {*parsed.switches, *parsed.values}

    def paths(self) -> Sequence[LogPath]:
        log, name = self._coordinator.partition_log, self.request.file
        names = [file.name for file in log.loaded.files]
        if name is not None and name not in names:
            raise no_such_file(name, names)
        return [LogPath(log.path_of(n), n, 0) for n in names if name in (None, n)]

    def stream(self, selection: Selection) -> KeyedStream:
        return KeyedStream(
            self._coordinator.partition_log,
            self._coordinator.record_types,
            selection,
            self.report.fault,
            poll=self._poll,
            reads_anew=self.report.is_following,
        )

    @property
    def is_filtered(self) -> bool:
        return bool(self._given - _NO_FILTERS)

    def look_for_names(self) -> None:
        """Do nothing: records have names of topics."""

    def grew(self, log: MetadataLog) -> None:
        """Do nothing."""
