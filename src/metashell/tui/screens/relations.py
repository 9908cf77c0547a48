"""Nodes that are related to a node, and the screen that leads to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.errors import PathError
from metashell.fs.path import NodePlace, encode_path, resolve
from metashell.tui.frame.box import ListBox
from metashell.tui.jobs import Job
from metashell.tui.node.described import config_names, quota_names, topic_at
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.records.filters import Chip
from metashell.tui.rows.cells import rows_of
from metashell.tui.text import line
from metashell.tui.view_state import ViewState, ask

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

    from metashell.tui.app import Explorer


MOST: Final = 100
"""Neighbours of a kind that are listed; how many there are besides is told."""
_TABLE: Final = ("-o", "table", "--columns", "all")
_IMAGE: Final = "image"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Relation:
    """A neighbour, or a group of them."""

    name: str
    """The neighbour's or the group's name."""
    told: str = ""
    """A few words about it."""
    path: str | None = None
    """Its node, below the cluster's root; None where there is none."""
    chip: Chip | None = None
    """The filter of the records that are about the node."""
    key: str = ""
    """A group's letter key, which goes to it."""
    children: tuple[Relation, ...] = ()
    """A group's neighbours."""


@dataclass(frozen=True, slots=True)
class Relations:
    """The neighbours of a node."""

    path: str
    """The node, below the cluster's root."""
    groups: tuple[Relation, ...]


Rows = Callable[..., list[dict[str, Any]]]
"""Gives the rows of a command; none where it has no answer."""


def relations_of(
    view_state: ViewState, path: str, cancelled: Callable[[], bool] = lambda: False
) -> Relations | None:
    """Find the neighbours of a node; None where none are known for its kind.

    Args:
        view_state: The shown view state, with a cluster.
        path: A path of the cluster's own tree.
        cancelled: Asked by long loops.
    """
    cluster = view_state.cluster
    assert cluster is not None

    def rows(command: str, *words: str) -> list[dict[str, Any]]:
        alone = ViewState(opened=cluster, cluster=cluster)
        table = ask(alone, [command, *_TABLE, *words], cancelled=cancelled).table
        return [] if table is None else list(rows_of(table))

    try:
        place = resolve(cluster.root, path)
    except PathError:
        return None
    names = place.names()
    for start, find in _KINDS.items():
        if names[: len(start)] == start and len(names) > len(start):
            groups = find(rows, place, names[len(start) :])
            return Relations(path, tuple(groups))
    return None


def _group(
    name: str, key: str, children: Sequence[Relation], told: str = "", path: str | None = None
) -> Relation:
    """A group whose neighbours are counted."""
    shown = tuple(children[:MOST])
    if len(children) > MOST:
        shown += (Relation(f"and {len(children) - MOST:,} more", path=path),)
    return Relation(name, told or f"{len(children):,}", path, key=key, children=shown)


def _records(flag: str, value: str) -> Relation:
    return Relation("records", f"log {flag} {value}", chip=Chip(flag, value), key="r")


def _path(*names: object) -> str:
    return encode_path((_IMAGE, *map(str, names)))


def _topic_path(topic: str, *partition: int) -> str:
    return _path("topics", "byName", topic, *partition)


