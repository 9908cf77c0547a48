"""What is wrong with a cluster, against a plain replay of small clusters, one record an offset."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.answers.causes import EFFECTS
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.judgement.image_findings import Findings, ImageFindings
from metashell.redact import Redaction
from metashell.sources.source import Source
from support.logs import make_directory, record
from support.seeds import seeds
from support.small_cluster import broker, cluster, config, controller, level

MIGRATING, UNASSIGNED, LOST = (bytes(15) + bytes([i]) for i in (0, 1, 2))
"""Kafka's reserved directory ids, by their numbers in org.apache.kafka.common.DirectoryId."""
DISKS = {1: [bytes([11]) * 16], 2: [bytes([21]) * 16, bytes([22]) * 16], 3: [], 1 << 30: []}
"""Directories that each broker registers."""
STRANGE = bytes([99]) * 16
COORDINATING = "__transaction_state"
"""A topic whose partitions' leaders are coordinators."""

ELR = "eligible_leader_replicas"

OF_IMAGES = "metashell.judgement.image_findings:find"
"""Who finds what an image tells."""

_OF_CONFIGS = ("lowered-config", "config-of-gone-resource")
"""What the plain replay knows nothing of."""

Key = tuple[str, str]
Counts = dict[Key, tuple[int, int | None]]
"""By problem and subject: how many, and since which offset."""


@dataclass
class Partition:
    """A partition by a plain replay; each field with the offset that set it."""

    replicas: list[int]
    directories: list[bytes]
    values: dict[str, Any]
    set_at: dict[str, int] = field(default_factory=dict)
    under: int | None = None
    """Since when too few replicas are in sync, with the ISR that it has."""
    at: int | None = None
    """Since when just enough are, likewise."""


