"""Whether a feature can be raised to a level, which nodes block it, and which steps lead there.

Every registered broker must support the level, fenced ones too; from 3.7-IV0 on every registered
controller, voter or not, and of a static quorum every voter must be registered. Software of 4.0 and
later refuses old levels, so these are raised first. kraft.version depends on no level.

Source: org.apache.kafka.controller.FeatureControlManager, QuorumFeatures, ClusterControlManager;
LeaderState, KIP-853, KIP-919, KIP-1312; of the commands ClusterTool, FeatureCommand,
MetadataQuorumCommand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

import pyarrow as pa

from metashell.answers.migration import Migration, ids_text, migration_of
from metashell.answers.nodes import (
    BROKER,
    CONTROLLER,
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
    NEWEST_OF_3,
    OLDEST_FOR_4,
    OLDEST_IN_RECORDS,
    UPGRADES_KRAFT_VERSION,
    known_levels,
    loses_metadata,
    lowest_after,
)
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.image.features import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.image.image import Image
from metashell.image.quorum_members import QuorumMember

_PLAIN_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,255}")
"""Hosts that may stand in a command that someone will paste into a shell."""
_NO_SERVER: Final = "HOST:PORT"
_NEEDS_METADATA_VERSION: Final = {
    ("eligible.leader.replicas.version", 1): 23,
}
"""The metadata.version that a level depends on. Source: EligibleLeaderReplicasVersion."""
_NEVER_BACK: Final = "point of no return: kraft.version never goes back"
_ACCEPTS_LOWER: Final = "it can go back: Kafka accepts a lower level"
_UNTIL_NEXT: Final = "the software can go back until a later step is done"
_END_OF_MIGRATION: Final = "end the migration with software of 3.x: `health` says what it waits for"
_NO_ZOOKEEPER: Final = "point of no return: an ended migration never goes back to ZooKeeper"
_NO_LEVEL: Final = 1
"""The level that 3.x assumes for a log without a metadata.version: 3.0-IV1."""


@dataclass(frozen=True, slots=True)
class UpgradeTarget:
    """The level that a feature shall be raised (or lowered) to."""

    feature: str
    level: int
    asked: str
    """The words of the user, such as ``4.1``."""

    @property
    def text(self) -> str:
        """Such as ``metadata.version 27 (4.1-IV1)``."""
        if self.feature != METADATA_VERSION:
            return f"{self.feature} {self.level}"
        return f"{self.feature} {_level_text(self.level)}"


def _level_text(level: int) -> str:
    """A level of metadata.version with its name."""
    name = metadata_version_name(level)
    return f"{level}" + ("" if name.isdigit() else f" ({name})")


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """One step of the way to a level."""

    text: str
    command: str | None
    """None where no command of Kafka does it."""
    way_back: str | None
    """Whether it can be undone; None for a downgrade."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """An obstacle: a node, or where that is None the change itself."""

    node: NodeRow | None
    reason: str
    remedy: str | None
    """A command, or what to do."""
    removes: bool = False
    """Whether `remedy` is a command that removes a registration."""
    step: int | None = None
    """The step of the way that takes it away, from 1; None where there is no way."""


@dataclass(slots=True)
class Verdict:
    """The answer."""

    target: UpgradeTarget
    current: int | None
    """The level that is finalized; None for a metadata.version that is not in the log."""
    blockers: list[Blocker] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences about everything that could not be checked."""
    steps: list[UpgradeStep] = field(default_factory=list)
    """The way to the level, in order; empty where there is none, or nothing to do."""

    @property
    def possible(self) -> bool:
        """Whether nothing is in the way."""
        return not self.blockers

    @property
    def is_downgrade(self) -> bool:
        """Whether the level is below the one that is finalized."""
        return self.target.level < (_NO_LEVEL if self.current is None else self.current)

    @property
    def command(self) -> str | None:
        """The command that does it, where nothing blocks it."""
        return self.steps[0].command if self.possible and self.steps else None

    @property
    def lines(self) -> list[str]:
        """The sentence, and the way."""
        found = [self.text]
        for number, step in enumerate(self.steps, 1):
            if len(self.steps) > 1:
                found.append(f"{number}. {step.text}")
            indent = "   " if len(self.steps) > 1 else ""
            found += (f"{indent}{line}" for line in (step.command, step.way_back) if line)
        return found

    @property
    def text(self) -> str:
        """One sentence."""
        target = self.target
        if self.current == target.level:
            return f"already at {target.text}"
        kind = "downgrade" if self.is_downgrade else "upgrade"
        if self.current is None:
            now = "a level that is not in the log"
        else:
            now = UpgradeTarget(target.feature, self.current, "").text
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
        voters: The voters, where they are known better than by the log.
        ghost_after_ms: See `nodes_of`.
        now_ms: See `nodes_of`.
    """
    # Only fenced brokers can be ghosts.
    count = bool(image.brokers.fenced.any())
    nodes = nodes_of(image, voters, ghost_after_ms, count=count, now_ms=now_ms)
    version = image.metadata_version or 0
    verdict = Verdict(target, _current(image, target.feature))
    if verdict.current == target.level:
        return verdict
    server = _bootstrap(nodes)
    _judge_level(verdict, image, nodes)
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
    if target.feature == KRAFT_VERSION:
        verdict.notes.append(
            "each voter must also announce its support and its directory id to the leader: the log "
            "does not show this"
        )
    _lay_way(verdict, image, nodes, server)
    return verdict


def refuse_unknown_level(image: Image, target: UpgradeTarget) -> None:
    """Refuse a level that no known release and no registered node has.

    Raises:
        UsageError: It is such a level.
    """
    first, last = known_levels(target.feature)
    ranges = [n.range_of(target.feature) for n in nodes_of(image, None, count=False)]
    if first <= target.level <= last or any(a <= target.level <= b for a, b in ranges if b > 0):
        return
    if _current(image, target.feature) == target.level:
        return
    known = range_text(target.feature, first, last)
    raise UsageError(
        f"{target.feature} {target.level}: no release that metashell knows has this level,"
        " and no registered node supports it",
        hint=f"known levels are {known}",
    )


def _current(image: Image, feature: str) -> int | None:
    if feature == METADATA_VERSION:
        return image.metadata_version
    if feature == KRAFT_VERSION:
        return image.quorum.kraft_version or 0
    columns = image.part("features").columns
    names = columns.span("name").texts()
    return int(columns.fixed("feature_level")[names.index(feature)]) if feature in names else 0


def _judge_change(verdict: Verdict, version: int) -> None:
    """Add the changes that Kafka refuses whatever the nodes support."""
    target = verdict.target
    reasons = []
    if target.feature == METADATA_VERSION:
        if verdict.is_downgrade and loses_metadata(version, target.level):
            reasons.append("the downgrade may lose metadata: Kafka refuses it")
        elif target.level < OLDEST_IN_RECORDS:
            reasons.append("metadata.version can't be set below 3.3-IV0")
    elif target.feature == KRAFT_VERSION and verdict.is_downgrade:
        reasons.append("kraft.version can't be lowered")
    verdict.blockers += (Blocker(None, reason, None) for reason in reasons)
    needed = _NEEDS_METADATA_VERSION.get((target.feature, target.level), 0)
    if version < needed:
        text = f"metadata.version {_level_text(needed)}"
        verdict.blockers.append(Blocker(None, f"it needs {text}", f"raise it to {text} first"))


def _judge_level(verdict: Verdict, image: Image, nodes: Sequence[NodeRow]) -> None:
    """Add the effects of a migration, and of a metadata.version that 4.0 does not run with."""
    migration = _migration_before(verdict.target, image)
    if migration is not None:
        ended = "has not ended" if migration.is_open else "has ended early"
        reason = f"the migration from ZooKeeper {ended}: it is in state {migration.text}"
        if migration.brokers:
            reason += f", with {ids_text('broker', migration.brokers)} in ZooKeeper mode"
        verdict.blockers.append(Blocker(None, reason, _END_OF_MIGRATION))
    level = image.metadata_version
    reason = "the log has no metadata.version: software of 4.0 or later appends one of its own"
    if level is None:
        verdict.notes.append(
            f"no metadata.version is in the log: 3.x takes it for {_level_text(_NO_LEVEL)}. In 4.x "
            "the next active controller appends bootstrap records, by default of its newest level"
        )
        if any(node.range_of(METADATA_VERSION)[1] > NEWEST_OF_3 for node in nodes):
            reason = "the next active controller of 4.x decides the metadata.version: ask then"
            verdict.blockers.append(Blocker(None, reason, None))
            return
    else:
        reason = f"software of 4.0 or later does not run with metadata.version {_level_text(level)}"
    if _needs_level_first(verdict.target, image):
        lowest = _level_text(OLDEST_FOR_4)
        remedy = f"raise metadata.version to {lowest} with the software of now"
        verdict.blockers.append(Blocker(None, reason, remedy))


def _migration_before(target: UpgradeTarget, image: Image) -> Migration | None:
    """A migration from ZooKeeper that has to end before the software that supports the target."""
    level = image.metadata_version or _NO_LEVEL
    if target.feature != METADATA_VERSION or not level <= NEWEST_OF_3 < target.level:
        return None
    found = migration_of(image)
    return found if found.is_open or found.brokers else None


def _needs_level_first(target: UpgradeTarget, image: Image) -> bool:
    """Whether metadata.version must be raised before the software that supports the target."""
    newest = NEWEST_OF_3 if target.feature == METADATA_VERSION else 0
    return (image.metadata_version or _NO_LEVEL) < OLDEST_FOR_4 and target.level > newest


def _lay_way(
    verdict: Verdict, image: Image, nodes: Sequence[NodeRow], server: Endpoint | None
) -> None:
    """Put the steps in order: metadata.version by the old software, the software, the feature."""
    target, steps = verdict.target, verdict.steps
    if any(blocker.node is None and blocker.remedy is None for blocker in verdict.blockers):
        return
    level = image.metadata_version or _NO_LEVEL
    changes = []
    if _migration_before(target, image) is not None:
        steps.append(UpgradeStep(_END_OF_MIGRATION, None, _NO_ZOOKEEPER))
        changes.append(len(steps))
    if _needs_level_first(target, image):
        lowest = UpgradeTarget(METADATA_VERSION, OLDEST_FOR_4, "3.3")
        weak = sum(n.registered and n.range_of(METADATA_VERSION)[1] < OLDEST_FOR_4 for n in nodes)
        if weak:
            steps.append(UpgradeStep(f"upgrade {_nodes_text(weak)} to 3.9", None, _UNTIL_NEXT))
        steps.append(_raising(lowest, level, server, " with the software of now"))
        changes.append(len(steps))
        level = OLDEST_FOR_4
    blocking = len({(b.node.id, b.node.role) for b in verdict.blockers if b.node is not None})
    if blocking or changes:
        who = _nodes_text(blocking) if blocking else "every broker"
        if (image.metadata_version or _NO_LEVEL) < CONTROLLERS_REGISTER:
            who += " and every controller"
        if verdict.is_downgrade:
            text = f"let {who} support the level"
        else:
            text = f"upgrade {who} to {_software(target, level)}"
        text += ", as each remedy says" if blocking else ""
        steps.append(UpgradeStep(text, None, _UNTIL_NEXT))
    software = len(steps)
    needed = _NEEDS_METADATA_VERSION.get((target.feature, target.level), 0)
    if level < needed:
        asked = metadata_version_name(needed)
        text = f"raise metadata.version to {_level_text(needed)}: ask `can-upgrade {asked}`"
        steps.append(UpgradeStep(text, None, _way_back(needed, level)))
        changes.append(len(steps))
    # Blockers that are no nodes were judged in the order of their steps.
    of_changes = iter(changes)
    verdict.blockers = [
        replace(b, step=next(of_changes) if b.node is None else software) for b in verdict.blockers
    ]
    steps.append(_last_step(verdict, level, server))
    if (
        target.feature == METADATA_VERSION
        and not verdict.is_downgrade
        and target.level > NEWEST_OF_3
        and image.quorum.kraft_version == 0
    ):
        text = (
            "optional, on its own: raise kraft.version to 1 by software of 4.1 or later: ask "
            f"`can-upgrade --feature {KRAFT_VERSION}=1`; `upgrade --release-version` "
            "does it unasked"
        )
        steps.append(UpgradeStep(text, None, _NEVER_BACK))


def _last_step(verdict: Verdict, level: int, server: Endpoint | None) -> UpgradeStep:
    target = verdict.target
    if verdict.is_downgrade:
        text = f"lower {target.text.replace(' ', ' to ', 1)}"
        return UpgradeStep(text, _command(target, server, down=True), None)
    return _raising(target, level, server)


def _raising(
    target: UpgradeTarget, level: int, server: Endpoint | None, how: str = ""
) -> UpgradeStep:
    """Raise a feature, with a metadata.version of `level` until then."""
    back = _NEVER_BACK if target.feature == KRAFT_VERSION else _ACCEPTS_LOWER
    if target.feature == METADATA_VERSION:
        back = _way_back(target.level, level)
    text = f"raise {target.text.replace(' ', ' to ', 1)}{how}"
    return UpgradeStep(text, _command(target, server), back)


def _way_back(above: int, below: int) -> str:
    """How far metadata.version can go back from a level that it is raised to."""
    lowest = max(lowest_after(above), OLDEST_IN_RECORDS)
    if lowest <= below:
        return f"it can go back to {_level_text(max(below, lowest))}"
    return f"point of no return: it can't go back below {_level_text(lowest)}"


def _nodes_text(count: int) -> str:
    return f"the {count:,} nodes below" if count > 1 else "the node below"


def _software(target: UpgradeTarget, level: int) -> str:
    """The releases whose software supports a level and runs with the metadata.version of now."""
    if target.feature == KRAFT_VERSION:
        return "4.1 or later"
    name = metadata_version_name(target.level)
    if target.feature != METADATA_VERSION or name.isdigit():
        return "a release that supports it"
    release = name.partition("-")[0]
    if level < OLDEST_FOR_4:
        return f"{release} to 3.9 (4.0 does not run with {_level_text(level)})"
    return f"{release} or later"


def _judge_node(verdict: Verdict, node: NodeRow, server: Endpoint | None, version: int) -> None:
    feature, level = verdict.target.feature, verdict.target.level
    lowest, highest = node.range_of(feature)
    old = node.range_of(METADATA_VERSION)[1] < UPGRADES_KRAFT_VERSION
    if lowest <= level <= highest:
        if not (feature == KRAFT_VERSION and level and node.role == CONTROLLER and old):
            return
        if node.voter is False:
            return
        reason = "runs software before 4.1, which can't upgrade kraft.version"
    elif highest <= 0:
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
    """The step that ends a node's blocking, and whether it is a command that removes the node."""
    lower = verdict.target.level < node.range_of(verdict.target.feature)[0]
    change = f"{'replace' if lower else 'upgrade'} the software of {node.role} {node.id}"
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


def _command(target: UpgradeTarget, server: Endpoint | None, *, down: bool = False) -> str:
    verb = "downgrade" if down else "upgrade"
    # `--release-version` would raise other features too, on a static quorum also kraft.version.
    what = f"--feature {target.feature}={target.level}"
    return f"kafka-features.sh {_connect(server, '--command-config')} {verb} {what}"


def blockers_table(verdict: Verdict) -> pa.Table:
    """The blockers, a row each."""
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
            "step": pa.array([b.step for b in found], type=pa.int32()),
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
