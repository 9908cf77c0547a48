"""Findings about what happens too often: elections, registrations, fencings, changes of voters.

Everything is counted in windows of an hour by columns. Records of a checkpoint tell no time, and do
not count; neither do changes of partitions that a reduced log merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from metashell.answers.election import NOBODY
from metashell.answers.nodes import HOUR_MS, age_text
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind
from metashell.image.fold import begins_of, group_keys
from metashell.image.image import Image
from metashell.image.keyed import join_spans
from metashell.image.partition_replay import NO_LEADER_CHANGE
from metashell.judgement.evidence import Evidence
from metashell.parts.partition_fields import LISTS
from metashell.records.records import Records
from metashell.schema.arena import I64, AnyArray
from metashell.schema.timestamps import iso_time

_MOST_TOLD: Final = 100
"""Brokers and voters that are told one by one, the worst first."""
_LATEST: Final = 1 << 62
"""Times behind it are no times: an hour more would not fit into an int64."""
_LOST: Final = "lost leaderships"
_SUBJECTS: Final = {
    "frequent-elections": "the quorum",
    "unstable-voter": "voter {}",
    "unstable-broker": "broker {}",
}
_PATHS: Final = {
    "frequent-elections": "/quorum/epochs",
    "unstable-voter": "/quorum/voters",
    "unstable-broker": "/image/cluster/brokers",
}


class Happened(NamedTuple):
    """Events of one kind; n of them."""

    code: str
    words: str
    ids: AnyArray
    """int[n]: the node that each happened to."""
    rows: AnyArray
    """int[n]: the record of each."""


class Burst(NamedTuple):
    """The events of one node that lie in hours with too many of them."""

    node: int
    n: int
    most: int
    """How many an hour has at most."""
    first_ms: int
    last_ms: int

    def __str__(self) -> str:
        """Such as ``61 times in 28 min, the last at 2026-11-18T11:35:13Z``."""
        span = self.last_ms - self.first_ms
        at_most = f", up to {self.most:,} in an hour" if span >= HOUR_MS else ""
        last = iso_time(self.last_ms).partition(".")[0]
        return f"{self.n:,} times in {age_text(span)}{at_most}, the last at {last}Z"


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what happens too often in the records that the image is made of."""
    image, limit = evidence.image, evidence.most_per_hour
    subjects: set[str] = set()
    # A rolling restart has an election for each voter at most.
    n_voters = max((len(change.voters) for change in image.quorum.leaders), default=0)
    for code, words, ids, rows in _happened(image, limit):
        # Others lead for a broker that comes and goes, and hand the leadership back.
        if words == _LOST and any(subject.startswith("broker") for subject in subjects):
            break
        times = _times(image.records, rows)
        most = max(limit, n_voters) if code == "frequent-elections" else limit
        for burst in bursts(ids, times, most)[:_MOST_TOLD]:
            node = str(burst.node)
            subject = _SUBJECTS[code].format(node)
            # A broker that comes and goes leaves ISRs too: that is told once.
            if subject not in subjects:
                subjects.add(subject)
                yield Finding(
                    code,
                    f"{subject} {words} {burst}",
                    subject=subject,
                    count=burst.n,
                    path=_PATHS[code],
                    since_time_ms=burst.first_ms,
                    command=None if code != "unstable-broker" else ("log", "--broker", node),
                )


def bursts(ids: AnyArray, times: I64, limit: int) -> list[Burst]:
    """The events that came more than `limit` times in any hour, most events first.

    Args:
        ids: int[n]: what each event happened to.
        times: int64[n]: when, ms since the epoch, in any order; those below 0 do not count.
        limit: How often is not too often.
    """
    at = crowded(ids, times, limit)
    ids, times = ids[at], times[at]
    begins = np.flatnonzero(begins_of(ids)) if len(ids) else at
    found = []
    for node, of_node in zip(ids[begins].tolist(), np.split(times, begins[1:]), strict=False):
        ends = np.searchsorted(of_node, of_node + HOUR_MS)
        most = int((ends - np.arange(len(of_node))).max())
        found.append(Burst(node, len(of_node), most, int(of_node[0]), int(of_node[-1])))
    return sorted(found, key=lambda burst: (-burst.n, burst.node))


def crowded(keys: AnyArray, times: I64, limit: int) -> I64:
    """Indexes of the events in hours with more than `limit` of their key, by key and time.

    The arguments are those of `bursts`.
    """
    order = np.lexsort((times, keys))
    order = order[(times[order] >= 0) & (times[order] < _LATEST)]
    keys, times = keys[order], times[order]
    n_starts = max(len(keys) - limit, 0)
    over = keys[limit:] == keys[:n_starts]
    over &= times[limit:] - times[:n_starts] < HOUR_MS
    starts = np.flatnonzero(over)
    # Each window begins with one event and ends with the one that is too many.
    edges = np.zeros(len(keys) + 1, dtype=np.int64)
    edges[starts] += 1
    edges[starts + limit + 1] -= 1
    found: I64 = order[np.cumsum(edges[:-1]) > 0]
    return found


