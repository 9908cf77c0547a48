"""The quorum: who leads, who votes and follows, how far each is behind, and who led when.

While a live quorum is looked at it is asked again and again; once it was, lags are noted whatever
view is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from metashell.fs.escape import diagnostic
from metashell.tui.moving import MOMENT
from metashell.tui.rows.cluster_rows import applied_at
from metashell.tui.rows.signs import bars, sparkline, with_signs
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion
from metashell.tui.views.quorum_detail import (
    OBSERVER,
    LagHistory,
    epochs_table,
    lags_of,
    live_status,
    newest_first,
    summary_lines,
)

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.tui.jobs import Job

_NODES: Final = "quorum"
_EPOCHS: Final = "quorum-epochs"
_STATUS: Final = "quorum-status"
_EPOCH_COLUMNS: Final = (
    "epoch", "leader", "lasted", "lasted_bar", "offsets", "start_offset", "time",
)  # fmt: skip
_COMPARED: Final = ("status", "endpoints", "directory_id", "only_in")
_LIVE: Final = (
    "lag", "lag_over_time", "log_end_offset", "last_fetch_age_ms", "last_caught_up_age_ms",
)  # fmt: skip


class QuorumView(AnswerView[ViewAnswer]):
    """The view of the quorum."""

    HELP = (
        "# Quorum\n"
        "The leader, the voters and how many may fail, their lag, and the leaders of earlier "
        "epochs. Below are contradictions between the node's files, the log and the "
        "leader. A live quorum is asked every two seconds.\n\n"
        "The leader comes first. `lag` counts offsets behind the end of the leader's log. "
        "`lag_over_time` shows the last five minutes, newest to the right, all nodes on one "
        "scale. Only a live quorum tells the lag. `enter` opens the node below /quorum.\n\n"
        "Each epoch, newest first, has its leader, its first offset, its time (`lasted_ms`, in "
        "milliseconds) and its number of offsets. The bar is proportional to the time. `enter` "
        "shows the cluster at the beginning of the epoch. `E` goes back to the end."
    )
    ASKS = "asking for the quorum"
    TABLES = (_NODES, _EPOCHS)
    DEFAULT_CSS = """
    QuorumView #quorum-quorum { height: auto; max-height: 35%; }
    QuorumView #quorum-quorum-epochs { min-height: 3; }
    QuorumView .answer-detail { max-height: 3; }
    QuorumView.-low #quorum-quorum { max-height: 4; }
    QuorumView.-low #quorum-quorum-epochs { min-height: 2; }
    """
    SAMPLE_S: ClassVar[float] = 2.0
    """How often a live quorum is asked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.history = LagHistory()
        self._sampling: Job | None = None

    def on_mount(self) -> None:
        """Begin to ask."""
        self.set_interval(self.SAMPLE_S, self._sample)

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """The quorum as a whole, its nodes, and its leader epochs."""
        status = question.rows("quorum", "--status")
        nodes = question.rows("quorum", key="id", compared=_COMPARED)
        epochs = question.rows("quorum", "--epochs", key="epoch")
        source = question.view_state.cluster
        live, is_newest = live_status(source), question.view_state.is_newest
        told = [*nodes.warnings, *epochs.warnings]
        if not len(status.table):
            return ViewAnswer(title="the quorum is unknown", notes=told, rows={})
        problem = None if live is None else live.problem
        if problem and not any(diagnostic(problem).rstrip(".") in one for one in told):
            told.append(diagnostic(problem))
        is_live = live is not None and is_newest
        is_odd = nodes.table["only_in"].null_count < len(nodes.table)
        heading = "Voters and observers"
        nodes = replace(
            nodes,
            heading=heading if is_live else f"{heading} · only a live quorum tells the lag",
            first=("id", "status", *(("only_in",) if is_odd else ()),
                   *(_LIVE if is_live else ()), "endpoints", "directory_id"),
        )  # fmt: skip
        reigns = epochs_table(epochs.table, status.table["time"].cast(pa.int64())[0].as_py())
        is_timed = reigns["lasted_ms"].null_count < len(reigns)
        epochs = replace(
            epochs, table=reigns, heading="Leader epochs",
            changes=epochs.changes.take(newest_first(len(reigns))),
            first=[name for name in _EPOCH_COLUMNS if is_timed or name != "lasted_bar"],
        )  # fmt: skip
        title, *words = summary_lines(status.table, nodes.table, live, is_newest=is_newest)
        notes = [f"! {one}" for one in dict.fromkeys(told)]
        rows = {_NODES: nodes, _EPOCHS: epochs, _STATUS: status}
        return ViewAnswer(title=title, words=words, notes=notes, rows=rows)

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """Nodes with a line of their lag, epochs with bars of their times."""
        if name == _EPOCHS:
            drawn = bars(table["lasted_ms"].to_pylist(), self.bar_width)
            return with_signs(table, ("lasted_bar", "lasted_ms", drawn))
        history, ids = self.history, table["id"].to_pylist()
        lags = [
            sparkline(history.of(str(node)), history.n_samples, self.bar_width, history.largest)
            for node in ids
        ]
        return with_signs(table, ("lag_over_time", "lag", lags))

    # A live quorum.

    def _sample(self) -> None:
        """Ask a live quorum again, unless the last answer is still awaited."""
        view_state, explorer = self.view_state, self.explorer
        source = None if view_state is None else view_state.cluster
        if source is None or source.newest.live is None or explorer.jobs.goes_on(self._sampling):
            return

        def done(status: LiveStatus | None) -> None:
            if status is None or self.view_state is not view_state or view_state is None:
                return
            self.history.add(lags_of(status))
            # An earlier offset stays as it is, but for the connection.
            if explorer.view is self and self.answer is not None and view_state.is_newest:
                self.begin(is_silent=True)

        self._sampling = explorer.jobs.start(
            "", lambda _: live_status(source), done, owner=self, key="sample"
        )

    def forget(self) -> None:
        """Forget the lags of another quorum."""
        self.history = LagHistory()
        super().forget()

    # The user's actions.

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the node, or to where the reign began."""
        view_state, offset = self.view_state, row.get("start_offset")
        assert view_state is not None
        if name == _NODES:
            self.explorer.go(f"{view_state.prefix}/quorum/{self._place_of(row)}")
            return
        if offset is None:
            self.explorer.tell(f"no record shows where epoch {row['epoch']} began", "warning")
            return
        path = self.explorer.path
        self.explorer.jobs.start(
            "finding the moment",
            lambda _: applied_at(view_state, path, offset, of_history=True),
            lambda end: self.explorer.travel(end, leads=True),
            owner=self, key=MOMENT, leads=True,
        )  # fmt: skip

    def _place_of(self, row: dict[str, Any]) -> str:
        """The place of a node below ``/quorum``."""
        assert self.answer is not None
        ids = self.answer.rows[_NODES].table["id"].to_pylist()
        is_one = ids.count(row["id"]) == 1 or not row["directory_id"]
        name = row["id"] if is_one else f"{row['id']}@{row['directory_id']}"
        return f"{'observers' if row['status'] == OBSERVER else 'voters'}/{name}"

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The nodes, the epochs, and the quorum as one row."""
        status = None if self.answer is None else self.answer.rows.get(_STATUS)
        found = super().tables()
        return found if status is None else (*found, (_STATUS, status.table))
