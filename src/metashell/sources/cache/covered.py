"""Whether the files of a directory still begin as they did when an entry was written.

A file is the same if its size and time are, and if its first and last header are, too. Only the
last segment may have grown. Then its time tells nothing, and bytes that an entry stands for may
have been changed in place: their CRC is compared, which costs reading them and no decoding. In a
store the headers alone are compared: an object is only ever replaced as a whole, and an entry is
there to save the download.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import error as StructError
from typing import Final

from metashell.errors import SourceError
from metashell.log.changed import DirectoryState, list_directory
from metashell.log.crc import crc32c
from metashell.log.names import CheckpointName, Listing, list_names
from metashell.log.read import opened
from metashell.log.splits import KnownBatches, replayed_segments
from metashell.places.place import FileRef, Place, RemotePlace, file_in
from metashell.places.vanished import VanishedError
from metashell.read_settings import ReadSettings
from metashell.sources.cache.manifest import Covered, Manifest

_HEADER_BYTES: Final = 61


class CoveredFiles:
    """A directory's files as they are listed now."""

    def __init__(self, directory: Place | DirectoryState) -> None:
        """List them, where they are not listed yet.

        Raises:
            SourceError: They can't be listed.
        """
        state = directory
        if not isinstance(state, DirectoryState):
            state = list_directory(state)
        self.place = state.place
        self.sizes: dict[str, int] = {name: file.size for name, file in state.files.items()}
        self._files = state.files
        self.listing: Listing = list_names(self.sizes)

    @property
    def checkpoint(self) -> CheckpointName | None:
        """The newest, which a replay begins with unless it is damaged."""
        return self.listing.checkpoints[-1] if self.listing.checkpoints else None

    def replayed(self, settings: ReadSettings) -> list[str]:
        """Names of the files that make up the newest state, in replay order."""
        first = [self.checkpoint.name] if self.checkpoint is not None else []
        if settings.committed_only:
            return first
        segments = replayed_segments(self.listing, self.checkpoint)
        return [*first, *(segment.name for segment in segments)]

    def header(self, name: str, pos: int) -> bytes:
        """The bytes of a batch's header; fewer where the file ends, none where it is gone."""
        target = bytearray(_HEADER_BYTES)
        try:
            file: FileRef = file_in(self.place, name)
            with opened(file) as source:
                n = source.read_into(memoryview(target), pos)
        except (VanishedError, SourceError, OSError, StructError):
            return b""
        return bytes(target[:n])

    def crc(self, name: str, size: int) -> int | None:
        """CRC-32C of a file's first bytes; None where they can't be read, or lie in a store."""
        if isinstance(self.place, RemotePlace):
            return None
        pos = crc = 0
        try:
            with opened(file_in(self.place, name)) as source:
                target = memoryview(bytearray(min(source.step, size)))
                while pos < size:
                    n = source.read_into(target[: size - pos], pos)
                    if not n:
                        return None
                    crc = crc32c(target[:n], crc)
                    pos += n
        except (VanishedError, SourceError, OSError, StructError):
            return None
        return crc

    def facts(self, name: str) -> tuple[int, int, int | None]:
        """Size, time and inode of a file."""
        file = self._files[name]
        return file.size, file.mtime_ns, file.inode

    def only_grew(self, before: object, names: Sequence[str]) -> bool:
        """Whether files are what an earlier signature says, but for what the last one got."""
        assert isinstance(before, tuple)
        known = {name: tuple(facts) for name, *facts in before}
        for name in names:
            then = known.get(name)
            now = tuple(fact for fact in self.facts(name) if fact is not None)
            has_grown = then is not None and now[0] > then[0] and now[2:] == then[2:]
            if now != then and not (has_grown and name == names[-1]):
                return False
        return True

    def still_has(self, manifest: Manifest, settings: ReadSettings) -> bool:
        """Whether an entry stands for the first of the files."""
        names = self.replayed(settings)
        covered = manifest.files
        newest = None if self.checkpoint is None else self.checkpoint.name
        if newest != manifest.checkpoint or [f.name for f in covered] != names[: len(covered)]:
            return False
        return bool(covered) and all(self._is_same(file) for file in covered)

    def _is_same(self, file: Covered) -> bool:
        size, mtime_ns, inode = self.facts(file.name)
        has_grown = file.grows and size > file.size
        if inode != file.inode or (
            not has_grown and (size, mtime_ns) != (file.size, file.mtime_ns)
        ):
            return False
        return (
            self.header(file.name, 0).hex() == file.head
            and self.header(file.name, file.last_pos).hex() == file.last
            and (not has_grown or self.crc(file.name, file.covered) == file.crc)
        )

    def known(self, files: Sequence[Covered]) -> list[KnownBatches]:
        """The batches that need not be read, by file."""
        return [
            KnownBatches(
                name=file.name,
                size=self.sizes[file.name],
                covered=file.covered,
                first_offset=file.facts["first_offset"],
                last_offset=file.facts["last_offset"],
            )
            for file in files
        ]
