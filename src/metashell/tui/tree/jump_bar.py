"""The line in which the beginning of a name is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.widgets import Input

if TYPE_CHECKING:
    from metashell.tui.tree.tree import NodeTree


class JumpBar(Input):
    """The beginning of a name: the cursor of the tree goes there as it is typed."""

    HELP = (
        "Jumps to the first name that begins with the text, in the directory of the cursor. "
        "`up` and `down` go on from there, `enter` stays, `escape` goes back."
    )
    BINDINGS: ClassVar = [
        Binding("escape", "drop", "Back", show=False, id="jump.leave"),
        Binding("down", "move(1)", "Next", show=False, id="jump.next"),
        Binding("up", "move(-1)", "Previous", show=False, id="jump.previous"),
    ]
    DEFAULT_CSS = """
    JumpBar { height: 1; }
    JumpBar.-none { text-style: underline; color: $text-warning; }
    """

    def __init__(self, tree: NodeTree) -> None:
        super().__init__(placeholder="jump to the name that begins with …", compact=True)
        self._tree = tree
        self._place = tree.place
        self._line = tree.cursor_line

    def on_mount(self) -> None:
        """Take what is typed."""
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Go to the first name that begins so; where none does, stay and say so."""
        event.stop()
        is_there = not event.value or self._tree.jump(self._place, event.value)
        self.set_class(not is_there, "-none")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Stay there."""
        event.stop()
        self._end()

    def action_move(self, by: int) -> None:
        """Go on from there."""
        self._tree.action_move(by)

    def action_drop(self) -> None:
        """Go back to where it began."""
        self._tree.action_move(self._line - self._tree.cursor_line)
        self._end()

    def on_blur(self) -> None:
        """End where the user goes elsewhere."""
        self.remove()

    def _end(self) -> None:
        self.remove()
        self._tree.focus()
