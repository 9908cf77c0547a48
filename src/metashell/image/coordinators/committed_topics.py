"""Which topics committed offsets are of: by name, and by id where a commit has one."""

from __future__ import annotations

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.group_log import GroupLog
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columns import SpanColumn

_TOPIC_ID = "topic_id"


@dataclass(slots=True)
class CommittedTopics:
    """Of each committed offset, in the order of ``log.offsets.last``: its group and its topic.

    ``topic_id``: ``V16[k]``, zeros where the commit has none: before version 4 none has.
    """

    group: SpanColumn
    topic: SpanColumn
    topic_id: AnyArray


def committed_topics(log: GroupLog) -> CommittedTopics:
    """Read off the topics of all committed offsets."""
    at, commits, records = log.offsets.last, log.commits, log.records
    ids = np.zeros(len(at), dtype="V16")
    (newest, _) = COMMITS
    if any(field.column_name == _TOPIC_ID for field in records.types.by_name[newest].value.fields):
        rows: I64 = commits.rows[at]
        number = records.types.by_name[newest].number
        order = np.argsort(rows)
        chosen = order[records.frames.api_key[rows[order]] == number]
        found = records.decode(newest, rows[chosen], (), {_TOPIC_ID})
        ids[chosen] = found.value.fixed(_TOPIC_ID)
    key = log.keys(at)
    return CommittedTopics(key.group, key.topic, ids)
