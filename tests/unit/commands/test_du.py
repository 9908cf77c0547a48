"""``du``: its counts are those that Kafka's own dump of the files gives."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from support.fixtures import copy_of, differing, fixture, fixture_names
from support.shell import Captured, run_on

REAL = [name for name in differing(fixture_names()) if name.startswith("real-")]
CONTROLS = {
    "LeaderChange": "LEADER_CHANGE_MESSAGE",
    "SnapshotHeader": "SNAPSHOT_HEADER_RECORD",
    "SnapshotFooter": "SNAPSHOT_FOOTER_RECORD",
    "KRaftVersion": "K_RAFT_VERSION_RECORD",
    "KRaftVoters": "VOTERS_RECORD",
}

Record = Mapping[str, Any]
Names = Mapping[str, str]


def of_type(record: Record, names: Names) -> Iterable[str]:
    """The type's name."""
    yield record["type"] if "type" in record else CONTROLS[record["control"]]


def of_file(record: Record, names: Names) -> Iterable[str]:
    """The file's name."""
    yield record["file"]


def of_hour(record: Record, names: Names) -> Iterable[str]:
    """The hour, as a number."""
    yield str(record["createTime"] // 3_600_000)


def of_topic(record: Record, names: Names) -> Iterable[str | None]:
    """The topic's name, or its id where nothing names it."""
    data = record["data"]
    if "topicId" in data:
        yield names.get(data["topicId"], data["topicId"])
    elif record.get("type") == "CONFIG_RECORD" and data["resourceType"] == 2:
        yield data["resourceName"]
    else:
        yield None


def of_partition(record: Record, names: Names) -> Iterable[str]:
    """The partition's name, where the record is of one."""
    data = record["data"]
    if "partitionId" in data:
        yield f"{names.get(data['topicId'], data['topicId'])}-{data['partitionId']}"


def of_broker(record: Record, names: Names) -> Iterable[str]:
    """Every broker that the record names."""
    data, kind = record["data"], record.get("type", "")
    found = set()
    if kind in {"PARTITION_RECORD", "PARTITION_CHANGE_RECORD"}:
        found = {*(data.get("isr") or ()), data.get("leader", -1)} - {-1, -2}
    elif kind in {"FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"}:
        found = {data["id"]}
    elif kind == "CONFIG_RECORD" and data["resourceType"] == 4 and data["resourceName"]:
        found = {data["resourceName"]}
    elif kind and "brokerId" in data:
        found = {data["brokerId"]}
    return map(str, found)


BY: Mapping[str, Callable[[Record, Names], Iterable[str | None]]] = {
    "type": of_type,
    "topic": of_topic,
    "hour": of_hour,
    "partition": of_partition,
    "broker": of_broker,
    "file": of_file,
}


def counted(source: metashell.Source, by: str, options: str = "") -> list[dict[str, Any]]:
    """The rows by something, with the name of each."""
    ran = run_on(source, f"du --json --by {by} {options}")
    assert (0, ()) == (ran.status, ran.err)
    rows: list[dict[str, Any]] = json.loads(ran.out)
    for row in rows:
        is_partition = by == "partition"
        name = f"{row['topic']}-{row['partition']}" if is_partition else row[by]
        row["name"] = str(name) if by == "broker" else name
    return rows


def total_of(source: metashell.Source, by: str, options: str = "") -> list[int]:
    """Bytes and records in all: the last line."""
    last = run_on(source, f"du --by {by} {options}").out.splitlines()[-1].split()
    assert "total" == last[-1]
    return [int(last[0]), int(last[2])]


@pytest.mark.cases(17)
@pytest.mark.parametrize("checkpoints", [False, True], ids=["segments", "all"])
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("name", REAL)
def test_counts_are_those_of_the_dump(name: str, by: str, *, checkpoints: bool) -> None:
    """Bytes and records of each row and in all, of segments with and without checkpoints."""
    dump = fixture(name).golden.dump()
    names = {
        r["data"]["topicId"]: r["data"]["name"] for r in dump if r.get("type") == "TOPIC_RECORD"
    }
    dump = [r for r in dump if checkpoints or r["file"].endswith(".log")]
    expected: defaultdict[str | None, list[int]] = defaultdict(lambda: [0, 0])
    for record in dump:
        for key in BY[by](record, names):
            expected[key][0] += record["valueSize"]
            expected[key][1] += 1

    source = metashell.open(fixture(name).input)
    options = "--checkpoints" if checkpoints else ""

    rows = [(row["name"], row["bytes"], row["records"]) for row in counted(source, by, options)]
    assert sorted((n for _, n, _ in rows), reverse=True) == [n for _, n, _ in rows]
    actual = {row: [n_bytes, n] for row, n_bytes, n in rows}
    assert len(rows) == len(actual) or by == "partition"
    total = [sum(r["valueSize"] for r in dump), len(dump)]
    if by == "hour":
        assert sorted(expected.values()) == sorted(actual.values())
    elif by == "file":
        assert {file: n for file, (_, n) in expected.items()} == {
            file: n for file, (_, n) in actual.items()
        }
        total[0] = sum(n_bytes for _, n_bytes, _ in rows)
    elif by == "partition":
        summed: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row, n_bytes, n in rows:  # one name may stand for several topics, each with its id
            summed[row][0] += n_bytes
            summed[row][1] += n
        assert expected == summed
    else:
        assert expected == actual
    assert total == total_of(source, by, options)


def test_bytes_of_files_are_those_on_disk() -> None:
    """By file, batches count whole: of sound files that is their size."""
    directory = fixture("real-44-live").input
    rows = counted(metashell.open(directory), "file", "--checkpoints")

    assert {row["name"]: row["bytes"] for row in rows} == {
        path.name: path.stat().st_size for path in fixture("real-44-live").data_files()
    }


def test_topics_of_one_name_count_together() -> None:
    """A topic that was deleted and made again has two ids and one row."""
    rows = counted(metashell.open(fixture("real-44-live").input), "topic")

    ids = {row["name"]: row["topic_ids"] for row in rows}
    assert any(len(of_name) > 1 for of_name in ids.values())
    assert [] == ids[None]


@pytest.mark.parametrize("by", [by for by in BY if by not in {"broker", "hour"}])
def test_the_others_are_one_row(by: str) -> None:
    """With -n, what is left out is summed up, and the total is that of all."""
    source = metashell.open(fixture("real-44-trimmed").input)
    first, *rest = counted(source, by, "--checkpoints")

    assert rest
    assert [first] == counted(source, by, "--checkpoints -n 1")
    lines = run_on(source, f"du --by {by} --checkpoints -n 1").out.splitlines()
    n_bytes, _, n_records, *others = lines[2].split()
    assert [f"({len(rest)}", "more)"] == others
    assert [sum(row["bytes"] for row in rest), sum(row["records"] for row in rest)] == [
        int(n_bytes),
        int(n_records),
    ]
    assert total_of(source, by, "--checkpoints") == total_of(source, by, "--checkpoints -n 1")
    assert 4 == len(lines)


def test_other_brokers_are_only_counted() -> None:
    """A record may name several of them."""
    source = metashell.open(fixture("real-44-trimmed").input)

    assert ["-", "-", "-", "(1", "more)"] == run_on(source, "du --by broker -n 1").out.split()[
        -9:-4
    ]


def test_a_damaged_file_counts_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    """One warning names it; what is sound of it counts."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    path = directory / "00000000000000000387.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)

    ran = run_on(metashell.open(directory), "du --by file --json")

    (warning,) = ran.err
    assert warning.startswith("du: ")
    assert path.name in warning
    row = next(row for row in json.loads(ran.out) if row["file"] == path.name)
    assert 0 < row["records"] < 475
    assert 0 < row["bytes"] < len(data)


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    """The others count, and the status says that something was not there."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    path = directory / "00000000000000000387.log"
    path.unlink()
    path.mkdir()

    ran = run_on(metashell.open(directory), "du --by file --json")

    assert 1 == ran.status
    assert (f"du: {path}: not a regular file",) == ran.err
    assert path.name not in ran.out


def test_a_file_that_vanished_is_left_out(tmp_path: Path) -> None:
    """A running node deletes old segments."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    source = metashell.open(directory)
    (directory / "00000000000000000387.log").unlink()

    ran = run_on(source, "du --by file --json")

    assert 0 == ran.status
    assert ("du: 00000000000000000387.log was deleted meanwhile: not counted",) == ran.err


@pytest.mark.parametrize("name", ["all-records-checkpoint", "all-records-segment"])
def test_one_file_alone(name: str) -> None:
    """A checkpoint that was opened itself is counted."""
    source = metashell.open_file(fixture(name).input)
    n = len(fixture(name).golden.dump())

    assert n == total_of(source, "type")[1]
    for by in BY:
        assert counted(source, by)


@pytest.mark.parametrize("name", [name for name in fixture_names() if "compressed" in name])
def test_compressed_values_count_inflated(name: str) -> None:
    """Their bytes are those of the values that they hold."""
    path = fixture(name).input
    source = metashell.open(path) if path.is_dir() else metashell.open_file(path)
    expected = sum(r["valueSize"] for r in fixture(name).golden.dump() if ".log" in r["file"])

    assert expected == total_of(source, "type")[0]


def test_completion() -> None:
    """Options and the values of --by, but no paths."""
    source = metashell.open(fixture("real-44-trimmed").input)
    context = Context(root=source.root, out=Captured(), warn=print, source=source)

    found = {c.text for c in complete_line(context, "du --by ")}
    assert {*BY, "group", "transaction"} == found
    assert ["--by"] == [c.text for c in complete_line(context, "du --b")]
    assert [] == complete_line(context, "du ")
