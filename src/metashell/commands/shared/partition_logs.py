"""Helpers of commands that look at the end of partitions' logs in a broker's log directory."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from metashell.commands.shared.names import tell_unknown
from metashell.errors import MetashellError, UsageError
from metashell.fs.pattern import Pattern
from metashell.places.place import shown
from metashell.sources.partition_logs import PartitionLogs, partition_logs

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowsQuery


def needs_partition_logs(query: RowsQuery) -> PartitionLogs:
    """The logs of the source's node.

    Raises:
        UsageError: It has no log directory.
        MetashellError: There is no log of a topic in it.
        SourceError: One can't be listed.
    """
    logs = partition_logs(query.source)
    hint = "a broker's log directory has the logs of partitions: `metashell -d DIR`"
    if logs is None:
        raise UsageError("this source has no log directory", hint=hint)
    for directory in logs.directories:
        if directory.identity_fault is not None:
            query.warn(f"{directory.identity_fault}; logs are read without it")
    if not logs.partitions:
        where = ", ".join(shown(str(directory.place)) for directory in logs.directories)
        raise MetashellError(f"{where}: no log of a topic there", hint=hint)
    if query.source.moment_offset is not None:
        query.remarks.append("`at` does not move the logs of partitions: their ends are told")
    return logs


def topics_here(query: RowsQuery, logs: PartitionLogs) -> Collection[str] | None:
    """The topics that the words name; None for all."""
    words = query.parsed.arguments
    if not words:
        return None

    names = list(dict.fromkeys(partition.topic for partition in logs.partitions))
    chosen: set[str] = set()
    for word in words:
        hits = set(filter(Pattern(word).match, names))
        if not hits:
            tell_unknown(query, word, "topic in this directory", names)
        chosen |= hits
    return chosen
