"""Ways to another place: a path, an offset or a time, and the bookmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from metashell.commands.framework.command import Completion
from metashell.errors import MetashellError, PathError
from metashell.tui.frame.box import ListBox
from metashell.tui.moving import Arrival
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.remembered import VisitedNode
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.prompt import Prompt
from metashell.tui.screens.typed_path import PathTarget, follow, propose
from metashell.tui.text import error_lines, line
from metashell.tui.view_state import directory_at

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState


class _PathLine(CompletingInput):
    """The line; what is chosen is gone to at once."""

    BEHIND = ""

    async def action_submit(self) -> None:
        """Hand over the proposal that was chosen, else what is typed."""
        self.take_chosen()
        self.dismiss_proposals()
        await super().action_submit()


class GoToScreen(Prompt[None]):
    """A line for a path, with what may come next below it."""

    HELP = (
        "A path to go to, absolute or relative to the selected directory. `up` and `down` "
        "choose a proposal, `tab` completes it, `enter` goes there. `PATH@OFFSET` also goes "
        "to that offset. Write special characters as `%XX`, as in the shell."
    )
    TITLE = "go to"
    HINT = "tab completes · enter goes · PATH@OFFSET travels · escape goes back"

    _proposed: PathTarget | None = None
    """The target that the hint offers in place of the typed path: enter goes there."""

    def make_line(self) -> Input:
        """The path looked at."""
        path = self.explorer.path

        def complete(
            view_state: ViewState, typed: str, cancelled: Callable[[], bool]
        ) -> Sequence[Completion]:
            return propose(view_state, typed, directory_at(view_state, path), cancelled)

        return _PathLine(complete, value=path, placeholder="path")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer nothing in place of it any more."""
        self._proposed = None

    def submit(self, text: str) -> None:
        """Go to what stands in the line."""
        view_state, here = self.explorer.view_state, self.explorer.path
        if view_state is not None:
            self.work(
                f"going to {text}",
                lambda _: follow(view_state, text, directory_at(view_state, here)),
                self._arrive,
            )

    def _arrive(self, target: PathTarget) -> None:
        if target.is_topic and self._proposed != target:
            self._proposed = target
            name = self.line.value
            self.say(f"no such name here\n  topic {name}: {target.path}\n  hint: enter goes there")
            return
        self.dismiss()
        self.explorer.go(target.path, offset=target.offset)

    def failed(self, error: MetashellError) -> None:
        """Tell what is wrong, and which key may have been meant."""
        said = error_lines(error)
        if isinstance(error, PathError) and error.hint is None:
            said = [*said, f"  hint: escape, then {self._other_way()}"]
        self.say("\n".join(said))

    def _other_way(self) -> str:
        """A hint about the key that the user may have meant."""
        session = self.explorer.session
        if self.line.value.strip().isdecimal():
            return f"{session.key('time.at', '@')} goes to an offset"
        return f"{session.key('find', 'f')} finds a name in the whole tree"


class MomentScreen(Prompt[Arrival]):
    """A line for an offset or a time; gives what is there."""

    HELP = "Type an offset, a time or an age: `enter` goes there, `escape` goes back."
    TITLE = "go to an offset or a time"
    HINT = "an offset, a time (2026-11-21T08:28Z), an age (-2h before the last record)"

    def make_line(self) -> Input:
        """An empty line."""
        return Input(compact=True)

    def submit(self, text: str) -> None:
        """Look for what was typed; where it is wrong, it stays to be mended."""
        arrive = self.explorer.way_to(text)
        self.work(f"going to {text}", lambda _: arrive(), self.dismiss)


_NONE: Final = "no bookmark yet: `b` keeps the selected node with its offset"


class BookmarksScreen(ListBox[None]):
    """The bookmarks and the recent places, of which one can be gone to."""

    HELP = (
        "The bookmarks, and below them the recent places. `enter` goes to the same path and "
        "offset. `delete` forgets a bookmark, `b` keeps one."
    )
    TITLE = "bookmarks"
    ENTER = "Go to node"
    BINDINGS: ClassVar = [
        quiet_key("B", "leave", "Back", "bookmarks.leave"),
        shown_key("delete", "forget", "Forget", "bookmarks.forget"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[VisitedNode | None] = []
        """The place of each line of the list; None for headings."""

    def on_mount(self) -> None:
        """List the places."""
        self._list(0)

    @property
    def chosen(self) -> VisitedNode | None:
        """The place that the cursor is on."""
        at = self.choices.highlighted
        return None if at is None else self._shown[at]

    def _list(self, at: int) -> None:
        places = self.explorer.places
        options = self.choices
        options.clear_options()
        self._shown = []
        self._heading("bookmarks" if places.bookmarks else _NONE)
        for place in places.bookmarks:
            self._add(place)
        recent = places.recent()
        if recent:
            self._heading("recent")
        for place in recent:
            self._add(place)
        can_be = [i for i, place in enumerate(self._shown) if place is not None]
        options.highlighted = min(can_be, key=lambda i: abs(i - at), default=None)
        options.focus()

    def _heading(self, text: str) -> None:
        self._shown.append(None)
        self.choices.add_option(Option(line(text), disabled=True))

    def _add(self, place: VisitedNode) -> None:
        self._shown.append(place)
        offset = "" if place.offset is None else f" @{place.offset}"
        shown = Content.assemble("  ", line(place.path), (offset, "bold"))
        self.choices.add_option(Option(shown))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the place."""
        event.stop()
        place = self._shown[event.option_index]
        if place is not None:
            self.dismiss()
            self.explorer.visit(place)

    def action_forget(self) -> None:
        """Forget the bookmark that the cursor is on."""
        at, place = self.choices.highlighted, self.chosen
        bookmarks = self.explorer.places.bookmarks
        if at is not None and place is not None and at <= len(bookmarks):
            bookmarks.remove(place)
            self.explorer.keep_bookmarks()
            self._list(at)
