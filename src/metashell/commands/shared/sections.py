"""Answers about a whole cluster, each declared once: the page of `report` and the explorer's Home
show them.
"""

from __future__ import annotations

from typing import Final

from metashell.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A title, and the command that answers."""

    title: str
    words: str
    """The command, with its options."""
    first: tuple[str, ...] = ()
    """The columns that a small table shows, the most important first; all if empty."""
    lists_all: str = ""
    """The command that lists all rows, where it is another one."""
    about: str = ""
    """Says which rows it has, where that is not plain."""

    @property
    def command(self) -> str:
        """The command that lists all rows."""
        return self.lists_all or self.words


HEALTH: Final = Section(title="Findings", words="health")
QUORUM: Final = Section(
    title="Quorum", words="quorum",
    first=("id", "status", "lag", "log_end_offset", "last_fetch_age_ms", "endpoints"),
)  # fmt: skip
BROKERS: Final = Section(
    title="Brokers", words="brokers",
    first=("broker", "state", "rack", "leaders", "leaders_bar", "replicas"),
)  # fmt: skip
TOPICS: Final = Section(
    title="Topics", words="topics --sort=-offline,-under_replicated,-partitions,topic",
    first=("topic", "offline", "under_replicated", "partitions", "replication", "configs"),
)  # fmt: skip
GROUPS: Final = Section(
    title="Groups", words="groups", first=("group", "attention", "lag", "members", "state")
)
DISKS: Final = Section(
    title="Disks", words="replicas --summary directory",
    first=("directory", "bytes", "bytes_bar", "missing", "stray"),
)  # fmt: skip
