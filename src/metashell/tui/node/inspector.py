"""Computes the explorer's right side, which shows one node. It runs in a job and has no widget.

All questions go to the one cluster of the node, with paths below the cluster's own root. A cluster
of a fleet therefore needs no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.shared.node_times import NodeTimeline
from metashell.errors import MetashellError, PathError, SourceError
from metashell.fs.escape import escape
from metashell.fs.node import Directory, JsonValue, Leaf
from metashell.fs.path import NodePlace, resolve, split
from metashell.schema.dump import to_json
from metashell.sources.older import is_unread, read_older
from metashell.tui.node.described import Description, description_of, path_below
from metashell.tui.node.history import find_history, is_of_coordinator
from metashell.tui.node.node_detail import DetailMode, NodeDetail, head_of
from metashell.tui.node.value import (
    MOST_CHARACTERS,
    ValueLine,
    changed_lines,
    clipped,
    held_text,
    text_lines,
    value_lines,
)
from metashell.tui.records.detail import find_record, record_lines
from metashell.tui.rows.cells import rows_of
from metashell.tui.rows.cluster_rows import changed_cells
from metashell.tui.tree.listing import ChangedNodes, check
from metashell.tui.view_state import (
    CommandAnswer,
    ViewState,
    ask,
    is_below,
    quiet_context,
    view_state_of,
)

MOST_CHANGES: Final = 20_000
"""Changes that a history shows: the newest."""
MOST_RECORDS: Final = 20_000
"""Records that it is made from: also the newest. Each takes some 50 µs."""
_VALUES: Final = 300
"""Directories of no more children tell their leaves' values too."""
_BYTES: Final = 8
"""Bytes of a record in a line."""
_MARKED: Final = 200_000
"""Rows of which it is told whether they changed since the previous stop."""
_COMPARED: Final = 20_000
"""Rows of a table whose cells are compared with those of the previous stop."""
_LEADING: Final = ("fenced", "inControlledShutdown")
"""Fields that come first where they are true: such a broker leads nothing."""
_MS: Final = pa.timestamp("ms", tz="UTC")


