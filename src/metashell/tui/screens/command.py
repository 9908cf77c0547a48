"""A line for a command, and what it said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label, Static

from metashell.commands import get
from metashell.commands.framework.aliases import expand_aliases
from metashell.commands.framework.cluster import member_at
from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.command_line import complete_at, split
from metashell.commands.framework.completion import complete_line
from metashell.commands.framework.statement import last_statement, statements
from metashell.commands.rows.command import RowsCommand
from metashell.commands.shared.period import SINCE
from metashell.errors import UsageError
from metashell.fs.escape import escape
from metashell.places.uri import holds_credentials
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.jobs import Job
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.screens.completing import HIDE, CompletingInput, EnteredLines
from metashell.tui.screens.output_lines import MOST_LINES, Stream, TextLines
from metashell.tui.text import error_lines, line
from metashell.tui.view import VIEWS
from metashell.tui.view_state import (
    CommandAnswer,
    CommandResult,
    ViewState,
    ask,
    directory_at,
    quiet_context,
)

if TYPE_CHECKING:
    from metashell.commands.framework.aliases import Habits
    from metashell.commands.framework.command import Command
    from metashell.sources.source import Source

_HISTORY: Final = "history"
"""Where the lines entered before are kept, by the name of the command that prints them."""
_FOLLOW: Final = ("-f", "--follow")
_MARGIN: Final = 2
"""Columns that a command leaves to the scroll bar."""


_EXAMPLE: Final = "a command of the shell, such as partitions --offline"
_BACK_HERE: Final = "keys are for what is above; : begins another command"


class _CommandLine(CompletingInput):
    """The line, which is there already where `:` is typed to get to it."""

    BINDINGS: ClassVar = [HIDE]

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say what can be typed here, or how to get here."""
        super().watch_has_focus(has_focus)
        self.placeholder = _EXAMPLE if has_focus else _BACK_HERE

    def on_key(self, event: events.Key) -> None:
        """Begin no command with a colon: none has one."""
        if event.character == ":" and not self.value:
            event.stop()
            event.prevent_default()


