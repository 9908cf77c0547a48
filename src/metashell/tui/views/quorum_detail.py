"""The content of the quorum view: words for rows of ``quorum``, and how long leaders led."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.quorum.answer import age_text
from metashell.commands.rows.cell_text import shown_texts
from metashell.commands.shared.status import LEADER_UNKNOWN, leader_words
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.rows.signs import with_signs
from metashell.tui.text import short_time

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus
    from metashell.sources.source import Source


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
