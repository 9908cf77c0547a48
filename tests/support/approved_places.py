"""Directories of which the outputs of commands are kept, each laid down below a test's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME
from metashell.node_files.config import KafkaConfig, read_config
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.approved_clusters import CLUSTERS
from support.damaged import DAMAGED
from support.damaged_files import FILES
from support.fixtures import copy_of, fixture_dir
from support.fleets import backups
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

DAMAGED_GROUPS: Final = ("damage",)


@dataclass(frozen=True)
class Place:
    """Directories that are opened together."""

    lay: Callable[[Path], Sequence[str]]
    """Lays them down below a directory, and names them relative to it."""
    groups: tuple[str, ...]
    """The groups of command lines that are run on it."""
    at: str | None = None
    """The earlier state to open."""
    joins: bool = False
    is_file: bool = False
    is_node: bool = False
    """Whether the directories are those of one node, as its configuration names them."""
    settings: ReadSettings = READ_DEFAULTS
    config: str | None = None
    """The node's configuration, a fixture's file."""

    def open(self, parent: Path) -> Source | FleetSource:
        """Lay it down and open it; the current directory must be its parent."""
        paths = self.lay(parent)
        if self.is_node:
            choice = Choice(paths[0], log_dirs=tuple(paths[1:]))
        elif len(paths) == 1:
            choice = Choice(paths[0], is_file=self.is_file)
        else:
            choice = Choice(paths=tuple(paths))
        settings = self.settings
        if self.config is not None:
            directory, _, name = self.config.rpartition("/")
            own = read_config(fixture_dir(directory) / name).settings
            settings = replace(settings, config=KafkaConfig(name, own).of_quorum())
        return open_request(
            OpenRequest(choice=choice, settings=settings, at=self.at, joins=self.joins)
        )


def _recorded(*names: str) -> Callable[[Path], Sequence[str]]:
    """Recorded directories, reached by links: a path of the machine is in no output."""

    def lay(parent: Path) -> Sequence[str]:
        links = []
        for name in names:
            link = parent / name.replace("/", "-")
            link.symlink_to(fixture_dir(name))
            links.append(link.name)
        return links

    return lay


def _log_dirs(case: str) -> Callable[[Path], Sequence[str]]:
    """The recorded log directories of a broker, without its metadata log, which was not kept."""

    def lay(parent: Path) -> Sequence[str]:
        for number in (1, 2):
            directory = parent / f"d{number}"
            directory.mkdir()
            for one in fixture_dir(f"node-dirs-44/{case}/d{number}").iterdir():
                if one.name != LOG_DIR_NAME:
                    (directory / one.name).symlink_to(one)
        return ["d1", "d2"]

    return lay


def _garbage_identity(parent: Path) -> Sequence[str]:
    """Log directories of which one has a meta.properties that says nothing."""
    names = _log_dirs("node/broker101")(parent)
    identity = parent / names[1] / "meta.properties"
    identity.unlink()
    identity.write_bytes(b"\0\1\2")
    return names


def _log_of(name: str, topic: str) -> Callable[[Path], Sequence[str]]:
    """A recorded log of a coordinator under the name of its partition."""

    def lay(parent: Path) -> Sequence[str]:
        shutil.copytree(fixture_dir("coordinator-records-44") / name, parent / topic)
        return [topic]

    return lay


def _link_to(name: str, *below: str) -> Callable[[Path], Sequence[str]]:
    """A recorded directory below its own name, which tells the partition."""

    def lay(parent: Path) -> Sequence[str]:
        place = fixture_dir(name).joinpath(*below)
        (parent / place.name).symlink_to(place)
        return [place.name]

    return lay


def _file_of(name: str) -> Callable[[Path], Sequence[str]]:
    def lay(parent: Path) -> Sequence[str]:
        (file,) = (one for one in fixture_dir(name).iterdir() if one.is_file())
        (parent / file.name).symlink_to(file)
        return [file.name]

    return lay


def _quirk(name: str) -> Callable[[Path], Sequence[str]]:
    def lay(parent: Path) -> Sequence[str]:
        data = (fixture_dir(f"quirks/{name}") / f"{0:020d}.log").read_bytes()
        return [make_directory(parent, (0, data)).name]

    return lay


def _damaged(name: str) -> Callable[[Path], Sequence[str]]:
    def lay(parent: Path) -> Sequence[str]:
        return [str(DAMAGED[name](parent).relative_to(parent))]

    return lay


def _backups(parent: Path) -> Sequence[str]:
    (parent / "empty" / "__cluster_metadata-0").mkdir(parents=True)
    backups(parent)
    return ["controller-1", "controller-2", "staging", "empty"]


def _flipped_group_log(parent: Path) -> Sequence[str]:
    """A broker's log directory: a log of groups is damaged, one of transactions has no segment."""
    directory = copy_of("node-44/broker102/d1", parent)
    segment = directory / "__consumer_offsets-0" / f"{0:020d}.log"
    data = bytearray(segment.read_bytes())
    data[70] ^= 1
    segment.write_bytes(data)
    for segment in (directory / "__transaction_state-1").glob("*.log"):
        segment.unlink()
    return [directory.name]


