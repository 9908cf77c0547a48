"""The timeline's lines: the bar, the states, and what is at the ends and at the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from textual.content import Content

from metashell.schema.timestamps import iso_time
from metashell.tui.text import line, shortened
from metashell.tui.timeline.states import state_cells, states_text
from metashell.tui.timeline.track import BLOCKS, CURSOR, ELECTION, FAULT, STOP_BEFORE

if TYPE_CHECKING:
    from metashell.tui.timeline.timeline import Timeline
    from metashell.tui.timeline.track import Cell, Track


_LABEL: Final = "$text-muted"
_REMARK: Final = "bold $text-warning"
_MARKED: Final = "reverse bold"
"""The cursor's style, which can be seen without colours, too."""
STYLES: Final = {
    "topics": "$text-primary",
    "nodes": "$text-success",
    "configs": "$text-accent",
    "security": "$text-warning",
    "quorum": "$text-secondary",
    "other": "$foreground",
    "no_ops": _LABEL,
    "election": "bold $foreground",
    "before": "bold $foreground",
    "fault": "bold $text-error",
    "offline": "bold $text-error",
    "under": "$text-warning",
    "": "",
}
"""The styles of columns, by what they show."""


HELP: Final = """\
# Timeline

The whole log: the oldest state of the files is on the left, the newest on the right. All views show
the state at `▼`, or at a **reverse** sign. `|` marks changes since the previous stop.

A higher column has more records: a step up is several times more. NoOps do not count. The colour
shows the kind of most records: topics and partitions, brokers and controllers, configs, security,
the quorum. The text below names them, also for the column under the mouse. `.` is a column without
a change: it has only NoOps, which an idle controller writes. An empty one has no records. `^` is
an election of a controller, `!` a fault. A tall screen has a line with these signs.

If partitions were offline or under-replicated, a second line shows when. `▁` to `▄` is the number
of offline partitions. `░` to `▓` is the number of under-replicated ones, if none is offline.

| Key | |
|---|---|
| left, right | a column; with shift or ctrl ten |
| home, end | the oldest state; the newest, and follow it |
| `[` `]` | the previous or next batch with a change |
| `{` `}` | the previous or next change of the selected node, or below it; outside Explorer of the \
row's node |
| `<` `>` | the previous or next change of leader: of the selected topic or partition, else of the \
quorum |
| `,` `.` | the previous or next rise of offline or under-replicated partitions |
| `(` `)` | the previous or next fault in the log's files; this may decode the whole log |
| space | play; at the end, play from the beginning; any key stops |
| `+` `-` | play faster, slower |
| u | columns equally wide in time, or in offsets |
| escape, t | back to the view |

With the mouse: click, drag, or turn the wheel. `@` goes to any offset or time.

Playing stops at every change of the state and skips the time between. Times on the bar never go
back. Where a clock went back, its batches stand at the latest time before. In a large directory
such as `/image/topics`, `{` and `}` stop at every record about such nodes.
"""


LEGEND: Final = (
    ("█", "topics", "topics"),
    ("█", "nodes", "brokers"),
    ("█", "configs", "configs"),
    ("█", "security", "security"),
    ("█", "quorum", "quorum"),
    (ELECTION, "election", "election"),
    (".", "no_ops", "no change"),
    ("▄", "offline", "offline"),
    ("▓", "under", "under-replicated"),
    (FAULT, "fault", "fault"),
    (STOP_BEFORE, "before", "previous stop"),
)
"""(sign, style, meaning), those first that are there in most logs."""
_WIDE: Final = 120
"""Columns from which on there is room for dates and seconds."""
_OF_DAY: Final = len("12:00:00")
"""Columns of a time without its day."""


def draw(timeline: Timeline, track: Track) -> Content:
    """All lines of the timeline."""
    lines = [_bar(timeline, track)]
    if timeline.has_class("-states"):
        lines.append(_states(timeline, track))
    lines.append(_labels(timeline, track))
    if timeline.has_class("-legend"):
        lines.append(_legend(timeline.width))
    return Content("\n").join(lines)


