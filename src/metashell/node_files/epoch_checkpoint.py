"""`leader-epoch-checkpoint`: the offset at which each leader epoch of a log began.

Text: a line with the format's version (0), a line with the number of entries, then a line
``epoch start-offset`` for each, both growing. Source: Kafka's LeaderEpochCheckpointFile,
CheckpointFile.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.node_files.checkpoint_file import INT32_MAX, INT64_MAX, entry_lines, numbers_of
from metashell.places.bounded_file import MIB, AnyPlace, name_of, read_if_present

FILE_NAME: Final = "leader-epoch-checkpoint"
_LIMIT_BYTES: Final = 4 * MIB
_ENTRY: Final = "an epoch and an offset"
_PLAIN: Final = re.compile(rb"0\n([0-9]{1,9})\n((?:[0-9]{1,9} [0-9]{1,18}\n)*)")
"""A file as Kafka writes it."""


@dataclass(frozen=True, slots=True)
class EpochStart:
    """One leader epoch and the offset of its first record."""

    epoch: int
    start_offset: int


def read_epoch_checkpoint(path: AnyPlace) -> tuple[EpochStart, ...] | None:
    """Read the file; None where there is none.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    data = read_if_present(path, limit_bytes=_LIMIT_BYTES)
    return None if data is None else parse_epoch_checkpoint(data, name_of(path))


def refusal_of(data: bytes, file: str) -> str | None:
    """Why Kafka refuses the file; None for one that it takes: it mends the order of entries."""
    plain = _PLAIN.fullmatch(data)
    if plain is not None and int(plain[1]) == plain[2].count(b"\n"):
        return None
    try:
        for i, line in enumerate(entry_lines(data, file), 3):
            numbers_of(line, (INT32_MAX, INT64_MAX), f"{file}:{i}", _ENTRY)
    except SourceError as error:
        return error.message
    return None


def parse_epoch_checkpoint(data: bytes, file: str) -> tuple[EpochStart, ...]:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: A line is malformed, of an unknown version, out of order or missing.
    """
    entries: list[EpochStart] = []
    for i, line in enumerate(entry_lines(data, file), 3):
        place = f"{file}:{i}"
        entry = EpochStart(*numbers_of(line, (INT32_MAX, INT64_MAX), place, _ENTRY))
        if entries and not (
            entries[-1].epoch < entry.epoch and entries[-1].start_offset <= entry.start_offset
        ):
            raise SourceError(f"{place}: not above the entry before it")
        entries.append(entry)
    return tuple(entries)
