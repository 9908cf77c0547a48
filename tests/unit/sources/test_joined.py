"""Directories of one cluster joined: which replica is read, and where replicas diverge."""

from __future__ import annotations

import json
from pathlib import Path
from struct import pack_into

import pytest

from metashell.cli import main
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture_dir
from support.shell import run_on

Captures = pytest.CaptureFixture[str]
BROKERS = ("broker101", "broker102", "broker103")
PARTITION = "__consumer_offsets-2"
"""Broker 103 leads it."""
EPOCHS = "leader-epoch-checkpoint"


@pytest.fixture
def nodes(tmp_path: Path) -> dict[str, Path]:
    """Copies of the log directories that have the partition, by broker."""
    found = {}
    for broker in BROKERS:
        (place,) = (fixture_dir("node-44") / broker).glob(f"d*/{PARTITION}")
        found[broker] = copy_of(f"node-44/{broker}/{place.parent.name}", tmp_path / broker)
    return found


def joined(nodes: dict[str, Path]) -> Source:
    """The source of all of them."""
    fleet = open_fleet([str(path) for path in nodes.values()], join=True)
    (member,) = fleet.members.values()
    return member.source()


def segments(node: Path) -> list[Path]:
    """The segments of the partition that are not empty, in order."""
    return sorted(path for path in (node / PARTITION).glob("*.log") if path.stat().st_size)


def rewrite_epoch(node: Path, epoch: int) -> None:
    """Give the last batch another leader epoch, which the CRC does not cover."""
    path = segments(node)[-1]
    data, pos, last = bytearray(path.read_bytes()), 0, 0
    while pos < len(data):
        last, pos = pos, pos + 12 + int.from_bytes(data[pos + 8 : pos + 12], "big")
    pack_into(">i", data, last + 12, epoch)
    path.write_bytes(data)


def read_from(source: Source | FleetSource) -> tuple[list[tuple[int, int | None]], str]:
    """(node, offset at which it diverges) of each replica, the one that is read first; stderr."""
    ran = run_on(source, "fleet --coordinators -o json --columns all")
    rows = [row for row in json.loads(ran.out) if f"{row['topic']}-{row['partition']}" == PARTITION]
    rows.sort(key=lambda row: not row["read"])
    assert [True, False, False] == [row["read"] for row in rows]
    assert ran.status == any(row["diverges_at"] is not None for row in rows)
    return [(row["node_id"], row["diverges_at"]) for row in rows], "\n".join(ran.err)


def test_replicas_of_a_cluster(capsys: Captures) -> None:
    """All directories of a cluster are one source, where each partition's leader is read."""
    words = ["-d", str(fixture_dir("node-44") / "broker*" / "d*"), "--join"]
    assert 0 == main([*words, "groups", "--count"])
    told = capsys.readouterr()
    assert ("28", "") == (told.out.strip(), told.err)
    assert 0 == main([*words, "ls", "/"])
    assert "image\n" in capsys.readouterr().out
    assert 0 == main([*words, "fleet", "--coordinators", "-o", "json", "--columns", "all"])
    rows = json.loads(capsys.readouterr().out)
    assert 12 == sum(row["read"] for row in rows)
    assert all(row["node_id"] == row["leader"] for row in rows if row["read"])
    assert {None} == {row["diverges_at"] for row in rows} | {row["error"] for row in rows}


def test_clusters_stay_apart(capsys: Captures) -> None:
    """Directories of several clusters are a fleet, in which each cluster is one member."""
    paths = [fixture_dir("node-44") / "broker101" / "d1", fixture_dir("node-44") / "broker102/d1"]
    paths.append(fixture_dir("real-44-live"))
    words = [word for path in paths for word in ("-d", str(path))]
    assert 0 == main([*words, "--join", "ls", "/clusters"])
    assert ["72HgMVPyQUSIB9AHQB3hhg", "FOEwebgxRXOFbKdSIiDwwg"] == capsys.readouterr().out.split()
    assert 2 == main(["demo", "--join", "ls"])
    assert "`--join` takes directories for one cluster" in capsys.readouterr().err


def test_the_newest_epoch_counts_before_the_end(nodes: dict[str, Path]) -> None:
    """A shorter log is read if a leader of a newer epoch has it, also one that wrote nothing."""
    assert [(103, None), (101, None), (102, None)] == read_from(joined(nodes))[0]
    path = segments(nodes["broker103"])[-1]
    path.write_bytes(b"")
    ended, _ = read_from(joined(nodes))
    assert 101 == ended[0][0]
    assert {None} == {diverges_at for _, diverges_at in ended}
    end = int(path.stem)
    epochs = nodes["broker103"] / PARTITION / EPOCHS
    epochs.write_text(f"0\n2\n0 0\n7 {end}\n")
    newest, err = read_from(joined(nodes))
    assert [(103, None), (101, end), (102, end)] == newest
    assert f"is another log from offset {end} on than {nodes['broker103']}/{PARTITION}" in err


def test_divergence_is_told(nodes: dict[str, Path]) -> None:
    """Another epoch at the same offset: rows are those of the newest, and the status is 1."""
    rewrite_epoch(nodes["broker101"], 3)
    source = joined(nodes)
    found, _ = read_from(source)
    assert (101, None) == found[0]
    offset = found[1][1]
    assert offset is not None
    assert {(102, offset), (103, offset)} == set(found[1:])
    ran = run_on(source, "groups --count")
    assert 1 == ran.status
    assert f"{PARTITION}: {nodes['broker102']}/{PARTITION} is another log from offset" in "\n".join(
        ran.err
    )
    assert "k-uniform" in source.ls("/groups")
    told = "\n".join(source.warnings)
    assert f"{PARTITION}: {nodes['broker102']}/{PARTITION} is another log from offset" in told
    findings = json.loads(run_on(source, "check -o json").out)
    codes = [(row["code"], row["offset"]) for row in findings if row["severity"] == "critical"]
    assert [("replicas-diverge", offset)] * 2 == codes


def test_a_replica_that_cannot_be_read(nodes: dict[str, Path]) -> None:
    """The others are read, and it is told; without any nothing of the partition is known."""
    for path in (nodes["broker103"] / PARTITION).glob("*.log"):
        path.unlink()
    source = joined(nodes)
    ran = run_on(source, "groups k-uniform --count")
    assert (1, "1") == (ran.status, ran.out.strip())
    assert "a replica can't be read" in "\n".join(ran.err)
    codes = [row["code"] for row in json.loads(run_on(source, "check -o json").out)]
    assert "replica-unreadable" in codes
    for node in nodes.values():
        for path in (node / PARTITION).glob("*.log"):
            path.unlink()
    ran = run_on(source, "groups k-uniform")
    assert 1 == ran.status
    assert f"{PARTITION}: no replica can be read" in "\n".join(ran.err)


def test_a_node_with_two_logs_of_a_partition(tmp_path: Path) -> None:
    """The one that reaches furthest is read; `check` says that the broker does not start."""
    one, two = (copy_of(f"node-44/broker101/{name}", tmp_path) for name in ("d1", "d2"))
    (two / PARTITION).rename(one / PARTITION)
    copy_of(f"node-44/broker102/d1/{PARTITION}", two).rename(two / PARTITION)
    segments(two)[-1].write_bytes(b"")
    fleet = open_fleet([str(one), str(two)])
    (member,) = fleet.members.values()
    ran = run_on(member.source(), "groups k-uniform --count")
    assert (0, "1", ()) == (ran.status, ran.out.strip(), ran.err)
    findings = json.loads(run_on(member.source(), "check -o json").out)
    assert "two-logs" in [row["code"] for row in findings]
