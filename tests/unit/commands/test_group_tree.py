"""Groups and transactions as a tree: paths, history, moments, differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import metashell
from metashell.errors import NotCoveredError
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.fixtures import DEMO, copy_of, fixture_dir
from support.keyed_logs import commit, write_log
from support.shell import run_on

LOG_DIR = "node-44/broker102/d1"
PARTITION = f"{LOG_DIR}/__consumer_offsets-2"


def _partition() -> Source:
    choice = Choice(str(fixture_dir(PARTITION)))
    opened = open_request(OpenRequest(choice=choice))
    assert isinstance(opened, Source)
    return opened


def test_the_root_has_what_is_there() -> None:
    """Directories of groups and transactions only where their logs are."""
    broker, controller = metashell.open(fixture_dir(LOG_DIR)), metashell.open(DEMO)
    assert {"groups", "transactions"} <= set(broker.ls("/"))
    assert {"groups", "transactions"}.isdisjoint(controller.ls("/"))
    assert ["groups", "log"] == _partition().ls("/")


def test_a_group() -> None:
    """What is below a group; texts and values of its leaves."""
    source = metashell.open(fixture_dir(LOG_DIR))
    assert ["assignment", "members", "offsets", "state"] == source.ls("/groups/k-uniform")
    assert source.cat("/groups/k-uniform/state").startswith("type=consumer, state=Stable, epoch=3")
    member = source.value("/groups/k-uniform/members/MDh2dDtsRrCm9iClyJrcwA")
    assert isinstance(member, dict)
    assert ("STABLE", ["orders-5", "clicks-0", "clicks-1", "clicks-2", "clicks-3"]) == (
        member["state"],
        member["assignedPartitions"],
    )
    pending = source.value("/groups/eos-only-pending/offsets/payments/0")
    assert isinstance(pending, dict)
    assert [2] == [each["offset"] for each in pending["pending"]]
    assert "offset" not in pending


def test_a_partition_elsewhere_is_named() -> None:
    """A group that may be in another directory is never taken for none."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "cat /groups/c-range/state")
    assert (1, "") == (ran.status, ran.out)
    assert "partition 1 of __consumer_offsets is not here" in "\n".join(ran.err)
    ran = run_on(source, "cat /groups/nobody-2/state")
    assert "No such file or directory" in "\n".join(ran.err)


def test_times() -> None:
    """`ls -l` and `stat` tell which record of the coordinator's log made and changed a node."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "stat -o json /groups/k-uniform/state")
    (row,) = json.loads(ran.out)
    assert (10, "CONSUMER_GROUP_MEMBER_METADATA") == (row["created_offset"], row["created_type"])
    assert 30 == row["changed_offset"]


def test_find_by_times() -> None:
    """Each directory's own log tells when its nodes changed; offsets are those of that log."""
    source = metashell.open(fixture_dir(LOG_DIR))
    offsets = "/groups/n-roll-3/offsets/orders"
    ran = run_on(source, "find /groups -newer-than 2026-11-22T12:00:03.3Z -changed-before 45")
    orders = "/groups/n-roll-5/offsets/orders"
    assert [f"{offsets}/1", f"{orders}/0", f"{orders}/1"] == [
        path for path in ran.out.split() if path[-1].isdigit() and "orders/" in path
    ]
    ran = run_on(source, "find /groups -changed-since 45 -type f")
    assert f"{offsets}/0\n" == ran.out
    assert (0, "") == (ran.status, "".join(ran.err))
    ran = run_on(source, "find / -newer-than 2026-11-22T12:00:07Z -printf '%p %t\\n'")
    lines = ran.out.splitlines()
    assert {"/ 2026-11-22T12:03:01.588Z", "/image/provenance 2026-11-22T12:03:01.588Z"} < set(lines)
    others = [line for line in lines if not line.startswith(("/ ", "/image"))]
    assert others == _share_and_transactions(source)
    # The metadata log need not reach as far as those of groups.
    assert run_on(source, "find /groups -newer-than 2027-01-01").status == 0
    then = run_on(source.at(20), "find / -newer-than 2026-11-22T12:00:07Z")
    assert "not covered" in "".join(then.err)


def _share_and_transactions(source: Source) -> list[str]:
    """Nodes that changed from that time on, asked one by one."""
    found = []
    for root in ("/share", "/transactions"):
        for path in run_on(source, f"find {root} -mindepth 1").out.split():
            (row,) = json.loads(run_on(source, f"stat -o json --columns changed_time {path}").out)
            if (row["changed_time"] or "") >= "2026-11-22T12:00:07":
                found.append(f"{path} {row['changed_time']}")
    return found


def test_find_by_times_in_one_log() -> None:
    """A partition alone is measured by its own end, and a directory without metadata by times."""
    ran = run_on(_partition(), "find / -changed-since 45 -type f")
    assert "/groups/n-roll-3/offsets/orders/0\n" == ran.out
    assert "not covered" in "".join(run_on(_partition(), "find / -changed-since 99").err)
    opened = open_request(OpenRequest(choice=Choice(str(fixture_dir("node-44/broker102/d2")))))
    assert isinstance(opened, Source)
    ran = run_on(opened, "find /groups -newer-than 2026-11-22T12:00:03.5Z -type f")
    assert ["/groups/n-roll-4/offsets/orders/0", "/groups/n-roll-4/offsets/orders/1"] == [
        path for path in ran.out.split() if "n-roll" in path
    ]


