"""`nodes` and `can-upgrade`: what they show, advise and refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from metashell.sources.source import Source
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, config, controller, endpoint, level, supported

HOUR = 3_600_000
TOPIC_ID = bytes(15) + b"\1"


def partition(*replicas: int) -> list[bytes]:
    """A topic of one partition."""
    return [
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record(
            "PartitionRecord",
            topic_id=TOPIC_ID,
            replicas=list(replicas),
            isr=list(replicas),
            leader=replicas[0],
        ),
    ]


def fence(node: int) -> bytes:
    """Fence a broker."""
    return record("BrokerRegistrationChangeRecord", broker_id=node, broker_epoch=node, fenced=1)


@pytest.fixture
def source() -> Iterator[Source]:
    """Broker 1 is up, 2 is fenced with a replica, 3 without; controller 8 does not vote."""
    values = [
        level("metadata.version", 25),
        broker(1, end_points=[endpoint("TLS", "b1", 9093, 1), endpoint("P", "b1", 9092)]),
        broker(2, 25),
        broker(3, 25),
        controller(7),
        controller(8, 25),
        *partition(1, 2),
        fence(2),
        fence(3),
        config(2, "t", "retention.ms", "1"),
    ]
    with cluster(*values, voters=[7], apart_ms=HOUR) as opened:
        yield opened


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """What a line prints as JSON."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return found


def test_ghosts_are_marked(source: Source) -> None:
    """By the log's own time: 3 was fenced an hour before the last record."""
    ghosts = {(row["id"], row["role"]): row["ghost"] for row in rows(source, "nodes")}
    assert {
        (1, "broker"): None,
        (2, "broker"): None,
        (3, "broker"): "fenced for 1 h, no replicas",
        (7, "controller"): None,
        (8, "controller"): "controller is no voter",
    } == ghosts
    assert [3, 8] == [row["id"] for row in rows(source, "nodes --ghosts")]
    assert [8] == [row["id"] for row in rows(source, "nodes --ghosts --ghost-after 2h")]
    assert [3, 8] == [row["id"] for row in rows(source, "nodes --ghosts --ghost-after 0")]


def test_nodes_can_be_chosen(source: Source) -> None:
    """By role and by whether they are fenced."""
    assert [2, 3] == [row["id"] for row in rows(source, "nodes --fenced")]
    assert [7, 8] == [row["id"] for row in rows(source, "nodes --controllers")]
    assert [1, 2, 3] == [row["id"] for row in rows(source, "nodes --brokers")]
    assert "5\n" == run_on(source, "nodes --count").out


def test_a_node_says_all_of_itself(source: Source) -> None:
    """Endpoints with protocols, features, and when what happened."""
    first, second = rows(source, "nodes --brokers")[:2]
    assert ["TLS://b1:9093", "P://b1:9092"] == first["endpoints"]
    assert ["SSL", "PLAINTEXT"] == first["security_protocols"]
    assert ["metadata.version=7-33"] == first["features"]
    assert ("4.4", 1, 3) == (first["release"], first["replicas"], first["registered_offset"])
    assert ("4.0", 10, 10) == (second["release"], second["changed_offset"], second["fenced_offset"])
    assert first["fenced_offset"] is None


def test_a_voter_that_is_not_registered_is_shown() -> None:
    """Before 3.7 no controller is."""
    with cluster(level("metadata.version", 14), voters=[1], dynamic=False) as source:
        (row,) = rows(source, "nodes")
        assert (1, False, True, None) == (
            row["id"],
            row["registered"],
            row["voter"],
            row["release"],
        )


def test_without_a_word_of_voters_nobody_is_a_ghost_for_it() -> None:
    """Null, not no."""
    with cluster(level("metadata.version", 25), controller(1, 25)) as source:
        (row,) = rows(source, "nodes")
        assert (None, None) == (row["voter"], row["ghost"])
        ran = run_on(source, "can-upgrade 4.4")
        assert "the log does not name the voters" in ran.out
        assert "the log does not name the voters" in " ".join(ran.err)


