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

from metashell.commands.shared.sections import BROKERS, DISKS, QUORUM, TOPICS
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.schema.sizes import size_text
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.rows.signs import bars, with_signs
from metashell.tui.text import error_message
from metashell.tui.views.answer import AnswerRows, AnswerView, with_labels
from metashell.tui.views.brokers import counted, with_load
from metashell.tui.views.groups import groups_of, needs_of_groups
from metashell.tui.views.health_text import FINDINGS, ask_health, coloured_counts
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

_CHANGES: Final = (60, 400)
"""The newest changes that are listed, and the records that they are made from."""
_TOPICS: Final = "topics/byName/"
"""Left out of the names of nodes: most changes are of topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the page."""

    name: str
    find: Callable[[ViewQuestion], ViewRows]
    """Finds the rows, in a job; their heading says how it is."""
    view: str = ""
    """The view that has more; Enter goes to the row there. Without one it goes to the node."""
    n_first: int | None = None
    """Columns that a narrow panel has; None for all."""
    needs: str = ""
    """The kind of logs that it is made of; see `ViewState.kinds`."""


def _findings(question: ViewQuestion) -> ViewRows:
    """The findings of ``health``, the worst first."""
    with question.job.turn():
        found = ask_health(question)
    rows = found.rows.get(FINDINGS, ViewRows(table=pa.table({})))
    n = max(len(rows.table) - 1, 0)  # the last one stands for all rows together
    return replace(rows, table=rows.table.slice(0, n), heading=found.title)


def _brokers(question: ViewQuestion) -> ViewRows:
    rows = question.section(BROKERS, key="broker")
    counts, _ = counted(rows.table)
    return replace(rows, heading=joined((f"{len(rows.table)}", *counts)))


def _quorum(question: ViewQuestion) -> ViewRows:
    rows = question.section(QUORUM, key="id", compared=("status",))
    n_known = {name: len(rows.table) - rows.table[name].null_count for name in QUORUM.first}
    # The end of this copy alone is not shown: others would look empty.
    is_alone = n_known["log_end_offset"] == 1 < len(rows.table)
    n_known["log_end_offset"] *= not is_alone
    heading = (rows.verdict or ["unknown"])[0]
    return replace(rows, heading=heading, first=[n for n in QUORUM.first if n_known[n]])


def _topics(question: ViewQuestion) -> ViewRows:
    columns = "topic,partitions,offline,under_replicated,replication,configs"
    with question.job.turn():
        rows = question.section(TOPICS, key="topic", columns=columns)
    counts = {name: pc.sum(rows.table[name]).as_py() or 0 for name in TOPICS.first[1:4]}
    told = [f"{n:,} {name.replace('_', '-')}" for name, n in counts.items() if n]
    return replace(rows, heading=joined((f"{len(rows.table):,}", *told)))


def _changes(question: ViewQuestion) -> ViewRows:
    rows = question.changes("/image", *_CHANGES)
    if rows is None:
        raise MetashellError("no change is known")
    at = rows.table.column_names.index("node")
    named = pc.replace_substring(rows.table["node"], _TOPICS, "", max_replacements=1)
    table = rows.table.set_column(at, "node", named)
    return ViewRows(table=table, first=("time", "node", "what"), heading="newest first")


def _groups(question: ViewQuestion) -> ViewRows:
    rows = groups_of(question)
    told = joined((f"{len(rows.table):,}", *needs_of_groups(rows.table)))
    return replace(rows, heading=told)


def _disks(question: ViewQuestion) -> ViewRows:
    rows = question.section(DISKS)
    size = size_text(pc.sum(rows.table["bytes"]).as_py() or 0)
    return replace(rows, heading=f"{len(rows.table):,} · {size}")


PANELS: Final = (
    Panel(name="health", find=_findings, view="health"),
    Panel(name="quorum", find=_quorum, view="quorum", n_first=3),
    Panel(name="brokers", find=_brokers, view="brokers", n_first=5),
    Panel(name="topics", find=_topics, n_first=3),
    Panel(name="changes", find=_changes),
    Panel(name="groups", find=_groups, view="groups", needs="groups"),
    Panel(name="disks", find=_disks, view="disks", needs="disks"),
)
"""The panels, in their order on the screen."""
_BY_NAME: Final = {panel.name: panel for panel in PANELS}


_SIZES: Final = {"-medium": (100, 26), "-large": (150, 34)}
"""Columns and rows of the page from which on there is room for more panels."""
_BARS: Final = (4, 10)
"""Cells of a bar on a page that is not large, and on a large one."""


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
    TABLES = tuple(_BY_NAME)
    HEADLESS = TABLES[:1]
    DEFAULT_CSS = """
    HomeView Grid { height: 1fr; grid-size: 2; grid-rows: 1fr 1fr 1fr; }
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
            for table in super().compose_tables():
                assert isinstance(table, AnswerRows)
                table.border_title = self.name_of(table).title()
                table.keeps_cursor = False  # else several rows look chosen
                table.headers = {"under_replicated": "under"}
                yield table

    def on_resize(self, event: events.Resize) -> None:
        """Show as many panels as there is room for."""
        for name, (width, height) in _SIZES.items():
            self.set_class(event.size.width >= width and event.size.height >= height, name)
        self.draw()

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
            rows[panel.name] = replace(found, heading=f"{panel.name.title()} {found.heading}")
            question.job.tell(self.show, ViewAnswer(title="", rows=dict(rows)))
        return ViewAnswer(title="", rows=rows)

    def forget(self) -> None:
        """Forget what is known, and keep the panels."""
        super().forget()
        self.answer = ViewAnswer(title="", rows={})

    def seen(self, answer: ViewAnswer) -> Sequence[str]:
        """The panels for which there is room, and whose logs are open."""
        kinds = () if self.view_state is None else self.view_state.kinds
        panels = PANELS if self.has_class("-medium") else PANELS[:4]
        return [panel.name for panel in panels if not panel.needs or panel.needs in kinds]

    def rows_of(self, name: str, rows: ViewRows) -> ViewRows:
        """The rows with the columns for which a panel has room."""
        n_first = None if self.has_class("-large") else _BY_NAME[name].n_first
        return replace(rows, first=rows.first[:n_first])

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
        if not self.has_class("-medium"):
            return Content()
        if name != PANELS[0].name:
            return super().detail(name, row)
        return with_labels(zip(row["labels"], row["texts"], strict=True))

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the row in the view that has more, or to its node."""
        if view_id := _BY_NAME[name].view:
            self.explorer.visit_view(view_id)
            view = self.explorer.view
            assert isinstance(view, AnswerView)
            view.aim(row)
        elif name == "changes" and row["offset"] is not None:
            assert self.view_state is not None
            self.explorer.go_to_change(f"{self.view_state.prefix}{row['path']}", row["offset"])
        else:
            super().choose(name, row)
