"""Everything that is wrong with a cluster as its image tells it, the worst first.

A finding is told once a subject: of partitions a topic, else a broker, a controller, a config's
resource. Its beginning is when what decides it was last set. Everything is counted by columns: no
loop goes over partitions.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.causes import (
    ELECTION,
    NO_COORDINATOR,
    STUCK,
    Causes,
    Links,
)
from metashell.answers.config_problems import leftover_throttles, lowered_configs
from metashell.answers.configs import ConfigQuestion, configs_table
from metashell.answers.coordinator_tables import COORDINATOR_KINDS, CoordinatorKind
from metashell.answers.health import READS, Health
from metashell.answers.nodes import BROKER, HOUR_MS, NodeRow, nodes_of
from metashell.answers.partitions import Reasons
from metashell.answers.ranges import ranges_texts
from metashell.answers.releases import CONTROLLERS_REGISTER
from metashell.answers.row_times import before, when
from metashell.answers.tally import tally, tally_replicas
from metashell.answers.topic_settings import unclean_election
from metashell.answers.topics import topic_order
from metashell.dataclass import dataclass
from metashell.findings.kind import FindingKind
from metashell.image.directories import bad_replicas
from metashell.image.features import METADATA_VERSION
from metashell.image.image import Image
from metashell.image.quorum_members import QuorumMember
from metashell.judgement.evidence import Evidence
from metashell.redact import Redaction
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.arrow import fixed_array, one_piece, string_array

_STATES: Final = {
    "offline-partitions": "offline",
    NO_COORDINATOR: "offline",
    "under-min-isr": "under-min-isr",
    "under-replicated": "under-replicated",
    "at-min-isr": "at-min-isr",
    "unclean-possible": "under-replicated",
    "recovering": "recovering",
    "elr-in-use": "elr",
    "reassigning": "reassigning",
    STUCK: "reassigning",
    "no-spare-replica": "at-min-isr",
    "no-preferred-leader": "no-preferred-leader",
}
"""Findings about partitions, and the state whose beginning is that of each."""

STATE_OF: Final = {
    code: _STATES[code]
    for code in (
        "offline-partitions",
        "under-min-isr",
        "under-replicated",
        "recovering",
        "elr-in-use",
        "no-preferred-leader",
    )
}
"""The state of `LOOKS_AT` that each is, of those that are a state and nothing else."""

_UNKNOWN_ROW: Final = -1


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Findings]:
    """Find what an image tells of some kinds."""
    return evidence.image_findings.find(kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Findings of one kind, a row for each subject."""

    kind: FindingKind
    of: str
    """The subjects' kind: ``topic``, ``partition``, ``broker``, ``controller``, ``config``."""
    names: pa.Array
    """string[n]: the topic's, node's or resource's name."""
    parts: pa.Array | None = None
    """string[n]: of a partition its id, of a config's resource its type."""
    counts: pa.Array
    """int64[n]: how many of what the kind counts."""
    since: Callable[[], Mapping[str, pa.Array]]
    """When it began: ``since_offset`` (int64[n]) and ``since_time`` (timestamp[ms, UTC][n]), null
    where nothing says; ``since_before`` (likewise, may be missing): see `row_times.before`."""
    details: Sequence[str | None] = ()
    """The particular facts about each, or nothing."""
    explains: bool = False
    """Whether the details say all that the kind's meaning says."""
    causes: Callable[[], pa.Array] | None = None
    """list<string>[n]: what each follows from, see `metashell.answers.causes.Cause.name`; None:
    nothing."""
    why: Callable[[], pa.Array] | None = None
    """string[n]: why, in a few words, null where nothing explains it; None: `details` say it."""
    partitions: Callable[[], pa.Array] | None = None
    """string[n]: the partitions of each topic, as ``1-3,5``; None: it is not about partitions."""


class _Facts:
    """The costliest facts about an image, kept as long as the image is."""

    def __init__(self, image: Image) -> None:
        self._image = weakref.ref(image)

    @property
    def image(self) -> Image:
        """The image."""
        image = self._image()
        assert image is not None
        return image

    @cached_property
    def name_ranks(self) -> I64:
        """int64[topics]: the place of each topic's name among all names, by code point."""
        order = pc.sort_indices(string_array(self.image.topics.raw_names)).to_numpy()
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    @cached_property
    def bad_directories(self) -> tuple[dict[int, int], dict[int, int]]:
        """By broker: replicas in directories that are not online, and in lost ones."""
        bad = bad_replicas(self.image)
        offline, lost = tally(bad.broker[~bad.lost]), tally(bad.broker[bad.lost])
        return (
            dict(zip(offline[0].tolist(), offline[1].tolist(), strict=True)),
            dict(zip(lost[0].tolist(), lost[1].tolist(), strict=True)),
        )


