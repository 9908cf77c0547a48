"""Points of a log as people write them: an offset, a time, a time of day, or how long before.

Owns the one rule of where such a point counts from; `LogClock` says where a log ends, and
`metashell.sources.log_clock` makes it of a source. ``man at`` tells the rule to users.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import NotCoveredError, UsageError
from metashell.schema.timestamps import iso_time

Origin: TypeAlias = Literal["last", "end", "now"]
"""The origin of an age: the last record shown, the log's last record, the present."""

_SECOND_MS: Final = 1000
_DURATION: Final = re.compile(r"(?:[0-9]{1,9}(?:ms|[smhdw]))+")
_DURATION_PART: Final = re.compile(r"([0-9]+)(ms|[smhdw])")
_TIME_OF_DAY: Final = re.compile(
    r"(?:([0-9]{2}-[0-9]{2})[ T])?"
    r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,3}))?)?Z?"
)
_FRACTION: Final = re.compile("[.,]")
_UNIT_MS: Final = {
    "ms": 1,
    "s": _SECOND_MS,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
}
_DAY_MS: Final = 86_400_000
_OFFSET_DIGITS: Final = 19
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HINT: Final = "such as 4111, 12:25, 2026-09-21T14:14:09Z, -10m, end-10m or now-10m"


@dataclass(frozen=True, slots=True)
class TimeSpec:
    """Where in a log; exactly one of its first four fields is set."""

    offset: int | None = None
    """At an offset."""
    timestamp_ms: int | None = None
    """At a time, ms since the epoch."""
    before_ms: int | None = None
    """So many ms before `origin`."""
    time_of_day_ms: int | None = None
    """So many ms after the midnight (UTC) before the last record."""
    day: str | None = None
    """The month and day of the midnight, of the last record's year; None for its day."""
    origin: Origin = "last"
    is_whole_second: bool = False
    """Whether a time has no fraction: as an end it includes its second."""
    text: str = ""
    """The typed text, where it is no offset and no full time."""

    @property
    def last_ms(self) -> int | None:
        """The last ms that counts where a time is an end, ms since the epoch."""
        if self.timestamp_ms is None or not self.is_whole_second:
            return self.timestamp_ms
        return self.timestamp_ms + _SECOND_MS - 1

    @property
    def is_relative(self) -> bool:
        """Whether only a `LogClock` tells which offset or time it is."""
        return self.offset is None and self.timestamp_ms is None

    @property
    def is_end(self) -> bool:
        """Whether it is the end of the log."""
        return self.is_relative and self.origin == "end" and not self.before_ms


Point: TypeAlias = str | int | datetime | TimeSpec
"""A point as Python has it: a text as people write it, an offset, or a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClock:
    """Where a state of a log ends, in offsets and in time."""

    last_offset: int
    """The offset of the last record that the state holds; -1 for none."""
    last_ms: int | None
    """Its time, ms since the epoch; None where no record tells."""
    latest_ms: int | None
    """The latest time of any of its records, which differs where a clock was set back."""
    end_offset: int
    """The offset of the last record of the whole log."""
    end_ms: int | None
    """Its time."""
    now_ms: int
    """The present by this machine's clock."""
    is_live: bool = False
    """Whether it is the newest state of a quorum that is followed: it ends now."""

    @property
    def origin_ms(self) -> int | None:
        """The origin of ages: the present of a live quorum, else the last record."""
        return self.now_ms if self.is_live else self.last_ms

    def resolve(self, time_spec: TimeSpec) -> TimeSpec:
        """The time spec as an offset or a time.

        Raises:
            NotCoveredError: It counts from the last record, and no record has a time.
        """
        if not time_spec.is_relative:
            return time_spec
        if time_spec.is_end:
            return TimeSpec(offset=self.end_offset, text=time_spec.text)
        origin = self._origin_of(time_spec)
        if origin is None:
            raise NotCoveredError(f"{time_spec.text}: no record has a time to count from")
        if time_spec.time_of_day_ms is not None:
            at = _midnight(origin, time_spec) + time_spec.time_of_day_ms
        else:
            at = origin - (time_spec.before_ms or 0)
        return TimeSpec(
            timestamp_ms=at, text=time_spec.text, is_whole_second=time_spec.is_whole_second
        )

    def _origin_of(self, time_spec: TimeSpec) -> int | None:
        origins = {"last": self.origin_ms, "end": self.end_ms, "now": self.now_ms}
        return origins[time_spec.origin]

    def counted_from(self, time_spec: TimeSpec) -> str:
        """Where an age counts back from, in words; empty for any other point."""
        origin = self._origin_of(time_spec)
        if not time_spec.before_ms or origin is None:
            return ""
        is_now = time_spec.origin == "now" or (time_spec.origin == "last" and self.is_live)
        return f"before {'now' if is_now else 'the last record'}, {iso_time(origin)}"

    def covered(self, time_spec: TimeSpec) -> TimeSpec:
        """The time spec as an offset or a time that the state has reached.

        Raises:
            NotCoveredError: It lies behind the last record.
        """
        found = self.resolve(time_spec)
        if found.offset is not None:
            # The next offset has been reached: scripts ask with it whether there is more.
            is_behind = found.offset > self.last_offset + 1
        else:
            assert found.timestamp_ms is not None
            limits = [self.latest_ms, self.now_ms if self.is_live else None]
            known = [limit for limit in limits if limit is not None]
            is_behind = bool(known) and found.timestamp_ms > max(known)
        if is_behind:
            raise NotCoveredError(
                f"{time_spec_text(found)} is not covered: {self._last_record}",
                hint=behind_hint(found, self),
            )
        return found

    @property
    def is_earlier(self) -> bool:
        """Whether the log goes on behind the state."""
        return self.last_offset < self.end_offset

    def is_in_log(self, time_spec: TimeSpec) -> bool:
        """Whether an offset or a time does not lie behind the last record of the whole log."""
        if time_spec.offset is not None:
            return time_spec.offset <= self.end_offset
        assert time_spec.timestamp_ms is not None
        return self.end_ms is not None and time_spec.timestamp_ms <= self.end_ms

    @property
    def _last_record(self) -> str:
        """Where the state ends, and the log if that is not all of it."""
        last = f"offset {self.last_offset}"
        if self.last_ms is not None:
            last += f" of {iso_time(self.last_ms)}"
        if not self.is_earlier:
            return f"the last record is {last}"
        return f"the state shown ends at {last}, the log goes on to offset {self.end_offset}"


