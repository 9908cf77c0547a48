"""`leader-epoch-checkpoint`: the offset at which each leader epoch of a log began.

Text: a line with the format's version (0), a line with the number of entries, then a line
``epoch start-offset`` for each, both growing. Source: Kafka's LeaderEpochCheckpointFile,
CheckpointFile.

Kafka's checkpoint files of text: a version, a number of entries, and an entry a line.

Owns what all of them have in common; what an entry is say those who know the file. Source:
org.apache.kafka.server.common.CheckpointFile.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.bounded_file import MIB, AnyPlace, name_of, read_if_present

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

_VERSION: Final = 0
_ENTRIES_MAX: Final = 1_000_000
"""More than any broker has logs."""
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_SHOWN: Final = 40


def entry_lines(data: bytes, file: str) -> list[str]:
    """The lines of the entries, one after the other from the file's third line on.

    A file that ends before the number of entries has none, as in Kafka: a power cut leaves such.

    Args:
        data: The file's content. Bytes that are no ASCII stay, one character each.
        file: Its name, for errors.

    Raises:
        SourceError: The version is unknown, or the number of entries is another than announced.
    """
    if not data:
        return []
    if not data.strip(b"\0"):
        raise SourceError(f"{file}: nothing but zero bytes")
    if data.count(b"\n") > _ENTRIES_MAX:
        raise SourceError(f"{file}: more than {_ENTRIES_MAX:,} entries")
    # Latin-1 never fails; who reads an entry refuses what does not belong there.
    lines = data.decode("latin-1").removesuffix("\n").split("\n")
    (version,) = numbers_of(lines[0], (INT32_MAX,), f"{file}:1", "a number")
    if version != _VERSION:
        raise SourceError(f"{file}:1: version {version} is unknown")
    if len(lines) == 1:
        return []
    (count,) = numbers_of(lines[1], (INT32_MAX,), f"{file}:2", "a number")
    if count != len(lines) - 2:
        raise SourceError(f"{file}:2: {count} entries announced, {len(lines) - 2} found")
    return lines[2:]


def numbers_of(line: str, limits: tuple[int, ...], place: str, what: str) -> tuple[int, ...]:
    """The numbers of a line, each from 0 to its limit.

    Args:
        line: The line.
        limits: The largest that each may be.
        place: File and line, for errors.
        what: The kind of line that it should be, for errors.

    Raises:
        SourceError: It is something else.
    """
    words = line.split()
    if len(words) == len(limits) and all(_NUMBER.fullmatch(word) for word in words):
        numbers = tuple(int(word) for word in words)
        if all(number <= limit for number, limit in zip(numbers, limits, strict=True)):
            return numbers
    raise malformed(line, place, what)


def malformed(line: str, place: str, what: str) -> SourceError:
    """The error for a line that is something else than it should be."""
    return SourceError(f"{place}: not {what}: {line[:_SHOWN]!r}")


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
