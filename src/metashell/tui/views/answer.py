"""A view of answers: a title, words, tables of rows, and the detail of the row under the cursor.

A view that is made of this says which commands answer, and what it shows of their rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import pyarrow as pa
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from metashell.errors import MetashellError
from metashell.tui.moving import MOMENT
from metashell.tui.part import quiet_key
from metashell.tui.rows.cluster_rows import applied_at, path_of, why_no_node
from metashell.tui.rows.columns import in_words
from metashell.tui.rows.table import RowTable
from metashell.tui.text import error_lines, line, lines, shortened
from metashell.tui.view import View, take_focus
from metashell.tui.views.question import ViewAnswer, ViewQuestion

if TYPE_CHECKING:
    from textual.timer import Timer

    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState
    from metashell.tui.views.question import ViewRows

_PAUSE_S: Final = 0.25
"""How long the cursor rests before it is worked out what takes long to tell of a row."""
_BARS: Final = ((160, 36), (120, 18), (0, 12))
"""(columns of the screen, cells of a bar there)."""
_BOTH: Final = 30
"""Lines of a view from which on two large tables have room: it has the class ``-both`` then."""
_CORNERS: Final = 6
"""Cells of a border that its title leaves free."""


class AnswerRows(RowTable):
    """A table of a view; the view's help explains it."""

    HELP = "`•` marks rows and cells that changed since the previous stop."
    BEGINS_FIRST = True
    heading = Content()
    """All of its title; the border has what fits."""

    def on_resize(self) -> None:
        """End the title at a blank where it is too long."""
        self.show_heading(self.heading)

    def show_heading(self, heading: Content) -> None:
        """Have a title on the border."""
        self.heading, room = heading, self.outer_size.width - _CORNERS
        self.border_title = shortened(heading, room) if room > 0 else heading


_A = TypeVar("_A", bound=ViewAnswer)


