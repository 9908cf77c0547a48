"""Entries looked up and opened. Looking imports neither numpy nor pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from mmap import mmap
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.changed import DirectoryState
from metashell.log.splits import Plan, plan_tail
from metashell.places.place import Place
from metashell.places.vanished import VanishedError
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.sources.cache.entries import EntryDirectory
from metashell.sources.cache.manifest import Manifest, ManifestError, key_of

if TYPE_CHECKING:
    from metashell.reduced.log import ReducedLog, Reducing, Stretch
    from metashell.reduced.table import FileFacts
    from metashell.schema.model import Registry
    from metashell.sources.cache.lazy_records import LazyLog

_RENEW_BYTES: Final = 8 << 20
_TRIES: Final = 2


def open_cached(
    directory: Place | DirectoryState, settings: ReadSettings = READ_DEFAULTS
) -> CachedLog | None:
    """Look up a metadata directory in the cache.

    Args:
        directory: The place that `metashell.log.directory.find_metadata_directory` found, or its
            listing.
        settings: How it is read. Secrets are not kept, nor is where a strict replay ends.

    Returns:
        The part that need not be read again. None where nothing is kept, or where the files
        changed. None also for an entry that can't be used, which is then removed.
    """
    place = directory.place if isinstance(directory, DirectoryState) else directory
    entry = entry_of(place, settings)
    if entry is None:
        return None
    entry.clean()
    if not entry.exists():
        return None
    for _ in range(_TRIES):
        try:
            return _open(entry, place, settings, directory)
        except FileNotFoundError:
            # Another process renewed the entry, or removed it.
            continue
        except OSError:
            return None
    entry.remove()
    return None


def entry_of(place: Place, settings: ReadSettings) -> EntryDirectory | None:
    """The entry of a directory; None where nobody can tell."""
    try:
        return EntryDirectory.of_key(key_of(text_of(place), settings))
    except OSError:
        return None


def text_of(place: Place) -> str:
    """The name of a place on this machine; never with credentials."""
    return os.path.abspath(place) if isinstance(place, str) else str(place)


def _open(
    entry: EntryDirectory, place: Place, settings: ReadSettings, directory: Place | DirectoryState
) -> CachedLog | None:
    text = entry.read_manifest()
    if text is None:
        return None
    try:
        manifest = Manifest.from_json(text)
        if manifest.place != text_of(place):
            raise ManifestError("it is of another place")
    except ManifestError:
        entry.remove()
        return None
    from metashell.sources.cache.covered import CoveredFiles

    try:
        state = CoveredFiles(directory)
        if not state.still_has(manifest, settings):
            return None
        known = state.known(manifest.files)
        plan = plan_tail(place, state.listing, state.checkpoint, known, settings)
    except (SourceError, VanishedError, KeyError):
        # Whoever reads the directory will find out what is wrong with it.
        return None
    try:
        data = {
            name: entry.map(about.file, about.size)
            for name, about in manifest.groups.items()
            if about.rows
        }
    except ManifestError:
        entry.remove()
        return None
    entry.touch()
    return CachedLog(
        place=place,
        plan=plan,
        settings=settings,
        entry=entry,
        manifest=manifest,
        sizes=state.sizes,
        data=data,
    )


@dataclass(kw_only=True)
class CachedLog:
    """The part of a directory that is in the cache, and the plan for the rest."""

    place: Place
    plan: Plan
    """The plan of the directory as it is now, with the splits that still have to be reduced."""
    settings: ReadSettings
    entry: EntryDirectory
    manifest: Manifest
    sizes: dict[str, int]
    """Bytes of the directory's files."""
    data: dict[str, mmap]
    """The content of the entry's files, by group; not looked at yet."""

    @cached_property
    def how(self) -> Reducing:
        """How the plan's splits have to be reduced."""
        from metashell.reduced.log import Reducing

        checkpoint = self.plan.checkpoint
        return Reducing(
            base=0 if checkpoint is None else checkpoint.end_offset,
            n_checkpoints=0 if checkpoint is None else 1,
            settings=self.settings,
        )

    @cached_property
    def facts(self) -> list[FileFacts]:
        """The facts of the directory's files, from the manifest.

        Raises:
            ManifestError: The manifest is damaged.
        """
        from metashell.sources.cache.lazy_records import file_facts

        return [
            replace(file_facts(file.facts), size=self.sizes[file.name])
            for file in self.manifest.files
        ]

    @property
    def tail_bytes(self) -> int:
        """Bytes that have to be read."""
        return sum(split.end - split.begin for split in self.plan.splits)

    @property
    def is_stale(self) -> bool:
        """Whether so much came behind what is kept that it should be stored anew."""
        covered = sum(file.covered for file in self.manifest.files)
        return self.tail_bytes > max(_RENEW_BYTES, covered // 8)

    def finish(
        self, stretches: Iterable[Stretch] = (), registry: Registry | None = None
    ) -> LazyLog | ReducedLog:
        """Put what is kept and what came behind it together.

        Where what is kept turns out to be damaged it is removed, and all files are read.

        Args:
            stretches: The plan's splits, reduced, in their order.
            registry: Message definitions, those of the settings where None.

        Raises:
            SourceError: A file can't be read.
        """
        from metashell.sources.cache.lazy_records import finish

        return finish(self, stretches, registry)
