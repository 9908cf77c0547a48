"""The bundled cluster is what Kafka's own tools said of it 25 s before the end of its log.

Between their answers and the end of the log lie only NoOps. What they say of partitions, topics,
nodes, configs and ACLs is compared in the modules of those, here the rest.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import metashell
from metashell.image.features import METADATA_VERSION, METADATA_VERSIONS
from metashell.sources.source import Source
from support.admin import admin_text
from support.fixtures import fixture
from support.shell import run_on

NAME = "shop"
LAST = 1935
"""The last offset that is not a NoOp's."""


@cache
def shop() -> Source:
    """It opened."""
    return metashell.open(fixture(NAME).directory)


def said(page: str) -> str:
    """What a tool printed."""
    return admin_text(NAME, f"{page}.txt")


def rows(line: str) -> list[dict[str, Any]]:
    """What a command answers."""
    found: list[dict[str, Any]] = json.loads(run_on(shop(), f"{line} -o json").out)
    return found


def test_only_noops_follow() -> None:
    """Behind the last change, so that the tools' answers are of the same state."""
    records = rows(f"log --all --offset {LAST}..")
    assert {"NO_OP_RECORD"} == {row["type"] for row in records if row["offset"] > LAST}
    assert records[-1]["offset"] > LAST


def test_cluster_id() -> None:
    """That of kafka-cluster cluster-id."""
    assert said("cluster-id").split()[-1] == shop().cluster_id


def test_topics() -> None:
    """Those of kafka-topics --list, and those with configs of their own among the overridden."""
    ours = {row["topic"]: row["configs"] for row in rows("topics")}
    assert said("topics-list").split() == sorted(ours)
    overridden = set(re.findall(r"^Topic: (\S+)", said("topics-with-overrides"), re.MULTILINE))
    assert {topic for topic, configs in ours.items() if configs} <= overridden


def test_features() -> None:
    """Finalized levels of kafka-features describe."""
    levels = {text: number for number, text in METADATA_VERSIONS.items()}
    theirs = {
        name: levels[level] if name == METADATA_VERSION else int(level)
        for name, level in re.findall(
            r"Feature: (\S+) .*FinalizedVersionLevel: (\S+)", said("features")
        )
    }
    ours = {row["name"]: row["feature_level"] for row in shop().table("features").to_pylist()}
    kraft_version = theirs.pop("kraft.version")
    assert theirs == ours
    assert kraft_version == shop().value("/quorum/kraft.version")


def test_quorum() -> None:
    """Leader, epoch, voters and their directories of kafka-metadata-quorum."""
    head = dict(re.findall(r"^(\w+):\s+(.*)$", said("quorum-status"), re.MULTILINE))
    assert int(head["LeaderId"]) == shop().value("/quorum/leader")
    assert int(head["LeaderEpoch"]) == shop().value("/quorum/leaderEpoch")
    lines = [line.split() for line in said("quorum-replication").splitlines()[1:]]
    theirs = {int(w[0]): w[1] for w in lines if w[-1] != "Observer"}
    assert theirs == {row["id"]: row["directory_id"] for row in rows("quorum")}
    brokers = {row["id"]: row["directories"] for row in rows("nodes --brokers")}
    for words in lines:
        if words[-1] == "Observer":
            assert words[1] in brokers[int(words[0])]


def test_tokens() -> None:
    """Owner, requester, renewers and times of kafka-delegation-tokens describe, in minutes."""
    line = next(line for line in said("tokens").splitlines() if "[User:admin]" in line)
    token, _, owner, requester, renewers, *times = line.split()
    (row,) = rows("tokens")
    assert (token, owner, requester) == (row["token_id"], row["owner"], row["requester"])
    assert renewers.strip("[]").split(",") == row["renewers"]
    ours = [
        row[key][: len("2026-11-22T12:17")] for key in ("issue_time", "expiry_time", "max_time")
    ]
    assert times == ours


def test_quotas_of_users_and_clients() -> None:
    """Of two entities at once, which kafka-configs lists apart."""
    found = re.fullmatch(
        r"Quota configs for user-principal '(.*)', client-id '(.*)' are (\S+)=(\S+)",
        said("quotas-users-clients").strip(),
    )
    assert found is not None
    user, client, key, value = found.groups()
    answers = {row["key"]: row for row in rows(f"quotas --user {user} --client-id {client}")}
    assert float(value) == answers[key]["value"]
