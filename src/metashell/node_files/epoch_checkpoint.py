"""`leader-epoch-checkpoint`: the offset at which each leader epoch of a log began.

Text: a line with the format's version (0), a line with the number of entries, then a line
``epoch start-offset`` for each, both growing. Source: Kafka's LeaderEpochCheckpointFile,
CheckpointFile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from metashell.errors import SourceError
from metashell.places.bounded_file import MIB, AnyPlace, name_of, read_if_present

FILE_NAME: Final = "leader-epoch-checkpoint"
_LIMIT_BYTES: Final = 4 * MIB
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1


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


def parse_epoch_checkpoint(data: bytes, file: str) -> tuple[EpochStart, ...]:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: A line is malformed, of an unknown version, out of order or missing.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise SourceError(f"{file}: empty")
    # Latin-1 never fails; what is not a digit is refused below.
    lines = data.decode("latin-1").rstrip("\r\n").split("\n")
    (version,) = _numbers(lines, 0, (_INT32_MAX,), file)
    if version != 0:
        raise SourceError(f"{file}:1: version {version} is unknown")
    if len(lines) == 1:
        raise SourceError(f"{file}:2: the number of entries is missing")
    (count,) = _numbers(lines, 1, (_INT32_MAX,), file)
    if count != len(lines) - 2:
        raise SourceError(f"{file}:2: {count} entries announced, {len(lines) - 2} found")
    entries: list[EpochStart] = []
    for i in range(2, len(lines)):
        entry = EpochStart(*_numbers(lines, i, (_INT32_MAX, _INT64_MAX), file))
        if entries and not (
            entries[-1].epoch < entry.epoch and entries[-1].start_offset <= entry.start_offset
        ):
            raise SourceError(f"{file}:{i + 1}: not above the entry before it")
        entries.append(entry)
    return tuple(entries)


def _numbers(lines: list[str], i: int, limits: tuple[int, ...], file: str) -> tuple[int, ...]:
    """The numbers of a line, each from 0 to its limit."""
    words = lines[i].split()
    if len(words) == len(limits) and all(_NUMBER.fullmatch(word) for word in words):
        numbers = tuple(int(word) for word in words)
        if all(number <= limit for number, limit in zip(numbers, limits, strict=True)):
            return numbers
    what = "a number" if len(limits) == 1 else "an epoch and an offset"
    raise SourceError(f"{file}:{i + 1}: not {what}: {lines[i][:40]!r}")
