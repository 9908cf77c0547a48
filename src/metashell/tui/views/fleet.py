"""Several directories: a row for each as it is read, and whether copies of a cluster agree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
from textual.content import Content

from metashell.errors import MetashellError
from metashell.fs.path import cluster_path, encode_name
from metashell.tui.part import shown_key
from metashell.tui.text import lines
from metashell.tui.view_state import ask
from metashell.tui.views.answer import REFRESH, AnswerView
from metashell.tui.views.fleet_text import (
    FLEET_COLUMNS,
    copies_words,
    fleet_table,
    heading,
    watched,
)
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.sources.fleet.errors import FleetRow
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState


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
        "Health knows more problems. `differs_in` names the facts in which it differs from most "
        "others. For an unreadable directory, the reason stands below. Below a copy of a cluster "
        "stands which copy would win a vote, and which is behind, by how many records.\n\n"
        "- `enter` goes into the cluster\n"
        "- `v` compares the directories of each cluster, like `fleet --verify`; a copy that does "
        "not agree is `diverged` or `differs`\n"
        "- `escape` stops the reading, `r` reads all of them again"
    )
    ASKS = "reading directories"
    IS_AWAITED = False
    TABLES = ("fleet",)
    BINDINGS: ClassVar = [
        shown_key("v", "verify", "Verify", "fleet.verify", "compare copies of a cluster"),
        REFRESH,
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
            self.take(*self._known())
        super().begin(is_silent=is_silent)

    def _known(self) -> tuple[pa.Table, Collection[str]]:
        """A row for each directory, and the names of those to be read: all."""
        # It imports what reads coordinators' logs, which a metadata log alone does not need.
        from metashell.commands.fleet.answer import rows_table

        known = _names_of(self.view_state)
        return rows_table(list(known.values())), frozenset(known)

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
        of_one = replace(view_state, opened=fleet.of_cluster(cluster_id))

        def work(job: Job) -> Content:
            line = ("quorum", "--copies", "-o", "table", "--columns", "all")
            answer = ask(of_one, line, cancelled=job.cancelled)
            if answer.table is None:
                return lines("\n".join(answer.warnings))
            return lines(copies_words(answer.table.to_pylist()))

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
    shown = ViewRows(table=table, first=FLEET_COLUMNS)
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
    watching = replace(view_state, opened=watched(view_state.fleet, tell, came))
    line = ("fleet", *words, "-o", "table", "--columns", "all")
    answer = ask(watching, line, cancelled=job.cancelled)
    if answer.table is None:
        raise MetashellError("; ".join(answer.warnings) or "the fleet has no answer")
    return answer.table
