"""Since when min.insync.replicas puts a partition into a state; `test_problems` has the rules."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from metashell.answers import topic_settings
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, config

TOPIC_ID = bytes([7]) * 16
LINE = "partitions orders-0 --under-min-isr --columns since_offset -o csv"


def orders(*, isr: list[int]) -> list[bytes]:
    """A topic with one partition, which broker 1 leads."""
    return [
        broker(1),
        record("TopicRecord", name="orders", topic_id=TOPIC_ID),
        record(
            "PartitionRecord", topic_id=TOPIC_ID, partition_id=0, replicas=[1, 2], isr=isr, leader=1
        ),
    ]


@pytest.mark.parametrize(
    ("values", "since"),
    [
        (["3"], 3),
        (["3", "4", "3"], 3),
        (["3", "2", "4"], 5),
        (["3", None, "4"], 5),
        (["3", "many", "4"], 5),
        (["2", "2", "3", "3"], 5),
    ],
)
def test_the_value_that_began_it_counts(values: list[str | None], since: int) -> None:
    """Not the last one, and none that ended it meanwhile; a value that is no number is none."""
    records = [config(2, "orders", "min.insync.replicas", value) for value in values]
    with cluster(*orders(isr=[1, 2]), *records) as source:
        assert run_on(source, LINE).out == f"since_offset\n{since}\n"


def test_of_too_many_values_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log can set a key without end."""
    values = islice(cycle("34"), 9)
    records = [config(4, "", "min.insync.replicas", value) for value in values]
    with cluster(*orders(isr=[1, 2]), *records) as source:
        assert run_on(source, LINE).out == "since_offset\n3\n"
    monkeypatch.setattr(topic_settings, "_MOST_PASSES", 8)
    with cluster(*orders(isr=[1, 2]), *records) as source:
        assert run_on(source, LINE).out == 'since_offset\n""\n'


def test_configs_of_an_earlier_topic_do_not_count() -> None:
    """A topic of the same name begins without them."""
    gone = [
        record("TopicRecord", name="orders", topic_id=bytes([8]) * 16),
        config(2, "orders", "min.insync.replicas", "2"),
        record("RemoveTopicRecord", topic_id=bytes([8]) * 16),
    ]
    default = config(4, "", "min.insync.replicas", "2")
    with cluster(*gone, *orders(isr=[1]), default) as source:
        assert run_on(source, LINE).out == "since_offset\n6\n"
