"""`config`: what it shows, hides and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.answers.config_defaults import is_known, keys_of
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.read_settings import ReadSettings
from metashell.sources.source import Source
from support.approved_clusters import CONFIGS
from support.fixtures import fixture
from support.shell import Captured, run_on
from support.small_cluster import broker, cluster, config, controller

BROKER = 4


@pytest.fixture
def source() -> Iterator[Source]:
    """Two brokers, a topic, and configs of what is there and what is not."""
    with cluster(*CONFIGS) as opened:
        yield opened


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """What a line prints as JSON."""
    ran = run_on(source, f"{line} -o json")
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def test_secrets_are_hidden_everywhere(source: Source, tmp_path: Path) -> None:
    """In values, synonyms and what is assumed."""
    file = tmp_path / "server.properties"
    file.write_text("ssl.key.password=hunter2\nmy.plugin=hunter2\nsuper.users=User:a\n", "utf-8")
    for line in ("config", f"config --resource broker:1 --all --assume {file}"):
        out = run_on(source, f"{line} -o json").out
        assert "hunter2" not in out
        assert "[redacted]" in out


def test_secrets_are_shown_where_that_is_asked_for() -> None:
    """With ``--show-secrets``."""
    with cluster(broker(1), config(BROKER, "1", "my.plugin", "hunter2")) as source:
        shown = Source(source.log, ReadSettings(show_secrets=True))
        (row,) = rows(shown, "config my.plugin broker:1")
        assert ("hunter2", ["DYNAMIC_BROKER_CONFIG:my.plugin=hunter2"]) == (
            row["value"],
            row["synonyms"],
        )


def test_a_file_stands_below_what_is_set(source: Source, tmp_path: Path) -> None:
    """STATIC_BROKER_CONFIG, marked as assumed."""
    file = tmp_path / "server.properties"
    file.write_text("min.insync.replicas=3\nlog.retention.hours=2\n", "utf-8")
    (row,) = rows(source, f"config retention.ms topic:t --assume {file}")
    assert ("7200000", "STATIC_BROKER_CONFIG", True) == (
        row["value"],
        row["source"],
        row["assumed"],
    )
    (row,) = rows(source, f"config min.insync.replicas topic:t --assume {file}")
    assert [
        "DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2",
        "STATIC_BROKER_CONFIG:min.insync.replicas=3",
        "DEFAULT_CONFIG:min.insync.replicas=1",
    ] == row["synonyms"]


def test_completion_proposes_keys_then_resources() -> None:
    """Names of topics and ids of brokers."""
    source = metashell.open(fixture("real-44-admin").input)
    context = Context(root=source.root, out=Captured(), warn=print, source=source)
    command = get("config")
    assert command is not None
    assert "min.insync.replicas" in [c.text for c in command.complete(context, [], "min.ins")]
    assert ["topic:"] == [c.text for c in command.complete(context, ["retention.ms"], "to")]
    found = command.complete(context, ["retention.ms"], "topic:ord")
    assert ["topic:orders"] == [c.text for c in found]
    found = command.complete(context, ["--resource"], "broker:")
    assert ["broker:default", "broker:101", "broker:102"] == [c.text for c in found]
    assert "--unknown" in [c.text for c in command.complete(context, [], "--u")]


def test_what_a_registration_tells_of_a_nodes_file(tmp_path: Path) -> None:
    """The node's id and rack are known, whatever a file says that is taken to hold for all."""
    file = tmp_path / "server.properties"
    file.write_text("node.id=5\nbroker.rack=z\nnum.io.threads=3\n")
    keys = ("broker.id", "node.id", "broker.rack")

    with cluster(broker(1, rack="r"), broker(2, rack=None), controller(7)) as opened:
        for words in ("", f"--assume {file}"):
            for name, rack in (("1", "r"), ("2", None)):
                every = run_on(opened, f"config --all --resource broker:{name} -o json {words}").out
                found = {row["key"]: row for row in json.loads(every)}
                assert [name, name, rack] == [found[key]["value"] for key in keys]
                assert not any(found[key]["assumed"] for key in keys)
                assert found["num.io.threads"]["assumed"]
            (row,) = json.loads(run_on(opened, f"config node.id broker:7 -o json {words}").out)
            assert ("7", False) == (row["value"], row["assumed"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("segment.bytes", "Kafka's default, 1073741824, holds"),
        ("num.io.threads broker:default", "Kafka's default, 8, holds"),
        ("advertised.listeners", "and it has no default"),
    ],
)
def test_a_config_that_nothing_sets_has_a_default(words: str, told: str, source: Source) -> None:
    """It is told where no row can say it; a key that Kafka does not know is an error."""
    ran = run_on(source, f"config {words}")
    assert 0 == ran.status
    assert told in ran.err[0]
    assert 1 == run_on(source, "config nosuch.key broker:default").status


def test_kafkas_keys_are_no_clusters_own() -> None:
    """No listener's name stands in them, and no key that Kafka keeps to itself is listed."""
    listed = {
        key for kind in ("TOPIC", "BROKER", "GROUP", "CLIENT_METRICS") for key in keys_of(kind)
    }
    assert [] == [key for key in listed if key.startswith(("listener.name.", "internal."))]
    assert is_known("BROKER", "internal.metadata.log.segment.bytes")
    assert is_known("BROKER", "listener.name.saslb.plain.sasl.jaas.config")


@pytest.mark.parametrize("line", ["config topic:", "config retention.ms topic:"])
def test_a_resource_is_completed_before_and_behind_a_key(line: str, source: Source) -> None:
    """It may be the first word."""
    context = Context(root=source.root, out=Captured(), warn=print, source=source)
    assert "topic:t" in [completion.text for completion in complete_line(context, line)]
