"""The rows of ``replicas``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.replica_counts import STRAY_STATES, counted, is_in, unused
from metashell.answers.replica_states import ReplicaState
from metashell.commands.framework.options import one_of
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.against_option import AGAINST, open_against
from metashell.commands.shared.coordinator_logs import QueryReport
from metashell.commands.shared.names import tell_unknown
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.image.image import Image
from metashell.node_files.log_directory import LogDirectory
from metashell.schema.sizes import size_text
from metashell.schema.timestamps import iso_time
from metashell.sources.partition_ends import latest_ms
from metashell.sources.replicas import SCHEMA, log_directories_here, replicas_table

_STATES: Final = tuple(state.text for state in ReplicaState)


def answer(query: RowsQuery, *, by: str | None, age_ms: int | None, states: str | None) -> None:
    """Add the replicas that all words choose, or counts of them.

    Args:
        query: The query.
        by: The column by which they are counted; None for the replicas themselves.
        age_ms: Only logs whose last record is older; None for all.
        states: Only those in these states, with commas; None for all.
    """
    source = query.source
    if not source.log_places:
        raise UsageError(
            "this source has no log directory",
            hint="a node's log directory has replicas: `metashell -d DIR`",
        )
    if source.moment_offset is not None:
        query.remarks.append("`at` does not move what is on disks")
    words = query.parsed.arguments
    columns = set(SCHEMA.names if query.columns is None else query.columns)
    report = QueryReport(query)
    directories = log_directories_here(source, report)
    table = replicas_table(
        source,
        directories,
        report,
        columns=columns if age_ms is None else {*columns, "last_time"},
        wanted=_matching(words) if words else None,
        image=_image_against(query, directories),
        poll=partial(stop_if_cancelled, query.context),
    )
    _tell_unknown(query, table, directories)
    if age_ms is not None:
        table = unused(table, age_ms, latest_ms(source))
    strays = table.filter(is_in(table, *STRAY_STATES))
    if len(strays):
        size = size_text(pc.sum(strays["bytes"]).as_py() or 0)
        word = "directory is" if len(strays) == 1 else "directories are"
        query.remarks.append(f"{len(strays):,} {word} stray or will be: {size}")
    if states is not None:
        wanted = [one_of("--state", word, _STATES) for word in states.split(",")]
        table = table.filter(pc.is_in(table["state"], pa.array(wanted)))
    query.add(table if by is None else counted(table, by))
    if len(table) and (by == "state" if by is not None else "state" in columns):
        _tell_age(query)


def _tell_age(query: RowsQuery) -> None:
    """Tell as of when the states hold, where they were told from the node's own metadata."""
    if AGAINST.flags[0] in query.parsed.values or not query.source.capabilities.has_image:
        return
    last = query.source.image.provenance
    when = "" if last.timestamp_ms < 0 else f", {iso_time(last.timestamp_ms)}"
    query.remarks.append(
        f"compared with the metadata up to offset {last.offset}{when}: the cluster may be ahead"
        f" ({AGAINST.flags[0]})"
    )


def _image_against(query: RowsQuery, directories: Sequence[LogDirectory]) -> Image | None:
    """The metadata that the user asks to compare with; None for the source's own.

    Raises:
        UsageError: It is of another cluster.
    """
    flag = AGAINST.flags[0]
    against = query.parsed.values.get(flag)
    if against is None:
        return None
    other = open_against(against, query.source)
    known = {one.identity.cluster_id for one in directories if one.identity is not None}
    if known and other.cluster_id is not None and other.cluster_id not in known:
        raise UsageError(
            f"{flag} {against}: it is of cluster {other.cluster_id}",
            hint="the log directories are of another cluster",
        )
    return other.image


def _matching(words: Sequence[str]) -> Callable[[str], bool]:
    patterns = [Pattern(word) for word in words]
    return lambda topic: any(pattern.match(topic) for pattern in patterns)


def _tell_unknown(query: RowsQuery, table: pa.Table, directories: Sequence[LogDirectory]) -> None:
    """Tell of words that choose nothing."""
    found = pc.unique(table["topic"]).to_pylist()
    known = {log.topic for directory in directories for log in directory.logs}
    for word in query.parsed.arguments:
        if not any(map(Pattern(word).match, found)):
            tell_unknown(query, word, "topic on these disks", sorted(known))
