"""Copies of a quorum's logs as rows, and as the tree ``/quorum/copies`` of a fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.errors import SourceError
from metashell.fs.node import (
    Directory,
    FixedDirectory,
    JsonValue,
    LateDirectory,
    Node,
    TextLeaf,
)
from metashell.fs.nodes.quorum import fields_text
from metashell.fs.nodes.tables import RowLeaf
from metashell.judgement.log_copies import Doubt
from metashell.judgement.lost_quorum import LostQuorum, examine
from metashell.judgement.quorum_words import furthest, headline, records_behind
from metashell.places.place import Place, names_in

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

CopiesRow: TypeAlias = "dict[str, JsonValue]"
LOST_PARTS: Final = {
    "topics": ("topics",),
    "partitions": ("partitions",),
    "configs": ("configs",),
    "acls": ("acls",),
    "credentials": ("scram", "delegation_tokens"),
    "quotas": ("client_quotas",),
}
"""Parts of the image by the words that count them in a loss; all others are `other`."""


def examine_fleet(fleet: FleetSource, stop: Callable[[], None]) -> LostQuorum:
    """Judge the directories of a fleet; see `metashell.judgement.lost_quorum.examine`.

    A directory that can't be read is left out, and is a doubt.
    """
    sources: dict[str, Source] = {}
    unread: list[Doubt] = []
    for name, member in fleet.members.items():
        stop()
        try:
            sources[name] = member.source().newest
        except SourceError as error:
            unread.append(Doubt(f"{_why_closed(member.path, error)}: it is left out", name))
    found = examine(sources, stop)
    return replace(found, doubts=[*unread, *found.doubts])


def _why_closed(place: Place, error: SourceError) -> str:
    with suppress(SourceError):
        if not names_in(place):
            return "the directory is empty"
    return error.message


def counts_of(changes: Mapping[str, int]) -> dict[str, int]:
    """Changes by the words of `LOST_PARTS`."""
    known = {word: sum(changes.get(p, 0) for p in parts) for word, parts in LOST_PARTS.items()}
    return {**known, "other": sum(changes.values()) - sum(known.values())}


def copy_rows(found: LostQuorum) -> Iterator[CopiesRow]:
    """A row for each copy."""
    last = furthest(found)
    for copy in found.copies:
        facts = found.facts[copy.name]
        yield {
            "copy": copy.name,
            "node_id": copy.log.node_id,
            "directory_id": copy.log.directory_id,
            "voter": copy.log.is_voter_of(found.voters),
            "can_win": copy.name in found.commitment.winners,
            "log_epoch": copy.log.end.epoch,
            "log_start": facts["logStart"],
            "log_end_offset": copy.log.end.offset,
            "behind": records_behind(copy.log, last),
            "departs_at": found.departures.get(copy.name),
            "checkpoints": facts["checkpoints"],
            "checkpoint_end": copy.checkpoint_end or None,
            "epoch": copy.epoch,
            "voters": [*sorted(copy.log.voters)],
            "endpoints": [*found.endpoints(copy.log.node_id)],
            "directory": facts["directory"],
        }


def start_rows(found: LostQuorum) -> Iterator[CopiesRow]:
    """A row for each set of voters, each that can win then, and each copy that loses records."""
    best = found.best_starts
    for running, winners in found.starts:
        for winner in winners:
            known: CopiesRow = {
                "running": [*sorted(log.node_id for log in running)],
                "leader": winner.node_id,
                "best": running in best,
            }
            losses = found.losses[winner.name]
            if not losses:
                yield known
            for loss in losses:
                yield {
                    **known,
                    "loses": loss.copy,
                    "first": loss.first,
                    "end": loss.end,
                    "may_be_committed": loss.may_be_committed,
                    **(counts_of(loss.changes) if loss.changes is not None else {}),
                }


def verdict_rows(found: LostQuorum) -> Iterator[CopiesRow]:
    """A row for each range of offsets."""
    for judged in found.commitment.ranges:
        yield {
            "first": judged.first,
            "end": judged.end,
            "verdict": str(judged.verdict),
            "nodes": [*found.nodes(judged.holders)],
            "behind_damage": [*found.nodes(judged.damaged)],
            "first_epoch": judged.epochs[0],
            "last_epoch": judged.epochs[1],
            "may_be_committed": judged.may_be_committed,
        }


def copies_directory(fleet: FleetSource) -> Directory:
    """The tree ``/quorum/copies``. Cost: that of `examine_fleet`, once a part is asked for.

    Where the copies can't be judged together, ``doubts`` says why and no part has rows: a walk
    through the fleet goes on.
    """

    @cache
    def examined() -> tuple[LostQuorum | None, list[JsonValue]]:
        try:
            found = examine_fleet(fleet, lambda: None)
        except SourceError as error:
            return None, [error.message, *([] if error.hint is None else [error.hint])]
        return found, [*map(str, found.doubts), *found.notes]

    def answer() -> str:
        found, doubts = examined()
        return f"not judged: {doubts[0]}" if found is None else headline(found)

    def rows(make: Callable[[LostQuorum], Mapping[str, CopiesRow]]) -> Mapping[str, CopiesRow]:
        found, _ = examined()
        return {} if found is None else make(found)

    def copies(found: LostQuorum) -> Mapping[str, CopiesRow]:
        return {str(row["copy"]): row for row in copy_rows(found)}

    def records(found: LostQuorum) -> Mapping[str, CopiesRow]:
        return {str(row["first"]): row for row in verdict_rows(found)}

    return FixedDirectory(
        {
            "answer": lambda: TextLeaf(answer),
            "doubts": lambda: TextLeaf(
                lambda: "\n".join(map(str, examined()[1])), lambda: examined()[1]
            ),
            "logs": _table("Copy", lambda: rows(copies)),
            "records": _table("Records", lambda: rows(records)),
            "starts": _table("Start", lambda: rows(lambda found: _numbered(start_rows(found)))),
        }
    )


def _table(kind: str, rows: Callable[[], Mapping[str, CopiesRow]]) -> Callable[[], Node]:
    def leaf(row: CopiesRow) -> Callable[[], Node]:
        known = {name: value for name, value in row.items() if value is not None}
        return lambda: RowLeaf(lambda: known, lambda fields: fields_text(kind, fields))

    return lambda: LateDirectory(
        lambda: FixedDirectory({name: leaf(row) for name, row in rows().items()})
    )


def _numbered(rows: Iterator[CopiesRow]) -> dict[str, CopiesRow]:
    """Rows by the voters that run; a set with several rows numbers them."""
    found: dict[str, CopiesRow] = {}
    times = Counter[str]()
    for row in rows:
        running = row["running"]
        assert isinstance(running, list)
        name = ",".join(map(str, running))
        times[name] += 1
        found[name if times[name] == 1 else f"{name}-{times[name]}"] = row
    return found
