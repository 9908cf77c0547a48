"""The quorum: who leads, who votes and follows, how far each is behind, and who led when.

While a live quorum is looked at it is asked again and again; once it was, lags are noted whatever
view is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from metashell.fs.escape import diagnostic
from metashell.tui.frame.taking_focus import take_focus
from metashell.tui.moving import MOMENT
from metashell.tui.rows.cluster_rows import applied_at
from metashell.tui.rows.drawn import DrawnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.text import lines
from metashell.tui.view import Heading, View
from metashell.tui.views.lag_history import LagHistory
from metashell.tui.views.quorum_detail import (
    LAG_LINE,
    OBSERVER,
    REIGN,
    QuorumDetail,
    epoch_columns,
    epochs_table,
    lags_of,
    live_status,
    look_at,
    member_columns,
    members_table,
    newest_first,
    summary_lines,
)

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.tui.jobs import Job
    from metashell.tui.rows.cluster_rows import ClusterRows
    from metashell.tui.view_state import ViewState

_WIDE: Final = 120
_BARS: Final = (16, 40)
"""Cells of bars on a narrow and a wide screen."""
_MOST_EPOCHS_REDRAWN: Final = 500
_NO_CLUSTER: Final = "A fleet is open: go into one of /clusters to see its quorum."


class MembersTable(DrawnTable):
    """Voters and observers."""

    HELP = (
        "## Voters and observers\n"
        "The leader comes first. `lag` counts offsets behind the end of the leader's log. "
        "`lag_over_time` shows the last five minutes, newest to the right, all nodes on one "
        "scale. Only a live quorum tells the lag.\n\n"
        "`enter` opens the node below /quorum, `s` sorts by the column of the cursor, `/` "
        "filters. `tab` goes to the epochs, `x` exports."
    )


class EpochsTable(DrawnTable):
    """Leader epochs."""

    HELP = (
        "## Leader epochs\n"
        "Each epoch, newest first: its leader, its first offset, its time (`lasted_ms`, in "
        "milliseconds) and its number of offsets. The bar is proportional to the time.\n\n"
        "`enter` shows the cluster at the beginning of the epoch. `E` goes back to the end."
    )


class QuorumView(View):
    """The view of the quorum."""

    HELP = (
        "# Quorum\n"
        "The leader, the voters and how many may fail, their lag, and the leaders of earlier "
        "epochs. Below the nodes are contradictions between the node's files, the log and the "
        "leader. A live quorum is asked every two seconds."
    )
    DEFAULT_CSS = """
    QuorumView #quorum-summary { height: auto; max-height: 6; padding: 0 1; }
    QuorumView #quorum-notes { height: auto; max-height: 3; padding: 0 1; color: $text-warning; }
    QuorumView #quorum-members { height: auto; max-height: 35%; }
    QuorumView #quorum-epochs { min-height: 3; }
    QuorumView.-low #quorum-summary { max-height: 1; }
    QuorumView.-low #quorum-notes { max-height: 0; }
    QuorumView.-low #quorum-members { max-height: 4; }
    QuorumView.-low #quorum-epochs { min-height: 2; }
    QuorumView.-low Heading { max-height: 0; }
    """
    SAMPLE_S: ClassVar[float] = 2.0
    """How often a live quorum is asked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.detail: QuorumDetail | None = None
        """The shown content; None before the first answer."""
        self._drawn_bars = 0
        """Columns of the bars that are shown."""
        self.history = LagHistory()
        self._view_state: ViewState | None = None
        self._epochs: ClusterRows | None = None
        self._sampling: Job | None = None
        self._shown_epoch: int | None = None
        self._focused: DrawnTable | None = None

    def compose(self) -> ComposeResult:
        """The summary, the nodes, what is amiss, the epochs."""
        yield Static("", id="quorum-summary", markup=False)
        yield Heading("Voters and observers", id="quorum-nodes")
        yield MembersTable(drawn={LAG_LINE: "lag"}, id="quorum-members")
        yield Static("", id="quorum-notes", markup=False)
        yield Heading("Leader epochs", id="quorum-reigns")
        drawn = {REIGN: "lasted_ms", "lasted": "lasted_ms"}
        yield EpochsTable(drawn=drawn, id="quorum-epochs")

    def on_mount(self) -> None:
        """Begin to ask."""
        self._show_tables(False)
        self._tell("")
        self.set_interval(self.SAMPLE_S, self._sample)

    @property
    def _members(self) -> MembersTable:
        return self.query_one(MembersTable)

    @property
    def _epochs_table(self) -> EpochsTable:
        return self.query_one(EpochsTable)

    # Showing a view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show another view state."""
        before, self._view_state = self._view_state, view_state
        if before is not None and before.prefix != view_state.prefix:
            self._forget()
        if view_state.cluster is None:
            self._forget()
            self._summary(view_state.problem or _NO_CLUSTER)
            return
        if self.detail is None:
            self._summary("asking for the quorum…")
        self.explorer.jobs.start(
            "asking for the quorum",
            lambda job: look_at(view_state, job.cancelled),
            self._looked,
            owner=self,
            key="look",
            is_awaited=self.detail is None,
        )

    def _forget(self) -> None:
        self.detail = self._epochs = self._shown_epoch = None
        self.history = LagHistory()
        self._show_tables(False)
        self._tell("")

    def _sample(self) -> None:
        """Ask a live quorum again, unless the last answer is still awaited."""
        view_state, explorer = self._view_state, self.explorer
        if (
            view_state is None
            or view_state.cluster is None
            or view_state.cluster.newest.live is None
        ):
            return
        if explorer.jobs.goes_on(self._sampling):
            return
        # An earlier offset stays as it is, but for the connection.
        is_seen = explorer.view is self and self.detail is not None and view_state.is_newest
        epoch = self._shown_epoch

        def work(job: Job) -> tuple[LiveStatus | None, QuorumDetail | None]:
            detail = look_at(view_state, job.cancelled, epoch) if is_seen else None
            return live_status(view_state.cluster), detail

        def done(found: tuple[LiveStatus | None, QuorumDetail | None]) -> None:
            status, detail = found
            if status is None or self._view_state is not view_state:
                return
            self._note(status)
            if detail is not None:
                self._looked(detail)

        self._sampling = explorer.jobs.start("", work, done, owner=self, key="sample")

    def _note(self, status: LiveStatus) -> None:
        """Keep the lags, each answer of the leader once a tick."""
        self.history.add(lags_of(status))

    def _looked(self, detail: QuorumDetail) -> None:
        """Show what was found."""
        if not len(detail.status):
            self._summary("\n".join(detail.warnings) or "the quorum is unknown")
            return
        is_first, self.detail = self.detail is None, detail
        self._drawn_bars = self._bar_width
        if detail.live is not None and not len(self.history):
            self._note(detail.live)
        self._summary("\n".join(summary_lines(detail)))
        self._show_tables(True)
        self._show_members(detail)
        changed = detail.changed_epochs
        if detail.epochs is not None:
            self._epochs, self._shown_epoch = detail.epochs, detail.number("epoch")
        if self._epochs is not None and (
            detail.epochs is not None or len(self._epochs.table) <= _MOST_EPOCHS_REDRAWN
        ):
            self._show_epochs(detail, self._epochs.table, changed)
        told = [*detail.warnings, *(() if self._epochs is None else self._epochs.warnings)]
        problem = None if detail.live is None else detail.live.problem
        if problem and not any(diagnostic(problem).rstrip(".") in one for one in told):
            told.append(diagnostic(problem))
        notes = "\n".join(f"! {one}" for one in dict.fromkeys(told))
        self._tell(notes)
        if is_first:
            take_focus(self)

    def _show_tables(self, are_shown: bool) -> None:
        for widget in self.query("#quorum-nodes, #quorum-reigns, DrawnTable"):
            widget.display = are_shown

    def _tell(self, notes: str) -> None:
        shown = self.query_one("#quorum-notes", Static)
        shown.display = bool(notes)
        shown.update(lines(notes))

    def _summary(self, text: str) -> None:
        self.query_one("#quorum-summary", Static).update(lines(text))

    def _show_members(self, detail: QuorumDetail) -> None:
        is_live = (
            detail.live is not None and self._view_state is not None and self._view_state.is_newest
        )
        table = members_table(detail, self.history if is_live else None, self._bar_width)
        members = self._members
        members.show(table, detail.changed_members, first=member_columns(table))
        title = "Voters and observers"
        if not is_live:
            title += " · only a live quorum tells the lag"
        self.query_one("#quorum-nodes", Heading).update(Content(title))

    def _show_epochs(
        self, detail: QuorumDetail, epochs: pa.Table, changed: pa.Array | None
    ) -> None:
        now: int | None = detail.status.column("time").cast(pa.int64())[0].as_py()
        if changed is not None and len(changed):
            changed = changed.take(newest_first(len(changed)))
        table = epochs_table(epochs, now, self._bar_width)
        self._epochs_table.show(table, changed, first=epoch_columns(table))

    @property
    def _bar_width(self) -> int:
        return _BARS[self.size.width >= _WIDE]

    def on_resize(self, event: events.Resize) -> None:
        """Draw bars as wide as there is room."""
        if self.detail is not None and self._bar_width != self._drawn_bars:
            self._looked(self.detail)

    # The user's actions.

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go to the node, or to where the reign began."""
        event.stop()
        row, view_state = event.row, self._view_state
        if view_state is None:
            return
        if event.table is self._members:
            self._go_to(row)
        elif row["start_offset"] is None:
            self.explorer.tell(f"no record shows where epoch {row['epoch']} began", "warning")
        else:
            self._go_to_beginning(view_state, row["start_offset"])

    def _go_to_beginning(self, view_state: ViewState, offset: int) -> None:
        """Show the cluster as the first batch of a reign left it."""

        def work(_job: Job) -> int:
            return applied_at(view_state, self.explorer.path, offset, of_history=True)

        self.explorer.jobs.start(
            "finding the moment",
            work,
            lambda end: self.explorer.travel(end, leads=True),
            owner=self,
            key=MOMENT,
            leads=True,
        )

    def _go_to(self, row: dict[str, Any]) -> None:
        view_state, detail = self._view_state, self.detail
        assert view_state is not None
        assert detail is not None
        name = str(row["id"])
        if detail.members["id"].to_pylist().count(row["id"]) > 1 and row["directory_id"]:
            name = f"{name}@{row['directory_id']}"
        where = "observers" if row["status"] == OBSERVER else "voters"
        self.explorer.go(f"{view_state.prefix}/quorum/{where}/{name}")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Note which table is looked at; the focus also moves where a view goes out of sight."""
        if isinstance(event.widget, DrawnTable) and self.explorer.view is self:
            self._focused = event.widget

    @property
    def _at_hand(self) -> DrawnTable:
        return self._focused or self._members

    def filter_by(self, text: str) -> None:
        """Filter the table that is looked at."""
        self._at_hand.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """Its filter."""
        return None if self.detail is None else self._at_hand.filter_text

    def focus_content(self) -> None:
        """Focus the table that was looked at."""
        self._at_hand.focus()

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The nodes, the epochs, and the quorum as one row."""
        if self.detail is None:
            return ()
        named = [("quorum", self._members.taken), ("quorum-epochs", self._epochs_table.taken)]
        if self._at_hand is not self._members:
            named.reverse()
        found = [(name, table) for name, table in named if table is not None]
        return (*found, ("quorum-status", self.detail.status))

    def copyable(self) -> tuple[str, str] | None:
        """The row."""
        text = self._at_hand.row_text_of()
        if text is None:
            return None
        return "epoch" if self._at_hand is self._epochs_table else "node", text
