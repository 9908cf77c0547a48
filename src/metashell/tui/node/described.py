"""Which command describes a directory best, and which node a row of its answer is about. No widget.

Paths here are real names below a cluster's root; names come from a cluster and can hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import CLUSTERS, NodePlace
from metashell.fs.pattern import quote
from metashell.parts.forms import entity_name
from metashell.parts.known import coordinator_roots, find_part, parts_below
from metashell.parts.paths import directory_below
from metashell.parts.spec import PartDescription, PartSpec, hook

ColumnNames: TypeAlias = tuple[str, ...]
RowValues: TypeAlias = Mapping[str, Any]

_ANY: Final = "*"
"""Any name in a pattern."""
_IMAGE: Final = ("image",)
_TOPIC_DEPTH: Final = 4
_PARTITION_COLUMNS: Final = (
    "partition", "state", "leader", "isr", "replicas", "why", "since_time", "elr", "min_isr",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Description:
    """A table that describes a directory."""

    title: str
    """The table's title."""
    words: tuple[str, ...]
    """The command that gives them, with the options that ask for all columns as a table."""
    base: ColumnNames
    """The directory that the rows' nodes are below."""
    names: Callable[[RowValues], ColumnNames | None]
    """Names from `base` to the node of a row; None where it is about none."""
    first: tuple[str, ...] = ()
    """Columns that are shown unless others are asked for, health early; all if empty."""


_Maker: TypeAlias = Callable[[ColumnNames, NodePlace], Description | None]


def description_of(
    names: ColumnNames, place: NodePlace, *, in_fleet: bool = False
) -> Description | None:
    """The table that describes a directory; None if the list of its children is shown instead.

    Args:
        names: Its path below the cluster's root; below the fleet's root if it lies in no cluster.
        place: The directory.
        in_fleet: Whether it lies in no cluster of a fleet.
    """
    if in_fleet:
        return _fleet() if names == (CLUSTERS,) else None
    for pattern, make in _PATTERNS:
        if len(pattern) == len(names) and all(
            wanted in (_ANY, name) for wanted, name in zip(pattern, names, strict=True)
        ):
            return make(names, place)
    if names[:1] == _IMAGE:
        return _of_part(names) if len(names) > 1 else None
    return _of_coordinators(names) if names else None


def _of_part(names: ColumnNames) -> Description | None:
    """The table of a part that lies in this directory, or of the one part that it leads to."""
    for part in parts_below(names[1]):
        told = part.described
        if told is not None and names[1:] in (part.path, part.path[:1]):
            find = hook(told.leaf) if ":" in told.leaf else _column(told.leaf)
            base = (*_IMAGE, *part.path)
            return Description(told.title, _words(told.words), base, find, told.columns)
    return None


def path_below(root: NodePlace, base: Sequence[str], names: Sequence[str]) -> str | None:
    """The path of a node some names below a directory, or of the last of them that is there.

    None where not even the first one is.
    """
    place = root
    for name in (*base, *names):
        child = place.node.child(name) if isinstance(place.node, Directory) else None
        if child is None:
            break
        place = NodePlace(child, name, place)
    return place.encoded() if len(place.names()) > len(base) else None


def topic_at(place: NodePlace) -> str | None:
    """The name of the topic that a place is the directory of; None for another place."""
    names, node = place.names(), place.node
    if len(names) != _TOPIC_DEPTH or names[:2] != (*_IMAGE, "topics"):
        return None
    leaf = node.child("name") if isinstance(node, Directory) else None
    name = leaf.value() if isinstance(leaf, Leaf) else None
    return name if isinstance(name, str) else None


def _table(
    title: str,
    words: str,
    base: ColumnNames,
    names: Callable[[RowValues], ColumnNames | None],
    first: tuple[str, ...] = (),
) -> _Maker:
    description = Description(title, _words(words), base, names, first)
    return lambda _names, _place: description


def _words(words: str) -> tuple[str, ...]:
    """The words of a command that asks for all columns."""
    return (*words.split(), "-o", "table", "--columns", "all")


def _column(name: str) -> Callable[[RowValues], ColumnNames | None]:
    """The node is the child that a column names."""
    return lambda row: None if row[name] is None else (str(row[name]),)


