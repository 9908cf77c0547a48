"""The history of a node as rows: what ``changes`` says of it, newest first. For jobs, no widget."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.shared.resources import NAMED_NODES
from metashell.dataclass import dataclass
from metashell.errors import PathError
from metashell.fs.change_texts import change_text
from metashell.fs.path import decode_name, encode_path, resolve, split
from metashell.schema.resource_types import ResourceType
from metashell.tui.node.described import topic_at
from metashell.tui.view_state import CommandResult, ViewState, ask

if TYPE_CHECKING:
    from metashell.sources.source import Source

NAME: Final = "node"
"""The column that names a node below."""
_TOPICS: Final = ("image", "topics")
_CONFIGS: Final = ("image", "configs")
_OF_TOPICS: Final = "/image/configs/TOPIC:"
_TOPIC_DEPTH: Final = 4
_IN_TOPIC: Final = "configs"
"""How the history of a topic calls the directory of its configs."""
_SHOWN: Final = ("offset", "time", "what")
"""Columns that are shown at first; `what` is the change in words, and the last has most room."""
_OF_NODES: Final = ("offset", "time", NAME, "what")
"""The first columns of a history with changes of nodes below."""
_LATER: Final = "later: "
"""Before the words of a change that lies behind the state that is shown."""


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """Changes of a node, or why there are none."""

    table: pa.Table | None
    """The rows, newest first; None without any answer."""
    first: Sequence[str]
    """Columns that are shown at first."""
    marked: pa.Array | None
    """bool[n]: changes since the previous stop; None without one."""
    warnings: Sequence[str]
    is_whole: bool
    """Whether all records about the node were followed."""


def is_of_coordinator(source: Source, path: str) -> bool:
    """Whether a path is that of a group, of a transaction, or of something in it.

    Args:
        source: The cluster.
        path: A path of the cluster's own tree.
    """
    return split(path)[:1] != [] and split(path)[0] in source.coordinator_directories


def thing_of_path(path: str) -> tuple[str, str]:
    """The topic, broker or group that a path of the cluster's own tree is about by its names.

    Returns:
        (type, name) as `describe` takes them; both empty for nothing of these types.
    """
    names = split(path)
    for kind, directory in NAMED_NODES.items():
        start = split(directory)
        if names[: len(start)] == start and len(names) > len(start):
            return kind, decode_name(names[len(start)])
    if tuple(names[:2]) == _CONFIGS and len(names) > len(_CONFIGS):
        kind, _, name = decode_name(names[2]).partition(":")
        if name and kind.lower() in NAMED_NODES:
            return kind.lower(), name
    return "", ""


def history_paths(source: Source, path: str) -> list[str]:
    """The paths whose changes are the history of a node: of a topic also its configs.

    Args:
        source: The cluster.
        path: A path of the cluster's own tree.
    """
    *above, last = split(path) or [""]
    name = decode_name(last) if tuple(above) == (*_TOPICS, "byName") else None
    with suppress(PathError):
        name = name or topic_at(resolve(source.root, path))
    return [path] if name is None else [path, encode_path((*_CONFIGS, f"TOPIC:{name}"))]


def find_history(
    cluster: Source,
    path: str,
    span: tuple[int, int] | None,
    *,
    most_changes: int,
    most_records: int,
    cancelled: Callable[[], bool],
) -> NodeHistory:
    """The newest changes of a node, also after its removal and after the shown offset.

    Args:
        cluster: The cluster as it is shown; changes behind that are marked as later.
        path: A path of the cluster's own tree.
        span: Offsets of the previous stop and of this one, like `ViewState.span`.
        most_changes: The largest number of changes.
        most_records: Records that they are made from.
        cancelled: Asked by long loops.
    """
    newest = cluster.newest
    paths = history_paths(newest, path)
    words = ["changes", "-o", "table", "--columns", "all", "--newest", str(most_changes)]
    words += ["--records", str(most_records), "--", *paths]
    answer = ask(ViewState(opened=newest, cluster=newest), words, cancelled=cancelled)
    table = answer.table
    if table is None:
        return NodeHistory(None, (), None, answer.warnings, is_whole=True)
    table = _newest_first(table, most_changes)
    changed = table.column("path").to_pylist()
    below = [name_below(one, paths) for one in changed]
    called = [name or split(one)[-1] for name, one in zip(below, changed, strict=True)]
    words = _words(table, cluster, marks_later=True)
    if len(paths) == 1:
        called, words = _by_resource(changed, called, words)
    table = table.append_column(NAME, pa.array(called, pa.string()))
    table = table.append_column("what", pa.array(words, pa.string()))
    first = _OF_NODES if any(below) else _SHOWN
    is_whole = not any("older ones were not" in said for said in answer.warnings)
    return NodeHistory(table, first, _marks(table, span), answer.warnings, is_whole)


def changes_between(
    cluster: Source,
    span: tuple[int, int],
    *,
    most_changes: int,
    most_records: int,
    cancelled: Callable[[], bool],
) -> CommandResult | None:
    """The changes of the image from one state to another, in the order of the log.

    Args:
        cluster: The cluster as it is shown; changes behind that are marked as later.
        span: The offsets of both states, the lower first.
        most_changes: The largest number of changes, the newest ones.
        most_records: Records that they are made from, the newest.
        cancelled: Asked by long loops.

    Returns:
        The rows as a command's result; None if nothing changed.
    """
    newest, (low, high) = cluster.newest, span
    words = ["changes", "--since", str(low + 1), "--until", str(high), "/image"]
    asked = [*words, "-o", "table", "--columns", "all", "--newest", str(most_changes)]
    asked += ["--records", str(most_records)]
    answer = ask(ViewState(opened=newest, cluster=newest), asked, cancelled=cancelled)
    table = answer.table
    if table is None or not len(table):
        return None
    words = _words(table, cluster, marks_later=False)  # the title says which state is shown
    table = table.append_column("what", pa.array(words, pa.string()))
    answer.tables = [table.select(["offset", "time", "path", "what"])]
    title = f"what changed from offset {low} to {high}"
    return CommandResult(" ".join(words), answer, "/", cluster.moment_offset, title, span)


def _newest_first(table: pa.Table, most: int) -> pa.Table:
    """The rows of several paths in one order; those of several logs by time."""
    places = pc.coalesce(table.column("offset"), table.column("at_or_before"))
    logs = set(table.column("log").to_pylist())
    if logs - {None} and len(logs) > 1:
        places = table.column("time").cast(pa.int64())
    order = pc.fill_null(places, -1).to_numpy().argsort(kind="stable")[::-1]
    return table.take(pa.array(order[:most], pa.int64()))


def name_below(path: str, of: Sequence[str]) -> str:
    """The name of a changed node in a history; empty for the node that has the history.

    Args:
        path: The path of the changed node.
        of: The paths that `history_paths` gives.
    """
    for start, name in zip(of, ("", f"{_IN_TOPIC}/"), strict=False):
        if path == start:
            return name.rstrip("/")
        below = f"{start.rstrip('/')}/"
        if path.startswith(below):
            return name + path[len(below) :]
    return path


def _by_resource(
    changed: Sequence[str], called: Sequence[str], words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The names and words of a history; a config is named by its resource, and has its key behind.

    Many topics have the same configs: what a narrow column shows is to tell the topics apart.
    """
    names, told = list(called), list(words)
    for at, path in enumerate(changed):
        resource, slash, key = called[at].rpartition("/")
        if slash and tuple(split(path)[:2]) == _CONFIGS:
            names[at], told[at] = resource, f"{decode_name(key)}: {words[at]}"
    return names, told


