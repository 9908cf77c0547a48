"""``/quorum``: of directories, of live quorums, and what disagrees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.path import resolve
from metashell.quorum.description import QuorumDescription, Replica
from metashell.sources.source import Source
from support.described import StandInLive, described, live_over, recorded, status_of
from support.fixtures import copy_of, fixture, fixture_dir, fixture_names
from support.logs import make_directory, record, topic_batch
from support.shell import run_on

REAL = [name for name in fixture_names() if name.startswith("real-")]

MOVED = bytes(range(16))
"""A directory id that no fixture has."""


def replica(node: int, directory: bytes | None = None, end: int | None = 0) -> Replica:
    """One that has never been heard of."""
    return Replica(
        id=node,
        directory_id=directory,
        log_end_offset=end,
        last_fetch_ms=None,
        last_caught_up_ms=None,
    )


def value(source: Source, path: str) -> dict[str, Any]:
    """A leaf's value."""
    found = source.value(path)
    assert isinstance(found, dict)
    return found


def changed(description: QuorumDescription, **fields: Any) -> Source:
    """The recorded quorum where its leader says something else."""
    return live_over(fixture("real-44-admin").input, status_of(replace(description, **fields)))


@pytest.mark.parametrize("name", REAL)
def test_real_directories_agree(name: str) -> None:
    """Nothing of what a node wrote disagrees; other parts are there."""
    source = metashell.open(fixture(name).input)

    assert [] == source.ls("/quorum/disagreements")
    assert {"leader", "leaderEpoch", "kraft.version", "epochs", "voters"} <= {*source.ls("/quorum")}
    assert "observers" not in source.ls("/quorum")


def test_voters_of_a_directory() -> None:
    """Their texts are those of the log alone."""
    source = metashell.open(fixture("real-44-admin").input)

    assert (
        "Voter(id=2, directoryId=JtSOQIigRwmL7VjvyFlckw, endpoints=[CONTROLLER://127.0.0.1:43002])"
        == (source.cat("/quorum/voters/2"))
    )


def test_voters_of_a_static_quorum() -> None:
    """They are those of quorum-state, at the endpoints that they registered with."""
    source = metashell.open(fixture_dir("voters-static-3") / "voter-1")

    assert ["1", "2", "3"] == source.ls("/quorum/voters")
    assert "Voter(id=2, endpoints=[CONTROLLER://127.0.0.1:25102])" == source.cat("/quorum/voters/2")


def test_directory_id_that_is_not_that_of_the_voters(tmp_path: Path) -> None:
    """A voter whose disk was formatted anew does not vote: it is told, as `check` does."""
    directory = copy_of("real-44-admin", tmp_path)
    properties = directory / "meta.properties"
    mine, other = "LrVB96P2TA2PKrSUwMtEqw", "AAECAwQFBgcICQoLDA0ODw"
    properties.write_text(properties.read_text().replace(mine, other))
    source = metashell.open(directory)

    assert ["directory-id"] == source.ls("/quorum/disagreements")
    text = source.cat("/quorum/disagreements/directory-id")
    assert text.startswith("meta.properties: ")
    assert mine in text
    assert other in text
    found = value(source, "/quorum/disagreements/directory-id")
    checked = json.loads(run_on(source, "check --json").out)
    (same,) = (finding for finding in checked if finding["code"] == "directory-id")
    assert found == {name: same[name] for name in found}


def test_epochs_and_cluster_that_disagree(tmp_path: Path) -> None:
    """An old quorum-state of another cluster, and a leader-epoch-checkpoint that is wrong."""
    directory = copy_of("real-40-static", tmp_path) / "__cluster_metadata-0"
    path = directory / "quorum-state"
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "leaderEpoch": 1, "clusterId": "AAAAAAAAQACAAAAAAAAAAA"}))
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n9 5\n")

    found = metashell.open(directory).ls("/quorum/disagreements")
    assert {"cluster-id", "epoch-behind", "epoch-entry-missing"} <= {*found}