def _times(records: Records, rows: AnyArray) -> I64:
    """int64[n]: when records were written, -1 where a checkpoint hides it."""
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    times: I64 = np.where(records.offsets(rows)[1], records.frames_at(rows).timestamps(rows), -1)
    return times


def _happened(image: Image, limit: int) -> Iterator[Happened]:
    """All events: first of nodes, then of partitions, which follow from them."""
    records = image.records
    rows = records.columns("LeaderChangeMessage")[0]
    code = "frequent-elections"
    yield Happened(code, "elected a leader", np.zeros(len(rows), np.int64), rows)
    rows, columns = records.columns("VotersRecord")
    voters = columns.structs("voters")
    ids = voters.items.fixed("voter_id")
    of = np.repeat(np.arange(len(rows)), np.diff(voters.list_offsets))
    groups = group_keys([ids, voters.items.fixed("voter_directory_id")], len(ids))
    joined, left = _joined_and_left(groups, of)
    change = np.concatenate([of[joined], of[left] + 1])
    # The first record tells who votes, and no record follows the last one.
    inside = (change > 0) & (change < len(rows))
    ids, change = ids[np.concatenate([joined, left])][inside], change[inside]
    code = "unstable-voter"
    yield Happened(code, "joined or left", ids, rows[change])
    rows, columns = records.columns("RegisterBrokerRecord")
    code = "unstable-broker"
    yield Happened(code, "registered", columns.fixed("broker_id"), rows)
    yield Happened(code, "was fenced", *_fencings(records))
    happenings = image.partitions.happenings
    if happenings.merged is None and happenings.change.n > limit:
        for is_isr, words in ((True, "left ISRs"), (False, _LOST)):
            yield Happened(code, words, *_lost_places(image, limit, is_isr=is_isr))


def _joined_and_left(groups: I64, steps: AnyArray) -> tuple[I64, I64]:
    """Where members of a list begin and end to be in it: indexes of the first and last steps.

    Args:
        groups: int64[n]: a number for each member.
        steps: int[n]: the step of its list's history that has it.
    """
    order = np.lexsort((steps, groups))
    goes_on = np.zeros(len(order) + 1, dtype=np.bool_)
    if len(order) > 1:
        same = groups[order][1:] == groups[order][:-1]
        goes_on[1:-1] = same & (steps[order][1:] <= steps[order][:-1] + 1)
    return order[~goes_on[:-1]], order[~goes_on[1:]]


def _fencings(records: Records) -> tuple[AnyArray, AnyArray]:
    """The broker and the row of each record that fences one which was not fenced."""
    parts = []
    for name, key, says in (
        ("RegisterBrokerRecord", "broker_id", -1),
        ("FenceBrokerRecord", "id", 1),
        ("UnfenceBrokerRecord", "id", -1),
        ("BrokerRegistrationChangeRecord", "broker_id", "fenced"),
    ):
        rows, columns = records.columns(name)
        values = columns.fixed(says) if isinstance(says, str) else np.full(len(rows), says)
        at = values != 0
        parts.append((columns.fixed(key)[at], rows[at], values[at] > 0))
    ids, rows, fenced = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((rows, ids))
    ids, rows, fenced = ids[order], rows[order], fenced[order]
    fenced[1:] &= ~(fenced[:-1] & (ids[1:] == ids[:-1]))
    return ids[fenced], rows[fenced]


def _lost_places(image: Image, limit: int, *, is_isr: bool) -> tuple[AnyArray, AnyArray]:
    """Brokers that left the ISR of a partition, or lost its leadership, too often, and the rows."""
    happenings, events = image.partitions.happenings, image.partitions.events
    parts = happenings.base, happenings.change
    group = np.cumsum(events.first == np.arange(len(events.first))) - 1
    lists = join_spans(*(part.span(LISTS["isr"]) for part in parts))
    leaders = np.concatenate([part.fixed("leader") for part in parts])[events.order]
    carried = lists.counts[events.order] >= 0 if is_isr else leaders > NO_LEADER_CHANGE
    # Few partitions change that often, and only these are looked at.
    often = np.bincount(group[carried], minlength=int(group[-1]) + 1) > limit
    at = np.flatnonzero(carried & often[group])
    of, step, broker = group[at], np.arange(len(at)), leaders[at]
    if is_isr:
        isr = lists.take(events.order[at])
        broker, step = isr.gather()[0], np.repeat(step, isr.counts)
        lost = _joined_and_left(group_keys([of[step], broker], len(step)), step)[1]
        step, broker = step[lost], broker[lost]
    follows = (step + 1 < len(at)) & (of[np.minimum(step + 1, len(at) - 1)] == of[step])
    step, broker = step[follows] + 1, broker[follows]
    if not is_isr:
        lost = (broker != NOBODY) & (broker != leaders[at[step]])
        step, broker = step[lost], broker[lost]
    rows = happenings.rows[events.order[at[step]]]
    pairs = group_keys([of[step], broker], len(step))
    found = crowded(pairs, _times(image.records, rows), limit)
    return broker[found], rows[found]
