"""`changes`: which fields are shown where."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import metashell
from support.fixtures import DEMO
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster
from support.terminals import see

TOPIC_ID: Final = (1).to_bytes(16, "big")
KEY: Final[dict[str, Any]] = {"topic_id": TOPIC_ID, "partition_id": 0}
EPOCHS: Final = "leaderEpoch 3 → 4, partitionEpoch 7 → 8"
PATH: Final = "/image/topics/byName/t/0"


def partition(**change: object) -> tuple[bytes, ...]:
    """A partition, and a change of it."""
    made = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 3, "partition_epoch": 7}
    return (
        broker(1),
        broker(2),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record("PartitionRecord", **KEY, **made),
        record("PartitionChangeRecord", **KEY, **change),
    )


@pytest.mark.parametrize(
    ("change", "short", "verbose"),
    [
        ({"leader": 1, "isr": [1]}, "isr [1,2] → [1]", f"isr [1,2] → [1], {EPOCHS}"),
        ({"leader": 2}, "leader 1 → 2", f"leader 1 → 2, {EPOCHS}"),
        ({"leader": 1}, EPOCHS, EPOCHS),
        ({"isr": [1, 2]}, "partitionEpoch 7 → 8", "partitionEpoch 7 → 8"),
    ],
    ids=["the same leader, another ISR", "another leader", "the same leader", "the same ISR"],
)
def test_epochs(change: dict[str, Any], short: str, verbose: str) -> None:
    """Lines have them where nothing else changed, and all with -v; rows and JSON always do."""
    with cluster(*partition(**change)) as source:
        assert run_on(source, f"changes --newest 1 {PATH}").out.endswith(f"  {short}\n")
        assert run_on(source, f"changes --newest 1 -v {PATH}").out.endswith(f"  {verbose}\n")
        (row,) = json.loads(run_on(source, f"changes --newest 1 --json {PATH}").out)

    assert [7, 8] == row["fields"]["partitionEpoch"]
    assert ([3, 4] if "leader" in change else None) == row["fields"].get("leaderEpoch")


@pytest.mark.parametrize(
    ("more", "short"),
    [
        ({}, "created replicas [1,2]"),
        ({"isr": [2]}, "created replicas [1,2], isr [2]"),
        ({"leader": 2}, "created leader 2, replicas [1,2]"),
        (
            {"directories": [(1).to_bytes(16, "big"), (9).to_bytes(16, "big")]},
            "created replicas [1,2], directories [unassigned,AAAAAAAAAAAAAAAAAAAACQ]",
        ),
    ],
    ids=["as usual", "a smaller ISR", "another leader", "directories"],
)
def test_a_new_partition_in_short(more: dict[str, Any], short: str) -> None:
    """Lines leave out what every new partition has, unless -v is given; rows have all."""
    made = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    directories = {"directories": [(1).to_bytes(16, "big")] * 2}
    records = (
        broker(1),
        broker(2),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record("PartitionRecord", **KEY, **{**made, **directories, **more}),
    )
    with cluster(*records) as source:
        assert run_on(source, f"changes {PATH}").out.endswith(f"  {short}\n")
        verbose = run_on(source, f"changes -v {PATH}").out
        (row,) = json.loads(run_on(source, f"changes --json {PATH}").out)

    assert "partitionEpoch 0" in verbose
    assert "AAAAAAAAAAAAAAAAAAAAAQ" not in verbose
    assert [None, 0] == row["fields"]["partitionEpoch"]
    assert "AAAAAAAAAAAAAAAAAAAAAQ" == row["fields"]["directories"][1][0]


def test_two_lines_on_a_terminal() -> None:
    """When and where, then what; a wide terminal and a pipe have one line."""
    with cluster(*partition(leader=2)) as source:
        (line,) = run_on(source, f"changes --newest 1 {PATH}").out.splitlines()
        assert see(source, f"changes --newest 1 {PATH}", 160).lines == [line]
        offset, time, epoch, controller, kind, path, what = line.split("  ")
        assert see(source, f"changes --newest 1 {PATH}", 80).lines == [
            f"{offset}  {time}  {path}",
            f"    {what}  ({epoch}, {controller})",
        ]
        assert f"{controller}, {kind})" in see(source, f"changes -v --newest 1 {PATH}", 120).text


def test_nothing_changed() -> None:
    """It is said that there is no change, or none in the time asked for."""
    with cluster(*partition(leader=2), record("NoOpRecord")) as source:
        assert (
            "changes: /image/acls: no record changed it"
            in run_on(source, "changes /image/acls").err
        )
        ran = run_on(source, f"changes --since end {PATH}")
        assert (0, "") == (ran.status, ran.out)
        assert f"changes: {PATH}: no record changed it in that time" in ran.err


def test_a_removal_of_what_is_not_there_is_refused() -> None:
    """As the fold says, which notes a fault; the same removal of what is there counts."""
    acl = {"id": TOPIC_ID, "resource_type": 2, "resource_name": "t", "pattern_type": 3}
    acl |= {"principal": "User:u", "host": "*", "operation": 3, "permission_type": 3}
    gone = record("RemoveAccessControlEntryRecord", id=TOPIC_ID)
    with cluster(gone, record("AccessControlEntryRecord", **acl), gone, gone) as source:
        rows = json.loads(run_on(source, "changes /image/acls -o json").out)

    reason = "ACL can't be removed: no such ACL"
    told = sorted((row["offset"], row["change"], row["reason"]) for row in rows)
    assert [change for _, change, _ in told] == ["refused", "created", "removed", "refused"]
    assert [why for *_, why in told] == [reason, None, None, reason]


@pytest.mark.parametrize(
    ("segment", "known_from", "n_known"), [(1671, 1793, 0), (0, 923, 2)], ids=["newest", "oldest"]
)
def test_a_damaged_batch_hides_changes(
    tmp_path: Path, segment: int, known_from: int, n_known: int
) -> None:
    """Where offsets are lost between older states and the newest, it is not said that none were."""
    copied = shutil.copytree(DEMO, tmp_path / "damaged")
    file = copied / "__cluster_metadata-0" / f"{segment:020}.log"
    content = bytearray(file.read_bytes())
    content[9000] ^= 1
    file.write_bytes(content)
    source = metashell.open(copied)
    period = "--since 2026-11-22T12:24Z --until 2026-11-22T12:30Z"
    ran = run_on(source, f"changes {period} /image/configs")
    assert (1, n_known) == (ran.status, len(ran.out.splitlines()))
    told = f"changes: before offset {known_from:,} offsets are missing or damaged"
    assert any(line.startswith(told) for line in ran.err)
    assert not any("no record changed it" in line for line in ran.err)
    assert 1 == run_on(source, "changes --count /image/configs").status
    assert 0 == run_on(source, f"changes --since {known_from} /image/configs").status
    health = " ".join(run_on(source, "health").out.split())
    assert "changes before damaged or missing offsets (check)" in health
    assert "missing offsets" not in run_on(metashell.open(DEMO), "health").out
