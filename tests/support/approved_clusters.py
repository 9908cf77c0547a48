"""Small clusters of which the outputs of commands are kept: a few records each, an hour apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kraftgen.batch import encode_batch
from support.logs import make_directory, record
from support.small_cluster import (
    TIME,
    broker,
    config,
    controller,
    endpoint,
    level,
    supported,
    voters_batch,
)

_HOUR: Final = 3_600_000
_TOPIC: Final = 2
_BROKER: Final = 4


def _cluster(
    *batches: bytes | list[bytes], voters: Sequence[int] | None = None, dynamic: bool = True
) -> Callable[[Path], Sequence[str]]:
    """A log of batches, a record each where no list is given."""

    def lay(parent: Path) -> Sequence[str]:
        parts, offset = [], 0
        if voters is not None:
            parts.append(voters_batch(voters, dynamic=dynamic))
            offset = 2 if dynamic else 1
        for i, batch in enumerate(batches):
            values = batch if isinstance(batch, list) else [batch]
            parts.append(
                encode_batch(values, base_offset=offset, timestamp=TIME + i * _HOUR, leader_epoch=1)
            )
            offset += len(values)
        return [make_directory(parent, (0, b"".join(parts))).name]

    return lay


def _topic(name: str, number: int) -> bytes:
    return record("TopicRecord", name=name, topic_id=number.to_bytes(16, "big"))


def _partition(topic: int, number: int, *replicas: int, **fields: object) -> bytes:
    """A partition, led by its first replica."""
    known = {"replicas": list(replicas), "isr": list(replicas), "leader": replicas[0], **fields}
    return record(
        "PartitionRecord", topic_id=topic.to_bytes(16, "big"), partition_id=number, **known
    )


def _led(name: str, number: int, *leaders: int) -> list[bytes]:
    """A topic and its partitions, each with its leader."""
    partitions = (_partition(number, i, 1, leader=leader) for i, leader in enumerate(leaders))
    return [_topic(name, number), *partitions]


def _change(topic: int, number: int, **fields: object) -> bytes:
    return record(
        "PartitionChangeRecord",
        topic_id=topic.to_bytes(16, "big"),
        partition_id=number,
        **fields,
    )


def _fence(node: int) -> bytes:
    return record("BrokerRegistrationChangeRecord", broker_id=node, broker_epoch=node, fenced=1)


def _acl(number: int, **fields: object) -> bytes:
    """An ACL that allows everyone to read orders, but for these fields."""
    usual: dict[str, object] = {
        "id": number.to_bytes(16, "big"),
        "resource_type": _TOPIC,
        "resource_name": "orders",
        "pattern_type": 3,
        "principal": "User:*",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return record("AccessControlEntryRecord", **{**usual, **fields})


def _quota(entity: Mapping[str, str | None], key: str, value: float) -> bytes:
    pairs = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    return record("ClientQuotaRecord", entity=pairs, key=key, value=value, remove=False)


def _scram(name: str, mechanism: int) -> bytes:
    fields = {"salt": b"s", "stored_key": b"k", "server_key": b"v", "iterations": 4096}
    return record("UserScramCredentialRecord", name=name, mechanism=mechanism, **fields)


def _no_scram(name: str, mechanism: int) -> bytes:
    return record("RemoveUserScramCredentialRecord", name=name, mechanism=mechanism)


def _token(name: str, **times: int) -> bytes:
    who = {"owner": "User:alice", "requester": "User:bob", "renewers": ["User:carl"]}
    return record("DelegationTokenRecord", token_id=name, **who, **times)


def _old_broker(node: int, lowest: int, highest: int) -> bytes:
    """A broker with software of 3.x."""
    return broker(node, features=[supported("metadata.version", lowest, highest)])


def _kraft_controller(node: int, highest: int) -> bytes:
    """A controller that announces kraft.version 0 to 1, as 4.0 and 4.1 do."""
    features = [supported("metadata.version", 7, highest), supported("kraft.version", 0, 1)]
    return controller(node, features=features)


_RATE: Final = "connection_creation_rate"
_RIGHTS: Final = (
    _topic("t", 7),
    _acl(1, resource_type=99, pattern_type=-1, operation=77, permission_type=5),
    _acl(2, permission_type=9),
    _acl(3, resource_name="\x1b[31m"),
    _acl(4, principal="alice"),
    _acl(5, host="localhost"),
    _acl(6, host="2001:db8::1"),
    _acl(7, host="10.0.0.0/8"),
    _quota({"ip": "2001:db8::1"}, _RATE, 1),
    _quota({"ip": "2001:0DB8:0:0::1"}, _RATE, 2),
    _quota({"ip": "Host.example"}, _RATE, 3),
    _quota({"ip": "10.0.0.1", "user": "a"}, _RATE, 4),
    _quota({"ip": None}, "producer_byte_rate", 5),
    _quota({"user": "<default>", "client-id": None}, "producer_byte_rate", 1),
    _quota({"user": ""}, "bogus", float("nan")),
    _quota({"galaxy": "a=b, c"}, "producer_byte_rate", float("inf")),
    _quota({}, "producer_byte_rate", 2),
    *(_scram("alice", 1), _scram("alice", 2), _scram("bob", 1), _scram("carol", 2)),
    *(_scram("dan", 1), _scram("dan", 2), _scram("eve", 9), _scram("fay", 1)),
    *(_no_scram("alice", 1), _no_scram("bob", 1), _no_scram("carol", 2), _scram("carol", 2)),
    *(_no_scram("dan", 2), _no_scram("fay", 9)),
    _token("t", issue_timestamp=1, max_timestamp=2**62, expiration_timestamp=TIME + 99 * _HOUR),
    _token("s", issue_timestamp=1, max_timestamp=TIME - 1, expiration_timestamp=TIME + 99 * _HOUR),
)
"""ACLs, quotas, credentials and tokens with all that can be odd in them."""
_ON_TLS: Final = [endpoint("TLS", "b1", 9093, 1), endpoint("P", "b1", 9092)]
_GHOSTS: Final = (
    level("metadata.version", 25),
    broker(1, end_points=_ON_TLS),
    broker(2, 25),
    broker(3, 25),
    controller(7),
    controller(8, 25),
    _topic("t", 1),
    _partition(1, 0, 1, 2),
    _fence(2),
    _fence(3),
    config(_TOPIC, "t", "retention.ms", "1"),
)
"""Broker 1 is up, 2 is fenced with a replica, 3 without; controller 8 does not vote."""
_EPOCHS: Final[Mapping[str, object]] = {"leader_epoch": 0, "partition_epoch": 0}
_STORY: Final = (
    [_topic("t", 1), *(_partition(1, i, 3, 5, 7, **_EPOCHS) for i in range(2))],
    [_change(1, 0, leader=5, isr=[5, 7])],
    [config(_TOPIC, "t", "retention.ms", "1")],
    [
        config(_TOPIC, "t", "retention.ms", "2"),
        config(_TOPIC, "t", "sasl.jaas.config", "s3cret"),
    ],
    [config(_TOPIC, "t", "sasl.jaas.config", "0ther")],
    [record("RemoveTopicRecord", topic_id=(1).to_bytes(16, "big"))],
    [_topic("t", 2), _partition(2, 0, 3, 5, 7, **_EPOCHS)],
)
"""A topic is made, changed, removed, and made again."""
_COORDINATORS: Final = (
    broker(1),
    broker(2),
    _topic("orders", 7),
    *(_partition(7, i, 1, 2) for i in range(2)),
    _topic("__consumer_offsets", 8),
    _partition(8, 0, 1, 2),
    config(32, "g", "consumer.session.timeout.ms", "50000"),
    config(_TOPIC, "orders", "retention.ms", "1"),
)
"""Groups have one coordinator; transactions and share groups have none yet."""
_UNLED: Final = (
    broker(1, fenced=True),
    broker(2),
    *_led("orders", 1, -1),
    *_led("__consumer_offsets", 2, 2, -1, -1, 2),
    *_led("__transaction_state", 3, -1, -1),
    *_led("__share_group_state", 4, *(2 if i == 3 else -1 for i in range(20))),
    *(_topic(f"t{i}", 10 + i) for i in range(5)),
    *(
        config(_TOPIC, f"t{i}", "retention.ms", value)
        for i in range(5)
        for value in ("2000", str(i))
    ),
)
"""Most partitions of coordinators have no leader, and configs were lowered."""
CONFIGS: Final = (
    broker(1),
    broker(2),
    controller(7),
    _topic("t", 1),
    config(_TOPIC, "t", "min.insync.replicas", "2"),
    config(_TOPIC, "ghost", "retention.ms", "1"),
    config(_TOPIC, "t", "retention.msec", "1"),
    config(_BROKER, "", "message.max.bytes", "7"),
    config(_BROKER, "", "listeners", "x"),
    config(_BROKER, "1", "message.max.bytes", "8"),
    config(_BROKER, "2", "log.retention.hours", "3"),
    config(_BROKER, "7", "num.io.threads", "3"),
    config(_BROKER, "9", "num.io.threads", "3"),
    config(_BROKER, "odd", "num.io.threads", "3"),
    config(_BROKER, "1", "listener.name.x.ssl.key.password", "hunter2"),
    config(_BROKER, "1", "my.plugin", "hunter2"),
    config(8, "9", "kafka", "DEBUG"),
    config(16, "m", "interval.ms", "5"),
    config(32, "g", "consumer.session.timeout.ms", "5"),
    config(1, "what", "ever", "5"),
)
"""Two brokers, a topic, and configs of what is there and what is not."""
_LONG: Final = (
    broker(1),
    broker(2, fenced=True),
    *(
        value
        for i, name in enumerate((*(f"t{i:02}" for i in range(19)), f"a-{'x' * 240}-orders"), 1)
        for value in (_topic(name, i), _partition(i, 0, 2, leader=-1))
    ),
)
"""A topic whose name is as long as Kafka allows, among short ones."""
_STATIC: Final = {"voters": [1], "dynamic": False}

CLUSTERS: Final[Mapping[str, tuple[Callable[[Path], Sequence[str]], str]]] = {
    "rights-odd": (_cluster(*_RIGHTS), "access"),
    "rights-new": (
        _cluster(level("metadata.version", 32), _acl(1, host="10.0.0.0/8")),
        "access",
    ),
    "configs": (_cluster(*CONFIGS), "configs"),
    "long-name": (_cluster(*_LONG), "widths"),
    "story": (_cluster(*_STORY), "story"),
    "coordinators-few": (_cluster(*_COORDINATORS), "keys"),
    "coordinators-unled": (_cluster(*_UNLED), "keys"),
    "upgrade": (_cluster(*_GHOSTS, voters=[7]), "upgrade"),
    "upgrade-voter": (_cluster(level("metadata.version", 14), **_STATIC), "upgrade"),
    "upgrade-unvoted": (_cluster(level("metadata.version", 25), controller(1, 25)), "upgrade"),
    "upgrade-needs": (_cluster(level("metadata.version", 20), broker(1)), "upgrade"),
    "upgrade-newer": (
        _cluster(
            level("metadata.version", 25),
            broker(1, features=[supported("metadata.version", 7, 99)]),
            broker(2),
        ),
        "upgrade",
    ),
    **{
        f"upgrade-{of}-{to}": (
            _cluster(level("metadata.version", of), _old_broker(1, 1, to)),
            "upgrade",
        )
        for of, to in ((4, 21), (7, 21), (4, 5))
    },
    "upgrade-no-level-3": (_cluster(_old_broker(1, 1, 21)), "upgrade"),
    "upgrade-no-level-4": (_cluster(broker(1)), "upgrade"),
    **{
        f"upgrade-static-{highest}": (
            _cluster(
                level("metadata.version", 25),
                _kraft_controller(1, highest),
                _kraft_controller(2, 25),
                **_STATIC,
            ),
            "upgrade",
        )
        for highest in (25, 27)
    },
    "upgrade-dynamic": (_cluster(level("metadata.version", 25), voters=[1]), "upgrade"),
    "upgrade-old": (_cluster(level("metadata.version", 14), broker(1, 21)), "upgrade"),
    "upgrade-tls": (
        _cluster(
            level("metadata.version", 25),
            broker(1, end_points=[endpoint("TLS", "fe80::1", 9093, 1)]),
        ),
        "upgrade",
    ),
}
"""How each is laid down below a directory, and the group of lines that is run on it."""
