"""The content of the brokers view, gathered in a job: rows of ``brokers``, and words for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_text import shown_texts
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.tui.rows.bars import bars
from metashell.tui.rows.changes import UNCHANGED, TableChanges
from metashell.tui.rows.cluster_rows import cluster_rows, joined, previous_view_state
from metashell.tui.rows.drawn import with_columns
from metashell.tui.text import short_time

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState

PICKED: Final = "picked"
DRAWN: Final = {"leaders_bar": "leaders", "replicas_bar": "replicas", PICKED: "broker"}
RACK_DRAWN: Final = {**DRAWN, PICKED: "rack"}
_BROKER_COLUMNS: Final = (
    "broker", "state", "rack", "leaders", "leader_skew", "replicas", "replica_skew",
)  # fmt: skip
_RACK_COLUMNS: Final = (
    "rack", "brokers", "active", "leaders", "leader_skew", "replicas", "replica_skew",
)  # fmt: skip
_NONE: Final = "-"
_MOST_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLoad:
    """The leaders and replicas of each broker and rack."""

    brokers: pa.Table
    changed_brokers: TableChanges
    racks: pa.Table
    changed_racks: TableChanges
    rows: Mapping[int, int]
    """Row of each broker in `nodes`."""
    nodes: pa.Table
    """Registrations."""

    def brokers_of(self, rack: str | None) -> tuple[int, ...]:
        """The brokers of a rack; None for those without one."""
        column = self.brokers.column("rack")
        keep = pc.is_null(column) if rack is None else pc.equal(column, rack)
        return tuple(self.brokers.filter(keep).column("broker").to_pylist())

    def is_registered(self, broker: int) -> bool:
        """Whether the cluster knows it, and not only a replica's place on it."""
        return broker in self.rows


def load_of(view_state: ViewState, cancelled: Callable[[], bool]) -> BrokerLoad:
    """Ask for everything.

    Raises:
        MetashellError: The source can't be read.
    """
    brokers = cluster_rows(view_state, "brokers", cancelled=cancelled).table
    racks = cluster_rows(view_state, "brokers", "--by", "rack", cancelled=cancelled).table
    nodes = cluster_rows(view_state, "nodes", "--brokers", cancelled=cancelled).table
    before = previous_view_state(view_state)
    changed = changed_racks = UNCHANGED
    if before is not None:
        try:
            old = cluster_rows(before, "brokers", cancelled=cancelled).table
            changed = TableChanges.between(brokers, old, "broker")
            old = cluster_rows(before, "brokers", "--by", "rack", cancelled=cancelled).table
            changed_racks = TableChanges.between(racks, old, "rack")
        except MetashellError:
            pass  # what was shown before can't be read any more: nothing to compare with
    registered = [
        (node, at)
        for at, (node, is_registered) in enumerate(
            zip(nodes["id"].to_pylist(), nodes["registered"].to_pylist(), strict=True)
        )
        if is_registered
    ]
    return BrokerLoad(
        brokers=brokers,
        changed_brokers=changed,
        racks=racks,
        changed_racks=changed_racks,
        rows=dict(registered),
        nodes=nodes,
    )


# Tables.


def broker_rows(load: BrokerLoad, width: int, picked: Collection[int]) -> pa.Table:
    """Brokers with bars; with a column of marks where any is picked."""
    table = _ordered(load.brokers, _BROKER_COLUMNS)
    states = table.column("state").to_pylist()
    active = [int(state == "active") for state in states]
    registered = [int(state != "not-registered") for state in states]
    table = _with_bars(table, width, active, registered)
    if picked:
        marks = ["✓" if broker in picked else "" for broker in table["broker"].to_pylist()]
        table = with_columns(table, (PICKED, "broker", marks))
    return table


def rack_rows(load: BrokerLoad, width: int, picked: Collection[int]) -> pa.Table:
    """Racks with bars; with a column of marks, or of how many, where any broker is picked."""
    table = _ordered(load.racks, _RACK_COLUMNS)
    table = _with_bars(table, width, table["active"].to_pylist(), table["brokers"].to_pylist())
    if picked:
        marks = [_rack_mark(load.brokers_of(rack), picked) for rack in table["rack"].to_pylist()]
        table = with_columns(table, (PICKED, "rack", marks))
    return table


