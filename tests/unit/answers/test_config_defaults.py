"""What is known of Kafka's config keys."""

from __future__ import annotations

import pytest

from metashell.answers.config_defaults import (
    UpdateMode,
    broker_synonyms,
    default_of,
    group_synonyms,
    is_known,
    keys_of,
    synonyms,
    to_topic_unit,
    update_mode,
)
from support.admin import described_configs


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
