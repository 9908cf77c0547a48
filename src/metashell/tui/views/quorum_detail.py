"""The content of the quorum view, gathered in a job: rows of ``quorum``, and words for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.commands.quorum.answer import age_text
from metashell.commands.rows.cell_text import shown_texts
from metashell.commands.shared.status import LEADER_UNKNOWN, leader_words
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.tui.rows.bars import bars, sparkline
from metashell.tui.rows.changes import changed_rows
from metashell.tui.rows.cluster_rows import ClusterRows, cluster_rows, joined, previous_view_state
from metashell.tui.rows.drawn import with_columns
from metashell.tui.text import short_time

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.sources.source import Source
    from metashell.tui.view_state import ViewState
    from metashell.tui.views.lag_history import LagHistory

OBSERVER: Final = "Observer"
LAG_LINE: Final = "lag_over_time"
REIGN: Final = "lasted_bar"
SILENT_MS: Final = 10_000
"""A follower that has not fetched for so long counts as lost; Kafka's own fetch interval is 0.5 s,
and a leader without a majority resigns after 3 s."""
EPOCH_COLUMNS: Final = (
    "epoch", "leader", "lasted", REIGN, "offsets", "start_offset", "time",
)  # fmt: skip
"""The columns of epochs shown at first."""
_COMPARED: Final = ("status", "endpoints", "directory_id", "only_in")
_LIVE: Final = (
    "id", "status", "lag", LAG_LINE, "log_end_offset", "last_fetch_age_ms",
    "last_caught_up_age_ms", "endpoints", "directory_id",
)  # fmt: skip
_LOGGED: Final = ("id", "status", "endpoints", "directory_id")
_UNKNOWN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDetail:
    """The quorum at one moment."""

    status: pa.Table
    """One row."""
    members: pa.Table
    changed_members: pa.Array | None
    epochs: ClusterRows | None
    """Leader epochs and what is to be said of them; None where those that are shown still hold."""
    changed_epochs: pa.Array | None
    warnings: tuple[str, ...]
    """Warnings, a sentence each, escaped."""
    live: LiveStatus | None
    """How the connection stands, whatever offset is shown."""
    is_newest: bool = True
    """Whether it is the end of the log that is shown."""

    def text(self, name: str) -> str:
        """A cell of the status; ``-`` where nothing is known."""
        text: str = shown_texts(self.status.column(name))[0].as_py()
        return text

    def number(self, name: str) -> int | None:
        """A number of the status."""
        number: int | None = self.status.column(name)[0].as_py()
        return number


def look_at(
    view_state: ViewState, cancelled: Callable[[], bool], shown_epoch: int | None = None
) -> QuorumDetail:
    """Ask for everything.

    Args:
        view_state: A state of a cluster.
        cancelled: Asked now and then.
        shown_epoch: The newest leader epoch whose table is there already: it is not asked for again
            while that is the newest.

    Raises:
        MetashellError: The source can't be read.
    """
    status = cluster_rows(view_state, "quorum", "--status", cancelled=cancelled)
    members = cluster_rows(view_state, "quorum", cancelled=cancelled)
    epoch = status.table.column("epoch")[0].as_py() if len(status.table) else None
    epochs = before = None
    if shown_epoch is None or epoch != shown_epoch:
        epochs = cluster_rows(view_state, "quorum", "--epochs", cancelled=cancelled)
        before = previous_view_state(view_state)
    changed = changed_epochs = None
    if before is not None and epochs is not None:
        try:
            old = cluster_rows(before, "quorum", cancelled=cancelled).table
            changed = changed_rows(members.table, old, "id", _COMPARED)
            old = cluster_rows(before, "quorum", "--epochs", cancelled=cancelled).table
            changed_epochs = changed_rows(epochs.table, old, "epoch")
        except MetashellError:
            pass  # what was shown before can't be read any more: nothing to compare with
    return QuorumDetail(
        status=status.table,
        members=members.table,
        changed_members=changed,
        epochs=epochs,
        changed_epochs=changed_epochs,
        warnings=members.warnings,
        live=live_status(view_state.cluster),
        is_newest=view_state.cluster is None or view_state.cluster.moment_offset is None,
    )


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


def n_silent(detail: QuorumDetail) -> int | None:
    """Voters that have not fetched for long; None where nothing tells."""
    ages = [
        age
        for age, status in zip(
            detail.members.column("last_fetch_age_ms").to_pylist(),
            detail.members.column("status").to_pylist(),
            strict=True,
        )
        if status not in (OBSERVER, "Leader")
    ]
    known = [age for age in ages if age is not None]
    return sum(age >= SILENT_MS for age in known) if known else None


def summary_lines(detail: QuorumDetail) -> list[str]:
    """The quorum in a few lines."""
    n_voters = sum(status != OBSERVER for status in detail.members.column("status").to_pylist())
    n_observers = len(detail.members) - n_voters
    lag, lag_ms = detail.number("max_follower_lag"), detail.number("max_follower_lag_ms")
    behind = None if lag_ms is None or lag_ms < 0 else age_text(lag_ms)
    observers = f"{n_observers} observer{'' if n_observers == 1 else 's'}"
    lines = [
        joined(
            (
                f"cluster {detail.text('cluster_id')}",
                f"kraft.version {detail.text('kraft_version')}",
            )
        ),
        joined(
            (
                _leader_text(detail),
                f"epoch {detail.text('epoch')}",
                f"high watermark {detail.text('high_watermark')}",
                f"MaxFollowerLag {detail.text('max_follower_lag')}"
                + (f" ({behind})" if lag is not None and behind else ""),
            )
        ),
        joined((majority_text(n_voters, n_silent(detail)), observers if n_observers else None)),
        f"from {detail.text('origin')}, {short_time(detail.text('time'))}",
    ]
    return lines if detail.live is None else [*lines, connection_text(detail.live)]


def _leader_text(detail: QuorumDetail) -> str:
    """The leader: the present one if the quorum is followed, or else the last one in the log."""
    told, live = detail.text("leader"), detail.live if detail.is_newest else None
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


# Tables.


def members_table(detail: QuorumDetail, history: LagHistory | None, width: int) -> pa.Table:
    """Voters and observers, with a line of their lag where there is a history."""
    table = detail.members
    if history is None:
        return table
    lines = [
        sparkline(history.of(str(node)), history.n_samples, width, history.largest)
        for node in table.column("id").to_pylist()
    ]
    return with_columns(table, (LAG_LINE, "lag", lines))


def member_columns(members: pa.Table) -> tuple[str, ...]:
    """The columns shown at first: those that can tell something."""
    names = _LIVE if LAG_LINE in members.column_names else _LOGGED
    is_odd = members["only_in"].null_count < len(members)
    return (*names[:2], "only_in", *names[2:]) if is_odd else names


def epoch_columns(epochs: pa.Table) -> tuple[str, ...]:
    """The columns of epochs shown at first: those that can tell something."""
    is_timed = epochs["lasted_ms"].null_count < len(epochs)
    return tuple(name for name in EPOCH_COLUMNS if is_timed or name != REIGN)


def epochs_table(epochs: pa.Table, now_ms: int | None, width: int) -> pa.Table:
    """Each leader's reign, the newest first: how long it lasted, and over how many offsets.

    Args:
        epochs: Rows of ``quorum --epochs``, in order.
        now_ms: When the last one is seen to last yet; None for not known.
        width: Cells of the bars.
    """
    times = epochs.column("time").cast(pa.int64()).to_pylist()
    starts = epochs.column("start_offset").to_pylist()
    lasted = _spans([*times, now_ms])
    columns: dict[str, Any] = {
        "epoch": epochs.column("epoch"),
        "leader": epochs.column("leader"),
        "start_offset": epochs.column("start_offset"),
        "time": epochs.column("time"),
        "lasted": pa.array([None if ms is None else age_text(ms) for ms in lasted], pa.string()),
        REIGN: pa.array(bars(lasted, width), pa.string()),
        "lasted_ms": pa.array(lasted, pa.int64()),
        "offsets": pa.array(_spans([*starts, None]), pa.int64()),
    }
    return pa.table(columns).take(newest_first(len(epochs)))


def newest_first(n: int) -> pa.Array:
    """Rows in the opposite order."""
    return pa.array(range(n - 1, -1, -1), pa.int64())


def _spans(points: Sequence[int | None]) -> list[int | None]:
    return [None if a is None or b is None or b < a else b - a for a, b in pairwise(points)]
