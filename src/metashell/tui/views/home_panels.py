"""The panels of Home, each a declaration: its title, how its rows are found, where Enter goes.

For jobs; no widget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.schema.sizes import size_text
from metashell.tui.node.history import find_history
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.views.brokers import counted
from metashell.tui.views.group_rows import groups_shown, needs_of_groups
from metashell.tui.views.health_text import FINDINGS, ask_health
from metashell.tui.views.question import ViewQuestion, ViewRows
from metashell.tui.views.quorum_detail import leader_and_epoch, live_status

_CHANGES: Final = 60
"""The newest changes that are listed."""
_RECORDS: Final = 400
"""Records that they are made from."""
_TOPICS: Final = "topics/byName/"
"""Left out of the names of nodes: most changes are of topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the page."""

    name: str
    title: str
    find: Callable[[ViewQuestion], ViewRows]
    """Finds the rows, in a job; their heading says how it is."""
    view: str = ""
    """The view that has more; Enter goes to the row there. Without one it goes to the node."""
    n_first: int = 0
    """Columns that a narrow panel has; 0 for all."""
    needs: str = ""
    """The kind of logs that it is made of; see `ViewState.kinds`."""


def _findings(question: ViewQuestion) -> ViewRows:
    """The findings of ``health``, the worst first."""
    with question.job.turn():
        found = ask_health(
            question.view_state, is_deep=False, reads_older=False, cancelled=question.job.cancelled
        )
    rows = found.rows.get(FINDINGS, ViewRows(table=pa.table({})))
    n = max(len(rows.table) - 1, 0)  # the last one stands for all rows together
    return replace(rows, table=rows.table.slice(0, n), heading=found.title)


def _brokers(question: ViewQuestion) -> ViewRows:
    rows = question.rows("brokers", key="broker", first=("broker", "state", "rack", "leaders",
                                                         "leaders_bar", "replicas"))  # fmt: skip
    counts, _ = counted(rows.table)
    return replace(rows, heading=joined((f"{len(rows.table)}", *counts)))


def _quorum(question: ViewQuestion) -> ViewRows:
    rows = question.rows("quorum", key="id", compared=("status",))
    status = question.rows("quorum", "--status").table
    source, is_newest = question.view_state.cluster, question.view_state.is_newest
    told = "unknown"
    if len(status):
        told = leader_and_epoch(status, live_status(source), is_newest=is_newest)
    names = ("id", "status", "lag", "log_end_offset", "last_fetch_age_ms", "endpoints")
    first = [name for name in names if rows.table[name].null_count < len(rows.table)]
    return replace(rows, heading=told, first=first)


def _topics(question: ViewQuestion) -> ViewRows:
    with question.job.turn():
        rows = question.rows("topics", key="topic", columns=(
            "topic,partitions,offline,under_replicated,replication,configs"))  # fmt: skip
    table = rows.table
    first = ("topic", "offline", "under", "partitions", "replication", "configs")
    worst = [(name, "descending") for name in ("offline", "under_replicated")]
    order = pc.sort_indices(table, sort_keys=[*worst, ("topic", "ascending")])
    n = {name: pc.sum(table[name]).as_py() or 0 for name in ("partitions", *dict(worst))}
    heading = joined((
        f"{len(table):,}",
        f"{n['offline']:,} offline" if n["offline"] else None,
        f"{n['under_replicated']:,} under-replicated" if n["under_replicated"] else None,
        f"{n['partitions']:,} partitions",
    ))  # fmt: skip
    names = ["under" if name == "under_replicated" else name for name in table.column_names]
    shown = table.take(order).rename_columns(names)
    return replace(
        rows, table=shown, changes=rows.changes.take(order), heading=heading, first=first
    )


def _changes(question: ViewQuestion) -> ViewRows:
    cluster = question.view_state.cluster
    assert cluster is not None
    found = find_history(
        cluster, "/image", question.view_state.span, most_changes=_CHANGES,
        most_records=_RECORDS, cancelled=question.job.cancelled,
    )  # fmt: skip
    if found.table is None:
        raise MetashellError("; ".join(found.warnings) or "no change is known")
    table = found.table
    named = pc.replace_substring(table["node"], _TOPICS, "", max_replacements=1)
    table = table.set_column(table.column_names.index("node"), "node", named)
    return ViewRows(table=table, first=("time", "node", "what"), heading="newest first")


def _groups(question: ViewQuestion) -> ViewRows:
    groups = question.rows("groups", key="group")
    lags = question.rows("offsets", "--lag") if question.view_state.is_newest else None
    shown = groups_shown(groups, {} if lags is None else {"offsets": lags.table})
    first = ("group", "attention", "lag", "members", "state")
    told = joined((f"{len(shown.table):,}", *needs_of_groups(shown.table)))
    return replace(shown, heading=told, first=first)


def _disks(question: ViewQuestion) -> ViewRows:
    rows = question.rows("replicas", "--summary", "directory")
    size = size_text(pc.sum(rows.table["bytes"]).as_py() or 0)
    first = ("directory", "bytes", "bytes_bar", "missing", "stray")
    return replace(rows, heading=f"{len(rows.table):,} · {size}", first=first)


PANELS: Final = (
    Panel(name="health", title="Health", find=_findings, view="health"),
    Panel(name="quorum", title="Quorum", find=_quorum, view="quorum", n_first=3),
    Panel(name="brokers", title="Brokers", find=_brokers, view="brokers", n_first=5),
    Panel(name="topics", title="Topics", find=_topics, n_first=3),
    Panel(name="changes", title="Changes", find=_changes),
    Panel(name="groups", title="Groups", find=_groups, view="groups", needs="groups"),
    Panel(name="disks", title="Disks", find=_disks, view="disks", needs="disks"),
)
"""The panels, in their order on the screen."""
