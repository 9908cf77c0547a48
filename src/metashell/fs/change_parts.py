"""What a record does to the nodes that it concerns: one small state machine for each part.

Given records in replay order, as dicts, each part keeps what it knows of its nodes and tells what
each record changed from what to what. Records before the oldest checkpoint meet nodes of which
nothing is known yet; what they were before is then `UNKNOWN`.

Source: the XDelta classes of org.apache.kafka.image; PartitionRegistration.merge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from metashell.fs.nodes.settings import entity_name
from metashell.image.acl_names import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    code_name,
)
from metashell.image.configs import resource_type_name
from metashell.image.features import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.image.security import SCRAM_MECHANISMS
from metashell.redact import Redaction
from metashell.schema.uuids import MIGRATING, uuid_text

Fields = Mapping[str, Any]
Path = tuple[str, ...]


class _Unknown:
    """Of a value that no record at hand tells."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN: Final = _Unknown()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a record did to one node: ``before`` or ``after`` is None where the node is not there.

    Both map the node's fields to values; a node without fields of its own has the one field "".
    """

    path: Path
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    refused: str | None = None
    """Why the record does not count, where it does not."""


class PartHistory(ABC):
    """Follows the nodes of one part."""

    records: tuple[str, ...]
    """Names of the messages that concern it."""
    root: Path
    """Where its nodes are."""
    in_checkpoint = False
    """Whether the record that comes next is part of a checkpoint: a state, not a change."""

    @abstractmethod
    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        """Follow one record."""


class KeyedHistory(PartHistory):
    """A part whose records write a node whole, or remove it."""

    def __init__(self) -> None:
        self.nodes: dict[Path, Mapping[str, Any]] = {}

    @abstractmethod
    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        """The node that a record writes and its fields, None where it removes it."""

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        found = self.written(name, fields)
        if found is not None:
            path, after = found
            before = self.nodes.get(path)
            yield Effect((*self.root, *path), before, after)
            if after is None:
                self.nodes.pop(path, None)
            else:
                self.nodes[path] = after


class Features(KeyedHistory):
    records = ("FeatureLevelRecord",)
    root = ("image", "features")

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        feature, level = fields["name"], fields["feature_level"]
        if feature == KRAFT_VERSION:
            return None
        if feature == METADATA_VERSION:
            return ("metadataVersion",), {"": metadata_version_name(level)} if level else None
        return (f"finalized_{feature}",), {"": level} if level else None


class ProducerIds(KeyedHistory):
    records = ("ProducerIdsRecord",)
    root = ("image", "producerIds")

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        return ("nextProducerId",), {"": fields["next_producer_id"]}


class Controllers(KeyedHistory):
    records = ("RegisterControllerRecord", "UnregisterControllerRecord")
    root = ("image", "cluster", "controllers")

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        path = (str(fields["controller_id"]),)
        if name == "UnregisterControllerRecord":
            return path, None
        return path, {
            "incarnationId": uuid_text(fields["incarnation_id"]),
            "zkMigrationReady": fields["zk_migration_ready"],
            "listeners": _listeners(fields["end_points"]),
            "supportedFeatures": _features(fields["features"]),
        }


class Acls(KeyedHistory):
    records = ("AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
    root = ("image", "acls", "byId")

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        path = (uuid_text(fields["id"]),)
        if name == "RemoveAccessControlEntryRecord":
            return path, None
        return path, {
            "resourceType": code_name(RESOURCE_TYPES, fields["resource_type"]),
            "resourceName": fields["resource_name"],
            "patternType": code_name(PATTERN_TYPES, fields["pattern_type"]),
            "principal": fields["principal"],
            "host": fields["host"],
            "operation": code_name(OPERATIONS, fields["operation"]),
            "permissionType": code_name(PERMISSION_TYPES, fields["permission_type"]),
        }


class Scram(KeyedHistory):
    records = ("UserScramCredentialRecord", "RemoveUserScramCredentialRecord")
    root = ("image", "scram")

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        mechanism = SCRAM_MECHANISMS.get(fields["mechanism"])
        if mechanism is None:
            return None
        path = (mechanism, fields["name"])
        if name == "RemoveUserScramCredentialRecord":
            return path, None
        return path, {
            "salt": _Secret(fields["salt"].hex(), self._redaction),
            "storedKey": _Secret(fields["stored_key"].hex(), self._redaction),
            "serverKey": _Secret(fields["server_key"].hex(), self._redaction),
            "iterations": fields["iterations"],
        }


class Tokens(KeyedHistory):
    records = ("DelegationTokenRecord", "RemoveDelegationTokenRecord")
    root = ("image", "delegationToken")

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        path = (fields["token_id"],)
        if name == "RemoveDelegationTokenRecord":
            return path, None
        names = {
            "owner": "owner",
            "tokenRequester": "requester",
            "renewers": "renewers",
            "issueTimestamp": "issue_timestamp",
            "maxTimestamp": "max_timestamp",
            "expiryTimestamp": "expiration_timestamp",
        }
        return path, {
            shown: _Secret(str(fields[column]), self._redaction) for shown, column in names.items()
        }


class Quotas(KeyedHistory):
    records = ("ClientQuotaRecord",)
    root = ("image", "clientQuotas")

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        pairs = ((e["entity_type"], e["entity_name"]) for e in fields["entity"])
        path = (entity_name(pairs), fields["key"])
        return path, None if fields["remove"] else {"": fields["value"]}


class Configs(KeyedHistory):
    """Config values; removing a topic takes those of its name along."""

    records = ("ConfigRecord", "TopicRecord", "RemoveTopicRecord")
    root = ("image", "configs")

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction
        self._topics: dict[bytes, str] = {}

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        kind, resource = resource_type_name(fields["resource_type"]), fields["resource_name"]
        path = (f"{kind}:{resource}" if resource else kind, fields["name"])
        value = fields["value"]
        if value is None:
            return path, None
        hidden = self._redaction.hides_config(kind, fields["name"])
        return path, {"": _Secret(value, self._redaction) if hidden else value}

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        if name == "ConfigRecord":
            yield from super().apply(name, fields)
        elif name == "TopicRecord":
            self._topics[fields["topic_id"]] = fields["name"]
        else:
            resource = f"TOPIC:{self._topics.pop(fields['topic_id'], '')}"
            for path in [path for path in self.nodes if path[0] == resource]:
                yield Effect((*self.root, *path), self.nodes.pop(path), None)


class Brokers(PartHistory):
    """Registrations; fencing and changes must name the registered epoch."""

    records = (
        "RegisterBrokerRecord",
        "UnregisterBrokerRecord",
        "FenceBrokerRecord",
        "UnfenceBrokerRecord",
        "BrokerRegistrationChangeRecord",
    )
    root = ("image", "cluster", "brokers")

    def __init__(self) -> None:
        self._brokers: dict[int, dict[str, Any]] = {}

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        node = fields["broker_id"] if "broker_id" in fields else fields["id"]
        epoch = fields["broker_epoch"] if "broker_epoch" in fields else fields["epoch"]
        path, before = (*self.root, str(node)), self._brokers.get(node)
        if name == "UnregisterBrokerRecord":
            self._brokers.pop(node, None)
            yield Effect(path, before, None)
            return
        if name == "RegisterBrokerRecord":
            after = _registration(fields)
        else:
            known = before or {"epoch": UNKNOWN}
            if known["epoch"] is not UNKNOWN and known["epoch"] != epoch:
                why = f"it names epoch {epoch}, the broker has {known['epoch']}"
                yield Effect(path, before, before, why)
                return
            after = {**known, **_broker_change(name, fields)}
        yield Effect(path, before, after)
        self._brokers[node] = after


class Quorum(KeyedHistory):
    """The control records: who leads, who votes, kraft.version."""

    records = ("LeaderChangeMessage", "VotersRecord", "KRaftVersionRecord")
    root = ("quorum",)

    def written(self, name: str, fields: Fields) -> tuple[Path, Mapping[str, Any] | None] | None:
        if name == "LeaderChangeMessage":
            return ("leader",), {"": fields["leader_id"]}
        if name == "KRaftVersionRecord":
            return ("kraft.version",), {"": fields["k_raft_version"]}
        voters = [f"{v['voter_id']}:{uuid_text(v['voter_directory_id'])}" for v in fields["voters"]]
        return ("voters",), {"": sorted(voters)}


class Topics(PartHistory):
    """Topics and their partitions, under ``byName`` or ``byId``."""

    records = (
        "TopicRecord",
        "RemoveTopicRecord",
        "PartitionRecord",
        "PartitionChangeRecord",
        "ClearElrRecord",
    )

    def __init__(self, by: str) -> None:
        self.by = by
        self.root = ("image", "topics", by)
        self._names: dict[bytes, str] = {}
        self._partitions: dict[bytes, dict[int, dict[str, Any]]] = {}

    def name_topics(self, names: Mapping[bytes, str]) -> None:
        """Tell names of topics whose records come later or not at all."""
        for topic_id, name in names.items():
            self._names.setdefault(topic_id, name)

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        if name == "ClearElrRecord":
            yield from self._clear(fields["topic_name"])
            return
        topic_id = fields["topic_id"]
        if name == "TopicRecord":
            self._names[topic_id] = fields["name"]
        if self.by == "byId":
            path = (*self.root, uuid_text(topic_id))
        else:
            path = (*self.root, self._names.get(topic_id, f"<topic id {uuid_text(topic_id)}>"))
        if name == "TopicRecord":
            yield from self._made(path, topic_id)
        elif name == "RemoveTopicRecord":
            yield from self._removed(path, topic_id)
        else:
            partitions = self._partitions.setdefault(topic_id, {})
            partition = fields["partition_id"]
            before = partitions.get(partition)
            after = _made(fields) if name == "PartitionRecord" else _changed(before, fields)
            leaf = (*path, str(partition))
            if isinstance(after, str):
                yield Effect(leaf, before, before, after)
            else:
                yield Effect(leaf, before, after)
                partitions[partition] = after

    def _made(self, path: Path, topic_id: bytes) -> Iterator[Effect]:
        shown = {"id": uuid_text(topic_id), "name": self._names[topic_id]}
        if self.in_checkpoint and topic_id in self._partitions:
            return
        yield Effect(path, None, shown)
        self._partitions[topic_id] = {}

    def _removed(self, path: Path, topic_id: bytes) -> Iterator[Effect]:
        partitions = self._partitions.pop(topic_id, {})
        shown = {"id": uuid_text(topic_id), "partitions": len(partitions) or UNKNOWN}
        yield Effect(path, shown, None)
        for partition, before in partitions.items():
            yield Effect((*path, str(partition)), before, None)

    def _clear(self, name: str) -> Iterator[Effect]:
        for topic_id, partitions in self._partitions.items():
            if name and self._names.get(topic_id) != name:
                continue
            key = uuid_text(topic_id) if self.by == "byId" else self._names.get(topic_id, "?")
            for partition, before in partitions.items():
                if before["elr"] == [] and before["lastKnownElr"] == []:
                    continue
                after = {**before, "elr": [], "lastKnownElr": []}
                after["partitionEpoch"] = _plus_one(before["partitionEpoch"])
                yield Effect((*self.root, key, str(partition)), before, after)
                partitions[partition] = after


_LISTS: Final = {
    "replicas": "replicas",
    "isr": "isr",
    "removingReplicas": "removing_replicas",
    "addingReplicas": "adding_replicas",
    "elr": "eligible_leader_replicas",
    "lastKnownElr": "last_known_elr",
}
_RECOVERY: Final = {0: "RECOVERED", 1: "RECOVERING"}


def _made(fields: Fields) -> dict[str, Any] | str:
    replicas = fields["replicas"] or []
    directories = _directories(fields["directories"], replicas)
    recovery = fields["leader_recovery_state"]
    if directories is None:
        return "it has not as many directories as replicas"
    if recovery not in _RECOVERY:
        return f"leader recovery state {recovery}"
    return {
        "leader": fields["leader"],
        **{shown: fields[column] or [] for shown, column in _LISTS.items()},
        "directories": directories,
        "leaderRecoveryState": _RECOVERY[recovery],
        "leaderEpoch": fields["leader_epoch"],
        "partitionEpoch": fields["partition_epoch"],
    }


_NOTHING_KNOWN: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        "leader",
        *_LISTS,
        "directories",
        "leaderRecoveryState",
        "leaderEpoch",
        "partitionEpoch",
    ),
    UNKNOWN,
)


def _changed(before: Mapping[str, Any] | None, fields: Fields) -> dict[str, Any] | str:
    """The partition after a PartitionChangeRecord, or why that does not count."""
    after = dict(_NOTHING_KNOWN if before is None else before)
    for shown, column in _LISTS.items():
        if fields[column] is not None:
            after[shown] = fields[column]
    recovery = fields["leader_recovery_state"]
    if recovery not in (-1, 0, 1):
        return f"leader recovery state {recovery}"
    if recovery != -1:
        after["leaderRecoveryState"] = _RECOVERY[recovery]
    given = fields["directories"]
    if given is not None or fields["replicas"] is not None:
        old = None if after["directories"] is UNKNOWN else after["directories"]
        texts = old if given is None else [uuid_text(d) for d in given]
        if after["replicas"] is not UNKNOWN and texts is not None:
            migrating = uuid_text(MIGRATING)
            if all(text == migrating for text in texts):
                texts = [migrating] * len(after["replicas"])
            if len(texts) != len(after["replicas"]):
                return "it has not as many directories as replicas"
        if texts is not None:
            after["directories"] = texts
    if fields["leader"] != -2:
        after["leader"] = fields["leader"]
        after["leaderEpoch"] = _plus_one(after["leaderEpoch"])
    after["partitionEpoch"] = _plus_one(after["partitionEpoch"])
    return after


def _plus_one(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    return (int(value) + 1 + 2**31) % 2**32 - 2**31


def _directories(given: list[bytes] | None, replicas: list[int]) -> list[str] | None:
    """Directory ids, MIGRATING for each replica where none are known; None for a misfit."""
    if not given or not any(map(any, given)):
        return [uuid_text(MIGRATING)] * len(replicas)
    return [uuid_text(d) for d in given] if len(given) == len(replicas) else None


def _listeners(endpoints: list[Fields] | None) -> list[str]:
    return sorted(f"{e['name']}://{e['host']}:{e['port']}" for e in endpoints or ())


def _features(features: list[Fields] | None) -> dict[str, list[int]]:
    return {
        f["name"]: [f["min_supported_version"], f["max_supported_version"]]
        for f in sorted(features or (), key=lambda f: str(f["name"]))
    }


def _registration(fields: Fields) -> dict[str, Any]:
    cordoned = fields["cordoned_log_dirs"]
    return {
        "epoch": fields["broker_epoch"],
        "incarnationId": uuid_text(fields["incarnation_id"]),
        "listeners": _listeners(fields["end_points"]),
        "supportedFeatures": _features(fields["features"]),
        "rack": fields["rack"],
        "fenced": fields["fenced"],
        "inControlledShutdown": fields["in_controlled_shutdown"],
        "directories": sorted(uuid_text(d) for d in fields["log_dirs"] or ()),
        "cordonedDirectories": None if cordoned is None else sorted(map(uuid_text, cordoned)),
    }


def _broker_change(name: str, fields: Fields) -> dict[str, Any]:
    if name != "BrokerRegistrationChangeRecord":
        return {"fenced": name == "FenceBrokerRecord"}
    change: dict[str, Any] = {}
    if fields["fenced"]:
        change["fenced"] = fields["fenced"] == 1
    if fields["in_controlled_shutdown"] == 1:
        change["inControlledShutdown"] = True
    if fields["log_dirs"]:
        change["directories"] = sorted(map(uuid_text, fields["log_dirs"]))
    if fields["cordoned_log_dirs"] is not None:
        change["cordonedDirectories"] = sorted(map(uuid_text, fields["cordoned_log_dirs"]))
    return change


class _Secret(str):
    """A secret that is compared by its value and shown as the policy says."""

    shown: str

    def __new__(cls, value: str, redaction: Redaction) -> _Secret:
        made = super().__new__(cls, value)
        made.shown = str(redaction.secret(value))
        return made


def shown_value(value: Any) -> Any:
    """A value as it may be shown: secrets hidden, what is not known as ``?``."""
    if isinstance(value, _Secret):
        return value.shown
    return str(value) if value is UNKNOWN else value


def part_histories(redaction: Redaction) -> list[PartHistory]:
    """A fresh state machine for each part."""
    return [
        Features(),
        ProducerIds(),
        Controllers(),
        Brokers(),
        Acls(),
        Scram(redaction),
        Tokens(redaction),
        Quotas(),
        Configs(redaction),
        Quorum(),
    ]