class NodeInspector:
    """A node in a view state, looked at in a job.

    Args:
        view_state: The shown view state.
        path: An absolute path of the whole tree.
        cancelled: Asked by long loops.
        reads_older: Whether to wait for older files, which hold more timestamps.

    Raises:
        SourceError: The cluster that the path lies in can't be read.
    """

    def __init__(
        self,
        view_state: ViewState,
        path: str,
        cancelled: Callable[[], bool],
        *,
        reads_older: bool = False,
    ) -> None:
        self._serial, self._span = view_state.serial, view_state.span
        self._previous = view_state.previous
        self._is_back = self._span is not None and _offset_of(view_state) == self._span[0]
        """Whether the previous stop is the later one."""
        self._changes = ChangedNodes(view_state)
        if view_state.fleet is not None and not (
            view_state.prefix and is_below(path, view_state.prefix)
        ):
            view_state = view_state_of(view_state.opened, path)
        if view_state.problem is not None:
            raise SourceError(view_state.problem)
        self._path, self._prefix, self._cancelled = path, view_state.prefix, cancelled
        self._inner = path[len(view_state.prefix) :] or "/"
        self._is_in_fleet = view_state.cluster is None
        if view_state.cluster is not None:
            # The cluster alone, as if nothing else were open.
            view_state = ViewState(opened=view_state.cluster, cluster=view_state.cluster)
        self._view_state, self._reads_older = view_state, reads_older
        self._context = quiet_context(view_state, cancelled)

    def look(
        self, wanted: Sequence[DetailMode], tell: Callable[[NodeDetail], object] = lambda _: None
    ) -> NodeDetail:
        """Look at it in the first of the ways wanted that there are for it.

        Args:
            wanted: Ways to look at a node.
            tell: Takes what is known already of what takes longer.
        """
        try:
            place = resolve(self._view_state.root, self._inner)
        except PathError:
            return self._gone()
        node, described = place.node, None
        modes = [DetailMode.VALUE, DetailMode.TEXT]
        if isinstance(node, Directory):
            described = description_of(place.names(), place, in_fleet=self._is_in_fleet)
            modes = [DetailMode.TABLE] * (described is not None) + [DetailMode.CHILDREN]
        head, offset = self._head(place)
        if offset is not None and not self._is_of_coordinator:
            modes.append(DetailMode.RECORD)
        if self._has_history:
            modes.append(DetailMode.HISTORY)
        mode = next((mode for mode in wanted if mode in modes), modes[0])
        base: dict[str, Any] = {
            "path": self._path,
            "serial": self._serial,
            "mode": mode,
            "modes": modes,
            "head": head,
            "title": "" if described is None else described.title,
        }
        content = self._content(mode, place, described, offset)
        if mode is DetailMode.TABLE and described is not None:
            if self._lacks_times(content.get("table")):
                tell(NodeDetail(**base, **content, lacks_times=True))
                assert self._view_state.cluster is not None
                read_older(self._view_state.cluster, self._cancelled)
                self._reads_older = True
                return self.look(wanted, tell)
            table = content.get("table")
            is_compared = self._previous is not None and self._span is not None
            if is_compared and table is not None and len(table) <= _COMPARED:
                tell(NodeDetail(**base, **content))
                content |= self._cells(described, table)
        return NodeDetail(**base, **self._with_legend(content))

    def _with_legend(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content with a note that explains the marks, if there are marks and no other note."""
        marked = content.get("marked")
        if self._span is None or marked is None or content["note"]:
            return content
        if not pc.any(marked, min_count=0).as_py():
            return content
        low, high = self._span
        return {**content, "note": f"• changed between offsets {low} and {high}"}

    def _content(
        self, mode: DetailMode, place: NodePlace, described: Description | None, offset: int | None
    ) -> dict[str, Any]:
        node = place.node
        if mode is DetailMode.RECORD:
            assert offset is not None
            return self._record(offset)
        if mode is DetailMode.HISTORY:
            return self._history()
        if mode is DetailMode.TABLE and described is not None:
            return self._described(described)
        if isinstance(node, Directory):
            return self._children(place, node)
        if mode is DetailMode.TEXT:
            text = node.text()
            return _of_lines(text_lines(text[: MOST_CHARACTERS + 1]), lambda: text)
        return self._value(node)

    def _value(self, node: Leaf) -> dict[str, Any]:
        """The value, with what it was at the previous stop where that differs."""
        value = node.value()
        sides = self._sides(value)
        if sides is None:
            return _of_lines(value_lines(_leading(value)), lambda: _as_text(value))
        content = _of_lines(changed_lines(*map(_leading, sides)), lambda: _as_text(value))
        assert self._span is not None
        low, high = self._span
        told = f"• is → becomes, by offset {high}" if self._is_back else f"• was → is, since {low}"
        return {**content, "note": content["note"] or told}

    def _sides(self, value: JsonValue) -> tuple[JsonValue, JsonValue] | None:
        """The value at the lower and at the higher offset of both stops; None where they agree."""
        if self._previous is None or self._span is None:
            return None
        try:
            other = resolve(self._previous.root, self._inner).node
            found = other.value() if isinstance(other, Leaf) else None
        except MetashellError:
            return None
        if found is None or found == value:
            return None
        return (value, found) if self._is_back else (found, value)

    def _gone(self) -> NodeDetail:
        """The look at a path without a node."""
        is_earlier = self._view_state.cluster is not None and not self._view_state.is_newest
        content = self._history() if self._has_history else {}
        where = "at this offset" if is_earlier else "any more"
        return NodeDetail(
            path=self._path,
            serial=self._serial,
            mode=DetailMode.HISTORY,
            modes=[DetailMode.HISTORY] if self._has_history else [],
            head=["gone", f"not there {where}"],
            **content,
        )

    @property
    def _has_history(self) -> bool:
        """Whether records speak of it."""
        is_metadata = not self._is_in_fleet and split(self._inner)[:1] == ["image"]
        return self._view_state.cluster is not None and (is_metadata or self._is_of_coordinator)

    @property
    def _is_of_coordinator(self) -> bool:
        """Whether records of a coordinator's log speak of it, whose offsets are others."""
        cluster = self._view_state.cluster
        return (
            cluster is not None and self._inner != "/" and is_of_coordinator(cluster, self._inner)
        )

    def _head(self, place: NodePlace) -> tuple[Sequence[str], int | None]:
        """Facts about the node, and the offset of the last change where it is known."""
        kind = "directory" if place.node.is_dir else "leaf"
        if self._is_in_fleet:
            return [kind], None
        return head_of(place, self._inner, self._ask, is_marked=self._has_changed(place))

    def _record(self, offset: int) -> dict[str, Any]:
        assert self._view_state.cluster is not None
        newest = self._view_state.cluster.full_log.newest
        detail = find_record(newest, offset, self._cancelled)
        if detail is None:
            return _of_lines([ValueLine(f"no record at offset {offset}")])
        return _of_lines(record_lines(detail, _BYTES))

    def _history(self) -> dict[str, Any]:
        """The newest changes, newest first: also of what is gone, and of what is yet to come."""
        cluster = self._view_state.cluster
        assert cluster is not None
        found = find_history(
            cluster,
            self._inner,
            self._span,
            most_changes=MOST_CHANGES,
            most_records=MOST_RECORDS,
            cancelled=self._cancelled,
        )
        if found.table is None:
            return _of_lines(map(ValueLine, found.warnings or ["no record is known"]))
        inside = self._inner

        def path_of(row: Mapping[str, Any]) -> str | None:
            return self._outer(inside)

        note = "" if len(found.table) < MOST_CHANGES else f"the newest {MOST_CHANGES:,} changes"
        if not found.is_whole:
            note = f"from the newest {MOST_RECORDS:,} records; ? was before them: see `changes`"
        return {
            "table": found.table, "first": found.first, "note": note, "marked": found.marked,
            "path_of": path_of,
        }  # fmt: skip

    def _described(self, described: Description) -> dict[str, Any]:
        answer = self._ask(*described.words)
        table = answer.table
        if table is None:
            return _of_lines(map(ValueLine, answer.warnings or ["no answer"]))
        first = [name for name in described.first if name in table.column_names]
        note = "; ".join(answer.warnings)
        return self._of_rows(table, described.base, described.names) | {
            "first": first, "note": note,
        }  # fmt: skip

    def _of_rows(
        self,
        table: pa.Table,
        base: Sequence[str],
        names_of: Callable[[Mapping[str, Any]], tuple[str, ...] | None],
    ) -> dict[str, Any]:
        """Rows about nodes, marked where these changed; `names_of` names one below `base`."""

        def path_of(row: Mapping[str, Any]) -> str | None:
            names = names_of(row)
            root = NodePlace(self._view_state.root)
            found = None if names is None else path_below(root, base, names)
            return None if found is None else self._outer(found)

        marked = None
        if self._span is not None and len(table) <= _MARKED:
            below = map(names_of, rows_of(table))
            marked = self._marks([names and (*base, *names) for names in below])
        return {"table": table, "marked": marked, "note": "", "path_of": path_of}

    def _marks(self, nodes: Sequence[Sequence[str] | None]) -> pa.Array:
        """bool[n]: which nodes, by their names, changed since the previous stop."""
        above = tuple(split(self._prefix))
        keys = [None if names is None else (*above, *names) for names in nodes]
        found = self._changes.marks(self._cancelled, {key for key in keys if key})
        return pa.array([key is not None and found.get(key, False) for key in keys], pa.bool_())

    def _cells(self, described: Description, table: pa.Table) -> dict[str, Any]:
        """Cells of a described table that changed. Cost: may decode the previous stop."""
        assert self._previous is not None
        view_state = ViewState(opened=self._previous, cluster=self._previous)
        before = ask(view_state, described.words, cancelled=self._cancelled).table
        if before is None or len(before) > _COMPARED:
            return {}
        keys, keys_before = (list(map(described.names, rows_of(of))) for of in (table, before))
        return {"changed": changed_cells(table, before, keys, keys_before)}

    def _children(self, place: NodePlace, node: Directory) -> dict[str, Any]:
        """The children as rows: kind, value, when made and changed."""
        names = node.names()
        touches = NodeTimeline(self._context).of(place).children(names)
        nodes = []
        for name in names:
            check(self._cancelled)
            nodes.append(node.child(name))
        columns: dict[str, pa.Array] = {
            "name": pa.array([_storable(name) for name in names], pa.string()),
            "kind": pa.array(["directory" if n is None or n.is_dir else "leaf" for n in nodes]),
        }
        if 0 < len(names) <= _VALUES and any(isinstance(n, Leaf) for n in nodes):
            held = [held_text(n) if isinstance(n, Leaf) else None for n in nodes]
            columns["value"] = pa.array(held, pa.string())
        for which in ("changed", "created"):
            moments = [getattr(touch, which) for touch in touches]
            times = [None if m is None else m.timestamp_ms for m in moments]
            offsets = [None if m is None else m.offset for m in moments]
            columns[f"{which}_offset"] = pa.array(offsets, pa.int64())
            columns[f"{which}_time"] = pa.array(times, _MS)
        types = [None if t.changed is None else t.changed.type for t in touches]
        columns["changed_type"] = pa.array(types, pa.string())
        by_shown = {_storable(name): name for name in names}

        return self._of_rows(
            pa.table(columns),
            place.names(),
            lambda row: (by_shown[row["name"]],),
        )

    def _has_changed(self, place: NodePlace) -> bool:
        """Whether a node, or anything in it, changed since the previous stop."""
        if self._span is None:
            return False
        names = place.names()
        nodes = [names] if names else [(name,) for name in self._view_state.root.names()]
        return pc.any(self._marks(nodes)).as_py() is True

    def _lacks_times(self, table: pa.Table | None) -> bool:
        """Whether older files tell times that a table does not have."""
        cluster = self._view_state.cluster
        if self._reads_older or cluster is None or table is None or not self._view_state.has_image:
            return False
        times = (name for name in table.column_names if name.endswith("_time"))
        return any(table.column(name).null_count for name in times) and is_unread(cluster)

    def _ask(self, *words: str) -> CommandAnswer:
        return ask(
            self._view_state, words, cancelled=self._cancelled, reads_older=self._reads_older
        )

    def _outer(self, path: str) -> str:
        """A path below the cluster's root as one of the whole tree."""
        return self._prefix + path if path != "/" else self._prefix or "/"


def _offset_of(view_state: ViewState) -> int | None:
    return None if view_state.cluster is None else view_state.cluster.status().offset


def _leading(value: JsonValue) -> JsonValue:
    """The value of a node, where a fenced broker says first that it is."""
    if not isinstance(value, Mapping):
        return value
    return {**{name: True for name in _LEADING if value.get(name) is True}, **value}


def _of_lines(lines: Iterable[ValueLine], copy: Callable[[], str] | None = None) -> dict[str, Any]:
    shown, is_whole = clipped(lines)
    note = "" if is_whole else "cut: `o` shows all of it in the pager, `Y` copies it"
    return {"lines": shown, "note": note, "copy": copy}


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return to_json(value, indent=2)
    except (RecursionError, ValueError, TypeError):
        return "\n".join(line.text for line in value_lines(value))


def _storable(text: str) -> str:
    """A text that Arrow takes: lone surrogates are written as escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return escape(text)
    return text
