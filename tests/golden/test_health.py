"""``health`` against what Kafka's own tools printed for the same cluster."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import metashell
from support.fixtures import DATA, fixture
from support.shell import run_on

FIXTURES = ("real-44-admin", "real-44-broker-down", "shop")
FILES = {
    "offline-partitions": "unavailable-partitions",
    "under-replicated": "under-replicated-partitions",
    "under-min-isr": "under-min-isr-partitions",
}
"""Kinds of problems, and the filters of kafka-topics that list the same partitions."""


def listed(name: str, file: str) -> list[dict[str, str]]:
    """The partitions that ``kafka-topics --describe`` lists: fields by their titles."""
    text = (DATA / "admin" / name / f"topics-{file}.txt").read_text("utf-8")
    lines = [
        {title: value.strip() for title, _, value in (f.partition(":") for f in line.split("\t"))}
        for line in map(str.strip, text.splitlines())
    ]
    return [line for line in lines if "Partition" in line]


def rows(name: str, line: str = "health") -> list[dict[str, Any]]:
    """What we say."""
    source = metashell.open(fixture(name).directory)
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return found


def counts(found: list[dict[str, Any]], code: str) -> dict[str, int]:
    """By topic, of one kind."""
    return {
        row["subject"].removeprefix("topic "): row["count"] for row in found if row["code"] == code
    }


@pytest.mark.parametrize("name", FIXTURES)
def test_counts(name: str) -> None:
    """The numbers of each topic are those of Kafka's lists."""
    found = rows(name)
    for code, file in FILES.items():
        assert counts(found, code) == Counter(line["Topic"] for line in listed(name, file))


@pytest.mark.parametrize("name", FIXTURES)
def test_at_min_isr(name: str) -> None:
    """Kafka's list is ours of three kinds: replicas are missing, none may be, or there is one."""
    missing, spare, found = Counter[str](), Counter[str](), rows(name)
    for line in listed(name, "at-min-isr-partitions"):
        is_under = len(line["Isr"].split(",")) < len(line["Replicas"].split(","))
        (missing if is_under else spare)[line["Topic"]] += line["Leader"] != "none"
    assert counts(found, "at-min-isr") == missing
    single = Counter(counts(found, "single-replica"))
    assert single + Counter(counts(found, "no-spare-replica")) == spare
