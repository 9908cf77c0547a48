"""``coordinator``: its words, what it warns of, and what it proposes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import metashell
from metashell.answers.coordinator_kinds import GROUP
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DEMO
from support.fleets import backups
from support.logs import record
from support.shell import Captured, run_on
from support.small_cluster import broker, cluster, config

TOPIC_ID = bytes([7]) * 16


def partition(topic_id: bytes, **fields: object) -> bytes:
    """A partition of two brokers."""
    known: dict[str, object] = {"partition_id": 0, "replicas": [1, 2], "isr": [1, 2], "leader": 1}
    return record("PartitionRecord", topic_id=topic_id, **{**known, **fields})


@pytest.fixture
def source() -> Iterator[Source]:
    """Topics orders and __consumer_offsets; group g has a config, group h and t:1 an ACL.

    There is an ACL for all groups, one for all transactional ids, and one for the topic orders.
    """
    rules = [(5, "t:1"), (5, "*"), (3, "h"), (3, "*"), (2, "orders")]
    acls = [
        {
            "id": bytes([number]) * 16,
            "resource_type": kind,
            "resource_name": name,
            "pattern_type": 3,
            "principal": "User:a",
            "host": "*",
            "operation": 2,
            "permission_type": 3,
        }
        for number, (kind, name) in enumerate(rules, 1)
    ]
    values = [
        broker(1),
        broker(2),
        record("TopicRecord", name="orders", topic_id=TOPIC_ID),
        partition(TOPIC_ID),
        partition(TOPIC_ID, partition_id=1),
        record("TopicRecord", name=GROUP.topic, topic_id=bytes([8]) * 16),
        partition(bytes([8]) * 16),
        config(32, "g", "consumer.session.timeout.ms", "50000"),
        config(2, "orders", "retention.ms", "1"),
        *(record("AccessControlEntryRecord", **acl) for acl in acls),
    ]
    with cluster(*values) as opened:
        yield opened


def topic_id(source: Source) -> str:
    """Of orders."""
    return source.image.topics.id_texts[0]


@pytest.mark.parametrize("group", ["a", "", "a:b", "a b", "é\U0001f600"])
def test_group_ids(source: Source, group: str) -> None:
    """Whatever stands behind the first colon."""
    ran = run_on(source, f"coordinator 'GROUP:{group}' -o json")
    (row,) = json.loads(ran.out)
    assert (0, ()) == (ran.status, ran.err)
    assert ("group", group, group, 1, 2) == tuple(
        row[name] for name in ("kind", "id", "key", "leader", "next_leader")
    )


def test_share_keys(source: Source) -> None:
    """Split from the right; a topic is named or given by its id."""
    line = f"coordinator share:a:b:orders:1 share:a:b:{topic_id(source)}:1 -o json"
    rows = json.loads(run_on(source, line).out)
    assert [f"a:b:{topic_id(source)}:1"] * 2 == [row["key"] for row in rows]
    assert ["a:b:orders:1", f"a:b:{topic_id(source)}:1"] == [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "of what?"),
        ("orders", "orders: the kind of the key is missing"),
        ("topic:orders", "topic:orders: the kind of the key is missing"),
        ("group", "group: the kind of the key is missing"),
        ("share:g", "share:g: must name a group, a topic and a partition"),
        ("share:g:t", "share:g:t: must name"),
        ("share::t:0", "share::t:0: must name"),
        ("share:g::0", "share:g::0: must name"),
        ("share:g:t:x", "share:g:t:x: must name"),
        ("share:g:t:-1", "share:g:t:-1: must name"),
        ("share:g:t:²", "share:g:t:²: must name"),
        ("share:g:t:2147483648", "share:g:t:2147483648: must name"),
    ],
)
def test_words_that_mean_nothing(source: Source, words: str, message: str) -> None:
    """Each is refused, with the way to write it."""
    ran = run_on(source, f"coordinator {words}")
    assert (2, "") == (ran.status, ran.out)
    assert ran.err[0].startswith(f"coordinator: {message}")
    assert ran.err[1].startswith("  hint: ")


def test_what_does_not_exist(source: Source) -> None:
    """A topic's name must exist; an id and a partition need not."""
    strange = "AAAAAAAAAAAAAAAAAAAAKg"
    line = f"coordinator share:g:ordres:0 share:g:orders:9 share:g:{strange}:0 -o json"
    ran = run_on(source, line)
    assert 1 == ran.status
    assert [f"g:{topic_id(source)}:9", f"g:{strange}:0"] == [r["key"] for r in json.loads(ran.out)]
    assert "coordinator: ordres: no such topic; did you mean orders?" == ran.err[0]
    assert ("coordinator: orders has no partition 9", f"coordinator: no topic has the id {strange}"
            ) == ran.err[1:3]  # fmt: skip
    assert ran.err[3].startswith("coordinator: __share_group_state does not exist yet: 50 ")