def test_several_of_one_kind_have_names_of_their_own(tmp_path: Path) -> None:
    """Two files that can't be used."""
    directory = copy_of("real-44-admin", tmp_path) / "__cluster_metadata-0"
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        (directory / name).write_text("?")

    source = metashell.open(directory)
    assert ["file-malformed", "file-malformed-2"] == source.ls("/quorum/disagreements")


def test_a_log_without_its_base_is_not_compared(tmp_path: Path) -> None:
    """It may lack the registration of the node whose directory it is; its files are looked at."""
    directory = make_directory(tmp_path, (5, topic_batch(5, 2)))
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=77\n")

    assert ["node-file-missing"] == metashell.open(directory).ls("/quorum/disagreements")


def test_no_disagreements_of_a_file_or_an_earlier_state() -> None:
    """The files beside the log are of now."""
    directory = fixture("real-44-live").input
    segment = directory / "00000000000000003389.log"

    assert "disagreements" not in metashell.open_file(segment).ls("/quorum")
    assert "disagreements" not in metashell.open(directory).at(2900).ls("/quorum")


def test_epochs_of_batches(tmp_path: Path) -> None:
    """Where nothing else tells them, with a start only where what comes before is there."""
    segments = topic_batch(5, leader_epoch=3), topic_batch(6, leader_epoch=4)
    source = metashell.open(make_directory(tmp_path, (5, b"".join(segments))))

    assert ["3", "4"] == source.ls("/quorum/epochs")
    assert value(source, "/quorum/epochs/3")["startOffset"] is None
    assert 6 == value(source, "/quorum/epochs/4")["startOffset"]


def test_a_gap_hides_where_an_epoch_starts(tmp_path: Path) -> None:
    """The missing batches may be of either epoch."""
    segment = topic_batch(0, leader_epoch=3) + topic_batch(6, leader_epoch=4)
    source = metashell.open(make_directory(tmp_path, (0, segment)))

    assert 0 == value(source, "/quorum/epochs/3")["startOffset"]
    assert value(source, "/quorum/epochs/4")["startOffset"] is None


def test_live_parts() -> None:
    """What a live quorum shows, and no files."""
    source = described("real-44-admin")

    assert [
        "epochs",
        "highWatermark",
        "kraft.version",
        "leader",
        "leaderEpoch",
        "observers",
        "voters",
    ] == source.ls("/quorum")
    texts = [source.cat(f"/quorum/{name}") for name in ("leader", "leaderEpoch", "highWatermark")]
    assert ["1", "1", "726"] == texts
    assert ["1", "2", "3"] == source.ls("/quorum/voters")
    assert ["101", "102"] == source.ls("/quorum/observers")
    assert 1 == value(source, "/quorum/epochs/1")["leader"]


def test_live_voter() -> None:
    """All that the log and the leader know of it."""
    assert (
        "Voter(id=3, directoryId=uJJyTtRfRDS2WFklVAMr3Q, endpoints=[CONTROLLER://127.0.0.1:43003],"
        " logEndOffset=726, lag=0, lastFetchTimestamp=2026-11-21T08:48:16.814Z[UTC],"
        " lastCaughtUpTimestamp=2026-11-21T08:48:16.814Z[UTC])"
    ) == described("real-44-admin").cat("/quorum/voters/3")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_live_voters_of_older_leaders(version: int) -> None:
    """Directory ids come from the log where the leader is too old to tell them."""
    source = described("real-44-admin", version)

    for node in source.ls("/quorum/voters"):
        found = value(source, f"/quorum/voters/{node}")
        assert "onlyIn" not in found
        assert found["directoryId"]
        assert (version > 0) == (found["lastFetchTimestamp"] is not None)
    assert (version > 1) == (value(source, "/quorum/observers/101")["directoryId"] is not None)


