"""The effects of a record on the nodes that it concerns: one small state machine for each part.

Given records in replay order, as dicts, each part keeps what it knows of its nodes and tells what
each record changed from what to what. Records before the oldest checkpoint meet nodes of which
nothing is known yet; what they were before is then `UNKNOWN`.

Source: the XDelta classes of org.apache.kafka.image; PartitionRegistration.merge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.parts.known import all_parts
from metashell.parts.partition_fields import (
    BROKER_LISTS,
    KAFKA_NAMES,
    LISTS,
    RECOVERY_STATES,
)
from metashell.parts.spec import PartSpec, hook
from metashell.parts.view import SecretValue, view_of
from metashell.redact import Redaction
from metashell.schema.model import Registry
from metashell.schema.uuids import MIGRATING, uuid_text

Fields = Mapping[str, Any]
Path = tuple[str, ...]

IMAGE: Final = "image"
"""The directory that parts are below."""


class _Unknown:
    """The value of a field that no record at hand tells."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN: Final = _Unknown()


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a record on a node: ``before`` or ``after`` is None where there is no node.

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
    is_meant: Callable[[Path], bool] = staticmethod(lambda _: True)
    """Whether a node is asked for; others need not be followed."""
    is_complete = False
    """Whether all that could be there is known when the next record comes."""
    in_checkpoint = False
    """Whether the record that comes next is part of a checkpoint: a state, not a change."""
    place: tuple[int, int, int] = (-1, -1, -1)
    """Offset, leader epoch and time (ms) of the record that comes next."""

    @abstractmethod
    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        """Follow one record."""


class KeyedHistory(PartHistory):
    """A part whose records write a node whole, or remove it, as its declaration says."""

    def __init__(self, part: PartSpec, registry: Registry, redaction: Redaction) -> None:
        self.view, self._redaction = view_of(part, registry), redaction
        self.records = part.messages
        self.root = (IMAGE, *part.path)
        self.nodes: dict[Path, Mapping[str, Any]] = {}

    def written(self, name: str, fields: Fields) -> Mapping[str, Any] | None:
        """The fields of the node that a record writes; None where it removes it."""
        put = self.view.spec.put
        removes = name != put.message or (
            put.removing_column is not None and fields[put.removing_column] == put.removing_value
        )
        return None if removes else self.view.told(fields, self._redaction)

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        path = self.view.names_of(self.view.key_of(fields))
        if path is not None and self.is_meant((*self.root, *path)):
            before, after = self.nodes.get(path), self.written(name, fields)
            refused = None if after is not None or before is not None else self._refused(name)
            yield Effect((*self.root, *path), before, after, refused)
            if after is None:
                self.nodes.pop(path, None)
            else:
                self.nodes[path] = after

    def _refused(self, name: str) -> str | None:
        """Why a record does not count that removes what is not there; None where it does."""
        remove = self.view.spec.remove
        if not self.is_complete or remove is None or remove.message != name:
            return None
        return remove.unknown


class FeatureHistory(KeyedHistory):
    """Levels of features; that of metadata.version is told by its release."""

    def written(self, name: str, fields: Fields) -> Mapping[str, Any] | None:
        found = super().written(name, fields)
        if found is None or fields["name"] != METADATA_VERSION:
            return found
        return {"": metadata_version_name(fields["feature_level"])}


class ConfigHistory(KeyedHistory):
    """Config values; removing a topic takes those of its name along."""

    def __init__(self, part: PartSpec, registry: Registry, redaction: Redaction) -> None:
        super().__init__(part, registry, redaction)
        self._topics: dict[bytes, str] = {}

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        if name == "ConfigRecord":
            yield from super().apply(name, fields)
        elif name == "TopicRecord":
            self._topics[fields["topic_id"]] = fields["name"]
        else:
            resource = f"TOPIC:{self._topics.pop(fields['topic_id'], '')}"
            for path in [path for path in self.nodes if path[0] == resource]:
                yield Effect((*self.root, *path), self.nodes.pop(path), None)


class BrokerHistory(KeyedHistory):
    """Registrations; fencing and changes must name the registered epoch."""

    def __init__(self, part: PartSpec, registry: Registry, redaction: Redaction) -> None:
        super().__init__(part, registry, redaction)
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
            after = dict(self.view.told(fields, self._redaction))
        else:
            known = before or {"epoch": UNKNOWN}
            if known["epoch"] is not UNKNOWN and known["epoch"] != epoch:
                why = f"it names epoch {epoch}, the broker has {known['epoch']}"
                yield Effect(path, before, before, why)
                return
            after = {**known, **_broker_change(name, fields)}
        yield Effect(path, before, after)
        self._brokers[node] = after


class ProvenanceHistory(PartHistory):
    """The last record: each one changes it."""

    root = (IMAGE, "provenance")

    def __init__(self, registry: Registry) -> None:
        self.records = tuple(registry.by_name)
        self._last: Fields | None = None

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        before, self._last = self._last, dict(zip(_PROVENANCE, self.place, strict=True))
        yield Effect(self.root, before, self._last)


_PROVENANCE: Final = ("offset", "epoch", "timestampMs")


