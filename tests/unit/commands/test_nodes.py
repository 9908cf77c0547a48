"""`nodes` and `can-upgrade`: what they show, advise and refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.sources.source import Source
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, config, controller, endpoint, level

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


def test_a_hostile_host_never_gets_into_a_command() -> None:
    """Someone will paste it into a shell."""
    odd = [endpoint("P", "$(reboot)", 1)]
    with cluster(level("metadata.version", 25), broker(1, end_points=odd)) as source:
        ran = run_on(source, "can-upgrade 4.4")
        assert "--bootstrap-server HOST:PORT" in ran.out
        assert "reboot" not in ran.out
