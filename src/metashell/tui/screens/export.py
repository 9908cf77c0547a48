"""Out of the program: tables and pictures into files, values into the pager or the editor."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
from textual.app import SuspendNotSupported
from textual.widgets import Input

from metashell.commands.export.destination import STDOUT, ExportPlace
from metashell.commands.export.tables import BINARY
from metashell.commands.export.tables import WRITERS as TABLE_WRITERS
from metashell.commands.framework.local_places import refuse_kafkas
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import without_colours
from metashell.commands.rows.cell_text import is_json, plain_texts
from metashell.commands.rows.output import WRITERS as ROW_WRITERS
from metashell.commands.shared.pager import editor_command, pager_command, pager_environment
from metashell.errors import MetashellError
from metashell.fs.escape import escape, escape_text, to_bytes
from metashell.tui.jobs import Job
from metashell.tui.part import shown_key
from metashell.tui.screens.prompt import Prompt
from metashell.tui.view_state import quiet_context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metashell.tui.app import Explorer
    from metashell.tui.view_state import ViewState


_NOT_FOUND: Final = 127
_SIGNALLED: Final = 128
"""The status of what a signal ended is this and the number of the signal."""
_HINTS: Final = {
    "pager": "no pager: PAGER names none that is installed",
    "editor": "no editor: set VISUAL or EDITOR to one that is installed",
}


def show_in(explorer: Explorer, program: str, what: str, text: str) -> None:
    """Show a text in the ``pager`` or the ``editor``; nothing comes back.

    Args:
        explorer: Gives the terminal away meanwhile.
        program: Which of the two.
        what: A name of the text for messages.
        text: The text; unsafe characters are escaped.
    """
    is_pager, environ = program == "pager", dict(os.environ)
    command = pager_command(environ) if is_pager else editor_command(environ)
    if is_pager:
        environ = pager_environment(environ)
        # Without `-F` a text that fits one screen stays visible; nothing else would show it.
        environ["LESS"] += " -+F"
    if command is None:
        explorer.tell(_HINTS[program], "warning")
        return
    try:
        path = write_copy(text)
    except (OSError, MetashellError) as error:
        told = f"the {what} can't be written: {error}; set TMPDIR to another directory"
        explorer.tell(told, "error")
        return
    try:
        with explorer.suspend():
            status = run(command, path, environ)
    except SuspendNotSupported:
        explorer.tell(f"no {program} here: this terminal can't run another program", "warning")
        return
    finally:
        with suppress(OSError):
            path.unlink()
    if status == _NOT_FOUND:
        explorer.tell(f"{command}: not found", "error")
    elif (end := _end_of(status)) is not None:
        explorer.tell(f"{command} {end}", "warning")


def write_copy(text: str) -> Path:
    """Write a text to a new file that only the user can read.

    Raises:
        OSError: It can't be written.
        MetashellError: The directory for it is one of Kafka's.
    """
    directory = os.path.realpath(tempfile.gettempdir())
    refuse_kafkas("TMPDIR", directory, ())
    handle, name = tempfile.mkstemp(prefix="metashell-", suffix=".txt", dir=directory)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(to_bytes(escape_text(text.removesuffix("\n")) + "\n"))
    except BaseException:
        path.unlink()
        raise
    return path


def run(command: str, path: Path, environ: Mapping[str, str]) -> int:
    """Run a command line on a file until the user leaves; returns its status as a shell does."""
    line = f"{command} {shlex.quote(str(path))}"
    with _interrupts_left_to_it():
        # The command line is the user's own, and the file's name is ours.
        status = subprocess.run(line, shell=True, env=dict(environ), check=False).returncode
    return status if status >= 0 else _SIGNALLED - status


def _end_of(status: int) -> str | None:
    """How a program ended, by its status in a shell; None where the user ended it."""
    if status in (0, _SIGNALLED + signal.SIGINT):
        return None
    with suppress(ValueError):
        return f"was ended by {signal.Signals(status - _SIGNALLED).name}"
    return f"ended with status {status}"


@contextmanager
def _interrupts_left_to_it() -> Iterator[None]:
    """Leave ^C to the program; a handler of ours is none of its, as an ignored signal would be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


FORMATS: Final = ("csv", "tsv", "json", "jsonl", "yaml", "parquet", "arrow")
_CHUNK_ROWS: Final = 1 << 15
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 60
_OVER: Final = "give --force to overwrite it"
"""The hint of the error about a file that exists."""


