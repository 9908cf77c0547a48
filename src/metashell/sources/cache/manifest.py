"""The manifest of an entry: the files that it covers, and where their records lie in it.

The manifest is JSON. An entry with any other content in it, an older version's manifest included,
counts for nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.read_settings import ReadSettings
from metashell.version import __version__

if TYPE_CHECKING:
    pass

FORMAT: Final = 6
"""Changes with what is stored, and with what decides which records are."""

MAX_FAULTS: Final = 10_000
"""Files with more faults than that are read each time."""


class ManifestError(Exception):
    """The text is no manifest of this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A file whose batches, up to a position, an entry stands for."""

    name: str
    size: int
    """Bytes when it was read."""
    mtime_ns: int
    inode: int | None
    """On this machine."""
    grows: bool
    """Whether it was the last segment, to which more may have been appended since."""
    covered: int
    """Position behind the last batch that the entry stands for."""
    crc: int | None
    """CRC-32C of the bytes before that, where it grows and is no object of a store."""
    head: str
    """Its first bytes, a batch's header with its CRC, in hexadecimal."""
    last_pos: int
    """Position of the last batch that a record was kept of."""
    last: str
    """The header there."""
    facts: dict[str, Any]
    """`metashell.reduced.table.FileFacts` as JSON; see `file_facts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFile:
    """A file with the records of some messages."""

    file: str
    size: int
    crc: int
    rows: int
    bounds: tuple[int, ...]
    """Bytes of the values before each row group, and of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """An entry's manifest."""

    place: str
    checkpoint: str | None
    files: tuple[Covered, ...]
    rows: int
    groups: dict[str, GroupFile]
    has_markers: bool
    """Whether records of transactions are among them."""
    has_unread: bool
    """Whether of a record only the reason is there why it can't be decoded."""
    any_odd: bool
    """Whether any record has an unknown frame."""
    last_row: int
    """The last that counts, -1 for none."""
    last_applied: tuple[int, int, int]
    """(offset, epoch, timestamp), as in `metashell.image.image.ImageProvenance`."""

    def to_json(self) -> bytes:
        """The text, with what it was written by."""
        versions = {"format": FORMAT, "metashell": __version__}
        return json.dumps({**versions, **asdict(self)}).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Read a text.

        Raises:
            ManifestError: It is none, or was written by another version.
        """
        try:
            value = json.loads(text)
            if (value.pop("format"), value.pop("metashell")) != (FORMAT, __version__):
                raise ManifestError("another version wrote it")
            value["files"] = tuple(Covered(**file) for file in value["files"])
            value["groups"] = {
                name: GroupFile(**{**group, "bounds": tuple(group["bounds"])})
                for name, group in value["groups"].items()
            }
            value["last_applied"] = tuple(value["last_applied"])
            return cls(**value)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ManifestError(str(e)) from e


def key_of(place: str, settings: ReadSettings) -> str:
    """The name of the entry for a place, read in one way.

    Args:
        place: An absolute path, or a URI without credentials.
        settings: How it is read: with which definitions, and whether segments are left out.
    """
    digests = [
        [path.name, sha256(path.read_bytes()).hexdigest()]
        for directory in settings.schemas
        for path in sorted(Path(directory).glob("*.json"))
    ]
    key = json.dumps([place, digests, settings.committed_only])
    return sha256(key.encode()).hexdigest()[:32]
