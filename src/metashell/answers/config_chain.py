"""The values that a config falls back to where a resource does not set it, and which one holds.

Below a resource's own value stand the brokers': a broker's own dynamic value, the one for all
brokers, the node's server.properties, Kafka's default. The metadata knows the first two.

A dynamic value that Kafka does not take from there (of read-only keys, and of per-broker keys for
all brokers at once) does not count.

Source: kafka.server.ConfigHelper.configSynonyms, DynamicBrokerConfig,
AbstractKafkaConfig.extractLogConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from metashell.answers.assume import Assumptions
from metashell.answers.config_defaults import (
    BROKER,
    GROUP,
    TOPIC,
    UpdateMode,
    broker_synonyms,
    default_of,
    group_synonyms,
    synonyms,
    to_topic_unit,
    update_mode,
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
        told = {} if broker is None else self.registered.get(str(broker), {})
        static: Mapping[str, str | None] = {**self.assumptions.settings, **told}
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
