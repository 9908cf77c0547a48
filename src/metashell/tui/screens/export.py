"""Writing a table of the view, or the screen, to a file; never over one, nor among Kafka's."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label, Select, Static

from metashell.commands.export.destination import STDOUT, ExportPlace
from metashell.commands.export.tables import BINARY
from metashell.commands.export.tables import WRITERS as TABLE_WRITERS
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import without_colours
from metashell.commands.rows.cell_text import is_json, plain_texts
from metashell.commands.rows.output import WRITERS as ROW_WRITERS
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.tui.error_text import error_text
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.jobs import Job
from metashell.tui.text import line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metashell.tui.app import Explorer
    from metashell.tui.view_state import ViewState

FORMATS: Final = ("csv", "tsv", "json", "jsonl", "yaml", "parquet", "arrow")
_CHUNK_ROWS: Final = 1 << 15
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 60
_KEEP: Final = "keep: a file of this name stays, nothing is written"
_OVERWRITE: Final = "overwrite: a file of this name is replaced"
"""The choices for a file that exists."""
_OVER: Final = "--force writes over it"


class ExportScreen(Box[str | None]):
    """Where a table is to be written."""

    HELP = (
        "Writes the table to a file, filtered and sorted as shown. `tab` goes on. `enter` in "
        "the line of the file writes it, `escape` goes back. In the other lines `enter` opens the "
        "list, `up` and `down` choose. It overwrites a file only if you "
        "choose that. It never writes into a Kafka directory."
    )
    DEFAULT_CSS = """
    ExportScreen { background: transparent; align: left bottom; }
    ExportScreen > Vertical {
        height: auto; background: $surface; border-top: solid $primary;
    }
    ExportScreen Horizontal { height: 1; padding-right: 1; border-left: blank; }
    ExportScreen Horizontal:focus-within { border-left: outer $primary; }
    ExportScreen Select SelectCurrent .arrow { color: $foreground; }
    ExportScreen Label { width: 9; text-style: bold; color: $text-primary; }
    ExportScreen Select { width: 1fr; }
    ExportScreen Input, ExportScreen Input:focus { width: 1fr; height: 1; }
    ExportScreen #export-state { height: auto; max-height: 4; padding: 0 1; }
    ExportScreen #export-state.-wrong { color: $text-error; text-style: bold; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Back", id="export.leave"),
        Binding("ctrl+s", "write", "Write", id="export.write"),
    ]

    def __init__(self, tables: Sequence[tuple[str, pa.Table]]) -> None:
        super().__init__()
        self.tables = tables
        """(name, rows) of each that can be written."""
        self._named: str | None = None
        """The name that was made up, until another is typed."""

    def compose(self) -> ComposeResult:
        """The choices of a table, a format and a file."""
        with Vertical():
            with Horizontal():
                yield Label("Table")
                yield Select(
                    [
                        (line(f"{name} ({len(table):,} rows)"), at)
                        for at, (name, table) in enumerate(self.tables)
                    ],
                    value=0,
                    allow_blank=False,
                    compact=True,
                    id="export-table",
                )
            with Horizontal():
                yield Label("Format")
                yield Select(
                    [(form, form) for form in FORMATS],
                    value=FORMATS[0],
                    allow_blank=False,
                    compact=True,
                    id="export-format",
                )
            with Horizontal():
                yield Label("File")
                yield Input(compact=True, select_on_focus=False)
            with Horizontal():
                yield Label("Existing")
                yield Select(
                    [(_KEEP, False), (_OVERWRITE, True)],
                    value=False,
                    allow_blank=False,
                    compact=True,
                    id="export-force",
                )
            yield Static(id="export-state", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        """Make up a name."""
        self._make_up_name()
        self._tell(f"The directory is {os.getcwd()}. A path as the file names another.")
        self.query_one(Input).focus()

    def _make_up_name(self) -> None:
        """Name the file by what is in it, unless the user has."""
        typed = self.query_one(Input)
        if self._named is not None and typed.value != self._named:
            return
        name, _ = self.tables[self._table_at]
        form = self.query_one("#export-format", Select).value
        self._named = f"{_plain(name) or 'table'}.{form}"
        typed.value = self._named
        typed.select_all()  # what is typed next replaces it

    @property
    def _table_at(self) -> int:
        value = self.query_one("#export-table", Select).value
        return value if isinstance(value, int) else 0

    def on_select_changed(self, event: Select.Changed) -> None:
        """Name the file anew."""
        event.stop()
        self._make_up_name()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write it."""
        event.stop()
        self.action_write()

    def action_write(self) -> None:
        """Write the table."""
        view_state = self.explorer.view_state
        if view_state is None:
            return
        to = self.query_one(Input).value.strip()
        if not to:
            self._tell("to which file?", is_wrong=True)
            return
        to = os.path.expanduser(to)
        name, table = self.tables[self._table_at]
        form = str(self.query_one("#export-format", Select).value)
        force = self.query_one("#export-force", Select).value is True
        self._tell("writing…")

        def work(job: Job) -> str:
            write_table(_place(view_state, job.cancelled, force=force), table, form, to)
            return f"{escape(name)}: {len(table):,} rows written to {escape(os.path.abspath(to))}"

        self.explorer.jobs.start(
            f"writing {to}", work, self._done, owner=self, key="export", failed=self._failed,
            leads=True,
        )  # fmt: skip

    def _done(self, what: str) -> None:
        self.explorer.tell(what)
        self.dismiss(what)

    def _failed(self, error: MetashellError) -> None:
        if error.hint == _OVER:
            error.hint = "choose `overwrite`, or name another file"
        self._tell(error_text(error), is_wrong=True)

    def _tell(self, text: str, *, is_wrong: bool = False) -> None:
        state = self.query_one("#export-state", Static)
        state.update("\n".join(escape(part) for part in text.split("\n")))
        state.set_class(is_wrong, "-wrong")

    def action_leave(self) -> None:
        """Write nothing; what is being written is taken back."""
        self.explorer.jobs.cancel(self, "export")
        self.dismiss(None)


def write_table(place: ExportPlace, table: pa.Table, form: str, to: str) -> None:
    """Write rows to a file, whole or not at all.

    Raises:
        MetashellError: It can't be written there.
        KeyboardInterrupt: It is not wanted any more.
    """
    if form not in FORMATS:
        raise MetashellError(f"{form}: not one of {', '.join(FORMATS)}")
    # A file: there is no standard output to be written to.
    with place.open(f"./{to}" if to == STDOUT else to) as sink:
        if form in BINARY:
            table = _stored(table)

            def batches(chunks: list[pa.RecordBatch]) -> object:
                for batch in chunks:
                    stop_if_cancelled(place.context)
                    yield batch

            chunks = table.to_batches(max_chunksize=_CHUNK_ROWS)
            TABLE_WRITERS[form](sink, table.schema, batches(chunks))  # type: ignore[arg-type]
            return
        for piece in ROW_WRITERS[form](table):
            stop_if_cancelled(place.context)
            sink.text(piece)


def _stored(table: pa.Table) -> pa.Table:
    """JSON as text, which any reader of such files knows, and nothing that is only for screens."""
    table = without_colours(table)
    for at, field in enumerate(table.schema):
        if is_json(field.type):
            table = table.set_column(at, field.name, plain_texts(table.column(at)))
    return table


def _place(
    view_state: ViewState, cancelled: Callable[[], bool], *, force: bool = False
) -> ExportPlace:
    """Where exports of a view state may go; to be called in a job."""
    context = Context(
        root=view_state.root,
        out=Nowhere(),
        warn=lambda _: None,
        cancelled=cancelled,
        source=view_state.source,
        fleet=view_state.fleet,
    )
    return ExportPlace(context, force)


def _plain(name: str) -> str:
    """A name as a part of a file's name."""
    return _ODD.sub("-", name).strip("-.")[:_LONGEST]


def screenshot_name(source: str, view: str, offset: int | None) -> str:
    """The file name of a picture of the screen."""
    where = "" if offset is None else f"-{offset}"
    return f"metashell-{_plain(source) or 'source'}-{_plain(view)}{where}.svg"


def screenshot(app: Explorer) -> None:
    """Write the screen as SVG into the current directory, under a name that is not taken."""
    view_state = app.view_state
    if view_state is None:
        app.tell("the source is not open yet")
        return
    text = app.export_screenshot(title="metashell")
    view = "screen" if app.view is None else str(app.view.id)
    title = app.session.title(view_state.opened)

    def work(job: Job) -> str:
        offset = None if view_state.cluster is None else view_state.cluster.status().offset
        stem = screenshot_name(title, view, offset).removesuffix(".svg")
        names = (f"{stem}.svg" if n == 1 else f"{stem}-{n}.svg" for n in count(1))
        name = next(name for name in names if not os.path.lexists(name))
        with _place(view_state, job.cancelled).open(name) as sink:
            sink.text(text)
        return os.path.abspath(name)

    app.jobs.start(
        "writing the screen", work, lambda name: app.tell(f"screen written to {name}"),
        owner=app, key="screenshot",
    )  # fmt: skip