def _partition(topic: int, number: int, **fields: object) -> bytes:
    known = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1}
    return record(
        "PartitionRecord",
        topic_id=topic.to_bytes(16, "big"),
        partition_id=number,
        **{**known, **fields},
    )


def _acl(number: int, principal: str, operation: int, **fields: object) -> bytes:
    known = {"resource_type": 2, "resource_name": "t1", "pattern_type": 3, "host": "*"}
    return record(
        "AccessControlEntryRecord",
        id=number.to_bytes(16, "big"),
        principal=principal,
        operation=operation,
        **{"permission_type": 3, **known, **fields},
    )


def _sick_values() -> list[bytes]:
    """A cluster that has about every problem that can be told from metadata."""
    features = [supported("metadata.version", 7, 20), supported("kraft.version", 0, 1)]
    ends = [endpoint("PLAINTEXT", "b1", 9092), endpoint("PLAINTEXT2", "b1", 9092)]
    values = [
        level("metadata.version", 27),
        level("group.version", 1),
        level("eligible.leader.replicas.version", 1),
        record("ZkMigrationStateRecord", zk_migration_state=1),
        broker(1, end_points=ends, rack="a"),
        broker(2, rack="a", fenced=True),
        broker(3, rack="b", features=features),
        broker(4, in_controlled_shutdown=True),
        broker(5, fenced=True),
        broker(6, is_migrating_zk_broker=True),
        controller(1),
        controller(9, 20, features=features),
    ]
    for topic in (1, 2, 3, 4):
        name = {3: "__consumer_offsets", 4: "t1.internal"}.get(topic, f"t{topic}")
        values.append(record("TopicRecord", name=name, topic_id=topic.to_bytes(16, "big")))
    values += [
        _partition(1, 0, leader=-1, isr=[2], replicas=[2, 5]),
        _partition(1, 1, isr=[1], replicas=[1, 2]),
        _partition(1, 2, leader=3, isr=[3], eligible_leader_replicas=[2]),
        _partition(1, 3, leader=-1, isr=[], eligible_leader_replicas=[5], last_known_elr=[2]),
        _partition(1, 5, leader=3, adding_replicas=[3], removing_replicas=[2]),
        _partition(2, 0, replicas=[1], isr=[1]),
        _partition(2, 1, replicas=[7, 8], isr=[7], leader=7),
        _partition(2, 2, leader=2, leader_recovery_state=1, isr=[2], replicas=[2, 3]),
        _partition(2, 3, leader=1, isr=[1, 4, 9], replicas=[1, 4]),
        _partition(3, 0, leader=-1, isr=[5], replicas=[5]),
        _partition(3, 1),
        _partition(4, 0, directories=[bytes(15) + b"\x01", bytes(15) + b"\x02", bytes(16)]),
        _partition(9, 0),
        config(2, "t1", "min.insync.replicas", "2"),
        config(2, "t2", "min.insync.replicas", "5"),
        config(2, "t2", "retention.ms", "soon"),
        config(2, "gone", "cleanup.policy", "compact"),
        config(2, "t1", "unclean.leader.election.enable", "true"),
        config(4, "", "log.retention.ms", "1000"),
        config(4, "1", "ssl.keystore.password", "hunter2"),
        config(4, "77", "num.io.threads", "4"),
        config(2, "t1", "no.such.key", "x"),
        config(16, "m", "interval.ms", "100"),
        config(32, "g", "consumer.session.timeout.ms", "1"),
        _acl(1, "User:a", 3),
        _acl(2, "User:a", 3, permission_type=2, host="10.0.0.1"),
        _acl(3, "User:*", 2, resource_name="t", pattern_type=4),
        _acl(4, "nobody", 2, resource_name="gone"),
        _acl(5, "User:b", 12, resource_type=4, resource_name="kafka-cluster"),
        record(
            "ClientQuotaRecord",
            entity=[{"entity_type": "user", "entity_name": None}],
            key="producer_byte_rate",
            value=1.5,
            remove=False,
        ),
        record(
            "ClientQuotaRecord",
            entity=[{"entity_type": "ip", "entity_name": "10.0.0.1"}],
            key="connection_creation_rate",
            value=0.0,
            remove=False,
        ),
    ]
    changes = [
        record(
            "PartitionChangeRecord",
            topic_id=(1).to_bytes(16, "big"),
            partition_id=1,
            leader=leader,
            isr=isr,
        )
        for leader, isr in ((2, [2]), (1, [1, 2]), (-1, [2]), (1, [1]))
    ]
    values += changes
    values += [
        record("RemoveTopicRecord", topic_id=(4).to_bytes(16, "big")),
        record("BrokerRegistrationChangeRecord", broker_id=1, broker_epoch=1, fenced=1),
        record("BrokerRegistrationChangeRecord", broker_id=1, broker_epoch=1, fenced=-1),
        record("UnregisterBrokerRecord", broker_id=6, broker_epoch=6),
        record("RemoveAccessControlEntryRecord", id=(1).to_bytes(16, "big")),
        config(2, "t1", "min.insync.replicas", None),
    ]
    return values


