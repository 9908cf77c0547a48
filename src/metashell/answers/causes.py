"""The causes of partitions' problems: brokers that are down, failed disks, due elections.

A replica that is out of the ISR is explained by its broker, where that is fenced, shutting down or
not registered, or by its log directory. A slow replica on a live broker is not explained. No broker
explains that a partition with fewer replicas than min.insync.replicas is under it. All is found by
columns: no loop goes over partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.brokers import broker_states
from metashell.answers.election import Ragged, active_brokers, lists_of, waited_for
from metashell.answers.health import Health
from metashell.answers.row_times import before, when
from metashell.answers.tally import tally, tally_replicas
from metashell.dataclass import dataclass
from metashell.findings.known import all_kinds
from metashell.image.directories import BadReplicas, bad_replicas
from metashell.schema.arena import I64, AnyArray, Bools, ranges
from metashell.schema.arrow import list_array

ELECTION: Final = "preferred-election-due"
STUCK: Final = "reassignment-stuck"
NO_COORDINATOR: Final = "coordinator-offline"
UNDER_MIN_ISR: Final = "under-min-isr"

_PROBLEMS: Final = (
    None,
    "fenced-broker",
    "controlled-shutdown",
    "unregistered-broker",
    "lost-directory",
    "offline-directory",
    ELECTION,
)
"""Kinds of causes; the first four stand as the states of `metashell.answers.brokers.STATES` do."""
_WORDS: Final = {code: kind.cause for code, kind in all_kinds().items() if kind.cause}
"""Causes in words, by their kinds."""
_LOST, _OFFLINE, _ELECTION = (_PROBLEMS.index(name) for name in _PROBLEMS[4:])
_NONE: Final = -1
_FEW: Final = 3
"""Brokers that are named one by one."""
_FEW_PARTITIONS: Final = 1000
"""For so many, what others miss is not looked for."""

EFFECTS: Final = {code: kind.effect for code, kind in all_kinds().items() if kind.effect}
"""Kinds about partitions that can follow from a cause, the worst first, and their short names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause of partitions' problems."""

    problem: str
    """A kind of problem, by its code: it has a row of its own in ``health``."""
    broker: int
    partitions: int
    """How many of the partitions asked for."""
    since_offset: int | None = None
    """Offset of the record that fenced the broker; None where it is another cause, or a checkpoint
    hides it."""
    since_time_ms: int | None = None
    """Its time."""
    since_before_ms: int | None = None
    """When the checkpoint ended that hides it."""

    @property
    def name(self) -> str:
        """How rows refer to it: the problem and the subject of its own row."""
        return f"{self.problem} broker {self.broker}"

    @property
    def words(self) -> str:
        """Such as ``broker 104 is fenced``."""
        return _WORDS[self.problem].format(self.broker)


def causes_text(causes: Sequence[Cause], n_brokers: int) -> str:
    """Causes in a few words, such as ``both brokers are fenced``; empty without causes.

    Args:
        causes: Causes from `Causes.of`.
        n_brokers: How many brokers are registered.
    """
    by_problem: dict[str, list[int]] = {}
    for cause in causes:
        by_problem.setdefault(cause.problem, []).append(cause.broker)
    return "; ".join(_group_text(*group, n_brokers) for group in by_problem.items())


def _group_text(problem: str, brokers: Sequence[int], n_brokers: int) -> str:
    n = len(brokers)
    one = _WORDS[problem] if n == 1 else _WORDS[problem].replace("broker ", "brokers ")
    if n == 1 or not one.startswith("brokers {} is "):
        names = ", ".join(map(str, brokers[:_FEW]))
        return one.format(names if n <= _FEW else f"{names} and {n - _FEW:,} more")
    state = one.removeprefix("brokers {} is ")
    if problem == "fenced-broker" and n == n_brokers:
        return f"{'both' if n == 2 else f'all {n:,}'} brokers are {state}"
    if n > _FEW:
        return f"{n:,} brokers are {state}"
    *first, last = map(str, sorted(brokers))
    return f"brokers {', '.join(first)} and {last} are {state}"


@dataclass(frozen=True, slots=True)
class Links:
    """Which partitions follow from what.

    ``at``: int64[m], index into the partitions asked for; ``cause``: int64[m], a number that
    `Causes` knows. A partition can have several.
    """

    at: I64
    cause: I64