@dataclass
class Small:
    """A random cluster: its records, and what they lead to."""

    random: random.Random
    records: list[bytes] = field(default_factory=list)
    partitions: dict[tuple[str, int], Partition] = field(default_factory=dict)
    min_isr: dict[str | int, int] = field(default_factory=dict)
    """By the name of a topic, the id of a broker; that of all brokers is -1."""
    of_brokers: bool = False
    """Whether single brokers may have one."""
    unclean: set[str] = field(default_factory=set)
    fenced: dict[int, int | None] = field(default_factory=dict)
    """By registered broker, where it was fenced."""

    def make(self) -> None:
        """Draw everything."""
        draw = self.random
        self.of_brokers = draw.random() < 0.5
        if self.of_brokers:
            self.records.append(config(4, "1", "min.insync.replicas", None))
        for node in draw.sample(sorted(DISKS), draw.randint(1, 4)):
            self.fenced[node] = None
            self.records.append(broker(node, log_dirs=DISKS[node]))
        for i, name in enumerate(
            draw.sample(["a", "b", "c", "é/x", COORDINATING], draw.randint(0, 4))
        ):
            self._topic(name, bytes([i + 1]) * 16)
        for _ in range(draw.randint(0, 25)):
            self._change() if draw.random() < 0.7 else self._configure()
            self._settle()
        for node in list(self.fenced):
            if draw.random() < 0.4:
                self.fenced[node] = len(self.records)
                self.records.append(
                    record(
                        "BrokerRegistrationChangeRecord",
                        broker_id=node,
                        broker_epoch=node,
                        fenced=1,
                    )
                )

    def _topic(self, name: str, topic_id: bytes) -> None:
        draw = self.random
        self.records.append(record("TopicRecord", name=name, topic_id=topic_id))
        if draw.random() < 0.5:
            self.min_isr[name] = draw.randint(1, 3)
            value = str(self.min_isr[name])
            self.records.append(config(2, name, "min.insync.replicas", value))
            self._settle()
        if draw.random() < 0.5:
            self.unclean.add(name)
            self.records.append(config(2, name, "unclean.leader.election.enable", "true"))
        for number in range(draw.randint(1, 4)):
            replicas = draw.sample(sorted(DISKS), draw.randint(1, 4))
            isr = draw.sample(replicas, draw.randint(0, len(replicas)))
            values = {
                "leader": draw.choice([-1, replicas[0], replicas[-1]]),
                "isr": isr,
                "adding_replicas": draw.choice([[], [], replicas[-1:]]),
                "removing_replicas": draw.choice([[], [], replicas[:1]]),
                "leader_recovery_state": draw.choice([0, 0, 1]),
                ELR: draw.choice([[], [r for r in replicas if r not in isr]]),
            }
            directories = [
                draw.choice([*DISKS[r], MIGRATING, UNASSIGNED, LOST, STRANGE]) for r in replicas
            ]
            part = Partition(replicas, directories, values)
            part.set_at = dict.fromkeys(values, len(self.records))
            self.partitions[name, number] = part
            self.records.append(
                record(
                    "PartitionRecord",
                    topic_id=topic_id,
                    partition_id=number,
                    replicas=replicas,
                    directories=directories,
                    **values,
                )
            )
            part.values["topic_id"] = topic_id
            self._settle()

    def _configure(self) -> None:
        """Set min.insync.replicas of anything, or take it away."""
        draw = self.random
        brokers = [1, 2] if self.of_brokers else []
        topics = sorted({topic for topic, _ in self.partitions})
        of: str | int = draw.choice([-1, *brokers, *topics])
        value = draw.choice([None, "1", "2", "3", "3", "none"])
        number = {"1": 1, "2": 2, "3": 3}.get(value or "")
        if number is None:
            self.min_isr.pop(of, None)
        else:
            self.min_isr[of] = number
        kind, name = (2, of) if isinstance(of, str) else (4, "" if of == -1 else str(of))
        self.records.append(config(kind, name, "min.insync.replicas", value))

    def _least(self, topic: str, part: Partition) -> int:
        """The effective min.insync.replicas."""
        leader: int = part.values["leader"]
        of = [topic, leader, -1] if leader >= 0 else [topic, -1]
        return next((self.min_isr[one] for one in of if one in self.min_isr), 1)

    def _settle(self) -> None:
        """Note what the last record began or ended."""
        last = len(self.records) - 1
        for (topic, _), part in self.partitions.items():
            n_isr, least = len(part.values["isr"]), self._least(topic, part)
            # Before another leader another broker's config counted.
            fields = ("isr", "leader") if self.of_brokers else ("isr",)
            if last in (part.set_at[name] for name in fields):
                part.under = part.at = None
            for name, is_so in (("under", n_isr < least), ("at", n_isr == least)):
                since = getattr(part, name)
                setattr(part, name, (last if since is None else since) if is_so else None)

    def _change(self) -> None:
        if not self.partitions:
            return
        draw = self.random
        (_, number), part = draw.choice(sorted(self.partitions.items(), key=lambda kv: kv[0]))
        changes: dict[str, Any] = {}
        if draw.random() < 0.6:
            changes["isr"] = draw.sample(part.replicas, draw.randint(1, len(part.replicas)))
        if draw.random() < 0.6:
            changes["leader"] = draw.choice([-1, *part.replicas])
        part.values |= changes
        part.set_at |= dict.fromkeys(changes, len(self.records))
        key = {"topic_id": part.values["topic_id"], "partition_id": number}
        self.records.append(record("PartitionChangeRecord", **key, **changes))

    def expected(self, *, detail: bool) -> Counts:
        """All problems, by the rules in their plainest form."""
        offsets: dict[Key, list[int]] = defaultdict(list)
        counts: dict[Key, int] = defaultdict(int)
        for (topic, number), part in self.partitions.items():
            subject = f"{topic}-{number}" if detail else topic
            for code, offset in self._states(topic, part).items():
                offsets[code, subject].append(offset)
            for node, directory in zip(part.replicas, part.directories, strict=True):
                if node not in self.fenced:
                    counts["unregistered-broker", str(node)] += 1
                if directory == LOST:
                    counts["lost-directory", str(node)] += 1
                elif directory == STRANGE and node in self.fenced and DISKS[node]:
                    counts["offline-directory", str(node)] += 1
            if self._is_due(part):
                due = "preferred-election-due", str(part.replicas[0])
                offsets[due].append(part.set_at["leader"])
        out: Counts = {key: (len(found), min(found)) for key, found in offsets.items()}
        out |= {key: (n, None) for key, n in counts.items()}
        for node, offset in self.fenced.items():
            n = sum(node in part.replicas for part in self.partitions.values())
            if offset is not None and n:
                out["fenced-broker", str(node)] = (n, offset)
            elif offset is not None:
                out["ghost-registration", str(node)] = (1, offset)
        return out

    def _down(self, node: int) -> str | None:
        """The problem of a broker that can lead nothing."""
        if node not in self.fenced:
            return "unregistered-broker"
        return None if self.fenced[node] is None else "fenced-broker"

    def _wrong(self, part: Partition, node: int) -> str | None:
        """What is wrong with a replica's broker, or with its disk."""
        directory = part.directories[part.replicas.index(node)]
        if self._down(node) or directory == LOST:
            return self._down(node) or "lost-directory"
        return "offline-directory" if directory == STRANGE and DISKS[node] else None

    def _is_due(self, part: Partition) -> bool:
        first, leader = part.replicas[0], part.values["leader"]
        in_sync = first in part.values["isr"] and self._wrong(part, first) is None
        return in_sync and leader not in (-1, first)

    def causes(self) -> dict[tuple[str, str], set[str]]:
        """By problem and partition: the rows that it follows from."""
        out: dict[tuple[str, str], set[str]] = {}
        for (topic, number), part in self.partitions.items():
            values = part.values
            for code in self._states(topic, part):
                nodes = [n for n in part.replicas if n not in values["isr"]]
                if values["leader"] == -1:
                    nodes = part.replicas
                if code == "no-preferred-leader":
                    nodes = part.replicas[:1]
                if code in ("offline-partitions", "coordinator-offline"):
                    waits = values["isr"] or values[ELR]
                    down = [n for n in part.replicas if n in waits and self._wrong(part, n)]
                    nodes = (down or nodes) if waits else []
                has_too_few = len(part.replicas) < self._least(topic, part)
                if code not in EFFECTS or (code == "under-min-isr" and has_too_few):
                    nodes = []
                names = {
                    f"{self._wrong(part, n)} broker {n}" for n in nodes if self._wrong(part, n)
                }
                if code == "no-preferred-leader" and self._is_due(part):
                    names = {f"preferred-election-due broker {part.replicas[0]}"}
                out[code, f"{topic}-{number}"] = names
        return out

    def _states(self, topic: str, part: Partition) -> dict[str, int]:
        """The problems of a partition, each with the offset since when."""
        v, at = part.values, part.set_at
        n_isr = len(v["isr"])
        leader = v["leader"]
        moves = any(v[name] for name in ("adding_replicas", "removing_replicas"))
        moved = max(at["adding_replicas"], at["removing_replicas"])
        under = n_isr < len(part.replicas) - len(v["adding_replicas"])
        unclean = under and len(part.replicas) > n_isr + len(v["adding_replicas"]) + len(v[ELR])
        stuck = leader == -1 or any(self._down(node) for node in v["adding_replicas"])
        told: dict[str, tuple[bool, int | None]] = {
            "offline-partitions": (leader == -1, at["leader"]),
            "coordinator-offline": (leader == -1 and topic == COORDINATING, at["leader"]),
            "under-min-isr": (
                part.under is not None or leader == -1,
                at["leader"] if part.under is None else part.under,
            ),
            "under-replicated": (under, at["isr"]),
            "at-min-isr": (under and part.at is not None, part.at),
            "no-spare-replica": (
                not under and part.at is not None and leader != -1 and len(part.replicas) > 1,
                part.at,
            ),
            "unclean-possible": (unclean and topic in self.unclean, at["isr"]),
            "elr-in-use": (bool(v[ELR]), at[ELR]),
            "recovering": (v["leader_recovery_state"] == 1, at["leader_recovery_state"]),
            "reassigning": (moves and not stuck, moved),
            "reassignment-stuck": (moves and stuck, moved),
            "no-preferred-leader": (leader != part.replicas[0], at["leader"]),
        }
        return {
            code: offset for code, (is_so, offset) in told.items() if is_so and offset is not None
        }


