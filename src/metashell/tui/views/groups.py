"""Groups and transactions: what needs attention first; a group's members, offsets and commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.timer import Timer
from textual.widgets import Static

from metashell.errors import MetashellError
from metashell.fs.path import encode_path
from metashell.tui.error_text import error_text
from metashell.tui.frame.taking_focus import take_focus
from metashell.tui.rows.drawn import DrawnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.text import line, lines
from metashell.tui.view import Heading, View
from metashell.tui.views.commit_line import CommitLine, find_commits
from metashell.tui.views.group_rows import (
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    NO_LAG_EARLIER,
    NOTHING,
    OFFSET_COLUMNS,
    TRANSACTION_COLUMNS,
    Extra,
    GroupRows,
    OneGroup,
    find_extra,
    find_group,
    find_groups,
)
from metashell.tui.views.group_tables import (
    GroupTable,
    MemberTable,
    OffsetTable,
    TransactionTable,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState

_NO_CLUSTER: Final = "A fleet is open: go into one of /clusters to see its groups."
_PAUSE_S: Final = 0.2
"""How long the cursor rests before the history of an offset is read."""
_LISTS: Final = "#groups-groups, #groups-heading, #groups-transactions"
_GROUP: Final = "#groups-members, #groups-offsets, #groups-history"


class GroupsView(View):
    """The view of groups."""

    HELP = (
        "# Groups\n"
        "Groups and transactions, from the coordinators' logs in a broker's log directories. "
        "`enter` on a group shows its members, its offsets and their history."
    )
    BINDINGS: ClassVar = [
        Binding("backspace", "back", "Groups", id="groups.back", tooltip="go back to all groups"),
        Binding(
            "i",
            "copy_command",
            "Copy command",
            id="groups.copy",
            tooltip="copy the command that ends the transaction",
        ),
        Binding(
            "r",
            "refresh_rows",
            "Refresh",
            show=False,
            id="groups.refresh",
            tooltip="look at the logs again",
        ),
    ]
    DEFAULT_CSS = """
    GroupsView #groups-transactions { height: 40%; }
    GroupsView #groups-members { height: auto; max-height: 35%; }
    GroupsView #groups-about, GroupsView #groups-notes {
        height: auto; max-height: 2; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    GroupsView #groups-notes { color: $text-warning; }
    GroupsView #groups-history { height: 3; padding: 0 1; border-top: solid $primary; }
    GroupsView.-low #groups-history { height: 2; border-top: none; }
    GroupsView.-low #groups-about, GroupsView.-low #groups-notes { max-height: 0; }
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.found: GroupRows | None = None
        """The shown rows; None before the first answer."""
        self.group: OneGroup | None = None
        """The group that is looked into; None for all."""
        self.commits: CommitLine | None = None
        """The history of the offset under the cursor; None while it is read."""
        self._view_state: ViewState | None = None
        self._asked: Job | None = None
        self._is_stale = False
        self._at_hand: DrawnTable | None = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """All groups and transactions, or one group."""
        yield Heading(id="groups-title")
        yield Static("", id="groups-notes", markup=False)
        yield GroupTable(id="groups-groups")
        yield Heading(id="groups-heading")
        yield TransactionTable(id="groups-transactions")
        yield Static("", id="groups-about", markup=False)
        yield MemberTable(id="groups-members")
        yield OffsetTable(id="groups-offsets")
        yield Static("", id="groups-history", markup=False)

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self._arrange()

    @property
    def _groups(self) -> GroupTable:
        return self.query_one(GroupTable)

    @property
    def _transactions(self) -> TransactionTable:
        return self.query_one(TransactionTable)

    @property
    def _members(self) -> MemberTable:
        return self.query_one(MemberTable)

    @property
    def _offsets(self) -> OffsetTable:
        return self.query_one(OffsetTable)

    @property
    def table(self) -> DrawnTable:
        """The table that is looked at."""
        if self._at_hand is not None and self._at_hand.display:
            return self._at_hand
        if self.group is not None:
            return self._offsets
        return self._groups if self._groups.display else self._transactions

    # Showing a view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Look at another view state. News wait for the answer that is on its way."""
        before, self._view_state = self._view_state, view_state
        if before is not None and before.prefix != view_state.prefix:
            self.found = self.group = self.commits = None
        if view_state.cluster is None:
            self.found = self.group = None
            self._arrange()
            self._say(view_state.problem or _NO_CLUSTER)
            return
        is_running = self.explorer.jobs.goes_on(self._asked)
        if is_running and before is not None and before.is_newest and view_state.is_newest:
            self._is_stale = True
            return
        self._ask()

    def action_refresh_rows(self) -> None:
        """Read the logs again."""
        self._ask()

    def _ask(self) -> None:
        view_state = self._view_state
        if view_state is None or view_state.cluster is None:
            return
        if self.found is None:
            self._say("reading groups and transactions… escape cancels, r reads again")
        # Values known before stay until they are known anew.
        known = self.found.extra if self.found is not None and view_state.is_newest else NOTHING
        self._is_stale = False
        self.explorer.jobs.cancel(self, "extra")
        self._asked = self.explorer.jobs.start(
            "reading groups and transactions",
            lambda job: find_groups(view_state, job.cancelled).with_extra(known),
            lambda found: self._show(view_state, found),
            owner=self,
            key="groups",
            failed=self._failed,
            is_awaited=self.found is None,
        )

    def _failed(self, error: MetashellError) -> None:
        self.found = self.group = None
        self._arrange()
        self._say(error_text(error))

    def _show(self, view_state: ViewState, found: GroupRows) -> None:
        """Show groups and transactions, and begin to look for what takes longer."""
        is_first, self.found = self.found is None, found
        self._draw()
        if is_first:
            take_focus(self)
        if self.group is not None:
            self._open(self.group.group, self.group.row)
        if self._is_stale:
            self._ask()
        elif view_state.is_newest:
            self._read_on(view_state, found)

    def _read_on(self, view_state: ViewState, found: GroupRows) -> None:
        """Look at the logs of partitions in the background."""

        def work(job: Job) -> GroupRows:
            def tell(extra: Extra) -> None:
                job.tell(self._more, found.with_extra(extra))

            return found.with_extra(find_extra(view_state, job.cancelled, tell, found.extra))

        self.explorer.jobs.start(
            "looking at the logs of partitions", work, self._more, owner=self, key="extra",
            comes_last=True,
        )  # fmt: skip

    def _more(self, found: GroupRows) -> None:
        self.found = found
        self._draw()
        if self.group is not None and not self.group.has_lag and found.extra.offsets is not None:
            self._open(self.group.group, self.group.row)

    def _draw(self) -> None:
        """Show all groups and transactions."""
        found = self.found
        if found is None:
            return
        table: DrawnTable
        groups, transactions = found.group_table, found.transaction_table
        if groups is not None:
            table = self._groups
            table.show(groups[0], groups[1], first=GROUP_COLUMNS, afresh=_is_untouched(table))
        if transactions is not None:
            table = self._transactions
            table.show(transactions, first=TRANSACTION_COLUMNS, afresh=_is_untouched(table))
        self._arrange()

    def _arrange(self) -> None:
        """Show the tables that are wanted, and what stands above them."""
        found, group = self.found, self.group
        had_focus = isinstance(self.explorer.focused, DrawnTable) and self.has_focus_within
        for widget in self.query(_LISTS):
            widget.display = found is not None and group is None
        for widget in self.query(_GROUP):
            widget.display = group is not None
        self._members.display = group is not None and bool(len(group.members))
        if found is not None and group is None:
            self._groups.display = found.group_table is not None
            self._transactions.display = found.transaction_table is not None
            self._say(found.heading)
            heading = f"Transactions: {found.transaction_heading}"
            self.query_one("#groups-heading", Heading).update(line(heading))
        notes: Sequence[str] = ()
        if group is not None:
            self._say(_title(group))
            notes = group.told
        elif found is not None:
            is_newest = self._view_state is None or self._view_state.is_newest
            notes = (*found.told, *(found.extra.told if is_newest else (NO_LAG_EARLIER,)))
        shown = self.query_one("#groups-notes", Static)
        shown.display = bool(notes)
        shown.update(lines("\n".join(notes)))
        if had_focus and not self.explorer.focused.display:  # type: ignore[union-attr]
            self.table.focus()
        self._about()

    def _say(self, text: str) -> None:
        self.query_one("#groups-title", Heading).update(line(text))

    # One group.

    def _open(self, group: str, row: dict[str, Any]) -> None:
        view_state = self._view_state
        if view_state is None:
            return
        is_other = self.group is None or self.group.group != group
        known = None if self.found is None else self.found.extra.offsets

        def done(found: OneGroup) -> None:
            self.group = found
            for table, rows, first in (
                (self._members, found.members, MEMBER_COLUMNS),
                (self._offsets, found.offsets, OFFSET_COLUMNS),
            ):
                names = [name for name in rows.column_names if name != "group"]
                table.show(rows.select(names), first=first, afresh=is_other)
            self._at_hand = None if is_other else self._at_hand
            self._arrange()
            if is_other and self.explorer.view is self:
                self._offsets.focus()
            self._begin_history()

        self.explorer.jobs.start(
            f"opening {group}",
            lambda job: find_group(view_state, group, row, known, job.cancelled),
            done, owner=self, key="group", leads=is_other,
        )  # fmt: skip

    def action_back(self) -> None:
        """Show all groups again."""
        if self.group is None:
            return
        for key in ("group", "history"):
            self.explorer.jobs.cancel(self, key)
        if self._timer is not None:
            self._timer.stop()
        self.group = self.commits = self._at_hand = None
        self._arrange()
        self.table.focus()

    def leave(self) -> bool:
        """Go back from a group; whether one was shown."""
        is_open = self.group is not None
        self.action_back()
        return is_open

    def _begin_history(self) -> None:
        """Have the history of the offset under the cursor read, once the cursor rests."""
        if self._timer is not None:
            self._timer.stop()
        row, group, view_state = self._offsets.row, self.group, self._view_state
        shown = self.query_one("#groups-history", Static)
        if row is None or group is None or view_state is None or view_state.cluster is None:
            self.commits = None
            shown.update(line("" if group is None else "no committed offset"))
            return
        known = self.commits
        wanted = (group.group, row["topic"], row["partition"])
        if known is None or (known.group, known.topic, known.partition) != wanted:
            self.commits = None
            shown.update(line(f"{wanted[1]}-{wanted[2]}: …"))
        source, name = view_state.cluster, f"{wanted[1]}-{wanted[2]}"

        def begin() -> None:
            self.explorer.jobs.start(
                f"reading commits of {name}",
                lambda job: find_commits(source, *wanted, job.cancelled),
                self._show_history,
                owner=self,
                key="history",
            )

        self._timer = self.set_timer(_PAUSE_S, begin)

    def _show_history(self, commits: CommitLine) -> None:
        self.commits = commits
        self._draw_history()

    def _draw_history(self) -> None:
        commits = self.commits
        if commits is None:
            return
        drawn = commits.drawn(max(self.size.width - 2, 1))
        name = f"{commits.topic}-{commits.partition}"
        self.query_one("#groups-history", Static).update(
            lines(f"{drawn}\n{name}: {commits.text()}" if drawn else f"{name}: {commits.text()}")
        )

    def on_resize(self, event: events.Resize) -> None:
        """Draw the line as wide as there is room."""
        self._draw_history()

    # The user's actions.

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Tell what the cursor is on."""
        event.stop()
        if event.table is self._offsets and self.group is not None:
            self._begin_history()
        self._about()

    def _about(self) -> None:
        """Say of a hanging transaction what ends it."""
        row = self._transactions.row
        is_looked_at = self.table is self._transactions
        text = str(row["command"]) if is_looked_at and row is not None and row["command"] else ""
        about = self.query_one("#groups-about", Static)
        about.display = bool(text) and self.group is None
        about.update(line(text))
        self.refresh_bindings()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Open the group, or go to the node of the row."""
        event.stop()
        row = event.row
        if event.table is self._groups:
            self._open(row["group"], row)
            return
        path = self._path(event.table, row)
        if path is None:
            self.explorer.tell("this row has no node")
        else:
            self.explorer.go(path)

    def _path(self, table: RowTable, row: dict[str, Any]) -> str | None:
        """The node that a row is about, in the whole tree."""
        view_state, group = self._view_state, self.group
        if view_state is None:
            return None
        names: tuple[str, ...]
        if table is self._transactions:
            if row["hanging"] is not None and view_state.has_image:
                names = ("image", "topics", "byName", row["topic"], str(row["topic_partition"]))
            elif row["transactional_id"] is not None:
                names = ("transactions", row["transactional_id"])
            else:
                return None
        elif group is None:
            return None
        elif table is self._members:
            names = ("groups", group.group, "members", row["member"])
        else:
            names = ("groups", group.group, "offsets", row["topic"], str(row["partition"]))
        return view_state.prefix + encode_path(names)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what there is for what is seen."""
        if action == "back":
            return self.group is not None
        if action == "copy_command":
            row = self._transactions.row if self.table is self._transactions else None
            return row is not None and bool(row["command"])
        return True

    def action_copy_command(self) -> None:
        """Copy the command that ends the hanging transaction under the cursor."""
        row = self._transactions.row
        if row is not None and row["command"]:
            self.explorer.copy(str(row["command"]), "command")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Note which table is looked at; the focus also moves where a view goes out of sight."""
        if isinstance(event.widget, DrawnTable) and self.explorer.view is self:
            self._at_hand = event.widget
            self._about()

    # The interface of a view.

    def filter_by(self, text: str) -> None:
        """Filter the table that is looked at."""
        self.table.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """Its filter."""
        return None if self.found is None else self.table.filter_text

    def focus_content(self) -> None:
        """Focus the table that was looked at."""
        if self.found is not None:
            self.table.focus()

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The tables that are seen, the one looked at first."""
        named = {
            "groups": self._groups,
            "transactions": self._transactions,
            "members": self._members,
            "offsets": self._offsets,
        }
        seen = sorted(named.items(), key=lambda item: item[1] is not self.table)
        taken = [(name, table.taken) for name, table in seen if table.display]
        return [(name, table) for name, table in taken if table is not None]

    def copyable(self) -> tuple[str, str] | None:
        """The row."""
        text = None if self.found is None else self.table.row_text_of()
        return None if text is None else ("row", text)


def _is_untouched(table: DrawnTable) -> bool:
    """Whether the cursor is where it was put: what comes first later is then seen."""
    return table.cursor_row == 0 and not table.filter_text and table.sorted_by is None


def _title(group: OneGroup) -> str:
    """A group in a line."""
    row = group.row
    parts = [group.group, str(row["type"]), str(row["state"])]
    parts += [str(row["attention"])] if row.get("attention") else []
    for n, what in ((len(group.members), "member"), (len(group.offsets), "offset")):
        parts.append(f"{n:,} {what}{'s' * (n != 1)}")
    if group.lag is not None:
        parts.append(f"lag {group.lag:,}")
    return " · ".join(parts)
