"""The keys of the whole program; each part has its own beside them.

The id of a binding is what the configuration file calls it.
"""

from __future__ import annotations

from typing import Final

from metashell.tui.part import quiet_key, shown_key
from metashell.tui.view import VIEWS

CANCEL: Final = "cancel"
"""Id and action of the key that takes back."""
_INTERRUPT: Final = "copy the selected text, else stop the newest job, else copy the row"
_SUSPEND: Final = "go to the system's shell; fg comes back"
_WORSE: Final = "where more partitions go offline or under-replicated"
KEYS: Final = (
    *(
        quiet_key(
            spec.key,
            f"view('{spec.id}')" if spec.key.isdecimal() else spec.id,
            *(spec.title, f"view.{spec.id}", spec.told),
        )
        for spec in VIEWS
    ),
    shown_key("d", "describe", "Describe", "describe", "all of a topic, broker, group or user"),
    shown_key("?,f1", "help", "Help", "help", "keys and help of the focused part"),
    shown_key(":", "command_line", "Command", "command", "run a command; > writes to a file"),
    quiet_key("S", "sql", "SQL", "sql", "type SQL in several lines, beside the tables"),
    shown_key("/", "filter", "Filter", "filter", "show only what contains a text"),
    shown_key("f", "find", "Find", "find", "search names, or nodes by tests"),
    shown_key("g", "go_to", "Go to", "go", "type a path to go to"),
    shown_key("R", "relations", "Neighbours", "relations", "nodes that belong to the node"),
    shown_key("q", "quit", "Quit", "quit", "leave the explorer"),
    quiet_key("ctrl+c,super+c", "interrupt", "Interrupt", "interrupt", _INTERRUPT, priority=True),
    quiet_key("ctrl+z", "suspend_process", "Suspend", "suspend", _SUSPEND, priority=True),
    quiet_key("escape", CANCEL, "Cancel", "cancel", "stop a job, drop the filter, or go back"),
    quiet_key("alt+left", "place_back", "Back", "back", "go to the place before"),
    quiet_key("alt+right", "place_forward", "Forward", "forward", "go to the place that was left"),
    shown_key(
        "x", "export", "Export", "export", "to a file: csv, tsv, json, jsonl, yaml, parquet, arrow"
    ),
    quiet_key("y", "copy_path", "Copy path", "copy.path", "put the path on the clipboard"),
    quiet_key("Y", "copy_value", "Copy value", "copy.value", "the value, record, row or command"),
    quiet_key("z", "maximise", "Maximise", "maximise", "give the part the whole screen, or not"),
    quiet_key("ctrl+l", "redraw", "Draw again", "redraw", "where a program wrote over the screen"),
    quiet_key("f2", "screenshot_file", "Picture", "screenshot", "write the screen to a file"),
    quiet_key("p", "pause", "Pause", "live.pause", "stop following a live source, or go on"),
    quiet_key("[", "step(-1)", "Batch before", "time.earlier", "the batch of changes before"),
    quiet_key("]", "step(1)", "Batch after", "time.later", "the batch of changes after"),
    shown_key("=", "changes", "What changed", "time.changes", "since the previous stop"),
    quiet_key("@", "travel_to", "Go to time", "time.at", "travel to an offset or a time"),
    quiet_key("E", "travel_end", "Newest state", "time.end", "travel to the end of the log"),
    quiet_key("t", "timeline", "Timeline", "time.focus", "move along the log, in time"),
    quiet_key("space", "play", "Play", "time.play", "play the log like a recording"),
    quiet_key("{", "jump('node', -1)", "Change before", "node.earlier", "of the node"),
    quiet_key("}", "jump('node', 1)", "Change after", "node.later", "of the node"),
    quiet_key("<", "jump('leader', -1)", "Election before", "leader.earlier", "a change of leader"),
    quiet_key(">", "jump('leader', 1)", "Election after", "leader.later", "a change of leader"),
    quiet_key("(", "jump('fault', -1)", "Fault before", "fault.earlier", "in the log's files"),
    quiet_key(")", "jump('fault', 1)", "Fault after", "fault.later", "in the log's files"),
    quiet_key("comma", "jump('state', -1)", "Worse before", "state.earlier", _WORSE),
    quiet_key(".", "jump('state', 1)", "Worse after", "state.later", _WORSE),
    quiet_key("b", "bookmark", "Bookmark", "bookmark", "keep the place, or forget it"),
    quiet_key("B", "bookmarks", "Bookmarks", "bookmarks", "list kept places"),
    quiet_key("o", "open_in('pager')", "Pager", "open.pager", "show the value in your pager"),
    quiet_key("e", "open_in('editor')", "Editor", "open.editor", "show the value in your editor"),
)
"""The keys that work everywhere except in an input line."""
