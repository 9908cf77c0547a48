"""Splits of the files that are wanted of a directory, from its listing alone where that will do.

`metashell.log.splits.plan_splits` looks into every file, to see how they fit together. For
thousands of directories and a filter that leaves a few files of each, that would be most of the
work: here a file is opened only if it is large enough to be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.boundaries import Boundary, Cutter, read_index
from metashell.log.extent import LARGEST
from metashell.log.names import CheckpointName, SegmentName, list_names
from metashell.log.read import opened
from metashell.log.splits import Split
from metashell.places.place import Place, StoreEntry, entries_in, file_in
from metashell.places.vanished import VanishedError

Takes: TypeAlias = Callable[[str, int, int | None], bool]
"""Whether a file is wanted, given its name, the first offset that it can hold (0 for a checkpoint)
and, if that is known, the first that it can't."""


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    size: int
    after: int
    """The last offset that can't be in it."""
    is_segment: bool


def plan_files(place: Place, split_bytes: int, takes: Takes) -> list[Split]:
    """The splits of the checkpoints and segments that are wanted.

    Args:
        place: The metadata directory.
        split_bytes: About how large a split is.
        takes: Says which files are wanted.

    Raises:
        SourceError: The directory can't be listed, or holds no file of a metadata log.
    """
    # What is called like a file of the log and is none is told of by who opens it.
    entries = {entry.name: entry for entry in entries_in(place)}
    listing = list_names(entries)
    if listing.is_empty:
        raise SourceError(f"{place}: no segment or checkpoint there")
    files = [
        *_wanted_checkpoints(listing.checkpoints, entries, takes),
        *_wanted_segments(listing.segments, entries, takes),
    ]
    return [
        split
        for order, file in enumerate(files)
        for split in _splits(place, file, order, split_bytes)
    ]


def _wanted_checkpoints(
    checkpoints: Sequence[CheckpointName], entries: dict[str, StoreEntry], takes: Takes
) -> Iterator[_File]:
    for checkpoint in checkpoints:
        if takes(checkpoint.name, 0, None):
            yield _File(checkpoint.name, entries[checkpoint.name].size, -1, False)


def _wanted_segments(
    segments: Sequence[SegmentName], entries: dict[str, StoreEntry], takes: Takes
) -> Iterator[_File]:
    for i, segment in enumerate(segments):
        following = segments[i + 1].base_offset if i + 1 < len(segments) else None
        if takes(segment.name, segment.base_offset, following):
            after = segment.base_offset - 1
            yield _File(segment.name, entries[segment.name].size, after, True)


def _splits(place: Place, file: _File, order: int, split_bytes: int) -> Iterator[Split]:
    size = file.size
    cuts: list[Boundary] = []
    if size > min(split_bytes, LARGEST):
        # Who reads it will find that out, too.
        with suppress(SourceError, VanishedError):
            size, cuts = _cut(place, file, split_bytes)
    edges = [Boundary(0, file.after), *cuts]
    for i, edge in enumerate(edges):
        following = edges[i + 1] if i + 1 < len(edges) else None
        yield Split(
            file=file_in(place, file.name),
            name=file.name,
            begin=edge.pos,
            end=size if following is None else following.pos,
            after=edge.after,
            order=order,
            size=size,
            until=None if following is None else following.after,
        )


def _cut(place: Place, file: _File, split_bytes: int) -> tuple[int, list[Boundary]]:
    """A file's size, and where to cut it."""
    index = None
    if file.is_segment:
        name = file.name.removesuffix(".log") + ".index"
        # It only spares a search.
        with suppress(SourceError, VanishedError), opened(file_in(place, name)) as source:
            index = read_index(source, file.after + 1)
    with opened(file_in(place, file.name)) as source:
        cutter = Cutter(source, source.size, index)
        return source.size, cutter.boundaries(split_bytes, file.after)
