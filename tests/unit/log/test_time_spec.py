"""How points of a log are written, and what they count from."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import NotCoveredError, UsageError
from metashell.log.time_spec import LogClock, TimeSpec, parse_time_spec
from metashell.read_settings import ReadSettings
from metashell.reduced.log import reduce_place
from metashell.sources.log_clock import clock_of
from metashell.sources.reduced import source_of
from support.fixtures import DEMO, fixture
from support.live import Cluster
from support.logs import make_directory, record
from support.shell import run_on

DAY = 20_718 * 86_400_000
"""2026-09-22T00:00Z."""
LAST = DAY + 12 * 3_600_000
NOW = LAST + 3 * 86_400_000

CLOCK = LogClock(
    last_offset=90, last_ms=LAST, latest_ms=LAST, end_offset=99, end_ms=LAST + 60_000, now_ms=NOW
)


@pytest.mark.parametrize(
    ("text", "time_spec"),
    [
        ("0", TimeSpec(offset=0)),
        ("4111", TimeSpec(offset=4111)),
        ("1970-01-01", TimeSpec(timestamp_ms=0, is_whole_second=True)),
        ("1970-01-01T00:00:01.5Z", TimeSpec(timestamp_ms=1500)),
        ("1970-01-01T01:00+01:00", TimeSpec(timestamp_ms=0, is_whole_second=True)),
    ],
)
def test_points(text: str, time_spec: TimeSpec) -> None:
    """Offsets, and times in UTC unless they say otherwise, are what they are."""
    assert parse_time_spec(text) == time_spec == CLOCK.resolve(time_spec)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2h", LAST - 7_200_000),
        ("1d12h", LAST - 129_600_000),
        ("-90s", LAST - 90_000),
        ("-250ms", LAST - 250),
        ("end-90s", LAST - 30_000),
        ("now", NOW),
        ("now-2d", NOW - 2 * 86_400_000),
        ("11:25", DAY + (11 * 60 + 25) * 60_000),
        ("1:05", DAY + 65 * 60_000),
        ("11:25:40", DAY + (11 * 3600 + 25 * 60 + 40) * 1000),
        ("11:25:40.5Z", DAY + (11 * 3600 + 25 * 60 + 40) * 1000 + 500),
        ("09-20 11:25:40", DAY - 2 * 86_400_000 + (11 * 3600 + 25 * 60 + 40) * 1000),
        ("23:59", DAY + (23 * 60 + 59) * 60_000),
    ],
)
def test_relative_points(text: str, expected: int) -> None:
    """Ages count from the last record, `end` and `now` say otherwise; a time is of the last day."""
    assert expected == CLOCK.resolve(parse_time_spec(text)).timestamp_ms


def test_end_is_an_offset() -> None:
    """`end` is the log's last record, whatever its time."""
    assert CLOCK.resolve(parse_time_spec("end")).offset == 99


@pytest.mark.parametrize(
    ("text", "last_ms"),
    [
        ("11:25:40", DAY + (11 * 3600 + 25 * 60 + 40) * 1000 + 999),
        ("2026-09-22", DAY + 999),
        ("2026-09-22T00:00:00.000Z", DAY),
        ("2026-09-22 00:00:00,172", DAY + 172),
        ("-90s", LAST - 90_000),
    ],
)
def test_an_end_without_a_fraction_includes_its_second(text: str, last_ms: int) -> None:
    """A fraction is exact, and so is an age."""
    assert CLOCK.resolve(parse_time_spec(text)).last_ms == last_ms


def test_no_such_day() -> None:
    """A day that the last record's year does not have is not covered."""
    with pytest.raises(NotCoveredError, match="02-29 12:00: no day of the last record's year"):
        CLOCK.resolve(parse_time_spec("02-29 12:00"))


SECOND = "12:39:49"
"""As the explorer shows when broker 104 of the demo was fenced: at 12:39:49.172, offset 1891."""


@pytest.mark.parametrize(
    "line",
    [
        f"--at {SECOND} brokers 104 --columns broker,state -o tsv",
        f"changes --until {SECOND} /image/cluster/brokers/104",
        f"log --until {SECOND} --type BrokerRegistrationChange",
        f"diff 1870 {SECOND} /image/cluster/brokers/104",
        f"log --since {SECOND} --until {SECOND} --type BrokerRegistrationChange",
    ],
)
def test_every_end_includes_the_second_that_is_shown(line: str) -> None:
    """What happened within the second is there; what starts at a second starts at its begin."""
    source = metashell.open(DEMO)
    at = line.removeprefix(f"--at {SECOND} ")
    ran = run_on(source if at == line else source.at(SECOND), at)
    assert ran.status == 0 or line.startswith("diff")
    assert "fenced" in ran.out, ran


def test_before_a_second_excludes_it() -> None:
    """`-changed-before` takes a start: what changed within the second is not before it."""
    ran = run_on(
        metashell.open(DEMO),
        f"find /image/cluster/brokers/104 -maxdepth 0 -changed-before {SECOND}",
    )
    assert "" == ran.out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "-2",
        "2 h",
        "yesterday",
        "1e3",
        "9" * 20,
        "²",
        "24:00",
        "12:60",
        "now+1h",
        "end-",
        "12:5",
    ],
)
def test_no_points(text: str) -> None:
    """Anything else is an error of the command line."""
    with pytest.raises(UsageError, match="neither an offset nor a time"):
        parse_time_spec(text)


