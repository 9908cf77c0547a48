"""Where one jumps to along the log."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import metashell
from metashell.commands.stats.timeline import density_of_source, reach
from metashell.log.fault import Fault, FaultKind
from metashell.records.density import Density
from metashell.sources.source import Source
from metashell.tui.timeline import jumps as timeline_jumps
from metashell.tui.timeline.jumps import (
    fault_stops,
    is_of_topic,
    leader_stops,
    node_stops,
    playing_rate,
    stops_of,
    stops_of_faults,
)
from support.fixtures import fixture
from support.logs import make_directory, record, topic_log
from support.shell import run_on


@cache
def source() -> Source:
    """A cluster of which a broker went down."""
    return metashell.open(fixture("real-44-broker-down").input)


@cache
def density() -> Density:
    """Of its log."""
    return density_of_source(source())


def changed_at(path: str) -> list[int]:
    """Last offsets of the batches with a change of a path, as the command says."""
    found = json.loads(run_on(source(), f"changes --json '{path}'").out)
    rows = [row for row in found if row["change"] in timeline_jumps._VERBS]
    ends = {int(density().last[density().applied(row["offset"] - 1)]) for row in rows}
    return sorted(ends)


def not_cancelled() -> bool:
    """Nobody changed their mind."""
    return False


@pytest.mark.parametrize(
    "path", ["/", "/image/cluster/brokers", "/image/topics/byName", "/image/configs", "/quorum"]
)
def test_changes_of_nodes(path: str) -> None:
    """Those that ``changes`` prints, each at the end of its batch."""
    stops = node_stops(source(), path, density(), not_cancelled)
    assert changed_at(path) == stops.offsets.tolist() == list(stops.texts)
    assert stops.texts


def test_nothing_changes_what_is_not_in_the_log() -> None:
    """No stop, no error."""
    for path in ("/local/version", "/image/topics/byName/no such topic", "/log"):
        assert not len(node_stops(source(), path, density(), not_cancelled).offsets)


def test_large_directories_stop_at_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is followed then; what lies below one node is."""
    followed = node_stops(source(), "/image/topics", density(), not_cancelled)
    monkeypatch.setattr(timeline_jumps, "_FOLLOWED", 3)
    for path in ("/image/topics", "/image/topics/byName", "/image/topics/byId"):
        stops = node_stops(source(), path, density(), not_cancelled)
        assert set(followed.offsets.tolist()) <= set(stops.offsets.tolist())
        assert not stops.texts
    everything = node_stops(source(), "/", density(), not_cancelled).offsets.tolist()
    assert len(everything) > len(followed.offsets)
    assert set(everything) <= set(density().stops.tolist())
    brokers = node_stops(source(), "/image/cluster/brokers/101", density(), not_cancelled)
    assert changed_at("/image/cluster/brokers/101") == brokers.offsets.tolist()
    assert brokers.texts


@pytest.mark.long
def test_leaders_of_partitions_and_of_the_quorum() -> None:
    """Below a topic its partitions' leaders, elsewhere the controllers'."""
    assert density().elections.tolist() == (
        leader_stops(source(), "/image/topics/byName", density(), not_cancelled).offsets.tolist()
    )
    found: set[int] = set()
    for row in json.loads(run_on(source(), "changes --json /image/topics/byName").out):
        topic = "/".join(row["path"].split("/")[:5])
        stops = leader_stops(source(), topic, density(), not_cancelled)
        end = int(density().last[density().applied(row["offset"] - 1)])
        if row["change"] in timeline_jumps._VERBS and "leader" in row["fields"]:
            assert stops.texts[end].count("leader ") == 1
            found.add(end)
    assert found


def test_of_topics() -> None:
    """A topic, a partition; not the directories that hold them."""
    assert is_of_topic("/image/topics/byName/orders")
    assert is_of_topic("/image/topics/byId/x/0/leader")
    assert not is_of_topic("/image/topics/byName")
    assert not is_of_topic("/image/configs/TOPIC/orders")


def test_faults(tmp_path: Path) -> None:
    """Those of files, batches and records; what is beyond the end is told at the end."""
    batches = topic_log(3)
    directory = make_directory(tmp_path, (0, b"".join(batches)[:-5]))
    torn = metashell.open(directory)
    found = density_of_source(torn)
    stops = fault_stops(torn, reach(torn, found), found)
    assert [3] == stops.offsets.tolist()
    assert "cut off" in stops.texts[3]


def test_faults_of_records(tmp_path: Path) -> None:
    """They are found by decoding."""
    from kraftgen.batch import encode_batch

    stray = record("PartitionChangeRecord", partition_id=0, topic_id=bytes(16), leader=1)
    log = [*topic_log(2), encode_batch([stray], base_offset=4), *topic_log(4)[3:]]
    broken = metashell.open(make_directory(tmp_path, (0, b"".join(log))))
    found = density_of_source(broken)
    assert 4 in fault_stops(broken, reach(broken, found), found).offsets.tolist()


def test_faults_without_a_place_are_left_out() -> None:
    """In a checkpoint offsets are none of the log; of some nobody knows where."""
    faults = [
        Fault(FaultKind.RECORD, "a", "00000000000000000001-0000000001.checkpoint", 0, 5),
        Fault(FaultKind.DAMAGED, "b", "00000000000000000000.log", 0, None),
        Fault(FaultKind.GAP, "c", None, None, 10**6),
    ]
    stops = stops_of_faults(faults, (0, 275), density())
    assert stops.texts[275].endswith("c")
    assert [275] == stops.offsets.tolist()


def test_beside() -> None:
    """Next and previous, never the one that it stands on."""
    nothing = density_of_source(metashell.open_file(fixture("all-records-checkpoint").input))
    stops = stops_of([(7, "b"), (3, "a"), (7, "c"), (9, "d")], nothing)
    assert "b and 1 more" == stops.texts[7]
    assert [3, 7, 9, None] == [stops.beside(at, 1) for at in (0, 3, 8, 9)]
    assert [None, None, 3, 9] == [stops.beside(at, -1) for at in (0, 3, 7, 100)]


def test_a_log_of_any_length_plays_within_a_minute() -> None:
    """A short one at four changes a second."""
    assert 4 == playing_rate(0) == playing_rate(100)
    for n in (1000, 10_000, 1_000_000):
        assert 20 <= n / playing_rate(n) <= 45
