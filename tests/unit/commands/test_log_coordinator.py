"""``log`` of a coordinator's log: which records, in which form, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.cli import main
from metashell.errors import SourceError
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.schema.timestamps import iso_time
from metashell.sources.coordinator import CoordinatorSource, open_coordinator
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from support.coordinators import NODE, RECORDS, recorded_segments
from support.fixtures import fixture, fixture_dir
from support.shell import Ran, run_on

BROKER = fixture_dir(NODE) / "broker101"
OFFSETS = BROKER / "d1" / "__consumer_offsets-3"
TRANSACTIONS = BROKER / "d2" / "__transaction_state-1"


def opened(path: Path, **settings: Any) -> CoordinatorSource:
    """Open a directory or a segment as ``log`` does."""
    choice = Choice(str(path), is_file=path.is_file())
    source = open_request(
        OpenRequest(
            choice=choice,
            settings=ReadSettings.of(**settings),
        )
    )
    assert isinstance(source, CoordinatorSource)
    return source


@cache
def kept() -> CoordinatorSource:
    """Open `OFFSETS`, once."""
    return opened(OFFSETS)


def log(options: str = "", source: CoordinatorSource | None = None) -> list[dict[str, Any]]:
    """Run ``log --json`` and read what it prints."""
    ran = run_on(source or kept(), f"log --json {options}")
    return [json.loads(line) for line in ran.out.split("\n")[:-1]]


def recorded(directory: Path) -> list[dict[str, Any]]:
    """What Kafka's classes read in a directory's segments, in order."""
    segments = [s for s in recorded_segments() if s.path.parent == directory]
    return [record for segment in segments for record in segment.records]


@cache
def everything() -> list[dict[str, Any]]:
    """All lines of `OFFSETS`."""
    return log()


@pytest.mark.parametrize("directory", [OFFSETS, TRANSACTIONS], ids=lambda p: p.name)
def test_every_record(directory: Path) -> None:
    """The records of all segments come in offset order, as Kafka reads them."""
    lines = log(source=opened(directory))
    expected = recorded(directory)

    assert [r["offset"] for r in expected] == [line["offset"] for line in lines]
    for record, line in zip(expected, lines, strict=True):
        assert record["key"] == line["key"]["data"]
        assert (record["value"] is None) == (line["value"] is None)


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ("--type OffsetCommit", lambda r: r["type"] == "OFFSET_COMMIT"),
        ("--type GROUP_METADATA,1", lambda r: r["type"] in ("GROUP_METADATA", "OFFSET_COMMIT")),
        ("--not-type OffsetCommit", lambda r: r["type"] != "OFFSET_COMMIT"),
        ("--offset 10..20", lambda r: 10 <= r["offset"] <= 20),
        ("--offset 100..", lambda r: r["offset"] >= 100),
        ("--offset 50 --context 5", lambda r: 45 <= r["offset"] <= 55),
        ("--since 60 --until 90", lambda r: 60 <= r["offset"] <= 90),
        ("--epoch 0", lambda r: r["epoch"] == 0),
        ("--epoch 1..", lambda r: r["epoch"] >= 1),
        ("--control", lambda r: "control" in r),
        (
            "--grep 'topic=orders'",
            lambda r: r.get("key", {}).get("data", {}).get("topic") == "orders",
        ),
        ("--file 00000000000000000123.log", lambda r: r["file"] == "00000000000000000123.log"),
    ],
)
def test_selection(options: str, holds: Any) -> None:
    """Each option takes the records that it says, and no other."""
    expected = [record for record in everything() if holds(record)]
    assert expected == log(options)


def test_times() -> None:
    """Points may be times."""
    time = everything()[40]["timestamp"]
    assert [r for r in everything() if r["timestamp"] >= time] == log(f"--since {iso_time(time)}")


@pytest.mark.parametrize("n", [1, 5, 1_000])
def test_limit_and_tail(n: int) -> None:
    """The first N, and the last N."""
    assert everything()[:n] == log(f"--limit {n}")
    assert everything()[-n:] == log(f"--tail {n}")
    assert everything()[:n] == [json.loads(x) for x in run(f"log --json -n {n}").out.splitlines()]


def run(line: str, source: CoordinatorSource | None = None) -> Ran:
    """Run a line."""
    return run_on(source or kept(), line)


def test_lines() -> None:
    """A line has offset, time, epoch, type, key, an arrow and the value."""
    first = run("log -n 1").out
    assert first.startswith("0 2026-11-22T11:56:00.927Z 0 OFFSET_COMMIT group=c-altered ")
    assert " partition=1 -> offset=1 leaderEpoch=-1 " in first
    assert run("log --tail 1").out.endswith("GROUP_METADATA group=n-roll-6 -> null\n")


def test_batches() -> None:
    """The header of a batch stands before its first record, once."""
    lines = run("log --batches -n 3").out.splitlines()
    head = "# batch 0..3 of 00000000000000000000.log position 0: 3 records, 286 bytes, epoch 0"
    assert head == lines[0].partition(", crc")[0]
    assert ["0", "1", "2"] == [line.partition(" ")[0] for line in lines[1:]]
    documents = [json.loads(x) for x in run("log --batches --json").out.splitlines()]
    batches = [d["batch"] for d in documents if "batch" in d]
    expected = [b for s in recorded_segments() if s.path.parent == OFFSETS for b in s.batches]
    with_records = [b for b in expected if b["count"]]
    assert [b["baseOffset"] for b in with_records] == [b["baseOffset"] for b in batches]
    assert [b["count"] for b in with_records] == [b["count"] for b in batches]
    assert [f"{b['crc']:08x}" for b in with_records] == [b["crc"] for b in batches]


def test_rows() -> None:
    """Rows have the same values."""
    lines = run("log -o jsonl --columns offset,type,version,topic,data,error").out.splitlines()
    rows = [json.loads(line) for line in lines]

    assert [r["offset"] for r in everything()] == [row["offset"] for row in rows]
    for row, record in zip(rows, everything(), strict=True):
        data = json.loads(row["data"]) if isinstance(row["data"], str) else row["data"]
        assert record["key"]["data"] == data["key"]
        assert record["type"] == row["type"]
        assert record["key"]["data"].get("topic") == row["topic"]
    assert f"{len(everything())}\n" == run("log --count").out


def test_segment_alone() -> None:
    """-s reads one segment."""
    alone = opened(OFFSETS / "00000000000000000123.log")
    assert [r for r in everything() if r["offset"] >= 123] == log(source=alone)


@pytest.mark.long
def test_records_at_fault() -> None:
    """What can't be read has an error, what a broker does with it, and hidden bytes."""
    directory = fixture_dir(RECORDS) / "__consumer_offsets-0"
    source, shown = opened(directory), opened(directory, show_secrets=True)
    failed = [line for line in log(source=source) if "error" in line]

    assert {"skipped", "refused"} == {line["broker"] for line in failed}
    raws = [line["key"].get("raw", "") for line in failed if line["key"]]
    assert any(raw.startswith("[redacted] ") for raw in raws)
    assert not any("redacted" in str(line) for line in log(source=shown))
    rows = run("log -o jsonl --columns offset,error,raw", source).out.splitlines()
    assert [x["error"] for x in failed] == [r["error"] for r in map(json.loads, rows) if r["error"]]


