"""A migration from ZooKeeper: its state by name, whom it waits for, and its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metashell.sources.source import Source
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, controller, level

NONE, MIGRATION, PRE_MIGRATION, POST_MIGRATION = range(4)


def state(code: int) -> bytes:
    """The state of a migration, by the codes of 3.5 and later."""
    return record("ZkMigrationStateRecord", zk_migration_state=code)


def rows(source: Source) -> list[dict[str, Any]]:
    """The findings about a migration."""
    words = "health migration-unfinished migration-ended-early -o json"
    found: list[dict[str, Any]] = json.loads(run_on(source, words).out)
    return found


def values(code: int, *zookeeper: int, mv: int = 19) -> list[bytes]:
    """Three brokers, of which some are in ZooKeeper mode, and two controllers."""
    return [
        level("metadata.version", mv),
        controller(7, zk_migration_ready=True),
        controller(8),
        *(broker(i, 21, is_migrating_zk_broker=i in zookeeper) for i in (1, 2, 3)),
        state(code),
    ]


def test_it_has_ended_too_early() -> None:
    """The brokers are named that are still in ZooKeeper mode."""
    with cluster(*values(POST_MIGRATION, 1, 2)) as source:
        (row,) = rows(source)
        assert ("migration-ended-early", 2, 6) == (
            row["code"],
            row["count"],
            row["since_offset"],
        )
        assert (
            "has ended (POST_MIGRATION (3)), and brokers 1 and 2 are still in ZooKeeper"
            in (row["explanation"])
        )
        assert 0 == run_on(source, row["command"]).status
    with cluster(*values(POST_MIGRATION, 3)) as source:
        assert "broker 3 is still in ZooKeeper mode" in rows(source)[0]["explanation"]


@pytest.mark.parametrize("code", [NONE, POST_MIGRATION])
def test_it_has_ended_or_never_was(code: int) -> None:
    """Nothing is wrong."""
    with cluster(*values(code)) as source:
        assert [] == rows(source)
        assert "migration" not in run_on(source, "can-upgrade 4.0").out


def test_the_advice_is_that_of_the_state() -> None:
    """No broker may be restarted in KRaft mode before the metadata was copied."""
    with cluster(*values(PRE_MIGRATION, 1)) as source:
        (row,) = rows(source)
        assert (
            "in state PRE_MIGRATION (2): it waits for controller 8 not ready for it and"
            in (row["explanation"])
        )
        assert "restart no broker in KRaft mode" in row["action"]
    with cluster(*values(MIGRATION, 1, 3)) as source:
        (row,) = rows(source)
        assert "waits for brokers 1 and 3 in ZooKeeper mode" in row["explanation"]
        assert row["action"].startswith("restart these brokers in KRaft mode")
    with cluster(*values(MIGRATION)) as source:
        (row,) = rows(source)
        assert "waits for controller 7 with the migration enabled" in row["explanation"]
        assert row["action"].startswith("restart the controllers without")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (MIGRATION, "1, which is PRE_MIGRATION of 3.4 or MIGRATION of 3.5 and later"),
        (PRE_MIGRATION, "2, which is MIGRATION of 3.4 or PRE_MIGRATION of 3.5 and later"),
    ],
)
def test_a_state_that_two_releases_mean_otherwise(code: int, text: str) -> None:
    """At the level of 3.4 both are said, and the careful advice is given."""
    with cluster(*values(code, 1, mv=8)) as source:
        (row,) = rows(source)
        assert text in row["explanation"]
        assert "restart no broker in KRaft mode" in row["action"]


@pytest.mark.parametrize("code", [4, 77, -1])
def test_a_state_that_is_none(code: int) -> None:
    """It is shown by its number."""
    with cluster(*values(code)) as source:
        (row,) = rows(source)
        assert f"({code})" in row["explanation"]


@pytest.mark.parametrize(("code", "brokers"), [(MIGRATION, ()), (PRE_MIGRATION, (1,)), (3, (2,))])
def test_it_blocks_an_upgrade(code: int, brokers: tuple[int, ...]) -> None:
    """4.0 does not run with it; its end is the first step. 3.9 does."""
    with cluster(*values(code, *brokers)) as source:
        ran = run_on(source, "can-upgrade 4.0")
        assert 1 == ran.status
        assert "1. end the migration with software of 3.x" in ran.out
        (first, *_) = json.loads(run_on(source, "can-upgrade 4.0 -o json").out)
        assert "the migration from ZooKeeper has" in first["reason"]
        assert (None, 1) == (first["id"], first["step"])
        assert "migration" not in run_on(source, "can-upgrade 3.9").out


def test_nodes_have_a_column() -> None:
    """Of a voter that is not registered nothing is known."""
    with cluster(*values(MIGRATION, 1), voters=[7, 8, 9]) as source:
        found = json.loads(run_on(source, "nodes -o json --columns id,role,zk_migration").out)
    assert {1: True, 2: False, 3: False, 7: True, 8: False, 9: None} == {
        row["id"]: row["zk_migration"] for row in found
    }


def test_many_brokers_are_counted() -> None:
    """The first are named."""
    some = [broker(i, 21, is_migrating_zk_broker=True) for i in range(1, 31)]
    with cluster(level("metadata.version", 19), *some, state(POST_MIGRATION)) as source:
        (row,) = rows(source)
        assert 30 == row["count"]
        assert "brokers 1, 2, 3, 4, 5, 6, 7, 8, 9 and 21 more are" in row["explanation"]
