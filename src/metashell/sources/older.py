"""Whether the files before the newest checkpoint are read unasked, to tell when things happened.

They tell times that the checkpoint hides. Small ones are always read, so that an answer depends on
the directory alone: neither on a cache, nor on the machine, nor on how long reading takes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.changed import list_directory
from metashell.log.directory import MetadataLog, segments_after
from metashell.read_settings import OLDER_BYTES
from metashell.schema.id_table import hash_ids
from metashell.sources.source import Source

if TYPE_CHECKING:
    from metashell.image.image import Image

_NEWER_BYTES: Final = 4 * OLDER_BYTES
"""Behind longer segments older files are not read unasked: both would be folded once more."""
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DatedImage:
    """An image, and why its rows do not know more."""

    image: Image
    hint: str | None = None
    """A way to make more times known; None where nothing does or all are known."""


def dated_image(source: Source) -> DatedImage:
    """The image of a source whose rows know best when they came to be.

    It holds the same as the source's own image. It is that image where there are no older files,
    where they have more than `OLDER_BYTES`, and where what they lead to is another state.
    """
    undated = source.undated_image
    if undated is not None:
        return undated
    try:
        whole = source.full_log.history_image
    except SourceError as error:
        return _without_times(source, error)
    if whole is source.image or not _is_same(whole, source.image):
        return DatedImage(source.image)
    return DatedImage(whole)


def undated_image(source: Source) -> DatedImage | None:
    """The dated image where no older file has to be read for it; None where one has to be."""
    settings = source.settings
    newest = source.newest.log
    if settings.strict or settings.committed_only:
        return DatedImage(source.image)
    try:
        n_bytes, n_newer = older_bytes(newest)
        if not n_bytes:
            return DatedImage(source.image)
        if n_bytes > OLDER_BYTES or n_newer > _NEWER_BYTES:
            assert newest.checkpoint is not None
            end = newest.checkpoint.end_offset
            size = f"{n_bytes / _MEGABYTE:,.0f} MB"
            return DatedImage(
                source.image,
                f"no times before offset {end:,}: --history reads the older files too ({size})",
            )
    except SourceError as error:
        return _without_times(source, error)
    return None


def _without_times(source: Source, error: SourceError) -> DatedImage:
    return DatedImage(source.image, f"no times from older files: {error.message}")


def is_unread(source: Source) -> bool:
    """Whether older files tell more than is known. Cost: lists the directory once."""
    return not Source.dated_image.is_known(source) and source.undated_image is None


def is_broken(source: Source) -> bool:
    """Whether older files were read that lead to the state no more: offsets are lost in between."""
    if not Source.dated_image.is_known(source) or source.undated_image is not None:
        return False
    try:
        return source.full_log.newest.history.whole_from() is not None
    except SourceError:  # a file of them can't be read
        return True


def read_older(source: Source, cancelled: Callable[[], bool]) -> None:
    """Do what `Source.dated_image` takes time for, step by step, and without its source's lock.

    Others can go on with the source meanwhile.

    Args:
        source: The source.
        cancelled: Asked between the steps.

    Raises:
        KeyboardInterrupt: It was cancelled.
    """

    def go_on() -> None:
        if cancelled():
            raise KeyboardInterrupt

    full = source.full_log
    with suppress(SourceError):  # `dated_image` tells of it
        _ = full.history.oldest
        go_on()
        whole = full.history_image
        go_on()
        _ = whole is source.image or _is_same(whole, source.image)
        go_on()
    _ = source.dated_image


def older_bytes(log: MetadataLog) -> tuple[int, int]:
    """Bytes of the files that only a directory's past needs, and of the newer segments.

    Both are 0 where no file tells of the past.

    Raises:
        SourceError: The directory can't be listed.
    """
    newest, listing = log.checkpoint, log.listing
    if log.is_file or log.in_memory is not None or newest is None or newest.is_bootstrap:
        return 0, 0
    checkpoints = [c for c in listing.checkpoints if not c.is_bootstrap and c < newest]
    segments = listing.segments
    first = segments[0].base_offset if segments else newest.end_offset
    if first and not any(c.end_offset >= first for c in checkpoints):
        return 0, 0  # No state leads up to the newest checkpoint.
    needed = {segment.name for segment in segments_after(listing, newest.end_offset)}
    names = {c.name for c in checkpoints} | {segment.name for segment in segments}
    names -= needed
    if not names:
        return 0, 0
    listed = log.signature or list_directory(log.place).signature
    sizes = {str(name): int(size) for name, size, *_ in listed}
    older, newer = (sum(sizes.get(name, 0) for name in some) for some in (names, needed))
    return older, newer


def _is_same(one: Image, other: Image) -> bool:
    """Whether two images have the same brokers, topics and partitions, each as often changed.

    A damaged directory can lead to another state than its checkpoint holds; `check` tells of it.
    """
    brokers = [(i.brokers.ids, i.brokers.registration.fixed("broker_epoch")) for i in (one, other)]
    if not all(np.array_equal(a, b) for a, b in zip(*brokers, strict=True)):
        return False
    if len(one.partitions) != len(other.partitions) or len(one.topics) != len(other.topics):
        return False
    return _digest(one) == _digest(other)


def _digest(image: Image) -> int:
    """A number that partitions, in whatever order, have in common with the same ones."""
    partitions = image.partitions
    mixed = hash_ids(image.topics.ids)[partitions.topic]
    for column in (
        partitions.partition,
        partitions.partition_epoch,
        partitions.leader,
        partitions.leader_epoch,
    ):
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed.sum(dtype=np.uint64)) + int(hash_ids(image.topics.ids).sum(dtype=np.uint64))
