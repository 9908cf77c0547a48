"""``quorum``: the words and figures of kafka-metadata-quorum, and as much as files tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.files import LOG_DIR_NAME
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.commands.framework.run import run_line
from metashell.commands.quorum.answer import age_text
from metashell.commands.quorum.report import follower_lag
from metashell.quorum.description import QuorumDescription, Replica
from metashell.sources.source import Source
from support.described import described, live_over, recorded, status_of
from support.fixtures import DEMO, copy_of, fixture, fixture_dir, fixture_names
from support.logs import make_directory, topic_batch
from support.shell import Captured, ms_of, run_on

REAL = [name for name in fixture_names() if name.startswith("real-")]
DENIED = "DescribeQuorum is not allowed: it needs DESCRIBE on the cluster"


def told(source: Source, options: str = "") -> list[dict[str, Any]]:
    """Rows."""
    ran = run_on(source, f"quorum --json {options}")
    assert 0 == ran.status
    rows: list[dict[str, Any]] = json.loads(ran.out)
    return rows


def status_row(source: Source) -> dict[str, Any]:
    """The row about the quorum."""
    (row,) = told(source, "--status")
    return row


def table_of(text: str) -> list[list[str]]:
    """Rows of the second part of the output."""
    return [line.split() for line in text.partition("\n\n")[2].splitlines()]


def replica(node: int, end: int | None, caught_up: int | None = None) -> Replica:
    """One with an end of its log."""
    return Replica(
        id=node,
        directory_id=None,
        log_end_offset=end,
        last_fetch_ms=None,
        last_caught_up_ms=caught_up,
    )


def description(*voters: Replica) -> QuorumDescription:
    """Where node 1 leads."""
    return QuorumDescription(
        leader_id=1, leader_epoch=1, high_watermark=-1, voters=voters, observers=()
    )


def test_status_of_a_live_quorum() -> None:
    """The lines that kafka-metadata-quorum has, by its names, as the leader answered them."""
    ran = run_on(described("real-44-admin"), "quorum")

    assert (0, ()) == (ran.status, ran.err)
    fields = dict(line.split(maxsplit=1) for line in ran.out.partition("\n\n")[0].splitlines())
    origin = fields.pop("From:")
    assert {
        "ClusterId:": "9GMRdWz9QsGCCMbJUkvJ7w",
        "LeaderId:": "1",
        "LeaderEpoch:": "1",
        "LogEpoch:": "1",
        "LogEndOffset:": "726",
        "HighWatermark:": "726",
        "MaxFollowerLag:": "0",
        "MaxFollowerLagTimeMs:": "0",
        "kraft.version:": "1",
    } == fields
    assert origin.startswith("DescribeQuorum, node 1, 127.0.0.1:43001, 2026-11-21T08:48:16.820Z (")


def test_replication_of_a_live_quorum() -> None:
    """A line for each voter and observer, the leader first, as kafka-metadata-quorum has them."""
    header, *rows = table_of(run_on(described("real-44-admin"), "quorum").out)

    assert ["NodeId", "DirectoryId", "LogEndOffset", "Lag"] == header[:4]
    assert ["Status", "Endpoints"] == header[-2:]
    expected = [
        ("1", "LrVB96P2TA2PKrSUwMtEqw", "Leader"),
        ("2", "JtSOQIigRwmL7VjvyFlckw", "Follower"),
        ("3", "uJJyTtRfRDS2WFklVAMr3Q", "Follower"),
        ("101", "IK20lPtKl_Q5CKgNEaa1QA", "Observer"),
        ("102", "c1LykVptIUbGl1mt62n7Kw", "Observer"),
    ]
    assert expected == [(row[0], row[1], row[-2]) for row in rows]
    assert {("726", "0")} == {(row[2], row[3]) for row in rows}
    assert all(row[-1] == f"CONTROLLER://127.0.0.1:4300{row[0]}" for row in rows[:3])
    assert all(row[-1] == "-" for row in rows[3:])


def test_ages_instead_of_times() -> None:
    """They are the leader's: an answer that came just now has young ones, whoever's clock errs."""
    source = described("real-44-admin")

    assert "T08:48" not in run_on(source, "quorum -h").out.partition("\n\n")[2]
    assert run_on(source, "quorum -h").out.count("Age") == 0
    nodes = {node["id"]: node for node in told(source)}
    gap = nodes[3]["last_fetch_age_ms"] - nodes[1]["last_fetch_age_ms"]
    first, third = (ms_of(nodes[i]["last_fetch_time"]) for i in (1, 3))
    assert first is not None
    assert third is not None
    assert first - third == pytest.approx(gap)


def test_json_of_a_live_quorum() -> None:
    """The same as rows."""
    status, nodes = status_row(described("real-44-admin")), told(described("real-44-admin"))

    assert (1, 1, 726) == (status["leader"], status["epoch"], status["high_watermark"])
    assert "DescribeQuorum" == status["origin"]
    assert [1, 2, 3, 101, 102] == [node["id"] for node in nodes]
    assert ["CONTROLLER://127.0.0.1:43001"] == nodes[0]["endpoints"]
    assert nodes[3]["endpoints"] is None


def test_lag_of_the_slowest_voter() -> None:
    """Observers do not count; offsets and time are those of the one that is furthest behind."""
    assert (0, 0) == follower_lag(description(replica(2, 9, 5), replica(1, 9, 99)))
    assert (4, 30) == follower_lag(
        description(replica(1, 9, 100), replica(2, 5, 70), replica(3, 8, 10))
    )
    assert (4, None) == follower_lag(description(replica(1, 9, 100), replica(2, 5)))
    assert (None, None) == follower_lag(description(replica(1, 9), replica(2, None)))
    assert (None, None) == follower_lag(description(replica(2, 9)))


def test_describing_is_not_allowed() -> None:
    """The log tells what it can, and stderr what is missing and why."""
    status = status_of(None, description_problem=f"{DENIED}.")
    ran = run_on(live_over(fixture("real-44-admin").input, status), "quorum")

    assert 0 == ran.status
    assert (f"quorum: {DENIED}; shown is what the log says",) == ran.err
    assert "HighWatermark:          726\n" in ran.out
    rows = table_of(ran.out)[1:]
    assert ["Leader", "Follower", "Follower"] == [row[-2] for row in rows]
    assert {("-", "-")} == {(row[2], row[3]) for row in rows}


def test_an_older_answer_and_a_problem() -> None:
    """What was said before is shown, and that it is old."""
    status = status_of(
        recorded(2), epoch=2, leader_id=None, problem="no leader", description_problem=DENIED
    )
    ran = run_on(live_over(fixture("real-44-admin").input, status), "quorum")

    assert (
        "quorum: shown is what the leader of epoch 1 said; in epoch 2 nobody yet leads",
        f"quorum: {DENIED}; shown is an earlier answer",
        "quorum: no leader",
    ) == ran.err
    assert "LogEndOffset" in ran.out


def test_voters_that_only_one_knows() -> None:
    """They are reported beside the table."""
    answer = recorded(2)
    answer = replace(answer, voters=(*answer.voters[:2], replica(9, 5)))
    ran = run_on(live_over(fixture("real-44-admin").input, status_of(answer)), "quorum")

    assert (
        "quorum: voter 3 with directory uJJyTtRfRDS2WFklVAMr3Q is only in the log",
        "quorum: voter 9 with directory unknown is only in DescribeQuorum",
    ) == ran.err
    assert "MaxFollowerLag:         721\n" in ran.out


def test_an_earlier_state_of_a_live_quorum() -> None:
    """From the log alone, with a note that lag is of now."""
    ran = run_on(described("real-44-admin").at(600), "quorum")

    (note,) = ran.err
    assert note.startswith("quorum: lag and observers are known only of now")
    assert "HighWatermark:          -\n" in ran.out
    assert "Observer" not in ran.out


@pytest.mark.parametrize("name", REAL)
def test_directories(name: str) -> None:
    """Leader and epoch as the files have them, every voter with its id, no observers."""
    directory = fixture(name).input
    ran = run_on(metashell.open(directory), "quorum")
    found = status_row(metashell.open(directory))

    assert (0, ()) == (ran.status, ran.err)
    state = json.loads((directory / "quorum-state").read_text())
    assert (state["leaderId"], state["leaderEpoch"]) == (found["leader"], found["epoch"])
    statuses = [node["status"] for node in told(metashell.open(directory))]
    assert "Leader" in statuses
    assert {"Leader", "Follower"} >= {*statuses}
    assert "log" == found["origin"]
    assert found["high_watermark"] is None


@pytest.mark.parametrize("name", ["real-44-admin", "real-44-broker-down"])
def test_directories_say_what_kafka_said_of_their_quorum(name: str) -> None:
    """Cluster, leader, epoch and voters of kafka-metadata-quorum, seconds before."""
    lines = (fixture(name).directory / "admin" / "quorum-status.txt").read_text().splitlines()
    kafka = dict(line.split(maxsplit=1) for line in lines)
    source = metashell.open(fixture(name).input)
    found = status_row(source)

    assert kafka["ClusterId:"] == found["cluster_id"]
    assert (kafka["LeaderId:"], kafka["LeaderEpoch:"]) == (
        str(found["leader"]),
        str(found["epoch"]),
    )
    names = {"id": "id", "directoryId": "directory_id", "endpoints": "endpoints"}
    voters = [{name: node[column] for name, column in names.items()} for node in told(source)]
    assert json.loads(kafka["CurrentVoters:"]) == voters


def test_disagreements_are_warnings(tmp_path: Path) -> None:
    """On stderr; the status says only whether the quorum is shown."""
    directory = copy_of("real-44-admin", tmp_path)
    properties = directory / "meta.properties"
    mine = "LrVB96P2TA2PKrSUwMtEqw"
    properties.write_text(properties.read_text().replace(mine, "AAECAwQFBgcICQoLDA0ODw"))
    source = metashell.open(directory)
    ran = run_on(source, "quorum")

    (warning,) = ran.err
    assert 0 == ran.status
    assert warning.startswith("quorum: warning directory-id: meta.properties: directory.id is AAEC")
    assert [warning] == [*run_on(source, "quorum --json").err]


def test_the_leader_of_an_earlier_offset() -> None:
    """An epoch has one leader: what `quorum-state` says of it holds at each of its offsets.

    The record that tells of the election lies before the checkpoint that the state begins with.
    """
    newest = metashell.open(DEMO)
    assert (2, 3) == told_leader(newest) == told_leader(newest.at(1877))
    # Of the epoch before, neither the file nor what stands behind its checkpoint tells.
    assert (None, 2) == told_leader(newest.at(1300))


def told_leader(source: Source) -> tuple[int | None, int]:
    """The leader and its epoch."""
    row = status_row(source)
    return row["leader"], row["epoch"]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    """The log is shown without them."""
    directory = copy_of("real-44-broker-down", tmp_path)
    (directory / "__cluster_metadata-0" / "quorum-state").write_text("{")
    (directory / "meta.properties").write_text("?")
    ran = run_on(metashell.open(directory), "quorum")

    assert 1 == ran.status
    assert "LeaderId:               1\n" in ran.out
    assert 2 == len(ran.err)
    assert all("file-malformed" in line for line in ran.err)


def test_epochs_without_the_files(tmp_path: Path) -> None:
    """The log tells them where the node's own files can't be used."""
    directory = copy_of("real-44-broker-down", tmp_path) / "__cluster_metadata-0"
    for name in ("quorum-state", "leader-epoch-checkpoint"):
        (directory / name).write_text("{")
    ran = run_on(metashell.open(directory), "quorum --epochs")

    assert 1 == ran.status
    assert ["1", "0", "1"] == ran.out.splitlines()[1].split()[:3]
    assert 2 == len(ran.err)


def test_epochs_of_an_earlier_state() -> None:
    """None that came later."""
    source = metashell.open(fixture("real-44-trimmed").input).at(3900)

    assert [1] == [epoch["epoch"] for epoch in told(source, "--epochs")]


def test_epochs_of_a_live_quorum() -> None:
    """The leader of the newest one is known from the quorum where the log has no leader change."""
    (epoch,) = told(described("real-44-admin"), "--epochs")

    assert (1, 1) == (epoch["epoch"], epoch["leader"])


def test_a_log_that_tells_little(tmp_path: Path) -> None:
    """An epoch is all there is to be shown."""
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0, 2))))
    ran = run_on(source, "quorum")

    assert (0, ()) == (ran.status, ran.err)
    assert "LeaderEpoch:            1\n" in ran.out
    assert "NodeId" not in ran.out


def test_nothing_is_known(tmp_path: Path) -> None:
    """Status 1, and why."""
    source = metashell.open(make_directory(tmp_path, (0, b"")))

    for line in ("quorum", "quorum --epochs"):
        ran = run_on(source, line)
        assert (1, ("quorum: the source says nothing of the quorum",)) == (ran.status, ran.err)


def test_hostile_endpoints_are_escaped_on_a_terminal() -> None:
    """A name of a listener steers no terminal."""
    answer = replace(recorded(2), endpoints={9: ("\x1b[2J://h:1",)})
    answer = replace(answer, observers=(replica(9, 5),))
    source = live_over(fixture("real-44-admin").input, status_of(answer))
    captured = Captured(is_terminal=True)
    run_line(Context(source.root, captured, lambda _: None, source=source), "quorum")
    assert "\x1b" not in "".join(captured.parts)


def test_completion() -> None:
    """Options, forms of rows aside, and nothing else."""
    source = metashell.open(fixture("real-44-admin").input)
    context = Context(source.root, Captured(), lambda _: None, source=source)

    proposed = [c.text for c in complete_line(context, "quorum -")]
    assert ["-h", "--human-readable", "--status", "--epochs"] == proposed[:4]
    assert [] == complete_line(context, "quorum /")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (232, "232ms"),
        (3_249, "3.2s"),
        (303_000, "5m 3s"),
        (7_620_000, "2h 7m"),
        (273_600_000, "3d 4h"),
    ],
)
def test_ages(ms: int, text: str) -> None:
    """By their two largest units."""
    assert text == age_text(ms)


@pytest.mark.parametrize("voter", [1, 2, 3])
def test_voters_of_a_static_quorum(voter: int) -> None:
    """They are in the node's own quorum-state, and their endpoints in their registrations."""
    directory = fixture_dir("voters-static-3") / f"voter-{voter}" / LOG_DIR_NAME
    truth = {1: 25101, 2: 25102, 3: 25103}
    expected = {i: [f"CONTROLLER://127.0.0.1:{port}"] for i, port in truth.items()}
    source = metashell.open(directory)

    found = told(source)
    assert expected == {node["id"]: node["endpoints"] for node in found}
    nodes = json.loads(run_on(source, "nodes -o json").out)
    assert expected == {node["id"]: node["endpoints"] for node in nodes}
    assert [(True, None)] * 3 == [(node["voter"], node["ghost"]) for node in nodes]


