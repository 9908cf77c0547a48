"""What F1 says about the timeline."""

from __future__ import annotations

from typing import Final

HELP: Final = """\
# Timeline

The whole log, from the oldest state that the files hold on the left to the newest on the right.
The **reverse** column is what all views show. What changed since the previous stop, marked `|`, is
marked in them.

A column is the higher the more records it has that say something (a step up is several times
more), in the colour of what most of them are about: topics and partitions, brokers and
controllers, configs, security, the quorum. The text below names them, also of the column under the
mouse. `.` has nothing but NoOps, an empty column nothing at all. `^` is an election of a
controller, `!` a fault.

| Key | |
|---|---|
| left, right | a column; with shift or ctrl ten |
| home, end | the oldest state; the newest, which is then followed |
| `[` `]` | the previous or next batch that changes anything |
| `{` `}` | the previous or next change of the selected node or of what is below it |
| `<` `>` | the previous or next change of leader: of the selected topic or partition or of one in \
it, elsewhere of the quorum |
| `(` `)` | the previous or next fault; to find those of records everything is decoded |
| space | play, from the beginning where it stands at the end; any key stops |
| `+` `-` | play faster, slower |
| a | columns equally wide in time, or in offsets |

With the mouse: click, drag, or turn the wheel. `@` goes to any offset or time.

Playing stops at what changes the state and passes over the time between. Times along the bar never
go back: where a clock did, its batches stand at the latest time before. Of a large directory such
as `/image/topics`, `{` and `}` stop at every record that is about such nodes.
"""