def _words(table: pa.Table, cluster: Source, *, marks_later: bool) -> list[str]:
    """Each change as the command words it; `marks_later`: and that it is later than the state."""
    names = ("change", "fields", "path", "offset", "type", "reason")
    rows = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    has_configs = any(path.startswith(_OF_TOPICS) for _, _, path, *_ in rows)
    defaults = _defaults(cluster.newest) if has_configs else {}
    words = [
        change_text(
            *_with_default(verb, fields_of(fields), path, offset, defaults),
            record=record,
            reason=reason,
            in_checkpoint=offset is None,
        )
        for verb, fields, path, offset, record, reason in rows
    ]
    if not marks_later:
        return words
    are_later = _are_later(table, cluster).to_pylist()
    return [f"{_LATER}{one}" if later else one for one, later in zip(words, are_later, strict=True)]


def _with_default(
    verb: str,
    fields: Mapping[str, Any],
    path: str,
    offset: int | None,
    defaults: Mapping[str, tuple[int, str]],
) -> tuple[str, Mapping[str, Any]]:
    """The verb and the fields of a change; a topic's new config replaces the cluster's value."""
    since, default = defaults.get(split(path)[-1], (0, ""))
    if not default or verb != "created" or not path.startswith(_OF_TOPICS):
        return verb, fields
    if offset is None or offset <= since:
        return verb, fields
    return "changed", {"": (f"{default} by default", fields[""][1])}


def _defaults(newest: Source) -> Mapping[str, tuple[int, str]]:
    """By config: the offset of the cluster's own value for all brokers, and the value."""
    part = newest.image.part("configs")
    columns = part.columns
    is_broker = columns.fixed("resource_type") == ResourceType.BROKER
    at = np.flatnonzero(is_broker & (columns.span("resource_name").counts == 0))
    names, values = (columns.span(name).take(at).texts() for name in ("name", "value"))
    rows = part.changed[at]
    offsets = newest.image.records.frames_at(rows).offset[rows].tolist()
    return dict(zip(names, zip(offsets, values, strict=True), strict=True))


def _are_later(table: pa.Table, cluster: Source) -> pa.ChunkedArray:
    """bool[n]: which changes lie behind the state that is shown; null for those of checkpoints."""
    offset, time = cluster.moment_offset, cluster.moment_ms
    if offset is None:
        return pa.chunked_array([pa.nulls(len(table), pa.bool_())])
    are_later = pc.greater(table.column("offset"), offset)
    if time is not None:  # offsets of a coordinator's log are others
        behind = pc.greater(table.column("time").cast(pa.int64()), time)
        are_later = pc.if_else(pc.is_null(table.column("log")), are_later, behind)
    return are_later


def fields_of(fields: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The old and new values of a row of ``changes``, by the name of a field."""
    found: Mapping[str, Any] = json.loads(fields) if isinstance(fields, str) else fields or {}
    return found


def _marks(table: pa.Table, span: tuple[int, int] | None) -> pa.Array | None:
    """Which changes lie between the previous stop and what is shown."""
    if span is None:
        return None
    low, high = span
    offset = table["offset"]
    is_within = pc.and_(pc.greater(offset, low), pc.less_equal(offset, high))
    is_marked = pc.and_(is_within, pc.is_null(table["log"]))
    return pc.fill_null(is_marked, False).combine_chunks()
