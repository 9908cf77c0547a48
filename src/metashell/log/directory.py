"""Which files of a metadata directory are replayed, and in what order.

The newest checkpoint that proves whole, then every segment with records at or after its end
offset. Older checkpoints are tried in turn; without one, the segments stand alone. The zero
checkpoint is what the formatter wrote: its metadata records were written to the log again by the
first controller, so only its control records count here (the voters of a young cluster).

A running node deletes old files and appends to the last one: what vanishes between listing and
opening is listed again, and only what was there when a file was opened is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.changed import DirectoryState, Signature, list_directory
from metashell.log.control import CHECKPOINT_ENDS, first_control_type
from metashell.log.fault import Fault, FaultKind
from metashell.log.layout import MAGIC_POS
from metashell.log.names import (
    METADATA_DIRECTORY,
    METADATA_TOPIC_ID,
    CheckpointName,
    Listing,
    SegmentName,
    list_names,
    parse_name,
)
from metashell.log.other_logs import has_keys, keyed_error, refuse_other_logs
from metashell.log.read import Loaded, ReadProgress, load, not_read, opened
from metashell.places.archives import HEAD_BYTES, UNPACK_HINT, archive_format
from metashell.places.place import (
    FileRef,
    MemoryFile,
    Place,
    base_name,
    child_of,
    file_at,
    file_in,
    is_directory,
    name_of,
    names_in,
    place_of,
    read_beginning,
)
from metashell.places.remote import RemotePlace
from metashell.places.vanished import VanishedError
from metashell.read_settings import READ_DEFAULTS, ReadSettings

_LISTING_TRIES: Final = 5
_MAGIC: Final = 2
"""The magic of a batch in a metadata log."""


@dataclass(slots=True)
class MetadataLog:
    """Files to replay, and what was found out on the way to them."""

    path: str
    """The directory or file that was asked for, as it is shown: a URI without credentials."""
    loaded: Loaded
    listing: Listing
    checkpoint: CheckpointName | None
    """The one that the replay begins with."""
    faults: list[Fault] = field(default_factory=list)
    """The faults of files; faults of records come from decoding."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, a sentence each."""

    is_file: bool = False
    """Whether `path` is one file, opened by itself."""
    in_memory: Mapping[str, MemoryFile] | None = None
    """The files by name where they were fetched from a quorum; `path` then only names it."""
    remote: RemotePlace | None = None
    """Where `path` is, if it is not on this machine."""
    signature: Signature = ()
    """The directory's `metashell.log.changed.signature` before its files were read."""

    @property
    def place(self) -> Place:
        """The directory or file, to be listed or read."""
        return self.path if self.remote is None else self.remote

    def path_of(self, name: str) -> FileRef:
        """Where a file of the listing is read from."""
        if self.in_memory is not None:
            return self.in_memory[name]
        return file_at(self.place) if self.is_file else file_in(self.place, name)

    def unreadable(self) -> list[Fault]:
        """The files beyond `loaded` that can't be opened, on this machine; the replay needs none.

        A store is not asked: that takes a request for each file.
        """
        if self.is_file or self.in_memory is not None or self.remote is not None:
            return []
        read, found = {file.name for file in self.loaded.files}, []
        listing = self.listing
        offsets: dict[str, int | None] = dict.fromkeys(c.name for c in listing.checkpoints)
        offsets.update((segment.name, segment.base_offset) for segment in listing.segments)
        for name, base_offset in offsets.items():
            if name in read:
                continue
            try:
                with opened(self.path_of(name)):
                    pass
            except VanishedError:
                continue  # A node deletes what it has a checkpoint of.
            except SourceError as e:
                found.append(not_read(name, e, base_offset))
        return found


def find_metadata_directory(path: str | os.PathLike[str] | RemotePlace) -> Place:
    """The ``__cluster_metadata-0`` that a path means: itself, or the one in a node's log dir.

    Args:
        path: A path, a URI or a place.

    Raises:
        SourceError: It is neither; the message says what it is instead.
    """
    return _find(path)[0]


def list_metadata_directory(path: str | os.PathLike[str] | RemotePlace) -> DirectoryState:
    """The directory, listed; each directory is listed once.

    Raises:
        SourceError: See `find_metadata_directory`; or it can't be listed.
    """
    place, state = _find(path)
    return list_directory(place) if state is None else state


