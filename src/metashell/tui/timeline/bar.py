"""The timeline's lines: the bar, the states, and what is at the ends and at the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.style import Style

from metashell.dataclass import dataclass
from metashell.tui.text import line, shortened
from metashell.tui.timeline.states import state_cells, states_text
from metashell.tui.timeline.track import BLOCKS, CURSOR, ELECTION, FAULT, STOP_BEFORE

if TYPE_CHECKING:
    from metashell.answers.state_history import StateHistory
    from metashell.records.density import Axis
    from metashell.tui.timeline.track import Cell, Track


COMPONENTS: Final = {
    f"timeline--{name}"
    for name in (
        *("topics", "nodes", "configs", "security", "quorum", "other", "no_ops"),
        *("fault", "election", "before", "label", "remark", "offline", "under"),
    )
}
CSS: Final = """
Timeline {
    height: 2;
    text-wrap: nowrap;
    text-overflow: ellipsis;
    .timeline--topics { color: $text-primary; }
    .timeline--nodes { color: $text-success; }
    .timeline--configs { color: $text-accent; }
    .timeline--security { color: $text-warning; }
    .timeline--quorum { color: $text-secondary; }
    .timeline--other { color: $foreground; }
    .timeline--no_ops { color: $text-muted; }
    .timeline--label { color: $text-muted; }
    .timeline--fault { color: $text-error; text-style: bold; }
    .timeline--offline { color: $text-error; text-style: bold; }
    .timeline--under { color: $text-warning; }
    .timeline--remark { color: $text-warning; text-style: bold; }
    .timeline--election { color: $foreground; text-style: bold; }
    .timeline--before { color: $foreground; text-style: bold; }
}
Timeline:focus { background: $surface; }
"""


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
_MARKED: Final = Style(reverse=True, bold=True)
"""The cursor's style, which can be seen without colours, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """How a timeline stands."""

    track: Track
    axis: Axis
    width: int
    at: int
    """The offset of the cursor."""
    before: int | None
    """The offset of the previous stop, to be marked."""
    pointed: int | None
    """The column under the mouse, which is told of in place of the cursor's."""
    is_by_column: bool
    """Whether what the cursor's column holds is told, not what the batch does."""
    note: tuple[int, str, bool] | None
    """(the offset that it is for, what to say there, whether that is about the timeline)."""
    state: str
    """The state of playing, such as ``▶ 4/s``."""
    has_focus: bool = False
    """Whether keys are for it: where it stands is then marked."""
    states: StateHistory | None = None
    """Partitions that were not well; None where that is not known."""
    has_state_line: bool = False
    """Whether there is a line for them."""
    has_legend: bool = False
    """Whether there is a line that says what the signs mean."""


def draw(stand: Stand, style_of: Callable[[str], Style]) -> Content:
    """All lines of the timeline.

    Args:
        stand: The state of the timeline.
        style_of: The style of a part: a group's name, ``fault``, ``label`` and others.
    """
    style_of = cache(style_of)
    lines: list[Content | str] = [_bar(stand, style_of), "\n"]
    if stand.has_state_line:
        lines += [_states(stand, style_of), "\n"]
    lines += [_labels(stand, style_of)]
    if stand.has_legend:
        lines += ["\n", _legend(style_of, stand.width)]
    return Content.assemble(*lines)


def _legend(style_of: Callable[[str], Style], width: int) -> Content:
    """The meaning of the signs and the colours, as far as there is room."""
    label, told = style_of("label"), Content()
    for sign, style, meaning in LEGEND:
        piece = Content.assemble((sign, style_of(style)), (f" {meaning}  ", label))
        if told.cell_length + piece.cell_length > width:
            break
        told += piece
    return told


def _bar(stand: Stand, style_of: Callable[[str], Style]) -> Content:
    track, width = stand.track, stand.width
    cursor = track.column_of(stand.at, width, stand.axis)
    cells = track.bar(width, stand.axis, stand.before)
    here = cells[cursor]
    # A sign stays a sign; a height says nothing once it is reversed.
    glyph = CURSOR if here.glyph == " " or here.glyph in BLOCKS else here.glyph
    return Content.assemble(
        *_runs(cells[:cursor], style_of),
        (glyph, style_of(here.style) + _MARKED),
        *_runs(cells[cursor + 1 :], style_of),
    )


def _runs(cells: Sequence[Cell], style_of: Callable[[str], Style]) -> Iterator[tuple[str, Style]]:
    """Cells side by side of one style, as one text: it takes long to find a style."""
    for style, run in groupby(cells, key=lambda cell: cell.style):
        yield "".join(cell.glyph for cell in run), style_of(style)


def _states(stand: Stand, style_of: Callable[[str], Style]) -> Content:
    """The second line: offline and under-replicated partitions."""
    if stand.states is None:
        return line(" " * stand.width)
    edges = stand.track.edges(stand.width, stand.axis)
    cells = state_cells(stand.states, edges, stand.track.density)
    return Content.assemble(*_runs(cells, style_of))


def _labels(stand: Stand, style_of: Callable[[str], Style]) -> Content:
    """Left end, cursor, right end."""
    track, is_wide = stand.track, stand.width >= _WIDE
    first = track.time_at(track.low)
    first = int(track.density.time[0]) if first is None else first
    times = [track.time_text(time) for time in (first, track.time_at(track.high))]
    ends = [(f"{track.low} {times[0]}  ", f"  {times[1]} {track.high}")]
    if is_wide and len(times[0]) == _OF_DAY:
        ends.insert(0, (f"{track.low} {track.day_text(first)} {times[0]}  ", ends[0][1]))
    ends.append((f"{track.low}  ", f"  {track.high}"))
    middle = _middle(stand, style_of)
    rooms = [max(stand.width - len(left) - len(right), 0) for left, right in ends]
    # The text about the cursor matters more than the ends of the log.
    fits = (i for i, room in enumerate(rooms) if middle.cell_length <= room)
    at = next(fits, len(ends) - 1)
    left, right = map(line, ends[at])
    middle = shortened(middle, rooms[at]).truncate(rooms[at], pad=True)
    label = style_of("label")
    return Content.assemble(left.stylize(label), middle, right.stylize(label))


def _middle(stand: Stand, style_of: Callable[[str], Style]) -> Content:
    track, width, axis, offset = stand.track, stand.width, stand.axis, stand.at
    column, is_by_column = track.column_of(offset, width, axis), stand.is_by_column
    if stand.pointed is not None:
        column, is_by_column = min(max(stand.pointed, 0), width - 1), True
        offset = track.offset_at(column, width, axis)
    if is_by_column:
        text, group = track.column_text(column, width, axis)
    else:
        text, group = track.batch_text(offset)
    if stand.pointed is None and stand.note is not None and stand.note[0] == offset:
        _, text, is_remark = stand.note
        group = "remark" if is_remark else group
    time = track.time_text(track.time_at(offset))
    where = "newest" if offset >= track.high else "offset"
    start = " ".join(part for part in (stand.state, where, str(offset), time) if part)
    has_note = stand.note is not None and stand.note[0] == offset
    states = "" if stand.states is None or has_note else states_text(stand.states, offset)
    pieces = [line(start), line("  "), line(text).stylize(style_of(group))]
    if stand.has_focus:
        pieces[0] = pieces[0].stylize(_MARKED)
    if states:
        is_offline = bool(stand.states and stand.states.at(offset)[0])
        pieces += [line("  "), line(states).stylize(style_of("offline" if is_offline else "under"))]
    return Content.assemble(*pieces)
