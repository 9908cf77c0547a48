"""Replays a metadata log record by record into dicts: slow, obvious, independent of the product.

Of `metashell` only the scalar decoder is used, nothing of `metashell.image`. Input is trusted to be
sound batches; records may be anything.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from metashell.errors import DecodeError
from metashell.schema.dump import java_double
from metashell.schema.model import Registry, load_registry
from metashell.schema.scalar import decode_message
from metashell.schema.uuids import uuid_text
from support.decoded_records import decode_record
from support.plain_batches import PlainRecord, read_records

Texts = dict[tuple[str, ...], str]
Fields = dict[str, Any]

MIGRATING: Final = bytes(16)

CONFIG_TYPES: Final = {
    2: "TOPIC",
    4: "BROKER",
    8: "BROKER_LOGGER",
    16: "CLIENT_METRICS",
    32: "GROUP",
}
SCRAM_TYPES: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
RELEASES: Final = {1: "3.0-IV1", 25: "4.0-IV3", 33: "4.4-IV2"}
"""A few levels of metadata.version, enough for the tests."""
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
QUOTA_TYPES: Final = {"client-id": "clientId", "ip": "ip", "user": "user"}
ACL_NAMES: Final = {
    "resource_type": ["UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER"],
    "pattern_type": ["UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"],
    "operation": ["UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE"],
    "permission_type": ["UNKNOWN", "ANY", "DENY", "ALLOW"],
}


class Refused(Exception):
    """A record does not fit the state before it."""


@dataclass(frozen=True)
class Base:
    """A checkpoint: the state before an offset."""

    end_offset: int
    epoch: int
    data: bytes


@dataclass(frozen=True)
class Decoded:
    """A record with its place and, of a metadata record that can be read, its message."""

    file: str
    plain: PlainRecord
    name: str | None
    fields: Fields

    @property
    def place(self) -> tuple[str, int]:
        """File and offset: what a fault names."""
        return self.file, self.plain.offset


@dataclass
class Partition:
    """What is known of a partition; `serial` tells it from one before it of the same number."""

    serial: int
    fields: Fields


@dataclass
class Topic:
    """A topic in one of its lives."""

    name: str
    partitions: dict[int, Partition] = field(default_factory=dict)


@dataclass
class State:
    """The cluster after some records, by the parts of Kafka's image."""

    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, Fields] = field(default_factory=dict)
    controllers: dict[int, Fields] = field(default_factory=dict)
    topics: dict[bytes, Topic] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    quotas: dict[frozenset[tuple[str, str | None]], dict[str, float]] = field(default_factory=dict)
    producer_id: int = -1
    acls: dict[bytes, Fields] = field(default_factory=dict)
    scram: dict[tuple[int, str], Fields] = field(default_factory=dict)
    tokens: dict[str, Fields] = field(default_factory=dict)
    serial: int = 0


@dataclass
class Replayed:
    """The outcome of a replay.

    ``faults``: (file, offset) of every record that can't be read or applied; ``moot_faults``: those
    of them that concern a partition which was since made anew or whose topic was, or a record that
    can't be read in a transaction that does not count. Nobody has to find these.
    """

    state: State
    faults: set[tuple[str, int]]
    moot_faults: set[tuple[str, int]]
    provenance: tuple[int, int, int]
    open_transaction: bool

    def texts(self) -> Texts:
        """Text of every leaf under ``/image``, by its path."""
        out = state_texts(self.state)
        offset, epoch, time = self.provenance
        out["provenance",] = f"offset {offset}, epoch {epoch}, time {time_text(time)}"
        return out


def replay(base: Base | None, base_file: str, segments: Sequence[tuple[str, bytes]]) -> Replayed:
    """Replay a checkpoint and the segments after it, each given by name and bytes."""
    registry = load_registry()
    counted = list(_counted(registry, base, base_file, segments))
    faults: set[tuple[str, int]] = set()
    applied, begun = _committed(counted, faults)
    unreadable = {record.place for record in counted if record.name is None}
    dropped = unreadable - {record.place for record in applied}
    replayer = _Replayer()
    for record in applied:
        if record.name is not None and not record.plain.batch.is_control:
            replayer.apply(record)
    faults |= replayer.faults | unreadable
    moot = replayer.moot_faults() | dropped
    return Replayed(
        replayer.state,
        faults,
        moot,
        _provenance(counted, begun, base, base_file),
        begun is not None,
    )


