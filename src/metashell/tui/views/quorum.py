"""The quorum: who leads, who votes and follows, how far each is behind, and who led when.

While a live quorum is looked at it is asked again and again; once it was, lags are noted whatever
view is seen. In a fleet, the view compares the copies of one cluster's log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from metashell.commands.quorum.words import age_text
from metashell.fs.escape import diagnostic
from metashell.fs.path import cluster_path
from metashell.tui.rows.signs import bars, sparkline, with_signs
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job

SAMPLES: Final = 150
"""Samples of the lag that are kept; a new one replaces the oldest."""
_NODES: Final = "quorum"
_EPOCHS: Final = "quorum-epochs"
_COPIES: Final = "quorum-copies"
_STATUS: Final = "quorum-status"
_FIRST: Final = {
    _NODES: (
        "id", "status", "only_in", "lag", "lag_over_time", "log_end_offset", "last_fetch_age_ms",
        "last_caught_up_age_ms", "endpoints", "directory_id",
    ),
    _EPOCHS: ("epoch", "leader", "lasted", "lasted_bar", "offsets", "start_offset", "time"),
    _COPIES: (
        "copy", "behind", "can_win", "log_epoch", "log_end_offset", "departs_at", "node_id",
        "voter", "checkpoint_end",
    ),
}  # fmt: skip
_LIVE: Final = ("lag", "lag_over_time", "log_end_offset", "last_fetch_age_ms",
                "last_caught_up_age_ms")  # fmt: skip


def live_status(source: Source | None) -> LiveStatus | None:
    """How the following of a live quorum stands; None for files."""
    live = None if source is None else source.newest.live
    return None if live is None else live.status()


def lags_of(status: LiveStatus) -> dict[str, int | None]:
    """Offsets behind the leader by node id, as the leader last told them.

    Where one can't be asked any more, nothing is known of anybody.
    """
    described = status.description
    if described is None:
        return {}
    replicas = (*described.voters, *described.observers)
    is_old = status.problem is not None or status.description_problem is not None
    return {str(r.id): None if is_old else described.lag(r) for r in replicas}


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
        "shows the cluster at the beginning of the epoch. `E` goes back to the end.\n\n"
        "Outside of a fleet's clusters, it compares directories of one cluster, like `quorum "
        "--copies`. It says whose copy wins a vote, and by how many records others are behind. "
        "`enter` goes into the copy."
    )
    ASKS = "asking for the quorum"
    TABLES = (_NODES, _EPOCHS, _COPIES)
    DEFAULT_CSS = """
    QuorumView #quorum-quorum { height: auto; max-height: 45%; }
    QuorumView #quorum-quorum-epochs { min-height: 3; }
    QuorumView .answer-detail { max-height: 3; }
    QuorumView.-low #quorum-quorum { max-height: 4; }
    QuorumView.-low #quorum-quorum-epochs { min-height: 2; }
    """
    SAMPLE_S: ClassVar[float] = 2.0
    """How often a live quorum is asked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lags: deque[Mapping[str, int | None]] = deque(maxlen=SAMPLES)
        """Offsets behind the leader by node, the oldest sample first."""
        self._sampling: Job | None = None

    def on_mount(self) -> None:
        """Begin to ask."""
        self.set_interval(self.SAMPLE_S, self._sample)

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """The quorum as a whole, its nodes, and its leader epochs; or the copies of a fleet."""
        source = question.view_state.cluster
        if source is None:
            copies = question.rows(
                "quorum", "--copies", first=_FIRST[_COPIES], heading="Copies of the log"
            )
            return copies.alone(_COPIES)
        status = question.rows("quorum", "--status")
        nodes = question.rows(
            "quorum", key="id", compared=("status", "endpoints", "directory_id", "only_in")
        )
        epochs = question.rows("quorum", "--epochs", "--sort=-epoch", key="epoch")
        live = live_status(source)
        told = [*nodes.warnings, *epochs.warnings]
        if not len(status.table):
            return ViewAnswer(title="the quorum is unknown", notes=told, rows={})
        problem = None if live is None else live.problem
        if problem and not any(diagnostic(problem).rstrip(".") in one for one in told):
            told.append(diagnostic(problem))
        is_live, heading = (
            live is not None and question.view_state.is_newest,
            "Voters and observers",
        )
        rows = {
            _NODES: replace(
                nodes,
                heading=heading if is_live else f"{heading} · only a live quorum tells the lag",
                first=[name for name in _FIRST[_NODES] if is_live or name not in _LIVE],
            ),
            _EPOCHS: replace(epochs, heading="Leader epochs", first=_FIRST[_EPOCHS]),
            _STATUS: status,
        }
        title, *words = nodes.verdict or ["the quorum is unknown"]
        notes = [f"! {one}" for one in dict.fromkeys(told)]
        return ViewAnswer(title=title, words=words, notes=notes, rows=rows)

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """Nodes with a line of their lag, epochs with bars of their times."""
        if name == _EPOCHS:
            lasted = table["lasted_ms"].to_pylist()
            words = [None if ms is None else age_text(ms) for ms in lasted]
            drawn = bars(lasted, self.bar_width) if any(lasted) else [""] * len(lasted)
            return with_signs(
                table, ("lasted_bar", "lasted_ms", drawn), ("lasted", "lasted_ms", words)
            )
        if name == _COPIES:
            return table
        largest = max((lag or 0 for sample in self.lags for lag in sample.values()), default=0)
        lags = [
            sparkline([s.get(str(node)) for s in self.lags], SAMPLES, self.bar_width, largest)
            for node in table["id"].to_pylist()
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
            self.lags.append(lags_of(status))
            # An earlier offset stays as it is, but for the connection.
            if explorer.view is self and self.answer is not None and view_state.is_newest:
                self.begin(is_silent=True)

        self._sampling = explorer.jobs.start(
            "", lambda _: live_status(source), done, owner=self, key="sample"
        )

    def forget(self) -> None:
        """Forget the lags of another quorum."""
        self.lags.clear()
        super().forget()

    # The user's actions.

    def path_of(self, name: str, row: Mapping[str, Any]) -> str | None:
        """The node below ``/quorum``, or the copy."""
        assert self.view_state is not None
        assert self.answer is not None
        if name == _COPIES:
            return cluster_path(row["copy"])
        if name == _EPOCHS:
            return None
        ids = self.answer.rows[_NODES].table["id"].to_pylist()
        is_one = ids.count(row["id"]) == 1 or not row["directory_id"]
        node = row["id"] if is_one else f"{row['id']}@{row['directory_id']}"
        place = "observers" if row["status"] == "Observer" else "voters"
        return f"{self.view_state.prefix}/quorum/{place}/{node}"

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the node, to the copy, or to where the reign began."""
        offset, explorer = row.get("start_offset"), self.explorer
        if name != _EPOCHS:
            super().choose(name, row)
        elif offset is None:
            explorer.tell(f"no record shows where epoch {row['epoch']} began", "warning")
        else:
            travel = partial(explorer.travel, leads=True)
            self.find_moment(explorer.path, offset, travel, of_history=True)

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The nodes, the epochs, and the quorum as one row."""
        status = None if self.answer is None else self.answer.rows.get(_STATUS)
        found = super().tables()
        return found if status is None else (*found, (_STATUS, status.table))
