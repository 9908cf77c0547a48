"""Which records of a lost quorum are committed, judged by copies of its nodes' metadata logs.

One leader writes in an epoch. So two logs that have the same epoch at an offset hold the same
record there, and the same records before it: offset and epoch tell records apart.

Three verdicts:

- proved: the record is committed, and no vote can lose it, whatever is on disks that are not here.
- safe: each voter that can win a vote of the voters at hand holds the record.
- open: neither holds. Who wins decides.

A record of the newest epoch at hand that a majority of voters holds is committed, if no leader of a
later epoch was ever elected: that one's log could lack the record, and win. A leader writes before
anybody follows it, so the logs tell of each where all voters' disks are at hand. Else the votes
tell: a node writes its epoch down before it votes, and a leader has the votes of a majority. An
older epoch's record proves nothing, however many hold it: its own leader may not have counted them.

Source: org.apache.kafka.raft.LeaderState (maybeUpdateHighWatermark), KafkaRaftClient, QuorumState;
the Raft paper, section 5.4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from metashell.checks.votes import VoterLog, electable
from metashell.dataclass import dataclass
from metashell.quorum.description import majority_of

if TYPE_CHECKING:
    from metashell.checks.agreement import Epochs
    from metashell.schema.arena import I64

Voters: TypeAlias = Mapping[int, str | None]
"""Directory ids by node id, None in a static quorum."""

_UNKNOWN: Final = -1
"""The epoch of an offset that is behind a checkpoint."""
_BEHIND: Final = -2
"""The epoch of an offset that a log does not reach."""


class Certainty(StrEnum):
    """How sure it is that a record is kept."""

    PROVED = "proved"
    SAFE = "safe"
    OPEN = "open"


_PROVED, _SAFE, _OPEN = Certainty


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCopy:
    """A copy of a node's metadata log, with the facts that decide which records are committed."""

    log: VoterLog
    epochs: Epochs
    voter_sets: Sequence[tuple[int, Voters]]
    """The voters in force from an offset on, in order; the first is that of the log's beginning."""
    epoch: int | None
    """The epoch that its node had reached, by ``quorum-state``; None: the file does not tell."""
    checkpoint_end: int
    """The end offset of its newest checkpoint; 0 without one. A checkpoint has committed records
    only."""
    damage: str | None = None
    """The first damage of its files."""
    file_end: int = 0
    """The end of its segments if they hold records behind the damage; these count for nothing."""

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.log.name


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRange:
    """Offsets whose records have one verdict and are in the same copies."""

    first: int
    end: int
    """The offset behind the last one."""
    epochs: tuple[int | None, int | None]
    """The first and the last leader epoch; None where no batch is left that tells."""
    verdict: Certainty
    holders: tuple[str, ...]
    """Names of the copies."""
    damaged: tuple[str, ...]
    """Names of copies that have them behind damage, where the node cuts them off."""
    may_be_committed: bool
    """Whether a leader can have told a client that these records are committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """The verdicts about all records of some copies."""

    ranges: Sequence[JudgedRange]
    """In the order of their offsets. Where logs differ, several have the same offsets."""
    winners: Sequence[str]
    """Names of the copies whose nodes can win a vote of the voters at hand."""
    missing: Sequence[tuple[int, str | None]]
    """Node id and directory id of voters that have no copy here."""

    def end_of(self, verdict: Certainty) -> int:
        """The offset behind the last one with a verdict; 0 without any."""
        return max((r.end for r in self.ranges if r.verdict is verdict), default=0)

    def lacking(self, name: str) -> list[JudgedRange]:
        """The records that a copy has not, neither in its log nor before its checkpoint."""
        own = [r for r in self.ranges if name in r.holders and r.epochs[0] is None]
        return [
            lost
            for lost in self.ranges
            if name not in lost.holders
            and not any(r.first <= lost.first and lost.end <= r.end for r in own)
        ]


def judge(copies: Sequence[DiskCopy]) -> Commitment:
    """Judge each record of some copies of one cluster's log.

    Args:
        copies: A copy of each node at most; observers' copies count too.
    """
    winners, counted = electable(copy.log for copy in copies), _counted(copies)
    wins = np.array([copy.log in winners for copy in copies], dtype=np.bool_)
    proved = np.array([_proved_end(copy, *counted) for copy in copies], dtype=np.int64)
    named = (voters for copy in copies for _, voters in copy.voter_sets if voters)
    sets = [*{frozenset(voters.items()): voters for voters in named}.values()]
    all_here = not _missing(copies, sets) and not any(copy.damage for copy in copies)
    cuts = _cuts(copies, proved.tolist())
    open_ended: dict[tuple[object, ...], JudgedRange] = {}
    done: list[JudgedRange] = []
    held = _held(copies, cuts, proved)
    columns = zip(held.T, _behind_damage(copies, cuts, held).T, pairwise(cuts), strict=True)
    for column, behind, (first, end) in columns:
        still_open: dict[tuple[object, ...], JudgedRange] = {}
        for epoch in np.setdiff1d([column, behind], _BEHIND).tolist():
            holds = column == epoch
            having = [copy for copy, has in zip(copies, holds, strict=True) if has]
            is_proved = bool(proved[holds].max(initial=0) >= end)
            is_safe = bool(wins.any() and holds[wins].all())
            is_sure = all_here and _UNKNOWN not in column
            found = JudgedRange(
                first=first,
                end=end,
                epochs=(None if epoch == _UNKNOWN else epoch,) * 2,
                verdict=_PROVED if is_proved else _SAFE if is_safe else _OPEN,
                holders=tuple(copy.name for copy in having),
                damaged=tuple(copies[i].name for i in np.flatnonzero(behind == epoch).tolist()),
                may_be_committed=is_proved or not is_sure or _is_half(having, sets),
            )
            key = (found.holders, found.damaged, found.verdict, found.may_be_committed)
            if (before := open_ended.get(key)) is not None:
                epochs = before.epochs[0], found.epochs[1]
                found = replace(found, first=before.first, epochs=epochs)
            still_open[key] = found
        done += (known for key, known in open_ended.items() if key not in still_open)
        open_ended = still_open
    return Commitment(
        ranges=sorted(
            [*done, *open_ended.values()],
            key=lambda r: (r.first, r.end, [*Certainty].index(r.verdict), r.holders),
        ),
        winners=[copy.name for copy in winners],
        missing=_missing(copies, [copy.log.voters for copy in copies]),
    )


def contradiction(copies: Sequence[DiskCopy]) -> tuple[int, DiskCopy, DiskCopy] | None:
    """The first offset at which two logs hold one epoch, though they hold two at an earlier one.

    No quorum writes such logs: the copies are of two. None where all can be of one.
    """
    cuts = _cuts(copies, ())
    offsets = np.array(cuts[:-1], dtype=np.int64)
    known = np.stack([_epochs_at(copy, offsets) for copy in copies])
    for one, other in combinations(range(len(copies)), 2):
        both = (known[one] >= 0) & (known[other] >= 0)
        is_same = known[one] == known[other]
        has_left = np.logical_or.accumulate(both & ~is_same)
        found = np.flatnonzero(both & is_same & has_left)
        if found.size:
            return cuts[found[0]], copies[one], copies[other]
    return None


def _missing(
    copies: Collection[DiskCopy], sets: Collection[Voters]
) -> list[tuple[int, str | None]]:
    """The voters of some sets that have no copy, by node id and directory id."""
    voters = {voter for voters in sets for voter in voters.items()}
    here = {voter for voter in voters for c in copies if c.log.is_voter_of(dict([voter]))}
    return sorted(voters - here, key=lambda voter: (voter[0], voter[1] or ""))


def _is_half(having: Sequence[DiskCopy], sets: Sequence[Voters]) -> bool:
    """Whether some copies are half of a voter set that a log names.

    Half is a majority with a voter more, or one less, which a lost record may have named.
    """
    return not sets or any(
        2 * sum(copy.log.is_voter_of(voters) for copy in having) >= len(voters) for voters in sets
    )


def _counted(copies: Sequence[DiskCopy]) -> tuple[int, int]:
    """The newest epoch, and the end of what is proved by a majority that holds records of it.

    The end is 0 where nothing is.
    """
    longest = max(copies, key=lambda copy: copy.log.end)
    newest = longest.log.end.epoch
    proved = 0
    bounds = [*(first for first, _ in longest.voter_sets), longest.log.end.offset]
    for (_, voters), (first, until) in zip(longest.voter_sets, pairwise(bounds), strict=True):
        voting = [copy for copy in copies if copy.log.is_voter_of(voters)]
        majority = majority_of(len(voters))
        ends = sorted(c.log.end.offset for c in voting if c.log.end.epoch == newest)
        if not voters or len(ends) < majority:
            continue
        end = min(ends[-majority], until)
        # A lost record may have changed the voters by one: then more must have refused.
        is_dynamic = any(voters.values())
        blocking = majority if is_dynamic else len(voters) - majority + 1
        refused = sum(copy.epoch is not None and copy.epoch <= newest for copy in voting)
        # Damage can hide the first record of a later leader.
        n_whole = sum(copy.damage is None for copy in voting)
        no_later_leader = n_whole == len(voters) or refused >= blocking
        if end > first and no_later_leader and _epoch_at(longest, end - 1) == newest:
            proved = max(proved, end)
    return newest, proved


def _epoch_at(copy: DiskCopy, offset: int) -> int:
    return int(_epochs_at(copy, np.array([offset], dtype=np.int64))[0])


def _proved_end(copy: DiskCopy, newest: int, end: int) -> int:
    """The end of the proved records in a log, by its checkpoints and by what `_counted` found."""
    has_counted = copy.log.end.epoch == newest and copy.log.end.offset >= end
    return max(copy.checkpoint_end, end if has_counted else 0)


def _cuts(copies: Sequence[DiskCopy], proved: Sequence[int]) -> list[int]:
    """The offsets at which a verdict or an epoch can change, the first and the end included."""
    found = {0, *proved, *(end for c in copies for end in (c.log.end.offset, c.file_end))}
    for copy in copies:
        for first, last, _ in copy.epochs.ranges:
            found |= {first, last + 1}
    return sorted(found)


def _behind_damage(copies: Sequence[DiskCopy], cuts: Sequence[int], held: I64) -> I64:
    """The epochs between cuts of records that do not count, as `_held` has those that do."""
    offsets = np.array(cuts[:-1], dtype=np.int64)
    found = np.stack([_epochs_at(copy, offsets, copy.file_end) for copy in copies])
    return np.where((held == _BEHIND) & (found != _UNKNOWN), found, _BEHIND)


def _epochs_at(copy: DiskCopy, offsets: I64, end: int | None = None) -> I64:
    """The epochs of a log at some offsets before an end, `_UNKNOWN` or `_BEHIND`."""
    ranges = np.array(copy.epochs.ranges, dtype=np.int64).reshape(-1, 3)
    out = np.full(len(offsets), _UNKNOWN, dtype=np.int64)
    if len(ranges):
        at = np.minimum(np.searchsorted(ranges[:, 1], offsets), len(ranges) - 1)
        is_known = (ranges[at, 0] <= offsets) & (offsets <= ranges[at, 1])
        out[is_known] = ranges[at[is_known], 2]
    out[offsets >= (copy.log.end.offset if end is None else end)] = _BEHIND
    return out


def _held(copies: Sequence[DiskCopy], cuts: Sequence[int], proved: I64) -> I64:
    """The epochs of each log between cuts, a row each.

    An epoch that a log's files do not tell is that of the record that another log proves committed
    there, or the only one that can be between those around it: epochs never fall along a log, and
    begin at 1. Else it stays `_UNKNOWN`: it is that of a committed record, whichever that is.
    """
    offsets = np.array(cuts[:-1], dtype=np.int64)
    known = np.stack([_epochs_at(copy, offsets) for copy in copies])
    is_proved = offsets < proved[:, None]
    committed = np.where(is_proved, known, _UNKNOWN).max(axis=0)
    least = np.maximum(np.maximum.accumulate(committed), 1)
    out = known.copy()
    for row, copy in enumerate(copies):
        at = np.flatnonzero((known[row] == _UNKNOWN) & is_proved[row])
        most = _epochs_behind(copy, offsets[at])
        out[row, at] = np.where(committed[at] != _UNKNOWN, committed[at], _UNKNOWN)
        is_only = (out[row, at] == _UNKNOWN) & (most == least[at])
        out[row, at[is_only]] = most[is_only]
    return out


def _epochs_behind(copy: DiskCopy, offsets: I64) -> I64:
    """The first known epoch of a log behind each of some offsets; `_UNKNOWN` for none."""
    ranges = np.array([*copy.epochs.ranges, (0, 0, _UNKNOWN)], dtype=np.int64)
    found: I64 = ranges[np.searchsorted(ranges[:-1, 1], offsets), 2]
    return found
