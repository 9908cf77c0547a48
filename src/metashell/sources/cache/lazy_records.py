"""Records of an entry and of what came behind it, read from the entry as they are asked for.

Every array of the frames has its full length from the beginning, but is filled only where somebody
looks: pages of memory that nothing was written to cost nothing. So rows, folds and all that is
built on them are those of records that are all there. `LazyRecords.frames` is filled whole when it
is asked for; folds ask for `frames_at`.

A reduced log of an entry's files and of the records that came behind them.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from metashell.errors import SourceError
from metashell.image.image import Image
from metashell.lazy import lazy
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.frames import FILLED, HEADER, Batches, Frames, Merged, control_key
from metashell.log.read import Loaded
from metashell.log.splits import Plan, plan_splits
from metashell.log.truncation import ReadUpTo
from metashell.records.records import Records
from metashell.reduced.log import ReducedLog, Reducing, Stretch, assemble, reduce_directory
from metashell.reduced.table import (
    SCHEMA,
    FileFacts,
    StoredFrames,
    batches_of,
    loaded_of,
    plain_values,
    records_of,
)
from metashell.schema.arena import I32, I64, SLACK, AnyArray, Arena, Bools
from metashell.schema.id_table import id_pairs
from metashell.schema.model import Registry, load_registry
from metashell.sources.cache.entries import EntryDirectory
from metashell.sources.cache.groups import (
    GROUPS,
    PARTITIONS,
    REST,
    TOPIC_ID,
    UNCOUNTED,
    DamagedError,
    GroupEntry,
    put_values,
    stored_table,
    uuid_values,
)
from metashell.sources.cache.manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from metashell.sources.cache.opening import CachedLog

_OF_WHOLE_BATCHES: Final = ("base_offset", "last_delta", "attributes", "max_timestamp")
"""Columns that nobody needs who looks at single records."""

_OF_RECORD: Final = ("offset", "api_key", "version", "frame_version")
_OF_PIECES: Final = ("row", *(name for name in SCHEMA.names if name not in _OF_WHOLE_BATCHES))
_TOPICS_KEPT: Final = 32

_GROUP_OF: Final = {name: group for group, names in GROUPS.items() for name in names}


class _Pieces(StoredFrames):
    """Frames with only some rows filled in, each record in a batch of its own.

    Its batches have only their place and file.
    """

    __slots__ = ("epoch",)
    epoch: I32
    """int32[n]."""

    def epochs(self, rows: AnyArray) -> I32:
        found: I32 = self.epoch[rows]
        return found


class LazyRecords(Records):
    """Records that may mostly still be on disk.

    Args:
        entry: The entry.
        manifest: The entry's manifest; there is no transaction in it, and no record unread.
        groups: The entry's files.
        tail: The records behind the entry, reduced; no transaction either.
        files: The files of both, in replay order.
        registry: Message definitions.
    """

    def __init__(
        self,
        entry: EntryDirectory,
        manifest: Manifest,
        groups: dict[str, GroupEntry],
        tail: Records,
        files: Sequence[FileFacts],
        registry: Registry,
    ) -> None:
        super().__init__(loaded_of(files), registry)
        self._entry, self._manifest = entry, manifest
        self._groups, self._tail = groups, tail
        self._n = manifest.rows
        self._unframed = [fault for facts in files for fault in facts.unframed]
        self._is_filled: Bools = np.zeros(self._n + len(tail.frames), dtype=np.bool_)
        self._is_filled[self._n :] = True
        self._whole_groups: dict[str, Bools] = {
            name: np.zeros(group.n_row_groups, dtype=np.bool_) for name, group in groups.items()
        }
        self._topics: dict[bytes, tuple[I64, AnyArray]] = {}
        applied = manifest.last_applied
        if tail.last_row >= 0:
            last = Image(tail).provenance
            applied = (last.offset, last.epoch, last.timestamp_ms)
        self.last_applied = applied

    # Facts about all records.

    @lazy
    def frames(self) -> Frames:
        """Every record. Cost: reads the entry whole."""
        for name, group in self._groups.items():
            self._fill(group, np.flatnonzero(~self._whole_groups[name]).tolist())
        pieces, of = self._pieces, self._pieces.batches
        tail = self._tail.frames
        columns: dict[str, AnyArray] = {"file": of.file, "pos": of.pos, "epoch": pieces.epoch}
        for name in _OF_WHOLE_BATCHES:
            behind = tail.batches.header[name][tail.batch]
            columns[name] = np.zeros(len(pieces), dtype=behind.dtype.newbyteorder("="))
            columns[name][self._n :] = behind
        for group in self._groups.values():
            with self._checked():
                table = group.read(range(group.n_row_groups), _OF_WHOLE_BATCHES)
            for name in _OF_WHOLE_BATCHES:
                columns[name][group.rows] = plain_values(table[name])
        batches, batch = batches_of(columns)
        frames = StoredFrames(
            pieces.arena,
            batches,
            batch,
            **{name: getattr(pieces, name) for name in (*FILLED, "key", "key_size")},
            merged=pieces.merged,
        )
        frames.times = pieces.times
        return frames

    @lazy
    def counted(self) -> Bools:
        stored = np.ones(self._n, dtype=np.bool_)
        with self._checked():
            stored[self._groups[UNCOUNTED].rows] = False
        return np.concatenate([stored, self._tail.counted])

    @lazy
    def applied(self) -> Bools:
        """All that count: there is no transaction."""
        return self.counted

    @lazy
    def last_row(self) -> int:
        last = self._tail.last_row
        return self._n + last if last >= 0 else self._manifest.last_row

    @lazy
    def any_odd(self) -> bool:
        return self._manifest.any_odd or self._tail.any_odd

    def grown(self, loaded: Loaded) -> Records:
        """The records of these files; nothing that was decoded can be used again."""
        return Records(loaded, self.registry)

    # Facts about single rows and messages.

    def frames_at(self, rows: AnyArray | Sequence[int]) -> Frames:
        """Frames with the rows given filled in."""
        wanted = np.asarray(rows, dtype=np.int64)
        with self.lock:
            missing = wanted[~self._is_filled[wanted]]
            if len(missing):
                self._read(missing)
            return self._pieces

    def rows(self, name: str) -> I64:
        """The rows of a message. Cost: reads two columns of its group."""
        with self.lock:
            if name not in self._rows:
                spec = self.registry.by_name[name]
                key = spec.api_key
                if key is None:
                    assert spec.control_type is not None
                    key = control_key(spec.control_type)
                group = self._groups[_GROUP_OF.get(name, REST)]
                with self._checked():
                    stored = np.sort(group.rows[group.api_keys == key])
                self._rows[name] = np.concatenate([stored, self._tail.rows(name) + self._n])
            return self._rows[name]

    def rows_with(self, name: str, field: str, wanted: bytes) -> I64:
        """The rows with a value; for partitions only the row groups of their topic are read."""
        if field != TOPIC_ID or _GROUP_OF.get(name) != PARTITIONS:
            return super().rows_with(name, field, wanted)
        with self.lock:
            if wanted not in self._topics:
                if len(self._topics) >= _TOPICS_KEPT:
                    self._topics.clear()
                self._topics[wanted] = self._read_topic(wanted)
            rows, keys = self._topics[wanted]
        stored = np.sort(rows[keys == self.registry.by_name[name].api_key])
        return np.concatenate([stored, self._tail.rows_with(name, field, wanted) + self._n])

    # Reading.

    @lazy
    def _pieces(self) -> _Pieces:
        """Frames filled with what was read."""
        tail = self._tail.frames
        assert isinstance(tail, StoredFrames)
        n, n_stored = self._n + len(tail), self._n
        self._bases = {}
        size = 0
        for name, group in self._groups.items():
            self._bases[name] = size
            size += group.about.bounds[-1]
        buffer = np.zeros(size + tail.arena.size + SLACK, dtype=np.uint8)
        buffer[size : size + tail.arena.size] = tail.arena.content
        self._bytes = buffer

        def grown(values: AnyArray) -> AnyArray:
            out = np.zeros(n, dtype=values.dtype)
            out[n_stored:] = values
            return out

        of = tail.batches
        batches = Batches(
            grown(of.pos[tail.batch]),
            grown(of.file[tail.batch]),
            np.empty(0, dtype=HEADER),
            np.empty(0, dtype=np.int64),
        )
        assert tail.merged is not None
        arena, batch = Arena(buffer, size + tail.arena.size), np.arange(n, dtype=np.int32)
        frames = _Pieces.blank(arena, batches, batch)
        behind = {name: getattr(tail, name)[:] for name in FILLED}
        for name in ("start", "body", "stop"):
            behind[name] += size
        frames.put(slice(n_stored, n), behind)
        frames.merged = Merged(grown(tail.merged.changes), grown(tail.merged.leader_changes))
        frames.times = grown(tail.times)
        frames.epoch = grown(of.header["epoch"].astype(np.int32)[tail.batch])
        return frames

    _bytes: AnyArray
    """uint8: the arena's, to be filled; set with `_pieces`."""
    _bases: dict[str, int]
    """Where the values of each group begin in the arena; set with `_pieces`."""

    def _read(self, missing: I64) -> None:
        """Read the row groups that rows lie in."""
        wanted = np.zeros(self._n, dtype=np.bool_)
        wanted[missing] = True
        for group in self._groups.values():
            with self._checked():
                at = np.flatnonzero(wanted[group.rows])
            if at.size:
                starts = group.starts()
                numbers = np.unique(np.searchsorted(starts, at, side="right") - 1)
                self._fill(group, numbers.tolist())

    def _read_topic(self, wanted: bytes) -> tuple[I64, AnyArray]:
        """Rows and api keys of the stored records of a topic's partitions."""
        group = self._groups[PARTITIONS]
        with self._checked():
            numbers = group.with_topic(wanted)
            self._fill(group, numbers)
            table = group.read(numbers, ["row", "api_key", TOPIC_ID])
        # Records without a readable topic id have zeros there, which are no topic's.
        same = id_pairs(uuid_values(table[TOPIC_ID])) == np.frombuffer(wanted, dtype="<u8")
        hits = np.flatnonzero(same.all(axis=1))
        return plain_values(table["row"])[hits], plain_values(table["api_key"])[hits]

    def _fill(self, group: GroupEntry, numbers: Collection[int]) -> None:
        """Read row groups that were not read yet."""
        done = self._whole_groups[group.name]
        numbers = [number for number in numbers if not done[number]]
        # Neighbours are read at once, a stretch of bounded size at a time.
        for first in range(0, len(numbers), _TOGETHER):
            some = numbers[first : first + _TOGETHER]
            with self._checked():
                table = group.read(some, _OF_PIECES)
            self._place(group, some, table.combine_chunks())
            done[some] = True

    def _place(self, group: GroupEntry, numbers: Sequence[int], table: pa.Table) -> None:
        frames = self._pieces
        starts, bounds = group.starts(), group.about.bounds
        at = 0
        for number in numbers:
            n = int(starts[number + 1] - starts[number])
            piece = table.slice(at, n)
            at += n
            base = self._bases[group.name] + bounds[number]
            ends = put_values(piece["value"], self._bytes, base)
            names = [name for name in piece.column_names if name != "value"]
            columns = {name: plain_values(piece[name]) for name in names}
            rows = columns["row"]
            begins = np.append(base, ends[:-1])
            frames.start[rows], frames.stop[rows] = begins, ends
            frames.body[rows] = begins + columns["head"]
            frames.times[rows] = columns["timestamp"]
            for name in _OF_RECORD:
                getattr(frames, name)[rows] = columns[name]
            batches, merged = frames.batches, frames.merged
            assert merged is not None
            batches.pos[rows], batches.file[rows] = columns["pos"], columns["file"]
            frames.epoch[rows] = columns["epoch"]
            merged.changes[rows] = columns["changes"]
            merged.leader_changes[rows] = columns["leader_changes"]
            self._is_filled[rows] = True

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Remove the entry where it turns out to be damaged."""
        try:
            yield
        except DamagedError as e:
            self._entry.remove()
            raise SourceError(
                f"{self._manifest.place}: its cache entry was damaged and is now removed",
                hint="run the command again",
            ) from e


_TOGETHER: Final = 16
"""Row groups that are read at once."""


def open_records(
    entry: EntryDirectory,
    manifest: Manifest,
    groups: dict[str, GroupEntry],
    tail: Sequence[pa.Table],
    files: Sequence[FileFacts],
    registry: Registry,
) -> Records | None:
    """Lazy records; None where a transaction, or a record that is of any topic, asks for all."""
    if manifest.has_markers or manifest.has_unread:
        return None
    behind = records_of(tail, files, registry)
    keys = behind.frames.api_key.narrow
    if ((keys >= 23) & (keys <= 25)).any():
        return None
    return LazyRecords(entry, manifest, groups, behind, files, registry)


def finish(
    cached: CachedLog, stretches: Iterable[Stretch], registry: Registry | None
) -> LazyLog | ReducedLog:
    """Put the kept records and the ones behind them together; see `CachedLog.finish`."""
    registry = registry or load_registry(cached.settings.schemas)
    try:
        groups = {
            name: GroupEntry(name, about, cached.data.get(name))
            for name, about in cached.manifest.groups.items()
        }
        for group in groups.values():
            group.check()
        known = dict(enumerate(cached.facts))
    except (DamagedError, ManifestError):
        cached.entry.remove()
        plan = plan_splits(cached.place, settings=cached.settings)
        how = Reducing.of_plan(plan, cached.settings)
        return reduce_directory(plan, how, registry)
    return LazyLog(
        cached, groups, assemble(cached.plan, stretches, cached.how, registry, known=known)
    )


class LazyLog:
    """A `metashell.reduced.log.ReducedLog` that is read from the cache when it is asked for."""

    def __init__(self, cached: CachedLog, groups: dict[str, GroupEntry], tail: ReducedLog) -> None:
        self.cached, self._groups, self._tail = cached, groups, tail
        self.plan: Plan = tail.plan
        self.files: list[FileFacts] = tail.files
        self.registry: Registry = tail.registry
        self.active: list[pa.Table] = tail.active

    @cached_property
    def closed(self) -> list[pa.Table]:
        """The tables of closed files, and of the cached part of the last segment. Reads it all."""
        try:
            return [stored_table(self._groups), *self._tail.closed]
        except DamagedError as e:
            self.cached.entry.remove()
            raise SourceError(
                f"{self.plan.path}: its cache entry was damaged and is now removed",
                hint="run the command again",
            ) from e

    @cached_property
    def records(self) -> Records:
        """Records of both. Cost: next to nothing, unless there are transactions."""
        cached = self.cached
        tail = [*self._tail.closed, *self.active]
        lazy = open_records(
            cached.entry, cached.manifest, self._groups, tail, self.files, self.registry
        )
        if lazy is not None:
            return lazy
        return records_of([*self.closed, *self.active], self.files, self.registry)

    @property
    def faults(self) -> list[Fault]:
        """The faults of the part that was not cached."""
        return self._tail.faults


def facts_value(facts: FileFacts) -> dict[str, Any]:
    """Facts of a file for JSON."""
    read = None if facts.read is None else b2a_base64(facts.read.to_bytes(), newline=False).decode()
    return {**asdict(replace(facts, read=None)), "read": read}


def file_facts(value: dict[str, Any]) -> FileFacts:
    """Facts of a file from JSON; see `facts_value`.

    Raises:
        ManifestError: They are none.
    """
    try:
        text = value["read"]
        read = None if text is None else ReadUpTo.from_bytes(a2b_base64(text))
        faults = {name: _faults(value[name]) for name in ("faults", "unframed")}
        epochs = tuple((epoch, first, end) for epoch, first, end in value["epochs"])
        return FileFacts(**{**value, **faults, "epochs": epochs, "read": read})
    except (ValueError, TypeError, KeyError) as e:
        raise ManifestError(str(e)) from e


def _faults(values: list[dict[str, Any]]) -> tuple[Fault, ...]:
    def fault(kind: str, code: str | None, **rest: Any) -> Fault:
        return Fault(FaultKind(kind), code=None if code is None else FaultCode(code), **rest)

    return tuple(fault(**value) for value in values)
