"""Coordinators are those that brokers named in their answers to FindCoordinator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import metashell
from metashell.answers.coordinator_tables import COORDINATOR_KINDS, GROUP, SHARE, TRANSACTION
from metashell.answers.coordinators import CoordinatorKey, coordinators_table
from metashell.commands.framework.command_line import quote_words
from metashell.sources.source import Source
from support.fixtures import fixture_dir
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, endpoint

KINDS = (GROUP, TRANSACTION, SHARE)
"""By CoordinatorType's numbers."""
COUNTS = {"node": 69, "clean": 62, "everything": 11}
"""How many answers each cluster gave."""


def answers(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind and answer, of each key that was asked for."""
    lines = (fixture_dir("node-44") / "captured" / f"find-coordinator-{name}.jsonl").read_text()
    for line in lines.splitlines():
        asked = json.loads(line)
        for one in asked["response"]["coordinators"]:
            yield KINDS[asked["request"]["keyType"]].word, one


def found_in(source: Source, name: str) -> tuple[list[Any], list[Any]]:
    """What Kafka said, and what we say: key, broker, and whether it listens there."""
    asked = list(answers(name))
    keys = [CoordinatorKey(COORDINATOR_KINDS[kind], one["key"], one["key"]) for kind, one in asked]
    rows = coordinators_table(source.image, keys).to_pylist()
    assert COUNTS[name] == len(asked) == len(rows)
    ours, theirs = [], []
    for (_, one), row in zip(asked, rows, strict=True):
        assert 0 == one["errorCode"]
        theirs.append((one["key"], one["nodeId"], f"{one['host']}:{one['port']}"))
        (listener,) = row["endpoints"]
        ours.append((row["key"], row["leader"], listener.partition("://")[2]))
        assert (False, True) == (row["assumed"], row["healthy"])
    return theirs, ours


def test_coordinators_of_a_cluster() -> None:
    """Three brokers, four partitions of each topic."""
    source = metashell.open(fixture_dir("node-44") / "controller1")
    theirs, ours = found_in(source, "node")
    assert theirs == ours
    assert {101, 102, 103} == {leader for _, leader, _ in ours}


@pytest.mark.parametrize("name", ["clean", "everything"])
def test_coordinators_of_one_broker(name: str) -> None:
    """Keys of every length, and one partition for all of them."""
    port = next(one["port"] for _, one in answers(name))
    values = [broker(101, end_points=[endpoint("BROKER", "127.0.0.1", port)])]
    for i, kind in enumerate(KINDS):
        topic_id = bytes([i + 1]) * 16
        values += [
            record("TopicRecord", name=kind.topic, topic_id=topic_id),
            record(
                "PartitionRecord", topic_id=topic_id, partition_id=0, replicas=[101], isr=[101],
                leader=101,
            ),
        ]  # fmt: skip
    with cluster(*values) as source:
        theirs, ours = found_in(source, name)
        assert theirs == ours


def test_words_of_the_command() -> None:
    """The same by the command, which takes a topic's name too."""
    source = metashell.open(fixture_dir("node-44") / "controller1")
    names = dict(zip(source.image.topics.id_texts, source.image.topics.names, strict=True))
    asked = list(answers("node"))
    words = []
    for kind, one in asked:
        key = one["key"]
        if kind == "share":
            group, topic, partition = key.split(":")
            key = f"{group}:{names[topic]}:{partition}"
        words.append(f"{kind}:{key}")
    ran = run_on(source, quote_words(["coordinator", *words, "-o", "json"]))
    assert (0, ()) == (ran.status, ran.err)
    rows = json.loads(ran.out)
    assert [(one["key"], one["nodeId"]) for _, one in asked] == [
        (row["key"], row["leader"]) for row in rows
    ]