def _sick(dynamic: bool) -> Callable[[Path], Sequence[str]]:
    def lay(parent: Path) -> Sequence[str]:
        offset = 2 if dynamic else 1
        batches = [voters_batch([1, 2, 9], dynamic=dynamic)]
        for i, value in enumerate(_sick_values()):
            at = TIME + i * 600_000
            epoch = 1 + i // 25
            batches.append(
                encode_batch([value], base_offset=offset + i, timestamp=at, leader_epoch=epoch)
            )
        (parent / "node.properties").write_text(_PROPERTIES)
        return [make_directory(parent, (0, b"".join(batches))).name]

    return lay


def _with_another(parent: Path) -> Sequence[str]:
    """A directory, and beside it ``another`` of the cluster and ``stranger`` of another."""
    paths = _recorded("real-44-live")(parent)
    for name, of in (("another", "real-44-trimmed"), ("stranger", "real-40-static")):
        (parent / name).symlink_to(fixture_dir(of))
    return paths


_PROPERTIES: Final = """min.insync.replicas=2
unclean.leader.election.enable=true
offsets.topic.num.partitions=2
super.users=User:root;User:b
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
log.retention.hours=nonsense
"""
"""What the nodes of the sick cluster are assumed to be configured with."""
_ALL: Final = ("verdict", "state", "tables", "rights", "paths", "tree", "log", "usage")
_FEW: Final = ("damage", "state")
_BROKER: Final = ("coordinators", "coordinator-log", "logs-in-node")
_D1: Final = "node-44/broker102/d1"
_D2: Final = "node-44/broker102/d2"
_OFFSETS: Final = "__consumer_offsets-0"
_VARIANTS: Final = (
    "abandoned-future",
    "bad-dir-name",
    "dir-without-dash",
    "directory-id-changed",
    "directory-id-lost",
    "directory-ids-swapped",
    "dup-directory-id",
    "dup-partition",
    "future-partition-metadata-version",
    "garbage-partition-metadata",
    "no-meta-properties",
    "no-partition-metadata",
    "two-futures",
    "wrong-cluster-id",
    "wrong-node-id",
    "zero-topic-id",
)
_VOTERS: Final[Mapping[str, Sequence[int]]] = {
    "all-killed-3": (1, 2, 3),
    "changed-address-3": (1, 2, 3),
    "lagging-follower-3": (2, 3),
    "leader-tail-3": (1, 2, 3),
    "minority-5": (4, 5),
    "static-3": (1, 2, 3),
    "two-epochs-3": (2, 3),
}
_REPORTS: Final[Mapping[str, Sequence[str]]] = {
    "controller-flapping": ("",),
    "empty-leader-epoch-checkpoint": ("",),
    "formatted-not-started": ("",),
    "meta-properties-malformed": ("dir",),
    "misaligned-checkpoint": ("",),
    "no-metadata-version": ("",),
    "no-snapshot-for-days": ("",),
    "old-metadata-version-3.3-IV0": ("",),
    "quorum-lost-wrong-copy": ("voter-2", "voter-3"),
    "same-advertised-address": ("",),
    "split-brain-duplicate-topic": ("controller-1", "controller-2"),
    "three-standalone-quorums": ("controller-1", "controller-2", "controller-3"),
    "voter-churn": ("",),
    "zk-migration-finalised-too-early": ("",),
}
"""Directories that operators reported, by case."""
_JUDGED: Final = ("judged",)
_SHOP: Final = Place(_recorded("shop"), (*_ALL, "drawn", "widths", "words", "sql"))

