"""The answer about a lost quorum, in a sentence: the command's first line, and `health` has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from metashell.quorum.description import majority_of

if TYPE_CHECKING:
    from metashell.checks.votes import VoterLog
    from metashell.judgement.lost_quorum import LostQuorum

_MOST_SETS: Final = 3
"""Sets of voters that are named one by one."""


def headline(found: LostQuorum) -> str:
    """Whose copy wins and whom to start; without a full stop."""
    if not found.voters:
        return "no vote can be judged: no copy names the voters"
    if not found.winners:
        n, several = len(found.voters), len(found.here) > 1
        here = f"only voter{'s' * several} {spoken(found.here)}" if found.here else "no voter"
        verb = "are" if several else "is"
        return f"no copy can win: {here} {verb} here, and a vote needs {majority_of(n)} of {n}"
    if found.too_old:
        nodes = found.nodes(found.too_old)
        return f"start nothing: voter {one_of(nodes)} can win, and lacks committed records"
    best = [log.node_id for log in found.best]
    wins = f"voter {best[0]}'s copy wins"
    if len(best) > 1:
        wins = f"the copies of voters {spoken(best)} are equal and win"
    sets = [[log.node_id for log in running] for running in found.chosen]
    return f"{wins}; start {sets_text(sets)}"


def furthest(found: LostQuorum) -> VoterLog:
    """The copy whose log ends last; a vote compares ends so."""
    return max((copy.log for copy in found.copies), key=lambda log: log.end)


def records_behind(log: VoterLog, last: VoterLog) -> int | None:
    """How many records a log ends before the one that ends last; None where epochs alone tell."""
    n_records = last.end.offset - log.end.offset
    return n_records if n_records > 0 or log.end == last.end else None


def who_is_behind(found: LostQuorum) -> list[str]:
    """Which copies end earlier than the last one, or have other records; a sentence each."""
    last, told = furthest(found), list[str]()
    for log in (copy.log for copy in found.copies):
        n_records = records_behind(log, last)
        if log.name in found.departures:
            offset = found.departures[log.name]
            told.append(f"{log.name} has other records than another copy from offset {offset} on")
        elif n_records:
            s = "s" * (n_records != 1)
            told.append(f"{log.name} is {n_records:,} record{s} behind {last.name}")
    return told or ["all copies end at the same record"]


def needed_disks(found: LostQuorum) -> str | None:
    """The disks with which a vote is possible, such as ``the disk of voter 1 or 2``."""
    missing = found.missing
    n = min(majority_of(len(found.voters)) - len(found.here), len(missing))
    if n < 1 or not missing:
        return None
    if n == 1:
        return f"the disk of voter {one_of(missing)}"
    return f"the disks of {f'{n} of ' if len(missing) > n else ''}voters {spoken(missing)}"


def sets_text(sets: Sequence[Sequence[int]]) -> str:
    """Sets of one size, such as ``1 and 2, or 1 and 3``, or ``any 2 of 1, 2 and 3``."""
    size, all_of_them = len(sets[0]), sorted({node for ids in sets for node in ids})
    if len(sets) > 1 and len(sets) == len([*combinations(all_of_them, size)]):
        return f"any {size} of {spoken(all_of_them)}"
    named = [spoken(sorted(ids)) for ids in sets[:_MOST_SETS]]
    more = [f"{len(sets) - _MOST_SETS} more sets"] if len(sets) > _MOST_SETS else []
    return ", or ".join([*named, *more])


def spoken(ids: Iterable[int]) -> str:
    """Such as ``1, 2 and 3``."""
    return _joined(ids, "and")


def one_of(ids: Iterable[int]) -> str:
    """Such as ``1, 2 or 3``."""
    return _joined(ids, "or")


def _joined(ids: Iterable[int], word: str) -> str:
    *most, last = map(str, ids)
    return f"{', '.join(most)} {word} {last}" if most else last
