"""Bytes on disks in `topics`, `brokers` and `du`: those of `replicas`, where disks are open."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import metashell
from metashell.sources.source import Source
from support.fixtures import fixture_dir
from support.node_sources import NODE, opened
from support.shell import run_on


@cache
def node() -> Source:
    """A broker's log directories."""
    return opened(NODE / "broker101" / "d1", NODE / "broker101" / "d2")


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """The rows of a command."""
    return [json.loads(row) for row in run_on(source, f"{line} -o jsonl").out.splitlines()]


@pytest.mark.parametrize(
    ("line", "by"),
    [("topics", "topic"), ("brokers", "broker"), ("du --by topic", "topic")],
)
def test_sums(line: str, by: str) -> None:
    """They are the sums of `replicas`; a topic or a broker that is on no disk has none."""
    sums = {row[by]: row["bytes"] for row in rows(node(), f"replicas --summary {by}")}
    found = {row[by]: row["disk_bytes"] for row in rows(node(), line)}
    assert {key: sums.get(key) for key in found} == found
    assert None in found.values()
    assert any(found.values())


def test_text() -> None:
    """The text of `du` has them too, and their sum."""
    lines = run_on(node(), "du --by topic").out.splitlines()
    total = sum(row["bytes"] for row in rows(node(), "replicas --summary topic"))
    assert ["BYTES", "SHARE", "RECORDS", "ON", "DISK", "TOPIC"] == lines[0].split()
    assert [str(total), "total"] == lines[-1].split()[-2:]


@pytest.mark.parametrize("line", ["topics", "brokers", "du --by topic", "du --by broker"])
def test_without_disks(line: str) -> None:
    """Where no disk is open people see no such column; for programs it is null."""
    source = metashell.open(fixture_dir("shop"))
    for form in ("", " -o table"):
        assert "DISK" not in run_on(source, line + form).out
    assert "DISK_BYTES" in run_on(source, f"{line} -o table --columns disk_bytes").out
    assert {None} == {row["disk_bytes"] for row in rows(source, line)}


def test_earlier() -> None:
    """An earlier state has none: nothing tells what was on disks."""
    earlier = node().at(1500)
    assert {None} == {row["disk_bytes"] for row in rows(earlier, "topics")}