class ExportScreen(Prompt[str]):
    """The file that a table, or a picture of the screen, is to be written to.

    Args:
        contents: (name, rows or the SVG of a picture) of each that can be written, the one looked
            at first.
    """

    HELP = (
        "Writes a table to a file, filtered and sorted as shown. The ending of the file's name "
        "is the format: csv, tsv, json, jsonl, yaml, parquet or arrow. `tab` takes the next table "
        "of the view. A picture of the screen is SVG. A file that exists is replaced only by a "
        "second `enter`. It never writes into a Kafka directory."
    )
    TITLE = "write a file"
    ENTER = "Write"
    BINDINGS: ClassVar = [shown_key("tab", "next_table", "Next table", "export.table")]

    def __init__(self, contents: Sequence[tuple[str, pa.Table | str]]) -> None:
        super().__init__()
        self.contents = list(contents)
        self._there: str | None = None
        """The file that exists, and that `enter` would replace."""

    def make_line(self) -> Input:
        """A name for the table at hand."""
        return Input(self.file_name, compact=True)

    @property
    def file_name(self) -> str:
        """The name that is made up for the content at hand."""
        name, content = self.contents[0]
        return f"{_plain(name) or 'table'}.{'svg' if isinstance(content, str) else FORMATS[0]}"

    @property
    def hint(self) -> str:
        """The content, where it goes, and how it goes on."""
        (name, content), others = self.contents[0], self.contents[1:]
        forms = "as SVG" if isinstance(content, str) else f"as {', '.join(FORMATS)}"
        following = f" · tab: {others[0][0]}" if others else ""
        return f"{name}: {_size(content)} {forms} · enter writes{following}\nin {_here()}"

    def action_next_table(self) -> None:
        """Take the next table, under its own name."""
        self.contents.append(self.contents.pop(0))
        self.line.value = self.file_name
        self.line.select_all()  # what is typed next replaces it

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the next table where there are several."""
        is_there = action != "next_table" or len(self.contents) > 1
        return is_there and super().check_action(action, parameters)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Replace nothing: it is another file."""
        self._there = None

    def submit(self, text: str) -> None:
        """Write the content."""
        view_state, (name, content) = self.explorer.view_state, self.contents[0]
        if view_state is None:
            return
        to, force = os.path.expanduser(text), self._there == text
        ending = to.rpartition(".")[2]
        form = ending if ending in FORMATS else FORMATS[0]

        def work(job: Job) -> str:
            write_content(_place(view_state, job.cancelled, force=force), content, form, to)
            return f"{escape(name)}: {_size(content)} written to {escape(os.path.abspath(to))}"

        def done(told: str) -> None:
            self.explorer.tell(told)
            self.dismiss(told)

        self.work(f"writing {to}", work, done)

    def failed(self, error: MetashellError) -> None:
        """Tell what is wrong; a file that exists is replaced by a second enter."""
        if error.hint == _OVER:
            self._there = self.line.value.strip()
            error.hint = "enter replaces it; or name another file"
        super().failed(error)


def write_content(place: ExportPlace, content: pa.Table | str, form: str, to: str) -> None:
    """Write rows, or the SVG of a picture, to a file, whole or not at all.

    Raises:
        MetashellError: It can't be written there.
        KeyboardInterrupt: It is not wanted any more.
    """
    if form not in FORMATS:
        raise MetashellError(f"{form}: not one of {', '.join(FORMATS)}")
    # A file: there is no standard output to be written to.
    with place.open(f"./{to}" if to == STDOUT else to) as sink:
        if isinstance(content, str):
            sink.text(content)
            return
        table = content
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
    return ExportPlace(quiet_context(view_state, cancelled), force)


def _here() -> str:
    """The directory that names without one are in."""
    try:
        return os.getcwd()
    except OSError as error:
        return f"no directory: {error.strerror}"


def _size(content: pa.Table | str) -> str:
    """How much is written."""
    if isinstance(content, str):
        return "the screen"
    return f"{len(content):,} row{'s' * (len(content) != 1)}"


def _plain(name: str) -> str:
    """A name as a part of a file's name."""
    return _ODD.sub("-", name).strip("-.")[:_LONGEST]


def picture_of(app: Explorer) -> tuple[str, str]:
    """A telling name for a picture of the screen, and its SVG."""
    source, offset = app.view_state, app.following.shown_offset
    parts = ["metashell"] if source is None else ["metashell", app.session.title(source.opened)]
    parts += [] if app.view is None else [str(app.view.id)]
    parts += [] if offset is None else [str(offset)]
    return "-".join(parts), app.export_screenshot(title="metashell")
