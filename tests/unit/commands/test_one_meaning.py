"""One name has one meaning, whoever counts; one node has one path for who counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final

import pytest

import metashell
from metashell.sources.fleet.rows import row_of
from metashell.sources.source import Source
from support.fixtures import DEMO, differing_directories, fixture_dir
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster

STATES: Final = {
    "offline": ("offline", "offline-partitions"),
    "under-min-isr": ("underMinIsr", "under-min-isr"),
    "under-replicated": ("underReplicated", "under-replicated"),
}
"""By the state of `partitions` and `find`: the field of a fleet's row, and `health`'s problem."""
TOPIC_ID: Final = bytes(15) + b"\1"


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """What a line prints as JSON."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return found


def counts(source: Source, state: str) -> dict[str, int]:
    """How many partitions are in a state, by who says so."""
    field, problem = STATES[state]
    column = state.replace("-", "_")
    counted = {
        "fleet": row_of(source)[field],
        "partitions": int(run_on(source, f"partitions --{state} --count").out),
        "summary": sum(row[column] for row in rows(source, "partitions --summary topic")),
        "health": Counter(row["code"] for row in rows(source, "health --detail"))[problem],
        "find": int(run_on(source, f"find / -{state} -count").out),
    }
    if state != "under-min-isr":
        counted["topics"] = sum(row[column] for row in rows(source, f"topics --columns {column}"))
    return {who: int(str(count)) for who, count in counted.items()}


@pytest.mark.cases(6)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", ["shop", *differing_directories()])
def test_states_of_partitions_are_counted_alike(name: str, state: str) -> None:
    """By fleet, health, partitions and its summaries, topics and find."""
    counted = counts(metashell.open(fixture_dir(name)), state)
    assert dict.fromkeys(counted, counted["partitions"]) == counted


def test_replicas_being_added_do_not_count() -> None:
    """Of two partitions, one lacks a replica; the other is about to get one."""
    values = [broker(1), broker(2), record("TopicRecord", name="t", topic_id=TOPIC_ID)]
    for number, adding in enumerate(([], [2])):
        values.append(
            record(
                "PartitionRecord",
                partition_id=number,
                topic_id=TOPIC_ID,
                replicas=[1, 2],
                isr=[1],
                leader=1,
                adding_replicas=adding,
            )
        )
    with cluster(*values) as source:
        counted = counts(source, "under-replicated")
        assert dict.fromkeys(counted, 1) == counted


@pytest.mark.parametrize(
    ("words", "has_names", "has_ids"),
    [
        ("/image/topics -type f", True, False),
        ("/image/topics", True, True),
        ("/image/topics/byId -type f", False, True),
        ("/image/topics/byName /image/topics/byId -type f", True, True),
        ("/image -path '*byId*' -type f", False, True),
        ("/image/topics -exec stat {} ;", True, False),
        ("/image/topics --output csv --columns path", True, False),
    ],
)
def test_find_takes_a_node_with_two_paths_once(words: str, has_names: bool, has_ids: bool) -> None:
    """But for a list of all paths, and where byId is named."""
    out = run_on(metashell.open(DEMO), f"find {words}").out
    assert (has_names, has_ids) == ("byName/" in out, "topics/byId/" in out)


def test_find_takes_an_id() -> None:
    """A topic's id stands in no other path."""
    source = metashell.open(DEMO)
    topic_id = run_on(source, "ls /image/topics/byId").out.split()[0]
    found = run_on(source, f"find / -name {topic_id}").out
    assert f"/image/topics/byId/{topic_id}\n" == found
