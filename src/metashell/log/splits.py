"""A directory's files in pieces that can be read apart from each other, for several processes.

`plan_splits` picks the files as `metashell.log.directory` does and says where to cut them, reading
little of them; `read_split` gives a piece's batches and faults. All pieces together, in their
order, have exactly the batches and faults of the files read in one.

A plan rests on what was seen at the cuts. Damage in between that reaches across one (offsets that
go back, say) is found by who reads the piece before it: what he arrives with must be what the next
one began with, else reading ends with a `SplitError`, and the file can be planned uncut.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.boundaries import Boundary, Cutter, OffsetIndex, read_index
from metashell.log.chain import Carry
from metashell.log.control import CHECKPOINT_ENDS, first_control_type
from metashell.log.directory import find_gaps, segments_after
from metashell.log.extent import LARGEST
from metashell.log.fault import Fault, FaultKind
from metashell.log.layout import HEAD
from metashell.log.names import CheckpointName, Listing, SegmentName, list_names
from metashell.log.read import WINDOW_BYTES, Loaded, OpenFile, opened, windows_of
from metashell.places.place import FileRef, Place, entries_in, file_in, names_in, place_of
from metashell.places.remote import RemotePlace
from metashell.places.vanished import VanishedError
from metashell.read_settings import READ_DEFAULTS, ReadSettings

SPLIT_BYTES: Final = 64 << 20

_LISTING_TRIES: Final = 5
_EDGE_BYTES: Final = 64 << 10
"""Read at a time where only a file's first or last batches are wanted."""