@pytest.mark.parametrize("text", ["92", "12:00:01", "now", "now-1h", "2027-01-01", "end"])
def test_behind_the_last_record(text: str) -> None:
    """A point behind the last record shown is not covered; the next offset is."""
    with pytest.raises(NotCoveredError, match="is not covered: the state shown ends at offset 90"):
        CLOCK.covered(parse_time_spec(text))
    assert CLOCK.covered(parse_time_spec("91")).offset == 91
    assert CLOCK.covered(parse_time_spec("12:00")).timestamp_ms == LAST


@pytest.mark.parametrize("text", ["92", "12:00:01", "now", "2027-01-01"])
def test_behind_the_end_of_the_log(text: str) -> None:
    """There the last record is that of the log."""
    newest = replace(CLOCK, end_offset=90, end_ms=LAST)
    with pytest.raises(NotCoveredError, match="is not covered: the last record is offset 90 of"):
        newest.covered(parse_time_spec(text))


@pytest.mark.parametrize("time_spec", ["1891", "12:40"])
def test_an_earlier_state_is_not_the_end_of_the_log(time_spec: str) -> None:
    """What the log has behind the state that is shown is named, and how to see it."""
    source = metashell.open(DEMO).at(1851)
    ran = run_on(source, f"changes --until {time_spec} /image")
    assert (1, "") == (ran.status, ran.out)
    told, hint = ran.err
    assert "is not covered: the state shown ends at offset 1851 of 2026-11-22T12:39:10" in told
    assert told.endswith(", the log goes on to offset 2049")
    assert "  hint: show the end of the log first: `at end`, or leave out --at" == hint


def test_no_time_to_count_from() -> None:
    """Where no record has a time an age is not covered."""
    clock = LogClock(
        last_offset=1, last_ms=None, latest_ms=None, end_offset=1, end_ms=None, now_ms=NOW
    )
    with pytest.raises(NotCoveredError, match="no record has a time"):
        clock.covered(parse_time_spec("-1h"))


def test_live_quorum_counts_from_now() -> None:
    """On a live quorum ages count from now, also where its last record is old; `end-` does not."""
    old = int(time.time() * 1000) - 7_200_000
    batches = [
        encode_batch([record("NoOpRecord")], base_offset=i, leader_epoch=1, timestamp=old + i)
        for i in range(3)
    ]
    source = Cluster(*batches).source()
    clock = clock_of(source)
    assert clock.is_live
    assert clock.origin_ms == clock.now_ms > old + 7_000_000
    assert run_on(source, "log --all --since -1h").out == ""
    assert run_on(source, "log --all --since -3h").out.count("\n") == 3
    assert run_on(source, "log --all --since end-1ms").out.count("\n") == 2
    assert source.at("now").moment_offset == 2
    assert source.at("-2h").moment_offset is not None
    earlier = source.at(1)
    assert clock_of(earlier).origin_ms == old + 1


COMMANDS = (
    "log --since {}",
    "log --until {}",
    "changes --since {} /image",
    "changes --until {} /image",
    "find /image -changed-since {}",
    "find /image -changed-before {}",
    "diff {} end",
    "checksum --at {}",
)


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("time_spec", ["9999", "08:29", "now", "2030-01-01", "now-10m"])
def test_every_command_refuses_what_lies_behind_the_end(line: str, time_spec: str) -> None:
    """Exit status 1, nothing on stdout, and a message that says where the log ends."""
    source = metashell.open(fixture("real-44-trimmed").input)
    ran = run_on(source, line.format(time_spec))
    assert (1, "") == (ran.status, ran.out)
    assert "is not covered" in "\n".join(ran.err)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("splits", [1, 1 << 26])
def test_reduced_log_ends_where_the_files_do(
    tmp_path: Path, *, is_known: bool, splits: int
) -> None:
    """A directory from the cache or Spark has the same clock, without reading its files here.

    The clock of this log went back, and nothing is left of its latest and its last batch.
    """
    times = [LAST, LAST + 60_000, LAST + 30_000, LAST - 30_000]
    names = ["FeatureLevelRecord", "NoOpRecord", "FeatureLevelRecord", "NoOpRecord"]
    batches = [
        encode_batch([record(name)], base_offset=i, leader_epoch=1, timestamp=timestamp)
        for i, (name, timestamp) in enumerate(zip(names, times, strict=True))
    ]
    directory = make_directory(tmp_path, (0, b"".join(batches[:3])), (3, batches[3]))
    source = metashell.open(directory, engine="local")
    settings = ReadSettings()
    log = reduce_place(str(directory), settings, split_bytes=splits)
    reduced = source_of(log, settings, str(directory))
    if is_known:
        _ = reduced.image
    expected, found = clock_of(source), clock_of(reduced)
    assert (3, LAST - 30_000, LAST + 60_000) == (
        expected.last_offset,
        expected.last_ms,
        expected.latest_ms,
    )
    assert replace(expected, now_ms=0) == replace(found, now_ms=0)
