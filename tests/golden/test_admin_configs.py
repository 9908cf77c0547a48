"""Configs are what kafka-configs.sh said of the same cluster at the same moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import metashell
from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.configs import ConfigQuestion, ConfigResource, configs_table
from metashell.redact import REDACTED, Redaction
from metashell.sources.source import Source
from support.admin import described_configs, static_configs
from support.fixtures import DATA, fixture

FIXTURES = ("real-44-admin", "real-44-broker-down", "shop")
OUTPUTS = [
    (name, path.name)
    for name in FIXTURES
    for path in sorted((DATA / "admin" / name).glob("configs-*.txt"))
]


def answers(
    source: Source, question: ConfigQuestion, assumptions: Assumptions = NO_ASSUMPTIONS
) -> dict[str, Mapping[str, Any]]:
    """Rows by key."""
    rows = configs_table(source.image, Redaction(), question, assumptions).to_pylist()
    assert len({row["key"] for row in rows}) == len(rows)
    return {row["key"]: row for row in rows}


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
def test_every_config_that_kafka_describes_comes_out_the_same(name: str, output: str) -> None:
    """Keys, values, sources and whole chains of synonyms, given the broker's own file."""
    source = metashell.open(fixture(name).input)
    assumptions = Assumptions("server.properties", static_configs(name))
    everything = "-all-" in output
    for (kind, resource), configs in described_configs(name, output).items():
        question = ConfigQuestion(resource=ConfigResource(kind, resource), everything=everything)
        found = answers(source, question, assumptions)
        unknown = {key for key, config in configs.items() if config.sensitive}
        assert set(configs) - unknown == set(found) - unknown
        for key, config in configs.items():
            if config.sensitive:
                assert key not in found or found[key]["value"] in (None, REDACTED)
                continue
            row = found[key]
            assert config.value == row["value"], key
            assert config.source == row["source"], key
            assert list(config.synonyms) == row["synonyms"], key


def test_everything_that_is_set_is_what_kafka_lists() -> None:
    """No config more and none less."""
    source = metashell.open(fixture("real-44-admin").input)
    rows = configs_table(source.image, Redaction(), ConfigQuestion()).to_pylist()
    ours = {(row["resource_type"], row["resource_name"], row["key"]) for row in rows}
    names = ("topics", "brokers", "client-metrics", "groups")
    theirs = {
        (*resource, key)
        for name in names
        for resource, configs in described_configs("real-44-admin", f"configs-{name}.txt").items()
        for key in configs
    }
    assert theirs == ours


def test_a_node_file_that_nobody_gives_leaves_defaults_assumed() -> None:
    """What the broker's file says differently is marked as an assumption without it."""
    source = metashell.open(fixture("real-44-admin").input)
    question = ConfigQuestion(resource=ConfigResource("BROKER", "101"), everything=True)
    found = answers(source, question)
    for key, value in static_configs("real-44-admin").items():
        if key in found and found[key]["value"] != value:
            assert found[key]["assumed"], key
    assert not found["log.cleaner.threads"]["assumed"]
