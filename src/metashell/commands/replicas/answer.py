"""The rows of ``replicas``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from metashell.answers.replica_counts import STRAY_STATES, counted, is_in, unused
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.replicas.command import SUMMARY, UNUSED
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.coordinator_logs import QueryReport
from metashell.commands.shared.names import tell_unknown
from metashell.commands.shared.usage_scan import size_text
from metashell.errors import MetashellError, UsageError
from metashell.fs.pattern import Pattern
from metashell.log.time_spec import parse_duration
from metashell.sources.partition_ends import latest_ms
from metashell.sources.replicas import SCHEMA, log_directories_here, replicas_table

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.node_files.log_directory import LogDirectory

_HINT = "a node's log directory has replicas: `metashell -d DIR`"


def answer(query: RowsQuery) -> None:
    """Add the replicas that all words choose, or counts of them."""
    values, source = query.parsed.values, query.source
    if not source.log_places:
        raise UsageError("this source has no log directory", hint=_HINT)
    age = values.get(UNUSED.flags[0])
    age_ms = None if age is None else parse_duration(age)
    if age is not None and age_ms is None:
        raise UsageError(f"{UNUSED.flags[0]} {age}: not a duration", hint="such as 12h or 30d")
    if source.moment_offset is not None:
        query.remarks.append("`at` does not move what is on disks")
    words = query.parsed.arguments
    by = values.get(SUMMARY.flags[0])
    columns = set(SCHEMA.names if query.columns is None else query.columns)
    report = QueryReport(query)
    directories = log_directories_here(source, report)
    table = replicas_table(
        source,
        directories,
        report,
        columns=columns if age_ms is None else {*columns, "last_time"},
        wanted=_matching(words) if words else None,
        poll=partial(stop_if_cancelled, query.context),
    )
    if not len(table) and not words:
        where = ", ".join(str(place) for place in source.log_places)
        raise MetashellError(f"{where}: no log there", hint=_HINT)
    _tell_unknown(query, table, directories)
    if age_ms is not None:
        table = unused(table, age_ms, latest_ms(source))
    strays = table.filter(is_in(table, STRAY_STATES))
    if len(strays):
        size = size_text(pc.sum(strays["bytes"]).as_py() or 0, human=True)
        word = "directory is" if len(strays) == 1 else "directories are"
        query.remarks.append(f"{len(strays):,} {word} stray or will be: {size}")
    query.add(table if by is None else counted(table, by))


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