def test_voters_that_only_one_knows() -> None:
    """One whose directory differs counts as two, told apart by it."""
    told = recorded(2)
    voters = (*told.voters[:1], replica(3, MOVED, 4), replica(9))
    source = changed(told, voters=voters)

    names = ["1", "2", "3@AAECAwQFBgcICQoLDA0ODw", "3@uJJyTtRfRDS2WFklVAMr3Q", "9"]
    assert names == source.ls("/quorum/voters")
    only = [value(source, f"/quorum/voters/{name}").get("onlyIn") for name in names]
    assert [None, "log", "DescribeQuorum", "log", "DescribeQuorum"] == only
    assert source.cat("/quorum/voters/9").endswith("onlyIn=DescribeQuorum)")


def test_observers_with_the_same_id() -> None:
    """They are told apart by their directories."""
    told = recorded(2)
    source = changed(
        told, observers=(replica(101, MOVED), replica(101, bytes(16)), *told.observers)
    )

    names = ["101", "101@AAECAwQFBgcICQoLDA0ODw", "101@IK20lPtKl_Q5CKgNEaa1QA", "102"]
    assert names == source.ls("/quorum/observers")
    assert value(source, "/quorum/observers/101@AAECAwQFBgcICQoLDA0ODw")["logEndOffset"] == 0


def test_replicas_of_now() -> None:
    """A tree shows what the leader says at the moment, not what it said first."""
    source = described("real-44-admin")
    observers: Any = resolve(source.root, "/quorum/observers").node
    assert 2 == len(observers.names())

    assert isinstance(source.live, StandInLive)
    source.live.now = status_of(replace(recorded(2), observers=()), high_watermark=900)
    assert [] == list(observers.names())
    assert observers.child("101") is None
    assert "900" == source.cat("/quorum/highWatermark")


def test_live_without_a_description() -> None:
    """The log's voters, whose progress nobody tells."""
    source = live_over(fixture("real-44-admin").input, status_of(None, high_watermark=None))

    assert [] == source.ls("/quorum/observers")
    assert "unknown" == source.cat("/quorum/highWatermark")
    assert "logEndOffset=unknown, lag=unknown" in source.cat("/quorum/voters/1")


def test_live_static_voters(tmp_path: Path) -> None:
    """A log without a VotersRecord contradicts nobody."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)))
    source = live_over(directory, status_of(recorded(2)))

    assert ["1", "2", "3"] == source.ls("/quorum/voters")
    assert "onlyIn" not in value(source, "/quorum/voters/1")
    assert ["CONTROLLER://127.0.0.1:43001"] == value(source, "/quorum/voters/1")["endpoints"]


def test_an_earlier_state_of_a_live_quorum() -> None:
    """It knows only what its log says."""
    source = described("real-44-admin").at(600)

    assert not {"observers", "highWatermark"} & {*source.ls("/quorum")}
    assert "lag" not in source.cat("/quorum/voters/1")


def test_a_voter_behind_the_leader() -> None:
    """Lag counts from the leader's end, also where a replica is ahead of it."""
    told = recorded(2)
    behind = replace(told.voters[1], log_end_offset=700)
    ahead = replace(told.voters[2], log_end_offset=800)
    source = changed(told, voters=(told.voters[0], behind, ahead))

    lags = [value(source, f"/quorum/voters/{node}")["lag"] for node in (1, 2, 3)]
    assert [0, 26, 0] == lags


def test_empty_log(tmp_path: Path) -> None:
    """Nothing is known, and nothing fails."""
    empty = encode_batch([record("NoOpRecord")], base_offset=0, leader_epoch=0)
    source = metashell.open(make_directory(tmp_path, (0, empty)))

    assert ["/quorum"] == source.find("/quorum")[:1]
    assert "unknown" == source.cat("/quorum/leader")
    assert [] == source.ls("/quorum/voters")
