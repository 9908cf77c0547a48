"""Archives for tests, sound ones and such as nobody should make."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Member = tuple[str, bytes] | tarfile.TarInfo
"""A file's name and content, or a member without content."""


def tar_of(*members: Member) -> bytes:
    """A tar archive of members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


def special(name: str, kind: bytes, to: str = "") -> tarfile.TarInfo:
    """A member that is no file: a link, a device, a pipe."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def sparse(name: str, content: bytes, holes: str, size: int) -> bytes:
    """A tar archive of a sparse file in GNU's format 1.0, with a map of its pieces."""
    data = holes.encode().ljust(512, b"\0") + content
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": name,
        "GNU.sparse.realsize": str(size),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def rewritten(tar: bytes, **fields: bytes) -> bytes:
    """A tar archive whose first header has other fields, and the sum of them."""
    places = {"name": (0, 100), "size": (124, 12), "kind": (156, 1)}
    header = bytearray(tar[:512])
    for field, value in fields.items():
        at, size = places[field]
        header[at : at + size] = value.ljust(size, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + tar[512:]


def zip_of(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tar_of_directories(directories: Iterable[Path], parent: Path) -> bytes:
    """A tar archive of directories, named below a parent."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for directory in directories:
            tar.add(directory, directory.relative_to(parent).as_posix() or ".")
    return out.getvalue()
