"""Directories that are opened reduced; those of which the cache keeps most."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.log.changed import DirectoryState, list_directory
from metashell.log.splits import Plan, SplitError
from metashell.sources.cache.entries import may_be_cached
from metashell.sources.cache.manifest import ManifestError
from metashell.sources.cache.opening import CachedLog, open_cached
from metashell.sources.directory import open_directory
from metashell.sources.reduced import Reduced, ReducedSource
from metashell.sources.reread import RereadSource

if TYPE_CHECKING:
    from metashell.log.read import Loaded
    from metashell.log.truncation import Truncation
    from metashell.read_settings import ReadSettings
    from metashell.sources.source import Source


class ReducedDirectory(RereadSource, ReducedSource):
    """A directory's newest state, reduced. A later state is opened from the cache, or read.

    Args:
        plan: See `ReducedSource`.
        reduce: See `ReducedSource`.
        settings: How it is reduced and shown.
        state: The directory before it was planned.
        use_cache: Whether the cache is asked for a later state.
    """

    def __init__(
        self,
        plan: Plan,
        reduce_records: Callable[[], Reduced],
        settings: ReadSettings,
        state: DirectoryState,
        *,
        use_cache: bool = True,
    ) -> None:
        place, self._use_cache = state.place, use_cache
        super().__init__(
            plan,
            reduce_records,
            settings,
            directory=place,
            signature=state.signature,
            open_full_log=lambda: open_directory(list_directory(place), settings),
        )

    def _opened(self, now: DirectoryState) -> Source:
        cached = open_cached_source(now, self.settings) if self._use_cache else None
        return cached or open_directory(now, self.settings)

    def truncation_at(self, now: DirectoryState) -> Truncation | None:
        gone, full = super().truncation_at(now), ReducedSource.full_log.known(self)
        # The log itself was opened later, and may have had more.
        return full.truncation_at(now) if gone is None and isinstance(full, RereadSource) else gone


class CachedSource(ReducedDirectory):
    """A directory's newest state, most of which is in the cache.

    Args:
        cached: The cached part.
        settings: How it is reduced and shown.
        state: The directory as it was when it was looked up.
    """

    def __init__(self, cached: CachedLog, settings: ReadSettings, state: DirectoryState) -> None:
        self._cached = cached
        super().__init__(cached.plan, self._finish, settings, state)

    def _files_read(self) -> Loaded:
        if ReducedSource.reduced.is_known(self):
            return self.log.loaded
        from metashell.reduced.table import loaded_of

        try:
            return loaded_of(self._cached.facts)
        except ManifestError:
            # Asking for the log finds the damage, too, and then reads the files.
            return self.log.loaded

    def _finish(self) -> Reduced:
        """Put the cached part and the rest together. If the rest is large, the result is kept."""
        from metashell.reduced.log import reduce_place, reduce_split
        from metashell.sources.cache.writing import store

        cached, place = self._cached, self.log.place
        how = cached.how
        try:
            log = cached.finish(reduce_split(split, how) for split in cached.plan.splits)
        except SplitError:
            return reduce_place(place, self.settings)
        if cached.is_stale:
            store(place, log, how, before=self.log.signature)
        return log


def open_cached_source(state: DirectoryState, settings: ReadSettings) -> CachedSource | None:
    """Open a directory from the cache; None where the cache has nothing of use.

    Args:
        state: The listing from `metashell.log.directory.list_metadata_directory`.
        settings: How it is read and shown.

    Raises:
        SourceError: It can't be read.
    """
    if not may_be_cached(settings):
        return None
    cached = open_cached(state, settings)
    return None if cached is None else CachedSource(cached, settings, state)
