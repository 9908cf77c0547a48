"""Kafka's facts about config keys: defaults, the broker keys behind a topic's, update modes.

Facts of Kafka 4.4, which ``data/config_facts.json`` names in its head: a list for each key, its
default in front. A key that only an older release has keeps the default that it had last. Owns
nothing that a cluster says.

Source: org.apache.kafka.server.config.{ServerTopicConfigSynonyms, DynamicBrokerConfig},
LogConfig, AbstractKafkaConfig with the ConfigDefs that it merges, GroupConfig,
ClientMetricsConfigs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Final, cast

from metashell.redact import is_known_config_key
from metashell.shipped import shipped

TOPIC: Final = "TOPIC"
BROKER: Final = "BROKER"
BROKER_LOGGER: Final = "BROKER_LOGGER"
GROUP: Final = "GROUP"
CLIENT_METRICS: Final = "CLIENT_METRICS"
"""Names of resource types, as org.apache.kafka.common.config.ConfigResource.Type has them."""

_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_MECHANISMS: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""Keys that stand behind a listener's prefix and a mechanism's."""
_CLUSTER_WIDE_OF_LISTENERS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
"""Broker keys for one setting, by precedence; each is a synonym of the others."""
_MS_PER_UNIT: Final = {"hours": 3_600_000, "minutes": 60_000}
_INT: Final = re.compile(r"[+-]?[0-9]{1,18}")


class UpdateMode(StrEnum):
    """How a broker's key can be changed, in the words of Kafka's documentation."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@cache
def _facts() -> Mapping[str, Mapping[str, list[str | None]]]:
    """By kind and key: the default and, of topics and groups, synonyms; of brokers the mode."""
    path = shipped(__file__, "data") / "config_facts.json"
    return cast(
        Mapping[str, Mapping[str, list[str | None]]], json.loads(path.read_text(encoding="ascii"))
    )


@cache
def keys_of(resource_type: str) -> tuple[str, ...]:
    """Every key that the newest Kafka lists for a resource type, sorted; none for loggers."""
    facts = _facts()
    unlisted = facts["unlisted"]
    return tuple(key for key in facts.get(resource_type.lower(), ()) if key not in unlisted)


def default_of(resource_type: str, key: str) -> str | None:
    """Kafka's own default, as its admin tools print it.

    Args:
        resource_type: Such as ``TOPIC``.
        key: The config's key.

    Returns:
        None where the key has no default or Kafka does not know it for the type. A topic's default
        is in the topic's unit, such as ms where the broker's key counts hours.
    """
    fact = _facts().get(resource_type.lower(), {}).get(key)
    return None if fact is None else fact[0]


def synonyms(topic_key: str) -> tuple[str, ...]:
    """Broker keys that a topic's key falls back to, by precedence; see `to_topic_unit`."""
    return cast(tuple[str, ...], tuple(_facts()["topic"].get(topic_key, ())[1:]))


def group_synonyms(group_key: str) -> tuple[str, ...]:
    """The broker key that a group's key falls back to, where it has one."""
    return cast(tuple[str, ...], tuple(_facts()["group"].get(group_key, ())[1:]))


def broker_synonyms(key: str) -> tuple[str, ...]:
    """Names under which a broker's setting can be given, by precedence.

    Source: DynamicBrokerConfig.brokerConfigSynonyms.
    """
    for family in _FAMILIES:
        if key in family:
            return family
    if key == "log.flush.interval.ms":
        return key, "log.flush.scheduler.interval.ms"
    match = _LISTENER.fullmatch(key)
    if match is None:
        return (key,)
    base = match[1]
    return key, next((name for name in _OF_MECHANISMS if base.endswith(name)), base)


def to_topic_unit(broker_key: str, value: str) -> str:
    """A broker's value in the unit of the topic's key: hours and minutes become ms.

    A value that is no whole number stays as it is, and so does a negative one, which means without
    end (log.retention.hours=-1).
    """
    factor = _MS_PER_UNIT.get(broker_key.rpartition(".")[2])
    text = value.strip()
    if factor is None or not _INT.fullmatch(text):
        return value
    number = int(text)
    return str(number * factor if number >= 0 else number)


def update_mode(key: str) -> UpdateMode | None:
    """How a broker's key can be changed; None where Kafka does not know it (a plugin's).

    Source: DynamicBrokerConfig.{nonDynamicConfigs, perBrokerConfigs}.
    """
    match = _LISTENER.fullmatch(key)
    if match is not None:
        wide = match[1] in _CLUSTER_WIDE_OF_LISTENERS
        return UpdateMode.CLUSTER_WIDE if wide else UpdateMode.PER_BROKER
    fact = _facts()["broker"].get(key)
    return None if fact is None else UpdateMode(str(fact[1]))


def is_internal(key: str) -> bool:
    """Whether Kafka defines a key for its own use and tests, and documents it nowhere.

    Source: ConfigDef.defineInternal.
    """
    return key in _facts()["internal"]


def is_known(resource_type: str, key: str) -> bool | None:
    """Whether any Kafka release knows a key; None for loggers, whose keys are names of classes."""
    if resource_type == BROKER_LOGGER:
        return None
    facts = _facts()
    names = (key, *broker_synonyms(key)[1:])
    return any(
        is_known_config_key(name)
        or name in facts["removed"]
        or any(name in facts[kind] for kind in ("topic", "group", "client_metrics", "broker"))
        for name in names
    )