def _counted(
    registry: Registry, base: Base | None, base_file: str, segments: Sequence[tuple[str, bytes]]
) -> Iterator[Decoded]:
    """Records of the checkpoint, then those of segments from its end on."""
    if base is not None:
        for plain in read_records(base.data):
            # The zero checkpoint's metadata stands in the log again.
            if base.end_offset > 0 or plain.batch.is_control:
                yield _decoded(registry, base_file, plain)
    for file, data in segments:
        for plain in read_records(data):
            if base is None or plain.offset >= base.end_offset:
                yield _decoded(registry, file, plain)


def _decoded(registry: Registry, file: str, plain: PlainRecord) -> Decoded:
    if plain.batch.is_control:
        assert plain.key is not None
        assert plain.value is not None
        spec = registry.control[struct.unpack(">hh", plain.key)[1]]
        version = struct.unpack_from(">h", plain.value)[0]
        return Decoded(file, plain, spec.name, decode_message(spec, version, plain.value))
    try:
        record = decode_record(registry, plain.value)
    except DecodeError:
        return Decoded(file, plain, None, {})
    if record.spec is None or record.fields is None:
        return Decoded(file, plain, None, {})
    return Decoded(file, plain, record.spec.name, record.fields)


def _committed(
    records: Sequence[Decoded], faults: set[tuple[str, int]]
) -> tuple[list[Decoded], int | None]:
    """Leave out what aborted and unfinished transactions hold.

    Returns:
        (records that count, index of the record that begins an open transaction or None).
    """
    out: list[Decoded] = []
    pending: list[Decoded] | None = None
    begun: int | None = None
    for i, record in enumerate(records):
        target = out if pending is None else pending
        match record.name:
            case "BeginTransactionRecord" if pending is None:
                pending, begun = [], i
            case "EndTransactionRecord" if pending is not None:
                out += pending
                pending, begun = None, None
            case "AbortTransactionRecord" if pending is not None:
                pending, begun = None, None
            case "BeginTransactionRecord" | "EndTransactionRecord" | "AbortTransactionRecord":
                faults.add(record.place)
            case _:
                target.append(record)
    return out, begun


def _provenance(
    records: Sequence[Decoded], begun: int | None, base: Base | None, base_file: str
) -> tuple[int, int, int]:
    """Offset, epoch and time of the last record, or of the last before an open transaction."""
    counted = records[:begun]
    if not counted:
        return -1, -1, -1
    last = counted[-1]
    if base is not None and last.file == base_file:
        headers = [r for r in counted if r.name == "SnapshotHeaderRecord"]
        time = headers[0].fields["last_contained_log_timestamp"] if headers else -1
        return base.end_offset - 1, base.epoch, time
    return last.plain.offset, last.plain.batch.leader_epoch, last.plain.batch.max_timestamp


@dataclass
class _Concerned:
    """The topic and partition that a record is about, as far as they exist."""

    topic: Topic | None = None
    partition: Partition | None = None


