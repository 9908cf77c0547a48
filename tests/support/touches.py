"""Which record made and last touched each node, by a replay one by one: slow and obvious.

Stands on the replay of `support.replay`; of the product's folds it uses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metashell.schema.model import load_registry
from metashell.schema.uuids import uuid_text
from support.replay import (
    CONFIG_TYPES,
    SCRAM_TYPES,
    Base,
    Fields,
    State,
    _committed,
    _counted,
    _Replayer,
    entity_name,
)

Place = tuple[str, int]
Path = tuple[str, ...]


class Touches:
    """Places (file and offset) of records by the path of what they made or last changed.

    ``created``: of leaves and of topics' directories; ``changed``: of every node below ``/image``.
    """

    def __init__(
        self, base: Base | None, base_file: str, segments: Sequence[tuple[str, bytes]]
    ) -> None:
        self.created: dict[Path, Place] = {}
        self.changed: dict[Path, Place] = {}
        faults: set[Place] = set()
        counted = list(_counted(load_registry(), base, base_file, segments))
        applied, begun = _committed(counted, faults)
        self.last = counted[:begun][-1].place
        replayer = _Replayer()
        for record in applied:
            if record.name is None or record.plain.batch.is_control:
                continue
            before = len(replayer.faults)
            gone = list(self._removed(record.name, record.fields, replayer.state))
            touched = list(self._cleared(record.name, record.fields, replayer.state))
            replayer.apply(record)
            if len(replayer.faults) > before:
                continue
            for path in gone:
                self._remove(path, record.place)
            touched += self._written(record.name, record.fields, replayer.state)
            for path in touched:
                self._touch(path, record.place)
        self._touch(("provenance",), self.last)

    def _touch(self, path: Path, place: Place) -> None:
        self.created.setdefault(path, place)
        for n in range(len(path) + 1):
            self.changed[path[:n]] = place

    def _remove(self, path: Path, place: Place) -> None:
        """Forget a node and all below it; its parents are changed."""
        for known in (self.created, self.changed):
            for other in [p for p in known if p[: len(path)] == path]:
                del known[other]
        for n in range(len(path)):
            self.changed[path[:n]] = place

    def _topic_places(self, topic_id: bytes, name: str) -> list[Path]:
        return [("topics", "byId", uuid_text(topic_id)), ("topics", "byName", name)]

    def _removed(self, name: str, r: Fields, state: State) -> Iterator[Path]:
        """What a record takes away, told before it is applied."""
        if name == "RemoveTopicRecord" and r["topic_id"] in state.topics:
            topic = state.topics[r["topic_id"]].name
            yield from self._topic_places(r["topic_id"], topic)
            if state.configs.get((2, topic)):
                yield "configs", f"TOPIC:{topic}"
        elif name == "UnregisterBrokerRecord":
            yield "cluster", "brokers", str(r["broker_id"])
        elif name == "UnregisterControllerRecord":
            yield "cluster", "controllers", str(r["controller_id"])
        elif name == "ConfigRecord" and r["value"] is None:
            yield *_config(r), r["name"]
        elif name == "ClientQuotaRecord" and r["remove"]:
            yield *_entity(r), r["key"]
        elif name == "RemoveAccessControlEntryRecord":
            yield "acls", "byId", uuid_text(r["id"])
        elif name == "RemoveUserScramCredentialRecord":
            yield "scram", SCRAM_TYPES[r["mechanism"]], r["name"]
        elif name == "RemoveDelegationTokenRecord":
            yield "delegationToken", r["token_id"]
        elif name == "FeatureLevelRecord" and r["feature_level"] == 0:
            yield "features", _feature(r["name"])

    def _cleared(self, name: str, r: Fields, state: State) -> Iterator[Path]:
        if name != "ClearElrRecord":
            return
        for topic_id, topic in state.topics.items():
            for number, partition in topic.partitions.items():
                some = partition.fields["eligible_leader_replicas"]
                if r["topic_name"] in ("", topic.name) and (
                    some or partition.fields["last_known_elr"]
                ):
                    for place in self._topic_places(topic_id, topic.name):
                        yield *place, str(number)

    def _written(self, name: str, r: Fields, state: State) -> Iterator[Path]:
        """What a record makes or changes, told after it was applied."""
        match name:
            case "TopicRecord":
                for place in self._topic_places(r["topic_id"], r["name"]):
                    yield from (place, (*place, "id"), (*place, "name"))
            case "PartitionRecord" | "PartitionChangeRecord":
                for place in self._topic_places(r["topic_id"], state.topics[r["topic_id"]].name):
                    yield *place, str(r["partition_id"])
            case "RegisterBrokerRecord" | "BrokerRegistrationChangeRecord":
                yield "cluster", "brokers", str(r["broker_id"])
            case "FenceBrokerRecord" | "UnfenceBrokerRecord":
                yield "cluster", "brokers", str(r["id"])
            case "RegisterControllerRecord":
                yield "cluster", "controllers", str(r["controller_id"])
            case "ConfigRecord" if r["value"] is not None:
                yield *_config(r), r["name"]
            case "ClientQuotaRecord" if not r["remove"]:
                yield *_entity(r), r["key"]
            case "ProducerIdsRecord":
                yield "producerIds", "nextProducerId"
            case "AccessControlEntryRecord":
                yield "acls", "byId", uuid_text(r["id"])
            case "UserScramCredentialRecord":
                yield "scram", SCRAM_TYPES[r["mechanism"]], r["name"]
            case "DelegationTokenRecord":
                yield "delegationToken", r["token_id"]
            case "FeatureLevelRecord" if r["feature_level"]:
                yield "features", _feature(r["name"])


def _config(r: Fields) -> Path:
    kind = CONFIG_TYPES.get(r["resource_type"], "UNKNOWN")
    return "configs", f"{kind}:{r['resource_name']}" if r["resource_name"] else kind


def _entity(r: Fields) -> Path:
    return "clientQuotas", entity_name({e["entity_type"]: e["entity_name"] for e in r["entity"]})


def _feature(name: str) -> str:
    return "metadataVersion" if name == "metadata.version" else f"finalized_{name}"
