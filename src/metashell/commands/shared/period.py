"""``--since`` and ``--until``: which part of a log a command is asked about."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.options import Option, Parsed
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, NotCoveredError
from metashell.log.time_spec import TimeSpec, parse_time_spec, time_spec_text
from metashell.schema.timestamps import iso_time
from metashell.sources.log_clock import clock_of

if TYPE_CHECKING:
    from metashell.log.directory import MetadataLog
    from metashell.sources.source import Source

SINCE: Final = Option(
    ("--since",), "Only records at that POINT or after it: see `man at`.", metavar="POINT"
)
UNTIL: Final = Option(
    ("--until",), "Only records at that POINT or before it: see `man at`.", metavar="POINT"
)

_HEAD: Final = Struct(">qii b 10x q")
"""A batch: base offset, length, epoch, magic; CRC, attributes and last delta; base timestamp."""
_MAGIC: Final = 2


@dataclass(frozen=True, slots=True)
class Period:
    """Two points, both included, each an offset or a time; None for no bound."""

    since: TimeSpec | None = None
    until: TimeSpec | None = None


def period_of(
    source: Source, parsed: Parsed, warn: Callable[[str], None], *, is_open: bool = False
) -> Period:
    """The part of a source's log that ``--since`` and ``--until`` ask for.

    Args:
        source: Whose log.
        parsed: The command's words.
        warn: Told where the log does not reach back to ``--since``.
        is_open: Whether more records are waited for: then ``--since`` may lie in the future.

    Raises:
        UsageError: A point can't be read.
        NotCoveredError: A point lies behind the last record, or ``--until`` before the first.
    """
    words = [parsed.values.get(option.flags[0]) for option in (SINCE, UNTIL)]
    if words == [None, None]:
        return Period()

    points = [None if word is None else parse_time_spec(word) for word in words]
    clock = clock_of(source)
    reach = clock.resolve if is_open else clock.covered
    since, until = (None if time_spec is None else reach(time_spec) for time_spec in points)
    begin = first_record(source.log)
    if begin is not None:
        first = f"the first record is offset {begin[0]} of {iso_time(begin[1])}"
        if until is not None and is_before(until, begin, is_end=True):
            raise NotCoveredError(f"{time_spec_text(until)} is not covered: {first}")
        if since is not None and is_before(since, begin):
            if begin[0]:
                warn(f"{first}: what was before it is not known")
            elif since.text:
                warn(f"{time_spec_text(since)} is before the log: {first}")
    return Period(since, until)


def first_record(log: MetadataLog) -> tuple[int, int] | None:
    """Offset and time (ms) of the first batch of the oldest segment; None where nothing says.

    Cost: opens one file.
    """
    from metashell.log.read import opened

    if log.is_file or not log.listing.segments:
        return None
    head = bytearray(_HEAD.size)
    try:
        with opened(log.path_of(log.listing.segments[0].name)) as file:
            n = file.read_into(memoryview(head), 0)
    except MetashellError:
        return None  # whoever reads it tells why
    offset, _, _, magic, time = _HEAD.unpack(head)
    return (offset, time) if n == len(head) and magic == _MAGIC and time >= 0 else None


def is_before(time_spec: TimeSpec, begin: tuple[int, int], *, is_end: bool = False) -> bool:
    """Whether a point, maybe an end, lies before another, given by its offset and its time (ms)."""
    if time_spec.offset is not None:
        return time_spec.offset < begin[0]
    ms = time_spec.last_ms if is_end else time_spec.timestamp_ms
    return ms is not None and ms < begin[1]