def _find(
    path: str | os.PathLike[str] | RemotePlace,
) -> tuple[Place, DirectoryState | None]:
    """The metadata directory, and its state where that is the directory of the path."""
    place = place_of(path)
    if isinstance(place, str):
        place = os.path.normpath(place)
    state = list_directory(place)
    names, name = state.names, base_name(place)
    if METADATA_DIRECTORY in state.directories:
        return child_of(place, METADATA_DIRECTORY), None
    if name != METADATA_DIRECTORY:
        topic_id = _topic_id(place) if "partition.metadata" in names else None
        if topic_id != METADATA_TOPIC_ID:
            refuse_other_logs(place, name, names, topic_id)
    return place, state


def _topic_id(path: Place) -> str | None:
    content = read_beginning(child_of(path, "partition.metadata"), 4096) or b""
    for line in content.decode("ascii", "replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            return value.strip()
    return None


def read_directory(
    path: str | RemotePlace | DirectoryState,
    settings: ReadSettings = READ_DEFAULTS,
    *,
    progress: ReadProgress | None = None,
) -> MetadataLog:
    """Read what a directory's newest state is made of.

    Args:
        path: A metadata directory (see `find_metadata_directory`), perhaps as it was listed.
        settings: Where only what is committed is wanted the newest checkpoint ends it: what
            follows it in a directory may not be committed.
        progress: Called while bytes are read.

    Raises:
        SourceError: It can't be read, or holds no file of a metadata log.
    """
    state = path if isinstance(path, DirectoryState) else list_directory(place_of(path))
    place = state.place
    for attempt in range(_LISTING_TRIES):
        if attempt:
            state = list_directory(place)
        # Never an endless chase after a node that deletes faster than we read.
        with suppress(VanishedError):
            log = _read_listed(place, state.listing, settings, progress)
            log.signature = state.signature
            return log
    raise SourceError(f"{place}: its files keep vanishing while they are opened", hint="try again")


def _read_listed(
    path: Place, listing: Listing, settings: ReadSettings, progress: ReadProgress | None
) -> MetadataLog:
    if listing.is_empty:
        raise SourceError(
            f"{path}: no segment or checkpoint there",
            hint="a running node writes them: is it the node's metadata.log.dir?",
        )
    faults: list[Fault] = []
    notes: list[str] = []
    for checkpoint in reversed(listing.checkpoints):
        if checkpoint.is_bootstrap:
            break
        after = segments_after(listing, checkpoint.end_offset)
        segments = () if settings.committed_only else after
        loaded = load(_paths(path, checkpoint, segments), progress)
        reason = why_not_whole(loaded)
        if reason is None:
            _stand_for_state(loaded, checkpoint)
            return _finish(_log(path, loaded, listing, checkpoint, faults, notes))
        faults.append(reason)
        notes.append(f"{reason.file} is not used: {reason.reason}")
    if settings.committed_only:
        notes.append("no checkpoint says what is committed: nothing of the segments is shown")
    segments = () if settings.committed_only else listing.segments
    return _without_checkpoint(path, listing, segments, faults, notes, progress)


def _without_checkpoint(
    path: Place,
    listing: Listing,
    segments: tuple[SegmentName, ...],
    faults: list[Fault],
    notes: list[str],
    progress: ReadProgress | None,
) -> MetadataLog:
    """Segments alone, behind the zero checkpoint where there is one."""
    boot = next((c for c in reversed(listing.checkpoints) if c.is_bootstrap), None)
    loaded = load(_paths(path, boot, segments), progress)
    if boot is not None:
        _stand_for_state(loaded, boot)
    return _finish(_log(path, loaded, listing, boot, faults, notes))


def _log(
    place: Place,
    loaded: Loaded,
    listing: Listing,
    checkpoint: CheckpointName | None,
    faults: list[Fault] | None = None,
    notes: list[str] | None = None,
) -> MetadataLog:
    remote = None if isinstance(place, str) else place
    return MetadataLog(
        str(place), loaded, listing, checkpoint, faults or [], notes or [], remote=remote
    )


def _stand_for_state(loaded: Loaded, checkpoint: CheckpointName) -> None:
    loaded.files[0].end_offset, loaded.files[0].epoch = checkpoint.end_offset, checkpoint.epoch


def read_history(log: MetadataLog, progress: ReadProgress | None = None) -> MetadataLog:
    """Read a directory from the oldest state that leads up to its end without a gap.

    That is the beginning of the log where its first segment is there, else the oldest whole
    checkpoint that no missing offsets follow. The log given is returned where it is that already.

    Raises:
        SourceError: A file can't be read.
    """
    for attempt in range(_LISTING_TRIES):
        try:
            return _read_from_oldest(log, progress)
        except VanishedError:
            if attempt == _LISTING_TRIES - 1:
                break
            log = replace(log, listing=list_names(names_in(log.place)), faults=[], notes=[])
    raise SourceError(f"{log.path}: its files keep vanishing while they are opened")


def _read_from_oldest(log: MetadataLog, progress: ReadProgress | None) -> MetadataLog:
    listing, newest = log.listing, log.checkpoint
    if newest is None or newest.is_bootstrap:
        return log
    first = listing.segments[0].base_offset if listing.segments else newest.end_offset
    after = 0
    if first == 0:
        found = _without_checkpoint(log.place, listing, listing.segments, [], [], progress)
        after = _end_of_last_gap(found)
        if not after:
            return found
    for checkpoint in listing.checkpoints:
        if checkpoint.is_bootstrap or checkpoint.end_offset < max(first, after):
            continue
        if checkpoint >= newest:
            break
        # Segments before it, too: what they say is older than the oldest state known.
        loaded = load(_paths(log.place, checkpoint, listing.segments), progress)
        if why_not_whole(loaded) is not None:
            continue
        _stand_for_state(loaded, checkpoint)
        found = _finish(_log(log.place, loaded, listing, checkpoint))
        after = _end_of_last_gap(found)
        if not after:
            return found
    return log


def _end_of_last_gap(log: MetadataLog) -> int:
    """The first offset behind the last ones that are missing or damaged; 0 where none are."""
    after = begin = expected = 0
    for file in log.loaded.files:
        if file.end_offset is not None:
            begin = expected = file.end_offset
            continue
        chain = file.chain
        if chain.first_offset < 0 or chain.last_offset < begin:
            continue
        if chain.first_offset > expected:
            after = chain.first_offset
        if any(fault.kind is not FaultKind.TORN for fault in chain.faults):
            after = chain.last_offset + 1
        expected = chain.last_offset + 1
    return after


def read_until(log: MetadataLog, offset: int, progress: ReadProgress | None = None) -> MetadataLog:
    """Read what the state after an offset is made of: the nearest checkpoint before, and segments.

    Args:
        log: The directory, as it was listed.
        offset: The last offset wanted.
        progress: Called while bytes are read.

    Raises:
        SourceError: No checkpoint and no beginning of the log lies before it, or a file can't be
            read.
    """
    listing = log.listing
    wanted = tuple(s for s in listing.segments if s.base_offset <= offset)
    try:
        for checkpoint in reversed(listing.checkpoints):
            if checkpoint.is_bootstrap or checkpoint.end_offset > offset + 1:
                continue
            segments = [s for s in segments_after(listing, checkpoint.end_offset) if s in wanted]
            loaded = load(_paths(log.place, checkpoint, tuple(segments)), progress)
            if why_not_whole(loaded) is None:
                _stand_for_state(loaded, checkpoint)
                return _finish(_log(log.place, loaded, listing, checkpoint))
        if listing.segments and listing.segments[0].base_offset == 0:
            return _without_checkpoint(log.place, listing, wanted, [], [], progress)
    except VanishedError as e:
        raise SourceError(f"{e}: vanished while it was opened", hint="try again") from e
    raise SourceError(f"no checkpoint at or before offset {offset} is whole")


def _paths(
    path: Place, checkpoint: CheckpointName | None, segments: tuple[SegmentName, ...]
) -> list[FileRef]:
    first = [checkpoint.name] if checkpoint else []
    return [file_in(path, name) for name in (*first, *(s.name for s in segments))]


def segments_after(listing: Listing, end_offset: int) -> tuple[SegmentName, ...]:
    """Segments that may hold records at or after an offset."""
    segments = listing.segments
    first = 0
    for i, segment in enumerate(segments):
        if segment.base_offset <= end_offset:
            first = i
    return segments[first:]


def why_not_whole(loaded: Loaded) -> Fault | None:
    """The flaw of a checkpoint (the first file) that makes it no base; None if there is none.

    A whole one has only sound batches, begins with a SnapshotHeader and ends with a SnapshotFooter.
    """
    file = loaded.files[0]
    chain = file.chain
    if chain.faults:
        return chain.faults[0]
    if not chain.positions:
        return Fault(FaultKind.DAMAGED, "it is empty", file.name, 0)
    view = memoryview(loaded.buffer)
    ends = (chain.positions[0], chain.positions[-1])
    for position, (control_type, what) in zip(ends, CHECKPOINT_ENDS, strict=True):
        if first_control_type(view, position) != control_type:
            reason = f"no snapshot {what}: it was not finished"
            return Fault(FaultKind.DAMAGED, reason, file.name, position - file.start)
    return None


def _finish(log: MetadataLog) -> MetadataLog:
    """Look at how the files fit together."""
    files = log.loaded.files
    log.faults.extend(log.loaded.faults)
    segments = [
        (f.name, f.chain.first_offset, f.chain.last_offset) for f in files if not f.is_checkpoint
    ]
    base = next((f.end_offset for f in files if f.is_checkpoint), None)
    gaps, notes = find_gaps(segments, base)
    log.faults.extend(gaps)
    log.notes.extend(notes)
    found = log.loaded.faults
    for fault in found:
        log.notes.append(note_of(fault, fault is found[-1]))
    return log


def find_gaps(
    segments: Iterable[tuple[str, int, int]], base: int | None
) -> tuple[list[Fault], list[str]]:
    """Offsets that are missing between files.

    Args:
        segments: Name, first and last offset of each, in order; -1 for one without batches.
        base: The first offset that no checkpoint holds; None without one.

    Returns:
        (a fault for each gap, notes on what came before all of them).
    """
    faults: list[Fault] = []
    notes: list[str] = []
    expected = base
    for name, first, last in segments:
        if first < 0:
            continue
        if expected is None and first > 0:
            notes.append(
                f"the base of {name} is missing: what happened before offset {first} is not known"
            )
        elif expected is not None and first > expected:
            reason = f"offsets {expected} to {first - 1} are missing"
            faults.append(Fault(FaultKind.GAP, reason, name, 0, expected))
        expected = max(expected or 0, last + 1)
    return faults, notes


def note_of(fault: Fault, last: bool) -> str:
    """The text about a fault in a file: for the last file, that the state ends there."""
    if fault.kind is FaultKind.TORN and last:
        return f"{fault}; shown up to the last whole batch"
    return str(fault)


def read_file(path: str | RemotePlace, *, progress: ReadProgress | None = None) -> MetadataLog:
    """Read one checkpoint or segment alone; of a path, a URI or a place.

    Raises:
        SourceError: It can't be read, or is no checkpoint or segment by name or content.
    """
    place = place_of(path)
    file = file_at(place)
    name = name_of(file)
    try:
        loaded = load([file], progress)
    except VanishedError as e:
        # A store has no file of that name where there is a directory.
        reason = "not a regular file" if is_directory(place) else "No such file or directory"
        raise SourceError(f"{place}: {reason}") from e
    chain, parsed = loaded.files[0].chain, parse_name(name)
    what = archive_format(bytes(loaded.buffer[: min(HEAD_BYTES, loaded.size)]))
    if not chain.positions and what is not None:
        raise SourceError(f"{place}: {what}", hint=UNPACK_HINT)
    if not chain.positions:
        reason = chain.faults[0].reason if chain.faults else "it is empty"
        raise SourceError(f"{place}: not a segment or checkpoint of a metadata log: {reason}")
    if has_keys(memoryview(loaded.buffer)[: loaded.size]):
        raise keyed_error(place)
    if parsed is None and loaded.buffer[MAGIC_POS] != _MAGIC:
        raise SourceError(
            f"{place}: does not begin with a record batch",
            hint="if it is a damaged segment, call it as Kafka did: 00000000000000000000.log",
        )
    checkpoint = parsed if isinstance(parsed, CheckpointName) else None
    listing = list_names([name])
    log = _log(place, loaded, listing, None)
    log.is_file = True
    if checkpoint is not None:
        if not checkpoint.is_bootstrap:
            # Its records are from before its end, whenever it was written.
            _stand_for_state(loaded, checkpoint)
            loaded.files[0].is_alone = True
        incomplete = why_not_whole(loaded)
        if incomplete is not None and incomplete not in chain.faults:
            log.faults.append(incomplete)
            log.notes.append(str(incomplete))
    return _finish(log)