class AnswerView(View, Generic[_A]):
    """The base of views of answers."""

    ASKS: ClassVar[str] = ""
    """The work that it has done, such as ``counting replicas``."""
    IS_AWAITED: ClassVar[bool] = True
    """Whether keys wait for the first answer."""
    TABLES: ClassVar[Sequence[str]] = ()
    """The names of its tables, from above."""
    HEADLESS: ClassVar[Sequence[str]] = ()
    """Tables of sentences, which need no header."""
    BINDINGS: ClassVar = [
        quiet_key("backspace", "back", "Back", "answer.back", "go back to all rows"),
        quiet_key("ctrl+r", "refresh_rows", "Look again", "answer.refresh", "find it anew"),
    ]
    DEFAULT_CSS = """
    AnswerView > Static { height: auto; padding: 0 1; }
    AnswerView .answer-title { max-height: 2; text-style: bold; color: $text-primary; }
    AnswerView .answer-words { max-height: 6; }
    AnswerView .answer-notes { max-height: 3; color: $text-warning; }
    AnswerView .answer-detail { max-height: 6; }
    AnswerView.-low .answer-words { max-height: 1; }
    AnswerView.-low .answer-notes { max-height: 0; }
    AnswerView.-low .answer-detail { max-height: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.answer: _A | None = None
        """The content; None before the first answer."""
        self.opened: ViewAnswer | None = None
        """The answer that is shown in place of it, where the user opened something."""
        self.view_state: ViewState | None = None
        self._inside: tuple[str, Callable[[ViewQuestion], ViewAnswer]] | None = None
        """The title and the question of what was opened."""
        self._asked: Job | None = None
        self._is_stale = False
        self._at_hand: RowTable | None = None
        self._timer: Timer | None = None
        self._aimed: Mapping[str, Any] | None = None
        """The row that the cursor is to go to, once it is there."""
        self._slow: tuple[object, Content] | None = None
        """A row, and what was worked out of it."""
        self._drawn_width = 0
        self._has_command = False
        """Whether the row under the cursor has a command."""

    # Each view says this.

    @abstractmethod
    def ask(self, question: ViewQuestion) -> _A:
        """Find the content; in a job.

        Raises:
            MetashellError: There is no answer.
            KeyboardInterrupt: It was cancelled.
        """

    def seen(self, answer: ViewAnswer) -> Sequence[str]:
        """The tables of an answer that are seen."""
        return tuple(answer.rows)

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """The rows of a table with what depends on the room, such as bars."""
        return table

    def rows_of(self, name: str, rows: ViewRows) -> ViewRows:
        """The rows of a table that are shown: by default all."""
        return rows

    @property
    def asks(self) -> str:
        """The work that it has done, in words."""
        return self.ASKS

    def detail(self, name: str, row: Mapping[str, Any]) -> Content:
        """The row under the cursor in words: by default the columns that are not shown."""
        table = self.tables_by_name[name]
        shown, parts = set(table.columns_shown), list[Content]()
        for column, text in table.texts().items():
            if column not in shown and text not in ("", "-"):
                parts += [Content(" · ")] if parts else []
                parts += [line(f"{in_words(column)} ", "bold"), line(text)]
        return Content.assemble(*parts)

    def slow_detail(self, name: str, row: Mapping[str, Any]) -> Callable[[Job], Content] | None:
        """Finds more about the row, in a job, once the cursor rests on it; None for nothing."""
        return None

    def path_of(self, name: str, row: Mapping[str, Any]) -> str | None:
        """The node that a row is about, in the whole tree."""
        assert self.view_state is not None
        return path_of(row, self.view_state.root, self.view_state.prefix)

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Do what Enter does with a row: by default its node is shown."""
        self.to_node(name, row, self.explorer.go)

    def to_node(self, name: str, row: Mapping[str, Any], then: Callable[[str], object]) -> None:
        """Do something with the node of a row; say where it has none."""
        path = self.path_of(name, row)
        if path is None:
            self.explorer.tell(why_no_node(row, self.view_state))
        else:
            then(path)

    def find_moment(
        self, path: str, offset: int, done: Callable[[int], object], *, of_history: bool = False
    ) -> None:
        """Find the first offset at which a record counts; arguments as of `applied_at`."""
        view_state = self.view_state
        assert view_state is not None
        self.explorer.jobs.start(
            "finding the moment",
            lambda _: applied_at(view_state, path, offset, of_history=of_history),
            done, owner=self, key=MOMENT, leads=True,
        )  # fmt: skip

    def aim(self, row: Mapping[str, Any]) -> None:
        """Have the cursor on the row of the first table that is about the same as another one."""
        self._aimed = row
        if self.is_composed and self.answer is not None:
            self.draw()

    # The parts.

    def compose(self) -> ComposeResult:
        """The title, the words, the tables, and what is told of a row."""
        yield Static(id=f"{self.id}-title", classes="answer-title", markup=False)
        yield Static(id=f"{self.id}-words", classes="answer-words", markup=False)
        yield Static(id=f"{self.id}-notes", classes="answer-notes", markup=False)
        yield from self.compose_tables()
        yield Static(id=f"{self.id}-detail", classes="answer-detail", markup=False)

    def compose_tables(self) -> ComposeResult:
        """The tables."""
        for name in self.TABLES:
            table = AnswerRows(id=f"{self.id}-{name}")
            table.header_height = int(name not in self.HEADLESS)
            yield table

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self.draw()

    @property
    def tables_by_name(self) -> dict[str, AnswerRows]:
        """All tables, also those that are not seen."""
        return {name: self.query_one(f"#{self.id}-{name}", AnswerRows) for name in self.TABLES}

    @property
    def table(self) -> RowTable:
        """The table that is looked at."""
        seen = [table for table in self.tables_by_name.values() if table.display]
        at_hand = self._at_hand
        return at_hand if at_hand in seen and at_hand is not None else (seen or [self._any])[0]

    @property
    def _any(self) -> AnswerRows:
        return self.tables_by_name[self.TABLES[0]]

    def name_of(self, table: RowTable) -> str:
        """The name of a table."""
        return str(table.id).removeprefix(f"{self.id}-")

    @property
    def bar_width(self) -> int:
        """Cells of a bar."""
        return next(cells for least, cells in _BARS if self.size.width >= least)

    def say(self, part: str, content: Content | str) -> None:
        """Show a text in a part, which is hidden without one."""
        shown = self.query_one(f"#{self.id}-{part}", Static)
        shown.display = bool(content)
        shown.update(lines(content) if isinstance(content, str) else content)

    # Asking.

    def show_view_state(self, view_state: ViewState) -> None:
        """Look at another view state. News wait for the answer that is on its way."""
        before, self.view_state = self.view_state, view_state
        is_same = before is not None and before.prefix == view_state.prefix
        if before is not None and not is_same:
            self.forget()
        is_news = before is not None and before.is_newest and view_state.is_newest
        if is_same and is_news and self.explorer.jobs.goes_on(self._asked):
            self._is_stale = True
        else:
            self.begin()

    def forget(self) -> None:
        """Forget the answer: it is of another cluster."""
        self.answer = self.opened = self._inside = self._slow = None
        self.draw()

    def action_refresh_rows(self) -> None:
        """Ask again."""
        self.begin()

    def begin(self, *, is_silent: bool = False) -> None:
        """Ask; `is_silent`: whether the user is not told that it goes on."""
        view_state = self.view_state
        if view_state is None:
            return
        is_first = self.answer is None
        if is_first:
            self.say("title", f"{self.asks}… escape cancels, ctrl+r looks again")
        self._is_stale = False
        self.explorer.jobs.cancel(self, "more")
        self._asked = self.explorer.jobs.start(
            "" if is_silent else self.asks,
            lambda job: self.ask(ViewQuestion(view_state, job)), self.show, owner=self,
            key="answer", failed=self._failed, is_awaited=self.IS_AWAITED and is_first,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        self.forget()
        self.say("title", "")
        self.say("words", "\n".join(error_lines(error)))

    def show(self, answer: _A) -> None:
        """Show an answer, and look for more of it."""
        is_first, self.answer = self.answer is None, answer
        self.draw()
        if is_first:
            take_focus(self)  # there may have been nothing before that could have it
        if self._inside is not None:
            self._open(leads=self.opened is None)
        if self._is_stale:
            self.begin()
        elif answer.more is not None:
            self.explorer.jobs.start(
                answer.more_title, answer.more, self.show, owner=self, key="more", comes_last=True
            )

    # Something opened within the view.

    def open(self, title: str, ask: Callable[[ViewQuestion], ViewAnswer]) -> None:
        """Show another answer in place of the view's own, until the user goes back."""
        self._inside = title, ask
        self._open(leads=True)

    def _open(self, *, leads: bool = False) -> None:
        view_state = self.view_state
        assert view_state is not None
        assert self._inside is not None
        title, ask = self._inside

        def done(answer: ViewAnswer) -> None:
            self.opened = answer
            if leads:
                self._at_hand = None
            self.draw(afresh=leads)
            if leads and self.explorer.view is self:
                self.table.focus()

        self.explorer.jobs.start(
            title, lambda job: ask(ViewQuestion(view_state, job)), done, owner=self, key="opened",
            leads=leads,
        )  # fmt: skip

    @property
    def is_inside(self) -> bool:
        """Whether another answer is shown in place of the view's own."""
        return self._inside is not None

    def action_back(self) -> None:
        """Show all rows again."""
        self.leave()

    def leave(self) -> bool:
        """Go back from what was opened; whether anything was."""
        if self._inside is None:
            return False
        self.explorer.jobs.cancel(self, "opened")
        self._inside = self.opened = self._at_hand = None
        self.draw()
        self.table.focus()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what there is for what is seen."""
        return action != "back" or self.opened is not None

    # Drawing.

    def draw(self, *, afresh: bool = False) -> None:
        """Show what is known; `afresh`: whether the rows are about something else."""
        answer = self.opened or self.answer
        seen = () if answer is None else self.seen(answer)
        focused = self.explorer.focused
        self._drawn_width = self.bar_width
        title = "" if answer is None else answer.title
        for name, table in self.tables_by_name.items():
            table.display = name in seen
            if answer is None or name not in answer.rows:
                continue
            # The title of the view stands on the first rows without a title of their own.
            has_title = self.draw_table(name, answer, title if name in seen else "", afresh=afresh)
            title = "" if has_title else title
        if answer is not None:
            self.say("title", self.heading(title))
        self.say("words", "\n".join(answer.words) if answer is not None else "")
        self.say("notes", "\n".join(answer.notes) if answer is not None else "")
        if isinstance(focused, RowTable) and self in focused.ancestors and not focused.display:
            self.table.focus()
        self.refresh_bindings()
        self.tell_row()

    def heading(self, text: str) -> Content:
        """The title of the view, or of a table, in its colours."""
        return line(text)

    def draw_table(
        self, name: str, answer: ViewAnswer, title: str = "", *, afresh: bool = False
    ) -> bool:
        """Show the rows of a table; whether they took the title, as they have none."""
        table, rows = self.tables_by_name[name], self.rows_of(name, answer.rows[name])
        table.show_heading(self.heading(rows.heading or title))
        aimed = self._aimed if name == self.TABLES[0] else None
        self._aimed = None if aimed is not None else self._aimed
        table.show(
            self.drawn(name, rows.table), rows.changes.rows, first=rows.first,
            afresh=afresh or aimed is not None, at=aimed, changed=rows.changes.cells,
        )  # fmt: skip
        return bool(title) and not rows.heading

    def on_resize(self, event: events.Resize) -> None:
        """Draw bars as wide, and as many tables, as there is room for."""
        had_room, has_room = self.has_class("-both"), event.size.height >= _BOTH
        self.set_class(has_room, "-both")
        if self.answer is not None and (
            had_room != has_room or self.bar_width != self._drawn_width
        ):
            self.draw()

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Tell what the cursor is on."""
        event.stop()
        if event.table is self.table:
            self.tell_row()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Do what Enter does with the row."""
        event.stop()
        self.choose(self.name_of(event.table), event.row)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Note which table is looked at; the focus also moves where a view goes out of sight."""
        if isinstance(event.widget, RowTable) and self.explorer.view is self:
            self._at_hand = event.widget
            self.tell_row()

    def tell_row(self) -> None:
        """Tell of the row under the cursor, and have what takes long worked out."""
        if self._timer is not None:
            self._timer.stop()
        table = self.table
        row = table.row if table.display else None
        if self._has_command != (self.command is not None):
            self._has_command = not self._has_command
            self.refresh_bindings()
        if row is None:
            self.say("detail", "")
            return
        name, told = self.name_of(table), self._slow
        work = self.slow_detail(name, row)
        if work is None:
            self.say("detail", self.detail(name, row))
            return
        known = Content("…") if told is None or told[0] != row else told[1]
        self.say("detail", Content("\n").join((known, self.detail(name, row))))

        def done(found: Content) -> None:
            if self.table is table and table.row == row:
                self._slow = row, found
                self.say("detail", Content("\n").join((found, self.detail(name, row))))

        work_out: Callable[[Job], Content] = work

        def begin() -> None:
            title = "looking at the row"
            self.explorer.jobs.start(title, work_out, done, owner=self, key="detail")

        self._timer = self.set_timer(_PAUSE_S, begin)

    # The row under the cursor.

    @property
    def shows_rows(self) -> bool:
        """Whether rows are seen, and not why there are none."""
        return self.table.display and self.why_not is None

    @property
    def command(self) -> str | None:
        """The command of the row under the cursor; None where it has none."""
        row = self.table.row if self.shows_rows else None
        return str(row["command"]) if row is not None and row.get("command") else None

    def copyable(self) -> tuple[str, str] | None:
        """The command of the row, else the row, a line a column."""
        if self.command is not None:
            return "command", self.command
        texts = self.table.texts() if self.shows_rows else {}
        return ("row", "".join(f"{name}: {texts[name]}\n" for name in texts)) if texts else None

    # The interface of a view.

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the node of the row under the cursor; say where it has none."""
        row = self.table.row if self.shows_rows else None
        if row is None:
            then(self.explorer.path)
        else:
            self.to_node(self.name_of(self.table), row, then)

    def filter_by(self, text: str) -> None:
        """Filter the table that is looked at."""
        self.table.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """Its filter."""
        return self.table.filter_text if self.shows_rows else None

    def focus_content(self) -> None:
        """Focus the table that is looked at."""
        if self.shows_rows:
            self.table.focus()

    @property
    def can_export(self) -> bool:
        """Rows, where some are seen."""
        return self.is_composed and self.shows_rows and self.answer is not None

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The tables that are seen, the one looked at first."""
        if not self.shows_rows:
            return ()
        seen = [(name, table) for name, table in self.tables_by_name.items() if table.display]
        seen.sort(key=lambda item: item[1] is not self.table)
        return [(name, table.taken) for name, table in seen if table.taken is not None]


def with_labels(told: Iterable[tuple[str, str]]) -> Content:
    """Sentences below each other, each behind its label."""
    return Content("\n").join(
        Content.assemble((f"{label} " if label else "", "bold"), line(text)) for label, text in told
    )
