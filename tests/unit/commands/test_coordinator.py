"""``coordinator``: its words, what it warns of, and what it proposes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import metashell
from metashell.answers.coordinator_tables import GROUP
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
