"""Where entries lie on disk: the directory, who may read it, how large it may become.

An entry is a directory of its own. Its manifest, written last under another name and renamed, says
which of the files in it count; so a process sees an entry whole or not at all, whoever else writes.

Files that a manifest names are made read-only behind that. One that is read-only and not named any
more has no use: no later manifest names it again. One that can be written is somebody's who is
about to name it, or who ended before that.

Where the cache lies, and whether it is worth a look.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, Final

from metashell.dataclass import dataclass
from metashell.places.user import cache_root
from metashell.read_settings import ReadSettings
from metashell.sources.cache.manifest import Manifest, ManifestError


def cache_directory() -> str | None:
    """The directory of all entries; it need not exist. None for a user without a home."""
    root = cache_root()
    return None if root is None else os.path.join(root, "images")


def may_be_cached(settings: ReadSettings) -> bool:
    """Whether a directory read like that is worth being looked for in the cache.

    Secrets are not kept, nor is where a strict replay would end. Cost: a look at one path.
    """
    if settings.show_secrets or settings.strict:
        return False
    directory = cache_directory()
    return directory is not None and os.path.isdir(directory)


LIMIT_VARIABLE: Final = "METASHELL_CACHE_MAX_BYTES"
LIMIT_BYTES: Final = 10 << 30
MANIFEST: Final = "manifest.json"

_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MANIFEST_LIMIT: Final = 64 << 20
_ABANDONED_S: Final = 3600.0
"""Age from which a file that was never named is taken for one that nobody will name."""


def unique() -> str:
    """A part of a name that no other file has."""
    return os.urandom(12).hex()


def limit_bytes() -> int:
    """How large all entries may be together; what is no number of bytes does not count."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() else LIMIT_BYTES


@dataclass(frozen=True, slots=True)
class EntryDirectory:
    """The directory of one entry."""

    path: Path

    @classmethod
    def of_key(cls, key: str) -> EntryDirectory | None:
        """The one of a key, which is fit for a file's name; None where there is no cache."""
        directory = cache_directory()
        return None if directory is None else cls(Path(directory, key))

    def exists(self) -> bool:
        """Whether there seems to be an entry."""
        return os.path.exists(self.path / MANIFEST)

    def read_manifest(self) -> bytes | None:
        """The manifest; None where there is none of ours."""
        try:
            if not (_is_private(self.path.parent) and _is_private(self.path)):
                return None
            fd = os.open(self.path / MANIFEST, _READ_FLAGS)
            with os.fdopen(fd, "rb") as file:
                data = file.read(_MANIFEST_LIMIT + 1)
        except OSError:
            return None
        return data if len(data) <= _MANIFEST_LIMIT else b""

    def touch(self) -> None:
        """Note that the entry was used."""
        with suppress(OSError):
            os.utime(self.path / MANIFEST)

    def remove(self) -> None:
        """Remove the entry; another process that has it open is not disturbed."""
        with suppress(OSError):
            (self.path / MANIFEST).unlink()
        shutil.rmtree(self.path, ignore_errors=True)

    def prepare(self) -> None:
        """Make the directory, for its owner alone.

        Raises:
            OSError: It can't be made, or somebody else's is there.
        """
        for path in (self.path.parent, self.path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.lstat().st_uid == os.geteuid():
                path.chmod(0o700)
            if not _is_private(path):
                raise PermissionError(f"{path} belongs to somebody else")

    @contextmanager
    def create(self, name: str) -> Iterator[BinaryIO]:
        """Write a new file for its owner alone; where that fails nothing of it stays.

        Raises:
            OSError: It can't be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.path / name, flags, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                yield file
        except BaseException:
            self.discard([name])
            raise

    def map(self, name: str, size: int) -> mmap:
        """The content of a file, which may be removed afterwards.

        Raises:
            ManifestError: It is not of that size.
            OSError: It can't be opened.
        """
        fd = os.open(self.path / Path(name).name, _READ_FLAGS)
        try:
            if size <= 0 or os.fstat(fd).st_size != size:
                raise ManifestError(f"{name} has another size")
            return mmap(fd, 0, access=ACCESS_READ)
        finally:
            os.close(fd)

    def publish(self, manifest: bytes, names: Sequence[str]) -> None:
        """Let the entry be what this manifest says, and remove files that no longer count.

        Args:
            manifest: The content.
            names: The files that it names, which are written.

        Raises:
            OSError: It can't be written, or one of the files was removed meanwhile.
        """
        files = [self.path / name for name in names if name]
        for file in files:
            # They may have become old while others were written; see `clean`.
            os.utime(file)
        temporary = self.path / f"{unique()}.tmp"
        with self.create(temporary.name) as target:
            target.write(manifest)
        try:
            temporary.replace(self.path / MANIFEST)
        except OSError:
            self.discard([temporary.name])
            raise
        for file in files:
            with suppress(OSError):
                file.chmod(0o400)
        self.clean()

    def clean(self) -> None:
        """Remove files that no longer count, and none that another process is about to name."""
        with suppress(OSError):
            if not _is_private(self.path):
                return
            # Listed before the names are read: a file that is named later is not in the list.
            found = [(path, path.lstat()) for path in self.path.iterdir()]
            named = self._named()
            for path, status in found:
                if path.name == MANIFEST or path.name in named:
                    continue
                is_abandoned = time.time() - status.st_mtime >= _ABANDONED_S
                if is_abandoned or not status.st_mode & stat.S_IWUSR:
                    path.unlink(missing_ok=True)

    def _named(self) -> set[str]:
        """Names of the files of the entry as it is now.

        Raises:
            OSError: There is a manifest that can't be read.
        """
        text = self.read_manifest()
        if text is None and self.exists():
            raise OSError(f"{self.path} can't be read")
        try:
            groups = Manifest.from_json(text or b"").groups
        except ManifestError:
            return set()
        return {group.file for group in groups.values()}

    def discard(self, names: Iterable[str]) -> None:
        """Remove files that no manifest names, and the directory if nothing is left in it."""
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink()
        with suppress(OSError):
            self.path.rmdir()

    def size(self) -> int:
        """Bytes of its files."""
        return sum(path.lstat().st_size for path in self.path.iterdir())


def make_room(kept: EntryDirectory) -> None:
    """Remove what was not used for longest until all entries fit, the one given last of all."""
    found: list[tuple[float, int, EntryDirectory]] = []
    with suppress(OSError):
        for path in kept.path.parent.iterdir():
            entry = EntryDirectory(path)
            with suppress(OSError):
                used = (path / MANIFEST).lstat().st_mtime if entry.exists() else _age_of(path)
                found.append((used, entry.size(), entry))
    total, limit = sum(size for _, size, _ in found), limit_bytes()
    for _, size, entry in sorted(found, key=lambda one: (one[2] == kept, one[0])):
        if total <= limit:
            return
        entry.remove()
        total -= size


def _age_of(path: Path) -> float:
    return path.lstat().st_mtime


def _is_private(path: Path) -> bool:
    """Whether a directory is ours and nobody else can write or read it."""
    status = path.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )
