"""Entries looked up, opened and written: what the rest of the program uses of the cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metashell.cache.entries import EntryDirectory
from metashell.cache.manifest import Manifest, ManifestError, file_facts, key_of
from metashell.errors import SourceError
from metashell.log.places import Place

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.cache.groups import Group
    from metashell.image.condensed import FileFacts
    from metashell.image.condensing import CondensedLog, Condensing, Stretch
    from metashell.image.records import Records
    from metashell.log.fault import Fault
    from metashell.log.splits import Plan
    from metashell.schema.registry import Registry

_RENEW_BYTES: Final = 8 << 20
_TRIES: Final = 2


def open_cached(
    place: Place, *, schemas: Sequence[Path] = (), committed_only: bool = False
) -> CachedLog | None:
    """Look up what is kept of a metadata directory.

    Args:
        place: The directory, as `metashell.log.directory.find_metadata_directory` gives it.
        schemas: Directories of the user's message definitions.
        committed_only: As for `metashell.open`.

    Returns:
        What need not be read again; None where nothing is kept, where the files changed, or where
        what is kept can't be used, which is then removed.
    """
    entry = _entry(place, schemas, committed_only)
    if entry is None or not entry.exists():
        return None
    for _ in range(_TRIES):
        try:
            return _open(entry, place, schemas, committed_only)
        except FileNotFoundError:
            # Another process renewed the entry, or removed it.
            continue
        except OSError:
            return None
    return None


def _entry(place: Place, schemas: Sequence[Path], committed_only: bool) -> EntryDirectory | None:
    try:
        return EntryDirectory.of_key(key_of(_text_of(place), schemas, committed_only))
    except OSError:
        return None


def _text_of(place: Place) -> str:
    """What names a place on this machine; never with credentials."""
    return os.path.abspath(place) if isinstance(place, str) else str(place)


def _open(
    entry: EntryDirectory, place: Place, schemas: Sequence[Path], committed_only: bool
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
    from metashell.cache.covered import State
    from metashell.log.splits import plan_tail
    from metashell.log.vanished import VanishedError

    try:
        state = State(place)
        if not state.still_has(manifest, committed_only):
            return None
        known = state.known(manifest.files)
        plan = plan_tail(
            place, state.listing, state.checkpoint, known, committed_only=committed_only
        )
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
        schemas=tuple(schemas),
        committed_only=committed_only,
        entry=entry,
        manifest=manifest,
        sizes=state.sizes,
        data=data,
    )


@dataclass(kw_only=True)
class CachedLog:
    """What is kept of a directory, and what is not."""

    place: Place
    plan: Plan
    """Of the directory as it is now; its splits are those that still have to be condensed."""
    schemas: tuple[Path, ...]
    committed_only: bool
    entry: EntryDirectory
    manifest: Manifest
    sizes: dict[str, int]
    """Bytes of the directory's files."""
    data: dict[str, mmap]
    """What the entry's files hold, by group; not looked at yet."""

    @cached_property
    def how(self) -> Condensing:
        """How the plan's splits have to be condensed."""
        from metashell.image.condensing import Condensing

        checkpoint = self.plan.checkpoint
        return Condensing(
            base=0 if checkpoint is None else checkpoint.end_offset,
            n_checkpoints=0 if checkpoint is None else 1,
            schemas=self.schemas,
        )

    @cached_property
    def groups(self) -> dict[str, Group]:
        """The entry's files.

        Raises:
            DamagedError: They are not what was written.
        """
        from metashell.cache.groups import Group

        groups = {
            name: Group(name, about, self.data.get(name))
            for name, about in self.manifest.groups.items()
        }
        for group in groups.values():
            group.check()
        return groups

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
            registry: Message definitions, those of `how.schemas` where None.

        Raises:
            SourceError: A file can't be read.
        """
        from metashell.cache.groups import DamagedError
        from metashell.image.condensing import Condensing, assemble, condense_directory
        from metashell.log.splits import plan_splits
        from metashell.schema.registry import load_registry

        registry = registry or load_registry(self.schemas)
        try:
            _ = self.groups
            known = {
                order: replace(file_facts(file.facts), size=self.sizes[file.name])
                for order, file in enumerate(self.manifest.files)
            }
        except (DamagedError, ManifestError):
            self.entry.remove()
            plan = plan_splits(self.place, committed_only=self.committed_only)
            how = Condensing.of_plan(plan, show_secrets=False, schemas=self.schemas)
            return condense_directory(plan, how, registry)
        return LazyLog(self, assemble(self.plan, stretches, self.how, registry, known=known))


class LazyLog:
    """As `metashell.image.condensing.CondensedLog`, read from the cache as it is asked for."""

    def __init__(self, cached: CachedLog, tail: CondensedLog) -> None:
        self.cached, self._tail = cached, tail
        self.plan: Plan = tail.plan
        self.files: list[FileFacts] = tail.files
        self.registry: Registry = tail.registry
        self.active: list[pa.Table] = tail.active

    @cached_property
    def closed(self) -> list[pa.Table]:
        """As there, with what is kept of the last segment. Cost: reads the entry whole."""
        from metashell.cache.groups import DamagedError, stored_table

        try:
            return [stored_table(self.cached.groups), *self._tail.closed]
        except DamagedError as e:
            self.cached.entry.remove()
            raise SourceError(
                f"{self.plan.path}: what was kept of it in the cache is damaged; it was removed",
                hint="run the command again",
            ) from e

    @cached_property
    def records(self) -> Records:
        """Records of both. Cost: next to nothing, unless there are transactions."""
        from metashell.cache.lazy_records import open_records
        from metashell.image.condensed import records_of

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
        """As there."""
        return self._tail.faults


def store(
    place: Place, log: CondensedLog | LazyLog, how: Condensing, *, committed_only: bool = False
) -> bool:
    """Keep a condensed log for the next time; in place of what is kept of it now.

    Args:
        place: The directory that it is of.
        log: The log, of all files that make up the newest state.
        how: As it was condensed. With secrets, or with every record, it is not kept.
        committed_only: Whether segments were left out.

    Returns:
        Whether it is kept: not where nobody could tell whether the files changed, where it is
        larger than the cache may be, or where the cache can't be written.
    """
    if how.show_secrets or not how.merges:
        return False
    entry = _entry(place, how.schemas, committed_only)
    if entry is None:
        return False
    with suppress(OSError, SourceError):
        from metashell.cache.writing import covered_log, write_entry

        covered = covered_log(place, log, committed_only)
        if covered is None:
            return False
        entry.prepare()
        return write_entry(entry, _text_of(place), covered, how)
    return False