def _midnight(origin_ms: int, time_spec: TimeSpec) -> int:
    """The midnight (UTC) that a time of day counts from, ms since the epoch."""
    if time_spec.day is None:
        return origin_ms - origin_ms % _DAY_MS
    year = iso_time(origin_ms).rpartition("T")[0][: -len(time_spec.day)]
    try:
        moment = datetime.fromisoformat(f"{year}{time_spec.day}").replace(tzinfo=UTC)
    except ValueError:
        raise NotCoveredError(f"{time_spec.text}: no day of the last record's year") from None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def time_spec_of(point: Point) -> TimeSpec:
    """The time spec of a point; a time without a zone is UTC.

    Raises:
        UsageError: A text can't be read.
    """
    if isinstance(point, TimeSpec):
        return point
    if isinstance(point, int):
        return TimeSpec(offset=point)
    return parse_time_spec(point if isinstance(point, str) else point.isoformat())


def parse_time_spec(text: str) -> TimeSpec:
    """Read a point as ``man at`` tells.

    It is an offset (``4111``), a time (``2026-09-21T14:14``; UTC unless it says otherwise), a time
    of the last day or year (``12:25``, ``09-21 12:25``, UTC), an age (``-2h``, ``-1d12h``,
    ``2h``), or ``end``, ``now``, ``end-10m`` or ``now-10m``.

    Args:
        text: The typed text.

    Raises:
        UsageError: It is none of these.
    """
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return TimeSpec(offset=int(text))
    found = _relative(text)
    if found is not None:
        return replace(found, text=text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text or repr('')}: neither an offset nor a time", hint=_HINT) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    return TimeSpec(timestamp_ms=ms, is_whole_second=not _FRACTION.search(text))


def time_spec_text(time_spec: TimeSpec) -> str:
    """An offset or a time as messages name it, with what was typed."""
    if time_spec.offset is not None:
        return f"offset {time_spec.offset}"
    assert time_spec.timestamp_ms is not None
    time = iso_time(time_spec.timestamp_ms)
    return f"{time_spec.text} ({time})" if time_spec.text else time


def behind_hint(time_spec: TimeSpec, clock: LogClock) -> str:
    """A hint at a point to type in place of one behind the last record, or before it."""
    if clock.is_earlier and clock.is_in_log(time_spec):
        return "show the end of the log first: `at end`, or leave out --at"
    if _TIME_OF_DAY.fullmatch(time_spec.text) and time_spec.timestamp_ms is not None:
        before = iso_time(time_spec.timestamp_ms - _DAY_MS)
        return f"the day before it is {before}; `end` is the last record"
    if time_spec.text.startswith("now") and not clock.is_live:
        return "`end` is the last record, end-10m ten minutes before it"
    return "`end` is the last record"


def parse_duration(text: str) -> int | None:
    """The ms of a duration such as ``2h`` or ``1d12h``, or None."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(int(number) * _UNIT_MS[unit] for number, unit in _DURATION_PART.findall(text))


def _relative(text: str) -> TimeSpec | None:
    """A point that counts from the log's end or from now; None for none."""
    daytime = _TIME_OF_DAY.fullmatch(text)
    if daytime is not None:
        day, hours, minutes, seconds, fraction = daytime.groups()
        ms = int(hours) * 3_600_000 + int(minutes) * 60_000 + int(seconds or 0) * _SECOND_MS
        ms += int((fraction or "0").ljust(3, "0"))
        return TimeSpec(time_of_day_ms=ms, day=day, is_whole_second=fraction is None)
    origin: Origin
    for origin in ("end", "now"):
        if text == origin:
            return TimeSpec(before_ms=0, origin=origin)
        if text.startswith(f"{origin}-"):
            before_ms = parse_duration(text[len(origin) + 1 :])
            return None if before_ms is None else TimeSpec(before_ms=before_ms, origin=origin)
    before_ms = parse_duration(text.removeprefix("-"))
    return None if before_ms is None else TimeSpec(before_ms=before_ms)
