"""The explorer: the tree on the left, the node that the cursor is on at the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal

from metashell.tui.node.node_detail import DetailMode
from metashell.tui.node.pane import MODE_KEYS, NodePane
from metashell.tui.part import quiet_key
from metashell.tui.tree.tree import NodeTree
from metashell.tui.view import View
from metashell.tui.view_state import ViewState

if TYPE_CHECKING:
    import pyarrow as pa
    from textual.timer import Timer

_LEAST_TREE: Final = 24
_SHOWN_AFTER_S: Final = 0.12
"""How long the cursor must rest before its node is shown: not each one on the way is."""


class ExplorerView(View):
    """All nodes as a tree, and one of them."""

    HELP = (
        "The tree is on the left, the selected node on the right. `tab` changes sides. `i` jumps "
        "to a name in the tree. A click on a part of the path above goes there. The mouse drags "
        "the line between both sides.\n\n"
        "The selected node. On a leaf, `v` shows its value, `V` Kafka's text, `r` the record "
        "that last changed it. `h` shows its history, that of a topic with its configs: `enter` "
        "goes to the offset of a change.\n\n"
        "On a directory, `D` switches between its description and its plain children. The "
        "keys of the tabs work from the tree too."
    )
    shows_path = True
    BINDINGS: ClassVar = [
        quiet_key("backspace", "parent", "Parent", "explorer.parent", "go to the directory above"),
        quiet_key(
            "W", "widen", "Tree width", "explorer.width", "make the tree wider, or as it was"
        ),
        quiet_key("i", "jump_to_name", "Jump to name", "tree.jump"),
        *MODE_KEYS,
    ]
    DEFAULT_CSS = """
    ExplorerView {
        & Horizontal { height: 1fr; }
        & NodeTree { width: auto; min-width: 24; }
        &.-wide NodeTree { width: 60%; }
        & NodeTree.-maximized { width: 100% !important; }
        & NodePane { width: 1fr; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._on_the_right = False
        self._has_looked = False
        """Whether the user chose a way to look at the node, and did not move in the tree since."""
        self._timer: Timer | None = None
        self._is_first = True

    def compose(self) -> ComposeResult:
        """The path, and below it both sides."""
        with Horizontal():
            yield NodeTree(self)
            yield NodePane()

    @property
    def tree_side(self) -> NodeTree:
        """The left side."""
        return self.query_one(NodeTree)

    @property
    def pane(self) -> NodePane:
        """The right side."""
        return self.query_one(NodePane)

    # Showing a view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show another view state: what is open and where the cursor is stays so."""
        if not self.query(NodeTree):
            return
        if self._is_first:
            self._is_first = False
            self.tree_side.focus()
        self._tree_to(view_state, self.explorer.path)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the tree is not where the user is, as a step back in another view leaves it."""
        return self.tree_side.path != self.explorer.path

    def _tree_to(self, view_state: ViewState, path: str) -> None:
        if path != self.tree_side.path:
            self.pane.name_path(path)
        self.tree_side.show(view_state, path)
        self._show_node()

    def show_path(self, path: str) -> None:
        """Go to a path."""
        view_state = self.explorer.view_state
        if view_state is not None and self.query(NodeTree):
            self._tree_to(view_state, path)

    def _show_node(self) -> None:
        """Show the node of the path on the right."""
        self._stop_timer()
        if self.explorer.view_state is not None:
            self.pane.show_node(self.explorer.view_state, self.explorer.path)

    def moved(self, path: str) -> None:
        """Show the node that the user went to in the tree, as soon as they rest there."""
        self.explorer.path = path
        self._has_looked = False
        self.pane.name_path(path)
        self._stop_timer()
        self._timer = self.set_timer(_SHOWN_AFTER_S, self._rested)

    def arrived(self, path: str, before: str, missing: int) -> None:
        """Show what a path led to; where it is not there, it stays the one that is wanted.

        Args:
            path: The path, as it is written if all of it is there.
            before: The path as it was asked for.
            missing: How many of its last components are not there.
        """
        if before == self.explorer.path:  # else the user went on while the tree was not seen
            self.explorer.path = path
            self.pane.name_path(path, missing)
            self._show_node()

    def chosen(self) -> None:
        """Go on at the right side with a leaf of the tree."""
        self._show_node()
        self.screen.minimize()
        self.pane.focus_content()

    def _rested(self) -> None:
        self._show_node()
        self.explorer.moved_to(self.explorer.path)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take the line between both sides."""
        if event.screen_x == self.tree_side.region.right - 1:
            event.stop()
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Give the tree the room up to the mouse, which has the line."""
        if self.app.mouse_captured is self:
            most = self.size.width - _LEAST_TREE
            wanted = max(min(event.screen_x + 1 - self.region.x, most), _LEAST_TREE)
            self.tree_side.styles.width = wanted

    def on_mouse_up(self) -> None:
        """Leave the line where it is."""
        self.release_mouse()

    # Keys.

    def action_parent(self) -> None:
        """Go to the directory above."""
        self.tree_side.action_parent()

    async def action_jump_to_name(self) -> None:
        """Go to the tree, and type the beginning of a name."""
        if not self.tree_side.is_maximized:
            self.screen.minimize()  # the right side would hide the tree
        self.tree_side.focus()
        await self.tree_side.begin_jump()

    def action_widen(self) -> None:
        """Make the tree wider, or as it was; not where it, or the node, has the whole screen."""
        if self.screen.maximized is not None:
            back = self.explorer.session.key("maximise", "z")
            self.explorer.tell(f"one part has the whole screen: {back} takes that back")
            return
        self.tree_side.styles.width = None
        self.toggle_class("-wide")

    def action_look(self, mode: str) -> None:
        """Look at the node in another way."""
        self._has_looked = True
        self.pane.look_by_key(DetailMode(mode))

    def catches_up(self) -> bool:
        """Show the node of the cursor without waiting until the user rests."""
        if self._timer is not None:
            self._rested()
        return self.pane.lead()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is for the node."""
        if action == "look":
            is_late = self._timer is not None
            return self.is_composed and (is_late or self.pane.has(str(parameters[0])))
        return super().check_action(action, parameters)

    # The interface of a view.

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Note which side is looked at; the focus also moves where a view goes out of sight."""
        if self.explorer.view is not self:
            return
        self._on_the_right = self.pane in event.widget.ancestors_with_self
        if self._on_the_right:
            self._show_node()
            self.pane.lead()

    def focus_content(self) -> None:
        """Put the focus on the side that had it."""
        if self._on_the_right:
            self.pane.focus_content()
        else:
            self.tree_side.focus()

    @property
    def filtered(self) -> str:
        """The rows on the right, or the names of one directory."""
        tree = self.tree_side
        if self._filters_pane:
            return super().filtered
        return f"names in {tree.outline.path_of(tree.place)}; f searches everywhere"

    def filter_by(self, text: str) -> None:
        """Filter the table on the right if it is looked at, else the directory at hand."""
        if self._filters_pane:
            self.pane.filter_by(text)
        else:
            self.tree_side.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """The filter that holds there."""
        return self.pane.filter_text if self._filters_pane else self.tree_side.filter_text

    def keep_filter(self) -> None:
        """Take the filter as it is typed now."""
        super().keep_filter()
        self.tree_side.keep_filter()

    def drop_filter(self) -> str:
        """Drop the filter of the side that is looked at, else that of the other one."""
        pane, tree = self.pane, self.tree_side
        for side in (pane, tree) if self._on_the_right else (tree, pane):
            if text := side.drop_filter():
                self.keep_filter()
                return text
        return ""

    @property
    def _filters_pane(self) -> bool:
        is_looked_at = self._on_the_right or self._has_looked
        return is_looked_at and self.pane.filter_text is not None

    @property
    def can_export(self) -> bool:
        """The rows of a directory or of a history, and of a node that is not read yet."""
        return self.is_composed and (self._timer is not None or self.pane.can_export)

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The tables of the node."""
        return self.pane.tables()

    def copyable(self) -> tuple[str, str] | None:
        """The kind and the text of the node's content."""
        return self.pane.copyable()
