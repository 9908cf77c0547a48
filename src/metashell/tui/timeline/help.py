"""The help of the timeline, shown by F1."""

from __future__ import annotations

from typing import Final

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
| a | columns equally wide in time, or in offsets |
| escape, t | back to the view |

With the mouse: click, drag, or turn the wheel. `@` goes to any offset or time.

Playing stops at every change of the state and skips the time between. Times on the bar never go
back. Where a clock went back, its batches stand at the latest time before. In a large directory
such as `/image/topics`, `{` and `}` stop at every record about such nodes.
"""
