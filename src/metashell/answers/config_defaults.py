"""Kafka's facts about config keys: defaults, the broker keys behind a topic's, update modes.

Facts of Kafka 4.4, which ``data/config_facts.json`` names in its head: a list for each key, its
default in front. A key that only an older release has keeps the default that it had last. Owns
nothing that a cluster says.

The values that a config falls back to where a resource does not set it, and which one holds.

Below a resource's own value stand the brokers': a broker's own dynamic value, the one for all
brokers, the node's server.properties, Kafka's default. The metadata knows the first two.

A dynamic value that Kafka does not take from there (of read-only keys, and of per-broker keys for
all brokers at once) does not count.

Source: org.apache.kafka.server.config.{ServerTopicConfigSynonyms, DynamicBrokerConfig},
LogConfig, AbstractKafkaConfig with the ConfigDefs that it merges, GroupConfig,
ClientMetricsConfigs.

Source: kafka.server.ConfigHelper.configSynonyms, DynamicBrokerConfig,
AbstractKafkaConfig.extractLogConfigMap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from metashell.answers.assume import Assumptions
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


DYNAMIC_BROKER: Final = "DYNAMIC_BROKER_CONFIG"
DYNAMIC_DEFAULT_BROKER: Final = "DYNAMIC_DEFAULT_BROKER_CONFIG"
STATIC_BROKER: Final = "STATIC_BROKER_CONFIG"
DEFAULT: Final = "DEFAULT_CONFIG"
"""Names of sources. Source: org.apache.kafka.clients.admin.ConfigEntry.ConfigSource."""
NOT_SET: Final = -1
"""In place of a row of the image's configs."""


class ChainEntry(NamedTuple):
    """One place that gives a value."""

    source: str
    key: str
    value: str
    row: int
    """The row among the image's configs; `NOT_SET` where no record sets it."""


def keys_behind(kind: str, key: str) -> tuple[str, ...]:
    """Broker keys that a resource's key falls back to; none of a broker's own."""
    if kind == TOPIC:
        return synonyms(key)
    return group_synonyms(key) if kind == GROUP else ()


def is_id(name: str) -> bool:
    """Whether a resource's name can be a node's id."""
    return name.isascii() and name.isdigit() and len(name) <= 10


class Fallbacks:
    """The config values of a cluster's brokers.

    Args:
        configs: The configs set on brokers: name, key, value and row of each.
        assumptions: The configs in the nodes' own files.
        registered: Values from these files that the registrations tell, by resource name and key.
            None for a key that a file does not set.
    """

    def __init__(
        self,
        configs: Iterable[tuple[str, str, str, int]],
        assumptions: Assumptions,
        registered: Mapping[str, Mapping[str, str | None]] = MappingProxyType({}),
    ) -> None:
        self.assumptions = assumptions
        self.registered = registered
        self.dynamic: Mapping[str, Mapping[str, ChainEntry]] = _dynamic(configs)
        """Dynamic values that count, by resource name and key."""
        self._tails: dict[tuple[str, str, int | None], list[ChainEntry]] = {}

    def tail(self, kind: str, key: str, broker: int | None) -> list[ChainEntry]:
        """The values that a key falls back to, strongest first, as Kafka lists synonyms.

        Kafka's list begins with the first that bears the key's own (broker's) name.

        Args:
            kind: Type of the resource, such as ``TOPIC``.
            key: Its key.
            broker: The broker's id; None for one without dynamic values of its own.
        """
        cached = self._tails.get((kind, key, broker))
        if cached is not None:
            return cached
        behind = (key,) if kind == BROKER else keys_behind(kind, key)
        chain: list[ChainEntry] = []
        if behind:
            entries = list(self._layers(broker_synonyms(behind[0]), broker))
            begin = next((i for i, e in enumerate(entries) if e.key == behind[0]), len(entries))
            chain = entries[begin:]
        self._tails[kind, key, broker] = chain
        return chain

    def effective(self, kind: str, key: str, broker: int | None) -> ChainEntry:
        """The value that holds where a topic or group does not set it.

        If several broker keys stand for one setting, the finer unit wins, whatever it is set by.
        The true source is told even where Kafka's list of synonyms leaves it out.
        """
        for name in keys_behind(kind, key):
            entry = next(self._layers((name,), broker), None)
            if entry is not None:
                value = to_topic_unit(name, entry.value) if kind == TOPIC else entry.value
                return entry._replace(value=value)
        return ChainEntry(DEFAULT, key, default_of(kind, key) or "", NOT_SET)

    def _layers(self, keys: tuple[str, ...], broker: int | None) -> Iterator[ChainEntry]:
        own = {} if broker is None else self.dynamic.get(str(broker), {})
        for layer in (own, self.dynamic.get("", {})):
            yield from (layer[key] for key in keys if key in layer)
        registered = {} if broker is None else self.registered.get(str(broker), {})
        static: Mapping[str, str | None] = {**self.assumptions.settings, **registered}
        for source, value_of in (
            (STATIC_BROKER, static.get),
            (DEFAULT, lambda key: default_of(BROKER, key)),
        ):
            for key in keys:
                value = value_of(key)
                if value is not None:
                    yield ChainEntry(source, key, value, NOT_SET)


def _dynamic(configs: Iterable[tuple[str, str, str, int]]) -> dict[str, dict[str, ChainEntry]]:
    found: dict[str, dict[str, ChainEntry]] = {}
    for name, key, value, row in configs:
        mode = update_mode(key)
        if mode is UpdateMode.READ_ONLY or (not name and mode is UpdateMode.PER_BROKER):
            continue
        source = DYNAMIC_BROKER if name else DYNAMIC_DEFAULT_BROKER
        found.setdefault(name, {})[key] = ChainEntry(source, key, value, row)
    return found
