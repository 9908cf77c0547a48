"""Archives and compressed files: how they are recognised, and which are opened."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final

from metashell.errors import SourceError
from metashell.places.uri import archive_uri, is_uri

HEAD_BYTES: Final = 512
"""How many bytes `archive_format` looks at."""
_ARCHIVES: Final = (
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "a zip archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (0, b"\xfd7zXZ\0", "an xz file"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"\x04\x22\x4d\x18", "an lz4 file"),
    (0, b"\xff\x06\0\0sNaPpY", "a snappy file"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (0, b"\x1f\x9d", "a compress file"),
    (0, b"070707", "a cpio archive"),
    (0, b"070701", "a cpio archive"),
    (0, b"070702", "a cpio archive"),
    (0, b"!<arch>\n", "an ar archive"),
    (257, b"ustar", "a tar archive"),
)
_ARCHIVE_NAME: Final = re.compile(
    r"\.(?:tar|t[agx]z|tbz2?|tzst|zip|gz|zst|xz|bz2|lz4|sz|snappy|7z|rar|Z|cpio|ar)\Z",
    re.IGNORECASE,
)
"""How archives and compressed files are named, those of `archive_format`."""
OPENED: Final = frozenset({"a tar archive", "a gzip file", "a zstd file", "a zip archive"})
"""The formats that `metashell.places.unpacking` reads."""
UNPACK_HINT: Final = (
    "-d opens zip archives and tar archives (plain, gzip, zstd) of this machine; unpack others"
)


def archive_format(head: bytes) -> str | None:
    """The archive or compressed format that begins so, as a noun; None for anything else."""
    if (old := _is_old_tar(head)) is not None:
        return old
    return next((what for at, magic, what in _ARCHIVES if head.startswith(magic, at)), None)


def _is_old_tar(head: bytes) -> str | None:
    """A tar archive without a magic, by the sum of its header."""
    if len(head) < HEAD_BYTES or not head[0]:
        return None
    try:
        told = int(head[148:156].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    summed = sum(head[:148]) + 8 * ord(" ") + sum(head[156:HEAD_BYTES])
    return "a tar archive" if told == summed else None


def is_archive_name(name: str) -> bool:
    """Whether a file is called like an archive: in a store each look at a file is paid for."""
    return _ARCHIVE_NAME.search(name) is not None


def archive_or_self(given: str) -> str:
    """The URI of the archive at a path; a text that names anything else is returned unchanged."""
    if is_uri(given) or not os.path.isfile(given):
        return given
    head = b"unreadable"
    with suppress(OSError), open(given, "rb") as file:
        head = file.read(HEAD_BYTES)
    # A tar archive without members is all zeros.
    is_empty = is_archive_name(given) and not head.strip(b"\0")
    return archive_uri(given) if is_empty or archive_format(head) in OPENED else given


def not_a_directory(path: str, head: bytes | None) -> SourceError:
    """The error that says of a file where a directory is wanted whether it is an archive.

    Args:
        path: How the file is shown.
        head: Its first `HEAD_BYTES`, None where they can't be read.
    """
    what = archive_format(head or b"")
    if what is not None:
        return SourceError(f"{path}: {what}", hint=UNPACK_HINT)
    return SourceError(f"{path}: not a directory", hint="open a single file with -s")
