"""Rows about a cluster, and the nodes that rows are about."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.framework.cluster import member_at
from metashell.commands.rows.cell_colours import shows_the_worst
from metashell.commands.rows.cell_text import is_list, plain_texts
from metashell.dataclass import dataclass
from metashell.errors import PathError
from metashell.fs.path import encode_path, resolve
from metashell.tui.node.described import config_names
from metashell.tui.view_state import ViewState

if TYPE_CHECKING:
    from metashell.fs.node import Directory


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The rows and cells that differ from the previous stop."""

    rows: pa.Array | None
    """bool[n]; None without such a stop."""
    cells: Mapping[str, pa.Array]
    """By column, bool[n]: the result of `changed_cells`."""

    def take(self, order: pa.Array) -> TableChanges:
        """The changes of the rows in another order."""
        rows = None if self.rows is None else self.rows.take(order)
        return TableChanges(rows, {name: cells.take(order) for name, cells in self.cells.items()})

    @classmethod
    def between(cls, table: pa.Table, before: pa.Table, key: str) -> TableChanges:
        """Compare all of two tables of the same kind, by the column that names a row."""
        keys, keys_before = (rows.column(key).to_pylist() for rows in (table, before))
        cells, known = changed_cells(table, before, keys, keys_before), set(keys_before)
        rows = pa.array([key not in known for key in keys], pa.bool_())
        for changed in cells.values():
            rows = pc.or_(rows, changed)
        return cls(rows, cells)


UNCHANGED: Final = TableChanges(None, {})


def changed_cells(
    table: pa.Table,
    before: pa.Table,
    keys: Sequence[Hashable],
    keys_before: Sequence[Hashable],
) -> dict[str, pa.Array]:
    """Find the cells that changed.

    Args:
        table: The rows.
        before: Rows of the same kind, from another state.
        keys: The thing that each row of `table` is about; None for rows that are not compared.
        keys_before: The things of the rows of `before`.

    Returns:
        By the names of columns with such cells, bool[n]; a row that `before` lacks has none.
    """
    places = {key: at for at, key in enumerate(keys_before) if key is not None}
    at = pa.array([None if key is None else places.get(key) for key in keys], pa.int64())
    found = {}
    for name in table.column_names:
        if name not in before.column_names:
            continue
        now, was = _seen_texts(table, name), _seen_texts(before, name).take(at)
        same = pc.fill_null(pc.equal(now, was), False)
        both_null = pc.and_(pc.is_null(now), pc.is_null(was))
        differs = pc.and_(pc.is_valid(at), pc.invert(pc.or_(same, both_null)))
        if pc.any(differs).as_py():
            found[name] = differs
    return found


def _seen_texts(table: pa.Table, name: str) -> pa.Array:
    """string[n]: what a table shows of a column, so that a mark says that this is another text."""
    column = table.column(name)
    if is_list(column.type) and shows_the_worst(table.schema.field(name)):
        column = pc.list_slice(column, 0, 1)
    return plain_texts(column)


def path_of(row: Mapping[str, Any], root: Directory, prefix: str) -> str | None:
    """The node that a row of a command's table is about.

    Args:
        row: Values by the names of their columns.
        root: The root of the whole tree.
        prefix: The text before the paths of the current cluster.

    Returns:
        An absolute path of the whole tree; None where there is no such node.
    """
    cluster = row.get("cluster")
    if isinstance(cluster, str):
        prefix = encode_path(["clusters", cluster])
    for names in _candidates(row):
        path = names if isinstance(names, str) else encode_path(names)
        for whole in dict.fromkeys((f"{prefix}{path}", path)):
            try:
                return resolve(root, whole).encoded()
            except PathError:
                continue
    return None


def why_no_node(row: Mapping[str, Any], view_state: ViewState | None) -> str:
    """Why a row leads nowhere: it names no node, or one that the state shown does not have."""
    names = next(iter(_candidates(row)), None)
    offset = (
        None
        if view_state is None or view_state.cluster is None
        else view_state.cluster.status().offset
    )
    if names is None or offset is None:
        return "this row has no node"
    path = names if isinstance(names, str) else encode_path(names)
    return f"{path} is not there at offset {offset}"


def _candidates(row: Mapping[str, Any]) -> list[str | list[str]]:
    """Paths in a cluster that may be meant, the likeliest first."""
    found: list[str | list[str]] = []
    path, topic, partition = row.get("path"), row.get("topic"), row.get("partition")
    if isinstance(path, str) and path.startswith("/"):
        found.append(path)
    group, member = row.get("group"), row.get("member")
    if isinstance(group, str) and isinstance(member, str):
        found.append(["groups", group, "members", member])
    elif isinstance(group, str) and isinstance(topic, str):
        found.append(["groups", group, "offsets", topic, str(partition)])
    elif isinstance(group, str):
        found.append(["groups", group])
    elif isinstance(row.get("transactional_id"), str) and topic is None:
        found.append(["transactions", row["transactional_id"]])
    if isinstance(topic, str):
        of_topic = ["image", "topics", "byName", topic]
        if isinstance(partition, int):
            found.append([*of_topic, str(partition)])
        found.append(of_topic)
    if isinstance(row.get("resource_type"), str) and isinstance(row.get("key"), str):
        found.append(["image", "configs", *config_names(row)])
    if isinstance(row.get("principal"), str) and isinstance(row.get("id"), str):
        found.append(["image", "acls", "byId", row["id"]])
    kind, _, name = str(row.get("subject") or "").partition(" ")  # as `health` has it
    if kind == "topic":
        found.append(["image", "topics", "byName", name])
    elif kind in ("broker", "controller"):
        found.append(["image", "cluster", f"{kind}s", name])
    for column in () if isinstance(topic, str) else ("broker", "node", "id"):
        node = row.get(column)
        if isinstance(node, int):
            found.append(["image", "cluster", "brokers", str(node)])
            found.append(["image", "cluster", "controllers", str(node)])
    return found


def applied_at(view_state: ViewState, path: str, offset: int, *, of_history: bool = False) -> int:
    """The first offset at which a record counts: the last one of its `batch_around`."""
    return batch_around(view_state, path, offset, of_history=of_history)[1]


def batch_around(
    view_state: ViewState, path: str, offset: int, *, of_history: bool = False
) -> tuple[int, int]:
    """The first and the last offset of a record's batch, which is applied as a whole.

    The last offset of a batch gives itself twice: no record of the batch follows it.

    Args:
        view_state: The shown view state.
        path: A path of the cluster whose log it is, where several are open.
        offset: The record's.
        of_history: Whether it may lie anywhere in the files, later than what is shown too.
    """
    from metashell.image.history import end_row

    source = view_state.cluster
    if source is None and view_state.fleet is not None:
        member = member_at(view_state.fleet, path)
        source = None if member is None else member.source()
    if source is None:
        return offset, offset
    records = (
        source.newest.full_log.history_records if of_history else source.full_log.image.records
    )
    _, inside = end_row(records, offset, record=False)
    return (offset, offset) if inside is None else inside


def previous_view_state(view_state: ViewState) -> ViewState | None:
    """The state that was shown before; None where there was none."""
    if view_state.previous is None or view_state.previous is view_state.cluster:
        return None
    return ViewState(opened=view_state.previous, cluster=view_state.previous)


def joined(parts: Sequence[str | None]) -> str:
    """Parts of a line that there are, with dots between."""
    return " · ".join(part for part in parts if part)
