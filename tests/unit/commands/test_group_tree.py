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
from support.fixtures import copy_of, fixture_dir
from support.keyed_logs import commit, write_log
from support.shell import run_on

LOG_DIR = "node-44/broker102/d1"
PARTITION = f"{LOG_DIR}/__consumer_offsets-2"


def _partition() -> Source:
    choice = Choice(str(fixture_dir(PARTITION)))
    opened = open_request(OpenRequest(choice=choice))
    assert isinstance(opened, Source)
    return opened


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


def test_changes_whose_beginning_was_not_followed(tmp_path: Path) -> None:
    """A field has ? where older records say what it was: nothing is taken for created."""
    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    commits = [commit("g", "t", offset) for offset in (1, 2, 3)]
    write_log(directory / f"{0:020}.log", CoordinatorLog.GROUPS, commits)
    opened = open_request(OpenRequest(choice=Choice(str(directory))))
    assert isinstance(opened, Source)
    first, second = run_on(opened, "changes --records 2 /groups/g").out.splitlines()

    assert "  offset ? → 2" in first
    assert second.endswith("  offset 2 → 3")