PLACES: Final[Mapping[str, Place]] = {
    "shop": _SHOP,
    "shop-earlier": replace(_SHOP, groups=("verdict", "state", "tables", "rights"), at="900"),
    "shop-secrets": replace(_SHOP, groups=("rights",), settings=ReadSettings.of(show_secrets=True)),
    "live": Place(_recorded("real-44-live"), (*_ALL, "names")),
    "two": Place(_with_another, ("another",)),
    "admin": Place(_recorded("real-44-admin"), _ALL),
    "broker-down": Place(_recorded("real-44-broker-down"), (*_ALL, "drawn")),
    "trimmed": Place(_recorded("real-44-trimmed"), (*_ALL, "access", "misuse")),
    "static": Place(_recorded("real-40-static"), (*_ALL, "drawn", "access")),
    "truncated": Place(_recorded("real-40-truncated"), _FEW),
    "dynamic": Place(_recorded("real-40-dynamic-broker"), _FEW),
    "quotas": Place(_recorded("quota-defaults"), ("damage", "rights")),
    "all-records": Place(_recorded("all-records-findable-dir"), _ALL),
    "all-records-whole": Place(_recorded("all-records-dir"), _FEW),
    "checkpoint": Place(_file_of("all-records-checkpoint"), _FEW, is_file=True),
    "segment": Place(_file_of("all-records-segment"), _FEW, is_file=True),
    "sick": Place(_sick(True), (*_ALL, "assumed", "drawn")),
    "sick-static": Place(_sick(False), _FEW),
    "sick-committed": Place(
        _sick(False), ("damage",), settings=ReadSettings.of(committed_only=True)
    ),
    "node": Place(_recorded(_D1, _D2), (*_ALL, *_BROKER, "drawn-coordinators", "names")),
    "node-d1": Place(_recorded(_D1), (*_BROKER, "names")),
    "node-d1-earlier": Place(_recorded(_D1), ("names",), at="2026-11-22T11:56:03Z"),
    "node-d2": Place(_recorded(_D2), (*_BROKER, "names")),
    **{
        f"node-{name}": Place(_link_to(_D1, name), ("names",))
        for name in (
            "__consumer_offsets-0",
            "__consumer_offsets-2",
            "__share_group_state-0",
            "__transaction_state-1",
        )
    },
    "node-strict": Place(
        _recorded(_D1, _D2), ("coordinators",), settings=ReadSettings.of(strict=True)
    ),
    "node-damaged": Place(_flipped_group_log, _BROKER),
    "joined": Place(
        _recorded(*(f"node-44/broker{i}/d{k}" for i in (101, 102, 103) for k in (1, 2))),
        _BROKER,
        joins=True,
    ),
    "brokers": Place(
        _recorded(*(f"node-44/broker{i}/d{k}" for i in (101, 102, 103) for k in (1, 2))),
        ("fleet", "coordinators"),
    ),
    "backups": Place(_backups, ("fleet", "tables", "rights")),
    **{
        f"voters-{name}": Place(
            _recorded(*(f"voters-{name}/voter-{i}" for i in numbers)), ("fleet", "lost-quorum")
        )
        for name, numbers in _VOTERS.items()
    },
    "voter": Place(_recorded("voters-lagging-follower-3/voter-2"), _FEW),
    **{
        f"log-{name}": Place(_log_of(name, topic), ("coordinator-log", "coordinators"))
        for name, topic in (
            ("__consumer_offsets-0", _OFFSETS),
            ("__share_group_state-0", "__share_group_state-0"),
            ("__transaction_state-0", "__transaction_state-0"),
            ("clean-__consumer_offsets-1", "__consumer_offsets-1"),
            ("clean-__share_group_state-1", "__share_group_state-1"),
            ("clean-__transaction_state-1", "__transaction_state-1"),
            ("old-magic1-__consumer_offsets-2", _OFFSETS),
        )
    },
    **{
        f"log-{name}": Place(_log_of(name, _OFFSETS), ("coordinator-log",))
        for name in (
            "broken-crc",
            "broken-crc-gzip",
            "broken-empty-key",
            "broken-magic",
            "broken-null-key",
            "broken-truncated",
            "broken-truncated-header",
            "old-magic0-__consumer_offsets-2",
            "zero-padded",
        )
    },
    **{
        f"disk-{case.rpartition('/')[2]}": Place(
            _recorded(*(f"node-disk-44/{case}/{name}" for name in ("controller1", "d1", "d2"))),
            ("replicas",),
            joins=True,
        )
        for case in ("story", "variants/dup-partition", "variants/garbage-partition-metadata")
    },
    "dirs-garbage-identity": Place(_garbage_identity, ("logs-in-node",), is_node=True),
    "dirs-101": Place(_log_dirs("node/broker101"), ("logs-in-node",), is_node=True),
    "dirs-102": Place(_log_dirs("story/broker102"), ("logs-in-node",), is_node=True),
    **{
        f"dirs-{name}": Place(_log_dirs(f"variants/{name}"), ("logs-in-node",), is_node=True)
        for name in _VARIANTS
    },
    **{
        f"quirk-{name}": Place(_quirk(name), DAMAGED_GROUPS)
        for name in (
            "abort-then-records-next-batch",
            "broker-change-bad",
            "end-without-begin",
            "metadata-version-1",
            "metadata-version-34",
            "metadata-version-6",
            "no-metadata-version",
            "partition-changes",
            "principal-without-colon",
            "quota-entity-empty",
            "quota-entity-unknown",
            "scram-unknown-mechanism",
            "topic-create-config-remove-same-batch",
        )
    },
    **{
        f"report-{name}": Place(_recorded(*(f"reports/{name}/{inner}" for inner in below)), _JUDGED)
        for name, below in _REPORTS.items()
    },
    **{
        f"report-{name}": Place(
            _recorded(f"reports/{name}/d1", f"reports/{name}/d2"),
            _JUDGED,
            is_node=True,
            config=f"reports/{name}/server.properties",
        )
        for name in (
            "log-dirs-same-directory-id",
            "log-dirs-wrong-cluster-id",
            "stray-logs-at-next-start",
        )
    },
    **{
        f"report-{name}": Place(
            _recorded(f"reports/config-against-quorum/{name.partition('-')[0]}"),
            _JUDGED,
            config=f"reports/config-against-quorum/{name}.properties",
        )
        for name in (
            "dynamic-moved-endpoint",
            "static-only-bootstrap-servers",
            "static-other-node-id",
        )
    },
    **{f"damaged-{name}": Place(_damaged(name), DAMAGED_GROUPS) for name in DAMAGED},
    **{name: Place(lay, _JUDGED) for name, lay in FILES.items()},
    **{name: Place(lay, (group,)) for name, (lay, group) in CLUSTERS.items()},
}
"""Each directory by its name."""