def test_changes_of_a_group() -> None:
    """Every record, with its log; where all is known a field that was not there was nothing."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "changes -o jsonl --columns log,fields /groups/k-uniform/state")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert {"__consumer_offsets-2"} == {row["log"] for row in rows}
    assert [2, None, 2] == [rows[0]["fields"]["epoch"][1], *rows[1]["fields"]["assignmentEpoch"]]
    ran = run_on(source, "changes /groups/eos-aborted-only")
    first, second = ran.out.splitlines()
    assert "created pending 1, producerId 2005" in first
    assert second.endswith("ABORT  /groups/eos-aborted-only/offsets/orders/5  removed")


def test_changes_before_compaction_are_not_known() -> None:
    """What compaction removed leaves a question mark."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "changes /groups/c-static/state")
    assert "generation ? → 1" in ran.out


def test_changes_of_transactions() -> None:
    """From state to state, in order of time over all partitions."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "changes -o jsonl /transactions")
    times = [json.loads(line)["time"] for line in ran.out.splitlines()]
    assert sorted(times) == times
    ran = run_on(source, "changes /transactions/n-rolltx-4")
    assert "state Ongoing → PrepareCommit" in ran.out


def test_an_earlier_moment() -> None:
    """`at` moves groups with the metadata, to the same time; compaction is told."""
    source = metashell.open(fixture_dir(LOG_DIR)).at("2026-11-22T11:56:03Z")
    assert ["c-offdel", "c-static", "k-like-simple"] == source.ls("/groups")
    assert any("compaction removed records before offset 34" in w for w in source.warnings)
    ran = run_on(source, "groups -o csv --columns group")
    assert ["group", "c-offdel", "c-static", "k-like-simple"] == ran.out.split()


def test_a_partition_at_an_offset() -> None:
    """A partition alone moves by its own offsets."""
    then = _partition().at(17)
    assert {"c-offdel", "k-uniform", "k-like-simple"} == set(then.ls("/groups"))
    assert "offsets" not in then.ls("/groups/k-uniform")
    with pytest.raises(NotCoveredError):
        _partition().at(10_000)


def test_differences() -> None:
    """Between two moments, and of two replicas of a partition, which are the same."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "diff 11:56:05 end /groups/k-uniform")
    assert 1 == ran.status
    assert "~ /groups/k-uniform/state  state Assigning → Stable, assignmentEpoch 2 → 3" in ran.out
    other = fixture_dir("node-44/broker103/d1")
    ran = run_on(source, f"diff --with {other} /groups")
    assert (0, "") == (ran.status, ran.out)


@pytest.mark.parametrize(
    ("path", "roots"),
    [
        ("", {"/image"}),
        ("/image", {"/image"}),
        ("/groups", {"/groups"}),
        ("/", {"/groups", "/image", "/share", "/transactions"}),
    ],
)
def test_differences_below_a_path(path: str, roots: set[str]) -> None:
    """Groups are compared where they are asked for, and with the image for `/`."""
    source = metashell.open(fixture_dir(LOG_DIR))
    lines = run_on(source, f"diff 11:56:05 end {path}").out.splitlines()
    assert roots == {f"/{line.split('/')[1].split()[0]}" for line in lines if line[:1] in "+-~"}


def test_digests_of_replicas() -> None:
    """Two replicas have one digest of a group; another group has another."""
    found = []
    for directory in (LOG_DIR, "node-44/broker103/d1"):
        ran = run_on(metashell.open(fixture_dir(directory)), "checksum /groups/k-uniform")
        assert 0 == ran.status
        found.append(ran.out)
    assert found[0] == found[1]
    ran = run_on(metashell.open(fixture_dir(LOG_DIR)), "checksum /groups/s-one /groups/nobody")
    assert 1 == ran.status
    assert found[0].split()[0] not in ran.out


def test_damage_is_told(tmp_path: Path) -> None:
    """A batch that can't be read is a warning of who looked at its partition."""
    directory = copy_of("node-44/broker102/d1", tmp_path / "broker")
    segment = sorted((directory / "__consumer_offsets-2").glob("*.log"))[0]
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    source = metashell.open(directory)
    source.ls("/groups")
    assert any("__consumer_offsets-2: " in warning for warning in source.warnings)


def test_share_partitions() -> None:
    """A share group lies in several partitions; its leaves are what `share` says, with history."""
    places = [str(fixture_dir(f"node-44/broker102/{name}")) for name in ("d1", "d2")]
    opened = open_request(OpenRequest(choice=Choice(paths=tuple(places))))
    assert isinstance(opened, Source)
    assert ["share-a", "share-b"] == opened.ls("/share/s-one")
    value = opened.value("/share/s-one/share-a/0")
    assert isinstance(value, dict)
    assert (2, 2) == (value["startOffset"], value["stateEpoch"])
    assert "3-3:Acknowledged:1" in value["stateBatches"]
    ran = run_on(opened, "changes /share/s-one/share-a/0")
    assert "updatedBatches [2-2:" in ran.out


def test_producers() -> None:
    """A leaf for each producer of a partition; none at an earlier moment."""
    source = metashell.open(fixture_dir(LOG_DIR))
    assert "producers" in source.ls("/")
    assert "producers" not in source.at(200).ls("/")
    assert {"15", "1000"} <= set(source.ls("/producers/orders/0"))
    assert "currentTxnStartOffset=-1" in source.cat("/producers/orders/0/15")


def test_changes_whose_beginning_was_not_followed(tmp_path: Path) -> None:
    """A field has ? where older records say what it was: nothing is taken for created."""
    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    commits = [commit("g", "t", offset) for offset in (1, 2, 3)]
    write_log(directory / f"{0:020}.log", CoordinatorLog.GROUPS, commits)
    opened = open_request(OpenRequest(choice=Choice(str(directory))))
    assert isinstance(opened, Source)
    first, second = run_on(opened, "changes --newest 2 /groups/g").out.splitlines()

    assert "  offset ? → 2" in first
    assert second.endswith("  offset 2 → 3")
