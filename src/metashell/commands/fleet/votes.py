"""``fleet --votes``: which of the voters at hand can elect a leader, and whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.checks.votes import MOST_COPIES, OffsetAndEpoch, VoterLog, majorities
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import ExitCode, UsageError
from metashell.quorum.description import majority_of
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of, vote_facts, vote_facts_of

if TYPE_CHECKING:
    from metashell.sources.fleet.errors import FleetRow


def vote_rows(query: RowsQuery) -> None:
    """Add a row for each set of voters that can elect a leader; say what is not sure.

    Raises:
        UsageError: The ends of the logs are not read.
    """
    opened = query.context.opened
    if opened is not None and opened.settings.committed_only:
        raise UsageError(
            "a vote compares the ends of whole logs", hint="leave out --committed-only"
        )
    clusters: dict[str, list[FleetRow]] = {}
    for row in _facts(query):
        if row["error"] is not None:
            _doubt(query, f"{row['name']}: {row['error']}")
            continue
        # A copy that does not name its cluster may be of any.
        group = row["clusterId"] if row["clusterId"] is not None else f"~ {row['name']}"
        clusters.setdefault(str(group), []).append(row)
    for _, rows in sorted(clusters.items()):
        query.add(_votes(query, rows))


def _doubt(query: RowsQuery, text: str) -> None:
    query.warn(text)
    query.status = ExitCode.FAILED


def _facts(query: RowsQuery) -> Sequence[FleetRow]:
    fleet = query.context.fleet
    if fleet is not None:
        return fleet.compute(
            vote_facts, vote_facts_of, stop=lambda: stop_if_cancelled(query.context)
        )

    source = query.source
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    return [{"name": name, "error": None, **vote_facts_of(source)}]


def _votes(query: RowsQuery, rows: Sequence[FleetRow]) -> Iterator[RowMapping]:
    """The rows of one cluster."""
    copies = _with_voters(query, [copy for row in rows if (copy := _copy(query, row)) is not None])
    latest = max((copy for copy in copies if copy.voters), key=lambda copy: copy.end, default=None)
    if latest is None:
        if copies:
            _doubt(query, "no vote can be judged: no copy names the voters")
        return
    voters = [copy for copy in copies if any(copy.is_voter_of(c.voters) for c in copies)]
    _remark(query, copies, voters)
    if len(voters) > MOST_COPIES:
        _doubt(query, f"{len(voters)} copies of voters: votes are listed for up to {MOST_COPIES}")
        return
    any_vote = False
    for running, winners in majorities(voters):
        any_vote = True
        yield {
            "cluster_id": rows[0]["clusterId"],
            "running": sorted(copy.node_id for copy in running),
            "can_win": sorted(copy.node_id for copy in winners),
            "directories": [copy.name for copy in running],
        }
    if not any_vote:
        ids = latest.voters.keys()
        missing = sorted(ids - {copy.node_id for copy in voters})
        _doubt(
            query,
            f"no vote is possible: voters that are here: {len(ids) - len(missing)} of"
            f" {len(ids)}, a majority is {majority_of(len(ids))};"
            f" missing: {', '.join(map(str, missing))}",
        )


def _with_voters(query: RowsQuery, copies: Sequence[VoterLog]) -> list[VoterLog]:
    """The copies; one that does not name a static quorum's voters takes those of the others.

    The voters of a static quorum are in the configuration of each node. Without voters a copy can
    vote, but can't be a candidate.
    """
    named = [copy for copy in copies if copy.voters]
    sets = {frozenset(copy.voters.items()) for copy in named}
    static = len(sets) == 1 and not any(named[0].voters.values())
    for copy in copies:
        if not copy.voters:
            why = f"{copy.name}: neither its log nor quorum-state names the voters"
            if static:
                why += f": those of {named[0].name} are taken"
            elif named:
                why += ": it can't win"
            _doubt(query, why)
    if not static:
        return list(copies)
    return [replace(copy, voters=named[0].voters) for copy in copies]


def _remark(query: RowsQuery, copies: Sequence[VoterLog], voters: Sequence[VoterLog]) -> None:
    """Say which copies have no vote, or not one for themselves."""
    for copy in copies:
        if copy not in voters:
            directory = copy.directory_id or "unknown"
            query.warn(
                f"{copy.name}: node {copy.node_id} with directory.id {directory} is not a voter:"
                " it has no vote"
            )
    names: dict[int, list[str]] = {}
    for copy in voters:
        names.setdefault(copy.node_id, []).append(copy.name)
    for node, several in names.items():
        if len(several) > 1:
            query.warn(f"voter {node} has {len(several)} copies: {', '.join(several)}: one can run")
    if len({frozenset(copy.voters.items()) for copy in copies if copy.voters}) > 1:
        query.warn("the logs name different voters: each candidate needs a majority of its own")


def _copy(query: RowsQuery, row: FleetRow) -> VoterLog | None:
    """A directory as a vote sees it; None if it can't be one, which is told."""
    name, node, epoch, end = (row[key] for key in ("name", "nodeId", "logEpoch", "logEndOffset"))
    words = [word.split(",") for word in str(row["voters"] or "").split()]
    voters = {int(voter): directory or None for voter, directory in words}
    if not isinstance(node, int) or not isinstance(epoch, int) or not isinstance(end, int):
        why = "meta.properties does not name its node" if node is None else "it is no log directory"
        _doubt(query, f"{name}: {why}: it is left out")
        return None
    directory = row["directoryId"]
    copy = VoterLog(
        name=str(name),
        node_id=node,
        directory_id=None if directory is None else str(directory),
        end=OffsetAndEpoch(epoch, end),
        voters=voters,
    )
    if row["fault"] is not None:
        _doubt(query, f"{name}: its log is damaged, so its end is not sure: {row['fault']}")
    if row["ownFile"] is not None:
        _doubt(query, f"{name}: {row['ownFile']}")
    return copy