class CommandScreen(Box[None]):
    """A line for a command, and the command's text; rows have a view.

    Args:
        text: The text that the line starts with.
        runs: Whether this text is run at once.
        where: The path that it runs at; the explorer's path if empty.
    """

    HELP = (
        "A command of the shell. It runs on the shown state, in the selected directory. `tab` "
        "completes, `enter` runs. `escape` ends a running command, then closes the line. `cd` "
        "goes to a directory, `at` in time. Rows have a view of their own, `9`. `page up` and "
        "`page down` scroll the text from the line, too. `shift+tab` goes to the text, `:` back."
    )
    ENTER = "Run"
    DEFAULT_CSS = """
    CommandScreen { background: transparent; align: left bottom; }
    CommandScreen > #command-box { height: auto; max-height: 100%; background: $surface; }
    CommandScreen #command-line { height: 1; background: $surface; }
    CommandScreen #command-line > Label { width: auto; color: $text-primary; text-style: bold; }
    CommandScreen CompletingInput { width: 1fr; }
    CommandScreen #command-usage { height: auto; max-height: 2; padding: 0 1; background: $panel; }
    CommandScreen TextLines { height: auto; max-height: 16; display: none; }
    CommandScreen.-tall TextLines { max-height: 70vh; }
    CommandScreen .-said { display: block; }
    CommandScreen #output-text { border-top: solid $primary; }
    CommandScreen #output-notes { max-height: 6; color: $text-warning; }
    """
    BINDINGS: ClassVar = [
        shown_key("escape", "leave", "Back", "command.close"),
        quiet_key(":", "type", "Command", "command"),
        shown_key("shift+tab", "look", "Line/output", "command.output"),
        quiet_key("pageup", "page(-1)", "Page up", "command.page-up"),
        quiet_key("pagedown", "page(1)", "Page down", "command.page-down"),
        quiet_key("q", "leave", "Back", "list.leave"),
        shown_key("Y", "copy", "Copy value", "copy.value"),
        quiet_key("t", "beneath('timeline')", "Timeline", "time.focus"),
        *(
            quiet_key(spec.key, f"beneath('view', '{spec.id}')", spec.title, f"view.{spec.id}")
            for spec in VIEWS
            if spec.key.isdecimal()
        ),
    ]  # fmt: skip

    def __init__(self, text: str = "", *, runs: bool = False, where: str | None = None) -> None:
        super().__init__()
        self._text, self._runs, self._where = text, runs, where
        self._job: Job | None = None

    def compose(self) -> ComposeResult:
        """The output, the proposals, and the line."""
        kept = self.explorer.kept.setdefault(_HISTORY, [])
        habits = self.explorer.session.habits
        where = self._where or self.explorer.path
        line = _CommandLine(
            lambda view_state, text, cancelled: _complete(
                view_state, text, where, habits, cancelled
            ),
            history=EnteredLines(kept),
            value=self._text,
            placeholder=_EXAMPLE,
        )
        usage = Static(id="command-usage", markup=False)
        usage.display = False
        with Vertical(id="command-box"):
            yield TextLines(id="output-text")
            yield TextLines(id="output-notes")
            yield line.proposals
            yield usage
            with Horizontal(id="command-line"):
                yield Label(":", markup=False)
                yield line
            yield KeyBar(self.ENTER)

    def on_mount(self) -> None:
        """Begin to type."""
        self.set_class(self.size.height > 32, "-tall")
        self.line.focus()
        if self._runs:
            self.run(self._text)

    @property
    def line(self) -> CompletingInput:
        """Where the command is typed."""
        return self.query_one(CompletingInput)

    @property
    def text(self) -> TextLines:
        """The text of the command."""
        return self.query_one("#output-text", TextLines)

    @property
    def notes(self) -> TextLines:
        """Warnings, errors and remarks."""
        return self.query_one("#output-notes", TextLines)

    def note(self, lines: Sequence[str]) -> None:
        """Show warnings, errors and remarks."""
        _say(self.notes, lines)

    # Running.

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the line; say where there is nothing to run."""
        event.stop()
        if not isinstance(event.input, CompletingInput):
            return
        if event.value.strip():
            self.run(event.value)
        elif self.text.lines:
            self.explorer.tell("no command is typed: shift+tab goes to the output")
        else:
            self.explorer.tell("no command is typed")

    def run(self, text: str) -> None:
        """Run a line."""
        view_state = self.explorer.view_state
        if view_state is None:
            return
        kept: list[str] = self.explorer.kept[_HISTORY]
        EnteredLines(kept).add(text)
        follows, said = _follows(text), self.text
        for lines in (said, self.notes):
            lines.clear()
            lines.remove_class("-said")
        said.follows = follows
        self.line.value = ""
        where, habits = self._where or self.explorer.path, self.explorer.session.habits
        width = max(self.size.width - _MARGIN, 20)
        history = list(kept)

        def work(job: Job) -> tuple[CommandAnswer | None, str]:
            cwd = directory_at(view_state, where)
            stream = Stream(job, lambda lines: _say(said, lines), follows=follows)
            try:
                answer = ask(
                    view_state,
                    text,
                    cwd=cwd,
                    cancelled=job.cancelled,
                    width=width,
                    habits=habits,
                    kept=self.explorer.kept,
                    interactive=True,
                    history=history,
                    on_text=stream.write,
                )
            except KeyboardInterrupt:
                if stream.is_full:
                    return None, cwd
                raise
            stream.finish()
            return answer, cwd

        self._job = self.explorer.jobs.start(
            text.split(maxsplit=1)[0] if holds_credentials(text) else text.strip(),
            work,
            lambda found: self._ended(view_state, text, *found),
            owner=self,
            key="command",
            leads=not follows,
            failed=lambda error: self.note(error_lines(error)),
        )

    def _ended(
        self, view_state: ViewState, text: str, answer: CommandAnswer | None, cwd: str
    ) -> None:
        if answer is None:
            self.note([f"ended after {MOST_LINES:,} lines; a shell pipe takes all of them"])
            return
        if answer.tables:
            answer.text = self.text.text  # it stands above the rows
            state = _state(view_state, answer) or view_state.cluster
            offset = None if state is None else state.moment_offset
            self.dismiss()
            self.explorer.visit_rows(CommandResult(text.strip(), answer, cwd, offset))
            return
        is_silent = not (self.text.lines or answer.warnings)
        self.note(answer.remarks(has_text=bool(self.text.lines)))
        command = _command_of(text.split(), answer.context.habits) if self._runs else None
        if command is not None and SINCE in command.manual.options:
            self._runs = False
            self.text.call_after_refresh(self.text.scroll_end, animate=False)  # the newest is last
        context = answer.context
        if context.exit_requested:
            self.explorer.jobs.cancel_all()
            self.explorer.exit(return_code=context.exit_status or 0)
        elif context.mode is not None:
            self.note(['sql: which statement?  hint: sql "select ..." runs one here'])
        elif (state := _state(view_state, answer)) is not None and state is not view_state.cluster:
            self.explorer.show_source(state)
        elif context.cwd != cwd:
            self.dismiss()
            self.explorer.go(context.cwd)
        elif is_silent:
            self.note([_silent(text, context, view_state)])

    # Keys.

    def action_type(self) -> None:
        """Go from the text to the line."""
        self.line.focus()

    def action_leave(self) -> None:
        """End what runs, or close the line."""
        if self.explorer.jobs.goes_on(self._job):
            title = self._job.title
            self._job.cancel()
            self.note([escape(f"cancelled: {title}")])
            self._job = None
        else:
            self.dismiss()

    def action_look(self) -> None:
        """Go between the line and what was said."""
        if self.line.has_focus and self.text.lines:
            self.text.focus()
        else:
            self.line.focus()

    def action_page(self, by: int) -> None:
        """Go a page up or down in what was said, from the line too."""
        (self.text.action_page_up if by < 0 else self.text.action_page_down)()

    def action_copy(self) -> None:
        """Copy the text."""
        self.explorer.copy(self.text.text, "text")

    def action_beneath(self, action: str, *words: str) -> None:
        """Leave the text for something of the view below it."""
        self.dismiss()
        self.explorer.call_later(getattr(self.explorer, f"action_{action}"), *words)

    def on_completing_input_completed(self, event: CompletingInput.Completed) -> None:
        """Say how the command is called, once its arguments are typed."""
        event.stop()
        told = usage_of(event.line, self.explorer.session.habits)
        usage = self.query_one("#command-usage", Static)
        usage.update(line(told))
        usage.display = bool(told)


def _say(where: TextLines, lines: Sequence[str]) -> None:
    """Show more lines in a part, which is hidden without any."""
    if lines:
        where.add_class("-said")
        where.write(lines)


def _state(view_state: ViewState, answer: CommandAnswer) -> Source | None:
    """The state of the cluster at hand that a command left: `at` makes another."""
    if view_state.fleet is None:
        return answer.context.source
    member = member_at(view_state.fleet, view_state.prefix)
    return None if member is None else member.opened


def _follows(text: str) -> bool:
    words = text.split()
    return bool(words) and (words[0] == "watch" or any(word in _FOLLOW for word in words[1:]))


def usage_of(text: str, habits: Habits) -> str:
    """How the command of a line is called, where an argument comes next; else nothing."""
    begin, waits = last_statement(text)
    before = () if waits else complete_at(text[begin:], len(text) - begin).before
    command = _command_of(before, habits)
    return "" if command is None else f"usage: {command.manual.synopsis}"


def _command_of(words: Sequence[str], habits: Habits) -> Command | None:
    """The command that words call; None where there is none."""
    try:
        found = expand_aliases(habits, words) if words else ()
    except UsageError:
        return None
    return get(found[0]) if found else None


def _complete(
    view_state: ViewState, text: str, where: str, habits: Habits, cancelled: Callable[[], bool]
) -> Sequence[Completion]:
    """The shell's proposals for a line."""
    return complete_on(view_state, text, directory_at(view_state, where), habits, cancelled)


