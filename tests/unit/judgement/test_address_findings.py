"""Addresses that clients fail with, and those that are fine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metashell.judgement.address_findings import AdvertisedAddress
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, controller, endpoint

TOPIC_ID = bytes([7]) * 16
Row = dict[str, Any]
KINDS = "same-advertised-address loopback-address listener-missing listener-protocols"


def brokers(*listeners: list[Row], fenced: tuple[int, ...] = ()) -> list[bytes]:
    """Brokers 1 and following with these endpoints."""
    return [broker(i, end_points=of, fenced=i in fenced) for i, of in enumerate(listeners, 1)]


def found(values: list[bytes], kinds: str = KINDS, **how: Any) -> list[tuple[str, str, int, str]]:
    """(code, subject, count, explanation) of the findings of some kinds."""
    with cluster(*values, **how) as source:
        rows: list[Row] = json.loads(run_on(source, f"health {kinds} -o json").out)
    return [(row["code"], row["subject"], row["count"], row["explanation"]) for row in rows]


def at(*addresses: tuple[str, str, int] | tuple[str, str, int, int]) -> list[Row]:
    """Endpoints."""
    return [endpoint(*address) for address in addresses]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("kafka.example", "KAFKA.example."),
        ("localhost", "127.0.0.1"),
        ("localhost", "127.8.8.8"),
        ("0.0.0.0", "::"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("", "a.localhost"),
    ],
)
def test_one_address_of_several_brokers(first: str, second: str) -> None:
    """However the address is written, and whatever the listeners are called."""
    values = brokers(at(("A", first, 9092)), at(("A", second, 9092)), at(("A", "b3", 9092)))
    ((code, subject, count, told),) = found(values)[:1]
    assert ("same-advertised-address", 2) == (code, count)
    assert subject == f"address {AdvertisedAddress(1, '', first, 9092)}"
    assert "is advertised by brokers 1, 2 (listener A)" in told


def test_what_is_no_conflict() -> None:
    """Another port, one broker alone, and a broker that took over the host of a dead one."""
    assert [] == found(brokers(at(("A", "h", 1)), at(("A", "h", 2))))
    assert [] == found(brokers(at(("A", "localhost", 1), ("B", "localhost", 1))))
    assert [] == found(brokers(at(("A", "h", 1)), at(("A", "h", 1)), fenced=(1,)))
    assert [] == found(brokers(at(("A", "b1.internal", 1)), at(("A", "10.0.0.2", 1))))
    assert [] == found([])


def test_loopback_addresses() -> None:
    """They are a note with several ports; the note names who does otherwise."""
    values = brokers(at(("A", "127.0.0.1", 1)), at(("A", "localhost", 2)), at(("A", "b3", 3)))
    ((code, subject, count, told),) = found(values)
    assert ("loopback-address", "brokers", 2) == (code, subject, count)
    assert told.startswith("brokers 1, 2 advertise 127.0.0.1, localhost, which broker 3 do not")


def test_a_listener_that_some_lack() -> None:
    """Partitions whose leaders lack it are named; the protocols of a listener have to be one."""
    topic = record("TopicRecord", name="orders", topic_id=TOPIC_ID)
    fields: Row = {"topic_id": TOPIC_ID, "replicas": [1, 2], "isr": [1, 2]}
    partitions = [
        record("PartitionRecord", partition_id=i, leader=leader, **fields)
        for i, leader in enumerate([1, 2, 2, 2, 2, -1])
    ]
    both = at(("IN", "b1", 1), ("OUT", "b1", 2))
    values = [*brokers(both, at(("IN", "b2", 1, 3))), topic, *partitions]
    by_code = {code: (subject, n, told) for code, subject, n, told in found(values)}
    assert by_code.keys() == {"listener-missing", "listener-protocols"}
    subject, n, told = by_code["listener-missing"]
    assert ("listener OUT", 4) == (subject, n)
    assert "broker 2 lack it and lead 4 partitions (orders-1, orders-2, orders-3, ...)" in told
    assert "PLAINTEXT on broker 1; SASL_SSL on broker 2" in by_code["listener-protocols"][2]


def test_voters_that_registered_elsewhere() -> None:
    """The endpoint in the log is compared with the registration, by the listener's name."""
    moved = controller(2, end_points=at(("CONTROLLER", "new", 9093)))
    other = controller(3, end_points=at(("OTHER", "c3", 1)))
    values = [controller(1), moved, other]
    ((_, subject, _, told),) = found(values, "voter-endpoint-differs", voters=[1, 2, 3])
    assert subject == "voter 2"
    assert "is CONTROLLER://c2:9093, the controller registered CONTROLLER://new:9093" in told
    assert [] == found(values, "voter-endpoint-differs", voters=[1, 2, 3], dynamic=False)
