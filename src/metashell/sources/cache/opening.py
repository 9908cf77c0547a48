"""Entries looked up, opened and written: what the rest of the program uses of the cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from mmap import mmap
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.changed import DirectoryState
from metashell.places.place import Place
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.sources.cache.entries import EntryDirectory
from metashell.sources.cache.manifest import Manifest, ManifestError, file_facts, key_of

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.condensed.log import CondensedLog, Condensing, Stretch
    from metashell.condensed.table import FileFacts
    from metashell.log.fault import Fault
    from metashell.log.splits import Plan
    from metashell.records.records import Records
    from metashell.schema.registry import Registry
    from metashell.sources.cache.groups import GroupEntry

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
    entry = _entry(place, settings)
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


def _entry(place: Place, settings: ReadSettings) -> EntryDirectory | None:
    try:
        return EntryDirectory.of_key(key_of(_text_of(place), settings))
    except OSError:
        return None


def _text_of(place: Place) -> str:
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
        if manifest.place != _text_of(place):
            raise ManifestError("it is of another place")
    except ManifestError:
        entry.remove()
        return None
    from metashell.log.splits import plan_tail
    from metashell.places.vanished import VanishedError
    from metashell.sources.cache.covered import CoveredFiles

    try:
        state = CoveredFiles(directory)
        if not state.still_has(manifest, settings):
            return None
        known = state.known(manifest.files)
        plan = plan_tail(place, state.listing, state.checkpoint, known, settings)
    except (SourceError, VanishedError, KeyError):
        # Reading the directory will tell what is wrong with it.
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
    """The plan of the directory as it is now, with the splits that still have to be condensed."""
    settings: ReadSettings
    entry: EntryDirectory
    manifest: Manifest
    sizes: dict[str, int]
    """Bytes of the directory's files."""
    data: dict[str, mmap]
    """The content of the entry's files, by group; not looked at yet."""

    @cached_property
    def how(self) -> Condensing:
        """How the plan's splits have to be condensed."""
        from metashell.condensed.log import Condensing

        checkpoint = self.plan.checkpoint
        return Condensing(
            base=0 if checkpoint is None else checkpoint.end_offset,
            n_checkpoints=0 if checkpoint is None else 1,
            settings=self.settings,
        )

    @cached_property
    def groups(self) -> dict[str, GroupEntry]:
        """The entry's files.

        Raises:
            DamagedError: They are not what was written.
        """
        from metashell.sources.cache.groups import GroupEntry

        groups = {
            name: GroupEntry(name, about, self.data.get(name))
            for name, about in self.manifest.groups.items()
        }
        for group in groups.values():
            group.check()
        return groups

    @cached_property
    def facts(self) -> list[FileFacts]:
        """The facts of the directory's files, from the manifest.

        Raises:
            ManifestError: The manifest is damaged.
        """
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
    ) -> LazyLog | CondensedLog:
        """Put what is kept and what came behind it together.

        Where what is kept turns out to be damaged it is removed, and all files are read.

        Args:
            stretches: The plan's splits, condensed, in their order.
            registry: Message definitions, those of the settings where None.

        Raises:
            SourceError: A file can't be read.
        """
        from metashell.condensed.log import Condensing, assemble, condense_directory
        from metashell.log.splits import plan_splits
        from metashell.schema.registry import load_registry
        from metashell.sources.cache.groups import DamagedError

        registry = registry or load_registry(self.settings.schemas)
        try:
            _ = self.groups
            known = dict(enumerate(self.facts))
        except (DamagedError, ManifestError):
            self.entry.remove()
            plan = plan_splits(self.place, settings=self.settings)
            how = Condensing.of_plan(plan, self.settings)
            return condense_directory(plan, how, registry)
        return LazyLog(self, assemble(self.plan, stretches, self.how, registry, known=known))


class LazyLog:
    """A `metashell.condensed.log.CondensedLog` that is read from the cache when it is asked for."""

    def __init__(self, cached: CachedLog, tail: CondensedLog) -> None:
        self.cached, self._tail = cached, tail
        self.plan: Plan = tail.plan
        self.files: list[FileFacts] = tail.files
        self.registry: Registry = tail.registry
        self.active: list[pa.Table] = tail.active

    @cached_property
    def closed(self) -> list[pa.Table]:
        """The tables of closed files, and of the cached part of the last segment. Reads it all."""
        from metashell.sources.cache.groups import DamagedError, stored_table

        try:
            return [stored_table(self.cached.groups), *self._tail.closed]
        except DamagedError as e:
            self.cached.entry.remove()
            raise SourceError(
                f"{self.plan.path}: its cache entry was damaged and is now removed",
                hint="run the command again",
            ) from e

    @cached_property
    def records(self) -> Records:
        """Records of both. Cost: next to nothing, unless there are transactions."""
        from metashell.condensed.table import records_of
        from metashell.sources.cache.lazy_records import open_records

        cached = self.cached
        tail = [*self._tail.closed, *self.active]
        lazy = open_records(
            cached.entry, cached.manifest, cached.groups, tail, self.files, self.registry
        )
        if lazy is not None:
            return lazy
        return records_of([*self.closed, *self.active], self.files, self.registry)

    @property
    def faults(self) -> list[Fault]:
        """The faults of the part that was not cached."""
        return self._tail.faults


def store(
    place: Place,
    log: CondensedLog | LazyLog,
    how: Condensing,
    *,
    before: object = None,
) -> bool:
    """Keep a condensed log for the next time, in place of its old entry.

    Args:
        place: The log's directory.
        log: The log, of all files that make up the newest state.
        how: The settings that it was condensed with. A log with secrets, or with every record, is
            not kept.
        before: The directory's `metashell.log.changed.signature` when reading it began; None where
            nothing can have changed since.

    Returns:
        Whether it is kept: not where a file was changed while it was read or nobody could tell,
        where it is larger than the cache may be, or where the cache can't be written.
    """
    if how.settings.show_secrets or not how.merges:
        return False
    entry = _entry(place, how.settings)
    if entry is None:
        return False
    with suppress(OSError, SourceError):
        from metashell.sources.cache.writing import covered_log, write_entry

        covered = covered_log(place, log, how.settings, before)
        if covered is None:
            return False
        entry.prepare()
        return write_entry(entry, _text_of(place), covered, how)
    return False
