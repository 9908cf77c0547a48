"""Nodes and upgrades: what a replay one by one, and a check node by node, give."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from metashell.answers.nodes import nodes_of, replica_counts
from metashell.answers.upgrade import UpgradeTarget, judge
from support.logs import record
from support.small_cluster import (
    broker,
    cluster,
    controller,
    level,
    supported,
)

ids = st.integers(1, 3)


@st.composite
def events(draw: st.DrawFn) -> tuple[str, int, bool]:
    """What happens to a broker: (kind, id, whether fenced)."""
    kind = draw(st.sampled_from(["register", "change", "old", "unregister", "other"]))
    return kind, draw(ids), draw(st.booleans())


def encoded(event: tuple[str, int, bool]) -> bytes:
    """The record of an event; epochs are ids, so that all fit."""
    kind, node, fenced = event
    if kind == "register":
        return broker(node, fenced=fenced)
    if kind == "unregister":
        return record("UnregisterBrokerRecord", broker_id=node, broker_epoch=node)
    if kind == "old":
        name = "FenceBrokerRecord" if fenced else "UnfenceBrokerRecord"
        return record(name, id=node, epoch=node)
    change = (1 if fenced else -1) if kind == "change" else 0
    return record(
        "BrokerRegistrationChangeRecord",
        broker_id=node,
        broker_epoch=node,
        fenced=change,
        in_controlled_shutdown=1 if kind == "other" else 0,
    )


@given(st.lists(events(), max_size=14))
def test_brokers_are_fenced_since_the_event_that_fenced_them(
    story: list[tuple[str, int, bool]],
) -> None:
    """A registration or change of a fenced broker does not begin it anew."""
    since: dict[int, int | None] = {}
    for offset, (kind, node, fenced) in enumerate(story):
        if kind == "unregister":
            since.pop(node, None)
        elif kind == "register" or (kind != "other" and node in since):
            if not fenced:
                since[node] = None
            elif since.get(node) is None:
                since[node] = offset
    with cluster(level("metadata.version", 33), *map(encoded, story)) as source:
        image = source.image
        found = {node.id: node for node in nodes_of(image)}
        rows = {i: node.rows[2] for i, node in found.items()}
        offsets = {
            i: None if row < 0 else int(image.records.frames.offset[row]) - 1
            for i, row in rows.items()
        }
        assert since == offsets
        assert {i for i, at in since.items() if at is not None} == {
            i for i, node in found.items() if node.fenced
        }


@given(
    st.sets(st.sampled_from([0, 1, 2, 7, 1 << 23, (1 << 31) - 1]), max_size=5),
    st.lists(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7, 1 << 23]), max_size=4), max_size=6),
)
def test_replicas_are_counted(brokers: set[int], partitions: list[list[int]]) -> None:
    """Of brokers that are registered, whatever the ids."""
    topic = bytes(15) + b"\1"
    values = [
        record(
            "PartitionRecord",
            topic_id=topic,
            partition_id=i,
            replicas=replicas,
            isr=replicas,
            leader=-1,
        )
        for i, replicas in enumerate(partitions)
    ]
    made = record("TopicRecord", name="t", topic_id=topic)
    with cluster(made, *(broker(node) for node in sorted(brokers)), *values) as source:
        counted = [sum(r.count(node) for r in partitions) for node in sorted(brokers)]
        assert counted == replica_counts(source.image).tolist()


@dataclass(frozen=True)
class Drawn:
    """A cluster to judge."""

    brokers: dict[int, tuple[str, int, int, bool]]
    """(feature, lowest, highest, fenced) by id."""
    controllers: dict[int, tuple[str, int, int]]
    voters: list[int] | None
    dynamic: bool
    current: int
    target: int


FEATURES = st.sampled_from(["metadata.version", "metadata.version", "group.version"])
RANGES = st.tuples(FEATURES, st.integers(1, 20), st.integers(15, 36))


@st.composite
def clusters(draw: st.DrawFn) -> Drawn:
    """Small clusters around the levels that matter."""
    return Drawn(
        {
            node: (*draw(RANGES), draw(st.booleans()))
            for node in draw(st.lists(st.integers(1, 4), max_size=4, unique=True))
        },
        draw(st.dictionaries(st.integers(1, 4), RANGES, max_size=4)),
        draw(st.none() | st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)),
        draw(st.booleans()),
        draw(st.sampled_from([13, 14, 15, 16, 25, 33])),
        draw(st.sampled_from([3, 4, 13, 15, 18, 24, 25, 26, 33, 34, 40])),
    )


CHANGED = {1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33}
"""Levels whose downgrade loses metadata, as MetadataVersion lists them."""


def blocked_by(drawn: Drawn) -> set[tuple[int | None, str | None]]:
    """Who blocks it: each node asked by itself, as FeatureControlManager does."""
    if drawn.target == drawn.current:
        return set()
    found: set[tuple[int | None, str | None]] = set()
    if drawn.target < 4 or any(drawn.target < i <= drawn.current for i in CHANGED):
        found.add((None, None))

    def supports(feature: str, lowest: int, highest: int) -> bool:
        if feature != "metadata.version":
            return False
        return lowest <= drawn.target <= highest

    for node, (feature, lowest, highest, _) in drawn.brokers.items():
        if not supports(feature, lowest, highest):
            found.add((node, "broker"))
    if drawn.current >= 15:
        for node, (feature, lowest, highest) in drawn.controllers.items():
            if not supports(feature, lowest, highest):
                found.add((node, "controller"))
        if drawn.voters is not None and not drawn.dynamic:
            found |= {(v, "controller") for v in drawn.voters if v not in drawn.controllers}
    return found


@given(clusters())
def test_who_blocks_an_upgrade(drawn: Drawn) -> None:
    """Fenced brokers and controllers without a vote included."""
    values = [level("metadata.version", drawn.current)]
    values += (
        broker(node, fenced=fenced, features=[supported(feature, lowest, highest)])
        for node, (feature, lowest, highest, fenced) in drawn.brokers.items()
    )
    values += (
        controller(node, features=[supported(feature, lowest, highest)])
        for node, (feature, lowest, highest) in drawn.controllers.items()
    )
    with cluster(*values, voters=drawn.voters, dynamic=drawn.dynamic) as source:
        verdict = judge(source.image, UpgradeTarget("metadata.version", drawn.target, "x-y"))
        found = {
            (None, None) if b.node is None else (b.node.id, b.node.role) for b in verdict.blockers
        }
        assert blocked_by(drawn) == found
        assert verdict.possible == (not found)
        ghosts = {b.node.id for b in verdict.blockers if b.removes and b.node is not None}
        assert ghosts <= {n for n, b in drawn.brokers.items() if b[3]} | set(drawn.controllers)
        done = verdict.command is not None
        assert done == (not found and drawn.target != drawn.current)