def _legend(width: int) -> Content:
    """The meaning of the signs and the colours, as far as there is room."""
    told = Content()
    for sign, style, meaning in LEGEND:
        piece = Content.assemble((sign, STYLES[style]), (f" {meaning}  ", _LABEL))
        if told.cell_length + piece.cell_length > width:
            break
        told += piece
    return told


def _bar(timeline: Timeline, track: Track) -> Content:
    width, axis = timeline.width, timeline.axis
    cursor = track.column_of(timeline.at, width, axis)
    cells = track.bar(width, axis, timeline.before)
    here = cells[cursor]
    # A sign stays a sign; a height says nothing once it is reversed.
    glyph = CURSOR if here.glyph == " " or here.glyph in BLOCKS else here.glyph
    return Content.assemble(
        *_runs(cells[:cursor]),
        (glyph, f"{_MARKED} {STYLES[here.style]}"),
        *_runs(cells[cursor + 1 :]),
    )


def _runs(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Cells side by side of one style, as one text: it takes long to find a style."""
    for style, run in groupby(cells, key=lambda cell: cell.style):
        yield "".join(cell.glyph for cell in run), STYLES[style]


def _states(timeline: Timeline, track: Track) -> Content:
    """The second line: offline and under-replicated partitions."""
    history = timeline.states.history
    if history is None:
        return Content()
    edges = track.density.edges(timeline.width, timeline.axis)
    return Content.assemble(*_runs(state_cells(history, edges, track.density)))


def _labels(timeline: Timeline, track: Track) -> Content:
    """Left end, cursor, right end."""
    width = timeline.width
    first = track.time_at(track.low)
    first = int(track.density.time[0]) if first is None else first
    times = [track.time_text(time) for time in (first, track.time_at(track.high))]
    ends = [(f"{track.low} {times[0]}  ", f"  {times[1]} {track.high}")]
    if width >= _WIDE and len(times[0]) == _OF_DAY:
        day = iso_time(first).partition("T")[0]
        ends.insert(0, (f"{track.low} {day} {times[0]}  ", ends[0][1]))
    ends.append((f"{track.low}  ", f"  {track.high}"))
    middle = _middle(timeline, track)
    rooms = [max(width - len(left) - len(right), 0) for left, right in ends]
    # The text about the cursor matters more than the ends of the log.
    fits = (i for i, room in enumerate(rooms) if middle.cell_length <= room)
    at = next(fits, len(ends) - 1)
    left, right = ends[at]
    middle = shortened(middle, rooms[at]).truncate(rooms[at], pad=True)
    return Content.assemble((left, _LABEL), middle, (right, _LABEL))


def _middle(timeline: Timeline, track: Track) -> Content:
    width, axis, offset = timeline.width, timeline.axis, timeline.at
    column, is_by_column = track.column_of(offset, width, axis), timeline.is_by_column
    if timeline.pointed is not None:
        column, is_by_column = min(max(timeline.pointed, 0), width - 1), True
        offset = track.offset_at(column, width, axis)
    if is_by_column:
        text, group = track.column_text(column, width, axis)
    else:
        text, group = track.batch_text(offset)
    note, history, style = timeline.note, timeline.states.history, STYLES[group]
    states = "" if history is None else states_text(history, offset)
    if note is not None and note[0] == offset:
        states = ""
        if timeline.pointed is None:
            _, text, is_remark = note
            style = _REMARK if is_remark else style
    time = track.time_text(track.time_at(offset))
    where = "newest" if offset >= track.high else "offset"
    start = " ".join(part for part in (timeline.state, where, str(offset), time) if part)
    pieces = [line(start, _MARKED if timeline.has_focus else ""), line(text, style)]
    if states:
        is_offline = bool(history and history.at(offset)[0])
        pieces.append(line(states, STYLES["offline" if is_offline else "under"]))
    return Content("  ").join(pieces)
