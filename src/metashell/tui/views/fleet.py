"""Several directories: a row for each as it is read, and whether copies of a cluster agree."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from textual.content import Content

from metashell.commands.fleet.columns import VERIFY_COLUMNS
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import text
from metashell.errors import MetashellError
from metashell.fs.path import cluster_path, encode_name
from metashell.judgement.copies import DIFFERS, DIVERGED
from metashell.sources.engine import core_count
from metashell.sources.fleet.source import SMALL_BYTES
from metashell.tui.part import shown_key
from metashell.tui.text import error_message, line
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.sources.fleet.member import FleetRow
    from metashell.sources.fleet.source import FleetSource
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState


UNREAD: Final = "not read yet"
NOT_READ: Final = "unreadable"
FAULTY: Final = "faults"
HEALTHY: Final = "ok"
_WORST_FIRST: Final = {
    NOT_READ: "error",
    "offline-partitions": "offline",
    FAULTY: "faults",
    DIVERGED: None,
    DIFFERS: None,
    "under-min-isr": "under_min_isr",
    "under-replicated": "under_replicated",
    "fenced-broker": "fenced",
    HEALTHY: None,
    UNREAD: None,
}
"""States, in the words of `health` and of ``fleet --verify``, and the column that tells of each."""
_COUNTED: Final = tuple(name for name in _WORST_FIRST.values() if name not in (None, "error"))
_STATE: Final = text(
    "state",
    "",
    red=(NOT_READ, "offline-partitions", FAULTY, DIVERGED, DIFFERS, "under-min-isr"),
    yellow=("under-replicated", "fenced-broker"),
)
_COMPARED: Final = ("cluster_id", "metadata_version")
FLEET_COLUMNS: Final = (
    "cluster", "state", "verdict", "offline", "under_min_isr", "under_replicated", "fenced",
    "differs_in", "brokers", "topics",
    "partitions", "metadata_version", "offset", "time", "faults",
)  # fmt: skip
_COPY_COLUMNS: Final = ("cluster", "state", "verdict", "behind", "offset")
"""The first columns where a copy is behind another one."""
_COMPARISON: Final = (
    "verdict", "offset", "diverged_at", "epoch", "other_epoch", "checksum", "error",
)  # fmt: skip
"""Columns of ``fleet --verify`` that are told of a directory."""
_TELL_EVERY_S: Final = 0.25


def watched(
    fleet: FleetSource,
    tell: Callable[[int, int], None],
    came: Callable[[Sequence[FleetRow]], object] | None = None,
) -> FleetSource:
    """A copy of a fleet in its opened state, which reports rows while it computes them.

    The offset shown of a cluster does not matter: rows of different times are not compared.

    Args:
        fleet: The fleet, which is left as it is.
        tell: Called with (bytes done, bytes in all).
        came: Called with rows that came, now and then.
    """
    watching = fleet.as_opened()
    watching.progress = lambda: nullcontext(tell)
    if came is not None:
        watching.runner = _runner(fleet, came)
    return watching


def _runner(fleet: FleetSource, came: Callable[[Sequence[FleetRow]], object]) -> Any:
    names = {member.path: member for member in fleet.members.values()}

    def run(
        function: Callable[..., FleetRow],
        jobs: Sequence[tuple[object, ...]],
        weights: Sequence[int],
        stop: Callable[[], None],
    ) -> Iterator[tuple[int, FleetRow | None]]:
        from metashell.sources.fleet.pool import run_all

        n_workers = core_count() if sum(weights) >= SMALL_BYTES else 1
        here = partial(run_all, function, jobs, n_workers, stop=stop)
        results = here() if fleet.runner is None else fleet.runner(function, jobs, weights, stop)
        told, waiting = time.monotonic(), list[Any]()
        for i, row in results:
            if row is not None:
                member = names[str(jobs[i][0])]
                cluster_id = row.get("clusterId") or member.cluster_id
                waiting.append({"name": member.name, **row, "clusterId": cluster_id})
            if waiting and time.monotonic() - told >= _TELL_EVERY_S:
                came(waiting)
                told, waiting = time.monotonic(), []
            yield i, row

    return run


def fleet_table(
    rows: pa.Table, unread: Collection[str] = (), verified: pa.Table | None = None
) -> pa.Table:
    """Rows of ``fleet``, the worst first, with the state of each directory and its differences.

    Args:
        rows: All columns.
        unread: Names of the directories that are being read.
        verified: The rows of ``fleet --verify``; None if it was not asked.
    """
    told = () if verified is None else verified.select(["cluster", "verdict"]).to_pylist()
    verdicts = {row["cluster"]: row["verdict"] for row in told}
    counts = rows.select(["cluster", "error", *_COUNTED]).to_pylist()
    for row in counts:
        found = {verdicts.get(row["cluster"])}
        found.update(word for word, by in _WORST_FIRST.items() if by and row[by])
        worst = next((word for word in _WORST_FIRST if word in found), HEALTHY)
        row["state"] = UNREAD if row["cluster"] in unread else worst
    ranks = {word: rank for rank, word in enumerate(_WORST_FIRST)}

    def how_bad(at: int) -> tuple[int, list[int], str]:
        row = counts[at]
        return ranks[row["state"]], [-int(row[name] or 0) for name in _COUNTED], row["cluster"]

    order = sorted(range(len(counts)), key=how_bad)
    rows = rows.take(order)
    table = rows.append_column(
        "state", pa.array([counts[at]["state"] for at in order], pa.string())
    )
    unlike = [differences(rows[name].to_pylist()) for name in _COMPARED]
    words = [",".join(compress(_COMPARED, row)) for row in zip(*unlike, strict=True)]
    if any(words):
        table = table.append_column("differs_in", pa.array(words, pa.string()))
    if any(n_behind := behind(rows)):
        table = table.append_column("behind", pa.array(n_behind, pa.int64()))
    if verified is not None:
        at = pc.index_in(rows["cluster"], verified["cluster"].combine_chunks())
        for name in _COMPARISON:
            called = name if name == "verdict" else f"compared_{name}"
            table = table.append_column(called, verified[name].take(at))
    return with_colours(table, (_STATE, *(c for c in VERIFY_COLUMNS if c.name == "verdict")))


def differences(values: Sequence[object]) -> list[bool]:
    """Which values are unlike what more than half of those known are."""
    known = Counter(value for value in values if value is not None)
    if not known:
        return [False] * len(values)
    ((usual, n),) = known.most_common(1)
    if 2 * n <= known.total():
        return [False] * len(values)
    return [value is not None and value != usual for value in values]


def behind(rows: pa.Table) -> list[int | None]:
    """How many records each ends before the copy that ends last.

    None for one that is alone, and where epochs alone tell.
    """
    ends: dict[str, list[tuple[int, int]]] = {}
    found = rows.select(["cluster_id", "log_epoch", "log_end_offset"]).to_pylist()
    for cluster_id, *end in (row.values() for row in found):
        ends.setdefault(cluster_id, []).append(tuple(end))
    told = list[int | None]()
    for cluster_id, epoch, offset in (row.values() for row in found):
        known = [end for end in ends[cluster_id] if None not in end]
        if None in (cluster_id, epoch, offset) or len(known) < _COPIES:
            told.append(None)
            continue
        last = max(known)
        n_records = last[1] - offset
        told.append(n_records if n_records > 0 or last == (epoch, offset) else None)
    return told


def heading(table: pa.Table) -> str:
    """How many there are, and how they are."""
    states = Counter(table["state"].to_pylist())
    n = len(table)
    parts = [f"{n} director{'y' if n == 1 else 'ies'}"]
    # The number is of directories, not of the partitions, faults or brokers.
    words = {state: f"with {state}" for state, by in _WORST_FIRST.items() if by in _COUNTED}
    parts += [f"{states[s]} {words.get(s, s)}" for s in _WORST_FIRST if states[s]]
    clusters = {value for value in table["cluster_id"].to_pylist() if value is not None}
    if "behind" in table.column_names:
        parts.append(f"{pc.sum(pc.greater(table['behind'], 0)).as_py()} behind")
    parts.append(f"{len(clusters)} cluster{'' if len(clusters) == 1 else 's'}")
    return " · ".join(parts)


_COPIES: Final = 2
"""Directories of a cluster from which on they are compared."""


class FleetView(AnswerView[ViewAnswer]):
    """The view of a fleet."""

    HELP = (
        "# Fleet\n"
        "A row for each open directory as it is read, the worst first. Its state names the worst "
        "problem: offline "
        "partitions, faults, partitions under min ISR, under-replicated partitions or fenced "
        "brokers; `ok` is none of these. "
        "Health knows more problems. `behind` counts the records by which a copy ends before the "
        "log of its cluster that ends last. `differs_in` names the facts in which it "
        "differs from most others. For an unreadable directory, the reason stands below. "
        "Below a copy of a cluster stands whose copy wins a vote, as Health and `quorum --copies` "
        "say.\n\n"
        "- `enter` goes into the cluster\n"
        "- `C` compares the directories of each cluster, like `fleet --verify`: `equal` agrees up "
        "to the offset where states are compared, `diverged` and `differs` do not\n"
        "- `escape` stops the reading, `ctrl+r` reads all of them again"
    )
    ASKS = "reading directories"
    IS_AWAITED = False
    TABLES = ("fleet",)
    BINDINGS: ClassVar = [
        shown_key("C", "verify", "Check", "fleet.verify", "compare copies of a cluster"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: tuple[pa.Table, Collection[str]] | None = None
        """Rows of ``fleet``, as far as they have come, and the names of those that have not."""
        self.verified: pa.Table | None = None
        """Rows of ``fleet --verify``; None where it was not asked."""

    def on_mount(self) -> None:
        """Call the names below /clusters what they are: several can be of one cluster."""
        self.table.headers = {"cluster": "directory"}

    def show_view_state(self, view_state: ViewState) -> None:
        """Read the fleet once: who looks into a cluster, at whatever time, has not changed it."""
        before, self.view_state = self.view_state, view_state
        if before is None or before.fleet is not view_state.fleet:
            self.begin()

    def begin(self, *, is_silent: bool = False) -> None:
        """Read all directories; their names are there at once, for the keys that come next."""
        self.verified = None
        if self.rows is None:
            # It imports what reads coordinators' logs, which a metadata log alone does not need.
            from metashell.commands.fleet.answer import rows_table

            known = _names_of(self.view_state)
            self.take(rows_table(list(known.values())), frozenset(known))
        super().begin(is_silent=is_silent)

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Read all directories, and show the rows as they come."""
        from metashell.commands.fleet.answer import rows_table

        view_state, job = question.view_state, question.job
        known = _names_of(view_state)
        unread = set(known)

        def came(rows: Sequence[FleetRow]) -> None:
            known.update((str(row["name"]), row) for row in rows)
            unread.difference_update(str(row["name"]) for row in rows)
            job.tell(self.take, rows_table(list(known.values())), frozenset(unread))

        rows = _asked(view_state, job, came=came)
        job.tell(self.take, rows, ())
        return answer_of(rows, ())

    def take(self, rows: pa.Table, unread: Collection[str]) -> None:
        """Show rows as far as they have come, and the names of those that have not."""
        self.rows = rows, unread
        self.show(answer_of(rows, unread, self.verified))

    def action_verify(self) -> None:
        """Compare the directories of each cluster."""
        view_state = self.view_state
        if view_state is None or view_state.fleet is None:
            return

        def done(table: pa.Table) -> None:
            self.verified = table
            if self.rows is not None:
                self.take(*self.rows)

        self.explorer.jobs.start(
            "comparing directories of the same cluster",
            lambda job: _asked(view_state, job, "--verify"), done, owner=self, key="verify",
        )  # fmt: skip

    def slow_detail(self, name: str, row: Mapping[str, Any]) -> Callable[[Job], Content] | None:
        """The copies of the cluster compared, in words, where there are several."""
        view_state, cluster_id = self.view_state, row["cluster_id"]
        fleet = None if view_state is None else view_state.fleet
        table = self.tables_by_name[name].table
        if view_state is None or fleet is None or table is None or cluster_id is None:
            return None
        if table["cluster_id"].to_pylist().count(cluster_id) < _COPIES:
            return None
        of_one = _whole(view_state, fleet.of_cluster(cluster_id))

        def work(job: Job) -> Content:
            try:
                asked = ViewQuestion(of_one, job).rows("quorum", "--copies")
                condition, *told = asked.verdict
                return line(f"{condition} {'; '.join(told)}")
            except MetashellError as error:
                return line(error_message(error))

        return work

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go into the cluster."""
        if row["error"] is not None:
            self.explorer.tell(f"{row['cluster']}: {row['error']}", "warning")
        else:
            self.explorer.go(cluster_path(encode_name(row["cluster"])))

    @property
    def searched_path(self) -> str:
        """The root: no node of a cluster is looked at here."""
        return "/"

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows, and the verdicts."""
        found = super().tables()
        return found if self.verified is None else (*found, ("fleet-verify", self.verified))