def test_each_blocker_gets_the_command_that_removes_it(source: Source) -> None:
    """A broker that is a ghost; nothing removes a controller before 4.4-IV2."""
    ran = run_on(source, "can-upgrade 4.4")
    assert 1 == ran.status
    assert ran.out.startswith(
        "no: upgrade to metadata.version 33 (4.4-IV2) from 25 (4.0-IV3): 3 nodes block it\n"
    )
    found = {row["id"]: row for row in rows(source, "can-upgrade 4.4")}
    assert {2, 3, 8} == set(found)
    assert "kafka-cluster.sh unregister --bootstrap-server b1:9092 --id 3" == found[3]["remedy"]
    assert [False, True, False] == [found[i]["removes"] for i in (2, 3, 8)]
    assert "upgrade the software of broker 2 (it is fenced and has 1 replica)" == found[2]["remedy"]
    assert "no command removes it before metadata.version 4.4-IV2" in found[8]["remedy"]
    assert (7, 25, 33) == (found[8]["min_level"], found[8]["max_level"], found[8]["level"])


def test_yes_comes_with_the_command(source: Source) -> None:
    """A downgrade that loses nothing; what is there already needs none."""
    ran = run_on(source, "can-upgrade 24")
    assert 0 == ran.status
    assert (
        "yes: downgrade to metadata.version 24 (4.0-IV2) from 25 (4.0-IV3)\n"
        "  kafka-features.sh --bootstrap-server b1:9092 downgrade --feature metadata.version=24\n"
    ) == ran.out
    assert "already at metadata.version 25 (4.0-IV3)\n" == run_on(source, "can-upgrade 4.0").out
    assert [] == rows(source, "can-upgrade 4.0")


def test_a_lossy_downgrade_is_refused_whatever_the_nodes_support(source: Source) -> None:
    """A row without a node."""
    ran = run_on(source, "can-upgrade 3.8")
    assert 1 == ran.status
    assert "Kafka refuses it" in ran.out.splitlines()[0]
    assert [None] == [row["id"] for row in rows(source, "can-upgrade 3.8")]


def test_another_feature(source: Source) -> None:
    """Nodes without it do not support it; some need a metadata.version."""
    found = rows(source, "can-upgrade --feature kraft.version=1")
    assert [] == found
    found = rows(source, "can-upgrade --feature group.version=1")
    assert {"does not support group.version"} == {row["reason"] for row in found}
    with cluster(level("metadata.version", 20), broker(1)) as old:
        feature = "eligible.leader.replicas.version=1"
        found = rows(old, f"can-upgrade --feature {feature}")
        assert [(None, "it needs metadata.version 23 (4.0-IV1)", 2)] == [
            (row["id"], row["reason"], row["step"]) for row in found if row["id"] is None
        ]
        # kraft.version depends on no metadata.version.
        found = rows(old, "can-upgrade --feature kraft.version=1")
        assert ["does not support kraft.version"] == [row["reason"] for row in found]


@pytest.mark.parametrize(
    ("asked", "known"),
    [("99", "1-33 (3.0-IV1 to 4.4-IV2)"), ("--feature transaction.version=99", "0-2")],
)
def test_a_level_that_no_release_has(asked: str, known: str, source: Source) -> None:
    """It is an error of usage, which names the levels that are known."""
    ran = run_on(source, f"can-upgrade {asked}")
    assert 2 == ran.status
    assert not ran.out
    assert "no release that metashell knows has this level" in ran.err[0]
    assert f"hint: known levels are {known}" in ran.err[1]


