"""The line in which the beginning of a name is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from metashell.tui.part import AppPart, shown_key

if TYPE_CHECKING:
    from metashell.tui.tree.tree import NodeTree

_LABEL: Final = "jump to "
_NONE: Final = "no name contains "
"""The label if no name fits the typed text."""


class _JumpLine(Input):
    """The input for the beginning of a name."""

    BINDINGS: ClassVar = [shown_key("enter", "submit", "Stay there", "jump.stay")]


class JumpBar(AppPart, Horizontal):
    """The beginning of a name: the cursor of the tree goes there as it is typed."""

    HELP = (
        "Jumps to the first name that begins with the text, else to one that contains it, in the "
        "directory of the cursor. `up` and `down` go on from there, `enter` stays, `escape` goes "
        "back."
    )
    BINDINGS: ClassVar = [
        shown_key("escape", "drop", "Back", "jump.leave"),
        shown_key("down", "move(1)", "Next", "jump.next"),
        shown_key("up", "move(-1)", "Previous", "jump.previous"),
    ]
    DEFAULT_CSS = """
    JumpBar { height: 1; background: $surface; padding: 0 1; }
    JumpBar Label { width: auto; text-style: bold; color: $text-primary; }
    JumpBar.-none Label { color: $text-warning; }
    JumpBar Input, JumpBar Input:focus { width: 1fr; height: 1; background: $surface; }
    """

    def __init__(self, tree: NodeTree) -> None:
        super().__init__()
        self._tree = tree
        self._place = tree.place
        self._line = tree.cursor

    def compose(self) -> ComposeResult:
        """A label, and the input."""
        yield Label(_LABEL, markup=False)
        yield _JumpLine(placeholder="the name that begins with …", compact=True)

    def on_mount(self) -> None:
        """Take what is typed."""
        self.query_one(_JumpLine).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Go to the first name that fits; where none does, go back and say so."""
        event.stop()
        is_there = bool(event.value) and self._tree.jump(self._place, event.value)
        if not is_there:
            self._go_back()
        is_there = is_there or not event.value
        self.set_class(not is_there, "-none")
        self.query_one(Label).update(_LABEL if is_there else _NONE)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Stay there; where no name fits, say what finds more."""
        event.stop()
        self._end()
        if self.has_class("-none"):
            find = self.explorer.session.key("find", "f")
            where = "in this directory or above contains"
            self.explorer.tell(f"no name {where} {event.value}: {find} finds names elsewhere")

    def action_move(self, by: int) -> None:
        """Go on from there."""
        self._tree.action_move(by)

    def action_drop(self) -> None:
        """Go back to where it began."""
        self._go_back()
        self._end()

    def _go_back(self) -> None:
        self._tree.action_move(self._line - self._tree.cursor)

    def on_descendant_blur(self) -> None:
        """End where the user goes elsewhere."""
        self.remove()

    def _end(self) -> None:
        self.remove()
        self._tree.focus()
