"""Whether a feature can be raised to a level, and which nodes block it.

Every registered broker must support the level, fenced ones too; from 3.7-IV0 on every registered
controller, voter or not, and of a static quorum every voter must be registered.

Source: org.apache.kafka.controller.FeatureControlManager, QuorumFeatures, ClusterControlManager;
KIP-919, KIP-1312; of the commands ClusterTool, FeatureCommand, MetadataQuorumCommand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import field
from typing import Final

import pyarrow as pa

from metashell.answers.nodes import (
    BROKER,
    HOUR_MS,
    Endpoint,
    NodeRow,
    age_text,
    is_static,
    nodes_of,
    range_text,
)
from metashell.answers.releases import (
    CONTROLLERS_REGISTER,
    CONTROLLERS_UNREGISTER,
    OLDEST_IN_RECORDS,
    loses_metadata,
    newest_levels,
)
from metashell.dataclass import dataclass
from metashell.image.features import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.image.image import Image
from metashell.image.quorum_members import QuorumMember

_PLAIN_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,255}")
"""Hosts that may stand in a command that someone will paste into a shell."""
_NO_SERVER: Final = "HOST:PORT"
_NEEDS_METADATA_VERSION: Final = {
    ("eligible.leader.replicas.version", 1): 23,
    (KRAFT_VERSION, 1): 21,
}
"""The metadata.version that a level depends on. Source: EligibleLeaderReplicasVersion,
KRaftVersion."""
_RELEASE_VERSION_FLAG: Final = 22
"""Tools of releases that have this level (4.0) know ``--release-version``."""


@dataclass(frozen=True, slots=True)
class UpgradeTarget:
    """What a feature shall be raised (or lowered) to."""

    feature: str
    level: int
    asked: str
    """As the user wrote it, such as ``4.1``."""

    @property
    def text(self) -> str:
        """Such as ``metadata.version 27 (4.1-IV1)``."""
        if self.feature != METADATA_VERSION:
            return f"{self.feature} {self.level}"
        name = metadata_version_name(self.level)
        return f"{self.feature} {self.level}" + ("" if name.isdigit() else f" ({name})")


@dataclass(frozen=True, slots=True)
class Blocker:
    """What stands in the way: a node, or where that is None the change itself."""

    node: NodeRow | None
    reason: str
    remedy: str | None
    """A command, or what to do."""
    removes: bool = False
    """Whether `remedy` is a command that removes a registration."""


@dataclass(slots=True)
class Verdict:
    """The answer."""

    target: UpgradeTarget
    current: int
    """The level that is finalized; 0 for none."""
    blockers: list[Blocker] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be checked, a sentence each."""
    command: str | None = None
    """The command that does it, where nothing blocks it."""

    @property
    def possible(self) -> bool:
        """Whether nothing is in the way."""
        return not self.blockers

    @property
    def is_downgrade(self) -> bool:
        """Whether the level is below the one that is finalized."""
        return self.target.level < self.current

    @property
    def text(self) -> str:
        """One sentence."""
        target = self.target
        if self.current == target.level:
            return f"already at {target.text}"
        kind = "downgrade" if self.is_downgrade else "upgrade"
        now = UpgradeTarget(target.feature, self.current, "").text if self.current else "not set"
        change = f"{kind} to {target.text} from {now.removeprefix(target.feature + ' ')}"
        if self.possible:
            return f"yes: {change}"
        nodes = len({(b.node.id, b.node.role) for b in self.blockers if b.node is not None})
        if not nodes:
            return f"no: {change}: Kafka refuses it"
        return f"no: {change}: {nodes} node{'s block' if nodes > 1 else ' blocks'} it"