def kinds(*codes: str) -> list[FindingKind]:
    """Kinds that an image tells: those of some codes, else all."""
    of_images = [kind for kind in all_kinds().values() if kind.finder == OF_IMAGES]
    return [kind for kind in of_images if not codes or kind.code in codes]


def of_kind(source: Source, code: str) -> Iterator[Findings]:
    """The findings of one kind."""
    return ImageFindings(source.image, Redaction(False)).find(kinds(code))


def found(source: Source, *, detail: bool = False) -> Counts:
    """What the product says."""
    out: Counts = {}
    findings = ImageFindings(source.image, Redaction(False), ghost_after_ms=0, detail=detail)
    for problem in findings.find(kinds()):
        names = problem.names.to_pylist()
        if problem.of == "partition":
            assert problem.parts is not None
            ids = problem.parts.to_pylist()
            names = [f"{name}-{number}" for name, number in zip(names, ids, strict=True)]
        since = problem.since()
        assert since["since_offset"].type == pa.int64()
        assert since["since_offset"].is_null() == since["since_time"].is_null()
        rows = zip(
            names, problem.counts.to_pylist(), since["since_offset"].to_pylist(), strict=True
        )
        for name, count, offset in rows:
            key = (problem.kind.code, name)
            assert key not in out
            out[key] = (count, offset)
    return out