def test_voters_of_a_static_quorum_whose_file_is_damaged(tmp_path: Path) -> None:
    """The nodes are listed without their votes, with why and status 1."""
    directory = copy_of("voters-static-3", tmp_path) / "voter-1" / LOG_DIR_NAME
    (directory / "quorum-state").write_text("{")

    ran = run_on(metashell.open(directory), "nodes -o json")

    assert [None] * 3 == [node["voter"] for node in json.loads(ran.out)]
    assert 1 == ran.status
    assert "quorum-state" in ran.err[0]


# A directory whose log lost the leader change to a checkpoint.


@pytest.mark.parametrize(
    ("name", "leader", "epoch"),
    [
        ("voters-static-3/voter-1", 3, 1),
        ("voters-lagging-follower-3/voter-2", 1, 1),
        # It knows of an election that its log has no record of.
        ("voters-two-epochs-3/voter-3", 1, 4),
    ],
)
def test_the_leader_is_one_answer(name: str, leader: int, epoch: int) -> None:
    """The command, its node and its epoch's node say what quorum-state adds to the log."""
    source = metashell.open(fixture_dir(name))
    found = status_row(source)
    assert (leader, epoch) == (found["leader"], found["epoch"])
    assert [str(leader), str(epoch)] == [
        source.cat(f"/quorum/{part}") for part in ("leader", "leaderEpoch")
    ]
    values = [source.value(path) for path in source.find("/quorum/epochs")[1:]]
    assert all(value["leader"] == leader for value in values if value["startOffset"] is None)


