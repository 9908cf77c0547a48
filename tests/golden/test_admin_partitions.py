"""``partitions`` and ``topics`` against what Kafka's own tools printed for the same cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.answers.config_defaults import synonyms
from metashell.sources.source import Source
from support.admin import static_configs
from support.fixtures import DATA, fixture
from support.shell import run_on

FIXTURES = ("real-44-admin", "real-44-broker-down", "shop")
FILTERS = {
    "--offline": "unavailable-partitions",
    "--under-replicated": "under-replicated-partitions",
    "--under-min-isr": "under-min-isr-partitions",
    "--at-min-isr": "at-min-isr-partitions",
}
"""Our options, and those of kafka-topics."""

Row = dict[str, Any]


def outputs(name: str, file: str) -> str:
    """What a tool printed."""
    return (DATA / "admin" / name / file).read_text("utf-8")


def described(name: str, file: str) -> Iterator[dict[str, str]]:
    """The lines of ``kafka-topics --describe``: fields by their titles."""
    for line in outputs(name, f"topics-{file}.txt").splitlines():
        fields = (field.partition(":") for field in line.strip().split("\t"))
        yield {title: value.strip() for title, _, value in fields}


def as_row(fields: dict[str, str]) -> Row:
    """A partition's line as a row of ours."""
    lists = {"replicas": "Replicas", "isr": "Isr", "elr": "Elr", "last_known_elr": "LastKnownElr"}
    return {
        "topic": fields["Topic"],
        "partition": int(fields["Partition"]),
        "leader": None if fields["Leader"] == "none" else int(fields["Leader"]),
        **{
            ours: [int(broker) for broker in re.findall(r"\d+", fields[theirs])]
            for ours, theirs in lists.items()
        },
    }


def brokers(listed: str | None) -> list[int]:
    """Ids that a tool lists."""
    return [int(broker) for broker in re.findall(r"\d+", listed or "")]


def asked(source: Source, line: str) -> list[Row]:
    """The rows of a command, by way of JSON."""
    ran = run_on(source, f"{line} -o json")
    assert (0, ()) == (ran.status, ran.err)
    rows: list[Row] = json.loads(ran.out)
    return rows


def by_place(rows: list[Row]) -> list[Row]:
    """Rows in the order of topic and partition."""
    return sorted(rows, key=lambda row: (row["topic"], row["partition"]))


@pytest.fixture(scope="module", params=FIXTURES)
def name(request: pytest.FixtureRequest) -> str:
    """A fixture's name."""
    return str(request.param)


@pytest.fixture(scope="module")
def source(name: str) -> Source:
    """It opened."""
    return metashell.open(fixture(name).directory)


COLUMNS = "topic,partition,leader,replicas,isr,elr,last_known_elr"


@pytest.mark.parametrize("option", FILTERS)
def test_states(option: str, name: str, source: Source) -> None:
    """Each filter lists the partitions that kafka-topics lists, and says the same of each."""
    expected = [as_row(fields) for fields in described(name, FILTERS[option])]
    found = asked(source, f"partitions {option} --columns {COLUMNS}")
    assert by_place(expected) == found


def test_every_partition(name: str, source: Source) -> None:
    """Without an option all are listed, as kafka-topics --describe has them."""
    every = [as_row(f) for f in described(name, "describe") if "Partition" in f]
    assert len(every) > 10
    assert by_place(every) == asked(source, f"partitions --columns {COLUMNS}")


def test_some_filters_list_something() -> None:
    """The outputs that are compared are not all empty."""
    assert all(outputs("real-44-broker-down", f"topics-{f}.txt") for f in FILTERS.values())


def test_reassignments(name: str, source: Source) -> None:
    """Those that kafka-reassign-partitions lists, with what they add and what they remove."""
    running = re.compile(
        r"(.*)-(\d+): replicas: (\S+)\.(?: adding: (\S+)\.)?(?: removing: (\S+)\.)?"
    )
    found = filter(None, map(running.fullmatch, outputs(name, "reassignments.txt").splitlines()))
    theirs = {(m[1], int(m[2])): tuple(map(brokers, m.group(3, 4, 5))) for m in found}
    ours = {
        (row["topic"], row["partition"]): (
            row["replicas"],
            row["adding_replicas"],
            row["removing_replicas"],
        )
        for row in asked(source, "partitions --reassigning")
    }
    assert theirs == ours
    assert ("shop" == name) == bool(theirs)


