"""A model of a KRaft quorum that speaks bytes: controllers with one log, elections, snapshots.

Owns what controllers answer, by Kafka's rules; knows neither sockets nor a real clock, so that the
same model serves a simulation (`tests/property/test_observer.py`) and a server on loopback
(`support.fake_server`). What goes wrong on purpose is in `support.fake_faults`.

Source: org.apache.kafka.raft.KafkaRaftClient, ReplicatedLog.validateOffsetAndEpoch,
LeaderEpochFileCache.endOffsetFor.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, control_batch
from metashell.quorum.protocol import TOPIC, TOPIC_ID, Api
from support.fake_habits import Habits
from support.logs import record

CLUSTER_ID: Final = "fake-quorum-cluster-id"
PORT: Final = 9093

Fields = dict[str, Any]
Id = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the log."""

    base: int
    last: int
    epoch: int
    data: bytes
    values: tuple[bytes, ...] = ()
    """Of its records; none of a control batch."""


class Controller:
    """A node: its log, its snapshots and what it believes of the quorum."""

    def __init__(self, quorum: FakeQuorum, node_id: int, habits: Habits) -> None:
        self.quorum, self.id, self.habits = quorum, node_id, habits
        self.host, self.port = f"controller-{node_id}", PORT
        """Where it listens, as others are told."""
        self.is_up = True
        self.is_stopping = False
        self.has_resigned = False
        """Whether it does not lead any more, and names itself as the leader (ResignedState)."""
        self.hangs = False
        """Whether it takes connections and says nothing, as a stopped process does."""
        self.epoch = 0
        self.leader_id: int | None = None
        self.high_watermark = -1
        self.log: list[Batch] = []
        self.start = 0
        self.snapshots: dict[Id, bytes] = {}
        """By (end offset, epoch)."""

    @property
    def leads(self) -> bool:
        """Whether it takes itself for the leader."""
        return self.leader_id == self.id

    @property
    def end(self) -> int:
        """The offset behind its last record."""
        return self.log[-1].last + 1 if self.log else self.start

    @property
    def last_epoch(self) -> int:
        """Of its last record."""
        return self.log[-1].epoch if self.log else max(self.snapshots, default=(0, 0))[1]

    # Kafka's rules.

    def answer(self, api: Api, version: int, body: Fields) -> Fields:
        """The answer to a request, at once."""
        answers = {
            Api.API_VERSIONS: self._api_versions,
            Api.FETCH: self._fetch,
            Api.FETCH_SNAPSHOT: self._fetch_snapshot,
            Api.DESCRIBE_QUORUM: self._describe_quorum,
            Api.DESCRIBE_CLUSTER: self._describe_cluster,
        }
        return {"throttle_time_ms": self.habits.throttle_ms, **answers[api](version, body)}

    def _api_versions(self, version: int, _body: Fields) -> Fields:
        low, high = self.habits.versions[Api.API_VERSIONS]
        versions: Mapping[int, tuple[int, int]] = self.habits.versions
        if not low <= version <= high:
            return {
                "error_code": 35,
                "api_keys": [_api_range(Api.API_VERSIONS, (low, high))],
            }
        return {"api_keys": [_api_range(api, r) for api, r in versions.items()]}

    def _leader(self) -> Fields:
        leader = -1 if self.leader_id is None else self.leader_id
        return {"leader_id": leader, "leader_epoch": self.epoch}

    def _endpoints(self) -> list[Fields]:
        leader = self.quorum.controllers.get(self.leader_id or -1)
        if leader is None:
            return []
        return [{"node_id": leader.id, "host": leader.host, "port": leader.port, "rack": None}]

    def _not_leader(self, epoch: int) -> int:
        if epoch != self.epoch:
            return 74 if epoch < self.epoch else 75
        if not self.leads or self.has_resigned:
            return 6
        return 8 if self.is_stopping else 0

    def _fetch(self, version: int, body: Fields) -> Fields:
        if body["cluster_id"] not in (None, self.quorum.cluster_id):
            return {"error_code": 104}
        if not self.habits.may_fetch:
            return {"error_code": 31}
        topic = body["topics"][0]
        asked = topic["partitions"][0]
        if self.habits.is_broker:
            return self._fetched(version, topic, {"error_code": 100, "high_watermark": -1})
        if (version >= 13 and topic["topic_id"] != TOPIC_ID) or (
            version < 13 and topic["topic"] != TOPIC
        ):
            return {"error_code": 42}
        epoch, offset, last = (
            asked[name] for name in ("current_leader_epoch", "fetch_offset", "last_fetched_epoch")
        )
        if offset < 0 or last < 0 or last > epoch or body["max_wait_ms"] < 0:
            return self._fetched(version, topic, {"error_code": 42, "high_watermark": -1})
        error = self._not_leader(epoch)
        if error:
            return self._fetched(version, topic, {"error_code": error, "high_watermark": -1})
        return self._fetched(version, topic, self._read(offset, last, asked["partition_max_bytes"]))

    def _fetched(self, version: int, topic: Fields, part: Fields) -> Fields:
        return {
            "responses": [
                {
                    "topic": TOPIC,
                    "topic_id": topic["topic_id"],
                    "partitions": [
                        {
                            "partition_index": 0,
                            "log_start_offset": self.start,
                            "current_leader": self._leader(),
                            "records": b"",
                            **part,
                        }
                    ],
                }
            ],
            "node_endpoints": self._endpoints() if version >= 17 else [],
        }

    def _read(self, offset: int, last: int, max_bytes: int) -> Fields:
        part: Fields = {"high_watermark": self.high_watermark}
        newest = max(self.snapshots, default=None)
        if (offset == 0 and newest is not None) or self._is_before_start(offset, last):
            assert newest is not None
            return part | {"snapshot_id": {"end_offset": newest[0], "epoch": newest[1]}}
        if self.start or offset:
            end, epoch = self._end_of_epoch(last)
            if epoch != last or end < offset:
                return part | {"diverging_epoch": {"epoch": epoch, "end_offset": end}}
        data = b"".join(b.data for b in self.log if b.last >= offset)
        first = next((len(b.data) for b in self.log if b.last >= offset), 0)
        return part | {"records": data[: max(first, min(max_bytes, self.habits.max_bytes))]}

    def _is_before_start(self, offset: int, epoch: int) -> bool:
        if not self.start:
            return False
        earliest = next(i for i in sorted(self.snapshots) if i[0] >= self.start)
        return (
            offset < self.start
            or (offset == self.start and epoch != earliest[1])
            or epoch < earliest[1]
        )

    def _end_of_epoch(self, epoch: int) -> Id:
        starts: dict[int, int] = {}
        for batch in self.log:
            starts.setdefault(batch.epoch, batch.base)
        if epoch == self.last_epoch or not any(e > epoch for e in starts):
            return self.end, self.last_epoch
        higher = starts[min(e for e in starts if e > epoch)]
        floor = max((e for e in starts if e <= epoch), default=None)
        return higher, epoch if floor is None else floor

    def _fetch_snapshot(self, _version: int, body: Fields) -> Fields:
        asked = body["topics"][0]["partitions"][0]
        found = (asked["snapshot_id"]["end_offset"], asked["snapshot_id"]["epoch"])
        data = self.snapshots.get(found, b"")
        pos = asked["position"]
        error = self._not_leader(asked["current_leader_epoch"])
        if not error:
            error = 98 if not data else 99 if not 0 <= pos < len(data) else 0
        if body["cluster_id"] not in (None, self.quorum.cluster_id):
            return {"error_code": 104}
        if error and self.habits.hides_snapshot_errors:
            return {"error_code": -1}
        piece = memoryview(data)[pos : pos + min(body["max_bytes"], self.habits.max_bytes)]
        part = {
            "index": 0,
            "error_code": error,
            "snapshot_id": dict(zip(("end_offset", "epoch"), found, strict=True)),
            "current_leader": self._leader(),
            "size": len(data),
            "position": pos,
            "unaligned_records": b"" if error else bytes(piece),
        }
        return {
            "topics": [{"name": TOPIC, "partitions": [part]}],
            "node_endpoints": [
                {name: node[name] for name in ("node_id", "host", "port")}
                for node in self._endpoints()
            ],
        }

    def _describe_quorum(self, _version: int, _body: Fields) -> Fields:
        if not self.habits.may_describe_quorum:
            return {"error_code": 31}
        part: Fields = {"partition_index": 0}
        if not self.leads or self.has_resigned:
            return {"topics": [{"topic_name": TOPIC, "partitions": [part | {"error_code": 6}]}]}
        voters = [
            {
                "replica_id": c.id,
                "replica_directory_id": self.quorum.directory_id(c.id),
                "log_end_offset": c.end,
                "last_fetch_timestamp": 1_790_000_000_000,
                "last_caught_up_timestamp": 1_790_000_000_000,
            }
            for c in self.quorum.controllers.values()
        ]
        part |= {
            **self._leader(),
            "high_watermark": self.high_watermark,
            "current_voters": voters,
        }
        nodes = [
            {
                "node_id": c.id,
                "listeners": [{"name": "CONTROLLER", "host": c.host, "port": c.port}],
            }
            for c in self.quorum.controllers.values()
        ]
        return {"topics": [{"topic_name": TOPIC, "partitions": [part]}], "nodes": nodes}

    def _describe_cluster(self, _version: int, body: Fields) -> Fields:
        if self.habits.is_broker and body["endpoint_type"] == 2:
            return {"error_code": 114, "error_message": "no controller", "cluster_id": ""}
        if not self.habits.may_describe_cluster:
            return {"error_code": 31, "cluster_id": ""}
        nodes = [
            {"broker_id": c.id, "host": c.host, "port": c.port}
            for c in self.quorum.controllers.values()
        ]
        return {"cluster_id": self.quorum.cluster_id, "endpoint_type": 2, "brokers": nodes}

    def is_worth_an_answer(self, version: int, body: Fields, answer: Fields) -> bool:
        """Whether a Fetch is answered before its time is over."""
        if answer.get("error_code"):
            return True
        part = answer["responses"][0]["partitions"][0]
        known = body["topics"][0]["partitions"][0]["high_watermark"]
        return bool(
            part.get("error_code")
            or part["records"]
            or "diverging_epoch" in part
            or "snapshot_id" in part
            or (version >= 18 and part["high_watermark"] > known)
        )