def judge(
    image: Image,
    target: UpgradeTarget,
    voters: Sequence[QuorumMember] | None = None,
    ghost_after_ms: int = HOUR_MS,
    now_ms: int | None = None,
) -> Verdict:
    """Tell whether a cluster's feature can be set to a level.

    Args:
        image: The cluster.
        target: The level.
        voters: Who votes, where that is known better than by the log.
        ghost_after_ms: As for `nodes_of`.
        now_ms: As for `nodes_of`.
    """
    # Who is a ghost matters of fenced brokers alone.
    count = bool(image.brokers.fenced.any())
    nodes = nodes_of(image, voters, ghost_after_ms, count=count, now_ms=now_ms)
    version = image.metadata_version or 0
    verdict = Verdict(target, _current(image, target.feature))
    if verdict.current == target.level:
        return verdict
    server = _bootstrap(nodes)
    _judge_change(verdict, version)
    for node in nodes:
        if node.role == BROKER:
            _judge_node(verdict, node, server, version)
        elif version >= CONTROLLERS_REGISTER:
            if node.registered:
                _judge_node(verdict, node, server, version)
            else:
                _judge_unregistered(verdict, node, is_static(image))
    if version < CONTROLLERS_REGISTER:
        name = metadata_version_name(CONTROLLERS_REGISTER)
        verdict.notes.append(
            f"controllers can't be checked: they register from metadata.version {name} on; each "
            "must run software that supports the level"
        )
    elif is_static(image) and not any(node.voter for node in nodes):
        verdict.notes.append(
            "the log does not name the voters: their registrations can't be checked"
        )
    if verdict.possible:
        verdict.command = _command(verdict, server)
    return verdict


def _current(image: Image, feature: str) -> int:
    if feature == METADATA_VERSION:
        return image.metadata_version or 0
    if feature == KRAFT_VERSION:
        return image.quorum.kraft_version or 0
    columns = image.part("features").columns
    names = columns.span("name").texts()
    return int(columns.fixed("feature_level")[names.index(feature)]) if feature in names else 0


def _judge_change(verdict: Verdict, version: int) -> None:
    """What Kafka refuses whatever the nodes support."""
    target = verdict.target
    reasons = []
    if target.feature == METADATA_VERSION:
        if verdict.is_downgrade and loses_metadata(verdict.current, target.level):
            reasons.append("the downgrade may lose metadata: Kafka refuses it")
        elif target.level < OLDEST_IN_RECORDS:
            reasons.append("metadata.version can't be set below 3.3-IV0")
    elif target.feature == KRAFT_VERSION and verdict.is_downgrade:
        reasons.append("kraft.version can't be lowered")
    needed = _NEEDS_METADATA_VERSION.get((target.feature, target.level))
    if needed is not None and version < needed:
        reasons.append(f"it needs metadata.version {needed} ({metadata_version_name(needed)})")
    verdict.blockers += (Blocker(None, reason, None) for reason in reasons)


def _judge_node(verdict: Verdict, node: NodeRow, server: Endpoint | None, version: int) -> None:
    feature, level = verdict.target.feature, verdict.target.level
    lowest, highest = node.range_of(feature)
    if lowest <= level <= highest:
        return
    if highest <= 0:
        reason = f"does not support {feature}"
    else:
        reason = f"supports only {range_text(feature, lowest, highest)}"
    remedy, removes = _remedy(node, verdict, server, version)
    verdict.blockers.append(Blocker(node, reason, remedy, removes))


def _judge_unregistered(verdict: Verdict, node: NodeRow, static: bool) -> None:
    if static:
        reason = "is a voter, but not registered: what it supports is unknown"
        verdict.blockers.append(Blocker(node, reason, f"start controller {node.id}"))
    else:
        verdict.notes.append(f"voter {node.id} has not registered: it is not checked")


