"""Values that are sound and that no calendar, no file name and no definition of Kafka's has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import ExitCode, SchemaError
from metashell.sources.source import Source
from support.logs import make_directory, record, topic_batch
from support.shell import run_on

YEAR_10000: Final = 253_402_300_800_000
BEFORE_YEAR_1: Final = -62_135_596_800_001
ODD_TIMES: Final = (
    YEAR_10000,
    BEFORE_YEAR_1,
    1 << 62,
    -(1 << 62),
    (1 << 63) - 1,
    -(1 << 63),
)
BEYOND_SQL: Final = ODD_TIMES[2:]


def with_time(parent: Path, timestamp: int) -> Source:
    """A topic with a partition that nobody leads, and a fenced broker, since an odd time."""
    partition = record(
        "PartitionRecord", topic_id=bytes(16), partition_id=0, replicas=[1], isr=[1], leader=-1
    )
    values = [partition, record("RegisterBrokerRecord", broker_id=1, fenced=True)]
    batch = encode_batch(values, base_offset=1, timestamp=timestamp)
    return metashell.open(make_directory(parent, (0, topic_batch(0) + batch)))


@pytest.mark.cases(37)
@pytest.mark.parametrize("timestamp", ODD_TIMES)
@pytest.mark.parametrize(
    "line",
    [
        *(f"health{options}" for options in ("", " --summary", " --detail", " --deep", " -o json")),
        "partitions -o json",
        "log -o json",
        "stats --section timeline",
        "check",
        "changes -o csv /image/cluster",
        "ls -lR /image",
        "export partitions",
        "export records --format csv",
        "sql -o json 'from records'",
        "sql -o json 'from partitions'",
        "sql 'select [timestamp] as x, {i: 1, t: timestamp} as y from records'",
        "sql 'select timestamp from records where timestamp > now()'",
        "sql 'select max(timestamp) from records'",
    ],
)
def test_times_outside_of_every_calendar(line: str, timestamp: int, tmp_path: Path) -> None:
    """A batch can have any time, and every command goes on."""
    ran = run_on(with_time(tmp_path, timestamp), line)

    assert ran.status in (ExitCode.OK, ExitCode.FAILED), ran.err
    assert ran.out
    if " -o json" in line:
        json.loads(ran.out)


@pytest.mark.parametrize("timestamp", ODD_TIMES)
def test_times_that_sql_has_not(timestamp: int, tmp_path: Path) -> None:
    """What DuckDB can count is shown; what it can't is null, and told with its number."""
    ran = run_on(with_time(tmp_path, timestamp), "sql -o json 'select timestamp from records'")
    times = [row["timestamp"] for row in json.loads(ran.out)]
    if timestamp in BEYOND_SQL:
        told = f"sql: timestamp {timestamp} ms is outside the times of SQL: shown as null"
        assert (ExitCode.FAILED, (told,)) == (ran.status, ran.err)
        assert [None, None] == times[1:]
    else:
        assert (ExitCode.OK, ()) == (ran.status, ran.err)
        assert {"+10000-01-01T00:00:00.000Z", "0000-12-31T23:59:59.999Z"} >= set(times[1:])


def test_numbers_where_no_calendar_reaches(tmp_path: Path) -> None:
    """Times in a list or struct are numbers of ms where Python has no date for one of them."""
    source = with_time(tmp_path, YEAR_10000)
    ran = run_on(source, "sql -o jsonl 'select {t: timestamp} as x from records where epoch = 1'")

    assert {"x": {"t": YEAR_10000}} == json.loads(ran.out.splitlines()[-1])


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "yaml"])
def test_no_half_an_answer(form: str, tmp_path: Path) -> None:
    """A statement that fails before its first rows leaves nothing of an array."""
    source = with_time(tmp_path, YEAR_10000)
    ran = run_on(source, f"""sql -o {form} "select cast(type as int) from records" """)

    assert (ExitCode.FAILED, "") == (ran.status, ran.out)
    assert "Could not convert" in ran.err[0]


@pytest.mark.parametrize(
    "name", ["00000000000000000001-2147483648.checkpoint", "99999999999999999999.log"]
)
def test_stray_files(name: str, tmp_path: Path) -> None:
    """A file whose name has a number that Kafka has not is none of the log's."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    (directory / name).write_bytes(topic_batch(0))
    source = metashell.open(directory)
    for line in ("sql -o csv 'select \"file\" from files'", "export files", "tree /", "check"):
        ran = run_on(source, line)

        assert ExitCode.OK == ran.status, ran.err
        assert name not in ran.out or line == "check"


def test_a_number_that_may_be_null(tmp_path: Path) -> None:
    """Kafka has no such field: a definition with one is refused when it is read."""
    field = {"name": "F", "type": "int32", "versions": "0+", "nullableVersions": "0+"}
    definition = {
        "apiKey": 9000,
        "type": "metadata",
        "name": "VendorRecord",
        "validVersions": "0",
        "flexibleVersions": "0+",
        "fields": [field],
    }
    (tmp_path / "VendorRecord.json").write_text(json.dumps(definition))
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    with pytest.raises(SchemaError, match=r"VendorRecord\.json: F: int32 can't be null"):
        metashell.open(directory, schemas=[tmp_path])


@pytest.mark.parametrize(
    "options", ["", " --tail 2", " --topic t0 --offset 1..", " --offset 1..", " --json --tail 2"]
)
def test_a_segment_of_no_bytes(options: str, tmp_path: Path) -> None:
    """Names are looked up past it, as the newest segment is right after a roll."""
    change = record("PartitionChangeRecord", topic_id=bytes(16), partition_id=0, leader=1)
    # Nothing names the second one's topic: everything is looked through.
    other = record("PartitionChangeRecord", topic_id=bytes(15) + b"x", partition_id=0, leader=1)
    batch = encode_batch([other, change], base_offset=1)
    segments = (0, topic_batch(0)), (1, batch), (3, b"")
    ran = run_on(metashell.open(make_directory(tmp_path, *segments)), f"log{options}")

    assert (ExitCode.OK, ()) == (ran.status, ran.err)
    assert "t0" in ran.out.splitlines()[-1]