def _rack_mark(brokers: Collection[int], picked: Collection[int]) -> str:
    n = sum(broker in picked for broker in brokers)
    return "✓" if n == len(brokers) else f"{n} of {len(brokers)}" if n else ""


def _ordered(table: pa.Table, first: Sequence[str]) -> pa.Table:
    return table.select([*first, *(name for name in table.column_names if name not in first)])


def _with_bars(
    table: pa.Table, width: int, active: Sequence[int], registered: Sequence[int]
) -> pa.Table:
    for name, weights in (("leaders", active), ("replicas", registered)):
        counts = table.column(name).to_pylist()
        column = (f"{name}_bar", name, bars(counts, width, even_shares(counts, weights)))
        table = with_columns(table, column)
    return table


def even_shares(counts: Sequence[int], weights: Sequence[int]) -> list[float | None]:
    """Each broker's share in an even distribution; None for brokers that get nothing."""
    whole, total = sum(counts), sum(weights)
    return [whole * weight / total if weight else None for weight in weights]


# Words.


def heading(load: BrokerLoad, *, by_rack: bool) -> str:
    """The heading of the table: the number of brokers or racks, and the totals."""
    states = load.brokers.column("state").to_pylist()
    counted = (
        (sum(state == name for state in states), name)
        for name in ("active", "fenced", "controlled-shutdown", "not-registered")
    )
    n, n_racks = len(states), len(load.racks)
    what = f"{n} broker{'' if n == 1 else 's'}"
    leaders = pc.sum(load.brokers["leaders"]).as_py() or 0
    replicas = pc.sum(load.brokers["replicas"]).as_py() or 0
    return joined(
        (
            f"{n_racks} rack{'' if n_racks == 1 else 's'}, {what}" if by_rack else what,
            ", ".join(f"{count} {name}" for count, name in counted if count) or None,
            *_even(leaders, states.count("active"), replicas, n - states.count("not-registered")),
        )
    )


def _even(leaders: int, n_active: int, replicas: int, n_registered: int) -> tuple[str, ...]:
    """The totals, and what the mark stands for: how many brokers share each of them."""
    if n_active == n_registered:
        return f"{leaders} leaders, {replicas} replicas", "│ even share"
    return (f"│ even: {leaders} leaders / {n_active}, {replicas} replicas / {n_registered}",)


def about_broker(load: BrokerLoad, broker: int) -> list[str]:
    """The registration of a broker, in lines of which each is escaped; none of one that is gone."""
    at = load.rows.get(broker)
    if at is None:
        if broker not in load.brokers.column("broker").to_pylist():
            return []
        told = f"broker {broker} · not registered, but replicas are assigned to it"
        return [told, about_load(load.brokers, "broker", broker)]
    row = load.nodes.slice(at, 1)
    texts: dict[str, str] = {
        name: shown_texts(row.column(name))[0].as_py() for name in row.column_names
    }

    def listed(name: str) -> str:
        return ", ".join(map(escape, row.column(name)[0].as_py() or ()))

    flags = ["fenced"] if texts["fenced"] == "yes" else []
    if flags:
        flags.append(_since(texts, "fenced"))
    if texts["in_controlled_shutdown"] == "yes":
        flags += [" and" if flags else "", " in controlled shutdown"]
    state = "".join(flags).strip() or "active"
    return [
        joined((f"broker {broker}", state, f"rack {texts['rack']}", f"Kafka {texts['release']}")),
        about_load(load.brokers, "broker", broker),
        f"endpoints {listed('endpoints') or _NONE}",
        joined(
            (
                f"epoch {texts['epoch']}",
                f"registered{_since(texts, 'registered')}" if _since(texts, "registered") else None,
                f"incarnation {texts['incarnation']}",
            )
        ),
        joined(
            (
                f"directories {listed('directories') or _NONE}",
                f"cordoned {listed('cordoned')}" if listed("cordoned") else None,
            )
        ),
        f"features {listed('features') or _NONE}",
    ]


