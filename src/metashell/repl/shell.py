"""The prompt loop: reads a line, runs it, comes back.

Commands run in the main thread between two prompts, so that ^C reaches them as KeyboardInterrupt.
Whatever a command raises ends that command and never the shell.

The lines entered, kept across sessions in a file of the user's state directory.

One line a line, oldest first, UTF-8. The file is readable by its owner alone, as a line may hold
anything. Shells that run at the same time append to the same file. A directory that can't be
written costs the memory of earlier sessions, never the shell.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples, fragment_list_to_text
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.shortcuts import CompleteStyle, PromptSession
from prompt_toolkit.utils import is_dumb_terminal

from metashell import commands
from metashell.commands.framework.cluster import opened_here
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.commands.framework.statement import is_comment, logical_lines, needs_more, one_line
from metashell.commands.shared.pager import pager_command
from metashell.commands.shared.session_place import follow
from metashell.commands.shared.status import SourceStatus, status_of, with_live_facts
from metashell.commands.shared.wrapped import sentence_lines
from metashell.errors import ExitCode, InternalError, MetashellError
from metashell.fs.escape import diagnostic, escape, to_bytes
from metashell.places.uri import holds_credentials
from metashell.places.user import replace_file, user_directory
from metashell.repl import appearance
from metashell.repl.appearance import StatusWatcher
from metashell.repl.complete import LineCompleter
from metashell.repl.highlight import LineLexer, Misleading
from metashell.repl.output import Plain, Screen, terminal_size, write_to
from metashell.repl.session import ShellSession

MAX_LINES = 10_000
"""Lines kept when the file is opened; appended lines may exceed it until the next time."""
MAX_BYTES = 4 << 20
"""The part of the file's end that is read at most."""


def default_path() -> Path:
    """Return the history's place on this platform."""
    return Path(user_directory("state")) / "history"


def recall(line: str, previous: str | None) -> str | None:
    """A line whose first word is ``!!`` with the line before in its place; None where none was."""
    stripped = line.lstrip()
    if not stripped.startswith("!!"):
        return line
    return None if previous is None else previous + stripped[2:]


class LineHistory(History):
    """A history in a file; in memory alone where the file can't be used.

    Args:
        path: The file, made when missing; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self.lines: list[str] = []
        """Every line, oldest first; grows as lines are entered."""
        self.problem: str | None = None
        """Why lines are not kept, or None."""
        self._path = path
        if path is not None:
            try:
                _make_private(path)
                self.lines = _read(path)
            except (OSError, ValueError) as error:
                self._give_up(error)

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, newest first."""
        return self.lines[::-1]

    @property
    def last(self) -> str | None:
        """The newest line, or None."""
        return self.lines[-1] if self.lines else None

    def append_string(self, string: str) -> None:
        """Remember an entry; a pasted block is lines, and one that goes on below is one.

        One that begins with a space is not kept, nor one with credentials in a URI.
        """
        if string.startswith(" ") or holds_credentials(string):
            return
        for text in logical_lines("\n".join(string.splitlines())):
            line = recall(one_line(text), self.last)
            if line is not None and line.strip():
                self.lines.append(line)
                super().append_string(line)

    def store_string(self, string: str) -> None:
        """Append a line to the file."""
        if self._path is None:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # One write, so that shells running side by side don't mix their lines.
                os.write(descriptor, to_bytes(f"{string}\n"))
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = f"history is not kept: {self._path}: {reason}"
        self._path = None


def _make_private(path: Path) -> None:
    """Make the file and its directory, and take away others' rights to the file."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # Not blocking, so that a named pipe in its place can't hang the shell.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, "Not a regular file")
        if stat.S_IMODE(mode) & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _read(path: Path) -> list[str]:
    """Read the newest lines, and shorten a file that has outgrown its cap."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_BYTES - 1))
        data = file.read(MAX_BYTES + 1)
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if size > MAX_BYTES:
        lines = lines[1:]  # its beginning is cut off, or the byte before was a line end
    lines = [line for line in lines if line.strip()]
    if len(lines) > MAX_LINES or size > MAX_BYTES:
        lines = lines[-MAX_LINES:]
        with suppress(OSError):
            replace_file(path, to_bytes("".join(f"{line}\n" for line in lines)))
    return lines


MAX_HELD_WARNINGS = 100
"""Diagnostics kept while a pager is in front; further ones are counted."""
LIVE_REDRAW_S = 1.0
"""How often the toolbar of a live source is drawn anew while the prompt waits."""


