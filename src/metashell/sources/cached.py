"""Directories opened from what the cache keeps of them, with what came behind it decoded anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.log.changed import DirectoryState, list_directory
from metashell.sources.cache.place import may_be_cached
from metashell.sources.condensed import Condensed, CondensedSource
from metashell.sources.directory import open_directory

if TYPE_CHECKING:
    from metashell.read_settings import ReadSettings
    from metashell.sources.cache import CachedLog
    from metashell.sources.source import Source


class CachedSource(CondensedSource):
    """A directory's newest state, of which the cache keeps most.

    Args:
        cached: What is kept.
        settings: How it is condensed and shown.
        state: The directory as it was when it was looked up.
    """

    def __init__(self, cached: CachedLog, settings: ReadSettings, state: DirectoryState) -> None:
        place = self._place = state.place
        self._before = state.signature
        super().__init__(
            cached.plan,
            lambda: self._finish(cached),
            settings,
            directory=place,
            open_full_log=lambda: open_directory(list_directory(place), settings),
        )

    def refreshed(self) -> Source:
        now = list_directory(self._place)
        if now.signature == self._before:
            return self
        return open_cached_source(now, self.settings) or open_directory(now, self.settings)

    def standing(self) -> Source:
        return self.refreshed()

    def _finish(self, cached: CachedLog) -> Condensed:
        """What is kept and what came behind it; kept in turn where that got much."""
        from metashell.condensed.log import condense_place, condense_split
        from metashell.log.splits import SplitError
        from metashell.sources.cache import store

        how = cached.how
        try:
            log = cached.finish(condense_split(split, how) for split in cached.plan.splits)
        except SplitError:
            return condense_place(self._place, self.settings)
        if cached.is_stale:
            store(self._place, log, how, before=self._before)
        return log


def open_cached_source(state: DirectoryState, settings: ReadSettings) -> CachedSource | None:
    """Open a directory from the cache; None where nothing of use is kept.

    Args:
        state: As `metashell.log.directory.list_metadata_directory` gives it.
        settings: How it is read and shown.

    Raises:
        SourceError: It can't be read.
    """
    if not may_be_cached(settings):
        return None
    from metashell.sources.cache import open_cached

    cached = open_cached(state, settings)
    return None if cached is None else CachedSource(cached, settings, state)
