"""Nodes are what Kafka's admin tools said of the same cluster at the same moment."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import metashell
from metashell.answers.nodes import nodes_of, nodes_table
from metashell.image.features import METADATA_VERSION, METADATA_VERSIONS
from support.admin import admin_text
from support.fixtures import fixture

RELEASES = {"real-44-admin": "4.3", "real-44-broker-down": "4.3", "shop": "4.4"}
"""What each node's range of metadata.version says of its software."""
FIXTURES = tuple(RELEASES)


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of ``nodes``."""
    image = metashell.open(fixture(name).input).image
    rows: list[dict[str, Any]] = nodes_table(image, nodes_of(image)).to_pylist()
    return rows


@pytest.mark.parametrize("name", FIXTURES)
def test_brokers_are_those_of_list_endpoints(name: str) -> None:
    """Ids, addresses, racks, and who is fenced."""
    lines = [line.split() for line in admin_text(name, "endpoints.txt").splitlines()[1:]]
    theirs = {int(w[0]): (f"{w[1]}:{w[2]}", w[3], w[4]) for w in lines if w}
    ours = {
        row["id"]: (
            row["endpoints"][0].partition("://")[2],
            row["rack"] or "null",
            "fenced" if row["fenced"] else "unfenced",
        )
        for row in rows_of(name)
        if row["role"] == "broker"
    }
    assert theirs == ours


@pytest.mark.parametrize("name", FIXTURES)
def test_voters_are_those_of_the_quorum(name: str) -> None:
    """Ids, directories and endpoints."""
    text = re.search(r"CurrentVoters:\s*(\[.*\])", admin_text(name, "quorum-status.txt"))
    assert text is not None
    theirs = {
        voter["id"]: ([voter["directoryId"]], voter["endpoints"]) for voter in json.loads(text[1])
    }
    ours = {
        row["id"]: (row["directories"], row["endpoints"]) for row in rows_of(name) if row["voter"]
    }
    assert theirs == ours


@pytest.mark.parametrize("name", FIXTURES)
def test_ranges_are_those_that_the_controller_supports(name: str) -> None:
    """All nodes ran the same software, but for broker 103 of the shop, which is older."""
    found = re.findall(
        r"Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)",
        admin_text(name, "features.txt"),
    )
    level = {text: str(number) for number, text in METADATA_VERSIONS.items()}
    theirs = sorted(
        f"{feature}={level[low]}-{level[high]}"
        if feature == METADATA_VERSION
        else f"{feature}={low}-{high}"
        for feature, low, high in found
    )
    release = RELEASES[name]
    for row in rows_of(name):
        if (name, row["id"]) == ("shop", 103):
            assert ("4.3", True) == (row["release"], theirs != row["features"])
        else:
            assert theirs == row["features"]
            assert release == row["release"]


def test_replicas_are_those_of_describe_topics() -> None:
    """Counted line by line."""
    counts: dict[int, int] = {}
    text = admin_text("real-44-broker-down", "topics-describe.txt")
    for replicas in re.findall(r"\tReplicas: ([0-9,]+)", text):
        for replica in replicas.split(","):
            counts[int(replica)] = counts.get(int(replica), 0) + 1
    ours = {r["id"]: r["replicas"] for r in rows_of("real-44-broker-down") if r["role"] == "broker"}
    assert counts == ours