class Shell:
    """One interactive session.

    Args:
        session: The source.
        history_path: Where lines are kept; None for the platform's place.
        terminal_input: Where keys come from, the terminal where None.
        terminal_output: Where the prompt is drawn, the terminal where None.
    """

    def __init__(
        self,
        session: ShellSession,
        *,
        history_path: Path | None = None,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        self._session = session
        self._stdout: TextIO = sys.stdout
        self._stderr: TextIO = sys.stderr
        self._is_dumb = terminal_output is None and is_dumb_terminal()
        self._has_colour = not os.environ.get("NO_COLOR") and not self._is_dumb
        self._history = LineHistory(history_path or default_path())
        self._status = 0
        self._out: Screen | Plain = self._new_output()
        self._held_warnings: list[str] = []
        self._n_dropped = 0
        self._context = Context(
            root=session.root,
            out=self._out,
            warn=self._warn,
            interactive=True,
            runs_programs=True,
            history=self._history.lines,
            habits=session.habits,
        )
        if session.opened is not None:
            self._context.show(session.opened)
        source = self._context.source
        self._is_live = source is not None and source.capabilities.follows
        self._warned = set() if source is None or source.live is None else {*source.live.notes}
        self._watcher = StatusWatcher(self._source_status, self._redraw, session.warm_up)
        self._is_status_due = False
        # On a terminal without abilities prompt_toolkit only echoes keys, after it has sent
        # escape sequences; the terminal's own line editing does more.
        self._prompt = None if self._is_dumb else self._new_prompt(terminal_input, terminal_output)

    def run(self) -> int:
        """Read and run lines until ``exit`` or ^D; return the program's exit status."""
        if self._history.problem is not None:
            self._warn(f"metashell: {self._history.problem}")
        if self._session.greeting is not None and self._out.is_terminal:
            self._out.write("".join(f"{line}\n" for line in self._session.greeting(self._context)))
            self._out.flush()
        while True:
            try:
                previous = self._history.last
                for line in self._lines_of(self._read()):  # several where a block was pasted
                    self._status = self.run_line(self._recalled(line, previous))
                    if self._context.exit_requested:
                        return self._context.exit_status or ExitCode.OK
                    if self._status == ExitCode.INTERRUPTED:
                        break
            except KeyboardInterrupt:
                self._status = ExitCode.INTERRUPTED
                if self._context.mode is not None:
                    self._context.mode.give_up()
            except EOFError:
                if self._context.mode is None:
                    return ExitCode.OK
                self._context.mode = None

    def _lines_of(self, entry: str) -> Iterator[str]:
        """The lines of an entry; a command may go on in the next one."""
        return logical_lines(entry) if self._context.mode is None else iter(entry.split("\n"))

    def _recalled(self, line: str, previous: str | None) -> str:
        """A line with `!!` replaced by the one before, which is then shown."""
        whole = line if self._context.mode is not None else recall(line, previous)
        if whole is None:
            self._warn("metashell: !!: no line was entered before")
            return ""
        if whole != line:
            write_to(self._stderr, f"{escape(whole)}\n")
        return whole

    def _source_status(self) -> SourceStatus:
        """The state for the toolbar, of the point that `at` went to, of a fleet's cluster."""
        opened = opened_here(self._context) if self._context.fleet else self._context.source
        if opened is None or opened is self._session.opened:
            return self._session.status()
        return status_of(opened)

    def _new_prompt(self, keys: Input | None, screen: Output | None) -> PromptSession[str]:
        if screen is None and not self._stdout.isatty() and self._stderr.isatty():
            screen = create_output(self._stderr)  # stdout is data that goes elsewhere
        prompt: PromptSession[str] = PromptSession(
            message=self._message,
            # Return begins another row while the line is not complete.
            multiline=Condition(self._needs_more),
            prompt_continuation=[("class:prompt.path", "> ")],
            lexer=LineLexer(self._is_command, lambda: self._context.mode),
            input_processors=[Misleading()],
            completer=LineCompleter(lambda: self._context),
            complete_in_thread=True,
            complete_while_typing=False,
            complete_style=CompleteStyle.MULTI_COLUMN,
            # Up and down look for lines that begin with what is typed.
            enable_history_search=True,
            search_ignore_case=True,
            auto_suggest=AutoSuggestFromHistory(),
            history=self._history,
            bottom_toolbar=self._toolbar,
            style=appearance.style(self._session.theme),
            include_default_pygments_style=False,
            color_depth=None if self._has_colour else ColorDepth.DEPTH_1_BIT,
            enable_suspend=True,
            enable_open_in_editor=True,
            reserve_space_for_menu=6,
            refresh_interval=LIVE_REDRAW_S if self._is_live else 0,
            input=keys,
            output=screen,
        )
        prompt.app.after_render += self._after_render
        return prompt

    def _read(self) -> str:
        """Read a line.

        Raises:
            KeyboardInterrupt: The line was given up by ^C.
            EOFError: ^D on an empty line.
        """
        if self._prompt is None:
            return self._read_dumb()
        self._is_status_due = True
        return self._prompt.prompt()

    def _needs_more(self) -> bool:
        """Whether what is typed goes on in another row."""
        text = get_app().current_buffer.document.text
        return self._context.mode is None and needs_more(next(reversed([*logical_lines(text)]), ""))

    def _read_dumb(self) -> str:
        """Read a line by the terminal's own line editing."""
        try:
            line = input(fragment_list_to_text(self._message()))
            while self._context.mode is None and needs_more(line):
                line += "\n" + input("> ")
        except (KeyboardInterrupt, EOFError):
            write_to(self._stdout, "\n")
            raise
        if line.strip():
            self._history.append_string(line)
        return line

    def _after_render(self, _app: object) -> None:
        """Look at the source anew once a prompt is drawn: not before, that may take the time."""
        if self._is_status_due:
            self._is_status_due = False
            self._watcher.refresh()

    def _redraw(self) -> None:
        """Draw the prompt anew; any thread may ask for it."""
        if self._prompt is None:
            return
        # The prompt may end meanwhile and take its event loop along; the next one is drawn anew.
        with suppress(RuntimeError, AttributeError):
            self._prompt.app.invalidate()

    def _message(self) -> StyleAndTextTuples:
        if self._context.mode is not None:
            return [("class:prompt.program", self._context.mode.prompt)]
        return appearance.prompt(
            self._session.source_name,
            self._context.cwd,
            width=terminal_size(self._stdout).columns,
            failed=self._status not in {ExitCode.OK, ExitCode.INTERRUPTED},
        )

    def _toolbar(self) -> StyleAndTextTuples:
        latest = self._watcher.latest
        source = self._context.source
        if self._is_live and source is not None:
            now = with_live_facts(latest or SourceStatus(), source)
            latest = now if now.is_live else latest  # known before anything is decoded
        return appearance.toolbar(latest, show_secrets=self._session.show_secrets)

    def run_line(self, text: str) -> int:
        """Run one line and return its status; nothing but exit_requested ends the shell."""
        try:
            status = self._run_on_screen(text)
        except KeyboardInterrupt:
            status = ExitCode.INTERRUPTED
        except OSError as error:
            # The system's shell or the pager could not be started.
            self._warn(f"metashell: {error.strerror or error}")
            return ExitCode.FAILED
        if status == ExitCode.INTERRUPTED and self._stderr.isatty():
            write_to(self._stderr, "\n")  # behind the ^C that the terminal echoed
        return status

    def _run_on_screen(self, command: str) -> int:
        if self._says_nothing(command):
            self._follow()
            return self._status
        self._out = self._new_output()
        try:
            return self._run_command(command, self._out)
        finally:
            self._out.finish()
            self._tell_held_warnings()

    def _says_nothing(self, line: str) -> bool:
        """Whether a line is empty or a comment: the status is then that of the one before."""
        return self._context.mode is None and (not line.strip() or is_comment(line))

    def _run_command(self, command: str, out: Screen | Plain) -> int:
        self._context.out = out
        try:
            self._follow()
            if self._context.mode is not None:
                return self._context.mode.run(self._context, command)
            return run_line(self._context, command)
        except BrokenPipeError:
            return ExitCode.OK  # the reader has seen enough
        except MetashellError as error:
            self._warn_of(error)
            return error.exit_code
        except Exception as error:
            self._warn_of(InternalError.of(error))
            return ExitCode.INTERNAL

    def _follow(self) -> None:
        """Take the state to go on with, or keep the one at hand where that can't be had."""
        try:
            follow(self._context)
        except MetashellError as error:
            self._warn_of(error)
        source = self._context.source
        if source is None or source.live is None:
            return
        for note in source.live.notes:
            if note not in self._warned:
                self._warned.add(note)
                self._warn(f"metashell: warning: {note}")

    def _warn_of(self, error: MetashellError) -> None:
        for line in error.lines("metashell: "):
            self._warn(line)

    def _warn(self, line: str) -> None:
        """Write a diagnostic, or hold it while a pager is in front."""
        if isinstance(self._out, Screen) and self._out.is_paging:
            if len(self._held_warnings) < MAX_HELD_WARNINGS:
                self._held_warnings.append(line)
            else:
                self._n_dropped += 1
            return
        self._out.reveal()  # what was written before comes before
        line = diagnostic(line)
        if self._stderr.isatty():
            line = "\n".join(sentence_lines(line, terminal_size(self._stderr).columns))
            if self._has_colour and not self._session.is_plain:
                line = f"\x1b[31m{line}\x1b[0m"
        write_to(self._stderr, f"{line}\n")

    def _tell_held_warnings(self) -> None:
        """Write what was held; the pager is gone."""
        lines, n_dropped = self._held_warnings, self._n_dropped
        self._held_warnings, self._n_dropped = [], 0
        self._out = Plain(self._stdout)
        for line in lines:
            self._warn(line)
        if n_dropped:
            self._warn(f"metashell: {n_dropped} more diagnostics")

    def _is_command(self, word: str) -> bool:
        """Tell whether a word names a command or an alias; none is imported for what is typed."""
        known = word in _NAMES or word in self._session.habits.aliases
        return known or commands.get(word) is not None

    def _new_output(self) -> Screen | Plain:
        if self._stdout.isatty():
            return Screen(self._stdout, pager_command(os.environ))
        return Plain(self._stdout)


_NAMES = frozenset(commands.all_names())