def _remedy(
    node: NodeRow, verdict: Verdict, server: Endpoint | None, version: int
) -> tuple[str, bool]:
    """What lets a node no longer block, and whether it is a command that removes it."""
    higher = verdict.target.level > node.range_of(verdict.target.feature)[1]
    change = f"{'upgrade' if higher else 'replace'} the software of {node.role} {node.id}"
    if node.role == BROKER:
        command = f"kafka-cluster.sh unregister {_connect(server, '--config')} --id {node.id}"
        if node.ghost:
            return command, True
        if node.fenced and node.replicas == 0:
            return f"{change}; if it is gone for good: {command}", False
        if node.fenced:
            n = node.replicas or 0
            return f"{change} (it is fenced and has {n:,} replica{'s' * (n != 1)})", False
        return change, False
    if node.voter is None:
        return f"{change}, if it still exists: the log does not name the voters", False
    if not node.ghost:
        return change, False
    if version >= CONTROLLERS_UNREGISTER:
        connect = _connect(server, "--config")
        return f"kafka-cluster.sh unregister-controller {connect} --id {node.id}", True
    oldest = metadata_version_name(CONTROLLERS_UNREGISTER)
    return (
        f"no command removes it before metadata.version {oldest}: start a controller with id "
        f"{node.id} and newer software until it has registered, then stop it",
        False,
    )


def _bootstrap(nodes: Sequence[NodeRow]) -> Endpoint | None:
    """Where the commands connect to: a broker that is up, without encryption where it can be."""
    every = [
        endpoint
        for node in nodes
        if node.role == BROKER and not node.fenced
        for endpoint in node.endpoints
        if isinstance(endpoint, Endpoint) and _PLAIN_HOST.fullmatch(endpoint.host)
    ]
    plain = (endpoint for endpoint in every if endpoint.protocol == "PLAINTEXT")
    return next(plain, every[0] if every else None)


def _connect(server: Endpoint | None, config_flag: str) -> str:
    if server is None:
        return f"--bootstrap-server {_NO_SERVER}"
    address = shlex.quote(server.text.partition("://")[2] if server.listener else server.host)
    if server.protocol != "PLAINTEXT":
        return f"--bootstrap-server {address} {config_flag} client.properties"
    return f"--bootstrap-server {address}"


def _command(verdict: Verdict, server: Endpoint | None) -> str:
    target = verdict.target
    verb = "downgrade" if verdict.is_downgrade else "upgrade"
    if target.feature != METADATA_VERSION or target.asked.isdigit():
        what = f"--feature {target.feature}={target.level}"
    else:
        name = metadata_version_name(target.level)
        release = name.partition("-")[0]
        is_newest = newest_levels()[release] == target.level
        name = release if is_newest and "-" not in target.asked else name
        flag = "--release-version" if target.level >= _RELEASE_VERSION_FLAG else "--metadata"
        what = f"{flag} {name}"
    return f"kafka-features.sh {_connect(server, '--command-config')} {verb} {what}"


def blockers_table(verdict: Verdict) -> pa.Table:
    """What blocks it, a row each."""
    found = verdict.blockers
    nodes = [b.node for b in found]
    ranges = [
        None if n is None or not n.registered else n.range_of(verdict.target.feature) for n in nodes
    ]
    texts, level = pa.string(), pa.int32()
    return pa.table(
        {
            "id": pa.array([None if n is None else n.id for n in nodes], type=pa.int32()),
            "role": pa.array([None if n is None else n.role for n in nodes], type=texts),
            "release": pa.array([None if n is None else n.release for n in nodes], type=texts),
            "reason": pa.array([b.reason for b in found], type=texts),
            "ghost": pa.array([None if n is None else n.ghost for n in nodes], type=texts),
            "remedy": pa.array([b.remedy for b in found], type=texts),
            "removes": pa.array([b.removes for b in found], type=pa.bool_()),
            "fenced": pa.array([None if n is None else n.fenced for n in nodes], type=pa.bool_()),
            "fenced_for": pa.array(
                [
                    None if n is None or n.fenced_ms is None else age_text(n.fenced_ms)
                    for n in nodes
                ],
                type=texts,
            ),
            "feature": pa.array([verdict.target.feature] * len(found), type=texts),
            "level": pa.array([verdict.target.level] * len(found), type=level),
            "min_level": pa.array([None if r is None else r[0] for r in ranges], type=level),
            "max_level": pa.array([None if r is None else r[1] for r in ranges], type=level),
        }
    )
