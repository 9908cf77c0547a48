"""How partitions are: every state that operators ask for, as a mask over all or some of them.

Source: the filters of org.apache.kafka.tools.TopicCommand, which count in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.topic_settings import (
    MIN_INSYNC_REPLICAS,
    SettingHistory,
    TopicSetting,
    effective_min_isr,
    positive_int,
    setting_history,
)
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, AnyArray, Bools, rows_with
from metashell.schema.columns import SpanColumn

NO_LEADER: Final = -1
_FEW: Final = 8
"""Below one partition in so many, states are found for the wanted partitions alone."""

LOOKS_AT: Final = {
    "offline": ("leader",),
    "under-min-isr": ("isr",),
    "recovering": ("leader_recovery_state",),
    "under-replicated": ("isr",),
    "elr": ("elr",),
    "reassigning": ("adding_replicas", "removing_replicas"),
    "at-min-isr": ("isr",),
    "no-preferred-leader": ("leader",),
}
"""The states, the worst first, and the fields of a partition that decide each.

For further fields that decide some of them see `Health.began`.
"""

_OF_MIN_ISR: Final = {"under-min-isr": np.greater, "at-min-isr": np.equal}
"""States that min.insync.replicas decides, and how it must compare with the size of the ISR."""

READS: Final[Mapping[str, Sequence[str]]] = {
    "under-min-isr": ("isr",),
    "under-replicated": ("isr", "adding_replicas"),
    "elr": ("elr",),
    "reassigning": ("adding_replicas", "removing_replicas"),
    "at-min-isr": ("isr",),
}
"""The lists that tell whether a partition is in a state, but for its replicas."""


class Health:
    """States of partitions of an image, each found when first asked for.

    Args:
        image: The image.
        assumptions: The configs that its nodes' own files are assumed to set.
        rows: int64[k]: the partitions; all if None.
    """

    def __init__(
        self, image: Image, assumptions: Assumptions = NO_ASSUMPTIONS, rows: I64 | None = None
    ) -> None:
        self.image = image
        self.assumptions = assumptions
        self._partitions = image.partitions
        self._rows = rows
        self._set_by: dict[str, AnyArray] = {}

    def masks_at(self, states: Sequence[str], rows: I64) -> Sequence[Bools]:
        """bool[n] by state: which of some partitions are in it.

        Args:
            states: States of `LOOKS_AT`.
            rows: int64[n]: the partitions, numbered among all of the image.
        """
        if len(rows) * _FEW < len(self._partitions):
            some = Health(self.image, self.assumptions, rows)
            return [some.mask(state) for state in states]
        return [self.mask(state)[rows] for state in states]

    def mask(self, state: str) -> Bools:
        """bool[k]: which partitions are in a state of `LOOKS_AT`."""
        found: Bools = getattr(self, state.replace("-", "_"))
        return found

    def last_set(self, fields: Iterable[str], rows: I64) -> AnyArray:
        """int[n]: row of the record that last set any of some fields of partitions.

        Args:
            fields: Fields of `LOOKS_AT`.
            rows: int64[n]: the partitions.
        """
        found = []
        for name in fields:
            if name not in self._set_by:
                self._set_by[name] = self._partitions.set_by(name)
            found.append(self._set_by[name][rows])
        newest: AnyArray = np.maximum.reduce(found)
        return newest

    def began(self, state: str, rows: I64) -> I64:
        """int64[n]: row of the record that brought partitions into a state; -1: not known.

        Args:
            state: A state of `LOOKS_AT`. For `_OF_MIN_ISR` it can be a record of a config.
            rows: int64[n]: partitions that are in it.
        """
        since = self.last_set(LOOKS_AT[state], rows).astype(np.int64)
        if state not in _OF_MIN_ISR:
            return since
        counted: I64 | slice = slice(None)
        if state == "under-min-isr":
            # Without a leader a partition is in it, however many replicas are in sync.
            some = Health(self.image, self.assumptions, rows)
            is_short = some.n_of("isr") < some.min_isr.values
            since[~is_short] = self.last_set(LOOKS_AT["offline"], rows[~is_short])
            counted = np.flatnonzero(is_short)
        history = self._min_isr_history
        if history is not None:
            since[counted] = self._began_by_config(history, state, rows[counted], since[counted])
        return since

    def _began_by_config(self, history: SettingHistory, state: str, rows: I64, since: I64) -> I64:
        """int64[n]: row of the record since which the ISR of partitions compares as it does."""
        partitions = self._partitions
        if history.is_of_brokers:
            since = np.maximum(since, self.last_set(("leader",), rows))
        at = np.flatnonzero(since < history.last_row)
        n_isr = Health(self.image, self.assumptions, rows[at]).n_of("isr")
        compare = _OF_MIN_ISR[state]
        since[at] = history.since(
            partitions.topic[rows[at]].astype(np.int64),
            partitions.leader[rows[at]].astype(np.int64),
            since[at],
            lambda values, places: compare(values, n_isr[places]),
        )
        return since

    @cached_property
    def _min_isr_history(self) -> SettingHistory | None:
        return setting_history(self.image, MIN_INSYNC_REPLICAS, positive_int, self.assumptions)

    @cached_property
    def min_isr(self) -> TopicSetting:
        """Effective min.insync.replicas."""
        return effective_min_isr(self.image, self.assumptions, self._rows)

    @cached_property
    def offline(self) -> Bools:
        """Nobody leads."""
        leaderless: Bools = self._fixed(self._partitions.leader) == NO_LEADER
        return leaderless

    @cached_property
    def under_replicated(self) -> Bools:
        """Not all replicas are in sync; those that a reassignment adds do not count."""
        wanted = self.n_of("replicas") - self.n_of("adding_replicas")
        missing: Bools = wanted > self.n_of("isr")
        return missing

    @cached_property
    def under_min_isr(self) -> Bools:
        """Fewer replicas are in sync than a write with acks=all needs, or nobody leads."""
        under: Bools = (self.n_of("isr") < self.min_isr.values) | self.offline
        return under

    @cached_property
    def has_too_few(self) -> Bools:
        """Fewer replicas are assigned than a write with acks=all needs."""
        few: Bools = self.n_of("replicas") < self.min_isr.values
        return few

    @cached_property
    def at_min_isr(self) -> Bools:
        """One replica less in sync, and writes fail."""
        at: Bools = self.n_of("isr") == self.min_isr.values
        return at

    @cached_property
    def no_preferred_leader(self) -> Bools:
        """The first of the replicas does not lead."""
        another: Bools = self._fixed(self._partitions.leader) != self.preferred
        return another

    @cached_property
    def reassigning(self) -> Bools:
        """Replicas are being added or removed."""
        busy: Bools = (self.n_of("adding_replicas") > 0) | (self.n_of("removing_replicas") > 0)
        return busy

    @cached_property
    def elr(self) -> Bools:
        """There are eligible leader replicas (KIP-966)."""
        some: Bools = self.n_of("elr") > 0
        return some

    @cached_property
    def recovering(self) -> Bools:
        """The leader was elected uncleanly and has not yet recovered (KIP-704)."""
        state: Bools = self._fixed(self._partitions.leader_recovery_state) == 1
        return state

    @cached_property
    def preferred(self) -> I32:
        """int32[k]: the first replica, -1 where there is none."""
        return first_of(self._lists("replicas"))

    def n_of(self, name: str) -> AnyArray:
        """int[k]: how long each partition's list is."""
        return np.maximum(self._fixed(self._partitions.list_column(name).counts), 0)

    def having(self, name: str, *brokers: int) -> Bools:
        """bool[k]: whether any of some brokers is in that list of each partition."""
        return holding(self._lists(name), *brokers)

    def in_directory(self, raw: bytes) -> Bools:
        """bool[k]: whether any replica is in the directory of that id."""
        found = holding(self._lists("directories"), np.void(raw))
        default = self._fixed(self._partitions.directories_default)
        found[default] = (self.n_of("replicas")[default] > 0) & (not any(raw))
        return found

    def _fixed(self, values: AnyArray) -> AnyArray:
        """The values of a column for the partitions."""
        return values if self._rows is None else values[self._rows]

    def _lists(self, name: str) -> SpanColumn:
        """The lists of a column for the partitions."""
        lists = self._partitions.list_column(name)
        return lists if self._rows is None else lists.take(self._rows)


def holding(lists: SpanColumn, *wanted: object) -> Bools:
    """bool[n]: whether any of some values is in each list."""
    values, list_offsets = lists.gather()
    is_wanted = np.zeros(len(values), dtype=np.bool_)
    for value in wanted:
        is_wanted |= values == value
    return rows_with(is_wanted, list_offsets)


def first_of(lists: SpanColumn) -> I32:
    """int32[n]: the first element of each list of int32, -1 where there is none."""
    out = np.full(len(lists.counts), -1, dtype=np.int32)
    some = np.flatnonzero(lists.counts > 0)
    out[some] = lists.arena.gather(lists.dtype, lists.starts[some])
    return out
