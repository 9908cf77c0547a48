"""``stats``: its figures are those that Kafka's own dump of the files gives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from support.fixtures import copy_of, differing, fixture, fixture_names
from support.shell import Captured, ms_of, run_on

REAL = [name for name in differing(fixture_names()) if name.startswith("real-")]
SECTIONS = ["totals", "files", "types", "hours", "partitions", "brokers", "batches"]


def page(name: str, options: str = "-n 1000000") -> dict[str, Any]:
    """Every section of a fixture, as rows."""
    source, found = metashell.open(fixture(name).input), {}
    for section in SECTIONS:
        ran = run_on(source, f"stats --json --section {section} {options}")
        assert (0, ()) == (ran.status, ran.err)
        found[section] = json.loads(ran.out)
    return found


def segments_of(name: str) -> list[dict[str, Any]]:
    """What Kafka says of the records of the segments."""
    return [r for r in fixture(name).golden.dump() if r["file"].endswith(".log")]


@pytest.mark.parametrize("name", REAL)
def test_files(name: str) -> None:
    """Offsets, epochs, times and records of every segment; size and records of checkpoints."""
    files = {file["file"]: file for file in page(name)["files"]}

    dump = fixture(name).golden.dump()
    assert {r["file"] for r in dump} == set(files)
    for file, row in files.items():
        records = [r for r in dump if r["file"] == file]
        assert (fixture(name).input / file).stat().st_size == row["bytes"]
        assert len(records) == row["records"]
        if row["kind"] == "segment":
            first, last = records[0], records[-1]
            assert (first["offset"], last["offset"]) == (row["first_offset"], row["last_offset"])
            assert (first["epoch"], last["epoch"]) == (row["first_epoch"], row["last_epoch"])
            assert first["createTime"] == ms_of(row["first_time"])
            assert last["createTime"] == ms_of(row["last_time"])
        elif not file.startswith("0" * 20):
            assert int(file[:20]) - 1 == row["last_offset"]
            assert records[0]["data"]["lastContainedLogTimestamp"] == ms_of(row["last_time"])


@pytest.mark.parametrize("name", REAL)
def test_totals(name: str) -> None:
    """Records, bytes, NoOp records."""
    (totals,) = page(name)["totals"]

    dump = segments_of(name)
    no_ops = [r for r in dump if r.get("type") == "NO_OP_RECORD"]
    assert len(dump) == totals["records"]
    assert sum(r["valueSize"] for r in dump) == totals["bytes"]
    assert len(no_ops) == totals["no_op_records"]
    assert sum(r["valueSize"] for r in no_ops) == totals["no_op_bytes"]


@pytest.mark.parametrize("name", REAL)
def test_partitions_and_brokers(name: str) -> None:
    """Records by partition, and changes of leader and ISR by partition and broker."""
    found = page(name)

    by_partition: Counter[tuple[str, int]] = Counter()
    partition_changes: Counter[tuple[str, int, str]] = Counter()
    leaders: Counter[int] = Counter()
    members: Counter[int] = Counter()
    for record in segments_of(name):
        data = record["data"]
        if "partitionId" not in data:
            continue
        partition = (data["topicId"], data["partitionId"])
        by_partition[partition] += 1
        if record["type"] == "PARTITION_CHANGE_RECORD":
            partition_changes[*partition, "leader"] += "leader" in data
            partition_changes[*partition, "isr"] += data.get("isr") is not None
            members.update(data.get("isr") or ())
            leaders.update([data["leader"]] if data.get("leader", -1) >= 0 else [])

    actual = {(row["topic_id"], row["partition"]): row for row in found["partitions"]}
    assert by_partition == {key: row["records"] for key, row in actual.items()}
    for key, row in actual.items():
        assert partition_changes[*key, "leader"] == row["leader_changes"]
        assert partition_changes[*key, "isr"] == row["isr_changes"]
    assert leaders == Counter({r["broker"]: r["leader_changes"] for r in found["brokers"]})
    assert members == Counter({r["broker"]: r["isr_changes"] for r in found["brokers"]})


def test_checkpoints_cadence() -> None:
    """Mean distance of the checkpoints, the zero checkpoint left out."""
    (totals,) = page("real-44-live")["totals"]

    assert 5 == totals["checkpoints"]
    assert (3263 - 800) // 3 == totals["records_between_checkpoints"]
    assert totals["ms_between_checkpoints"] > 0


def test_largest_batches_are_where_it_says() -> None:
    """Each begins at its position with its offset, and is as long as it says."""
    directory = fixture("real-44-live").input
    batches = page("real-44-live", "-n 5")["batches"]

    sizes = [batch["bytes"] for batch in batches]
    assert 5 == len(batches)
    assert sorted(sizes, reverse=True) == sizes
    for batch in batches:
        header = (directory / batch["file"]).read_bytes()[batch["pos"] :][:61]
        assert batch["offset"] == int.from_bytes(header[:8], "big")
        assert batch["bytes"] == int.from_bytes(header[8:12], "big") + 12
        assert batch["records"] == int.from_bytes(header[57:61], "big")


def test_page_for_people() -> None:
    """Every section under its name, with as many rows as asked for."""
    source = metashell.open(fixture("real-44-live").input)
    ran = run_on(source, "stats -n 3 -h")

    blocks = [block.splitlines() for block in ran.out.removesuffix("\n").split("\n\n")]
    assert SECTIONS == [block[0] for block in blocks]
    assert all(len(block) <= 2 + 3 for block in blocks)
    assert "#" * 40 in ran.out


@pytest.mark.parametrize("section", SECTIONS)
def test_one_section(section: str) -> None:
    """It stands without its name; checkpoints are counted if asked for."""
    source = metashell.open(fixture("real-44-trimmed").input)

    for options in ("", " --checkpoints"):
        ran = run_on(source, f"stats --section {section}{options}")
        assert (0, ()) == (ran.status, ran.err)
        assert len(ran.out.splitlines()) >= 2
        assert ran.out.splitlines()[0] != section


def test_a_damaged_checkpoint_is_told_once(tmp_path: Path) -> None:
    """It is listed with what is sound of it."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    path = directory / "00000000000000000800-0000000001.checkpoint"
    path.write_bytes(path.read_bytes()[:-10])

    ran = run_on(metashell.open(directory), "stats --json --section files")

    (warning,) = ran.err
    assert path.name in warning
    (row,) = (file for file in json.loads(ran.out) if file["file"] == path.name)
    assert 1 == row["faults"]


