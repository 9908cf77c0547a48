"""Stories of a cluster: long sequences of records that mostly make sense, made from a seed.

Few topics, brokers and keys, so that records meet. Hypothesis draws short stories with odd values;
these are long enough for every rule of the replay to have been at work.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from metashell.schema.encode import encode_record
from support.strategies import builtin_registry

DIRECTORIES = [bytes([9]) * 16, bytes([200]) * 16, bytes(15) + b"\x01"]
MIGRATING = bytes(16)
TOPIC_IDS = [bytes([i]) * 16 for i in (1, 2, 3)]


class Teller:
    """Tells one story.

    Args:
        seed: Which.
        transactions: Whether records may be in transactions.
    """

    def __init__(self, seed: int, *, transactions: bool = True) -> None:
        self.random = Random(seed)
        self.topics: dict[bytes, set[int]] = {}
        self.epochs: dict[int, int] = {}
        self.transactions = transactions
        self.in_transaction = False

    def tell(self, length: int) -> list[bytes]:
        """Make the records."""
        kinds: dict[Callable[[], bytes], int] = {
            self._topic: 3,
            self._remove_topic: 2,
            self._partition: 8,
            self._change: 24,
            self._clear: 5,
            self._register: 3,
            self._about_broker: 8,
            self._controller: 1,
            self._config: 6,
            self._quota: 4,
            self._feature: 2,
            self._security: 5,
        }
        if self.transactions:
            kinds[self._marker] = 2
        chosen = self.random.choices(list(kinds), list(kinds.values()), k=length)
        return [tell() for tell in chosen]

    def _record(self, name: str, /, **fields: object) -> bytes:
        spec = builtin_registry().by_name[name]
        version = spec.versions.high
        if self._chance(0.15):
            version = self.random.randint(spec.versions.low, spec.versions.high)
        known = {f.column_name for f in spec.fields if version in f.versions}
        return encode_record(spec, version, {k: v for k, v in fields.items() if k in known})

    def _chance(self, of: float) -> bool:
        return self.random.random() < of

    def _nodes(self) -> list[int]:
        return self.random.sample([1, 2, 3, 4], self.random.choice([0, 1, 2, 2, 3]))

    def _maybe_nodes(self, of: float = 0.3) -> list[int] | None:
        return self._nodes() if self._chance(of) else None

    def _directories(self, n: int) -> list[bytes]:
        """Directories for n replicas: known, unknown, or not as many."""
        match self.random.choice(
            ["fit", "fit", "fit", "migrating", "none", "odd", "odd migrating"]
        ):
            case "fit":
                return [self.random.choice([*DIRECTORIES, MIGRATING]) for _ in range(n)]
            case "migrating":
                return [MIGRATING] * n
            case "none":
                return []
            case "odd":
                return [self.random.choice(DIRECTORIES) for _ in range(n + 1)]
            case _:
                return [MIGRATING] * (n + 1)

    def _topic_id(self) -> bytes:
        if self.topics and self._chance(0.9):
            return self.random.choice(sorted(self.topics))
        return self.random.choice(TOPIC_IDS)

    def _topic(self) -> bytes:
        gone = [i for i in TOPIC_IDS if i not in self.topics]
        topic_id = self.random.choice(gone if gone and self._chance(0.9) else TOPIC_IDS)
        self.topics[topic_id] = set()
        return self._record("TopicRecord", name=self.random.choice("aab"), topic_id=topic_id)

    def _remove_topic(self) -> bytes:
        topic_id = self._topic_id()
        self.topics.pop(topic_id, None)
        return self._record("RemoveTopicRecord", topic_id=topic_id)

    def _partition(self) -> bytes:
        topic_id, number = self._topic_id(), self.random.choice([0, 0, 1, 2, -1])
        self.topics.get(topic_id, set()).add(number)
        nodes = self._nodes()
        return self._record(
            "PartitionRecord",
            partition_id=number,
            topic_id=topic_id,
            replicas=nodes,
            isr=self._nodes(),
            removing_replicas=self._nodes(),
            adding_replicas=self._nodes(),
            leader=self.random.randint(-1, 4),
            leader_recovery_state=self.random.choice([0] * 9 + [1, 2]),
            leader_epoch=self.random.choice([0, 7, 2**31 - 1]),
            partition_epoch=self.random.choice([0, 3, 2**31 - 1]),
            directories=self._directories(len(nodes)),
            eligible_leader_replicas=self._maybe_nodes(0.5),
            last_known_elr=self._maybe_nodes(0.5),
        )

    def _change(self) -> bytes:
        topic_id = self._topic_id()
        numbers = sorted(self.topics.get(topic_id, ())) or [0]
        replicas = self._maybe_nodes(0.2)
        directories = None
        if self._chance(0.7 if replicas is not None else 0.1):
            directories = self._directories(2 if replicas is None else len(replicas))
        return self._record(
            "PartitionChangeRecord",
            partition_id=self.random.choice(numbers) if self._chance(0.95) else 7,
            topic_id=topic_id,
            isr=self._maybe_nodes(),
            leader=self.random.choice([-2, -2, -1, 1, 2]),
            replicas=replicas,
            removing_replicas=self._maybe_nodes(0.1),
            adding_replicas=self._maybe_nodes(0.1),
            leader_recovery_state=self.random.choice([-1] * 12 + [0, 1, 2, -2]),
            directories=directories,
            eligible_leader_replicas=self._maybe_nodes(),
            last_known_elr=self._maybe_nodes(),
        )

    def _clear(self) -> bytes:
        return self._record(
            "ClearElrRecord", topic_name=self.random.choice(["", "a", "a", "b", "c"])
        )

    def _register(self) -> bytes:
        node, epoch = self.random.randint(1, 3), self.random.randint(5, 7)
        self.epochs[node] = epoch
        return self._record(
            "RegisterBrokerRecord",
            broker_id=node,
            incarnation_id=self.random.choice(TOPIC_IDS),
            broker_epoch=epoch,
            fenced=self._chance(0.5),
            in_controlled_shutdown=self._chance(0.3),
            log_dirs=self.random.choice([[], DIRECTORIES, DIRECTORIES[:1]]),
            cordoned_log_dirs=self.random.choice([None, [], DIRECTORIES[:1]]),
        )

    def _about_broker(self) -> bytes:
        node = self.random.randint(1, 3)
        epoch = self.epochs.get(node, 5) if self._chance(0.9) else 6
        match self.random.choice(["fence", "unfence", "change", "change", "change", "gone"]):
            case "fence":
                return self._record("FenceBrokerRecord", id=node, epoch=epoch)
            case "unfence":
                return self._record("UnfenceBrokerRecord", id=node, epoch=epoch)
            case "gone":
                return self._record("UnregisterBrokerRecord", broker_id=node, broker_epoch=epoch)
            case _:
                return self._record(
                    "BrokerRegistrationChangeRecord",
                    broker_id=node,
                    broker_epoch=epoch,
                    fenced=self.random.choice([-1, 0, 0, 1, 0, 2]),
                    in_controlled_shutdown=self.random.choice([0, 0, 0, 1, 0, 2]),
                    log_dirs=self.random.choice([[], [], DIRECTORIES[1:]]),
                    cordoned_log_dirs=self.random.choice([None, [], DIRECTORIES[1:]]),
                )

    def _controller(self) -> bytes:
        node = self.random.randint(1, 2)
        if self._chance(0.3):
            return self._record("UnregisterControllerRecord", controller_id=node)
        return self._record(
            "RegisterControllerRecord",
            controller_id=node,
            incarnation_id=self.random.choice(TOPIC_IDS),
            zk_migration_ready=self._chance(0.5),
        )

    def _config(self) -> bytes:
        return self._record(
            "ConfigRecord",
            resource_type=self.random.choice([2, 2, 2, 4]),
            resource_name=self.random.choice(["a", "a", "b", ""]),
            name=self.random.choice("xyz"),
            value=None if self._chance(0.3) else str(self.random.randint(0, 9)),
        )

    def _quota(self) -> bytes:
        kinds = self.random.choices(["user", "client-id", "ip"], k=self.random.randint(0, 3))
        return self._record(
            "ClientQuotaRecord",
            entity=[
                {"entity_type": k, "entity_name": self.random.choice([None, "u", "v"])}
                for k in kinds
            ],
            key=self.random.choice("kl"),
            value=self.random.random() * 100,
            remove=self._chance(0.3),
        )

    def _feature(self) -> bytes:
        if self._chance(0.3):
            return self._record("ProducerIdsRecord", next_producer_id=self.random.randint(0, 999))
        return self._record(
            "FeatureLevelRecord",
            name=self.random.choice(["metadata.version", "kraft.version", "g"]),
            feature_level=self.random.choice([0, 1, 25, 33, 99]),
        )

    def _security(self) -> bytes:
        user, acl_id = self.random.choice("uv"), self.random.choice(TOPIC_IDS)
        mechanism = self.random.choice([1, 2, 3])
        match self.random.randint(0, 7):
            case 0 | 1:
                principal = self.random.choice(["User:u", "User:v"])
                fields = {"id": acl_id, "principal": principal, "host": "*", "operation": 3}
                return self._record("AccessControlEntryRecord", **fields)
            case 2:
                return self._record("RemoveAccessControlEntryRecord", id=acl_id)
            case 3 | 4:
                salt = self.random.randbytes(2)
                return self._record(
                    "UserScramCredentialRecord", name=user, mechanism=mechanism, salt=salt
                )
            case 5:
                return self._record(
                    "RemoveUserScramCredentialRecord", name=user, mechanism=mechanism
                )
            case 6:
                owner = self.random.choice(["User:u", "User:v", "no principal"])
                fields = {"owner": owner, "requester": "User:u", "token_id": user}
                return self._record("DelegationTokenRecord", **fields)
            case _:
                return self._record("RemoveDelegationTokenRecord", token_id=user)

    def _marker(self) -> bytes:
        kinds = ["EndTransactionRecord", "AbortTransactionRecord"]
        likely = self.random.choice(kinds) if self.in_transaction else "BeginTransactionRecord"
        name = (
            likely if self._chance(0.9) else self.random.choice([*kinds, "BeginTransactionRecord"])
        )
        self.in_transaction = name == "BeginTransactionRecord"
        return self._record(name)
