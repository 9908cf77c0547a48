"""Home: the whole cluster on a page. Each panel has a few rows of a command, and leads to more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from textual import events
from textual.app import ComposeResult
from textual.containers import Grid
from textual.content import Content

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.schema.sizes import size_text
from metashell.tui.node.history import find_history
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.rows.signs import bars, with_signs
from metashell.tui.text import error_message
from metashell.tui.views.answer import AnswerRows, AnswerView, with_labels
from metashell.tui.views.brokers import counted, with_load
from metashell.tui.views.groups import groups_shown, needs_of_groups
from metashell.tui.views.health_text import FINDINGS, ask_health, coloured_counts
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows
from metashell.tui.views.quorum import leader_and_epoch, live_status

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
    n_known = {name: len(rows.table) - rows.table[name].null_count for name in names}
    first = [name for name in names if n_known[name]]
    if n_known["log_end_offset"] == 1 < len(rows.table):
        first.remove("log_end_offset")  # that of this copy: others would look empty
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


_MEDIUM: Final = (100, 26)
_LARGE: Final = (150, 34)
"""Columns and rows of the page from which on there is room for more panels."""
_BARS: Final = (4, 10)
"""Cells of a bar on a page that is not large, and on a large one."""
_FIRST: Final = PANELS[0].name


class HomeView(AnswerView[ViewAnswer]):
    """The page of the whole cluster."""

    HELP = (
        "# Home\n"
        "The findings of the command `health`, the quorum, and the brokers with their load. "
        "Topics with partitions offline come first. The last changes are here, too. Groups and "
        "disks are here if their logs are open. A small screen has the first four panels. `●` is "
        "critical, `▲` a warning, `·` a note; `│` on a wide bar marks an even share.\n\n"
        "- `tab` goes to the next panel, `z` gives it the whole screen\n"
        "- `enter` goes to what the row is about: a finding in Health, a broker's or topic's "
        "node, the offset of a change\n"
        "- `ctrl+r` looks again"
    )
    ASKS = "looking at the cluster"
    IS_AWAITED = False
    TABLES = tuple(panel.name for panel in PANELS)
    DEFAULT_CSS = """
    HomeView Grid { height: 1fr; grid-size: 2; grid-rows: 6 6 1fr; }
    HomeView #home-health { column-span: 2; }
    HomeView #home-brokers { row-span: 2; }
    HomeView.-medium Grid { grid-size: 6; grid-rows: 8 1fr 1fr 1fr; }
    HomeView.-medium AnswerRows { column-span: 2; }
    HomeView.-medium #home-brokers { row-span: 1; }
    HomeView.-medium #home-health, HomeView.-medium #home-changes { column-span: 6; }
    HomeView.-medium #home-groups, HomeView.-medium #home-disks { column-span: 3; }
    HomeView.-large Grid { grid-rows: 11 1fr 1fr; }
    HomeView.-large #home-health { column-span: 4; }
    HomeView.-large #home-changes { column-span: 2; }
    HomeView .answer-detail { max-height: 4; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.answer = ViewAnswer(title="", rows={})

    def compose_tables(self) -> ComposeResult:
        """The panels side by side."""
        with Grid():
            for panel in PANELS:
                table = AnswerRows(id=f"{self.id}-{panel.name}")
                table.border_title = panel.title
                table.keeps_cursor = False  # else several rows look chosen
                if panel.name == _FIRST:
                    table.header_height = 0  # sentences need none
                yield table

    def on_resize(self, event: events.Resize) -> None:
        """Show as many panels as there is room for."""
        for name, (width, height) in (("-medium", _MEDIUM), ("-large", _LARGE)):
            self.set_class(event.size.width >= width and event.size.height >= height, name)
        self.draw()

    @property
    def _is_small(self) -> bool:
        return not self.has_class("-medium")

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Each panel by itself; the findings take longest."""
        rows = {} if self.answer is None else dict(self.answer.rows)
        for panel in (*PANELS[1:], PANELS[0]):
            if panel.needs and panel.needs not in question.view_state.kinds:
                rows.pop(panel.name, None)
                continue
            try:
                found = panel.find(question)
            except MetashellError as error:
                found = ViewRows(table=pa.table({}), heading=error_message(error))
            rows[panel.name] = replace(found, heading=f"{panel.title} {found.heading}")
            question.job.tell(self.show, ViewAnswer(title="", rows=dict(rows)))
        return ViewAnswer(title="", rows=rows)

    def forget(self) -> None:
        """Forget what is known, and keep the panels."""
        super().forget()
        self.answer = ViewAnswer(title="", rows={})

    def seen(self, answer: ViewAnswer) -> Sequence[str]:
        """The panels for which there is room, and whose logs are open."""
        kinds = () if self.view_state is None else self.view_state.kinds
        return [
            panel.name
            for panel in (PANELS[:4] if self._is_small else PANELS)
            if not panel.needs or panel.needs in kinds
        ]

    def rows_of(self, name: str, rows: ViewRows) -> ViewRows:
        """The rows with the columns for which a panel has room."""
        panel = next(panel for panel in PANELS if panel.name == name)
        is_wide = self.has_class("-large") or not panel.n_first
        return rows if is_wide else replace(rows, first=rows.first[: panel.n_first])

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """Brokers and disks with bars."""
        width = _BARS[self.has_class("-large")]
        if name == "brokers" and len(table):
            return with_load(table, width)
        if name == "disks" and len(table):
            sizes = table["bytes"].to_pylist()
            return with_signs(table, ("bytes_bar", "bytes", bars(sizes, width)))
        return table

    def heading(self, text: str) -> Content:
        """The counts of findings have the colours of their severities."""
        return coloured_counts(text)

    def detail(self, name: str, row: Mapping[str, Any]) -> Content:
        """All of a finding, and what to do, where there is room."""
        if self._is_small:
            return Content()
        if name != _FIRST:
            return super().detail(name, row)
        return with_labels(zip(row["labels"], row["texts"], strict=True))

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the row in the view that has more, or to its node."""
        panel = next(panel for panel in PANELS if panel.name == name)
        if panel.view:
            self.explorer.visit_view(panel.view)
            view = self.explorer.view
            assert isinstance(view, AnswerView)
            view.aim(row)
        elif name == "changes" and row["offset"] is not None:
            assert self.view_state is not None
            self.explorer.go_to_change(f"{self.view_state.prefix}{row['path']}", row["offset"])
        else:
            super().choose(name, row)
