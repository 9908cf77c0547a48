"""What is known of Kafka's config keys."""

from __future__ import annotations

import pytest

from metashell.answers import config_defaults
from metashell.answers.config_defaults import (
    BROKER,
    TOPIC,
    UpdateMode,
    broker_synonyms,
    default_of,
    group_synonyms,
    is_internal,
    is_known,
    keys_of,
    synonyms,
    to_topic_unit,
    update_mode,
)
from metashell.redact import is_secret_config
from support.admin import described_configs
from support.shell import run_on
from support.small_cluster import broker, cluster, config


def test_synonyms_are_in_the_order_of_their_precedence() -> None:
    """The finest unit first."""
    assert ("log.retention.ms", "log.retention.minutes", "log.retention.hours") == synonyms(
        "retention.ms"
    )
    assert ("min.insync.replicas",) == synonyms("min.insync.replicas")
    assert () == synonyms("remote.storage.enable")
    assert () == synonyms("no.such.key")
    assert ("group.share.session.timeout.ms",) == group_synonyms("share.session.timeout.ms")


def test_defaults_of_topics_are_those_of_their_brokers_in_the_topic_unit() -> None:
    """Whether they are asked for as a topic's or as a broker's."""
    for key in keys_of("TOPIC"):
        values = [(name, default_of("BROKER", name)) for name in synonyms(key)]
        found = [to_topic_unit(name, value) for name, value in values if value is not None]
        if values:
            assert default_of("TOPIC", key) == found[0], key


def test_keys_that_can_be_changed_and_how() -> None:
    """What a real cluster has dynamically can be."""
    for configs in described_configs("real-44-admin", "configs-brokers.txt").values():
        for key in configs:
            assert update_mode(key) is UpdateMode.CLUSTER_WIDE, key
    assert update_mode("node.id") is UpdateMode.READ_ONLY
    assert update_mode("log.retention.hours") is UpdateMode.READ_ONLY
    assert update_mode("listeners") is UpdateMode.PER_BROKER
    assert update_mode("listener.name.x.ssl.keystore.location") is UpdateMode.PER_BROKER
    assert update_mode("listener.name.x.max.connections") is UpdateMode.CLUSTER_WIDE
    assert update_mode("my.plugin") is None


@pytest.mark.parametrize(
    ("key", "value", "ms"),
    [
        ("log.retention.hours", "168", "604800000"),
        ("log.retention.hours", "-1", "-1"),
        ("log.retention.minutes", " 2 ", "120000"),
        ("log.retention.ms", "5", "5"),
        ("log.roll.hours", "${x}", "${x}"),
        ("log.roll.hours", "9" * 5000, "9" * 5000),
    ],
)
def test_hours_and_minutes_become_ms(key: str, value: str, ms: str) -> None:
    """What is no number stays, however long."""
    assert ms == to_topic_unit(key, value)


def test_a_key_of_a_listener_falls_back_to_the_plain_one() -> None:
    """Behind a mechanism too."""
    key = "listener.name.sasl.scram-sha-256.sasl.jaas.config"
    assert (key, "sasl.jaas.config") == broker_synonyms(key)
    assert ("log.flush.interval.ms", "log.flush.scheduler.interval.ms") == broker_synonyms(
        "log.flush.interval.ms"
    )


@pytest.mark.parametrize(
    ("kind", "key", "known"),
    [
        ("TOPIC", "retention.ms", True),
        ("TOPIC", "message.format.version", True),
        ("TOPIC", "retention.msec", False),
        ("BROKER", "ssl.key.password", True),
        ("BROKER", "password.encoder.secret", True),
        ("BROKER", "listener.name.x.ssl.key.password", True),
        ("BROKER", "delegation.token.expiry.time.ms", True),
        ("BROKER", "zookeeper.connect", True),
        ("BROKER", "my.plugin.url", False),
        ("GROUP", "consumer.session.timeout.ms", True),
        ("CLIENT_METRICS", "interval.ms", True),
        ("BROKER_LOGGER", "kafka.server.KafkaApis", None),
    ],
)
def test_keys_that_a_release_knows(kind: str, key: str, known: bool | None) -> None:
    """Passwords and keys of old releases among them."""
    assert is_known(kind, key) is known


def test_every_key_that_the_facts_name_is_known() -> None:
    """Synonyms and internal keys too; a broker's value is hidden only by a rule of its own."""
    facts = config_defaults._facts()
    named = {key for kind in ("topic", "group", "client_metrics", "broker") for key in facts[kind]}
    named |= {name for key in facts["topic"] for name in synonyms(key)}
    named |= {name for key in facts["group"] for name in group_synonyms(key)}
    named |= {*facts["internal"], *facts["unlisted"]}
    assert [] == sorted(key for key in named if not is_known(BROKER, key))
    hidden = {key for key in named if is_secret_config(BROKER, key)}
    assert [] == sorted(key for key in hidden if not is_secret_config(TOPIC, key))


@pytest.mark.parametrize(
    "key",
    [
        "controller.max.records.per.batch",
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "group.share.initialize.retry.interval.ms",
        "group.share.persister.class.name",
        "remote.log.index.file.cache.ttl.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
    ],
)
def test_internal_keys_of_the_newest_release(key: str) -> None:
    """Kafka defines them for its own use: none of them is a plugin's, whose value is hidden."""
    assert is_internal(key)
    assert is_known(BROKER, key)
    assert not is_secret_config(BROKER, key)


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
@pytest.mark.parametrize("key", ["assignment.interval.ms", "assignor.offload.enable"])
def test_assignments_of_groups_are_changed_without_a_restart(kind: str, key: str) -> None:
    """Source: GroupCoordinatorConfig.RECONFIGURABLE_CONFIGS."""
    assert UpdateMode.CLUSTER_WIDE == update_mode(f"group.{kind}.{key}")


def test_internal_keys_are_marked() -> None:
    """They are known; what nobody lists is not taken for one."""
    assert is_internal("internal.segment.bytes")
    assert is_known(BROKER, "internal.segment.bytes")
    assert not is_internal("segment.bytes")
    assert not is_known(BROKER, "internal.of.a.plugin")
    assert is_secret_config(BROKER, "internal.of.a.plugin")
    values = [config(4, "1", "unstable.api.versions.enable", "true"), config(4, "1", "x", "y")]
    with cluster(broker(1), *values) as source:
        out = run_on(source, "config --columns key,known,internal -o csv").out
        assert "unstable.api.versions.enable,true,true\n" in out
        assert "x,false,false\n" in out