def test_a_level_that_only_a_node_knows() -> None:
    """A node of a newer release supports it: it is judged, and others block it."""
    newer = broker(1, features=[supported("metadata.version", 7, 99)])
    with cluster(level("metadata.version", 25), newer, broker(2)) as source:
        assert [2] == [row["id"] for row in rows(source, "can-upgrade 99")]
        assert [2] == [row["id"] for row in rows(source, "can-upgrade 98")]
        assert 2 == run_on(source, "can-upgrade 100").status


def old_broker(node: int, lowest: int, highest: int) -> bytes:
    """A broker with software of 3.x."""
    return broker(node, features=[supported("metadata.version", lowest, highest)])


def way(source: Source, line: str) -> list[str]:
    """The steps that a line prints, each with its command and whether it can go back."""
    out = run_on(source, line).out
    return [text.strip() for text in out.splitlines()[1:] if text.startswith("  ")]


def test_a_level_too_low_for_4_is_raised_by_the_old_software_first() -> None:
    """Then the software, then the target; each point of no return is named."""
    connect = "kafka-features.sh --bootstrap-server b1:9092 upgrade"
    with cluster(level("metadata.version", 4), old_broker(1, 1, 21)) as source:
        assert [
            "1. raise metadata.version to 7 (3.3-IV3) with the software of now",
            f"{connect} --feature metadata.version=7",
            "point of no return: it can't go back below 7 (3.3-IV3)",
            "2. upgrade the node below and every controller to 4.0 or later, as each remedy says",
            "the software can go back until a later step is done",
            "3. raise metadata.version to 25 (4.0-IV3)",
            f"{connect} --feature metadata.version=25",
            "point of no return: it can't go back below 23 (4.0-IV1)",
            "4. optional, on its own: raise kraft.version to 1 by software of 4.1 or later: ask "
            "`can-upgrade --feature kraft.version=1`; `upgrade --release-version` does it unasked",
            "point of no return: kraft.version never goes back",
        ] == way(source, "can-upgrade 4.0")
        assert [(None, 1), (1, 2)] == [
            (row["id"], row["step"]) for row in rows(source, "can-upgrade 4.0")
        ]
        # 3.9 runs with each level.
        assert 0 == run_on(source, "can-upgrade 3.9").status
    with cluster(level("metadata.version", 4), old_broker(1, 1, 5)) as source:
        steps = [line for line in way(source, "can-upgrade 4.0") if line[0].isdigit()]
        assert ["1. upgrade the node below to 3.9", "2. raise", "3. upgrade", "4. raise"] == [
            steps[0],
            *(" ".join(step.split()[:2]) for step in steps[1:4]),
        ]
        steps = way(source, "can-upgrade 3.6")
        assert "to 3.6 to 3.9 (4.0 does not run with 4 (3.3-IV0)), as each remedy" in steps[0]
    with cluster(level("metadata.version", 7), old_broker(1, 1, 21)) as source:
        assert ["1. upgrade", "2. raise", "3. optional,"] == [
            " ".join(line.split()[:2]) for line in way(source, "can-upgrade 4.0") if "." in line[:2]
        ]


def test_a_log_without_a_level_says_what_follows() -> None:
    """3.x takes it for 3.0-IV1; in 4.x the next active controller decides."""
    with cluster(old_broker(1, 1, 21)) as source:
        ran = run_on(source, "can-upgrade 3.9")
        assert 0 == ran.status
        assert "from a level that is not in the log" in ran.out
        assert "3.x takes it for 1 (3.0-IV1)" in " ".join(ran.err)
        assert "with the software of now" in way(source, "can-upgrade 4.0")[0]
    with cluster(broker(1)) as source:
        assert 1 == run_on(source, "can-upgrade 4.0").status
        assert [] == way(source, "can-upgrade 4.0")
        (row,) = rows(source, "can-upgrade 4.0")
        assert row["reason"].startswith("the next active controller of 4.x decides")


def kraft_controller(node: int, highest: int) -> bytes:
    """A controller that announces kraft.version 0 to 1, as 4.0 and 4.1 do."""
    features = [supported("metadata.version", 7, highest), supported("kraft.version", 0, 1)]
    return controller(node, features=features)