def _partitions(names: ColumnNames, place: NodePlace) -> Description | None:
    topic = topic_at(place)
    if topic is None:
        return None
    words = ("partitions", "-o", "table", "--columns", "all", "--", topic)
    return Description("Partitions", words, names, _column("partition"), _PARTITION_COLUMNS)


def _topics_by_id(names: ColumnNames, _: NodePlace) -> Description | None:
    told = find_part("topics").described
    assert told is not None
    columns = ("topic_id", *told.columns)
    return Description(told.title, _words(told.words), names, _column("topic_id"), columns)


def _fleet() -> Description:
    words = ("fleet", "-o", "table", "--columns", "all")
    return Description("Fleet", words, (CLUSTERS,), _column("cluster"))


def _node(row: RowValues) -> ColumnNames | None:
    directory = "controllers" if row["role"] == "controller" else "brokers"
    return None if row["id"] is None else (directory, str(row["id"]))


def config_names(row: RowValues) -> ColumnNames:
    """The node of a row of `config`."""
    kind, name = row["resource_type"], row["resource_name"]
    return (f"{kind}:{name}" if name else kind, row["key"])


def quota_names(row: RowValues) -> ColumnNames:
    """The node of a row of `quotas`."""
    kinds = {"client-id": "client_id", "user": "user", "ip": "ip"}
    defaults = row["defaults"] or ()
    pairs = [
        (kind, None if kind in defaults else row[column])
        for kind, column in kinds.items()
        if kind in defaults or row[column] is not None
    ]
    return (entity_name(pairs), row["key"])


def user_names(row: RowValues) -> ColumnNames | None:
    """The node of a row of `users`; None for a user without credentials."""
    mechanisms = row["mechanisms"]
    return (mechanisms[0], row["user"]) if mechanisms else None


def _of_coordinators(names: ColumnNames) -> Description | None:
    """The table of a coordinator's part whose things lie in this directory."""
    for part in coordinator_roots().get(names[0], ()):
        below = directory_below(part)
        levels = (*part.path, *below)
        if part.described is not None and len(levels) == len(names):
            pairs = zip(levels, names, strict=True)
            if all(level == name or level[0] == "{" for level, name in pairs):
                n_above = sum(level[0] == "{" for level in below)
                return _of_things(part, part.described, names, n_above)
    return None


def _of_things(
    part: PartSpec, told: PartDescription, names: ColumnNames, n_above: int
) -> Description:
    """The rows of a part; of those of one thing where columns name directories above."""
    columns, words = part.rows_by[n_above:], _words(told.words)
    if n_above:
        words = (*words, "--", quote(names[len(part.path)]))
    elif part.asked_for:
        # The columns asked for have values from other logs.
        words = (*words[:-1], ",".join(told.columns))
    return Description(told.title, words, names, lambda row: _named(row, columns), told.columns)


def _named(row: RowValues, names: Sequence[str]) -> ColumnNames | None:
    found = [row[name] for name in names]
    return None if None in found else tuple(map(str, found))


def _voter(row: RowValues) -> ColumnNames | None:
    return None if row["status"] == "Observer" else (str(row["id"]),)


_NODE_COLUMNS: Final = (
    "id", "role", "fenced", "voter", "release", "replicas", "rack", "endpoints", "changed_time",
)  # fmt: skip
_quorum = _table("Quorum", "quorum", ("quorum", "voters"), _voter)
_PATTERNS: Final[Sequence[tuple[ColumnNames, _Maker]]] = (
    ((*_IMAGE, "topics", "byId"), _topics_by_id),
    ((*_IMAGE, "topics", "byName", _ANY), _partitions),
    ((*_IMAGE, "topics", "byId", _ANY), _partitions),
    ((*_IMAGE, "cluster"), _table("Nodes", "nodes", (*_IMAGE, "cluster"), _node, _NODE_COLUMNS)),
    (("quorum",), _quorum),
    (("quorum", "voters"), _quorum),
    (("log",), _table("Files", "du --by file", ("log",), _column("file"))),
)  # fmt: skip
"""By the names of a directory that no part has for its own."""
