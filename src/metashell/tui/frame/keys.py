"""The keys of the whole program; each part has its own beside them.

The id of a binding is what the configuration file calls it.
"""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from metashell.tui.view import VIEWS

KEYS: Final = (
    *(
        Binding(spec.key, f"view('{spec.id}')", spec.title, show=False, id=f"view.{spec.id}")
        for spec in VIEWS
    ),
    Binding("question_mark,f1", "help", "Help", id="help"),
    Binding("colon", "command_line", "Command", id="command"),
    Binding("slash", "filter", "Filter", id="filter"),
    Binding("f", "find", "Find", id="find"),
    Binding("g", "go_to", "Go to", id="go"),
    Binding("R", "relations", "Neighbours", show=False, id="relations"),
    Binding("q", "quit", "Quit", id="quit"),
    Binding(
        "ctrl+c,super+c",
        "interrupt",
        "Interrupt or copy",
        show=False,
        id="interrupt",
        priority=True,
    ),
    Binding("ctrl+z", "suspend_process", "Suspend", show=False, id="suspend", priority=True),
    Binding("escape", "cancel", "Cancel", show=False, id="cancel"),
    Binding("alt+left", "place_back", "Back", show=False, id="back"),
    Binding("alt+right", "place_forward", "Forward", show=False, id="forward"),
    Binding("x", "export", "Export", show=False, id="export"),
    Binding("y", "copy_path", "Copy path", show=False, id="copy.path"),
    Binding("Y", "copy_value", "Copy value", show=False, id="copy.value"),
    Binding("z", "maximise", "Maximise", show=False, id="maximise"),
    Binding("ctrl+l", "redraw", "Draw again", show=False, id="redraw"),
    Binding("f2", "screenshot_file", "Screenshot", show=False, id="screenshot"),
    Binding("p", "pause", "Pause", show=False, id="live.pause"),
    Binding("left_square_bracket", "step(-1)", "Earlier", show=False, id="time.earlier"),
    Binding("right_square_bracket", "step(1)", "Later", show=False, id="time.later"),
    Binding("at", "travel_to", "At", show=False, id="time.at"),
    Binding("E", "travel_end", "Newest", show=False, id="time.end"),
    Binding("t", "timeline", "Timeline", show=False, id="time.focus"),
    Binding("space", "play", "Play", show=False, id="time.play"),
    Binding(
        "left_curly_bracket", "jump('node', -1)", "Change before", show=False, id="node.earlier"
    ),
    Binding("right_curly_bracket", "jump('node', 1)", "Change after", show=False, id="node.later"),
    Binding(
        "less_than_sign",
        "jump('leader', -1)",
        "Election before",
        show=False,
        id="leader.earlier",
    ),
    Binding(
        "greater_than_sign",
        "jump('leader', 1)",
        "Election after",
        show=False,
        id="leader.later",
    ),
    Binding(
        "left_parenthesis", "jump('fault', -1)", "Fault before", show=False, id="fault.earlier"
    ),
    Binding("right_parenthesis", "jump('fault', 1)", "Fault after", show=False, id="fault.later"),
    Binding("comma", "jump('state', -1)", "Worse before", show=False, id="state.earlier"),
    Binding("full_stop", "jump('state', 1)", "Worse after", show=False, id="state.later"),
    Binding("b", "bookmark", "Bookmark", show=False, id="bookmark"),
    Binding("B", "bookmarks", "Bookmarks", show=False, id="bookmarks"),
    Binding("o", "open_in('pager')", "Pager", show=False, id="open.pager"),
    Binding("e", "open_in('editor')", "Editor", show=False, id="open.editor"),
)
"""What can be pressed anywhere but in a line that is typed."""