def complete_on(
    view_state: ViewState, text: str, cwd: str, habits: Habits, cancelled: Callable[[], bool]
) -> Sequence[Completion]:
    """The shell's proposals for a line, in a directory of a view state; to be called in a job."""
    begin, waits = last_statement(text)
    if text.lstrip().startswith(("!", "#")) or waits:
        return ()
    context = quiet_context(view_state, cancelled, cwd=cwd, interactive=True, habits=habits)
    return complete_line(context, text[begin:])


def _silent(line: str, context: Context, view_state: ViewState) -> str:
    """The message for a line that printed nothing: it names the file of the last redirection.

    Without a redirection it says that nothing was found, or that the command is done.
    """
    run = statements(line)
    found = [statement.redirect for statement in run if statement.redirect is not None]
    if not found:
        command = _command_of(split(run[-1].command), context.habits) if run else None
        return "nothing found" if isinstance(command, RowsCommand) else "done"
    n = context.n_lines if context.n_rows is None else context.n_rows
    what = f"{'line' if context.n_rows is None else 'row'}{'s' * (n != 1)}"
    offset = None if view_state.cluster is None else view_state.cluster.moment_offset
    moment = "" if offset is None else f" (state at offset {offset})"
    return f"{n:,} {what} written to {escape(found[-1].target)}{moment}"
