"""A line for a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, OptionList

from metashell.commands.framework.command import Completion
from metashell.errors import MetashellError, PathError
from metashell.tui.error_text import error_lines
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.jobs import Job
from metashell.tui.prompts.completing import CompletingInput, Proposals
from metashell.tui.prompts.hint import Hint
from metashell.tui.prompts.typed_path import PathTarget, directory_at, follow, propose

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState

_HINT = "tab completes · enter goes · PATH@OFFSET travels · escape leaves"


class _PathLine(CompletingInput):
    """The line; what is chosen is gone to at once."""

    BINDINGS: ClassVar = [
        Binding("tab", "take", "Complete", id="go.complete"),
        Binding("down", "choose(1)", "Next", show=False, id="go.next"),
        Binding("up", "choose(-1)", "Previous", show=False, id="go.previous"),
    ]
    BEHIND = ""

    async def action_submit(self) -> None:
        """Hand over the proposal that was chosen, else what is typed."""
        self.take_chosen()
        self.dismiss_proposals()
        await super().action_submit()


class GoToScreen(Box[None]):
    """A line for a path, with what may come next below it."""

    HELP = (
        "A path to go to, absolute or relative to the selected directory. `up` and `down` "
        "choose a proposal, `tab` completes it, `enter` goes there. `PATH@OFFSET` also goes "
        "to that offset. Write special characters as `%XX`, as in the shell."
    )
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Leave", id="go.leave"),
    ]
    DEFAULT_CSS = """
    GoToScreen {
        align: center top;
        & > Vertical {
            width: 90%;
            max-width: 100;
            height: auto;
            max-height: 90%;
            margin-top: 2;
            padding: 0 1;
            border: round $primary;
            background: $surface;
        }
        & Proposals { max-height: 12; background: $surface; }
    }
    """

    _proposed: PathTarget | None = None
    """The target that the hint offers in place of the typed path: enter goes there."""

    def compose(self) -> ComposeResult:
        """The line, what may come next, and a hint."""
        path, proposals = self.explorer.path, Proposals()

        def complete(
            view_state: ViewState, typed: str, cancelled: Callable[[], bool]
        ) -> Sequence[Completion]:
            return propose(view_state, typed, directory_at(view_state, path), cancelled)

        with Vertical() as box:
            box.border_title = "go to"
            yield _PathLine(complete, proposals, value=path, placeholder="path")
            yield proposals
            yield Hint(_HINT)
        yield KeyBar()

    def on_mount(self) -> None:
        """Have what is typed take the place of the path."""
        self.line.focus()
        self.line.select_all()

    @property
    def line(self) -> CompletingInput:
        """Where the path is typed."""
        return self.query_one(CompletingInput)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say again what keys do."""
        event.stop()
        self._proposed = None
        self.query_one(Hint).say(None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the proposal that was clicked."""
        event.stop()
        self.line.take(self.line.proposals.items[event.option_index])
        self.line.focus()

    # Going.

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to what stands in the line."""
        event.stop()
        text, view_state, here = event.value, self.explorer.view_state, self.explorer.path
        if view_state is None or not text:
            self.dismiss()
            return

        def work(_job: Job) -> PathTarget:
            return follow(view_state, text, directory_at(view_state, here))

        self.explorer.jobs.start(
            f"going to {text}", work, self._arrive, owner=self, key="go", failed=self._failed,
            leads=True,
        )  # fmt: skip

    def _arrive(self, target: PathTarget) -> None:
        if target.is_topic and self._proposed != target:
            self._proposed = target
            name = self.line.value
            self.query_one(Hint).say(
                f"no such name here\n  topic {name}: {target.path}\n  hint: enter goes there"
            )
            return
        self.dismiss()
        self.explorer.go(target.path, offset=target.offset)

    def _failed(self, error: MetashellError) -> None:
        said = error_lines(error)
        if isinstance(error, PathError) and error.hint is None:
            said = [*said, f"  hint: escape, then {self._other_way()}"]
        self.query_one(Hint).say("\n".join(said))

    def _other_way(self) -> str:
        """A hint about the key that the user may have meant."""
        session = self.explorer.session
        if self.line.value.strip().isdecimal():
            return f"{session.key('time.at', '@')} goes to an offset"
        return f"{session.key('find', 'f')} finds a name in the whole tree"

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss()
