"""A line for a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from metashell.errors import MetashellError, PathError
from metashell.fs.escape import escape
from metashell.tui.asking.typed_path import PathProposal, PathTarget, directory_at, follow, propose
from metashell.tui.jobs import Job
from metashell.tui.part import AppPart
from metashell.tui.text import line

_HINT = "tab completes · enter goes · PATH@OFFSET travels · escape leaves"


class GoToScreen(AppPart, ModalScreen[None]):
    """A line for a path, with what may come next below it."""

    HELP = (
        "A path to go to, absolute or relative to the selected directory. `up` and `down` "
        "choose a proposal, `tab` completes it, `enter` goes there. `PATH@OFFSET` also goes "
        "to that offset. Write special characters as `%XX`, as in the shell."
    )
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Leave", id="go.leave"),
        Binding("tab", "complete", "Complete", id="go.complete", priority=True),
        Binding("down", "choose(1)", "Next", show=False, priority=True, id="go.next"),
        Binding("up", "choose(-1)", "Previous", show=False, priority=True, id="go.previous"),
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
        & OptionList {
            height: auto;
            max-height: 12;
            background: $surface;
        }
        & Static { height: auto; color: $text-muted; }
        & Static.-error { color: $text-error; text-style: bold; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._proposals: Sequence[PathProposal] = ()
        self._for = ""
        """The line that they are for."""
        self._cwd: str | None = None

    def compose(self) -> ComposeResult:
        """The line, what may come next, and a hint."""
        with Vertical() as box:
            box.border_title = "go to"
            path = self.explorer.path
            yield Input(path, placeholder="path", compact=True, select_on_focus=True)
            options = OptionList(compact=True, markup=False)
            options.can_focus = False
            yield options
            yield Static(_HINT, markup=False)

    # What may come next.

    def on_input_changed(self, event: Input.Changed) -> None:
        """Propose how to go on."""
        event.stop()
        self._say(_HINT)
        scene, here, typed = self.explorer.scene, self.explorer.path, event.value
        if scene is None:
            return

        def work(job: Job) -> tuple[str, list[PathProposal]]:
            cwd = self._cwd or directory_at(scene, here)
            return cwd, propose(scene, typed, cwd, job.cancelled)

        def done(found: tuple[str, list[PathProposal]]) -> None:
            self._cwd = found[0]
            self._propose(typed, found[1])

        self.explorer.jobs.start("completing", work, done, owner=self, key="complete")

    def _propose(self, typed: str, proposals: Sequence[PathProposal]) -> None:
        self._proposals, self._for = proposals, typed
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([line(proposal.shown) for proposal in proposals])
        options.display = bool(proposals)

    @property
    def proposals(self) -> Sequence[PathProposal]:
        """What may come next."""
        return self._proposals

    def action_choose(self, by: int) -> None:
        """Go to the next or previous proposal."""
        options = self.query_one(OptionList)
        if not self._proposals:
            return
        at = options.highlighted
        first = 0 if by > 0 else len(self._proposals) - 1
        options.highlighted = first if at is None else (at + by) % len(self._proposals)

    def action_complete(self) -> None:
        """Take the proposal that is chosen, else what all of them begin with."""
        typed = self.query_one(Input)
        if self._for != typed.value or not self._proposals:
            return
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._take(self._proposals[at].text)
            return
        common = _common([proposal.text for proposal in self._proposals])
        if len(common) > len(typed.value) or len(self._proposals) == 1:
            self._take(common)
        else:
            self.action_choose(1)

    def _take(self, text: str) -> None:
        typed = self.query_one(Input)
        typed.value = text
        typed.cursor_position = len(text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the proposal that was clicked."""
        event.stop()
        self._take(self._proposals[event.option_index].text)
        self.query_one(Input).focus()

    # Going.

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the proposal that is chosen, else to what was typed."""
        event.stop()
        at = self.query_one(OptionList).highlighted
        is_chosen = at is not None and self._for == event.value
        text = self._proposals[at].text if is_chosen and at is not None else event.value
        scene, here = self.explorer.scene, self.explorer.path
        if scene is None or not text:
            self.dismiss()
            return

        def work(_job: Job) -> PathTarget:
            return follow(scene, text, self._cwd or directory_at(scene, here))

        self.explorer.jobs.start(
            f"going to {text}", work, self._arrive, owner=self, key="go", failed=self._failed,
            leads=True,
        )  # fmt: skip

    def _arrive(self, target: PathTarget) -> None:
        self.dismiss()
        self.explorer.go(target.path, offset=target.offset)

    def _failed(self, error: MetashellError) -> None:
        said = error.lines("")
        if isinstance(error, PathError) and error.hint is None:
            find = self.explorer.session.keys.get("find", "f").partition(",")[0]
            said = [*said, f"  hint: escape, then {find} finds a name in the whole tree"]
        self._say("\n".join(said), is_error=True)

    def _say(self, text: str, *, is_error: bool = False) -> None:
        said = self.query_one(Static)
        said.set_class(is_error, "-error")
        said.update("\n".join(escape(part) for part in text.split("\n")))

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss()


def _common(texts: Sequence[str]) -> str:
    """What all of some texts begin with."""
    first, last = min(texts), max(texts)
    n = next((i for i, character in enumerate(first) if character != last[i : i + 1]), len(first))
    return first[:n]
