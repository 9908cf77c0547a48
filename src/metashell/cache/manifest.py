"""What an entry says of itself: the files that it covers, and where their records lie in it.

The manifest is JSON. Whatever else stands there than what is written here, an older version's
manifest included, makes an entry that counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metashell.log.fault import Fault, FaultKind
from metashell.version import __version__

if TYPE_CHECKING:
    from metashell.image.condensed import FileFacts

FORMAT: Final = 1
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
    head: str
    """Its first bytes, a batch's header with its CRC, in hexadecimal."""
    last_pos: int
    """Position of the last batch that a record was kept of."""
    last: str
    """The header there."""
    facts: dict[str, Any]
    """`metashell.image.condensed.FileFacts` as JSON; see `file_facts`."""


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
    any_odd: bool
    """Whether any record has an unknown frame."""
    last_row: int
    """The last that counts, -1 for none."""
    last_applied: tuple[int, int, int]
    """As `metashell.image.image.ImageProvenance`."""

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


def key_of(place: str, schemas: Sequence[Path], committed_only: bool) -> str:
    """The name of the entry for a place, read in one way.

    Args:
        place: An absolute path, or a URI without credentials.
        schemas: Directories of the user's message definitions.
        committed_only: Whether segments are left out.
    """
    digests = [
        [path.name, sha256(path.read_bytes()).hexdigest()]
        for directory in schemas
        for path in sorted(Path(directory).glob("*.json"))
    ]
    return sha256(json.dumps([place, digests, committed_only]).encode()).hexdigest()[:32]


def file_facts(value: dict[str, Any]) -> FileFacts:
    """Facts of a file from JSON.

    Raises:
        ManifestError: They are none.
    """
    from metashell.image.condensed import FileFacts

    try:
        faults = {name: _faults(value[name]) for name in ("faults", "unframed")}
        return FileFacts(**{**value, **faults})
    except (ValueError, TypeError, KeyError) as e:
        raise ManifestError(str(e)) from e


def _faults(values: list[dict[str, Any]]) -> tuple[Fault, ...]:
    return tuple(Fault(**{**fault, "kind": FaultKind(fault["kind"])}) for fault in values)