class SplitError(SourceError):
    """A piece of a file did not end as the plan says, so that what follows can't be trusted.

    Args:
        message: One sentence.
        file: Name of the file.
    """

    def __init__(self, message: str, file: str = "") -> None:
        hint = "read the directory again; where that does not help, do not cut the file"
        super().__init__(message, hint=hint)
        self.file = file


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A range of a file that begins and ends with batches."""

    file: FileRef
    name: str
    """The file's, without directories."""
    begin: int
    """Position of the first batch."""
    end: int
    """First byte behind: the next split's `begin`, or the file's size when it was planned."""
    after: int
    """Last offset before `begin` in the log; -1 if there is none, or it is not known."""
    order: int
    """Place of the file in replay order within its directory."""
    size: int
    """Bytes of the file when it was planned."""
    until: int | None = None
    """Last offset before `end` that the next split relies on; None where none does."""
    end_offset: int | None = None
    """For a checkpoint that stands for a state: the first offset that it does not hold."""
    epoch: int = -1
    """For such a checkpoint, the epoch in its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The splits of a directory, in replay order."""

    path: str
    """The directory, as it is shown."""
    splits: tuple[Split, ...]
    listing: Listing
    checkpoint: CheckpointName | None
    """The one that the replay begins with; None also where all files were planned."""
    faults: tuple[Fault, ...] = ()
    """Faults of files, and gaps between them. Faults inside of files come with the splits."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBatches:
    """A file whose first batches were read before and need not be read again."""

    name: str
    size: int
    """Bytes of the file now."""
    covered: int
    """Position behind the last batch that is known."""
    first_offset: int
    last_offset: int
    """The last offset of the known part, -1 without a batch."""


_End: TypeAlias = tuple[int, int | None]
"""Where a batch begins, and its control type."""


@dataclass(slots=True)
class _File:
    """A file that is being planned; opened once for all looks at it."""

    file: FileRef
    name: str
    size: int
    parsed: SegmentName | CheckpointName | None
    after: int = -1
    """Last offset of the segments before it."""
    cuts: Sequence[Boundary] = ()
    first_offset: int = -1
    """The offset of the first batch that counts; -1 without one."""
    last_offset: int = -1
    """The offset of the last batch, -1 without one; set only where somebody relies on it."""
    ends: tuple[_End | None, _End | None] = (None, None)
    """The first and the last batch."""
    begin: Boundary | None = None
    """Where what is not known of it begins; None for a file of which nothing is."""

    def note_ends(self, loaded: Loaded) -> None:
        """Note the first and the last batch of a window that comes behind those before it."""
        (part,) = loaded.files
        if part.chain.positions:
            view = memoryview(loaded.buffer)
            first, last = part.chain.positions[0], part.chain.positions[-1]
            begin = self.ends[0] or (first - part.start, first_control_type(view, first))
            self.ends = begin, (last - part.start, first_control_type(view, last))

    def splits(self, order: int, until: int | None) -> Iterator[Split]:
        """Its splits; the last one must end with an offset, if one is given."""
        state = self.parsed if isinstance(self.parsed, CheckpointName) else None
        first = self.begin or Boundary(0, self.after)
        if self.begin is not None and self.begin.pos >= self.size:
            return
        edges = [first, *(cut for cut in self.cuts if cut.pos > first.pos)]
        for i, begin in enumerate(edges):
            following = edges[i + 1] if i + 1 < len(edges) else None
            yield Split(
                file=self.file,
                name=self.name,
                begin=begin.pos,
                end=self.size if following is None else following.pos,
                after=begin.after,
                order=order,
                size=self.size,
                until=until if following is None else following.after,
                end_offset=None if state is None else state.end_offset,
                epoch=-1 if state is None else state.epoch,
            )


@dataclass(slots=True)
class _Planner:
    """Plans one listing of a directory."""

    path: Place
    split_bytes: int
    uncut: Collection[str]
    known: Mapping[str, KnownBatches] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def replay(self, listing: Listing, settings: ReadSettings) -> Plan:
        """Plan the files that `metashell.log.directory.read_directory` reads."""
        for checkpoint in reversed(listing.checkpoints):
            if checkpoint.is_bootstrap:
                break
            first, fault = self._whole_checkpoint(checkpoint)
            if fault is None:
                segments = segments_after(listing, checkpoint.end_offset)
                return self._finish(
                    listing, checkpoint, [first], () if settings.committed_only else segments
                )
            self.faults.append(fault)
            self.notes.append(f"{fault.file} is not used: {fault.reason}")
        if settings.committed_only:
            self.notes.append(
                "no checkpoint says what is committed: nothing of the segments is shown"
            )
        boot = next((c for c in reversed(listing.checkpoints) if c.is_bootstrap), None)
        before = [] if boot is None else [self._look(boot, -1, tail=False)]
        segments = () if settings.committed_only else listing.segments
        return self._finish(listing, boot, before, segments)

    def tail(
        self, listing: Listing, checkpoint: CheckpointName | None, settings: ReadSettings
    ) -> Plan:
        """Plan the unknown part of the files that begin with a checkpoint."""
        before = [] if checkpoint is None else [self._look(checkpoint, -1, tail=False)]
        segments: Sequence[SegmentName] = ()
        if not settings.committed_only:
            segments = replayed_segments(listing, checkpoint)
        return self._finish(listing, checkpoint, before, segments)

    def every(self, listing: Listing) -> Plan:
        """All segments and checkpoints, each for itself."""
        checkpoints = [self._look(c, -1, tail=True) for c in listing.checkpoints]
        for checkpoint in checkpoints:
            fault = _unfinished(checkpoint)
            if fault is not None and not _is_bootstrap(checkpoint):
                self.faults.append(fault)
        newest = listing.checkpoints[-1].end_offset if checkpoints else None
        return self._finish(listing, None, checkpoints, listing.segments, newest)

    def _finish(
        self,
        listing: Listing,
        checkpoint: CheckpointName | None,
        files: list[_File],
        segments: Sequence[SegmentName],
        known_before: int | None = None,
    ) -> Plan:
        """Look at the segments, and how the files fit together.

        Args:
            listing: The directory.
            checkpoint: The one that the replay begins with.
            files: The files before the segments.
            segments: The segments.
            known_before: The first offset that no checkpoint knows, where none is replayed.
        """
        after = -1
        found: list[_File] = []
        for i, segment in enumerate(segments):
            found.append(self._look(segment, after, tail=i + 1 < len(segments)))
            after = max(after, found[-1].last_offset)
        base = None if checkpoint is None else checkpoint.end_offset
        if known_before is not None:
            first = next((f.first_offset for f in found if f.first_offset >= 0), 0)
            base = min(first, known_before)
        gaps, notes = find_gaps(((f.name, f.first_offset, f.last_offset) for f in found), base)
        self.faults += gaps
        self.notes += notes
        splits: list[Split] = []
        for order, file in enumerate(files):
            splits += file.splits(order, None)
        for i, file in enumerate(found):
            until = found[i + 1].after if i + 1 < len(found) else None
            splits += file.splits(len(files) + i, until)
        return Plan(
            path=str(self.path),
            splits=tuple(splits),
            listing=listing,
            checkpoint=checkpoint,
            faults=tuple(self.faults),
            notes=tuple(self.notes),
        )

    def _look(self, name: SegmentName | CheckpointName, after: int, *, tail: bool) -> _File:
        """Find where to cut a file, and its first and, if asked for, its last offset."""
        place, known = file_in(self.path, name.name), self.known.get(name.name)
        if known is not None and known.covered >= known.size:
            file = _File(place, name.name, known.size, name, after)
            file.begin = Boundary(known.covered, known.last_offset)
            file.first_offset, file.last_offset = known.first_offset, known.last_offset
            return file
        with opened(place) as source:
            file = _File(place, name.name, source.size, name, after)
            if known is not None:
                file.begin = Boundary(known.covered, max(after, known.last_offset))
            index = None
            if isinstance(name, SegmentName) and (self._is_cut(file) or tail):
                index = _index_of(self.path, name)
            if self._is_cut(file):
                file.cuts = Cutter(source, file.size, index).boundaries(self.split_bytes, after)
            _look_at_head(source, file)
            if tail:
                _look_at_tail(source, file, index)
        return file

    def wanted(self, name: SegmentName | CheckpointName, after: int, size: int) -> _File:
        """A file, which is opened only if it is large enough to be cut."""
        file = _File(file_in(self.path, name.name), name.name, size, name, after)
        if file.size > min(self.split_bytes, LARGEST):
            # Who reads it will find that out, too.
            with suppress(SourceError, VanishedError), opened(file.file) as source:
                file.size = source.size
                index = _index_of(self.path, name) if isinstance(name, SegmentName) else None
                file.cuts = Cutter(source, file.size, index).boundaries(self.split_bytes, after)
        return file

    def _is_cut(self, file: _File) -> bool:
        begin = 0 if file.begin is None else file.begin.pos
        return file.size - begin > self.split_bytes and file.name not in self.uncut

    def _whole_checkpoint(self, name: CheckpointName) -> tuple[_File, Fault | None]:
        """Read a checkpoint through: whether it is a base, and where it can be cut."""
        place = file_in(self.path, name.name)
        with opened(place) as source:
            file = _File(place, name.name, source.size, name)
            cuts: list[Boundary] = []
            wanted = self.split_bytes if self._is_cut(file) else file.size
            for loaded in windows_of(source, file.name, Carry(file.size), WINDOW_BYTES):
                (part,) = loaded.files
                if part.chain.faults:
                    return file, part.chain.faults[0]
                view = memoryview(loaded.buffer)
                positions = part.chain.positions
                file.note_ends(loaded)
                for at in positions:
                    if at - part.start >= wanted:
                        cuts.append(Boundary(at - part.start, HEAD.unpack_from(view, at)[0] - 1))
                        wanted = cuts[-1].pos + self.split_bytes
            file.cuts = cuts
        if file.ends[0] is None:
            return file, Fault(FaultKind.DAMAGED, "it is empty", file.name, 0)
        return file, _unfinished(file)


def plan_splits(
    path: str | os.PathLike[str] | RemotePlace,
    split_bytes: int = SPLIT_BYTES,
    *,
    settings: ReadSettings = READ_DEFAULTS,
    every: bool = False,
    uncut: Collection[str] = (),
) -> Plan:
    """Cut a metadata directory's files into ranges that can be read by themselves.

    Args:
        path: The directory (see `metashell.log.directory.find_metadata_directory`).
        split_bytes: About how large a split is; files up to that size are left whole.
        settings: The settings of `metashell.log.directory.read_directory`.
        every: Plan all segments and checkpoints instead of those that make up the newest state.
        uncut: Names of files that are left whole, such as one that a `SplitError` names.

    Raises:
        SourceError: It can't be read, or holds no file of a metadata log.
    """
    place = place_of(path)
    for _ in range(_LISTING_TRIES):
        listing = list_names(names_in(place))
        if listing.is_empty:
            raise SourceError(
                f"{place}: no segment or checkpoint there",
                hint="a running node writes them: is it the node's metadata.log.dir?",
            )
        planner = _Planner(place, max(split_bytes, 1), uncut)
        try:
            return planner.every(listing) if every else planner.replay(listing, settings)
        except VanishedError:
            continue
    raise SourceError(f"{place}: its files keep vanishing while they are opened", hint="try again")


Takes: TypeAlias = Callable[[str, int, int | None], bool]
"""Whether a file is wanted: its name, its first offset, and that of the next file, if any."""


def plan_wanted(place: Place, split_bytes: int, takes: Takes) -> list[Split]:
    """The splits of the files that are wanted, each for itself; arguments as of `plan_splits`.

    A file is opened only if it is large enough to be cut. For thousands of directories and a filter
    that leaves a few files of each, `plan_splits` would be most of the work.

    Raises:
        SourceError: The directory can't be listed, or holds no file of a metadata log.
    """
    entries = {entry.name: entry for entry in entries_in(place)}
    listing = list_names(entries)
    if listing.is_empty:
        raise SourceError(f"{place}: no segment or checkpoint there")
    planner, segments = _Planner(place, split_bytes, ()), listing.segments
    ends = [*(one.base_offset for one in segments[1:]), None]
    files: list[tuple[CheckpointName | SegmentName, int, int | None]] = [
        *((one, 0, None) for one in listing.checkpoints),
        *((one, one.base_offset, end) for one, end in zip(segments, ends, strict=False)),
    ]
    wanted = (one for one in files if takes(one[0].name, *one[1:]))
    found = [planner.wanted(one, first - 1, entries[one.name].size) for one, first, _ in wanted]
    return [split for order, file in enumerate(found) for split in file.splits(order, None)]


def plan_tail(
    path: Place,
    listing: Listing,
    checkpoint: CheckpointName | None,
    known: Sequence[KnownBatches],
    settings: ReadSettings,
) -> Plan:
    """Plan the splits of a directory without the known part of its first files.

    Args:
        path: The directory.
        listing: Its files.
        checkpoint: The one that the replay begins with.
        known: Files in replay order, that checkpoint first.
        settings: The settings of `plan_splits`.

    Raises:
        VanishedError: A file is gone.
        SourceError: One can't be read.
    """
    planner = _Planner(path, SPLIT_BYTES, (), {file.name: file for file in known})
    return planner.tail(listing, checkpoint, settings)


def replayed_segments(
    listing: Listing, checkpoint: CheckpointName | None
) -> tuple[SegmentName, ...]:
    """The segments that are replayed behind a checkpoint; all where it is none of a state."""
    if checkpoint is None or checkpoint.is_bootstrap:
        return listing.segments
    return segments_after(listing, checkpoint.end_offset)


def read_split(split: Split, window_bytes: int = WINDOW_BYTES) -> Iterator[Loaded]:
    """Read a split a window at a time; see `metashell.log.read.windows`.

    Raises:
        SplitError: It does not end with the batch that the next split begins behind, or the file is
            gone or has become shorter. Windows yielded before must not be used then.
        SourceError: The file can't be read.
    """
    carry = Carry(split.size, split.after, split.begin, limit=split.end)
    carry.any_batch = split.begin > 0
    try:
        with opened(split.file) as source:
            if source.size < split.size:
                raise SplitError(f"{split.name}: it became shorter than it was", split.name)
            for loaded in windows_of(source, split.name, carry, window_bytes):
                (file,) = loaded.files
                file.end_offset, file.epoch = split.end_offset, split.epoch
                yield loaded
    except VanishedError as e:
        raise SplitError(
            f"{split.name}: it is gone: it was there when the directory was listed", split.name
        ) from e
    if carry.pos != split.end or split.until not in (None, carry.last_offset):
        raise SplitError(
            f"{split.name}: the part up to position {split.end} ends at position {carry.pos} with"
            f" offset {carry.last_offset}, where {split.until} was found before",
            split.name,
        )


def _index_of(path: Place, segment: SegmentName) -> OffsetIndex | None:
    """A segment's offset index; None where there is none that can be read."""
    try:
        with opened(file_in(path, segment.name.removesuffix(".log") + ".index")) as source:
            return read_index(source, segment.base_offset)
    except (VanishedError, SourceError):
        # It only spares a search.
        return None


