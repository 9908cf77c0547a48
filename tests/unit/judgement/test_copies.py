"""Copies of one cluster: quorums of their own, logs that left each other, states that differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name, control_batch
from metashell.judgement.copies_findings import _quorums
from metashell.sources.opening import open_fleet
from support.fixtures import fixture_dir
from support.fleets import node, topics
from support.logs import topic_record
from support.shell import Ran, run


def health(*directories: Path, words: str = "-o json") -> Ran:
    """Run ``health`` on directories."""
    fleet = open_fleet([str(directory) for directory in directories])
    return run(fleet.root, f"health {words}", source=fleet)


def of_copies(ran: Ran) -> list[dict[str, Any]]:
    """The rows about copies."""
    codes = {"disjoint-voters", "copies-diverged", "copies-differ"}
    return [row for row in json.loads(ran.out) if row["code"] in codes]


def controller(
    parent: Path, number: int, voters: Sequence[int], *numbers: int, cluster_id: str | None = "id"
) -> Path:
    """A controller whose log begins with those voters, and has a topic at each offset from 2 on."""
    known = [
        {
            "voter_id": voter,
            "voter_directory_id": bytes([voter]) * 16,
            "endpoints": [{"name": "CONTROLLER", "host": f"c{voter}", "port": 9093}],
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }
        for voter in voters
    ]
    head = control_batch(
        [("KRaftVersionRecord", {"k_raft_version": 1}), ("VotersRecord", {"voters": known})]
    )
    batches = [
        encode_batch([topic_record(topic)], base_offset=2 + i, leader_epoch=1)
        for i, topic in enumerate(numbers)
    ]
    made = node(parent, f"c{number}", {0: head + b"".join(batches)}, cluster_id)
    properties = made / "meta.properties"
    if properties.exists():
        text = properties.read_text().replace("node.id=1", f"node.id={number}")
        properties.write_text(text)
    return made


def test_three_quorums_with_one_cluster_id(tmp_path: Path) -> None:
    """They are one finding about the cluster, and each node's are beside it."""
    made = [controller(tmp_path, i, [i], 2, 3 + i) for i in (1, 2, 3)]
    ran = health(*made)
    (row,) = of_copies(ran)
    assert ("id", "critical", "disjoint-voters", 3) == tuple(
        row[key] for key in ("cluster", "severity", "code", "count")
    )
    assert "voter 1 (c1); voter 2 (c2); voter 3 (c3)" in row["explanation"]
    assert 1 == ran.status
    told = health(*made, words="").out
    assert told.startswith("id: critical  the nodes of this cluster id are 3 quorums")
    assert {"id:", "c1:", "c2:", "c3:"} == {line.split()[0] for line in told.splitlines()}


def test_what_is_asked_for(tmp_path: Path) -> None:
    """By its code, its severity, in a summary, and not of one directory."""
    made = [controller(tmp_path, i, [i], 2, 3 + i) for i in (1, 2)]
    assert ["disjoint-voters"] == [
        row["code"] for row in json.loads(health(*made, words="disjoint-voters -o json").out)
    ]
    assert [] == of_copies(health(*made, words="topic-empty -o json"))
    (row,) = of_copies(health(*made, words="--summary -o json"))
    assert ("id", 2) == (row["cluster"], row["count"])
    fleet = open_fleet([str(directory) for directory in made])
    assert [] == of_copies(run(fleet.root, "health -o json", source=fleet, cwd="/clusters/c1"))
    assert [] == of_copies(health(made[0]))


def test_copies_of_one_quorum(tmp_path: Path) -> None:
    """One that is behind agrees; so do directories of other clusters, and of none."""
    made = [controller(tmp_path, 1, [1, 2], 2, 3, 4), controller(tmp_path, 2, [1, 2], 2, 3)]
    made.append(controller(tmp_path, 3, [3], 9, cluster_id="other"))
    made += [controller(tmp_path, i, [i], i, cluster_id=None) for i in (4, 5)]
    assert [] == of_copies(health(*made))


def test_an_older_copy_with_other_voters(tmp_path: Path) -> None:
    """The voters were replaced since; its log is the beginning of the other."""
    head = controller(tmp_path, 1, [1], 2)
    log = (head / "__cluster_metadata-0" / f"{0:020d}.log").read_bytes()
    voter = {
        "voter_id": 5,
        "voter_directory_id": bytes([5]) * 16,
        "endpoints": [],
        "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
    }
    later = control_batch([("VotersRecord", {"voters": [voter]})], base_offset=3)
    newer = node(tmp_path, "c5", {0: log + later}, "id")
    (newer / "meta.properties").write_text("version=1\ncluster.id=id\nnode.id=5\n")
    assert [] == of_copies(health(head, newer))