class _Replayer:
    """Applies records to a state."""

    def __init__(self) -> None:
        self.state = State()
        self.faults: set[tuple[str, int]] = set()
        self._partition_faults: list[tuple[tuple[str, int], Topic, Partition | None]] = []
        self._concerned = _Concerned()

    def apply(self, record: Decoded) -> None:
        assert record.name is not None
        handler: Callable[[Fields], None] | None = getattr(self, f"_{record.name}", None)
        if handler is None:
            return
        concerned = self._concerned = _Concerned()
        try:
            handler(record.fields)
        except Refused:
            self.faults.add(record.place)
            if concerned.topic is not None:
                fault = record.place, concerned.topic, concerned.partition
                self._partition_faults.append(fault)

    def moot_faults(self) -> set[tuple[str, int]]:
        """Faults whose topic, or whose partition, is not the one that exists in the end."""
        out = set()
        for place, topic, partition in self._partition_faults:
            alive = any(topic is other for other in self.state.topics.values())
            if not alive or (
                partition is not None
                and all(partition is not other for other in topic.partitions.values())
            ):
                out.add(place)
        return out

    # Features, producer ids.

    def _FeatureLevelRecord(self, r: Fields) -> None:
        if r["feature_level"] == 0:
            self.state.features.pop(r["name"], None)
        else:
            self.state.features[r["name"]] = r["feature_level"]

    def _ProducerIdsRecord(self, r: Fields) -> None:
        self.state.producer_id = r["next_producer_id"]

    # Brokers and controllers.

    def _RegisterBrokerRecord(self, r: Fields) -> None:
        self.state.brokers[r["broker_id"]] = dict(r)

    def _UnregisterBrokerRecord(self, r: Fields) -> None:
        self.state.brokers.pop(r["broker_id"], None)

    def _FenceBrokerRecord(self, r: Fields) -> None:
        self._broker(r["id"], r["epoch"])["fenced"] = True

    def _UnfenceBrokerRecord(self, r: Fields) -> None:
        self._broker(r["id"], r["epoch"])["fenced"] = False

    def _BrokerRegistrationChangeRecord(self, r: Fields) -> None:
        broker = self._broker(r["broker_id"], r["broker_epoch"])
        if r["fenced"] not in (-1, 0, 1) or r["in_controlled_shutdown"] not in (0, 1):
            raise Refused
        if r["fenced"]:
            broker["fenced"] = r["fenced"] == 1
        if r["in_controlled_shutdown"]:
            broker["in_controlled_shutdown"] = True
        if r["log_dirs"]:
            broker["log_dirs"] = r["log_dirs"]
        if r["cordoned_log_dirs"] is not None:
            broker["cordoned_log_dirs"] = r["cordoned_log_dirs"]

    def _broker(self, node: int, epoch: int) -> Fields:
        broker = self.state.brokers.get(node)
        if broker is None or broker["broker_epoch"] != epoch:
            raise Refused
        return broker

    def _RegisterControllerRecord(self, r: Fields) -> None:
        self.state.controllers[r["controller_id"]] = r

    def _UnregisterControllerRecord(self, r: Fields) -> None:
        self.state.controllers.pop(r["controller_id"], None)

    # Topics and partitions.

    def _TopicRecord(self, r: Fields) -> None:
        # Made anew: a name means the topic that was made last.
        self.state.topics.pop(r["topic_id"], None)
        self.state.topics[r["topic_id"]] = Topic(r["name"])

    def _RemoveTopicRecord(self, r: Fields) -> None:
        topic = self.state.topics.pop(r["topic_id"], None)
        if topic is None:
            raise Refused
        self.state.configs.pop((2, topic.name), None)

    def _PartitionRecord(self, r: Fields) -> None:
        topic = self._topic(r["topic_id"])
        if r["leader_recovery_state"] not in (0, 1):
            raise Refused
        fields = {
            name: value for name, value in r.items() if name not in ("topic_id", "partition_id")
        }
        fields["eligible_leader_replicas"] = r["eligible_leader_replicas"] or []
        fields["last_known_elr"] = r["last_known_elr"] or []
        fields["directories"] = directories_of(r["directories"], len(r["replicas"]))
        self.state.serial += 1
        topic.partitions[r["partition_id"]] = Partition(self.state.serial, fields)

    def _PartitionChangeRecord(self, r: Fields) -> None:
        topic = self._topic(r["topic_id"])
        partition = topic.partitions.get(r["partition_id"])
        if partition is None:
            raise Refused
        self._concerned.partition = partition
        old = partition.fields
        new = dict(old)
        if r["leader_recovery_state"] not in (-1, 0, 1):
            raise Refused
        for name in (
            "isr",
            "replicas",
            "removing_replicas",
            "adding_replicas",
            "eligible_leader_replicas",
            "last_known_elr",
        ):
            if r[name] is not None:
                new[name] = r[name]
        given = old["directories"] if r["directories"] is None else r["directories"]
        new["directories"] = directories_of(given, len(new["replicas"]))
        if r["leader"] != -2:
            new["leader"] = r["leader"]
            new["leader_epoch"] = int32(old["leader_epoch"] + 1)
        if r["leader_recovery_state"] != -1:
            new["leader_recovery_state"] = r["leader_recovery_state"]
        new["partition_epoch"] = int32(old["partition_epoch"] + 1)
        partition.fields = new

    def _ClearElrRecord(self, r: Fields) -> None:
        named = [
            t
            for t in self.state.topics.values()
            if not r["topic_name"] or t.name == r["topic_name"]
        ]
        if r["topic_name"]:
            if not named:
                raise Refused
            named = named[-1:]
        for topic in named:
            for partition in topic.partitions.values():
                f = partition.fields
                if f["eligible_leader_replicas"] or f["last_known_elr"]:
                    f["eligible_leader_replicas"] = f["last_known_elr"] = []
                    f["partition_epoch"] = int32(f["partition_epoch"] + 1)

    def _topic(self, topic_id: bytes) -> Topic:
        topic = self.state.topics.get(topic_id)
        if topic is None:
            raise Refused
        self._concerned.topic = topic
        return topic

    # Configs, quotas, security.

    def _ConfigRecord(self, r: Fields) -> None:
        resource = r["resource_type"], r["resource_name"]
        keys = self.state.configs.setdefault(resource, {})
        if r["value"] is None:
            keys.pop(r["name"], None)
        else:
            keys[r["name"]] = r["value"]

    def _ClientQuotaRecord(self, r: Fields) -> None:
        entity = frozenset({e["entity_type"]: e["entity_name"] for e in r["entity"]}.items())
        keys = self.state.quotas.setdefault(entity, {})
        if r["remove"]:
            keys.pop(r["key"], None)
        else:
            keys[r["key"]] = r["value"]

    def _AccessControlEntryRecord(self, r: Fields) -> None:
        self.state.acls[r["id"]] = r

    def _RemoveAccessControlEntryRecord(self, r: Fields) -> None:
        if self.state.acls.pop(r["id"], None) is None:
            raise Refused

    def _UserScramCredentialRecord(self, r: Fields) -> None:
        self.state.scram[r["mechanism"], r["name"]] = r

    def _RemoveUserScramCredentialRecord(self, r: Fields) -> None:
        self.state.scram.pop((r["mechanism"], r["name"]), None)

    def _DelegationTokenRecord(self, r: Fields) -> None:
        if not all(":" in principal for principal in (r["owner"], r["requester"], *r["renewers"])):
            raise Refused
        self.state.tokens[r["token_id"]] = r

    def _RemoveDelegationTokenRecord(self, r: Fields) -> None:
        self.state.tokens.pop(r["token_id"], None)