@pytest.mark.parametrize("seed", seeds(12))
def test_is_what_a_plain_replay_gives(seed: int) -> None:
    """Counts and beginnings, by topic and by partition."""
    small = Small(random.Random(seed))
    small.make()
    with cluster(*small.records or [record("NoOpRecord")]) as source:
        for detail in (False, True):
            told = found(source, detail=detail).items()
            assert small.expected(detail=detail) == {
                key: what for key, what in told if key[0] not in _OF_CONFIGS
            }


@pytest.mark.parametrize("seed", seeds(12))
def test_causes_are_those_of_a_plain_replay(seed: int) -> None:
    """Of each partition, of each topic, and counted for each cause."""
    small = Small(random.Random(seed))
    small.make()
    with cluster(*small.records or [record("NoOpRecord")]) as source:
        plain = small.causes()
        assert plain == causes_in(source, detail=True)
        by_topic: dict[tuple[str, str], set[str]] = defaultdict(set)
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for (code, partition), names in plain.items():
            by_topic[code, partition.rpartition("-")[0]] |= names
            for name in names:
                counts[name][code] += 1
        assert by_topic == causes_in(source, detail=False)
        found = ImageFindings(source.image, Redaction(False))
        for name, of_cause in counts.items():
            assert of_cause == {c: n for c in EFFECTS if (n := found.count_following(c, {name}))}
        assert found.count_following("under-replicated", counts) == sum(
            code == "under-replicated" and bool(names) for (code, _), names in plain.items()
        )


def causes_in(source: Source, *, detail: bool) -> dict[tuple[str, str], set[str]]:
    """Causes of the problems of partitions by problem and subject."""
    out = {}
    for problem in ImageFindings(source.image, Redaction(False), detail=detail).find(kinds()):
        if problem.causes is not None:
            parts = problem.parts.to_pylist() if problem.parts is not None else None
            for i, (name, causes) in enumerate(
                zip(problem.names.to_pylist(), problem.causes().to_pylist(), strict=True)
            ):
                assert causes == list(dict.fromkeys(causes))
                subject = name if parts is None else f"{name}-{parts[i]}"
                out[problem.kind.code, subject] = set(causes)
    return out


def test_the_plain_replay_meets_every_kind() -> None:
    """The drawn clusters have all problems that they can have."""
    met = set()
    for seed in range(40):
        small = Small(random.Random(seed))
        small.make()
        met |= {code for code, _ in small.expected(detail=False)}
    assert {
        "offline-partitions",
        "coordinator-offline",
        "under-min-isr",
        "under-replicated",
        "elr-in-use",
        "at-min-isr",
        "no-spare-replica",
        "unclean-possible",
        "recovering",
        "reassigning",
        "reassignment-stuck",
        "no-preferred-leader",
        "preferred-election-due",
        "unregistered-broker",
        "lost-directory",
        "offline-directory",
        "fenced-broker",
        "ghost-registration",
    } == met


def test_the_worst_topics_come_first() -> None:
    """Of a kind the most partitions first, then by name."""
    records = []
    for i, (name, n) in enumerate((("b", 1), ("z", 3), ("a", 1))):
        topic_id = bytes([i + 1]) * 16
        records.append(record("TopicRecord", name=name, topic_id=topic_id))
        records += [
            record(
                "PartitionRecord",
                topic_id=topic_id,
                partition_id=number,
                replicas=[1],
                isr=[1],
                leader=-1,
            )
            for number in range(n)
        ]
    with cluster(*records) as source:
        (problem,) = of_kind(source, "offline-partitions")
        assert ["z", "a", "b"] == problem.names.to_pylist()
        assert [3, 1, 1] == problem.counts.to_pylist()


def test_nodes_and_configs() -> None:
    """Brokers that shut down, voters that never registered, configs of nothing, unknown keys."""
    values = [
        level("metadata.version", 25),
        broker(1),
        broker(2, in_controlled_shutdown=True),
        controller(7),
        config(2, "gone", "retention.ms", "1"),
        config(2, "gone", "no.such.key", "1"),
        config(4, "", "no.such.key", "1"),
    ]
    with cluster(*values, voters=[7, 8]) as source:
        assert {
            ("controlled-shutdown", "2"): (0, 4),
            ("unregistered-voter", "8"): (1, None),
            ("config-of-gone-resource", "gone"): (2, 6),
            ("unknown-config", "gone"): (1, 7),
            ("unknown-config", ""): (1, 8),
        } == found(source)