@pytest.mark.parametrize(("highest", "blockers"), [(25, [1]), (27, [])])
def test_a_static_quorum_is_upgraded_from_4_1_on(highest: int, blockers: list[int]) -> None:
    """4.0 announces the same range, and can't; a controller without a vote blocks nothing."""
    values = [level("metadata.version", 25), kraft_controller(1, highest), kraft_controller(2, 25)]
    with cluster(*values, voters=[1], dynamic=False) as source:
        found = rows(source, "can-upgrade --feature kraft.version=1")
        assert blockers == [row["id"] for row in found]
        ran = run_on(source, "can-upgrade --feature kraft.version=1")
        assert "upgrade to kraft.version 1 from 0" in ran.out
        assert "point of no return: kraft.version never goes back" in ran.out
        assert "its directory id" in " ".join(ran.err)
        assert (
            "already at kraft.version 0\n"
            == run_on(source, "can-upgrade --feature kraft.version=0").out
        )
        assert "kraft.version:          0\n" in run_on(source, "quorum").out
    with cluster(level("metadata.version", 25), voters=[1]) as source:
        (row,) = rows(source, "can-upgrade --feature kraft.version=0")
        assert "kraft.version can't be lowered" == row["reason"]


def test_controllers_that_cannot_be_checked_are_told_of() -> None:
    """Before 3.7-IV0."""
    with cluster(level("metadata.version", 14), broker(1, 21)) as source:
        ran = run_on(source, "can-upgrade 3.9")
        assert 0 == ran.status
        assert "upgrade --feature metadata.version=21" in ran.out
        assert "controllers can't be checked" in " ".join(ran.err)


def test_a_hostile_host_never_gets_into_a_command() -> None:
    """Someone will paste it into a shell."""
    odd = [endpoint("P", "$(reboot)", 1)]
    with cluster(level("metadata.version", 25), broker(1, end_points=odd)) as source:
        ran = run_on(source, "can-upgrade 4.4")
        assert "--bootstrap-server HOST:PORT" in ran.out
        assert "reboot" not in ran.out


def test_an_encrypted_listener_needs_a_client_config() -> None:
    """Which the user has to give; and IPv6 addresses are in brackets."""
    tls = [endpoint("TLS", "fe80::1", 9093, 1)]
    features = [supported("metadata.version", 7, 33)]
    with cluster(level("metadata.version", 25), broker(1, end_points=tls, features=features)) as s:
        out = run_on(s, "can-upgrade 4.4").out
        assert "--bootstrap-server '[fe80::1]:9093' --command-config client.properties" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nodes --ghost-after soon", "not a duration"),
        ("nodes --ghost-after 9999999999d", "not a duration"),
        ("can-upgrade", "no version given"),
        ("can-upgrade 4.1 4.2", "too many arguments: 4.2"),
        ("can-upgrade 4.1 --feature group.version=1", "too many arguments: 4.1"),
        ("can-upgrade --feature nope=1", "nope: no such feature"),
        ("can-upgrade 5.99", "5.99: no version"),
    ],
)
def test_what_is_wrong_is_said(source: Source, line: str, said: str) -> None:
    """As a mistake of usage."""
    ran = run_on(source, line)
    assert 2 == ran.status
    assert said in " ".join(ran.err)


def test_the_threshold_of_ghosts_is_told(source: Source) -> None:
    """With the ghosts, and where there are none."""
    told = "a broker without replicas is a ghost after it is fenced for 9000d (--ghost-after)"
    ran = run_on(source, "nodes --ghosts --brokers --ghost-after 9000d")
    assert (f"nodes: no node is a ghost and a broker; {told}",) == ran.err
    assert "fenced for 1h (--ghost-after)" in run_on(source, "nodes --ghosts --brokers").err[-1]
