"""Several directories: a row for each as it is read, and whether copies of a cluster agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from metashell.commands.fleet.answer import rows_table
from metashell.errors import MetashellError
from metashell.fs.path import cluster_path, encode_name
from metashell.tui.frame.taking_focus import take_focus
from metashell.tui.rows.drawn import DrawnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.text import line, lines
from metashell.tui.view import Heading, View
from metashell.tui.view_state import ask
from metashell.tui.views.fleet_text import fleet_table, heading, watched

if TYPE_CHECKING:
    from metashell.sources.fleet.errors import FleetRow
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState

_NO_FLEET: Final = "One source is open: several directories are a fleet."
_ALL: Final = ("-o", "table", "--columns", "all")


class FleetTable(DrawnTable):
    """Directories."""

    BEGINS_FIRST: ClassVar = True
    HELP = (
        "## Directories\n"
        "A row for each directory, the worst first. Its state names the worst problem: offline "
        "partitions, faults, partitions under min ISR, under-replicated partitions or fenced "
        "brokers; `ok` is none of these. "
        "Health knows more problems. `differs_in` names the facts in which it differs from most "
        "others. For an unreadable directory, the reason stands below.\n\n"
        "- `enter` goes into the cluster\n"
        "- `v` compares the directories of each cluster, like `fleet --verify`; a copy that does "
        "not agree is `diverged` or `differs`\n"
        "- `u` reads all of them again\n"
        "- `s` sorts by the column of the cursor, `/` filters, `x` exports"
    )


class FleetView(View):
    """The view of a fleet."""

    HELP = (
        "# Fleet\n"
        "Every open directory. Rows appear as they are read. `escape` stops the reading, and "
        "`u` starts it again."
    )
    BINDINGS: ClassVar = [
        Binding("v", "verify", "Verify", id="fleet.verify", tooltip="compare copies of a cluster"),
        Binding("u", "update", "Update", id="fleet.update"),
    ]
    DEFAULT_CSS = """
    FleetView #fleet-about {
        height: auto; max-height: 7; padding: 0 1; border-top: solid $primary;
    }
    FleetView.-low #fleet-about { max-height: 1; border-top: none; }
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rows: pa.Table | None = None
        """Rows of ``fleet``, as far as they have come."""
        self.verified: pa.Table | None = None
        """Rows of ``fleet --verify``; None where it was not asked."""
        self.unread: set[str] = set()
        """Names of directories whose rows have not come."""
        self._view_state: ViewState | None = None
        self._asked: object = None

    def compose(self) -> ComposeResult:
        """The title, the rows, and what the cursor is on."""
        yield Heading(id="fleet-title")
        yield FleetTable(id="fleet-rows")
        yield Static("", id="fleet-about", markup=False)

    @property
    def _table(self) -> FleetTable:
        return self.query_one(FleetTable)

    # Showing a view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show another view state."""
        self._view_state = view_state
        fleet = view_state.fleet
        if fleet is None:
            self.query_one("#fleet-title", Heading).update(_NO_FLEET)
            return
        # Who looks into a cluster, at whatever time, has not changed the fleet.
        if fleet is not self._asked:
            self._asked = fleet
            self._read()

    def action_update(self) -> None:
        """Read all directories again."""
        self._read()

    def _read(self) -> None:
        """Have all rows computed, and show them as they come."""
        view_state = self._view_state
        fleet = None if view_state is None else view_state.fleet
        if view_state is None or fleet is None:
            return
        known: dict[str, FleetRow] = {
            name: {"name": name, "clusterId": member.cluster_id, "directory": None, "error": None}
            for name, member in fleet.members.items()
        }
        unread = set(known)
        self.verified = None
        if self.rows is None:
            self._show(rows_table(list(known.values())), unread)
            take_focus(self)

        def work(job: Job) -> pa.Table:
            def tell(done: int, whole: int) -> None:
                job.progress = (done, whole)

            def came(rows: Sequence[FleetRow]) -> None:
                known.update((str(row["name"]), row) for row in rows)
                unread.difference_update(str(row["name"]) for row in rows)
                job.tell(self._show, rows_table(list(known.values())), set(unread))

            watching = watched(fleet, tell, came)
            answer = ask(
                replace(view_state, opened=watching), ("fleet", *_ALL), cancelled=job.cancelled
            )
            if answer.table is None:
                raise MetashellError("; ".join(answer.warnings) or "the fleet has no answer")
            return answer.table

        title = f"reading {len(known)} directories"
        self.explorer.jobs.start(
            title, work, lambda table: self._show(table, set()), owner=self, key="rows"
        )

    def _show(self, rows: pa.Table, unread: set[str]) -> None:
        self.rows, self.unread = rows, unread
        verified = self.verified
        verdicts = None
        if verified is not None:
            names, words = verified["cluster"].to_pylist(), verified["verdict"].to_pylist()
            verdicts = dict(zip(names, words, strict=True))
        table = fleet_table(rows, unread, verdicts)
        self._table.show(table)
        self.query_one("#fleet-title", Heading).update(line(heading(table)))
        self._about()

    def action_verify(self) -> None:
        """Compare the directories of each cluster."""
        view_state = self._view_state
        fleet = None if view_state is None else view_state.fleet
        if view_state is None or fleet is None:
            return

        def work(job: Job) -> pa.Table:
            def tell(done: int, whole: int) -> None:
                job.progress = (done, whole)

            watching = watched(fleet, tell)
            words = ("fleet", "--verify", *_ALL)
            answer = ask(replace(view_state, opened=watching), words, cancelled=job.cancelled)
            if answer.table is None:
                raise MetashellError("; ".join(answer.warnings) or "the fleet has no answer")
            return answer.table

        title = "comparing directories of the same cluster"
        self.explorer.jobs.start(title, work, self._verified, owner=self, key="verify")

    def _verified(self, table: pa.Table) -> None:
        self.verified = table
        if self.rows is not None:
            self._show(self.rows, self.unread)

    def _about(self) -> None:
        """Say of the directory under the cursor what its row has no room for."""
        texts, row = self._table.texts(), self._table.row
        told: list[str] = []
        if row is not None:
            told.append(f"{texts['cluster']} · {texts['state']} · cluster {texts['cluster_id']}")
            told += [
                f"{what}: {texts[name]}"
                for name, what in (("error", "can't be read"), ("fault", "first fault"))
                if row[name] is not None
            ]
            if row.get("differs_in"):
                told.append(f"unlike most: {texts['differs_in'].replace(',', ', ')}")
            told += self._compared()
            # The longest comes last: there may be no room for all.
            told += [] if row["directory"] is None else [f"directory: {texts['directory']}"]
        self.query_one("#fleet-about", Static).update(lines("\n".join(told)))

    def _compared(self) -> list[str]:
        row = self._table.row
        if self.verified is None or row is None:
            return []
        names = self.verified["cluster"].to_pylist()
        if row["cluster"] not in names:
            return []
        (found,) = self.verified.slice(names.index(row["cluster"]), 1).to_pylist()
        offset = found["offset"]
        parts = [
            "not compared" if offset is None else f"compared at offset {offset}: {found['verdict']}"
        ]
        if found["diverged_at"] is not None:
            epochs = " and ".join(
                "?" if found[name] is None else str(found[name])
                for name in ("epoch", "other_epoch")
            )
            parts.append(f"leaves the others at offset {found['diverged_at']}: epochs {epochs}")
        if found["checksum"]:
            parts.append(f"checksum {found['checksum']}")
        # Why it can't be read was said before.
        if found["error"] and row["error"] is None:
            parts.append(found["error"])
        return [" · ".join(parts).replace("\n", " ")]

    # The user's actions.

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Tell what the cursor is on; the cluster is not opened for that."""
        event.stop()
        self._about()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go into the cluster."""
        event.stop()
        if event.row["error"] is not None:
            self.explorer.tell(f"{event.row['cluster']}: {event.row['error']}", "warning")
        else:
            self.explorer.go(cluster_path(encode_name(event.row["cluster"])))

    @property
    def searched_path(self) -> str:
        """The root: no node of a cluster is looked at here."""
        return "/"

    def filter_by(self, text: str) -> None:
        """Filter the rows."""
        self._table.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """The filter."""
        return None if self.rows is None else self._table.filter_text

    def focus_content(self) -> None:
        """Focus the rows."""
        self._table.focus()

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows, and the verdicts."""
        found = [("fleet", self._table.taken), ("fleet-verify", self.verified)]
        return [(name, table) for name, table in found if table is not None]

    def copyable(self) -> tuple[str, str] | None:
        """The row."""
        text = self._table.row_text_of()
        return None if text is None else ("directory", text)