def _look_at_head(source: OpenFile, file: _File) -> None:
    for loaded in windows_of(source, file.name, Carry(file.size, file.after), _EDGE_BYTES):
        chain = loaded.files[0].chain
        if chain.positions:
            file.first_offset = chain.first_offset
            file.note_ends(loaded)
            return


def _look_at_tail(source: OpenFile, file: _File, index: OffsetIndex | None) -> None:
    """The last offset, and control type, from a sure place near the end on."""
    known = file.cuts[-1] if file.cuts else Boundary(0, file.after)
    near = file.size - _EDGE_BYTES
    if near > known.pos:
        boundary, _ = Cutter(source, file.size, index).find(known, near, file.size)
        if boundary is not None and boundary.after > known.after:
            known = boundary
    carry = Carry(file.size, known.after, known.pos)
    carry.any_batch = known.pos > 0
    for loaded in windows_of(source, file.name, carry, 1 << 20):
        file.note_ends(loaded)
    file.last_offset = carry.last_offset


def _is_bootstrap(file: _File) -> bool:
    return isinstance(file.parsed, CheckpointName) and file.parsed.is_bootstrap


def _unfinished(file: _File) -> Fault | None:
    """The flaw of a checkpoint of sound batches that is not whole; None where it has no batch."""
    for end, (control_type, what) in zip(file.ends, CHECKPOINT_ENDS, strict=True):
        if end is not None and end[1] != control_type:
            reason = f"no snapshot {what}: it was not finished"
            return Fault(FaultKind.DAMAGED, reason, file.name, end[0])
    return None