def about_rack(load: BrokerLoad, rack: str | None) -> list[str]:
    """The brokers of a rack, in lines of which each is escaped; none of one that is gone."""
    brokers = load.brokers_of(rack)
    if not brokers:
        return []
    name = "without a rack" if rack is None else f"rack {escape(rack)}"
    return [f"{name}: {named(brokers)}", about_load(load.racks, "rack", rack)]


def about_load(table: pa.Table, key: str, value: int | str | None) -> str:
    """The leaders and replicas of a broker or a rack, and their distance from an even share."""
    column = table.column(key)
    keep = pc.is_null(column) if value is None else pc.equal(column, value)
    (row,) = table.filter(keep).to_pylist()

    def far(skew: float | None) -> str:
        if skew is None:
            return ""
        beside = f"{abs(skew):g} % {'above' if skew > 0 else 'below'} " if skew else ""
        return f" ({beside}an even share)"

    return joined(
        (
            f"leads {row['leaders']}{far(row['leader_skew'])}",
            f"holds {row['replicas']}{far(row['replica_skew'])}",
            f"in sync {row['in_sync']}",
        )
    )


def named(brokers: Sequence[int]) -> str:
    """Brokers in words; many are counted."""
    if len(brokers) == 1:
        return f"broker {brokers[0]}"
    if len(brokers) > _MOST_NAMED:
        return f"{len(brokers)} brokers"
    return f"brokers {', '.join(map(str, brokers))}"


def _since(texts: Mapping[str, str], what: str) -> str:
    place, time = texts[f"{what}_offset"], texts[f"{what}_time"]
    if place == _NONE and time == _NONE:
        return ""
    at = "" if place == _NONE else f" at offset {place}"
    return f"{at}{'' if time == _NONE else f', {short_time(time)}'}"


# Partitions that would fail without some brokers.


def partitions(n: int, more: str = "") -> str:
    """A number of partitions in words."""
    return f"{n:,} {more}partition{'' if n == 1 else 's'}"


def what_fails(table: pa.Table) -> str:
    """How many partitions a loss takes, by the rows of ``brokers --without``."""
    n_now = pc.sum(table["already"]).as_py() or 0
    found = f"{partitions(len(table) - n_now, 'more ')} offline or under min ISR"
    return f"{found}, {n_now:,} already" if n_now else found


@dataclass(frozen=True, slots=True)
class Loss:
    """The numbers of partitions that would be offline or under min ISR without some brokers."""

    brokers: tuple[int, ...]
    offline: int
    offline_already: int
    under: int
    under_already: int

    def text(self) -> str:
        """The numbers in a sentence."""
        begin = f"without {named(self.brokers)}"
        if not self.offline and not self.under:
            return f"{begin}: nothing else would fail"
        parts = []
        for n, already, what in (
            (self.offline, self.offline_already, "offline"),
            (self.under, self.under_already, "under min ISR"),
        ):
            if n > already:
                parts.append(f"{partitions(n - already, 'more ')} {what}")
            if already:
                parts.append(f"{partitions(already)} {what} already")
        return f"{begin}: {', '.join(parts)}"


def loss_of(view_state: ViewState, brokers: Sequence[int], cancelled: Callable[[], bool]) -> Loss:
    """Count it.

    Raises:
        MetashellError: The source can't be read.
    """
    table = without(view_state, brokers, cancelled)
    is_offline, already = pc.equal(table["result"], "offline"), table["already"]

    def count(mask: pa.ChunkedArray) -> int:
        n: int = pc.sum(mask, min_count=0).as_py()
        return n

    offline, offline_already = count(is_offline), count(pc.and_(is_offline, already))
    n, n_already = len(table), count(already)
    return Loss(tuple(brokers), offline, offline_already, n - offline, n_already - offline_already)


def without(
    view_state: ViewState, brokers: Sequence[int], cancelled: Callable[[], bool]
) -> pa.Table:
    """The partitions that would be offline or under min ISR."""
    ids = ",".join(map(str, brokers))
    return cluster_rows(view_state, "brokers", "--without", ids, cancelled=cancelled).table
