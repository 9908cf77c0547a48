"""A line above a view: a question, the line, a hint, and what a job makes of the line."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.part import shown_key
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.text import error_text, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.errors import MetashellError
    from metashell.tui.jobs import Job

_T = TypeVar("_T")
_Found = TypeVar("_Found")


class Prompt(Box[_T | None]):
    """A line; gives what came of it, or None if the user goes back."""

    TITLE: ClassVar[str | None] = ""
    HINT: ClassVar[str] = ""
    ENTER = "Go"
    BINDINGS: ClassVar = [shown_key("escape", "leave", "Back", "prompt.leave")]
    DEFAULT_CSS = """
    Prompt {
        align: center top;
        & > Vertical {
            width: 90%; max-width: 100; height: auto; max-height: 90%; margin-top: 2; padding: 0 1;
            border: round $primary; background: $surface;
        }
        & Input, & Input:focus { width: 1fr; height: 1; background: $surface; }
        & #prompt-hint { height: auto; color: $text-muted; }
        & #prompt-hint.-error { color: $text-error; text-style: bold; }
        & Proposals { max-height: 12; background: $surface; }
    }
    """

    @abstractmethod
    def make_line(self) -> Input:
        """Make the line."""

    @abstractmethod
    def submit(self, text: str) -> None:
        """Do what the line says; mostly with `work`."""

    def compose(self) -> ComposeResult:
        """The line, a hint, and what may come next."""
        line = self.make_line()
        with Vertical() as box:
            box.border_title = self.TITLE
            yield line
            yield Static(lines(self.hint), id="prompt-hint", markup=False)
            if isinstance(line, CompletingInput):
                yield line.proposals
        yield KeyBar(self.ENTER)

    def on_mount(self) -> None:
        """Have what is typed take the place of what stands there."""
        self.line.focus()
        self.line.select_all()

    @property
    def hint(self) -> str:
        """How it goes on."""
        return self.HINT

    @property
    def line(self) -> Input:
        """Where it is typed."""
        return self.query_one(Input)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the hint again: a mistake was about the text before."""
        event.stop()
        self.say(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what the line says; leave where it is empty."""
        event.stop()
        text = event.value.strip()
        if text:
            self.submit(text)
        else:
            self.dismiss(None)

    def work(
        self, title: str, work: Callable[[Job], _Found], done: Callable[[_Found], object]
    ) -> None:
        """Do something in a job; keys wait for it, and a mistake stands in place of the hint."""
        self.explorer.jobs.start(
            title, work, done, owner=self, key="prompt", failed=self.failed, leads=True
        )

    def failed(self, error: MetashellError) -> None:
        """Tell what is wrong."""
        self.say(error_text(error))

    def say(self, problem: str | None) -> None:
        """Tell what is wrong; None for the hint."""
        hint = self.query_one("#prompt-hint", Static)
        hint.set_class(problem is not None, "-error")
        hint.update(lines(self.hint if problem is None else problem))

    def action_leave(self) -> None:
        """Go back; what goes on is given up."""
        self.explorer.jobs.cancel(self, "prompt")
        self.dismiss(None)
