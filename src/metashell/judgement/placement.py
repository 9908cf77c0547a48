"""Findings about where replicas lie: racks, single brokers, too few copies.

All is found by columns: no loop goes over partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.answers.brokers import Racks
from metashell.answers.election import lists_of
from metashell.answers.tally import tally
from metashell.findings.kind import FindingKind
from metashell.judgement.evidence import Evidence
from metashell.schema.arena import I64, Bools

if TYPE_CHECKING:
    from metashell.judgement.image_findings import Findings, ImageFindings

_MANY: Final = 10
"""Fewer partitions say nothing about how a cluster is laid out."""
_BALANCED_MS: Final = 600_000
"""Twice leader.imbalance.check.interval.seconds: a controller has moved leaders by then."""
_DEFAULT: Final = "default.replication.factor"


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Findings]:
    """Find what the placement of replicas risks."""
    for kind in kinds:
        yield from FINDERS[kind.code](evidence.image_findings, kind)


def _partitions(of: ImageFindings, kind: FindingKind, mask: Bools) -> Iterator[Findings]:
    rows = np.flatnonzero(mask)
    if len(rows):
        since = of.health.last_set(("replicas",), rows).astype(np.int64)
        yield of.of_partitions(kind, rows, since)


def _one_rack(of: ImageFindings, kind: FindingKind) -> Iterator[Findings]:
    """Partitions of several replicas that stay in one rack, where there is another."""
    racks = Racks.of(of.image)
    codes = racks.codes(of.image.brokers.ids)
    some = np.flatnonzero((of.health.n_of("replicas") > 1) & ~of.health.reassigning)
    if len(np.unique(codes[codes >= 0])) < 2 or not len(some):
        return
    replicas = lists_of(of.image, "replicas", some)
    rack = racks.codes(replicas.brokers)
    starts = np.flatnonzero(np.diff(replicas.row, prepend=-1))
    lowest, highest = (f.reduceat(rack, starts) for f in (np.minimum, np.maximum))
    mask = np.zeros(len(of.image.partitions), dtype=np.bool_)
    mask[some] = (lowest == highest) & (lowest >= 0)
    yield from _partitions(of, kind, mask)


def _single(of: ImageFindings, kind: FindingKind) -> Iterator[Findings]:
    """Partitions of one replica that have a leader; those that have none are offline."""
    health = of.health
    mask = health.at_min_isr & ~health.offline & (health.n_of("replicas") == 1)
    yield from _partitions(of, kind, mask)


def _below_default(of: ImageFindings, kind: FindingKind) -> Iterator[Findings]:
    default = (of.health.assumptions.get(_DEFAULT) or "").strip()
    if default.isdecimal():
        # A broker refuses a larger number.
        yield from _partitions(of, kind, of.health.n_of("replicas") < min(int(default), 1 << 15))


def _stops_most(of: ImageFindings, kind: FindingKind) -> Iterator[Findings]:
    """The one broker without which more than half of the partitions stop."""
    health = of.health
    running = np.count_nonzero(~health.offline)
    rows = np.flatnonzero(health.at_min_isr & ~health.offline)
    ids, counts = tally(lists_of(of.image, "isr", rows).brokers)
    most = np.flatnonzero(counts * 2 > running)
    if len(most) == 1 and running >= _MANY and len(of.image.brokers) > 1:
        yield from of.of_brokers(kind, {int(ids[most[0]]): int(counts[most[0]])})


def _leads_nothing(of: ImageFindings, kind: FindingKind) -> Iterator[Findings]:
    """Brokers that an election of preferred leaders would give many, and that lead none."""
    image = of.image
    ids, counts = tally(of.health.preferred[of.causes.due])
    idle = ids[(counts >= _MANY) & ~np.isin(ids, image.partitions.leader)]
    since = _changed_ms(of)
    found = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    end = image.provenance.timestamp_ms
    yield from of.of_brokers(
        kind, {i: found[i] for i in idle.tolist() if end - since.get(i, 0) >= _BALANCED_MS}
    )


def _changed_ms(of: ImageFindings) -> Mapping[int, int]:
    """The time of the record that last changed each broker's registration, or of its checkpoint."""
    brokers = of.image.brokers
    rows: I64 = np.asarray(brokers.changed, dtype=np.int64)
    times = of.image.records.frames_at(rows).timestamps(rows) if len(rows) else rows
    return dict(zip(brokers.ids.tolist(), times.tolist(), strict=True))


FINDERS: Final[Mapping[str, Callable[[ImageFindings, FindingKind], Iterator[Findings]]]] = {
    "broker-stops-most": _stops_most,
    "idle-broker": _leads_nothing,
    "one-rack": _one_rack,
    "single-replica": _single,
    "replication-below-default": _below_default,
}
"""Who finds the kinds, by code."""
