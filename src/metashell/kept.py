"""Directories opened from what the cache keeps of them, with what came behind it decoded anew."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.cache.place import cache_directory
from metashell.log.directory import find_metadata_directory
from metashell.source import Settings, Source

if TYPE_CHECKING:
    from metashell.cache import CachedLog
    from metashell.condensed_source import Condensed, CondensedSource
    from metashell.log.places import Place


def open_kept(path: str, settings: Settings) -> Source | None:
    """Open a directory from the cache; None where nothing of use is kept.

    Secrets are not kept, nor is where a strict replay would end: with such settings there is
    nothing of use.

    Raises:
        SourceError: It is no metadata directory, or can't be read.
    """
    if settings.show_secrets or settings.strict or not os.path.isdir(cache_directory()):
        return None
    return _open(find_metadata_directory(path), settings)


def _open(place: Place, settings: Settings) -> CondensedSource | None:
    from metashell.cache import open_cached

    cached = open_cached(place, schemas=settings.schemas, committed_only=settings.committed_only)
    if cached is None:
        return None
    from metashell.condensed_source import CondensedSource
    from metashell.log.changed import signature

    before = signature(place)

    def open_exact() -> Source:
        from metashell.opening import open_with

        return open_with(place, settings)

    def refresh(source: Source) -> Source:
        return source if signature(place) == before else _open(place, settings) or open_exact()

    return CondensedSource(
        cached.plan,
        lambda: _finished(cached, place, settings),
        settings,
        directory=place,
        open_exact=open_exact,
        refresh=refresh,
    )


def _finished(cached: CachedLog, place: Place, settings: Settings) -> Condensed:
    """What is kept and what came behind it; kept in turn where that got much."""
    from metashell.cache import store
    from metashell.image.condensing import condense_place, condense_split
    from metashell.log.splits import SplitError

    how = cached.how
    try:
        log = cached.finish(condense_split(split, how) for split in cached.plan.splits)
    except SplitError:
        return condense_place(
            place, schemas=settings.schemas, committed_only=settings.committed_only
        )
    if cached.is_stale:
        store(place, log, how, committed_only=settings.committed_only)
    return log