@pytest.mark.long
def test_topics(name: str, source: Source) -> None:
    """Ids, numbers of partitions, replicas and configs.

    Kafka's tool lists among a topic's configs those that are set for the cluster or for the broker
    that was asked, under the topic's keys; ours are the topic's own. The others are found among
    the configs of brokers, under the brokers' keys.
    """
    theirs = {f["Topic"]: f for f in described(name, "describe") if "TopicId" in f}
    ours = {row["topic"]: row for row in asked(source, "topics")}
    assert theirs.keys() == ours.keys()
    for topic, fields in theirs.items():
        row = ours[topic]
        assert fields["TopicId"] == row["topic_id"]
        assert int(fields["PartitionCount"]) == row["partitions"]
        # Kafka's is that of some partition.
        assert row["replication"] <= int(fields["ReplicationFactor"]) <= row["replication_most"]
        # A comma stands in values too: only before a key it ends one.
        configs = set(filter(None, re.split(r",(?=[a-z][a-z.]+=)", fields["Configs"])))
        own = set(row["configs"])
        assert own <= configs, topic
        assert [] == [c for c in configs - own if not is_of_brokers(name, source, c)], topic


def is_of_brokers(name: str, source: Source, config: str) -> bool:
    """Whether a broker, its file or their default has what stands for that config of a topic."""
    key, _, value = config.partition("=")
    static = static_configs(name)
    return any(static.get(known) == value for known in (key, *synonyms(key))) or any(
        row["resource_type"] == "BROKER" and row["key"] in (key, *synonyms(key))
        for row in source.table("configs").to_pylist()
        if row["value"] == value
    )


def test_elections_of_a_broker_that_is_down() -> None:
    """The partitions that wait for broker 103 would be led by it, were it alive; now by nobody.

    clicks allows unclean elections, but each has its one replica there.
    """
    source = metashell.open(fixture("real-44-broker-down").directory)
    rows = asked(source, "partitions --offline")
    assert {("clicks", 2), ("clicks", 5), ("clicks", 7)} == {
        (row["topic"], row["partition"]) for row in rows
    }
    for row in rows:
        assert (None, None, True) == (row["would_elect"], row["unclean_candidate"], row["unclean"])
        assert "waits for 103 (ELR)" == row["why"]


def test_history_knows_times_that_a_checkpoint_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a checkpoint says the time is null; the segments before it have it."""
    source = metashell.open(fixture("real-44-live").directory)
    keys = ("topic", "partition", "leader", "isr")
    monkeypatch.setattr("metashell.sources.older.OLDER_BYTES", 0)
    ran = run_on(source, "partitions -o json")
    assert "older files" in ran.err[0]
    plain = json.loads(ran.out)
    whole = asked(source, "partitions --history")
    assert [[row[k] for k in keys] for row in plain] == [[row[k] for k in keys] for row in whole]
    unknown = [i for i, row in enumerate(plain) if row["since_time"] is None]
    assert unknown
    assert all(whole[i]["since_time"] is not None for i in unknown)
    known = [i for i in range(len(plain)) if i not in unknown]
    assert all(plain[i]["since_offset"] == whole[i]["since_offset"] for i in known)


def test_history_is_the_same_without_a_checkpoint(tmp_path: Path) -> None:
    """Where the directory has nothing older, --history changes nothing."""
    source = metashell.open(fixture("real-44-broker-down").directory)
    assert asked(source, "topics --history") == asked(source, "topics")


@pytest.mark.parametrize("offset", [100, 300, 500])
def test_earlier_states(offset: int) -> None:
    """Of a moment the answer is about the state then, as the tree shows it."""
    source = metashell.open(fixture("real-44-admin").directory).at(str(offset))
    rows = asked(source, "partitions")
    texts = {
        (topic, number): source.cat(f"/image/topics/byName/{topic}/{number}")
        for topic in source.ls("/image/topics/byName")
        for number in source.ls(f"/image/topics/byName/{topic}")
        if number.isdigit()
    }
    assert {(row["topic"], str(row["partition"])) for row in rows} == texts.keys()
    for row in rows:
        text = texts[row["topic"], str(row["partition"])]
        assert f"leader={-1 if row['leader'] is None else row['leader']}," in text
        assert f"isr={row['isr']}," in text
        assert row["since_offset"] is None or row["since_offset"] <= offset
