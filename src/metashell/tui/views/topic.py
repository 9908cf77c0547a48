"""A topic on one page: findings, partitions, configs, ACLs, groups and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.errors import MetashellError
from metashell.fs.path import encode_path
from metashell.fs.pattern import quote
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.tui.jobs import Job

_FIRST: Final = {
    "findings": ("severity", "code", "partitions", "why", "since_time", "command"),
    "partitions": ("partition", "state", "leader", "isr", "replicas", "elr", "why", "since_time"),
    "configs": ("key", "value", "source", "changed_offset"),
    "acls": ("principal", "operation", "permission", "resource", "pattern_type", "host"),
    "groups": ("group", "partition", "lag", "offset", "log_end_offset", "committed_time"),
    "changes": (),
}
"""The tables from above, and the first columns of each."""
_CHANGES: Final = (200, 20_000)
"""The newest changes that are listed, and the records that they are made from."""


class TopicView(AnswerView[ViewAnswer]):
    """The view of one topic."""

    HELP = (
        "# Topic\n"
        "All of one topic: its findings, partitions, configs, the ACLs that count for it, the "
        "groups with offsets in it, and its last changes. Only what there is has a table; the "
        "lines below the title name the others, and say what was not read. Findings, groups and "
        "changes come last.\n\n"
        "- `tab` goes to the next table, `enter` opens the node of the row\n"
        "- `Y` copies the command of a finding\n"
        "- `T` in any other view opens the topic of the row under the cursor"
    )
    ASKS = "looking at the topic"
    TABLES = tuple(_FIRST)
    DEFAULT_CSS = """
    TopicView { overflow-y: auto; scrollbar-size: 0 1; }
    TopicView RowTable { height: auto; max-height: 12; }
    TopicView .answer-detail { dock: bottom; max-height: 3; background: $surface; }
    """

    topic = ""
    """The name of the topic."""

    def take(self, topic: str) -> None:
        """Show a topic."""
        is_other, self.topic = topic != self.topic, topic
        if is_other and self.is_composed:
            self.forget()
            self.begin()

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the path of the topic, whatever the row is about."""
        prefix = "" if self.view_state is None else self.view_state.prefix
        then(prefix + _path_of(self.topic))

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Partitions, configs and ACLs; the others come later."""
        topic, path = self.topic, _path_of(self.topic)
        found: dict[str, ViewRows | None] = {
            "partitions": question.rows("partitions", "--", quote(topic), key="partition"),
            "configs": question.rows("config", f"topic:{topic}"),
            "acls": question.rows("acls", "--resource", f"topic:{topic}"),
        }

        def more(job: Job) -> ViewAnswer:
            asked, unread = ViewQuestion(question.view_state, job), []
            for name, find in _LATER.items():
                try:
                    found[name] = find(asked, topic, path)
                except MetashellError as error:
                    # Where a log can't be read, the page is shown without what it tells.
                    found[name] = None
                    unread.append(f"{_titled(name)} not read: {error.message}")
            return _answer(topic, found, unread)

        words = ("looking for findings, groups and changes…",)
        return replace(_answer(topic, found, words), more=more, more_title=self.ASKS)


def _path_of(topic: str) -> str:
    """The path of a topic, within its cluster."""
    return encode_path(["image", "topics", "byName", topic])


def _titled(name: str) -> str:
    return "ACLs" if name == "acls" else name.capitalize()


def _answer(topic: str, found: Mapping[str, ViewRows | None], words: Sequence[str]) -> ViewAnswer:
    """The content of the view, in the order of its tables.

    Args:
        topic: The name of the topic.
        found: The rows by table. None was not read; a table that is missing is not read yet.
        words: Lines about tables that were not read.
    """
    rows = {}
    for name, first in _FIRST.items():
        known = found.get(name)
        if known is not None and len(known.table):
            heading = f"{_titled(name)} {len(known.table):,}"
            rows[name] = replace(known, heading=heading, first=known.first or first)
    none = [_titled(name) for name, known in found.items() if known and name not in rows]
    if "partitions" not in rows:
        return ViewAnswer(title=topic, words=(f"no topic {topic} in the state shown",), rows=rows)
    partitions = rows["partitions"].table
    n_offline = partitions["leader"].null_count
    title = joined((
        f"topic {topic}", f"{len(partitions):,} partition{'s' * (len(partitions) != 1)}",
        f"{n_offline:,} offline" if n_offline else None,
    ))  # fmt: skip
    told = (f"none: {', '.join(none)}",) if none else ()
    return ViewAnswer(title=title, words=(*told, *words), rows=rows)


def _findings(question: ViewQuestion, topic: str, path: str) -> ViewRows:
    """The findings about a topic, a partition of it, or its configs."""
    found = question.rows("health")
    paths = found.table["path"]
    itself = pa.array([path, encode_path(["image", "configs", f"TOPIC:{topic}"])])
    is_there = pc.or_(pc.is_in(paths, itself), pc.starts_with(paths, f"{path}/"))
    return replace(found, table=found.table.filter(pc.fill_null(is_there, False)))


def _groups(question: ViewQuestion, topic: str, _path: str) -> ViewRows:
    """The offsets of groups in a topic, with their lag where the topic's own log is here.

    Raises:
        MetashellError: No log of groups is open.
    """
    source = question.view_state.cluster
    if source is None or "groups" not in source.coordinator_directories:
        raise MetashellError("no log of groups is open")
    lag = ("--lag",) if "disks" in question.view_state.kinds else ()
    found = question.rows("offsets", *lag)
    return replace(found, table=found.table.filter(pc.equal(found.table["topic"], topic)))


def _changes(question: ViewQuestion, _topic: str, path: str) -> ViewRows | None:
    """The newest changes of a topic and its configs."""
    return question.changes(path, *_CHANGES)


_LATER: Final = {"findings": _findings, "groups": _groups, "changes": _changes}
"""Tables that take longer, and what finds the rows of each: (question, topic, its path)."""