def _of_topic(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of a topic, or of a partition of it."""
    directory = place.parent if len(below) > 1 and place.parent else place
    topic = topic_at(directory) or below[0]
    yield Relation("topic", topic, _topic_path(topic), key="t")
    yield _configs(rows, "TOPIC", topic)
    found = rows("partitions", "--", topic)
    if len(below) > 1:
        found = [row for row in found if str(row["partition"]) == below[1]]
    else:
        yield _partitions(found)
    yield _brokers(rows, found)
    acls = rows("acls", "--resource", f"topic:{topic}")
    yield _group("ACLs", "a", [_acl(row) for row in acls])
    yield _quotas(rows, {str(row["principal"]).partition(":")[2] for row in acls})
    yield _records("--topic", topic)


def _configs(rows: Rows, kind: str, name: str) -> Relation:
    found = [
        Relation(row["key"], str(row["value"]), _path("configs", *config_names(row)))
        for row in rows("config", f"{kind.lower()}:{name}")
    ]
    path = _path("configs", f"{kind}:{name}") if found else None
    return _group("configs", "c", found, path=path)


def _partitions(rows: Sequence[Row], told: str = "") -> Relation:
    found = [
        Relation(
            f"{row['topic']}/{row['partition']}",
            _partition_words(row),
            _topic_path(row["topic"], row["partition"]),
        )
        for row in rows
    ]
    n_offline = sum(row["leader"] is None for row in rows)
    return _group("partitions", "p", found, told or _counted(rows, n_offline, "offline"))


def _counted(rows: Sequence[object], n_odd: int, odd: str) -> str:
    """How many there are, and how many of them are not as they should be."""
    return f"{len(rows):,}" + (f", {n_odd:,} {odd}" if n_odd else "")


def _partition_words(row: Row) -> str:
    leader = "none" if row["leader"] is None else row["leader"]
    isr = ",".join(map(str, row["isr"] or ()))
    return f"leader {leader}, isr {isr or 'none'}"


def _brokers(rows: Rows, partitions: Sequence[Row]) -> Relation:
    """Brokers that have replicas: whether one is fenced, and what it leads and follows."""
    fenced = {row["id"] for row in rows("nodes", "--brokers") if row["fenced"]}
    sides: dict[int, dict[str, list[int]]] = {}
    for row in partitions:
        for broker in row["replicas"] or ():
            of_broker = sides.setdefault(broker, {"leads": [], "follows": []})
            of_broker["leads" if broker == row["leader"] else "follows"].append(row["partition"])
    found = []
    for broker in sorted(sides):
        told = ["fenced"] if broker in fenced else []
        told += [f"{word} {_numbers(those)}" for word, those in sides[broker].items() if those]
        found.append(Relation(str(broker), ", ".join(told), _path("cluster", "brokers", broker)))
    return _group("brokers", "b", found, _counted(found, len(fenced & sides.keys()), "fenced"))


def _numbers(numbers: Sequence[int]) -> str:
    """Some partitions, or how many they are; a number alone would read as how many."""
    few = 8
    if len(numbers) > few:
        return f"{len(numbers):,} partitions"
    return " ".join(f"p{number}" for number in sorted(numbers))


def _acl(row: Row) -> Relation:
    names = ("resource", "pattern_type", "operation", "permission")
    told = " ".join(str(row[name]) for name in names)
    return Relation(str(row["principal"]), told, _path("acls", "byId", row["id"]))


def _quotas(rows: Rows, users: set[str]) -> Relation:
    """Quotas of some users."""
    found = [
        Relation(
            row["entity"],
            f"{row['key']} {row['value']:,.10g}",
            _path("clientQuotas", *quota_names(row)),
        )
        for row in rows("quotas")
        if row["user"] in users
    ]
    return _group("quotas", "u", found)


def _topics(names: Iterable[str]) -> Relation:
    return _group("topics", "t", [Relation(name, "", _topic_path(name)) for name in names])


def _of_configs(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of a resource that has configs."""
    kind, _, name = below[0].partition(":")
    yield _configs(rows, kind, name)
    if kind == "TOPIC":
        yield Relation("topic", name, _topic_path(name), key="t")
        yield _brokers(rows, rows("partitions", "--", name))
        yield _records("--topic", name)
    elif kind == "BROKER" and name:
        yield Relation("broker", name, _path("cluster", "brokers", name), key="b")
        yield _records("--broker", name)


def _of_broker(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of a broker."""
    broker = below[0]
    yield _configs(rows, "BROKER", broker)
    found = rows("partitions", "--replica", broker)
    n_led = sum(str(row["leader"]) == broker for row in found)
    yield _partitions(found, f"{len(found):,}, leads {n_led:,}")
    yield _topics(sorted({row["topic"] for row in found}))
    yield _records("--broker", broker)


def _of_acl(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of an ACL."""
    row = next((row for row in rows("acls") if row["id"] == below[0]), None)
    if row is None:
        return
    if row["resource_type"] == "TOPIC":
        name, is_prefix = row["resource_name"], row["pattern_type"] == "PREFIXED"
        topics = (one["topic"] for one in rows("topics"))
        yield _topics(
            topic
            for topic in topics
            if name in ("*", topic) or (is_prefix and topic.startswith(name))
        )
    yield from _of_principal(rows, str(row["principal"]))


def _of_quota(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of an entity with quotas."""
    found = [row for row in rows("quotas") if quota_names(row)[0] == below[0]]
    user = next((row["user"] for row in found if row["user"] is not None), None)
    if user is not None:
        yield from _of_principal(rows, f"User:{user}")


def _of_user(rows: Rows, place: NodePlace, below: Sequence[str]) -> Iterator[Relation]:
    """Neighbours of a user's credentials."""
    if len(below) > 1:
        yield from _of_principal(rows, f"User:{below[1]}")


def _of_principal(rows: Rows, principal: str) -> Iterator[Relation]:
    yield _group("ACLs", "a", [_acl(row) for row in rows("acls", "--principal", principal)])
    yield _quotas(rows, {principal.partition(":")[2]})


_KINDS: Final[
    Mapping[tuple[str, ...], Callable[[Rows, NodePlace, Sequence[str]], Iterator[Relation]]]
] = {
    (_IMAGE, "topics", "byName"): _of_topic,
    (_IMAGE, "topics", "byId"): _of_topic,
    (_IMAGE, "configs"): _of_configs,
    (_IMAGE, "cluster", "brokers"): _of_broker,
    (_IMAGE, "acls", "byId"): _of_acl,
    (_IMAGE, "clientQuotas"): _of_quota,
    (_IMAGE, "scram"): _of_user,
}


_WIDEST: Final = 28


def look_for_neighbours(
    explorer: Explorer, path: str, owner: MessagePump, then: Callable[[Relations], object]
) -> None:
    """Find the neighbours of a node; say so where none are known.

    Args:
        explorer: The program.
        path: A path below the cluster's root.
        owner: Who looks.
        then: Called with what was found.
    """
    view_state = explorer.view_state

    def work(job: Job) -> Relations | None:
        if view_state is None or view_state.cluster is None:
            return None
        return relations_of(view_state, path, job.cancelled)

    def done(found: Relations | None) -> None:
        if found is None or not found.groups:
            explorer.tell(f"no neighbours of {path} are known")
        else:
            then(found)

    explorer.jobs.start(
        f"looking for neighbours of {path}", work, done, owner=owner, key="relations", leads=True
    )


class _Neighbours(OptionList):
    """The lines of the tree."""

    BINDINGS: ClassVar = [
        shown_key("right,l", "screen.into", "Neighbours", "relations.into"),
        shown_key("left,h", "screen.out", "Back", "relations.out"),
    ]


class RelationsScreen(ListBox[None]):
    """The neighbours of a node, of which one can be gone to or looked at in turn.

    Args:
        found: The neighbours to begin with.
    """

    HELP = (
        "The neighbours of the selected node. `enter` goes to one. `right` shows the neighbours "
        "of that one, `left` goes back.\n\n"
        "A letter goes to a group: `t` topic, `c` configs, `p` partitions, `b` brokers, `a` "
        "ACLs, `u` quotas, `r` records. `alt+left` brings you back to where you were."
    )
    ENTER = "Go to node"
    BINDINGS: ClassVar = [quiet_key("R", "leave", "Back", "relations.leave")]
    DEFAULT_CSS = """
    RelationsScreen > Vertical { height: 90%; max-height: 44; }
    RelationsScreen OptionList { height: 1fr; }
    """

    def __init__(self, found: Relations) -> None:
        super().__init__()
        self._walked = [found]
        """The neighbours of the nodes on the way, the last ones are shown."""
        self._shown: list[Relation] = []
        """The neighbour that each line is about."""

    def make_list(self) -> OptionList:
        """A list whose arrows walk."""
        return _Neighbours(compact=True, markup=False)

    def on_mount(self) -> None:
        """Show the neighbours."""
        self.choices.focus()
        self._draw()

    @property
    def walked(self) -> str:
        """The node whose neighbours are shown, a path below the cluster's root."""
        return self._walked[-1].path

    @property
    def shown(self) -> list[Relation]:
        """All neighbours and groups, line by line."""
        return self._shown

    @property
    def chosen(self) -> Relation | None:
        """The neighbour under the cursor."""
        at = self.choices.highlighted
        return None if at is None else self._shown[at]

    def _draw(self) -> None:
        found, options = self._walked[-1], self.choices
        self.query_one(Vertical).border_title = line(f"neighbours of {found.path}")
        options.clear_options()
        self._shown = []
        names = (one.name for group in found.groups for one in (group, *group.children))
        width = min(_WIDEST, max(map(display_width, names)))
        for i, group in enumerate(found.groups):
            is_last = i + 1 == len(found.groups)
            self._add(group, "└ " if is_last else "├ ", width)
            for j, child in enumerate(group.children):
                stem = "  " if is_last else "│ "
                self._add(child, stem + ("└ " if j + 1 == len(group.children) else "├ "), width)
        options.highlighted = 0

    def _add(self, relation: Relation, stem: str, width: int) -> None:
        self._shown.append(relation)
        letter = f"{relation.key} " if relation.key else ""
        name = line(relation.name).truncate(width, ellipsis=True, pad=True)
        self.choices.add_option(
            Option(Content.assemble(stem, (letter, "bold"), name, "  ", line(relation.told)))
        )

    def on_key(self, event: events.Key) -> None:
        """Go to the group of a letter."""
        for at, relation in enumerate(self._shown):
            if relation.key and relation.key == event.key:
                event.stop()
                self.choices.highlighted = at
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go there."""
        event.stop()
        relation = self._shown[event.option_index]
        view_state = self.explorer.view_state
        if view_state is None:
            return
        if relation.chip is not None:
            self.dismiss()
            self.explorer.show_records(relation.chip)
        elif relation.path is not None:
            self.dismiss()
            self.explorer.go(view_state.prefix + relation.path)
        else:
            self.explorer.tell(f"{relation.name} have no node of their own: choose one")

    def action_into(self) -> None:
        """Show the neighbours of the neighbour."""
        relation = self.chosen
        if relation is None or relation.path is None:
            self.explorer.tell("this has no neighbours")
        elif relation.path != self.walked:
            look_for_neighbours(self.explorer, relation.path, self, self._walk)

    def _walk(self, found: Relations) -> None:
        self._walked.append(found)
        self._draw()

    def action_out(self) -> None:
        """Go back to the neighbours before."""
        if len(self._walked) > 1:
            self._walked.pop()
            self._draw()
        else:
            self.dismiss()