def answer_of(
    rows: pa.Table, unread: Collection[str], verified: pa.Table | None = None
) -> ViewAnswer:
    """The content of the view."""
    table = fleet_table(rows, unread, verified)
    copies = _COPY_COLUMNS if "behind" in table.column_names else ()
    shown = ViewRows(table=table, first=tuple(dict.fromkeys((*copies, *FLEET_COLUMNS))))
    return ViewAnswer(title=heading(table), rows={"fleet": shown})


def _names_of(view_state: ViewState | None) -> dict[str, FleetRow]:
    """A row for each directory of a fleet, by its name, of which nothing is read yet."""
    assert view_state is not None
    assert view_state.fleet is not None
    return {
        name: {"name": name, "clusterId": member.cluster_id, "directory": None, "error": None}
        for name, member in view_state.fleet.members.items()
    }


def _asked(view_state: ViewState, job: Job, *words: str, came: Any = None) -> pa.Table:
    def tell(done: int, whole: int) -> None:
        job.progress = (done, whole)

    assert view_state.fleet is not None
    all_of_it = _whole(view_state, watched(view_state.fleet, tell, came))
    return ViewQuestion(all_of_it, job).rows("fleet", *words).table


def _whole(view_state: ViewState, fleet: FleetSource) -> ViewState:
    """A view state of all of a fleet."""
    return replace(view_state, opened=fleet, cluster=None, prefix="", previous=None)