def test_refused_transactions() -> None:
    """A transaction that a broker refuses has its fields in each form, where they can be read."""
    source = opened(fixture_dir(RECORDS) / "__transaction_state-0")
    (line,) = run("log --offset 1", source).out.splitlines()
    (row,) = map(json.loads, run("log --offset 1 -o jsonl", source).out.splitlines())

    assert "transactionStatus=19 " in line
    assert line.endswith(" broker=refused")
    assert "19" == row["data"]["value"]["transactionStatus"]
    assert (None, "TRANSACTION_LOG: transaction state 19 is not known") == (
        row["raw"],
        row["error"],
    )


def test_damage(tmp_path: Path) -> None:
    """A wrong CRC makes the status 1, and it is said that a broker may have loaded the batch."""
    directory = tmp_path / "__consumer_offsets-9"
    shutil.copytree(fixture_dir(RECORDS) / "broken-crc", directory)
    source = opened(directory)
    ran = run("log --json", source)

    assert 1 == ran.status
    assert [0, 3] == [json.loads(line)["offset"] for line in ran.out.splitlines()]
    assert any("a broker may have loaded it" in warning for warning in source.warnings)


@pytest.mark.parametrize("option", ["--broker 1", "--checkpoints", "--transaction x"])
def test_options_of_metadata_logs(option: str) -> None:
    """What only a metadata log has can't be asked for."""
    ran = run(f"log {option}")
    assert 2 == ran.status
    assert "" == ran.out
    assert option.partition(" ")[0] in ran.err[0]


@pytest.mark.parametrize(
    ("option", "is_meant"),
    [
        ("--group 'k-*'", lambda d: d.get("group", d.get("groupId", "")).startswith("k-")),
        ("--group nobody", lambda _: False),
        ("--topic clicks", lambda d: d.get("topic") == "clicks"),
        (
            "--topic '*s' --partition 1",
            lambda d: d.get("topic", "").endswith("s") and d.get("partition") == 1,
        ),
        ("--partition 0", lambda d: d.get("partition") == 0),
        (
            "--group c-altered --topic orders",
            lambda d: (d.get("group"), d.get("topic")) == ("c-altered", "orders"),
        ),
    ],
)
def test_records_about_groups_and_topics(
    option: str, is_meant: Callable[[dict[str, Any]], bool]
) -> None:
    """Those whose keys name them, and no others."""
    expected = [r["offset"] for r in log() if "key" in r and is_meant(r["key"]["data"])]
    assert expected == [record["offset"] for record in log(option)]
    assert expected or "nobody" in option


