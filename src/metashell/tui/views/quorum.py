"""The quorum: who leads, who votes and follows, how far each is behind, and who led when.

While a live quorum is looked at it is asked again and again; once it was, lags are noted whatever
view is seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.quorum.answer import age_text
from metashell.commands.rows.cell_text import shown_texts
from metashell.commands.shared.status import LEADER_UNKNOWN, leader_words
from metashell.fs.escape import diagnostic
from metashell.tui.moving import MOMENT
from metashell.tui.rows.cluster_rows import applied_at, joined
from metashell.tui.rows.signs import bars, sparkline, with_signs
from metashell.tui.text import short_time
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job


SAMPLES: Final = 150
"""Samples kept for each node; a new one replaces the oldest."""


class LagHistory:
    """A bounded row of samples for each node.

    Args:
        n_samples: How many are kept.
    """

    def __init__(self, n_samples: int = SAMPLES) -> None:
        self.n_samples = n_samples
        self._lags: dict[str, deque[int | None]] = {}

    def add(self, lags: Mapping[str, int | None]) -> None:
        """Take a sample: offsets behind the leader by node, None where that is not known.

        A node that has not been heard of in all samples that are kept is forgotten.
        """
        for node in lags:
            if node not in self._lags:
                self._lags[node] = deque(maxlen=self.n_samples)
        for node, kept in list(self._lags.items()):
            kept.append(lags.get(node))
            if not any(lag is not None for lag in kept) and node not in lags:
                del self._lags[node]

    def of(self, node: str) -> Sequence[int | None]:
        """Samples of a node, the oldest first."""
        return tuple(self._lags.get(node, ()))

    @property
    def largest(self) -> int:
        """The largest of all: what the lines of all nodes are drawn by."""
        known = (lag for kept in self._lags.values() for lag in kept if lag is not None)
        return max(known, default=0)

    def __len__(self) -> int:
        return len(self._lags)


OBSERVER: Final = "Observer"
SILENT_MS: Final = 10_000
"""A follower that has not fetched for so long counts as lost; Kafka's own fetch interval is 0.5 s,
and a leader without a majority resigns after 3 s."""
_UNKNOWN: Final = "-"


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


# Words.


def majority_text(n_voters: int, n_silent: int | None = None) -> str:
    """The number of voters, and how many more voters may be lost.

    Args:
        n_voters: Voters.
        n_silent: The number of voters that the leader does not hear any more; None if unknown.
    """
    if not n_voters:
        return "voters unknown"
    needed = n_voters // 2 + 1
    voters = "1 voter" if n_voters == 1 else f"{n_voters} voters"
    text = f"{voters}, {needed} {'is' if needed == 1 else 'are'} a majority"
    spare = n_voters - needed - (n_silent or 0)
    silent = f", {n_silent} silent" if n_silent else ""
    if spare < 0:
        return f"{text}{silent}: the majority is lost"
    return f"{text}{silent}: {spare or 'none'} {'more ' if n_silent else ''}may be lost"


def n_silent(members: pa.Table) -> int | None:
    """Voters that have not fetched for long; None where nothing tells."""
    follows = pc.invert(pc.is_in(members["status"], pa.array([OBSERVER, "Leader"])))
    ages = members["last_fetch_age_ms"].filter(follows).drop_null()
    return pc.sum(pc.greater_equal(ages, SILENT_MS)).as_py() if len(ages) else None


def summary_lines(
    status: pa.Table, members: pa.Table, live: LiveStatus | None, *, is_newest: bool
) -> list[str]:
    """The quorum in a few lines.

    Args:
        status: The row of ``quorum --status``.
        members: The rows of ``quorum``.
        live: How the connection stands; None for files.
        is_newest: Whether it is the end of the log that is shown.
    """
    told = _told(status)
    n_observers = members["status"].to_pylist().count(OBSERVER)
    lag_ms = status["max_follower_lag_ms"][0].as_py()
    behind = f" ({age_text(lag_ms)})" if lag_ms is not None and lag_ms >= 0 else ""
    observers = f"{n_observers} observer{'s' * (n_observers != 1)}"
    majority = majority_text(len(members) - n_observers, n_silent(members))
    lines = [
        f"cluster {told['cluster_id']} · kraft.version {told['kraft_version']}",
        joined(
            (
                leader_and_epoch(status, live, is_newest=is_newest),
                f"high watermark {told['high_watermark']}",
                f"MaxFollowerLag {told['max_follower_lag']}{behind}",
            )
        ),
        joined((majority, observers if n_observers else None)),
        f"from {told['origin']}, {short_time(told['time'])}",
    ]
    return lines if live is None else [*lines, connection_text(live)]


def leader_and_epoch(status: pa.Table, live: LiveStatus | None, *, is_newest: bool) -> str:
    """Who leads, and since which epoch; arguments as of `summary_lines`."""
    told = _told(status)
    leader = _leader_text(told["leader"], live if is_newest else None)
    return joined((leader, f"epoch {told['epoch']}"))


def _told(status: pa.Table) -> Mapping[str, str]:
    """The cells of the row of ``quorum --status`` as they are shown."""
    return {name: shown_texts(status[name])[0].as_py() for name in status.column_names}


def _leader_text(told: str, live: LiveStatus | None) -> str:
    """The leader: the present one if the quorum is followed, or else the last one in the log."""
    leader = None if told == _UNKNOWN else told
    if live is None:
        return leader_words(leader) if leader else LEADER_UNKNOWN
    return leader_words(live.leader_now, leader if live.leader_id is None else live.leader_id)


def connection_text(status: LiveStatus) -> str:
    """How the connection stands; why nothing comes is told elsewhere."""
    word = status.last_word_s
    age = "no answer yet" if word is None else f"last answer {age_text(int(word * 1000))} ago"
    if status.leader_address is None:
        where = "not connected to a leader"
    else:
        where = f"connected to {status.leader_address}"
    return joined((where, age))


# Leader epochs.


def epochs_table(epochs: pa.Table, now_ms: int | None) -> pa.Table:
    """Each leader's reign, the newest first: how long it lasted, and over how many offsets.

    Args:
        epochs: Rows of ``quorum --epochs``, in order.
        now_ms: When the last one is seen to last yet; None for not known.
    """
    times = epochs.column("time").cast(pa.int64()).to_pylist()
    starts = epochs.column("start_offset").to_pylist()
    lasted = _spans([*times, now_ms])
    table = epochs.append_column("lasted_ms", pa.array(lasted, pa.int64()))
    table = table.append_column("offsets", pa.array(_spans([*starts, None]), pa.int64()))
    words = [None if ms is None else age_text(ms) for ms in lasted]
    return with_signs(table, ("lasted", "lasted_ms", words)).take(newest_first(len(epochs)))


def newest_first(n: int) -> pa.Array:
    """Rows in the opposite order."""
    return pa.array(range(n - 1, -1, -1), pa.int64())


def _spans(points: Sequence[int | None]) -> list[int | None]:
    return [None if a is None or b is None or b < a else b - a for a, b in pairwise(points)]


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
