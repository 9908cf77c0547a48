"""``log --follow``: what is behind the last record printed, as it is committed or written.

Only what came is read: each file is taken up again where its last sound batch ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.shared.waiting import wait_for_news
from metashell.errors import MetashellError
from metashell.log.changed import Signature, changed_names, signature
from metashell.log.names import list_names
from metashell.places.place import names_in, unreadable

if TYPE_CHECKING:
    from metashell.log.directory import MetadataLog
    from metashell.log.truncation import ReadUpTo
    from metashell.records.filter import Selection
    from metashell.records.stream import LogPath
    from metashell.sources.source import Source

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
