"""Whether the files of a directory still begin as they did when an entry was written.

Two headers of each file are read, nothing else. That is enough: segments that are closed and
checkpoints are never written again, so size and time say that they are the same, and the headers
that nobody put others of equal size there; of a segment that grows, a batch vouches by its offset,
epoch and CRC for all before it, for that is what Raft promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from metashell.cache.manifest import Covered, Manifest
from metashell.errors import SourceError
from metashell.log.changed import signature
from metashell.log.names import CheckpointName, Listing, list_names
from metashell.log.places import Place, file_in
from metashell.log.read import opened
from metashell.log.splits import Known, replayed_segments
from metashell.log.vanished import VanishedError

if TYPE_CHECKING:
    from metashell.log.read import FileRef

_HEADER_BYTES: Final = 61


class State:
    """A directory's files as they are listed now."""

    def __init__(self, place: Place) -> None:
        """List them.

        Raises:
            SourceError: That can't be done.
        """
        self.place = place
        found = signature(place)
        assert isinstance(found, tuple)
        self.sizes: dict[str, int] = {name: size for name, size, *_ in found}
        self._times: dict[str, int] = {name: mtime for name, _, mtime, *_ in found}
        self._inodes: dict[str, int | None] = {
            name: rest[0] if rest else None for name, _, _, *rest in found
        }
        self.listing: Listing = list_names(self.sizes)

    @property
    def checkpoint(self) -> CheckpointName | None:
        """The newest, which a replay begins with unless it is damaged."""
        return self.listing.checkpoints[-1] if self.listing.checkpoints else None

    def replayed(self, committed_only: bool) -> list[str]:
        """Names of the files that make up the newest state, in replay order."""
        first = [self.checkpoint.name] if self.checkpoint is not None else []
        if committed_only:
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

    def facts(self, name: str) -> tuple[int, int, int | None]:
        """Size, time and inode of a file."""
        return self.sizes[name], self._times[name], self._inodes[name]

    def still_has(self, manifest: Manifest, committed_only: bool) -> bool:
        """Whether an entry stands for the first of the files."""
        names = self.replayed(committed_only)
        covered = manifest.files
        newest = None if self.checkpoint is None else self.checkpoint.name
        if newest != manifest.checkpoint or [f.name for f in covered] != names[: len(covered)]:
            return False
        return bool(covered) and all(self._is_same(file) for file in covered)

    def _is_same(self, file: Covered) -> bool:
        size, mtime_ns, inode = self.facts(file.name)
        if inode != file.inode or size < file.covered:
            return False
        if not file.grows and (size, mtime_ns) != (file.size, file.mtime_ns):
            return False
        return (
            self.header(file.name, 0).hex() == file.head
            and self.header(file.name, file.last_pos).hex() == file.last
        )

    def known(self, files: Sequence[Covered]) -> list[Known]:
        """What need not be read."""
        return [
            Known(
                name=file.name,
                size=self.sizes[file.name],
                covered=file.covered,
                first_offset=file.facts["first_offset"],
                last_offset=file.facts["last_offset"],
            )
            for file in files
        ]
