"""Which command describes a directory best, and which node a row of its answer is about. No widget.

Paths here are real names below a cluster's root; names come from a cluster and can hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from metashell.fs.node import Directory, Leaf
from metashell.fs.nodes.settings import entity_name
from metashell.fs.path import Place

Names: TypeAlias = tuple[str, ...]
Row: TypeAlias = Mapping[str, Any]

CLUSTERS: Final = "clusters"
"""As `metashell.fleet` has it, which takes long to import."""
_ANY: Final = "*"
"""In a pattern: any name."""
_BY_NAME: Final = ("image", "topics", "byName")
_TOPIC_COLUMNS: Final = (
    "topic", "partitions", "offline", "under_replicated", "replication", "configs",
    "created_time", "changed_time",
)  # fmt: skip
_PARTITION_COLUMNS: Final = (
    "partition", "state", "leader", "isr", "replicas", "elr", "min_isr", "since_time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Description:
    """A table that describes a directory."""

    title: str
    """What the rows are."""
    words: tuple[str, ...]
    """The command that gives them, with the options that ask for all columns as a table."""
    base: Names
    """The directory that the rows' nodes are below."""
    names: Callable[[Row], Names | None]
    """Names from `base` to the node of a row; None where it is about none."""
    first: tuple[str, ...] = ()
    """Columns that are shown unless others are asked for, health early; all if empty."""


_Maker: TypeAlias = Callable[[Names, Place], Description | None]


def description_of(names: Names, place: Place, *, in_fleet: bool = False) -> Description | None:
    """What describes a directory; None where its list of children does.

    Args:
        names: Its path below the cluster's root, or the fleet's where it lies in no cluster.
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
    return None


def path_below(place: Place, names: Sequence[str]) -> str | None:
    """The path of a node some names below a place, or of the last of them that is there.

    None where not even the first one is.
    """
    start = place
    for name in names:
        child = place.node.child(name) if isinstance(place.node, Directory) else None
        if child is None:
            break
        place = Place(child, name, place)
    return None if place is start else place.encoded()


def _table(
    title: str,
    words: str,
    base: Names,
    names: Callable[[Row], Names | None],
    first: tuple[str, ...] = (),
) -> _Maker:
    asked = (*words.split(), "-o", "table", "--columns", "all")
    description = Description(title, asked, base, names, first)
    return lambda _names, _place: description


def _column(name: str) -> Callable[[Row], Names | None]:
    """The node is the child that a column names."""
    return lambda row: None if row[name] is None else (str(row[name]),)


def _partitions(names: Names, place: Place) -> Description | None:
    node = place.node
    name = node.child("name") if isinstance(node, Directory) else None
    if not isinstance(name, Leaf):
        return None
    topic = name.value()
    if not isinstance(topic, str):
        return None
    words = ("partitions", "-o", "table", "--columns", "all", "--", topic)
    return Description("Partitions", words, names, _column("partition"), _PARTITION_COLUMNS)


def _fleet() -> Description:
    words = ("fleet", "-o", "table", "--columns", "all")
    return Description("Fleet", words, (CLUSTERS,), _column("cluster"))


def _node(row: Row) -> Names | None:
    directory = "controllers" if row["role"] == "controller" else "brokers"
    return None if row["id"] is None else (directory, str(row["id"]))


def _config(row: Row) -> Names:
    kind, name = row["resource_type"], row["resource_name"]
    return (f"{kind}:{name}" if name else kind, row["key"])


def _quota(row: Row) -> Names:
    kinds = {"client-id": "client_id", "user": "user", "ip": "ip"}
    defaults = row["defaults"] or ()
    pairs = [
        (kind, None if kind in defaults else row[column])
        for kind, column in kinds.items()
        if kind in defaults or row[column] is not None
    ]
    return (entity_name(pairs), row["key"])


def _user(row: Row) -> Names | None:
    mechanisms = row["mechanisms"]
    return (mechanisms[0], row["user"]) if mechanisms else None


def _voter(row: Row) -> Names | None:
    return None if row["status"] == "Observer" else (str(row["id"]),)


_NODE_COLUMNS: Final = (
    "id", "role", "fenced", "voter", "release", "replicas", "rack", "endpoints", "changed_time",
)  # fmt: skip
_BROKER_COLUMNS: Final = (
    "broker", "state", "leaders", "replicas", "in_sync", "rack", "preferred", "preferred_led",
    "leader_skew", "replica_skew",
)  # fmt: skip
_CONFIG_COLUMNS: Final = ("resource_name", "key", "value", "resource_type", "source", "set_time")
_ACL_COLUMNS: Final = (
    "resource", "principal", "operation", "permission", "host", "pattern_type",
)  # fmt: skip
_topics = _table("Topics", "topics", _BY_NAME, _column("topic"), _TOPIC_COLUMNS)
_acls = _table("ACLs", "acls", ("image", "acls", "byId"), _column("id"), _ACL_COLUMNS)
_quorum = _table("Quorum", "quorum", ("quorum", "voters"), _voter)
_PATTERNS: Final[Sequence[tuple[Names, _Maker]]] = (
    (("image", "topics"), _topics),
    (_BY_NAME, _topics),
    (
        ("image", "topics", "byId"),
        _table(
            "Topics", "topics", ("image", "topics", "byId"), _column("topic_id"),
            ("topic_id", *_TOPIC_COLUMNS),
        ),
    ),
    (("image", "topics", "byName", _ANY), _partitions),
    (("image", "topics", "byId", _ANY), _partitions),
    (
        ("image", "cluster"),
        _table("Nodes", "nodes", ("image", "cluster"), _node, _NODE_COLUMNS),
    ),
    (
        ("image", "cluster", "brokers"),
        _table(
            "Brokers", "brokers", ("image", "cluster", "brokers"), _column("broker"),
            _BROKER_COLUMNS,
        ),
    ),
    (
        ("image", "cluster", "controllers"),
        _table(
            "Controllers", "nodes --controllers", ("image", "cluster"), _node, _NODE_COLUMNS
        ),
    ),
    (
        ("image", "configs"),
        _table("Configs", "config", ("image", "configs"), _config, _CONFIG_COLUMNS),
    ),
    (("image", "acls"), _acls),
    (("image", "acls", "byId"), _acls),
    (
        ("image", "clientQuotas"),
        _table(
            "Quotas", "quotas", ("image", "clientQuotas"), _quota, ("entity", "key", "value")
        ),
    ),
    (
        ("image", "scram"),
        _table(
            "Users", "users", ("image", "scram"), _user,
            ("user", "mechanisms", "iterations", "quotas", "acls", "changed_time"),
        ),
    ),
    (
        ("image", "delegationToken"),
        _table(
            "Tokens", "tokens", ("image", "delegationToken"), _column("token_id"),
            ("token_id", "owner", "renewers", "expired", "issue_time", "expiry_time"),
        ),
    ),
    (("quorum",), _quorum),
    (("quorum", "voters"), _quorum),
    (("log",), _table("Files", "du --by file", ("log",), _column("file"))),
)  # fmt: skip
"""By the names of a directory."""