def directories_of(directories: Sequence[bytes], n_replicas: int) -> list[bytes]:
    """The directories of a partition: MIGRATING for each replica where none are known."""
    if all(directory == MIGRATING for directory in directories):
        return [MIGRATING] * n_replicas
    if len(directories) != n_replicas:
        raise Refused
    return list(directories)


def int32(value: int) -> int:
    """Wrap around as Java's int does."""
    return (value + 2**31) % 2**32 - 2**31


# Texts.


def time_text(timestamp_ms: int) -> str:
    """A time as Kafka prints it."""
    time = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=timestamp_ms)
    fraction = f".{timestamp_ms % 1000:03}".rstrip("0").rstrip(".")
    return f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z[UTC]"


def state_texts(state: State) -> Texts:
    """Text of every leaf but ``provenance``."""
    texts: Texts = {}
    for name, level in state.features.items():
        if name not in ("metadata.version", "kraft.version"):
            texts["features", f"finalized_{name}"] = str(level)
    level_of = state.features.get("metadata.version")
    texts["features", "metadataVersion"] = (
        "none" if level_of is None else RELEASES.get(level_of, str(level_of))
    )
    for node, broker in state.brokers.items():
        texts["cluster", "brokers", str(node)] = broker_text(broker)
    for node, controller in state.controllers.items():
        texts["cluster", "controllers", str(node)] = controller_text(controller)
    _topic_texts(state, texts)
    for (kind, resource), values in state.configs.items():
        shown = CONFIG_TYPES.get(kind, "UNKNOWN")
        directory = f"{shown}:{resource}" if resource else shown
        for key, value in values.items():
            texts["configs", directory, key] = value
    for entity, quotas in state.quotas.items():
        for key, quota in quotas.items():
            texts["clientQuotas", entity_name(dict(entity)), key] = java_double(quota)
    texts["producerIds", "nextProducerId"] = str(state.producer_id)
    for acl_id, acl in state.acls.items():
        texts["acls", "byId", uuid_text(acl_id)] = acl_text(acl)
    for (mechanism, user), credential in state.scram.items():
        if mechanism in SCRAM_TYPES:
            texts["scram", SCRAM_TYPES[mechanism], user] = scram_text(credential)
    for token, data in state.tokens.items():
        texts["delegationToken", token] = token_text(data)
    return texts


def _topic_texts(state: State, texts: Texts) -> None:
    by_name = {topic.name: topic_id for topic_id, topic in state.topics.items()}
    for topic_id, topic in state.topics.items():
        places = [("topics", "byId", uuid_text(topic_id))]
        if by_name[topic.name] == topic_id:
            places.append(("topics", "byName", topic.name))
        for place in places:
            texts[*place, "id"] = uuid_text(topic_id)
            texts[*place, "name"] = topic.name
            for number, partition in topic.partitions.items():
                texts[*place, str(number)] = partition_text(partition.fields)


def partition_text(f: Fields) -> str:
    """A partition as Kafka prints it."""
    directories = ", ".join(map(uuid_text, f["directories"]))
    recovery = ("RECOVERED", "RECOVERING")[f["leader_recovery_state"]]
    return (
        f"PartitionRegistration(replicas={f['replicas']}, directories=[{directories}],"
        f" isr={f['isr']}, removingReplicas={f['removing_replicas']},"
        f" addingReplicas={f['adding_replicas']}, elr={f['eligible_leader_replicas']},"
        f" lastKnownElr={f['last_known_elr']}, leader={f['leader']},"
        f" leaderRecoveryState={recovery}, leaderEpoch={f['leader_epoch']},"
        f" partitionEpoch={f['partition_epoch']})"
    )