def test_a_file_says_how_many_partitions(source: Source, tmp_path: Path) -> None:
    """Of topics that do not exist; the rows say that it is assumed."""
    file = tmp_path / "server.properties"
    file.write_text("transaction.state.log.num.partitions=1\noffsets.topic.num.partitions=9\n")
    line = (
        f"coordinator txn:a group:a -o json --columns partition,partitions,assumed --assume {file}"
    )
    ran = run_on(source, line)
    assert [
        {"partition": 0, "partitions": 1, "assumed": True},
        {"partition": 0, "partitions": 1, "assumed": False},
    ] == json.loads(ran.out)
    assert 0 == ran.status
    assert (
        f"coordinator: __transaction_state does not exist yet: 1 partitions are assumed, as {file}"
        " says",
    ) == ran.err


def test_without_a_leader() -> None:
    """The status is 1, and the row says whom the partition waits for."""
    values = [
        broker(1, fenced=True),
        record("TopicRecord", name=GROUP.topic, topic_id=TOPIC_ID),
        partition(TOPIC_ID, replicas=[1], isr=[1], leader=-1),
    ]
    with cluster(*values) as source:
        ran = run_on(source, "coordinator group:a --columns leader,state,why")
    assert 1 == ran.status
    assert "waits for 1 (ISR); broker 1 is fenced" in ran.out


def test_at_an_earlier_offset() -> None:
    """The leader is that of the moment."""
    line = "coordinator group:order-service -o jsonl --columns partition,leader,assumed"
    source = metashell.open(DEMO)
    assert '{"partition": 6, "leader": 102, "assumed": false}\n' == run_on(source, line).out
    before = run_on(source.at("400"), line)
    assert '{"partition": 26, "leader": null, "assumed": true}\n' == before.out
    assert "does not exist yet" in before.err[0]


def test_clusters_of_a_fleet(tmp_path: Path) -> None:
    """Each has its own coordinator."""
    fleet = open_fleet(sorted(map(str, backups(tmp_path / "all").iterdir())))
    ran = run_on(fleet, "coordinator group:a -o json --columns cluster,topic,assumed")
    assert len(fleet.members) == len(json.loads(ran.out))
    assert 2 == run_on(fleet, "coordinator a").status


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("coordinator ", ["group:", "txn:", "share:"]),
        ("coordinator g", ["group:"]),
        ("coordinator group:", ["group:g", "group:h"]),
        ("coordinator txn:", ["txn:t:1"]),
        ("coordinator share:", ["share:g:", "share:h:"]),
        ("coordinator share:g:o", ["share:g:orders:"]),
        ("coordinator share:g:orders:", ["share:g:orders:0", "share:g:orders:1"]),
        ("coordinator nothing:", []),
    ],
)
def test_proposals(source: Source, line: str, proposed: list[str]) -> None:
    """Kinds, then names that the metadata has."""
    context = Context(root=source.root, out=Captured(), warn=print, source=source)
    found = [line[: len(line) + one.start] + one.text for one in complete_line(context, line)]
    assert [f"coordinator {one}" for one in proposed] == found
