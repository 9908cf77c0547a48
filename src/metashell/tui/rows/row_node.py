"""The node that a row of a command's table is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.errors import PathError
from metashell.fs.path import encode_path, resolve
from metashell.tui.node.described import config_names

if TYPE_CHECKING:
    from metashell.fs.node import Directory
    from metashell.tui.view_state import ViewState


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