class FakeQuorum:
    """Controllers 1 to n with one replicated log; controller 1 leads at first.

    Whoever changes it while a server runs holds `changed`, as its methods do.
    """

    def __init__(self, n_controllers: int = 3, *, cluster_id: str = CLUSTER_ID) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.cluster_id = cluster_id
        self.controllers = {i: Controller(self, i, Habits()) for i in range(1, n_controllers + 1)}
        self.history: list[Batch] = []
        """All that was ever committed, from offset 0 on."""
        self._n_values = 0
        self.elect(1)
        self.commit()

    def directory_id(self, node_id: int) -> bytes:
        """Of a controller: no other quorum has the same."""
        return zlib.crc32(self.cluster_id.encode()).to_bytes(4, "big") + node_id.to_bytes(12, "big")

    @property
    def leader(self) -> Controller | None:
        """The one in the newest epoch."""
        return next(
            (c for c in self.controllers.values() if c.leads and c.epoch == self.epoch and c.is_up),
            None,
        )

    @property
    def epoch(self) -> int:
        """The newest."""
        return max(c.epoch for c in self.controllers.values())

    @property
    def committed_end(self) -> int:
        """The offset behind the last record that was committed."""
        return self.history[-1].last + 1 if self.history else 0

    def append(self, n_records: int = 1, values: Sequence[bytes] | None = None) -> None:
        """The leader appends a batch, which is not committed yet."""
        with self.changed:
            leader = self.leader
            assert leader is not None
            if values is None:
                values = [value_of(self._n_values + i) for i in range(n_records)]
                self._n_values += n_records
            data = encode_batch(values, base_offset=leader.end, leader_epoch=leader.epoch)
            last = leader.end + len(values) - 1
            leader.log.append(Batch(leader.end, last, leader.epoch, data, tuple(values)))
            self.changed.notify_all()

    def commit(self, *, keep_back: int = 0, lagging: Sequence[int] = ()) -> None:
        """The others fetch what the leader has, and so it is committed.

        Args:
            keep_back: Batches at the end that they do not fetch.
            lagging: Controllers that fetch nothing at all.
        """
        with self.changed:
            leader = self.leader
            assert leader is not None
            upto = leader.log[: len(leader.log) - keep_back]
            if not upto or upto[-1].epoch != leader.epoch:
                return  # a leader commits nothing before it can commit of its own
            for other in self.controllers.values():
                if other.id not in {leader.id, *lagging} and other.is_up and not other.hangs:
                    other.log, other.start = list(upto), leader.start
                    other.snapshots = dict(leader.snapshots)
                    other.epoch, other.leader_id = leader.epoch, leader.id
                    other.high_watermark = leader.high_watermark
            self.history += [b for b in upto if b.base >= self.committed_end]
            leader.high_watermark = max(leader.high_watermark, upto[-1].last + 1)
            self.changed.notify_all()

    def can_lead(self, node_id: int) -> bool:
        """Whether a controller has all that was committed, and so may be voted for."""
        candidate = self.controllers[node_id]
        if not candidate.is_up or candidate.hangs:
            return False
        if not self.history or candidate.start == self.committed_end:
            return True
        newest = self.history[-1]
        return candidate.end >= self.committed_end and any(
            b is newest for b in reversed(candidate.log)
        )

    def elect(self, node_id: int, *, unaware: Sequence[int] = ()) -> None:
        """A controller becomes the leader of the next epoch, and appends that it is.

        Args:
            node_id: Who is elected.
            unaware: Controllers that do not hear of it; the last leader may be one.
        """
        with self.changed:
            assert self.can_lead(node_id)
            epoch, leader = self.epoch + 1, self.controllers[node_id]
            for controller in self.controllers.values():
                if controller.id not in unaware and not controller.hangs:
                    controller.epoch, controller.leader_id = epoch, node_id
            leader.epoch, leader.leader_id, leader.high_watermark = epoch, node_id, -1
            leader.has_resigned = False
            data = control_batch(
                [("LeaderChangeMessage", {"leader_id": node_id})],
                base_offset=leader.end,
                epoch=epoch,
            )
            leader.log.append(Batch(leader.end, leader.end, epoch, data))
            self.changed.notify_all()

    def lose_leader(self) -> None:
        """All enter an epoch in which nobody leads."""
        with self.changed:
            epoch = self.epoch + 1
            for controller in self.controllers.values():
                controller.epoch, controller.leader_id = epoch, None
            self.changed.notify_all()

    def snapshot(self, node_id: int | None = None, *, data: bytes | None = None) -> Id | None:
        """Write a snapshot of all that is committed on one controller, the leader by default.

        Args:
            node_id: Where.
            data: The checkpoint's bytes; None for those of the committed records.

        Returns:
            Its id; None where that controller does not have all.
        """
        with self.changed:
            where = self.leader if node_id is None else self.controllers[node_id]
            assert where is not None
            end = self.committed_end
            epoch = self.history[-1].epoch if self.history else 1
            if where.end < end or (end, epoch) in where.snapshots or not self.can_lead(where.id):
                return None
            values = [v for b in self.history for v in b.values]
            where.snapshots[end, epoch] = data or checkpoint_bytes(values, epoch=epoch)
            self.changed.notify_all()
            return end, epoch

    def trim(self, node_id: int | None = None) -> None:
        """Let the newest snapshot take the place of the log before it, and of older snapshots."""
        with self.changed:
            where = self.leader if node_id is None else self.controllers[node_id]
            assert where is not None
            newest = max(where.snapshots, default=None)
            if newest is not None and newest[0] > where.start:
                where.snapshots = {newest: where.snapshots[newest]}
                where.start = newest[0]
                where.log = [b for b in where.log if b.base >= where.start]
                self.changed.notify_all()

    def kill(self, node_id: int) -> None:
        """Stop a controller: nobody listens there any more."""
        with self.changed:
            self.controllers[node_id].is_up = False
            self.changed.notify_all()

    def hang(self, node_id: int) -> None:
        """Let a controller say nothing any more, and hear of nothing; `restart` ends it."""
        with self.changed:
            self.controllers[node_id].hangs = True
            self.changed.notify_all()

    def restart(self, node_id: int) -> None:
        """Start it again, as a follower that knows the newest epoch."""
        with self.changed:
            node, leader = self.controllers[node_id], self.leader
            node.is_up, node.is_stopping, node.epoch = True, False, self.epoch
            node.hangs = node.has_resigned = False
            node.leader_id = None if leader is None else leader.id
            self.changed.notify_all()

    def stabilize(self) -> None:
        """All are up and well, one leads, and everything is committed."""
        with self.changed:
            for node in self.controllers.values():
                self.restart(node.id)
            able = [i for i in self.controllers if self.can_lead(i)]
            self.elect(able[0])
            self.commit()


@cache
def value_of(i: int) -> bytes:
    """The i-th record of every fake log: topics, their partitions, settings that change."""
    topic_id = (i // 4 + 1000).to_bytes(16, "big")
    match i % 4:
        case 0:
            return record("TopicRecord", name=f"topic-{i}", topic_id=topic_id)
        case 1:
            return record(
                "PartitionRecord",
                partition_id=0,
                topic_id=topic_id,
                replicas=[1, 2],
                isr=[1, 2],
                leader=1,
            )
        case 2:
            return record(
                "ConfigRecord",
                resource_type=2,
                resource_name=f"topic-{i - 2}",
                name="retention.ms",
                value=str(i),
            )
        case _:
            return record("ConfigRecord", resource_type=4, resource_name="", name="x", value=str(i))


def _api_range(api: int, versions: tuple[int, int]) -> Fields:
    return {"api_key": int(api), "min_version": versions[0], "max_version": versions[1]}