def test_real_voters_that_diverged() -> None:
    """Two of three hold other batches from 327 on; both have the offset."""
    ran = health(*(fixture_dir(f"voters-two-epochs-3/voter-{i}") for i in (1, 2, 3)))
    assert [("warning", "copies-diverged", 327)] * 2 == [
        (row["severity"], row["code"], row["since_offset"]) for row in of_copies(ran)
    ]
    assert ["copy voter-1", "copy voter-2"] == [row["subject"] for row in of_copies(ran)]


def test_states_that_differ(tmp_path: Path) -> None:
    """The logs agree where both have batches; their checkpoints do not."""
    made = []
    for i, state in ((1, [0, 1]), (2, [0, 1]), (3, [0, 7])):
        directory = node(tmp_path, f"c{i}", {2: topics(2, 3)}, "id")
        (directory / "meta.properties").write_text(f"version=1\ncluster.id=id\nnode.id={i}\n")
        checkpoint = directory / "__cluster_metadata-0" / checkpoint_name(2, 1)
        checkpoint.write_bytes(checkpoint_bytes([topic_record(j) for j in state]))
        made.append(directory)
    (row,) = of_copies(health(*made))
    assert ("critical", "copies-differ", "copy c3") == (
        row["severity"],
        row["code"],
        row["subject"],
    )
    assert "its state after offset 3 is another than others have" in row["explanation"]


def test_a_copy_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """The others are compared."""
    made = [controller(tmp_path, i, [1, 2, 3], 2, 3 + i % 2) for i in (1, 2)]
    broken = node(tmp_path, "c3", {0: b"nonsense" * 20}, "id")
    (broken / "meta.properties").write_text("version=1\ncluster.id=id\nnode.id=3\n")
    found = {(row["code"], row["subject"]) for row in of_copies(health(*made, broken))}
    assert {("copies-diverged", "copy c1"), ("copies-diverged", "copy c2")} == found


def row(name: str, voters: str, error: str | None = None) -> Mapping[str, str | None]:
    """What a copy tells of its voters."""
    return {"name": name, "voters": voters, "error": error}


@pytest.mark.parametrize(
    ("voters", "expected"),
    [
        (["1,", "1,"], [["a", "b"]]),
        (["1,A 2,B", "2,B 3,C", "4,D"], [["a", "b"], ["c"]]),
        (["1,A", "3,C", "1,A 3,C"], [["a", "b", "c"]]),
        (["1,A", "1,B"], [["a"], ["b"]]),  # Two nodes that have one id.
        (["1, 2,", "2,B"], [["a", "b"]]),  # The static quorum became dynamic.
        (["2,B", "1, 2,"], [["a", "b"]]),
        (["1,", "", "2,"], [["a"], ["c"]]),
    ],
)
def test_sets_without_a_common_voter(voters: list[str], expected: list[list[str]]) -> None:
    """Sets that a third one joins are one quorum."""
    rows: Any = [row(name, known) for name, known in zip("abc", voters, strict=False)]
    rows.append(row("z", "9,", "it can't be read"))
    assert expected == sorted(sorted(names) for _, names in _quorums(rows))


def test_one_batch_of_another_epoch(tmp_path: Path) -> None:
    """The epoch of the batch is told, and that of the others."""
    made = [controller(tmp_path, i, [1, 2, 3], 2) for i in (1, 2, 3)]
    for i, epoch in ((0, 4), (1, 5), (2, 5)):
        log = made[i] / "__cluster_metadata-0" / f"{0:020d}.log"
        batch = encode_batch([b""], base_offset=3, leader_epoch=epoch)
        log.write_bytes(log.read_bytes() + batch)
    (row,) = of_copies(health(*made))
    assert "at offset 3: a batch of epoch 4, where they have one of epoch 5" in row["explanation"]


@pytest.mark.parametrize(
    ("name", "nodes", "told"),
    [
        ("voters-lagging-follower-3", (2, 3), "voter 2's copy wins; start 2 and 3"),
        (
            "voters-minority-5",
            (4, 5),
            "no copy can win: only voters 4 and 5 are here, and a vote needs 3 of 5",
        ),
    ],
)
def test_whose_copy_wins(name: str, nodes: tuple[int, ...], told: str) -> None:
    """A note, as the quorum may be well; one copy alone tells nothing."""
    places = [fixture_dir(f"{name}/voter-{n}") for n in nodes]
    (row,) = json.loads(health(*places, words="copies-of-voters -o json").out)
    assert ("note", f"if the quorum is lost, {told}") == (row["severity"], row["explanation"])
    assert [] == json.loads(health(places[0], words="copies-of-voters -o json").out)