@pytest.mark.parametrize(
    ("option", "is_meant"),
    [
        ("--transaction 'tx-*'", lambda key, _: key.startswith("tx-")),
        ("--topic orders", lambda _, topics: "orders" in topics),
        ("--topic clicks --partition 2", lambda _, topics: 2 in topics.get("clicks", ())),
        ("--partition 2", lambda _, topics: any(2 in p for p in topics.values())),
    ],
)
def test_records_about_transactions(
    option: str, is_meant: Callable[[str, dict[str, list[int]]], bool]
) -> None:
    """Those of their ids, and those whose partitions are of a topic."""
    source = opened(TRANSACTIONS)
    expected = []
    for record in log(source=source):
        value = (record["value"] or {}).get("data", {})
        parts = value.get("transactionPartitions") or []
        topics = {part["topic"]: part["partitionIds"] for part in parts}
        if is_meant(record["key"]["data"]["transactionalId"], topics):
            expected.append(record["offset"])
    assert expected
    assert expected == [record["offset"] for record in log(option, source)]


def test_options_of_coordinators() -> None:
    """A metadata log has no groups, and state of shares no names of topics."""
    source = metashell.open(fixture("real-44-trimmed").input)
    assert 2 == run_on(source, "log --group x").status
    share = opened(BROKER.parent / "broker102" / "d1" / "__share_group_state-0")
    assert 2 == run_on(share, "log --topic x").status
    assert log("--group s-one", share)


def test_unknown_type() -> None:
    """A wrong type is told, with one that is like it."""
    ran = run("log --type OffsetComit")
    assert (2, "") == (ran.status, ran.out)
    assert "did you mean LegacyOffsetCommit or OffsetCommit?" in ran.err[1]


def test_no_record_at_an_offset() -> None:
    """One offset that compaction removed is told to have no record."""
    ran = run("log --offset 3")
    assert (1, "") == (ran.status, ran.out)
    assert ("log: no record at offset 3",) == ran.err


def test_program(capsys: pytest.CaptureFixture[str]) -> None:
    """The program reads records of a coordinator's log, and says so where more is wanted."""
    assert 0 == main(["-d", str(OFFSETS), "log", "-n", "1", "--json"])
    assert 0 == json.loads(capsys.readouterr().out)["offset"]
    assert 0 == main(["-s", str(OFFSETS / "00000000000000000000.log"), "log", "--tail", "1"])
    assert "-> " in capsys.readouterr().out

    for arguments in (["-d", str(OFFSETS)], ["-s", str(OFFSETS / "00000000000000000000.log")]):
        assert 0 == main([*arguments, "ls", "/"])
        assert ["groups", "log"] == capsys.readouterr().out.split()
        for command in ("topics", "save"):
            words = [command, "copy"] if command == "save" else [command]
            assert main([*arguments, *words]) not in (0, None)
            captured = capsys.readouterr()
            assert "" == captured.out
            assert "is a coordinator's log, and has no cluster metadata" in captured.err
    assert 0 == main(["-d", str(OFFSETS), "--at", "5", "log", "--json"])
    assert 5 >= max(json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines())


def test_committed_only(tmp_path: Path) -> None:
    """Records end at the high watermark that the broker wrote; without one that is told."""
    directory = tmp_path / OFFSETS.name
    shutil.copytree(OFFSETS, directory)
    with pytest.raises(SourceError, match="nothing there says which records are committed"):
        opened(directory, committed_only=True)
    mark = tmp_path / "replication-offset-checkpoint"
    mark.write_text("0\n1\n__consumer_offsets 3 6\n")
    source = opened(directory, committed_only=True)
    assert 5 == log(source=source)[-1]["offset"]
    assert 5 == source.keyed_records.frames.offset[: source.keyed_records.n_rows].max()
    segment = opened(directory / "00000000000000000000.log", committed_only=True)
    assert 5 == log(source=segment)[-1]["offset"]


def test_has_no_image() -> None:
    """Who asks for the state of a cluster is told that there is none."""
    with pytest.raises(SourceError, match="__consumer_offsets-3 is a coordinator's log"):
        _ = kept().image
    assert ["groups", "log"] == list(kept().root.names())
    assert [] == kept().all_faults() == kept().faults
    assert open_coordinator(str(BROKER / "d1"), READ_DEFAULTS, None, is_file=False) is None