def test_completion_offers_sections() -> None:
    """Options and sections, but no paths."""
    source = metashell.open(fixture("real-44-trimmed").input)
    context = Context(root=source.root, out=Captured(), warn=print, source=source)

    found = {c.text for c in complete_line(context, "stats --section ")}
    of_others = {"groups", "transactions", "codecs", "epochs", "producers"}
    assert {*SECTIONS, "timeline", *of_others} == found
    assert [] == complete_line(context, "stats ")


@pytest.mark.parametrize("axis", ["time", "offset"])
@pytest.mark.parametrize("name", REAL)
def test_timeline(name: str, axis: str) -> None:
    """Parts one behind the other, which hold what Kafka's dump has of that stretch."""
    source = metashell.open(fixture(name).input)
    ran = run_on(source, f"stats --json --section timeline -n 7 --by {axis}")
    assert (0, ()) == (ran.status, ran.err)
    rows = json.loads(ran.out)

    assert 7 == len(rows)
    assert sorted(row["begin"] for row in rows) == [row["begin"] for row in rows]
    dump = segments_of(name)
    for row in rows:
        if row["last_offset"] is None:
            assert 0 == row["records"]
            continue
        held = [r for r in dump if row["first_offset"] <= r["offset"] <= row["last_offset"]]
        types = Counter(r.get("type") for r in held)
        assert len(held) == row["records"]
        assert types["NO_OP_RECORD"] == row["no_ops"]
        assert types["CONFIG_RECORD"] == row["configs"]
        assert held[-1]["createTime"] == ms_of(row["last_time"])
    assert dump[-1]["offset"] == rows[-1]["last_offset"]


def test_timeline_for_people() -> None:
    """A line for each part; as rows too; it is no part of the page, and --by is only for it."""
    source = metashell.open(fixture("real-44-live").input)
    ran = run_on(source, "stats --section timeline -n 5")
    assert 6 == len(ran.out.splitlines())
    assert "#" * 20 in ran.out
    assert 40 == len(run_on(source, "stats --section timeline -o csv").out.splitlines()) - 1
    assert 2 == run_on(source, "stats --by time").status
    assert 2 == run_on(source, "stats --section timeline --by mood").status
