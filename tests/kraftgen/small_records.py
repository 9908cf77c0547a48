"""Makes up all records of a cluster but those of topics and partitions: by the generic encoder.

Owns their number, in proportion to the topics, and their values, which look like a real cluster's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from metashell.schema.encode import encode_record
from metashell.schema.model import Registry, load_registry
from metashell.schema.uuids import uuid_text

_FEATURES: Final = (
    ("group.version", 1),
    ("streams.version", 1),
    ("transaction.version", 2),
    ("eligible.leader.replicas.version", 1),
    ("share.version", 2),
)
_TOPIC_CONFIGS: Final = (
    ("retention.ms", "604800000"),
    ("cleanup.policy", "compact"),
    ("max.message.bytes", "2097152"),
    ("min.insync.replicas", None),
    ("compression.type", "zstd"),
)
_TOPIC, _BROKER, _CLIENT_METRICS, _GROUP = 2, 4, 16, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A broker or controller."""

    id: int
    host: str
    incarnation_id: bytes
    directories: tuple[bytes, ...]
    rack: str | None = None

    def as_voter(self) -> dict[str, object]:
        """Give the node as an element of VotersRecord's voters."""
        return {
            "voter_id": self.id,
            "voter_directory_id": self.directories[0],
            "endpoints": [{"name": "CONTROLLER", "host": self.host, "port": 9093}],
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """All nodes of a cluster."""

    brokers: list[Node]
    controllers: list[Node]


@cache
def _registry() -> Registry:
    return load_registry()


def _encode(name: str, version: int = 0, /, **fields: object) -> bytes:
    return encode_record(_registry().by_name[name], version, fields)


def make_uuids(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """Make random (version 4) uuids as uint8[count, 16], none with a leading dash as text."""
    ids = rng.integers(0, 256, (count, 16), dtype=np.uint8)
    ids[:, 6] = ids[:, 6] & 0x0F | 0x40
    ids[:, 8] = ids[:, 8] & 0x3F | 0x80
    ids[ids[:, 0] >> 2 == 62, 0] ^= 0x80
    return ids


def make_nodes(rng: np.random.Generator, n_brokers: int, n_controllers: int) -> Nodes:
    """Make brokers 1, 2, ... on three racks with two log dirs each, and controllers 3000, ..."""
    ids = [row.tobytes() for row in make_uuids(rng, 3 * n_brokers + 2 * n_controllers)]
    take = iter(ids)
    first_controller = 3000 if n_brokers < 3000 else n_brokers + 1
    return Nodes(
        brokers=[
            Node(
                id=i,
                host=f"broker-{i}.kafka.example.com",
                incarnation_id=next(take),
                directories=(next(take), next(take)),
                rack=f"zone-{'abc'[i % 3]}",
            )
            for i in range(1, n_brokers + 1)
        ],
        controllers=[
            Node(
                id=i,
                host=f"controller-{i}.kafka.example.com",
                incarnation_id=next(take),
                directories=(next(take),),
            )
            for i in range(first_controller, first_controller + n_controllers)
        ],
    )


def features(metadata_version: int) -> list[bytes]:
    """Make the records of the features."""
    levels = [("metadata.version", metadata_version), *_FEATURES]
    return [_encode("FeatureLevelRecord", name=n, feature_level=level) for n, level in levels]


def registrations(nodes: Nodes) -> list[bytes]:
    """Make the registrations of brokers and controllers."""
    supported = [
        {"name": name, "min_supported_version": low, "max_supported_version": high}
        for name, low, high in (("metadata.version", 7, 33), ("kraft.version", 0, 1))
    ] + [
        {"name": name, "min_supported_version": 0, "max_supported_version": high}
        for name, high in _FEATURES
    ]
    brokers = [
        _encode(
            "RegisterBrokerRecord",
            4,
            broker_id=b.id,
            incarnation_id=b.incarnation_id,
            broker_epoch=20 + 3 * i,
            end_points=[
                {"name": "INTERNAL", "host": b.host, "port": 9092, "security_protocol": 0},
                {"name": "CLIENT", "host": b.host, "port": 9094, "security_protocol": 3},
            ],
            features=supported,
            rack=b.rack,
            fenced=False,
            log_dirs=list(b.directories),
        )
        for i, b in enumerate(nodes.brokers)
    ]
    controllers = [
        _encode(
            "RegisterControllerRecord",
            controller_id=c.id,
            incarnation_id=c.incarnation_id,
            end_points=[
                {"name": "CONTROLLER", "host": c.host, "port": 9093, "security_protocol": 0}
            ],
            features=supported,
        )
        for c in nodes.controllers
    ]
    return brokers + controllers


def no_op() -> bytes:
    """Make the record that an idle controller writes."""
    return _encode("NoOpRecord")


def rest(
    rng: np.random.Generator, topic_names: list[bytes], nodes: Nodes, *, min_isr: int
) -> list[bytes]:
    """Make what follows the topics in a checkpoint, in Kafka's order of parts."""
    n_users = len(topic_names) // 50 + 2
    users = [f"app-{i:05d}" for i in range(n_users)]
    return [
        *_configs(rng, topic_names, nodes, min_isr),
        *_client_quotas(rng, users),
        _encode(
            "ProducerIdsRecord",
            broker_id=nodes.brokers[0].id,
            broker_epoch=20,
            next_producer_id=1000 * (len(nodes.brokers) + 1),
        ),
        *_acls(rng, topic_names, users),
        *_scram_credentials(rng, users[: n_users // 10 + 1]),
        *_delegation_tokens(rng, users[: n_users // 20 + 1]),
    ]


def _configs(
    rng: np.random.Generator, topic_names: list[bytes], nodes: Nodes, min_isr: int
) -> list[bytes]:
    configs = [
        (_BROKER, "", "min.insync.replicas", str(min_isr)),
        (_BROKER, "", "log.retention.ms", "259200000"),
        (_CLIENT_METRICS, "all", "interval.ms", "30000"),
        (_GROUP, "group-1", "consumer.session.timeout.ms", "50000"),
        *((_BROKER, str(b.id), "log.cleaner.threads", "4") for b in nodes.brokers[::10]),
    ]
    for i in np.flatnonzero(rng.random(len(topic_names)) < 0.1).tolist():
        name, value = _TOPIC_CONFIGS[int(rng.integers(len(_TOPIC_CONFIGS)))]
        configs.append((_TOPIC, topic_names[i].decode(), name, value or str(min_isr)))
    return [
        _encode("ConfigRecord", resource_type=kind, resource_name=resource, name=name, value=value)
        for kind, resource, name, value in configs
    ]


def _client_quotas(rng: np.random.Generator, users: list[str]) -> list[bytes]:
    entities: list[list[dict[str, str | None]]] = [
        [{"entity_type": "user", "entity_name": None}],
        [{"entity_type": "client-id", "entity_name": None}],
    ]
    for i, user in enumerate(users[::2]):
        entity: list[dict[str, str | None]] = [{"entity_type": "user", "entity_name": user}]
        if i % 3 == 0:
            entity.insert(0, {"entity_type": "client-id", "entity_name": f"client-{i}"})
        entities.append(entity)
    values = rng.integers(1, 1000, len(entities)) * 65536.0
    return [
        _encode("ClientQuotaRecord", entity=entity, key=key, value=value)
        for entity, value in zip(entities, values.tolist(), strict=True)
        for key in ("producer_byte_rate", "consumer_byte_rate")
    ]


def _acls(rng: np.random.Generator, topic_names: list[bytes], users: list[str]) -> list[bytes]:
    picked = rng.integers(0, max(1, len(topic_names)), len(topic_names) // 10 + 1)
    ids = make_uuids(rng, len(picked))
    operations = rng.choice([3, 4, 8], len(picked)).tolist()
    prefixed = (rng.random(len(picked)) < 0.2).tolist()
    acls = []
    for i, topic in enumerate(picked.tolist()):
        name = topic_names[topic].decode() if topic_names else "orders"
        acls.append(
            _encode(
                "AccessControlEntryRecord",
                id=ids[i].tobytes(),
                resource_type=2,
                resource_name=name.split(".")[0] + "." if prefixed[i] else name,
                pattern_type=4 if prefixed[i] else 3,
                principal=f"User:{users[i % len(users)]}",
                host="*",
                operation=operations[i],
                permission_type=3,
            )
        )
    return acls


def _scram_credentials(rng: np.random.Generator, users: list[str]) -> list[bytes]:
    credentials = []
    for i, user in enumerate(users):
        key_bytes = 64 if i % 2 else 32
        credentials.append(
            _encode(
                "UserScramCredentialRecord",
                name=user,
                mechanism=2 if i % 2 else 1,
                salt=rng.bytes(24),
                stored_key=rng.bytes(key_bytes),
                server_key=rng.bytes(key_bytes),
                iterations=8192,
            )
        )
    return credentials


def _delegation_tokens(rng: np.random.Generator, users: list[str]) -> list[bytes]:
    day_ms = 86_400_000
    issued = 1_789_999_000_000
    return [
        _encode(
            "DelegationTokenRecord",
            owner=f"User:{user}",
            requester=f"User:{user}",
            renewers=["User:renewer"],
            issue_timestamp=issued,
            max_timestamp=issued + 7 * day_ms,
            expiration_timestamp=issued + day_ms,
            token_id=uuid_text(token_id.tobytes()),
        )
        for user, token_id in zip(users, make_uuids(rng, len(users)), strict=True)
    ]
