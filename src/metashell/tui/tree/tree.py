"""The tree of nodes: an `Outline` on the screen, whose directories are listed in jobs.

Textual's own tree makes an object for each node, which a directory of 100,000 topics can't afford:
this one draws the lines that can be seen, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from metashell.errors import MetashellError
from metashell.tui.jobs import Job
from metashell.tui.lines import LineList, SeenFacts, moving_keys, over_widget, show_filter
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.text import error_text
from metashell.tui.tree.jump_bar import JumpBar
from metashell.tui.tree.listing import ChangedNodes, TreeDetail, list_tree
from metashell.tui.tree.outline import (
    LOADING,
    MARK,
    ROOT,
    NodeKey,
    Outline,
    TreeLine,
    arrow_columns,
    draw_line,
    width_of,
)

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState
    from metashell.tui.views.explorer import ExplorerView


_MOST: Final = 0.34
"""Part of the screen that the tree takes, unless the user wants it wider."""


class NodeTree(LineList):
    """The file system as a tree.

    `show` has it show a view state and a path.

    Args:
        view: The view, which is told where the user went, where a path led to, and that a leaf was
            taken with Enter.
    """

    HELP = (
        "The tree of all nodes. `up` `down` `page up` `page down` `home` `end` move.\n\n"
        "- `right` or `enter` opens a directory\n"
        "- `left` closes it, or goes to the parent; `backspace` always goes to the parent\n"
        "- `enter` on a leaf, or `tab`, goes to the right side\n"
        "- `/` shows only names that contain a text, in the same directory\n"
        "- `W` makes the tree wider, `z` gives it the whole screen\n\n"
        f"`{MARK}` marks changes since the previous stop in time."
    )
    BINDINGS: ClassVar = [
        *moving_keys("tree"),
        shown_key("enter", "choose", "Open", "tree.open"),
        quiet_key("right,l", "into", "Open", "tree.into"),
        quiet_key("left", "out", "Close", "tree.out"),
        quiet_key("backspace", "parent", "Parent", "tree.parent"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"node-tree--{part}" for part in ("cursor", "directory", "guide", "mark", "note")
    }
    DEFAULT_CSS = """
    NodeTree {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .node-tree--directory { text-style: bold; }
        & > .node-tree--guide { color: $text-muted; }
        & > .node-tree--note { color: $text-muted; text-style: italic; }
        & > .node-tree--mark { color: $text-warning; text-style: bold; }
        & > .node-tree--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
            text-style: underline;
        }
        &:focus > .node-tree--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
        &:focus:nocolor > .node-tree--cursor { text-style: bold reverse; }
    }
    """

    def __init__(self, view: ExplorerView) -> None:
        super().__init__()
        self._view = view
        self.outline: Final = Outline()
        """The tree's lines."""
        self.outline.wanted["image",] = ""
        self._view_state: ViewState | None = None
        """The view state whose nodes are drawn."""
        self._next: ViewState | None = None
        """The one asked for last."""
        self.path = "/"
        """The path that the user wants to be at; it may not be there in this view state."""
        self._listing: Job | None = None
        self._typed_for: NodeKey | None = None
        """The directory for which a filter is being typed: matches in others take the cursor."""
        self._marks = SeenFacts[NodeKey, bool](self, self._marked_keys)
        self._needed = 0
        """Columns that the widest line took that was seen: a tree that narrows moves the rest."""

    # Showing a view state and a path.

    @property
    def line(self) -> TreeLine:
        """The line that the cursor is on."""
        return self.outline.line(self.cursor)

    @property
    def place(self) -> NodeKey:
        """The directory at hand: the open one that the cursor is on, else the one it is in."""
        line = self.line
        return line.key if line.is_open else line.place

    def show(self, view_state: ViewState, path: str) -> None:
        """Show a view state, with the cursor at a path; what is open stays open."""
        is_led = self._is_looking and self._listing is not None and self._listing.leads
        leads = self._view_state is None or path != self.path or is_led
        self.path, self._next = path, view_state
        self._list(leads=leads)

    def _list(self, *, leads: bool, narrowed: NodeKey | None = None) -> None:
        """Look up the directories to open that are not listed as they are asked for.

        Args:
            leads: Whether the keys typed meanwhile are for the names.
            narrowed: The directory whose filter changed, if one did.
        """
        view_state, path, wanted = self._next, self.path, dict(self.outline.wanted)
        assert view_state is not None
        is_same = view_state is self._view_state
        known = self.outline.listed() if is_same else ()

        def work(job: Job) -> tuple[TreeDetail, ChangedNodes | None]:
            found = list_tree(view_state.root, path, wanted, known, job.cancelled)
            return found, None if is_same else ChangedNodes(view_state)

        def done(found: tuple[TreeDetail, ChangedNodes | None]) -> None:
            self._listed(view_state, path, *found, narrowed=narrowed)

        def failed(error: MetashellError) -> None:
            self.gave_up("look")
            self.explorer.tell(error_text(error), "error")

        self._listing = self.explorer.jobs.start(
            f"listing {path}", work, done, owner=self, key="look", failed=failed, leads=leads
        )

    def gave_up(self, key: str) -> None:
        """Close the directories that were to be listed; show names as before a filter."""
        for unlisted in self.outline.unlisted():
            listing = self.outline.listing(unlisted)
            if listing is None:
                self.close_at(unlisted)
            else:
                self.outline.wanted[unlisted] = listing.text

    def _listed(
        self,
        view_state: ViewState,
        path: str,
        found: TreeDetail,
        changes: ChangedNodes | None,
        *,
        narrowed: NodeKey | None,
    ) -> None:
        at, anchor, outline, before = self.line, self._anchor(), self.outline, self.path
        is_opened = at.key in found.listings and at.key in outline.unlisted()
        for n in range(len(found.key)):
            outline.wanted.setdefault(found.key[:n], "")
        if view_state is not self._view_state:
            self._view_state = view_state
            self._marks.begin(None if changes is None else changes.marks)
            outline.retarget(found.listings)
        for key in sorted(found.listings, key=len):
            if key in outline.wanted:
                outline.open(key, found.listings[key])
        for key in found.leaves:
            outline.close(key)
        key = self._goal_key(path, found, anchor)
        self._resize()
        line = outline.nearest(key)
        if narrowed is not None and (at.note or outline.line(line).key != at.key):
            # Still within the directory: that is what the filter goes on with.
            line = outline.nearest(narrowed) + 1
        self._keep_on_screen(anchor, line)
        self._put(line, tell=narrowed is not None)
        if is_opened and at.key == key:
            self._reveal(line, len(found.listings[key].names))
        if outline.unlisted():
            self._list(leads=self._listing is not None and self._listing.leads)
        self._view.arrived(self.path, before, len(found.missing))

    def _goal_key(self, path: str, found: TreeDetail, anchor: tuple[NodeKey, int]) -> NodeKey:
        """Where the cursor goes when a path was followed."""
        if self.path != path:  # the user went elsewhere meanwhile
            return anchor[0]
        if not found.missing:
            self.path = self.outline.path_of(found.key)
        return found.key

    def _anchor(self) -> tuple[NodeKey, int]:
        """The cursor's node, and how far below the top of the screen it stands."""
        return self.line.key, self.cursor - self.scroll_offset.y

    def _keep_on_screen(self, anchor: tuple[NodeKey, int], line: int) -> None:
        """Scroll so that the cursor's line, which may have another number now, stands still."""
        is_seen = 0 <= anchor[1] < self.size.height
        if is_seen and self.outline.line(line).key == anchor[0]:
            self.scroll_to_line(line - anchor[1])

    # Opening and closing.

    def open_at(self, key: NodeKey) -> None:
        """Open a directory: its names come as soon as they are known."""
        if not self.outline.is_open(key) and self.outline.open(key):
            self._resize()
            self._list(leads=True)

    def close_at(self, key: NodeKey) -> None:
        """Close a directory; the root stays open."""
        if key != ROOT:
            at = self.line
            self.outline.close(key)
            self._resize()
            self._put(self.outline.nearest(at.key), tell=at.key != key)

    def _reveal(self, line: int, n_below: int) -> None:
        """Have some of what was opened be seen: up to half of the screen of it."""
        height = self.size.height
        last = line + min(max(n_below, 1), height // 2)
        if last >= self.scroll_offset.y + height:
            self.scroll_to_line(last - height + 1)

    # The filter.

    @property
    def filter_text(self) -> str:
        """The filter of the directory at hand; empty for none."""
        return self.outline.wanted.get(self.place, "")

    def filter_by(self, text: str) -> None:
        """Show only those names of the directory at hand that contain a text, as it is typed."""
        if self._typed_for is None:
            self._typed_for = self.place
        self._narrow(self._typed_for, text)

    def keep_filter(self) -> None:
        """Take the text as it is typed now: the next one is for the directory at hand then."""
        self._typed_for = None

    def drop_filter(self) -> str:
        """Drop the filter of the directory at hand, else of one above it, else of any.

        Returns:
            The filter that held; empty where no directory has one.
        """
        texts, key = self.outline.filters(), self.outline.filtered_around(self.place)
        if key is None:
            key = max(texts, key=len, default=None)
        if key is None:
            return ""
        self._narrow(key, "")
        return texts[key]

    def _narrow(self, key: NodeKey, text: str) -> None:
        if self.outline.is_open(key):
            self.outline.wanted[key] = text
            self._list(leads=False, narrowed=key)

    def _show_filter(self) -> None:
        """Say which filter holds where the cursor is."""
        key = self.outline.filtered_around(self.place)
        listing = None if key is None else self.outline.listing(key)
        if listing is None:
            show_filter(self, "", 0, 0)
        else:
            show_filter(self, listing.text, len(listing.names), listing.n_all)

    # Moving.

    @property
    def n_lines(self) -> int:
        """The lines of open directories."""
        return self.outline.n_lines

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a line, and tell where the user went."""
        if self._view_state is not None:
            self._put(min(max(line, 0), self.n_lines - 1), tell=True)

    def action_choose(self) -> None:
        """Open or close a directory; go to the right side with anything else."""
        line = self._line_or_look()
        if line is None or line.note:
            return
        if line.is_open:
            self.close_at(line.key)
        elif line.is_dir:
            self.open_at(line.key)
        else:
            self._view.chosen()

    def action_into(self) -> None:
        """Open a directory; in an open one go to the first node."""
        line = self._line_or_look()
        if line is None:
            return
        if line.is_open:
            self.go_to_line(self.cursor + 1)
        elif line.is_dir:
            self.open_at(line.key)

    def action_out(self) -> None:
        """Close a directory; with anything else go to the directory above."""
        if self.line.is_open:
            self.close_at(self.line.key)
        else:
            self.action_parent()

    def action_parent(self) -> None:
        """Go to the directory above."""
        if self.cursor:
            self.go_to_line(self.outline.nearest(self.line.place))

    async def begin_jump(self) -> None:
        """Have the beginning of a name typed."""
        if not self.explorer.query(JumpBar):
            await self.explorer.mount(JumpBar(self), before="StatusLine")

    def jump(self, key: NodeKey, text: str) -> bool:
        """Go to the first name that begins with a text, else contains it.

        It is looked for in an open directory, then in those that this one is in.

        Returns:
            Whether there is one.
        """
        outline = self.outline
        for n in range(len(key), -1, -1):
            name = outline.first_like(key[:n], text)
            line = None if name is None else outline.line_of((*key[:n], name))
            if line is not None:
                self.go_to_line(line)
                return True
        return False

    def _line_or_look(self) -> TreeLine | None:
        """The line of the cursor; where listing was cancelled, begin it again."""
        is_old = self._next is not self._view_state
        if self._next is not None and is_old and not self._is_looking:
            self.show(self._next, self.path)
            return None
        return self.line

    @property
    def _is_looking(self) -> bool:
        return self.explorer.jobs.goes_on(self._listing)

    def _put(self, line: int, *, tell: bool = False, scroll: bool = True) -> None:
        """Put the cursor on a line; `tell` where the user went there."""
        self.put_cursor(line)
        self._show_filter()
        if scroll:
            self.show_cursor()
        if tell:
            path = self.outline.path_of(self.outline.line(line).key)
            if path != self.path:
                self.path = path
                self._view.moved(path)

    def on_resize(self) -> None:
        """Keep the cursor on the screen."""
        self._take_lines()
        self.show_cursor()

    def _resize(self) -> None:
        """Draw that there are more lines or fewer."""
        self.refresh()
        self._take_lines()

    def _take_lines(self) -> None:
        """Take over that there are more lines or fewer."""
        self.cursor = min(self.cursor, self.n_lines - 1)
        self.virtual_size = Size(1, self.n_lines)
        self._show_filter()
        self._come_into_sight()

    def takes_at(self, line: int, column: int) -> bool:
        """Whether a directory's arrow stands there: it opens and closes with one click."""
        return column in arrow_columns(self.outline.line(line))

    # Marks.

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for the marks of what comes into sight."""
        super().watch_scroll_y(old_value, new_value)
        # Textual tells its bar only while it is shown, and it may be shown next.
        self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self._come_into_sight()

    def _come_into_sight(self) -> None:
        """Ask for the marks of what can be seen, and tell how wide it is."""
        self._marks.ask()
        needed = max(map(width_of, self.visible_lines()), default=0)
        if needed > self._needed:
            self._needed = needed
            self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Columns for the names that were seen and the scroll bar, up to a third of the screen."""
        return min(self._needed + 1, int(container.width * _MOST) - self.gutter.width)

    def is_marked(self, key: NodeKey) -> bool:
        """Whether a node is known to have changed since the previous stop."""
        return self._marks.known.get(key, False)

    def _marked_keys(self) -> Iterator[NodeKey]:
        """The nodes on the screen, which may have a mark."""
        return (line.key for line in self.visible_lines() if line.depth and not line.note)

    def visible_lines(self) -> Iterator[TreeLine]:
        """The lines on the screen."""
        return map(self.outline.line, self.seen)

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen."""
        # A line that is too long ends before the scroll bar, which is drawn over the widget.
        width = self.scrollable_content_region.width or self.size.width
        at, style = y + self.scroll_offset.y, self.rich_style
        if at >= self.n_lines:
            return Strip.blank(width, style)
        line, is_cursor = self.outline.line(at), at == self.cursor
        if line.note == LOADING and self._next is not None and not self._is_looking:
            line = replace(line, note="cancelled: enter lists again")
        if is_cursor:
            style = self.get_component_rich_style("node-tree--cursor")

        def part(name: str) -> Style:
            # The cursor has one colour that can be read on its background.
            return Style.null() if is_cursor else over_widget(self, name)

        return draw_line(line, self.is_marked(line.key) and not line.note, style, part, width)
