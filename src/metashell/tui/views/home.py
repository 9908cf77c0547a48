"""Home: the whole cluster on a page. Each panel has a few rows of a command, and leads to more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import pyarrow as pa
from textual import events
from textual.app import ComposeResult
from textual.containers import Grid
from textual.content import Content

from metashell.errors import MetashellError
from metashell.tui.error_text import error_message
from metashell.tui.rows.bars import bars
from metashell.tui.rows.signs import with_signs
from metashell.tui.views.answer import REFRESH, AnswerRows, AnswerView, with_labels
from metashell.tui.views.brokers import with_load
from metashell.tui.views.home_panels import PANELS
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

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
        "The findings of the command `health`, the quorum with the ends of its logs, and the "
        "brokers with their load. Topics with partitions offline come first. The last changes "
        "are here, too. Groups and disks are here if their logs are open. A small screen has "
        "the first four panels. `●` is critical, `▲` a warning, `·` a note; `│` on a bar marks an "
        "even share.\n\n"
        "- `tab` goes to the next panel, `z` gives it the whole screen\n"
        "- `enter` goes to what the row is about: a finding in Health, a broker's or topic's "
        "node, the offset of a change\n"
        "- `r` asks again"
    )
    ASKS = "looking at the cluster"
    IS_AWAITED = False
    TABLES = tuple(panel.name for panel in PANELS)
    BINDINGS: ClassVar = [REFRESH]
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
