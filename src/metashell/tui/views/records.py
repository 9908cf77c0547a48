"""The stream of records: the log itself, filtered, with the details of one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widgets import Static

from metashell.records.window import PieceMatches, RecordLine
from metashell.tui.jobs import Job
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.records.detail import RecordDetail, RecordPane, record_detail
from metashell.tui.records.filtered import FilteredRecords
from metashell.tui.records.model import Gap
from metashell.tui.records.reading import (
    Opened,
    around,
    find_next,
    lines_of,
    look_through,
    open_log,
    rows_table,
)
from metashell.tui.records.stream import RecordList
from metashell.tui.text import say

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState

_WIDE: Final = 120
"""From this width on the details are beside the list."""
_FAR: Final = 1 << 62


class RecordsView(FilteredRecords):
    """The view."""

    HELP = RecordList.HELP
    lists_records = True
    BINDINGS: ClassVar = [
        shown_key("v", "details", "Value", "records.details", "show the record, or hide it"),
        shown_key("n", "next(1)", "Next like it", "records.next"),
        quiet_key("N", "next(-1)", "Previous like it", "records.previous"),
        shown_key("m", "as_of", "Its moment", "records.as-of", "show the cluster as of the record"),
    ]
    DEFAULT_CSS = """
    RecordsView #records-body { layout: vertical; height: 1fr; }
    RecordsView #records-main { width: 1fr; height: 2fr; min-height: 4; }
    RecordsView #records-pane { width: 1fr; height: 1fr; min-height: 5; }
    RecordsView.-low #records-pane { display: none; min-height: 2; }
    RecordsView.-wide #records-body { layout: horizontal; }
    RecordsView.-wide #records-main { height: 1fr; }
    RecordsView.-wide #records-pane { height: 1fr; }
    RecordsView #records-head { layout: horizontal; height: 1; }
    RecordsView #records-columns { width: 1fr; height: 1; color: $text-muted; text-wrap: nowrap; }
    RecordsView #records-count { width: auto; height: 1; text-wrap: nowrap; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.records = RecordList(self.model, id="records-list")
        """The list."""
        self.pane = RecordPane(id="records-pane")
        """The details."""
        self._count = Static(id="records-count", markup=False)
        self._columns = Static(id="records-columns", markup=False)
        self._prefix = ""
        self._was_newest = True
        self._seen: int | None = None
        """The last offset that was there while the cursor was on the last row."""
        self._scan: Job | None = None
        self._then: Callable[[RecordDetail], object] | None = None
        """The action for the record under the cursor, once its details are there."""

    def compose(self) -> ComposeResult:
        """Chips, list and details."""
        yield self.bar
        with Container(id="records-body"):
            with Vertical(id="records-main"):
                with Container(id="records-head"):
                    yield self._columns
                    yield self._count
                yield self.records
            yield self.pane

    def on_resize(self, event: events.Resize) -> None:
        """Put the details below or beside the list."""
        is_wide = event.size.width >= _WIDE
        self.set_class(is_wide, "-wide")
        self.pane.fit(event.size.width, is_beside=is_wide)

    def focus_content(self) -> None:
        """Focus the list."""
        self.records.focus()

    def show_offset(self, offset: int) -> None:
        """Put the cursor on the record at an offset."""
        if self.is_composed:
            self.records.go_to(offset)

    def follow(self) -> None:
        """Put the cursor on the newest record, and keep it there."""
        if self.is_composed:
            self.records.follow()

    # The log.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show the log up to where the view state stands."""
        cluster = view_state.cluster
        if cluster is None:
            self._drop(view_state.why_no_cluster)
            return
        is_other = view_state.prefix != self._prefix or self.reader is None
        self._prefix = view_state.prefix
        if self.screen.focused is None:
            self.records.focus()
        if cluster.newest is self._newest and not is_other:
            self._up_to(cluster.moment_offset, self._end())
            return
        newest, limit = cluster.newest, cluster.moment_offset
        earlier, chips = None if is_other else self.reader, tuple(self.chips)

        def work(job: Job) -> Opened:
            return open_log(job, newest, earlier, chips)

        def done(opened: Opened) -> None:
            end = self._end()
            self._newest = newest
            if is_other:
                self.records.forget()
                self._was_newest, self._seen = limit is None, None
            self.reader, self.wanted = opened.reader, opened.wanted
            self.refresh_bindings()  # now there is something to export
            if is_other or self.records.pattern != opened.wanted.grep:
                self.records.search(opened.wanted.grep)
            self.model.plan(opened.reader.pieces, opened.wanted, anew=is_other)
            self.model.take(opened.found)
            self._up_to(limit, end)
            self._look(leads=is_other)
            if chips != tuple(self.chips):  # they came meanwhile
                self._refilter(self.chips)

        self._start("plan", "looking at the log's files", work, done, leads=is_other)

    def _drop(self, why: str) -> None:
        """Show no log."""
        self.reader = self._newest = None
        self.refresh_bindings()
        self.model.plan((), self.wanted, anew=True)
        self.records.forget()
        self.records.reshape()
        self.pane.tell(why)

    def _up_to(self, limit: int | None, end: int | None) -> None:
        """Show the records up to an offset; `end` is the last one that was there before."""
        records = self.records
        is_newest = limit is None
        if is_newest and not records.follows and self._was_newest and self._seen is None:
            self._seen = end
        self._was_newest = is_newest
        self.model.limit = limit
        records.reshape()

    def _end(self) -> int | None:
        """The last offset of the rows."""
        last = self.model.at(len(self.model) - 1) if len(self.model) else None
        return last.last if isinstance(last, Gap) else last

    def _look(self, *, leads: bool = False) -> None:
        """Look through what nobody has looked through yet.

        Args:
            leads: Whether keys wait for the first of it.
        """
        reader, wanted, waiting = self.reader, self.wanted, self.model.waiting
        if reader is None or not waiting:
            if self._scan is not None:
                self._scan.cancel()
            self._tell_count()
            return
        records, model = self.records, self.model

        def aim() -> int:
            """The offset that is looked at: what is there is looked through first."""
            limit = _FAR if model.limit is None else model.limit
            return limit if records.follows or records.kept is None else records.kept

        def work(job: Job) -> None:
            look_through(job, reader, wanted, waiting, aim, self._found)

        self._scan = self._start(
            "scan", "looking through the log", work, lambda _: self._looked(), leads=leads
        )

    def _found(self, found: list[PieceMatches]) -> None:
        self.model.take(found)
        self.records.reshape()
        self._looked()

    def _looked(self) -> None:
        """Go on with what waits for the record of the cursor, if it is known by now."""
        if self._scan is not None:
            is_led = self._scan.leads and self.records.is_near_gap
            is_known = isinstance(self.records.here, int)
            self._scan.leads = is_led or (self._then is not None and not is_known)
        self._detail()

    def _show_matches(self, *, leads: bool) -> None:
        """Show what is wanted now, in place of what was before."""
        assert self.reader is not None
        self.model.plan(self.reader.pieces, self.wanted, anew=True)
        self._seen = None
        self.records.search(self.wanted.grep)
        self.records.reshape()
        self._look(leads=leads)

    # The list.

    def _fetch(self) -> None:
        reader, missing = self.reader, self.records.missing()
        if reader is None or missing is None or self._goes_on("fetch"):
            return
        rows = self.model.rows(*missing)

        def done(lines: list[RecordLine]) -> None:
            if reader is self.reader:
                self.records.take(lines)
            self._tell_count()
            self._fetch()

        self._start("fetch", "reading records", lambda job: lines_of(job, reader, rows), done)

    def on_record_list_changed(self, event: RecordList.Changed) -> None:
        """Fetch the lines that can be seen, and the details of the record of the cursor."""
        event.stop()
        if self.records.follows:
            self._seen = None
        self._tell_count()
        self._fetch()
        self._detail()

    def on_record_list_chosen(self, event: RecordList.Chosen) -> None:
        """Go to the node that the record is about; on a gap, look through it."""
        event.stop()
        here = self.records.here
        if isinstance(here, Gap) and not self._goes_on("scan"):
            self._look()
            return
        self._with_detail(self._go_to_node)

    def _go_to_node(self, detail: RecordDetail) -> None:
        if detail.target is None:
            self.explorer.tell(f"{detail.type} has no node")
            return
        path = self._prefix + detail.target.path
        self.explorer.go(path, offset=detail.target.offset)
        if detail.target.offset == detail.span[1]:
            self.explorer.tell_batch(detail.offset, detail.span)

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the path of the node that the record is about."""

        def with_target(detail: RecordDetail) -> None:
            if detail.target is None:
                self.explorer.tell(f"{detail.type} has no node")
            else:
                then(self._prefix + detail.target.path)

        if self.records.here is None:
            super().with_node(then)
        else:
            self._with_detail(with_target)

    @property
    def detail(self) -> RecordDetail | None:
        """The record of the cursor, where it was looked at."""
        detail = self.pane.detail
        return detail if detail is not None and detail.offset == self.records.here else None

    def _detail(self) -> None:
        """Look at the record of the cursor, then do what waits for that."""
        here, reader, detail = self.records.here, self.reader, self.detail
        if detail is not None:
            then, self._then = self._then, None
            if then is not None:
                then(detail)
            return
        if reader is None:
            return
        if not isinstance(here, int):
            self.pane.tell("" if here is None else "not looked through yet: enter does")
            return
        piece = self.model.piece_of(here)
        if piece is None or self._goes_on("detail"):
            return

        def done(found: RecordDetail | None) -> None:
            if found is not None:
                self.pane.show_record(found)
            if found is None and here == self.records.here:
                self._then = None
            else:
                self._detail()

        self._start("detail", f"reading record {here}",
                    lambda _: record_detail(reader, piece, here), done,
                    leads=self._then is not None)  # fmt: skip

    def _with_detail(self, then: Callable[[RecordDetail], object]) -> None:
        """Do something with the record of the cursor, as soon as it was looked at."""
        self._then = None if self.records.here is None else then
        self._detail()
        self.explorer.jobs.lead(self, "detail", "scan")

    def _tell_count(self) -> None:
        model, records = self.model, self.records
        self.bar.refresh()
        parts = [f"{model.n_records:,} record{'' if model.n_records == 1 else 's'}"]
        if not model.is_complete:
            parts[0] += " so far"
        if model.n_hidden:
            parts.append(f"{model.n_hidden:,} NoOps hidden")
        if model.n_faults:
            parts.append(f"⚠ {model.n_faults} unreadable")
        if self.n_new:
            parts.append(f"▼ {self.n_new:,} new")
        drop = self.explorer.session.key("records.clear", "delete")
        next_step = (f"{drop} drops the filters",) if self.chips else ()
        what = "no record matches" if self.chips else "no record"
        records.empty = self._not_found(what, *next_step)
        header = records.header()
        # The less important texts give way to the names of the columns.
        room = self.records.size.width - len(header.rstrip()) - 2
        for needless in (1 if model.n_hidden else None, 0):
            if needless is not None and len(" · ".join(parts)) > room > 0:
                del parts[needless]
        self._count.display = bool(parts)
        say(self._count, " · ".join(parts), sets_width=True)
        say(self._columns, header)

    def _not_found(self, what: str, *next_steps: str) -> str:
        """Say that no record was found, up to which offset, and the next steps.

        Args:
            what: The kind of thing that was not found.
            next_steps: Other keys that help.
        """
        limit = self.model.limit
        if limit is not None:
            newest = self.explorer.session.key("time.end", "E")
            what = f"{what} up to offset {limit}"
            next_steps = (f"{newest} shows the rest", *next_steps)
        return f"{what}: {', '.join(next_steps)}" if next_steps else what

    @property
    def n_new(self) -> int:
        """How many records came since the cursor left the last one."""
        return 0 if self._seen is None else self.model.first_behind(self._seen)

    # Other actions.

    def action_details(self) -> None:
        """Show or hide the details."""
        self.pane.display = not self.pane.display
        if not self.pane.display:
            self.records.focus()

    def action_next(self, by: int) -> None:
        """Go to the next record (1) or the previous one (-1) like the one of the cursor."""
        self._with_detail(lambda like: self._go_to_next(like, by))

    def _go_to_next(self, like: RecordDetail, by: int) -> None:
        reader = self.reader
        if reader is None:
            return
        wanted, pieces, limit = self.wanted, self.model.pieces, self.model.limit
        what = f"record of type {like.type}" if like.topic is None else f"record of {like.topic}"

        def done(offset: int | None) -> None:
            if offset is None:
                later = self._not_found(f"no later {what}")
                self.explorer.tell(later if by > 0 else f"no earlier {what}")
            else:
                self.records.go_to(offset)

        self._start(
            "next", f"looking for a {what}",
            lambda job: find_next(job, reader, wanted, pieces, like, by, limit), done,
            leads=True,
        )  # fmt: skip

    def action_as_of(self) -> None:
        """Show the whole cluster as of the record of the cursor."""

        # A batch counts as a whole: before its end the record is not there.
        def travel(detail: RecordDetail) -> None:
            self.explorer.travel(detail.span[1], leads=True)
            self.explorer.tell_batch(detail.offset, detail.span)

        self._with_detail(travel)

    @property
    def can_export(self) -> bool:
        """Records, where a log is read."""
        return self.reader is not None

    def export(self) -> None:
        """Read the records that match, 100,000 around the cursor at most, then ask where to."""
        reader = self.reader
        if reader is None:
            return
        rows = self.model.rows(*around(len(self.model), self.records.cursor))

        n_rows = sum(len(offsets) for _, offsets in rows)
        self._start("export", f"reading {n_rows:,} records to export",
                    lambda job: rows_table(job, reader, rows),
                    lambda table: self.explorer.ask_where_to_export([("log", table)]),
                    leads=True)  # fmt: skip

    def copy_under_cursor(self) -> bool:
        """Copy the record, as soon as it was looked at; say where there is none."""
        if isinstance(self.records.here, int):
            self._with_detail(
                lambda found: self.explorer.copy(found.json, f"record {found.offset}")
            )
        else:
            self.explorer.tell("no record is under the cursor")
        return True

    def catches_up(self) -> bool:
        """Have keys wait for the record of the cursor; whether it is looked at."""
        self.explorer.jobs.lead(self, "detail")
        return self.detail is None and self._goes_on("detail")

    def copyable(self) -> tuple[str, str] | None:
        """The record as JSON."""
        detail = self.detail
        return None if detail is None else (f"record {detail.offset}", detail.json)