class ImageFindings:
    """The findings about an image.

    Args:
        image: The cluster.
        redaction: The redaction of configs.
        assumptions: The configs that the nodes' own files are assumed to set.
        voters: The voters, where they are known better than by the log.
        ghost_after_ms: How long a broker without replicas is fenced until it is a ghost.
        now_ms: When that is measured from; None for the image's last record.
        detail: A row for each partition in place of one for each topic.
    """

    def __init__(
        self,
        image: Image,
        redaction: Redaction,
        assumptions: Assumptions = NO_ASSUMPTIONS,
        *,
        voters: Sequence[QuorumMember] | None = None,
        ghost_after_ms: int = HOUR_MS,
        now_ms: int | None = None,
        detail: bool = False,
    ) -> None:
        self.image = image
        image.expect({name for lists in READS.values() for name in lists})
        self.health = Health(image, assumptions)
        self.causes = Causes(self.health)
        self.reasons = Reasons(self.causes)
        self._redaction = redaction
        self._voters = voters
        self._ghost_after_ms, self._now_ms = ghost_after_ms, now_ms
        self._detail = detail
        self._facts = image.once(_Facts)

    def find(self, kinds: Iterable[FindingKind]) -> Iterator[Findings]:
        """The findings of some kinds, as far as an image can tell."""
        finders = self._finders()
        for kind in kinds:
            yield from finders[kind.code](kind)

    def _finders(self) -> Mapping[str, Callable[[FindingKind], Iterator[Findings]]]:
        return {
            **dict.fromkeys(_STATES, self._partitions),
            "lost-directory": self._directories,
            "offline-directory": self._directories,
            ELECTION: self._elections,
            "unregistered-broker": self._unregistered_brokers,
            "fenced-broker": self._brokers,
            "controlled-shutdown": self._brokers,
            "ghost-registration": self._ghosts,
            "unregistered-voter": self._unregistered_voters,
            "older-release": self._older_releases,
            "leftover-throttle": self._marked_configs,
            "lowered-config": self._marked_configs,
            "config-of-gone-resource": self._configs,
            "unknown-config": self._configs,
        }

    # Partitions.

    def mask(self, code: str) -> Bools:
        """bool[k]: the partitions that have a kind of `_STATES`."""
        health = self.health
        if code in STATE_OF:
            return health.mask(STATE_OF[code])
        if code in (STUCK, "reassigning"):
            return self.causes.stuck if code == STUCK else health.reassigning & ~self.causes.stuck
        if code == NO_COORDINATOR:
            topics = list(self._coordinators)
            return health.offline & np.isin(self.image.partitions.topic, topics)
        under = health.under_replicated
        if code == "at-min-isr":
            return health.at_min_isr & under
        if code == "no-spare-replica":
            # One replica alone is a finding of its own.
            return health.at_min_isr & ~under & ~health.offline & (health.n_of("replicas") > 1)
        rows = np.flatnonzero(under)
        rows = rows[unclean_election(self.image, health.assumptions, rows).values != 0]
        # A replica in the ELR has all acknowledged records: its election loses none (KIP-966).
        some = Health(self.image, health.assumptions, rows)
        in_sync = some.n_of("isr") + some.n_of("elr") + some.n_of("adding_replicas")
        out = np.zeros(len(under), dtype=np.bool_)
        out[rows[in_sync < some.n_of("replicas")]] = True
        return out

    def _partitions(self, kind: FindingKind) -> Iterator[Findings]:
        rows = np.flatnonzero(self.mask(kind.code))
        if len(rows):
            yield self.of_partitions(kind, rows, self.health.began(_STATES[kind.code], rows))

    def of_partitions(self, kind: FindingKind, rows: I64, since: I64) -> Findings:
        """The findings of a kind about partitions, by topic unless each is asked for.

        Args:
            kind: The kind.
            rows: int64[n], ascending: the partitions, one at least.
            since: int64[n]: the row of the record that began each.
        """
        links = self.causes.links(rows, kind.code)
        if self._detail:
            return self._each_partition(kind, rows, since, links)
        topic = self.image.partitions.topic[rows]
        starts = np.flatnonzero(np.diff(topic, prepend=-1))
        counts = np.diff(starts, append=len(rows))
        # A checkpoint's rows come first: if one is hidden, so is the beginning.
        first = np.minimum.reduceat(since, starts)
        order = np.lexsort((self._facts.name_ranks[topic[starts]], -counts))
        names = string_array(self.image.topics.raw_names.take(topic[starts[order]]))
        groups = np.repeat(np.arange(len(starts)), counts)
        return self._findings(
            kind,
            "topic",
            names,
            fixed_array(counts[order]),
            first[order],
            details=self._lost_coordinators(kind, rows, starts, order),
            causes=lambda: self._lists(links, groups[links.at], order),
            why=lambda: self.reasons.of_groups(rows, kind.code, links, groups, len(starts)).take(
                pa.array(order)
            ),
            partitions=lambda: ranges_texts(
                self.image.partitions.partition[rows].astype(np.int64), starts
            ).take(pa.array(order)),
        )

    def _lists(self, links: Links, groups: I64, order: I64) -> pa.Array:
        return self.causes.lists(links, groups, len(order)).take(pa.array(order))

    def count_following(self, code: str, causes: Collection[str]) -> int:
        """The number of partitions with a kind of finding that follow from any of some causes.

        Args:
            code: The kind.
            causes: By `metashell.answers.causes.Cause.name`.
        """
        links = self.causes.links(np.flatnonzero(self.mask(code)), code)
        numbers = np.unique(links.cause)
        found = zip(numbers.tolist(), self.causes.of_numbers(numbers), strict=True)
        wanted = [number for number, cause in found if cause.name in causes]
        return len(np.unique(links.at[np.isin(links.cause, wanted)]))

    def _elections(self, kind: FindingKind) -> Iterator[Findings]:
        """Live brokers whose partitions others lead."""
        rows = np.flatnonzero(self.causes.due)
        if not len(rows):
            return
        brokers, at, counts = np.unique(
            self.health.preferred[rows], return_inverse=True, return_counts=True
        )
        since = np.full(len(brokers), np.iinfo(np.int64).max)
        np.minimum.at(since, at, self.health.last_set(("leader",), rows))
        order = np.argsort(-counts, kind="stable")
        names = fixed_array(brokers[order]).cast(pa.string())
        yield self._findings(kind, "broker", names, fixed_array(counts[order]), since[order])

    def _each_partition(self, kind: FindingKind, rows: I64, since: I64, links: Links) -> Findings:
        order = topic_order(self.image, rows)
        partitions = self.image.partitions
        at = rows[order]
        names = string_array(self.image.topics.raw_names.take(partitions.topic[at]))
        ids = fixed_array(partitions.partition[at]).cast(pa.string())
        ones = pa.array(np.ones(len(rows), dtype=np.int64))
        return self._findings(
            kind,
            "partition",
            names,
            ones,
            since[order],
            ids,
            details=self._lost_coordinators(kind, rows, np.arange(len(rows)), order),
            causes=lambda: self._lists(links, links.at, order),
            why=lambda: self.reasons.of(rows, kind.code).take(pa.array(order)),
            partitions=lambda: ids,
        )

    @cached_property
    def _coordinators(self) -> Mapping[int, CoordinatorKind]:
        """By index, the topics whose partitions' leaders are coordinators."""
        found = {self.image.topics.find_name(k.topic): k for k in COORDINATOR_KINDS.values()}
        return {topic: kind for topic, kind in found.items() if topic is not None}

    def _lost_coordinators(
        self, kind: FindingKind, rows: I64, starts: I64, order: I64
    ) -> Sequence[str]:
        """The groups or ids without a coordinator, for each group of partitions of a topic.

        It is empty for other kinds.

        Args:
            kind: The kind.
            rows: int64: the partitions, those of a group behind each other.
            starts: int64[n]: where each group begins among them.
            order: int64[n]: how the groups are told.
        """
        if kind.code != NO_COORDINATOR:
            return ()
        partitions = self.image.partitions
        texts, groups = [], np.split(rows, starts[1:])
        for group in (groups[i] for i in order.tolist()):
            topic = int(partitions.topic[group[0]])
            numbers = partitions.partition[group].tolist()
            n_all = len(partitions.ids_of(topic))
            texts.append(self._coordinators[topic].without_coordinator(numbers, n_all))
        return texts

    def _findings(
        self,
        kind: FindingKind,
        of: str,
        names: pa.Array,
        counts: pa.Array,
        since: AnyArray,
        parts: pa.Array | None = None,
        details: Sequence[str | None] = (),
        causes: Callable[[], pa.Array] | None = None,
        why: Callable[[], pa.Array] | None = None,
        partitions: Callable[[], pa.Array] | None = None,
    ) -> Findings:
        return Findings(
            kind=kind,
            of=of,
            names=names,
            parts=parts,
            counts=counts.cast(pa.int64()),
            details=details,
            explains=kind.code == NO_COORDINATOR,
            causes=causes,
            why=why,
            partitions=partitions,
            since=lambda: {
                **when(self.image, "since", since),
                "since_before": before(self.image, since),
            },
        )

    # Brokers, and what they hold.

    def of_brokers(self, kind: FindingKind, counts: Mapping[int, int]) -> Iterator[Findings]:
        """Findings about brokers whose beginning is not known."""
        if counts:
            ids = sorted(counts)
            yield self._findings(
                kind,
                "broker",
                pa.array(map(str, ids), pa.string()),
                pa.array([counts[i] for i in ids], pa.int64()),
                np.full(len(ids), _UNKNOWN_ROW, dtype=np.int64),
            )

    def _unregistered_brokers(self, kind: FindingKind) -> Iterator[Findings]:
        ids, counts = tally_replicas(self.image)
        strange = ~np.isin(ids, self.image.brokers.ids)
        found = zip(ids[strange].tolist(), counts[strange].tolist(), strict=True)
        yield from self.of_brokers(kind, dict(found))

    def _directories(self, kind: FindingKind) -> Iterator[Findings]:
        yield from self.of_brokers(kind, self._facts.bad_directories[kind.code == "lost-directory"])

    # Nodes.

    @cached_property
    def _nodes(self) -> list[NodeRow]:
        return nodes_of(self.image, self._voters, self._ghost_after_ms, now_ms=self._now_ms)

    def _of_nodes(
        self, kind: FindingKind, nodes: Sequence[NodeRow], counts: Sequence[int], row: int
    ) -> Iterator[Findings]:
        """Findings about nodes by role; `row`: which of `NodeRow.rows` began it."""
        for role in sorted({node.role for node in nodes}):
            some = [(n, c) for n, c in zip(nodes, counts, strict=True) if n.role == role]
            # A broker is a ghost because of the time for which it has been fenced.
            since = [n.rows[row if role == BROKER else 0] for n, _ in some]
            yield self._findings(
                kind,
                role,
                pa.array([str(n.id) for n, _ in some], pa.string()),
                pa.array([c for _, c in some], pa.int64()),
                np.array(since, dtype=np.int64),
                details=[n.ghost for n, _ in some] if kind.code == "ghost-registration" else (),
            )

    def _brokers(self, kind: FindingKind) -> Iterator[Findings]:
        is_fenced = kind.code == "fenced-broker"
        found = [
            node
            for node in self._nodes
            if node.ghost is None
            and (node.fenced if is_fenced else node.in_controlled_shutdown and not node.fenced)
        ]
        found.sort(key=lambda node: (-(node.replicas or 0), node.id))
        yield from self._of_nodes(
            kind, found, [node.replicas or 0 for node in found], 2 if is_fenced else 1
        )

    def _ghosts(self, kind: FindingKind) -> Iterator[Findings]:
        found = [node for node in self._nodes if node.ghost is not None]
        yield from self._of_nodes(kind, found, [1] * len(found), 2)

    def _unregistered_voters(self, kind: FindingKind) -> Iterator[Findings]:
        if (self.image.metadata_version or 0) < CONTROLLERS_REGISTER:
            return
        found = [node for node in self._nodes if node.voter and not node.registered]
        yield from self._of_nodes(kind, found, [1] * len(found), 0)

    def _older_releases(self, kind: FindingKind) -> Iterator[Findings]:
        """Nodes whose software supports less than that of others."""
        levels = [node.range_of(METADATA_VERSION)[1] for node in self._nodes]
        newest = max(levels, default=0)
        found = [n for n, level in zip(self._nodes, levels, strict=True) if 0 < level < newest]
        yield from self._of_nodes(kind, found, [1] * len(found), 0)

    # Configs.

    def _marked_configs(self, kind: FindingKind) -> Iterator[Findings]:
        if kind.code == "lowered-config":
            marked = lowered_configs(self.image)
        else:
            marked = leftover_throttles(self.image, self.health.reassigning)
        if marked.names:
            yield self._findings(
                kind,
                "config",
                pa.array(marked.names, pa.string()),
                pa.array(marked.counts, pa.int64()),
                np.array(marked.rows, dtype=np.int64),
                pa.array(marked.types, pa.string()),
                marked.details,
            )

    def _configs(self, kind: FindingKind) -> Iterator[Findings]:
        is_gone = kind.code == "config-of-gone-resource"
        question = ConfigQuestion(only_gone=is_gone, only_unknown=not is_gone)
        rows = configs_table(self.image, self._redaction, question, self.health.assumptions)
        if not len(rows):
            return
        # Where the beginning of one is not known, neither is that of all.
        whole = pc.ScalarAggregateOptions(skip_nulls=False)
        grouped = rows.group_by(["resource_type", "resource_name"], use_threads=False).aggregate(
            [("key", "count"), ("changed_offset", "min", whole), ("changed_time", "min", whole)]
        )
        order = [("resource_type", "ascending"), ("resource_name", "ascending")]
        grouped = grouped.take(pc.sort_indices(grouped, order)).combine_chunks()

        def column(name: str) -> pa.Array:
            return one_piece(grouped.column(name))

        yield Findings(
            kind=kind,
            of="config",
            names=column("resource_name"),
            parts=column("resource_type"),
            counts=column("key_count"),
            since=lambda: {
                "since_offset": column("changed_offset_min"),
                "since_time": column("changed_time_min"),
            },
        )
