"""The rows of ``producers``, one log at a time."""

from __future__ import annotations

import pyarrow as pa

from metashell.answers.hanging import open_producers
from metashell.commands.rows.query import PIECE_ROWS, RowsQuery
from metashell.commands.shared.coordinator_logs import QueryReport
from metashell.commands.shared.partition_logs import needs_partition_logs, topics_here
from metashell.sources.partition_ends import partition_producers


def answer(query: RowsQuery) -> None:
    """Add the producers in every log, one log at a time."""
    logs = needs_partition_logs(query)
    is_open = "--open" in query.parsed.switches
    pieces: list[pa.Table] = []
    n_rows = 0
    for found in partition_producers(logs, QueryReport(query), topics_here(query, logs)):
        pieces.append(open_producers(found.table) if is_open else found.table)
        n_rows += len(pieces[-1])
        if n_rows >= PIECE_ROWS:
            query.add(pa.concat_tables(pieces))
            pieces, n_rows = [], 0
    if pieces:
        query.add(pa.concat_tables(pieces))