class QuorumHistory(PartHistory):
    """The control records: who leads, who votes, kraft.version.

    A record is told once: of the nodes that it changes, those below one that is told are not.
    """

    root = ("quorum",)

    def __init__(self, part: PartSpec, _registry: Registry, _redaction: Redaction) -> None:
        self.records = part.messages
        self._known: dict[Path, Mapping[str, Any]] = {}
        self._is_static = True

    def apply(self, name: str, fields: Fields) -> Iterator[Effect]:
        if name == "KRaftVersionRecord":
            yield self._set(("kraft.version",), {"": fields["k_raft_version"]})
        elif name == "VotersRecord":
            self._is_static = False
            yield from self._voters(
                {str(v["voter_id"]): uuid_text(v["voter_directory_id"]) for v in fields["voters"]}
            )
        else:
            yield from self._elected(fields)

    def _elected(self, fields: Fields) -> Iterator[Effect]:
        """Who leads; of a static quorum, no other record tells who votes."""
        leader, (offset, epoch, _) = fields["leader_id"], self.place
        leading = self._set(("leader",), {"": leader})
        if self.is_meant(leading.path):
            yield leading
            return
        yield self._set(("leaderEpoch",), {"": epoch})
        yield self._set(("epochs", str(epoch)), {"startOffset": offset, "leader": leader})
        if self._is_static:
            yield from self._voters({str(v["voter_id"]): None for v in fields["voters"]})

    def _voters(self, directories: Mapping[str, str | None]) -> Iterator[Effect]:
        """All voters in one, or each by itself; those that are gone are removed."""
        texts = [v if d is None else f"{v}:{d}" for v, d in directories.items()]
        whole = self._set(("voters",), {"": sorted(texts)})
        if self.is_meant(whole.path):
            yield whole
            return
        gone = [path[1] for path in self._known if path[:1] == ("voters",) and len(path) > 1]
        for voter in dict.fromkeys([*gone, *directories]):
            after = {"directoryId": directories[voter]} if voter in directories else None
            yield self._set(("voters", voter), after)

    def _set(self, names: Path, after: Mapping[str, Any] | None) -> Effect:
        before = self._known.pop(names, None)
        if after is not None:
            self._known[names] = after
        return Effect((*self.root, *names), before, after)


class TopicHistory(PartHistory):
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
        self._made_here: set[bytes] = set()
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
            # Records before the checkpoint may have changed partitions of a topic without its own.
            yield from self._texts(path, shown if topic_id in self._made_here else None, shown)
            return
        self._made_here.add(topic_id)
        yield Effect(path, None, shown)
        yield from self._texts(path, None, shown)
        # The topics stand in the order in which they were made.
        self._partitions.pop(topic_id, None)
        self._partitions[topic_id] = {}

    def _removed(self, path: Path, topic_id: bytes) -> Iterator[Effect]:
        partitions = self._partitions.pop(topic_id, {})
        shown = {"id": uuid_text(topic_id), "partitions": len(partitions) or UNKNOWN}
        yield Effect(path, shown, None)
        known = {"id": shown["id"], "name": self._names.get(topic_id, UNKNOWN)}
        yield from self._texts(path, known, None)
        for partition, before in partitions.items():
            yield Effect((*path, str(partition)), before, None)

    def _texts(self, path: Path, before: Fields | None, after: Fields | None) -> Iterator[Effect]:
        """A topic's own leaves, where the topic itself is not told."""
        if self.is_meant(path):
            return
        for name in ("id", "name"):
            old, new = (
                None if fields is None else {"": fields[name]} for fields in (before, after)
            )
            yield Effect((*path, name), old, new)

    def _clear(self, name: str) -> Iterator[Effect]:
        topics = [topic for topic in self._partitions if self._names.get(topic) == name]
        # A name means the topic that was made last of those that have it.
        for topic_id in topics[-1:] if name else self._partitions:
            partitions = self._partitions[topic_id]
            key = uuid_text(topic_id) if self.by == "byId" else self._names.get(topic_id, "?")
            for partition, before in partitions.items():
                if before["elr"] == [] and before["lastKnownElr"] == []:
                    continue
                after = {**before, "elr": [], "lastKnownElr": []}
                after["partitionEpoch"] = _plus_one(before["partitionEpoch"])
                yield Effect((*self.root, key, str(partition)), before, after)
                partitions[partition] = after


_LISTS: Final = {KAFKA_NAMES[name]: LISTS[name] for name in BROKER_LISTS}
_RECOVERY: Final = dict(enumerate(RECOVERY_STATES))


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
    ("leader", *_LISTS, *KAFKA_NAMES.values()), UNKNOWN
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


def shown_value(value: Any) -> Any:
    """A value as it may be shown: secrets hidden, what is not known as ``?``."""
    return str(value) if value is UNKNOWN or isinstance(value, SecretValue) else value


def part_histories(registry: Registry, redaction: Redaction) -> list[PartHistory]:
    """A fresh state machine for each part, but for the topics'."""
    histories: list[PartHistory] = []
    for part in all_parts():
        if part.history or (part.path and not part.by_topic):
            follow = hook(part.history) if part.history else KeyedHistory
            histories.append(follow(part, registry, redaction))
    return histories
