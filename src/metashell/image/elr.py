"""ClearElrRecord: eligible leader replicas forgotten, for one topic or for all.

Source: org.apache.kafka.image.TopicsDelta.replay(ClearElrRecord).
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.topics import ENDLESS, Topics
from metashell.records.records import Records
from metashell.schema.arena import I64


@dataclass(slots=True)
class Clears:
    """When the eligible leader replicas of each living topic were cleared."""

    of_all: list[int]
    """Rows of the records that clear every topic's, ascending."""
    of_topic: dict[int, list[int]]
    """Rows of those that clear one topic's, by topic index, ascending."""
    last_row: I64
    """int64[topics]: row of the last clearing, -1 for none."""

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool(self.of_all or self.of_topic)

    def rows_of(self, topic: int, after: int) -> list[int]:
        """Rows of a topic's clearings after a row, ascending."""
        rows = sorted([*self.of_all, *self.of_topic.get(topic, ())])
        return rows[bisect_right(rows, after) :]


def find_clears(records: Records, topics: Topics) -> Clears:
    """Find what each ClearElrRecord means; one that names no topic of its time is a fault."""
    last_row = np.full(len(topics), -1, dtype=np.int64)
    clears = Clears([], {}, last_row)
    if not len(records.rows("ClearElrRecord")):
        return clears
    rows, columns = records.columns("ClearElrRecord")
    lives = _lives_by_name(topics)
    for row, name in zip(rows.tolist(), columns.span("topic_name").texts(), strict=True):
        if not name:
            clears.of_all.append(row)
            np.maximum(last_row, row, out=last_row)
            continue
        # A name means the one that was made last of those that existed at the time.
        alive = [life for life in lives.get(name, ()) if life[0] < row < life[1]]
        if not alive:
            records.fault(row, f"ELR of topic `{name}` can't be cleared: no such topic")
            continue
        begin, end = alive[-1]
        if end == ENDLESS:
            topic = int(np.searchsorted(topics.changed, begin))
            clears.of_topic.setdefault(topic, []).append(row)
            last_row[topic] = row
    return clears


def _lives_by_name(topics: Topics) -> dict[str, list[tuple[int, int]]]:
    """When topics of each name existed: (row made, row of the end), in the order of the former."""
    lives: dict[str, list[tuple[int, int]]] = {}
    of = topics.lives
    for name, begin, end in zip(
        of.names.texts(), of.begins.tolist(), of.ends.tolist(), strict=True
    ):
        lives.setdefault(name, []).append((begin, end))
    return lives