def broker_text(b: Fields) -> str:
    """A broker's registration as Kafka prints it."""
    rack = "Optional.empty" if b["rack"] is None else f"Optional[{b['rack']}]"
    cordoned = b["cordoned_log_dirs"]
    return (
        f"BrokerRegistration(id={b['broker_id']}, epoch={b['broker_epoch']},"
        f" incarnationId={uuid_text(b['incarnation_id'])}, listeners={_listeners(b)},"
        f" supportedFeatures={_ranges(b)}, rack={rack}, fenced={_java(b['fenced'])},"
        f" inControlledShutdown={_java(b['in_controlled_shutdown'])},"
        f" isMigratingZkBroker={_java(b['is_migrating_zk_broker'])},"
        f" directories={_uuids(b['log_dirs'])},"
        f" cordonedDirectories={'null' if cordoned is None else _uuids(cordoned)})"
    )


def controller_text(c: Fields) -> str:
    """A controller's registration as Kafka prints it."""
    return (
        f"ControllerRegistration(id={c['controller_id']},"
        f" incarnationId={uuid_text(c['incarnation_id'])},"
        f" zkMigrationReady={_java(c['zk_migration_ready'])}, listeners={_listeners(c)},"
        f" supportedFeatures={_ranges(c)})"
    )


def _listeners(fields: Fields) -> str:
    endpoints = {e["name"]: e for e in fields["end_points"]}
    parts = [
        f"Endpoint(listenerName='{name}', securityProtocol={PROTOCOLS[e['security_protocol']]},"
        f" host='{e['host']}', port={e['port']})"
        for name, e in sorted(endpoints.items())
    ]
    return f"[{', '.join(parts)}]"


def _ranges(fields: Fields) -> str:
    ranges = {
        f["name"]: (f["min_supported_version"], f["max_supported_version"])
        for f in fields["features"]
    }
    parts = [
        f"{n}: {low}" if low == high else f"{n}: {low}-{high}"
        for n, (low, high) in sorted(ranges.items())
    ]
    return "{" + ", ".join(parts) + "}"


def _uuids(ids: Sequence[bytes]) -> str:
    ordered = sorted(ids, key=lambda raw: struct.unpack(">qq", raw))
    return f"[{', '.join(map(uuid_text, ordered))}]"


def _java(value: object) -> str:
    return str(value).lower()


def entity_name(entity: Mapping[str, str | None]) -> str:
    """A quota's entity as Kafka names it, default ones spelled out."""
    parts = []
    for kind in ("client-id", "ip", "user", *sorted(set(entity) - set(QUOTA_TYPES))):
        if kind in entity:
            name = entity[kind]
            escaped = "<default>" if name is None else _escaped(name)
            parts.append(f"{QUOTA_TYPES.get(kind) or _escaped(kind)}({escaped})")
    return "_".join(parts)


def _escaped(name: str) -> str:
    return "".join(f"\\{c}" if c in "\\()" else c for c in name)


def acl_text(a: Fields) -> str:
    """An ACL as Kafka prints it."""

    def code(name: str) -> str:
        names = ACL_NAMES[name]
        return names[a[name]] if 0 <= a[name] < len(names) else "UNKNOWN"

    return (
        f"StandardAcl[resourceType={code('resource_type')}, resourceName={a['resource_name']},"
        f" patternType={code('pattern_type')}, principal={a['principal']}, host={a['host']},"
        f" operation={code('operation')}, permissionType={code('permission_type')}]"
    )


def scram_text(s: Fields) -> str:
    """A SCRAM credential as Kafka prints it."""
    return (
        f"ScramCredentialData(salt={s['salt'].hex()}, storedKey={s['stored_key'].hex()},"
        f" serverKey={s['server_key'].hex()}, iterations={s['iterations']})"
    )


def token_text(t: Fields) -> str:
    """A delegation token as Kafka prints it."""
    return (
        f"DelegationTokenDatatokenId={t['token_id']}(owner={t['owner']}"
        f"(tokenRequester={t['requester']}(renewers={' '.join(t['renewers'])},"
        f" issueTimestamp={t['issue_timestamp']}, maxTimestamp={t['max_timestamp']}),"
        f" expiryTimestamp={t['expiration_timestamp']}"
    )