class Causes:
    """Causes of the problems of an image's partitions.

    Args:
        health: The image's health.
    """

    def __init__(self, health: Health) -> None:
        self.health, self.image = health, health.image

    # For those who tell of partitions.

    def text_of_all(self, rows: I64, problem: str) -> str:
        """The causes of each of some partitions in a few words: see `causes_text`.

        Args:
            rows: int64[n]: the partitions, in any order.
            problem: One of `EFFECTS`.

        Returns:
            Empty where nothing explains one of them.
        """
        links = self.links(np.sort(rows), problem)
        if len(np.unique(links.at)) < len(rows):
            return ""
        return causes_text(self.causes(links), len(self.image.brokers.ids))

    def of(self, rows: I64, problem: str = "under-replicated") -> Sequence[Cause]:
        """Causes of a problem, those of most partitions first.

        Args:
            rows: int64[n]: the partitions that have it.
            problem: One of `EFFECTS`.
        """
        return self.causes(self.links(rows, problem))

    def causes(self, links: Links) -> Sequence[Cause]:
        """The causes of links, those of most partitions first."""
        numbers, counts = np.unique(links.cause, return_counts=True)
        found = []
        order = np.argsort(-counts, kind="stable")
        for number, count in zip(numbers[order].tolist(), counts[order].tolist(), strict=True):
            place, kind = divmod(number, len(_PROBLEMS))
            problem, broker = _PROBLEMS[kind], int(self._ids[place])
            assert problem is not None
            is_fenced = problem == "fenced-broker"
            unknown = (None, None, None)
            offset, time_ms, before_ms = self._fenced.get(broker, unknown) if is_fenced else unknown
            found.append(
                Cause(
                    problem=problem,
                    broker=broker,
                    partitions=count,
                    since_offset=offset,
                    since_time_ms=time_ms,
                    since_before_ms=before_ms,
                )
            )
        return found

    def lists(self, links: Links, groups: I64, n: int) -> pa.Array:
        """list<string>[n]: names of the causes of each group of partitions, by broker.

        Args:
            links: The links of the partitions.
            groups: int64[m]: the group of each link.
            n: How many groups there are.
        """
        known, numbers = np.unique(links.cause, return_inverse=True)
        names = [cause.name for cause in self.of_numbers(known)]
        pairs = np.unique(groups * max(len(known), 1) + numbers)
        group, number = np.divmod(pairs, max(len(known), 1))
        bounds = np.searchsorted(group, np.arange(n + 1))
        items = pa.array(names, pa.string()).take(pa.array(number))
        return list_array(items, bounds, None)

    def of_numbers(self, numbers: I64) -> Sequence[Cause]:
        """A cause for each number of `Links`, which are ascending, in their order."""
        once = Links(np.arange(len(numbers)), numbers)
        return self.causes(once)

    # Finding them.

    def links(self, rows: I64, problem: str) -> Links:
        """The links from partitions to their causes.

        Args:
            rows: int64[n]: the partitions that have the problem, each once.
            problem: Its code; nothing follows where it is not one of `EFFECTS`.

        Returns:
            Links by ``at``, ascending.
        """
        if problem == "no-preferred-leader":
            return self._of_preferred(rows)
        if problem not in EFFECTS or not len(rows):
            return Links(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        missing = self._missing_among(rows)
        first, end = (np.searchsorted(missing.at, rows, side) for side in ("left", "right"))
        counts = end - first
        at = np.repeat(np.arange(len(rows)), counts)
        found = Links(at, missing.cause[ranges(first, counts)[0]])
        if problem == UNDER_MIN_ISR:
            keep = ~Health(self.image, self.health.assumptions, rows).has_too_few[at]
            return Links(at[keep], found.cause[keep])
        is_offline = problem in ("offline-partitions", NO_COORDINATOR)
        return self._waited_for(rows, found) if is_offline else found

    def _waited_for(self, rows: I64, links: Links) -> Links:
        """Keep the brokers that partitions without a leader wait for.

        All are kept where none of these is known to be down. Who waits for none has no cause: no
        start of a broker gives it a leader.
        """
        waits = waited_for(self.image, rows)
        brokers = self._ids[links.cause // len(_PROBLEMS)]
        wanted = Ragged(brokers, links.at).within(waits)
        has_wanted = np.zeros(len(rows), dtype=np.bool_)
        has_wanted[links.at[wanted]] = True
        waiting = np.zeros(len(rows), dtype=np.bool_)
        waiting[waits.row] = True
        keep = wanted | (waiting & ~has_wanted)[links.at]
        return Links(links.at[keep], links.cause[keep])

    @cached_property
    def _ids(self) -> AnyArray:
        """int[k]: brokers that are registered or have replicas, ascending."""
        return np.union1d(tally_replicas(self.image)[0], self.image.brokers.ids).astype(np.int64)

    @cached_property
    def _states(self) -> AnyArray:
        """int8[k]: index into `_PROBLEMS` of each; 0 for a live one."""
        return broker_states(self.image, self._ids)

    @cached_property
    def _fenced(self) -> Mapping[int, tuple[int | None, int | None, int | None]]:
        """Offset and time of the record that fenced each fenced broker, and see `before`."""
        brokers = self.image.brokers
        rows = np.flatnonzero(brokers.fenced)
        since = when(self.image, "since", brokers.fenced_since[rows])
        offsets = since["since_offset"].to_pylist()
        times = since["since_time"].cast("int64").to_pylist()
        befores = before(self.image, brokers.fenced_since[rows]).cast("int64").to_pylist()
        ids = brokers.ids[rows].tolist()
        return dict(zip(ids, zip(offsets, times, befores, strict=True), strict=True))

    def _missing_among(self, rows: I64) -> Links:
        """Look at the given partitions alone if they are few, else at all: see `_missing`."""
        if len(rows) > _FEW_PARTITIONS or "_missing" in self.__dict__:
            return self._missing
        rows = np.sort(rows)
        return self._missing_of(rows[self._lacking[rows]])

    @cached_property
    def _missing(self) -> Links:
        """Replicas that are out of the ISR, or whose partition has no leader, and why; ``at`` is
        the partition, ascending.
        """
        return self._missing_of(np.flatnonzero(self._lacking))

    @property
    def _lacking(self) -> Bools:
        """bool[k]: partitions that may miss a replica."""
        health = self.health
        lacking: Bools = health.under_replicated | health.offline | health.reassigning
        return lacking

    def _missing_of(self, rows: I64) -> Links:
        """`_missing` of partitions that are `_lacking`, ascending."""
        health = self.health
        replicas = lists_of(self.image, "replicas", rows)
        kinds = self._kinds(rows, replicas)
        at = np.flatnonzero(kinds)
        some = Ragged(replicas.brokers[at], replicas.row[at])
        isr = lists_of(self.image, "isr", rows)
        among = np.isin(isr.brokers, tally(some.brokers)[0])
        in_isr = some.within(Ragged(isr.brokers[among], isr.row[among]))
        keep = ~in_isr | health.offline[rows][some.row]
        places = np.searchsorted(self._ids, some.brokers[keep])
        return Links(rows[some.row[keep]], places * len(_PROBLEMS) + kinds[at[keep]])

    def _kinds(self, rows: I64, replicas: Ragged) -> AnyArray:
        """int8[m]: index into `_PROBLEMS` of what is wrong with each replica's broker or disk."""
        kinds = self._states[np.searchsorted(self._ids, replicas.brokers)]
        bad = self._bad
        for kind, some in ((_LOST, bad.lost), (_OFFLINE, ~bad.lost)):
            at = np.flatnonzero(np.isin(replicas.brokers, bad.broker[some]) & (kinds == 0))
            if len(at):
                asked = Ragged(replicas.brokers[at], rows[replicas.row[at]])
                kinds[at[asked.within(Ragged(bad.broker[some], bad.row[some]))]] = kind
        return kinds

    @cached_property
    def _bad(self) -> BadReplicas:
        return bad_replicas(self.image)

    def _of_preferred(self, rows: I64) -> Links:
        """Why partitions are not led by their first replica: it is down, or an election is due."""
        preferred = self.health.preferred[rows]
        # Without replicas there is no first one.
        at = np.flatnonzero(np.isin(preferred, self._ids))
        kinds = np.zeros(len(rows), dtype=np.int8)
        kinds[at] = self._kinds(rows, Ragged(preferred[at], at))
        kinds[self.due[rows]] = _ELECTION
        at = np.flatnonzero(kinds)
        places = np.searchsorted(self._ids, preferred[at])
        return Links(at, places * len(_PROBLEMS) + kinds[at])

    @cached_property
    def due(self) -> Bools:
        """bool[k]: partitions that an election of preferred leaders would move.

        Their first replica is live and in the ISR, and another one leads. Source:
        org.apache.kafka.controller.PartitionChangeBuilder.electPreferredLeader.
        """
        health = self.health
        out: Bools = health.no_preferred_leader & ~health.offline
        rows = np.flatnonzero(out)
        preferred = health.preferred[rows]
        isr = lists_of(self.image, "isr", rows)
        found = np.zeros(len(rows), dtype=np.bool_)
        found[isr.row[isr.brokers == preferred[isr.row]]] = True
        found &= np.isin(preferred, active_brokers(self.image))
        at = np.flatnonzero(found)
        found[at] = self._kinds(rows[at], Ragged(preferred[at], np.arange(len(at)))) == 0
        out[rows] = found
        return out

    @cached_property
    def stuck(self) -> Bools:
        """bool[k]: partitions whose reassignment cannot go on: nobody to copy from, or to."""
        health, image = self.health, self.image
        out: Bools = health.reassigning & health.offline
        rows = np.flatnonzero(health.reassigning)
        adding = lists_of(image, "adding_replicas", rows)
        down = ~np.isin(adding.brokers, active_brokers(image))
        out[rows[adding.row[down]]] = True
        return out
