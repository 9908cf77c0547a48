"""Names of the directories in a log directory: whose log each is, and what becomes of it.

==================================  ==============================================================
``topic-partition``                 the log of a replica
``topic-partition.<id>-delete``     it waits for deletion
``topic-partition.<id>-future``     a replica on its way to this log directory
``topic-partition.<id>-stray``      it belonged to nobody when the node started; kept for ever
==================================  ==============================================================

A topic may hold dashes and dots: the last dash stands before the partition, the last dot before the
id. A node does not start where a directory has any other name.

Source: org.apache.kafka.storage.internals.log.UnifiedLog.parseTopicPartitionName, LogManager.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from metashell.dataclass import dataclass

_INT32_MAX: Final = 2**31 - 1
_SUFFIXED: Final = re.compile(r"[^ \t\n\v\f\r]+-[^ \t\n\v\f\r]+\.[^ \t\n\v\f\r]+")
"""In front of a suffix, as Kafka's patterns have it. Java's ``\\s`` is ASCII alone."""
_PARTITION: Final = re.compile(r"\+?[0-9]{1,64}")
_INDEX_CACHE: Final = "remote-log-index-cache"
"""The one directory beside the logs that a node takes no notice of (tiered storage)."""


class LogState(StrEnum):
    """The state of a log that its directory's name tells."""

    CURRENT = "current"
    DELETE = "delete"
    FUTURE = "future"
    STRAY = "stray"


@dataclass(frozen=True, slots=True, order=True)
class LogName:
    """The name of a log's directory."""

    topic: str
    partition: int
    state: LogState
    name: str
    """The directory's name as it is."""


def is_ignored(name: str) -> bool:
    """Whether a node takes no notice of a directory of that name."""
    return name == _INDEX_CACHE


def parse_log_name(name: str) -> LogName | None:
    """Tell whose log a directory is; None for a name that is no log's."""
    state, rest = LogState.CURRENT, name
    for one in (LogState.DELETE, LogState.FUTURE, LogState.STRAY):
        if name.endswith(f"-{one}"):
            state, rest = one, name.removesuffix(f"-{one}")
            if _SUFFIXED.fullmatch(rest) is None:
                return None
            rest = rest.rpartition(".")[0]
    topic, _, partition = rest.rpartition("-")
    if not topic or _PARTITION.fullmatch(partition) is None or int(partition) > _INT32_MAX:
        return None
    return LogName(topic, int(partition), state, name)
