"""The keys of the whole program; each part has its own beside them.

The id of a binding is what the configuration file calls it.
"""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from metashell.tui.view import VIEWS

CANCEL: Final = "cancel"
"""Id and action of the key that takes back."""
MAXIMISE: Final = "maximise"
"""Id and action of the key that gives a part the whole screen."""
RESTORE: Final = "Restore size"
"""The name of that key while a part has the whole screen."""
KEYS: Final = (
    *(
        Binding(spec.key, f"view('{spec.id}')", spec.title, show=False, id=f"view.{spec.id}")
        for spec in VIEWS
        if spec.key.isdecimal()
    ),
    Binding(
        "T",
        "topic",
        "Topic",
        show=False,
        id="view.topic",
        tooltip="all of the topic of the row: findings, partitions, configs, ACLs, groups, changes",
    ),
    Binding(
        "question_mark,f1", "help", "Help", id="help", tooltip="keys and help of the focused part"
    ),
    Binding(
        "colon",
        "command_line",
        "Command",
        id="command",
        tooltip="run a command of the shell, write its output to a file with >",
    ),
    Binding(
        "S",
        "sql",
        "SQL",
        show=False,
        id="sql",
        tooltip="type SQL in several lines, beside the tables",
    ),
    Binding("slash", "filter", "Filter", id="filter", tooltip="show only what contains a text"),
    Binding("f", "find", "Find", id="find", tooltip="search names, or nodes by tests"),
    Binding("g", "go_to", "Go to", id="go", tooltip="type a path to go to"),
    Binding(
        "R",
        "relations",
        "Neighbours",
        id="relations",
        tooltip="related nodes: topic, configs, partitions, ACLs, quotas",
    ),
    Binding("q", "quit", "Quit", id="quit", tooltip="leave the explorer"),
    Binding(
        "ctrl+c,super+c",
        "interrupt",
        "Interrupt or copy",
        show=False,
        id="interrupt",
        tooltip="copy the selected text, else stop the newest job, else copy the row",
        priority=True,
    ),
    Binding(
        "ctrl+z",
        "suspend_process",
        "Suspend",
        show=False,
        id="suspend",
        tooltip="go to the system's shell; fg comes back",
        priority=True,
    ),
    Binding(
        "escape",
        CANCEL,
        "Cancel",
        show=False,
        id="cancel",
        tooltip="stop the newest job, drop the filter, or go back",
    ),
    Binding(
        "alt+left", "place_back", "Back", show=False, id="back", tooltip="go to the place before"
    ),
    Binding(
        "alt+right",
        "place_forward",
        "Forward",
        show=False,
        id="forward",
        tooltip="go to the place that was left",
    ),
    Binding(
        "x",
        "export",
        "Export",
        id="export",
        tooltip="save the table to a file: csv, tsv, json, jsonl, yaml, parquet, arrow",
    ),
    Binding(
        "y",
        "copy_path",
        "Copy path",
        show=False,
        id="copy.path",
        tooltip="put the path on the clipboard",
    ),
    Binding(
        "Y",
        "copy_value",
        "Copy value",
        show=False,
        id="copy.value",
        tooltip="put the value or row on the clipboard",
    ),
    Binding(
        "z",
        MAXIMISE,
        "Maximise",
        show=False,
        id=MAXIMISE,
        tooltip="give the part the whole screen, or take it back",
    ),
    Binding(
        "ctrl+l",
        "redraw",
        "Draw again",
        show=False,
        id="redraw",
        tooltip="where another program wrote over the screen",
    ),
    Binding(
        "f2",
        "screenshot_file",
        "Screenshot",
        show=False,
        id="screenshot",
        tooltip="save the screen as SVG, a picture",
    ),
    Binding(
        "p",
        "pause",
        "Pause",
        show=False,
        id="live.pause",
        tooltip="stop following a live source, or go on",
    ),
    Binding(
        "left_square_bracket",
        "step(-1)",
        "Earlier",
        show=False,
        id="time.earlier",
        tooltip="travel to the previous batch with a change",
    ),
    Binding(
        "right_square_bracket",
        "step(1)",
        "Later",
        show=False,
        id="time.later",
        tooltip="travel to the next batch with a change",
    ),
    Binding(
        "equals_sign",
        "changes",
        "What changed",
        id="time.changes",
        tooltip="list what changed since the previous stop, from what to what",
    ),
    Binding(
        "at", "travel_to", "At", show=False, id="time.at", tooltip="travel to an offset or a time"
    ),
    Binding(
        "E",
        "travel_end",
        "Newest",
        show=False,
        id="time.end",
        tooltip="travel to the end of the log",
    ),
    Binding(
        "t",
        "timeline",
        "Timeline",
        show=False,
        id="time.focus",
        tooltip="move along the log, in time",
    ),
    Binding(
        "space", "play", "Play", show=False, id="time.play", tooltip="play the log like a recording"
    ),
    Binding(
        "left_curly_bracket",
        "jump('node', -1)",
        "Change before",
        show=False,
        id="node.earlier",
        tooltip="travel to the previous change of the node",
    ),
    Binding(
        "right_curly_bracket",
        "jump('node', 1)",
        "Change after",
        show=False,
        id="node.later",
        tooltip="travel to the next change of the node",
    ),
    Binding(
        "less_than_sign",
        "jump('leader', -1)",
        "Election before",
        show=False,
        id="leader.earlier",
        tooltip="travel to the previous change of leader",
    ),
    Binding(
        "greater_than_sign",
        "jump('leader', 1)",
        "Election after",
        show=False,
        id="leader.later",
        tooltip="travel to the next change of leader",
    ),
    Binding(
        "left_parenthesis",
        "jump('fault', -1)",
        "Fault before",
        show=False,
        id="fault.earlier",
        tooltip="travel to the previous fault in the log",
    ),
    Binding(
        "right_parenthesis",
        "jump('fault', 1)",
        "Fault after",
        show=False,
        id="fault.later",
        tooltip="travel to the next fault in the log",
    ),
    Binding(
        "comma",
        "jump('state', -1)",
        "Worse before",
        show=False,
        id="state.earlier",
        tooltip="travel to where more partitions went offline or under-replicated",
    ),
    Binding(
        "full_stop",
        "jump('state', 1)",
        "Worse after",
        show=False,
        id="state.later",
        tooltip="travel to where more partitions go offline or under-replicated next",
    ),
    Binding(
        "b",
        "bookmark",
        "Bookmark",
        show=False,
        id="bookmark",
        tooltip="keep the place, or forget it",
    ),
    Binding("B", "bookmarks", "Bookmarks", show=False, id="bookmarks", tooltip="list kept places"),
    Binding(
        "o",
        "open_in('pager')",
        "Pager",
        show=False,
        id="open.pager",
        tooltip="show the value in your pager",
    ),
    Binding(
        "e",
        "open_in('editor')",
        "Editor",
        show=False,
        id="open.editor",
        tooltip="show the value in your editor",
    ),
)
"""The keys that work everywhere except in an input line."""