THROTTLED = "leader.replication.throttled.replicas"
RATE = "follower.replication.throttled.rate"


@pytest.mark.parametrize("moves", [False, True])
def test_throttles_that_a_reassignment_left(moves: bool) -> None:
    """Of a topic that is moved they are needed; of brokers while anything is."""
    values = [broker(1), broker(2)]
    for i, name in enumerate(("moved", "other", "never")):
        topic_id = bytes([i + 1]) * 16
        adding = [2] if moves and name == "moved" else []
        values.append(record("TopicRecord", name=name, topic_id=topic_id))
        values.append(
            record(
                "PartitionRecord",
                topic_id=topic_id,
                partition_id=0,
                replicas=[1, *adding],
                isr=[1],
                leader=1,
                adding_replicas=adding,
            )
        )
    values += [
        config(2, "moved", THROTTLED, "0:1"),
        config(2, "other", THROTTLED, "*"),
        config(2, "never", THROTTLED, ""),
        config(4, "1", RATE, "1000"),
    ]
    wanted = {("leftover-throttle", "other"): (1, 9)}
    if not moves:
        wanted |= {("leftover-throttle", "moved"): (1, 8), ("leftover-throttle", "1"): (1, 11)}
    with cluster(*values) as source:
        throttles = {k: v for k, v in found(source).items() if k[0] == "leftover-throttle"}
        assert wanted == throttles


def test_configs_that_were_lowered(tmp_path: Path) -> None:
    """Below what the topic had since it was made, or below the cluster's default."""
    key = "min.insync.replicas"

    def topic(name: str, number: int) -> bytes:
        return record("TopicRecord", name=name, topic_id=bytes([number]) * 16)

    batches = [
        [broker(1), config(4, "", key, "2")],
        [
            topic("lowered", 1),
            topic("raised", 2),
            topic("made-low", 3),
            config(2, "made-low", key, "1"),
        ],
        [topic("shorter", 4), config(2, "shorter", "retention.ms", "-1"), topic("gone", 5)],
        [config(2, "gone", "retention.ms", "9")],
        [record("RemoveTopicRecord", topic_id=bytes([5]) * 16)],
        [topic("gone", 6), config(2, "gone", "retention.ms", "8"), config(2, "raised", key, "3")],
        [config(2, "lowered", key, "1"), config(2, "shorter", "retention.ms", "5")],
        [
            config(2, "shorter", "retention.bytes", "x"),
            config(2, "shorter", "retention.bytes", "1"),
        ],
        [topic("day", 7), config(2, "day", "retention.ms", "86400000")],
        [topic("big", 8), config(2, "big", "retention.bytes", str(5 << 30))],
        [config(2, "day", "retention.ms", "5400000"), config(2, "big", "retention.bytes", "1000")],
    ]
    encoded, offset = [], 0
    for i, values in enumerate(batches):
        encoded.append(encode_batch(values, base_offset=offset, timestamp=1000 * i))
        offset += len(values)
    source = metashell.open(make_directory(tmp_path, (0, b"".join(encoded))))
    (problem,) = of_kind(source, "lowered-config")
    told = dict(zip(problem.names.to_pylist(), problem.details, strict=True))
    assert told == {
        "lowered": f"{key} from 2 to 1",
        "shorter": "retention.ms from -1 to 5",
        # In the largest unit that the number is whole in.
        "day": "retention.ms from 86400000 (1 d) to 5400000 (90 min)",
        "big": "retention.bytes from 5368709120 (5 GiB) to 1000",
    }


def test_nodes_of_an_older_release() -> None:
    """Those that support less than the newest."""

    def node(broker_id: int, highest: int) -> bytes:
        feature = {"name": "metadata.version", "min_supported_version": 7}
        return broker(broker_id, features=[{**feature, "max_supported_version": highest}])

    with cluster(node(1, 27), node(2, 25)) as source:
        assert {("older-release", "2"): (1, 1)} == found(source)


def test_a_brokers_own_min_isr_is_no_default(tmp_path: Path) -> None:
    """A topic's min.insync.replicas is lowered where the cluster's default was higher."""
    key = "min.insync.replicas"
    batches = [
        [broker(1), config(4, "1", key, "5")],
        [record("TopicRecord", name="t", topic_id=bytes([1]) * 16)],
        [config(2, "t", key, "2")],
    ]
    encoded = [
        encode_batch(values, base_offset=2 * i, timestamp=1000 * i)
        for i, values in enumerate(batches)
    ]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(encoded))))

    assert [] == list(of_kind(source, "lowered-config"))