@pytest.mark.parametrize(
    ("name", "epoch", "log_epoch", "end"),
    [("voters-two-epochs-3/voter-3", 4, 1, 327), ("voters-static-3/voter-2", 1, 1, 1492)],
)
def test_the_end_of_the_log_is_not_that_of_quorum_state(
    name: str, epoch: int, log_epoch: int, end: int
) -> None:
    """The log's last epoch and its end are columns of their own, and those of its own node."""
    source = metashell.open(fixture_dir(name))
    found = status_row(source)
    assert (epoch, log_epoch, end) == tuple(
        found[key] for key in ("epoch", "log_epoch", "log_end_offset")
    )
    known = {node["id"]: (node["log_epoch"], node["log_end_offset"]) for node in told(source)}
    assert {source.node_id: (log_epoch, end)} == {n: ends for n, ends in known.items() if ends[1]}


def test_an_earlier_state_has_no_word_of_quorum_state() -> None:
    """What the node said last is not of then."""
    source = metashell.open(fixture_dir("voters-two-epochs-3/voter-3")).at(300)
    found = status_row(source)
    assert (1, 1) == (found["leader"], found["epoch"])
    assert ["1", "1"] == [source.cat(f"/quorum/{part}") for part in ("leader", "leaderEpoch")]


def test_a_quorum_state_that_can_not_be_used(tmp_path: Path) -> None:
    """The log's answer is shown without it."""
    directory = copy_of("voters-two-epochs-3/voter-3", tmp_path)
    (directory / "__cluster_metadata-0" / "quorum-state").write_text("{")
    source = metashell.open(directory)
    assert ["1", "1"] == [source.cat(f"/quorum/{part}") for part in ("leader", "leaderEpoch")]


def test_the_leader_stands_first() -> None:
    """Of a directory too; the others stay in their order."""
    source = metashell.open(fixture_dir("voters-static-3/voter-1"))
    assert [(3, "Leader"), (1, "Follower"), (2, "Follower")] == [
        (node["id"], node["status"]) for node in told(source)
    ]
    rows = run_on(source, "quorum -o csv --columns id,status").out.split()[1:]
    assert ["3,Leader", "1,Follower", "2,Follower"] == rows
