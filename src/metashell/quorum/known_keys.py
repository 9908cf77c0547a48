"""Which properties say nothing to us and are no mistake either.

Owns the keys of Kafka's clients (admin, producer, consumer, streams), and the prefixes under which
Kafka hands properties on to plugins. The keys of brokers and controllers are those of
`metashell.redact`, which leaves out the secret ones; these stand here.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.redact import is_known_config_key

_CLIENT_KEYS: Final = frozenset(
    """
    acceptable.recovery.lag acks allow.auto.create.topics application.id application.server
    auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset
    automatic.config.providers batch.size bootstrap.controllers bootstrap.servers buffer.memory
    cache.max.bytes.buffering check.crcs client.dns.lookup client.id client.rack
    commit.interval.ms compression.codec compression.gzip.level compression.lz4.level
    compression.type compression.zstd.level config.providers connections.max.idle.ms
    default.api.timeout.ms default.deserialization.exception.handler default.key.serde
    default.production.exception.handler default.timestamp.extractor default.value.serde
    delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id
    group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
    interceptor.classes internal.leave.group.on.close isolation.level key.deserializer
    key.serializer linger.ms max.block.ms max.in.flight.requests.per.connection
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
    metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms num.standby.replicas num.stream.threads
    partition.assignment.strategy partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys poll.ms
    processing.guarantee receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
    replication.factor request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    sasl.mechanism security.protocol security.providers send.buffer.bytes session.timeout.ms
    share.acknowledgement.mode socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms state.cleanup.delay.ms state.dir
    statestore.cache.max.bytes topology.optimization transaction.timeout.ms
    transaction.two.phase.commit.enable transactional.id upgrade.from value.deserializer
    value.serializer
    """.split()  # noqa: SIM905
)
_SECRET_KEYS: Final = frozenset(
    """
    delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
    delegation.token.master.key delegation.token.max.lifetime.ms delegation.token.secret.key
    password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
    password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
    sasl.jaas.config sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.token.endpoint.url ssl.key.password ssl.keystore.certificate.chain
    ssl.keystore.key ssl.keystore.password ssl.truststore.certificates ssl.truststore.password
    """.split()  # noqa: SIM905
)
"""Keys that hold or seem to hold secrets, which the list of known broker keys leaves out."""
_OPEN_PREFIXES: Final = (
    "admin.", "client.quota.callback.", "config.providers.", "consumer.", "global.consumer.",
    "main.consumer.", "metrics.context.", "principal.builder.", "producer.", "restore.consumer.",
    "rlmm.config.", "rsm.config.", "topic.", "zookeeper.",
)  # fmt: skip
_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(?:[a-z0-9-]+\.(?=sasl\.))?")
_SHAPE: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}(?:\.[a-z0-9_-]{1,60}){1,12}")


def is_known_key(key: str, *, server: bool) -> bool:
    """Tell whether a property is one of Kafka's.

    Args:
        key: The property, with any prefix.
        server: Whether the file is a broker's or controller's; only there do listeners have
            properties of their own.
    """
    if key in _CLIENT_KEYS or key.startswith(_OPEN_PREFIXES):
        return True
    if key.startswith("listener.name.") and not server:
        return False
    bare = _LISTENER.sub("", key, count=1)
    return bare in _SECRET_KEYS or is_known_config_key(key)


def may_be_shown(key: str) -> bool:
    """Tell whether a key looks like one, and not like a line of a value that was cut in two.

    A private key or a token that was pasted without its line ends escaped is read as keys.
    """
    return _SHAPE.fullmatch(key) is not None
