"""Where copies of a cluster's log leave each other, and at which offset their states are compared.

A group asks in rounds for what it needs of its copies, so that all groups of a fleet are computed
together: `compare_groups` runs them. Each copy is compared with the next longer one alone, which
keeps the work linear in the copies; one that left the others is put aside, and the rest compared
anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from metashell.checks.agreement import (
    EPOCH,
    NOT_WHOLE,
    Epochs,
    batch_at,
    block_starts,
    first_conflict,
    first_epoch_conflict,
)
from metashell.dataclass import dataclass
from metashell.schema.arena import I64
from metashell.sources.fleet.member import FleetRow
from metashell.sources.fleet.rows import ComparedQuery

Asking: TypeAlias = Generator[dict[str, ComparedQuery], Mapping[str, FleetRow], "Compared"]
"""Asks for something of copies by name, is given the rows, and returns what was found."""
_Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFacts:
    """The facts about a directory's log before it is compared."""

    name: str
    offset: int
    """The offset of the last record in its state."""
    low: int
    """The first offset whose state its files can show."""
    first: int | None
    """The first offset of its batches that are read anyway; None without batches."""
    oldest: int | None
    """The first offset of all its batches."""
    end: int
    """The last offset of its log."""
    epochs: Epochs

    @classmethod
    def of(cls, row: FleetRow) -> CopyFacts:
        """From what `metashell.sources.fleet.rows.last_offset` tells of it."""
        known: dict[str, Any] = dict(row)
        words = [tuple(map(int, word.split(","))) for word in str(row["epochs"] or "").split()]
        return cls(
            name=known["name"],
            offset=known["offset"],
            low=known["lowOffset"],
            first=known["firstOffset"],
            oldest=known["oldestOffset"],
            end=known["endOffset"],
            epochs=Epochs(tuple((a, b, epoch) for a, b, epoch in words)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where a copy's log leaves the others'."""

    offset: int
    """The first offset at which it holds another batch."""
    epoch: int | None
    """The leader epoch of that batch; None where it is not known."""
    other_epoch: int | None
    """Leader epoch of the batch that most others hold there."""


@dataclass(slots=True)
class Compared:
    """The result for a group."""

    offset: int | None = None
    """The offset at which states are compared; None without any."""
    diverged: dict[str, Divergence] = field(default_factory=dict)
    """The copies whose log differs from that of most: by name."""
    offsets: dict[str, int] = field(default_factory=dict)
    """The offset after which the state of each was looked at; not of those that do not cover it."""
    rows: dict[str, FleetRow] = field(default_factory=dict)
    """The results computed for each copy there."""


def compare_groups(
    groups: Mapping[str, Sequence[CopyFacts]],
    compute: Callable[[dict[str, ComparedQuery]], Mapping[str, FleetRow]],
) -> dict[str, Compared]:
    """Compare the copies of each group.

    Args:
        groups: Names of copies are unique among all groups.
        compute: Gives what is wanted of copies, by name.
    """
    found: dict[str, Compared] = {}
    running: dict[str, tuple[Asking, dict[str, ComparedQuery]]] = {}

    def step(name: str, asking: Asking, rows: Mapping[str, FleetRow] | None) -> None:
        try:
            running[name] = asking, next(asking) if rows is None else asking.send(rows)
        except StopIteration as done:
            found[name] = done.value

    for name, copies in groups.items():
        step(name, _compare(copies), None)
    while running:
        rows = compute({n: want for _, wanted in running.values() for n, want in wanted.items()})
        asked, running = running, {}
        for name, (asking, wanted) in asked.items():
            step(name, asking, {n: rows[n] for n in wanted})
    return found


def _compare(copies: Sequence[CopyFacts]) -> Asking:
    """Compare the copies of one cluster."""
    out, logs = Compared(), _Logs(copies)
    while True:
        logs.leave(out.diverged)
        if (conflict := logs.epoch_conflict()) is not None:
            out.diverged.update(conflict)
            continue
        window = logs.window()
        out.offset, out.offsets = _common(copies, out.diverged)
        wanted = logs.wanted(window)
        for name, offset in out.offsets.items():
            row = out.rows.get(name)
            if window is None and (row is None or row["asked"] != offset):
                known = wanted.get(name, ComparedQuery())
                wanted[name] = ComparedQuery(blocks=known.blocks, offset=offset)
        if not wanted:
            return out
        rows = yield wanted
        logs.take(wanted, rows)
        for name, want in wanted.items():
            if want.offset is not None:
                out.rows[name] = {**rows[name], "asked": want.offset}
        if window is not None:
            out.diverged.update(logs.conflict_in(window, rows))


class _Logs:
    """The logs of a group that have not left the others."""

    def __init__(self, copies: Sequence[CopyFacts]) -> None:
        self._left = sorted(copies, key=lambda copy: (copy.end, copy.name))
        self._digests: dict[tuple[str, int, int], list[str]] = {}
        self._deep: set[_Pair] = set()
        """Pairs of which segments are compared too that no state needs."""
        self._settled: set[_Pair] = set()
        """Pairs whose batches do not differ."""

    def leave(self, diverged: Mapping[str, Divergence]) -> None:
        """Put copies aside."""
        self._left = [copy for copy in self._left if copy.name not in diverged]

    def _pairs(self) -> Iterator[tuple[CopyFacts, CopyFacts]]:
        """Each with the next longer one, if possible one that has batches up to its end."""
        for i, copy in enumerate(self._left[:-1]):
            longer = self._left[i + 1 :]
            sharing = (o for o in longer if o.oldest is not None and o.oldest <= copy.end)
            yield copy, next(sharing, longer[0]) if copy.oldest is not None else longer[0]

    def _range(self, a: CopyFacts, b: CopyFacts) -> tuple[int, int] | None:
        """The offsets whose batches are compared, both included."""
        if a.first is None or b.first is None or a.oldest is None or b.oldest is None:
            return None
        first, last = max(a.first, b.first), min(a.end, b.end)
        if first > last or (a.name, b.name) in self._deep:
            first = max(a.oldest, b.oldest)
        return (first, last) if first <= last else None

    def epoch_conflict(self) -> dict[str, Divergence] | None:
        """The copies that leave the others at the first offset where epochs can't be of one log."""
        found = [
            offset
            for a, b in self._pairs()
            if (offset := first_epoch_conflict(a.epochs, b.epochs)) is not None
        ]
        if not found:
            return None
        offset = min(found)
        there = [copy for copy in self._left if copy.end >= offset]
        known = {copy.name: copy.epochs.at(offset) for copy in there}
        latest = max(epoch for epoch in known.values() if epoch is not None)
        sides: dict[str, int] = {}
        for copy in there:
            _, most = copy.epochs.bounds(offset)
            epoch = known[copy.name]
            if epoch is not None:
                sides[copy.name] = epoch
            elif most is not None and most < latest:
                sides[copy.name] = most
        return _leaving(offset, sides, known)

    def _undecided(self) -> Iterator[tuple[_Pair, tuple[int, int]]]:
        for a, b in self._pairs():
            found = self._range(a, b)
            if found is not None and (a.name, b.name) not in self._settled:
                yield (a.name, b.name), found

    def window(self) -> tuple[int, int] | None:
        """The first block whose batches differ between two; None while none is known."""
        found: list[tuple[int, int]] = []
        for pair, (first, last) in list(self._undecided()):
            digests = [self._digests.get((name, first, last)) for name in pair]
            if digests[0] is None or digests[1] is None:
                continue
            at = _first_difference(digests[0], digests[1])
            if at is None:
                self._settled.add(pair)
                continue
            if at == 0 and pair not in self._deep:
                # Segments before it may tell more exactly where.
                self._deep.add(pair)
                a, b = (next(c for c in self._left if c.name == name) for name in pair)
                if self._range(a, b) != (first, last):
                    continue
            starts = [*block_starts(first, last), last + 1]
            found.append((starts[at], starts[at + 1] - 1))
        return min(found, default=None)

    def wanted(self, window: tuple[int, int] | None) -> dict[str, ComparedQuery]:
        """The next questions: the batches of a window, else digests for undecided pairs."""
        if window is not None:
            return {
                copy.name: ComparedQuery(window=window)
                for copy in self._left
                if copy.oldest is not None and copy.oldest <= window[1] and copy.end >= window[0]
            }
        ranges: dict[str, dict[tuple[int, int], None]] = {}
        for pair, found in self._undecided():
            for name in pair:
                if (name, *found) not in self._digests:
                    ranges.setdefault(name, {})[found] = None
        return {name: ComparedQuery(blocks=tuple(found)) for name, found in ranges.items()}

    def take(self, wanted: Mapping[str, ComparedQuery], rows: Mapping[str, FleetRow]) -> None:
        """Take digests that were computed; of what can't be read any more there are none."""
        for name, want in wanted.items():
            blocks = rows[name].get("blocks")
            words = str(blocks).split(",") if want.blocks and blocks else []
            for i, found in enumerate(want.blocks):
                digests = words[i].split() if words else [NOT_WHOLE] * len(block_starts(*found))
                self._digests[(name, *found)] = digests

    def conflict_in(
        self, window: tuple[int, int], rows: Mapping[str, FleetRow]
    ) -> dict[str, Divergence]:
        """The copies that leave the others in a window."""
        copies = {
            name: np.frombuffer(bytes.fromhex(str(row["batches"])), dtype=np.int64).reshape(-1, 4)
            for name, row in rows.items()
            if row.get("batches")
        }
        offset = first_conflict(list(copies.values())) if copies else None
        if offset is None:
            # Files changed meanwhile: nothing that could be told any more.
            self._settled.update(pair for pair, _ in list(self._undecided()))
            return {}
        sides = _sides(copies, offset)
        return _leaving(offset, sides, {name: side[EPOCH] for name, side in sides.items()})


def _sides(copies: Mapping[str, I64], offset: int) -> dict[str, tuple[int, ...]]:
    """The batch of each at an offset."""
    found = {name: batch_at(batches, offset) for name, batches in copies.items()}
    return {name: batch for name, batch in found.items() if batch is not None}


def _leaving(
    offset: int, sides: Mapping[str, object], epochs: Mapping[str, int | None]
) -> dict[str, Divergence]:
    """The copies that hold something else than most do; all where there is no majority."""
    ranked = Counter(sides.values()).most_common()
    has_most = ranked[0][1] > ranked[1][1]
    departures = {}
    for name, side in sides.items():
        if has_most and side == ranked[0][0]:
            continue
        other = next(found for found, _ in ranked if found != side)
        other_epoch = next(epochs[n] for n, found in sides.items() if found == other)
        departures[name] = Divergence(offset=offset, epoch=epochs[name], other_epoch=other_epoch)
    return departures


def _first_difference(a: Sequence[str], b: Sequence[str]) -> int | None:
    unequal = (
        i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y and NOT_WHOLE not in (x, y)
    )
    return next(unequal, None)


def _common(
    copies: Sequence[CopyFacts], diverged: Mapping[str, Divergence]
) -> tuple[int | None, dict[str, int]]:
    """The offset that the most copies have a state of, and who is looked at where.

    It is the end of one of them: the largest of those that equally many have. One that left the
    others is looked at before it did.
    """
    ends = {
        c.name: min(c.offset, diverged[c.name].offset - 1) if c.name in diverged else c.offset
        for c in copies
    }
    pool = [copy for copy in copies if copy.name not in diverged] or list(copies)
    if not pool:
        return None, {}
    candidates = np.unique([ends[copy.name] for copy in pool])
    lows, highs = np.sort([c.low for c in pool]), np.sort([ends[c.name] for c in pool])
    n_have = np.searchsorted(lows, candidates, "right") - np.searchsorted(highs, candidates)
    common = int(candidates[np.flatnonzero(n_have == n_have.max())[-1]])
    offsets = {}
    for copy in copies:
        offset = min(common, ends[copy.name]) if copy.name in diverged else common
        if copy.low <= offset <= ends[copy.name]:
            offsets[copy.name] = offset
    return common, offsets
