"""``fleet --votes``: which of the voters at hand can elect a leader, and whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from metashell.checks.votes import MOST_COPIES, majorities
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.command import RowMapping, RowsQuery
from metashell.errors import ExitCode, UsageError
from metashell.judgement.log_copies import copies_of, remarks, voting
from metashell.quorum.description import majority_of
from metashell.sources.fleet.errors import FleetRow
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of, vote_facts, vote_facts_of


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
    copies = copies_of(rows, partial(_doubt, query))
    named = [copy.log for copy in copies if copy.log.voters]
    if not named:
        if copies:
            _doubt(query, "no vote can be judged: no copy names the voters")
        return
    for remark in remarks(copies):
        query.warn(remark)
    voters = [copy.log for copy in voting(copies)]
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
        ids = max(named, key=lambda copy: copy.end).voters.keys()
        missing = sorted(ids - {copy.node_id for copy in voters})
        _doubt(
            query,
            f"no vote is possible: voters that are here: {len(ids) - len(missing)} of"
            f" {len(ids)}, a majority is {majority_of(len(ids))};"
            f" missing: {', '.join(map(str, missing))}",
        )
