"""Rows of the groups view, with the groups that need attention first. For jobs, no widget.

All rows are answers of commands. Values from the logs of topics' partitions come later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import text
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.pattern import quote
from metashell.tui.rows.changes import changed_rows
from metashell.tui.rows.cluster_rows import cluster_rows, previous_view_state
from metashell.tui.view_state import ViewState, ask

if TYPE_CHECKING:
    from metashell.tui.view_state import CommandAnswer

STALLED: Final = "stalled"
REBALANCING: Final = "rebalancing"
PENDING: Final = "pending"
LEFT: Final = "left behind"
NONE: Final = ""
_IN_ORDER: Final = (STALLED, REBALANCING, PENDING, LEFT, NONE)
_ATTENTION: Final = text("attention", "", red=(STALLED,), yellow=(REBALANCING, PENDING, LEFT))
_REBALANCING: Final = (
    "Assigning", "Reconciling", "NotReady", "PreparingRebalance", "CompletingRebalance",
)  # fmt: skip
GROUP_COLUMNS: Final = (
    "group", "attention", "state", "members", "lag", "type", "topics", "committed_time",
    "coordinator", "partition",
)  # fmt: skip
TRANSACTION_COLUMNS: Final = (
    "transaction", "hanging", "state", "partitions", "started_time", "producer_id",
    "producer_epoch", "coordinator",
)  # fmt: skip
OFFSET_COLUMNS: Final = (
    "topic", "partition", "offset", "lag", "log_end_offset", "committed_time", "pending",
    "metadata",
)  # fmt: skip
MEMBER_COLUMNS: Final = ("member", "client", "host", "epoch", "assigned", "instance")
_COMPARED: Final = 20_000
"""Groups of which it is told whether they changed since the previous stop."""
_OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_HANGING: Final = text("hanging", "", red=("yes",), yellow=("undecided",))
_STATE: Final = text("state", "", yellow=_OPEN)
_PLAIN: Final = (
    "transactional_id", "state", "producer_id", "producer_epoch", "partitions", "timeout_ms",
    "started_time", "last_update_time", "coordinator", "partition",
)  # fmt: skip
"""Columns of transactions that cost nothing more."""
NO_LAG_EARLIER: Final = "lag and hanging transactions: at the end of the log only"


@dataclass(frozen=True, slots=True)
class Extra:
    """The tables that need the logs of topics' partitions."""

    offsets: pa.Table | None = None
    """The answer of ``offsets --lag``."""
    stalled: pa.Table | None = None
    """The answer of ``offsets --stalled``."""
    hanging: pa.Table | None = None
    """The answer of ``transactions --hanging``."""
    told: tuple[str, ...] = ()
    """Messages of commands without an answer."""


NOTHING: Final = Extra()


@dataclass(frozen=True)
class GroupRows:
    """All groups and transactions, as the view shows them; see `prepared`."""

    groups: pa.Table | None
    """The answer of ``groups``; None without a log of groups."""
    transactions: pa.Table | None
    """The answer of ``transactions``; None without a log of transactions."""
    changed: pa.Array | None = None
    """bool[n]: groups that changed since the previous stop; None without one."""
    told: tuple[str, ...] = ()
    """Warnings of the commands."""
    extra: Extra = NOTHING

    def prepared(self) -> GroupRows:
        """The rows with all tables computed here, and not in the thread that draws."""
        _ = self.group_table, self.transaction_table, self.heading, self.transaction_heading
        return self

    def with_extra(self, extra: Extra) -> GroupRows:
        """The rows with more values, prepared."""
        return replace(self, extra=extra).prepared()

    @cached_property
    def group_table(self) -> tuple[pa.Table, pa.Array | None] | None:
        """The groups as shown, those first that need attention, and which of them changed."""
        if self.groups is None:
            return None
        table = _with_attention(self.groups, self.extra)
        rank = pc.index_in(table["attention"], pa.array(_IN_ORDER))
        sorted_by = pa.table(
            {"rank": rank, "lag": pc.fill_null(table["lag"], -1), "group": table["group"]}
        )
        keys = [("rank", "ascending"), ("lag", "descending"), ("group", "ascending")]
        order = pc.sort_indices(sorted_by, sort_keys=keys)
        rest = [name for name in table.column_names if name not in GROUP_COLUMNS]
        shown = table.select([*GROUP_COLUMNS, *rest]).take(order)
        return shown, None if self.changed is None else self.changed.take(order)

    @cached_property
    def transaction_table(self) -> pa.Table | None:
        """The transactions as shown: hanging, then open ones, the oldest first, then the others."""
        if self.transactions is None and self.extra.hanging is None:
            return None
        parts = [_hanging_rows(self.extra.hanging), _transaction_rows(self.transactions)]
        return pa.concat_tables([part for part in parts if part is not None])

    @cached_property
    def heading(self) -> str:
        """How many groups there are, and what they need."""
        found = self.group_table
        if found is None:
            return "no partition of __consumer_offsets is here"
        words = found[0]["attention"].to_pylist()
        counts = [f"{words.count(word):,} {word}" for word in _IN_ORDER[:-1] if word in words]
        n = len(words)
        return " · ".join([f"{n:,} group{'s' * (n != 1)}", *counts])

    @cached_property
    def transaction_heading(self) -> str:
        """The number of transactions, and how many are open, hanging or undecided."""
        table = self.transaction_table
        if table is None:
            return "no partition of __transaction_state is here"
        known = table["hanging"].to_pylist()
        n_open = sum(state in _OPEN for state in table["state"].to_pylist())
        n_hanging, n_undecided = known.count("yes"), known.count("undecided")
        parts = [f"{len(self.transactions or ()):,} transactional ids", f"{n_open:,} open"]
        parts += [f"{n_hanging:,} hanging"] if n_hanging else []
        parts += [f"{n_undecided:,} undecided"] if n_undecided else []
        return " · ".join(parts)


def _with_attention(table: pa.Table, extra: Extra) -> pa.Table:
    """Rows of ``groups`` with their lag, how long offsets stand still, and what they need."""
    groups = table["group"]
    lag = _summed(groups, extra.offsets, "lag", "sum")
    stalled = _summed(groups, extra.stalled, "stalled_ms", "max")
    pending = pc.is_valid(_summed(groups, _pending(extra.offsets), "partition", "max"))
    has_members = pc.greater(table["members"], 0)
    is_behind = pc.fill_null(pc.greater(lag, 0), False)
    stands = pc.is_valid(stalled)
    attention = pc.case_when(
        pc.make_struct(
            pc.and_(stands, has_members),
            pc.is_in(table["state"], pa.array(_REBALANCING)),
            pending,
            pc.and_(pc.and_(is_behind, stands), pc.invert(has_members)),
        ),
        *_IN_ORDER,
    )
    table = table.append_column("attention", attention)
    table = table.append_column("lag", lag).append_column("stalled_ms", stalled)
    return with_colours(table, [_ATTENTION])


def _pending(offsets: pa.Table | None) -> pa.Table | None:
    """Offsets that a transaction commits, too."""
    return None if offsets is None else offsets.filter(offsets["pending"])


def _summed(groups: pa.ChunkedArray, table: pa.Table | None, name: str, how: str) -> pa.Array:
    """int64[n]: a number of each group's rows taken together; null where it has none."""
    if table is None:
        return pa.nulls(len(groups), pa.int64())
    # Offsets without a lag are null, and are not summed.
    summed = table.group_by("group").aggregate([(name, how)])
    at = pc.index_in(groups, summed["group"].combine_chunks())
    found = summed[f"{name}_{how}"].combine_chunks().take(at.combine_chunks())
    return found.cast(pa.int64())


def _hanging_rows(table: pa.Table | None) -> pa.Table | None:
    """Open transactions of partitions that nobody ends, in the form of the second table."""
    if table is None:
        return None
    n = len(table)
    where = [f"{row[0]}-{row[1]}" for row in _pairs(table, "topic", "partition")]
    ids = table["transactional_id"].to_pylist()
    names = [
        f"producer {producer}" if name is None else name
        for name, producer in zip(ids, table["producer_id"].to_pylist(), strict=True)
    ]
    return _in_form(
        {
            "transaction": pa.array(names, pa.string()),
            "hanging": table["hanging"],
            "state": pa.nulls(n, pa.string()),
            "partitions": pa.array([[name] for name in where], pa.list_(pa.string())),
            "started_time": table["last_time"],
            "producer_id": table["producer_id"],
            "producer_epoch": table["producer_epoch"],
            "coordinator": pa.nulls(n, pa.int32()),
            "transactional_id": table["transactional_id"],
            "topic": table["topic"],
            "topic_partition": table["partition"],
            "last_update_time": table["last_time"],
            "command": table["command"],
        }
    )


def _transaction_rows(table: pa.Table | None) -> pa.Table | None:
    """Transactional ids in the form of the second table; open ones first, then the newest."""
    if table is None:
        return None
    n = len(table)
    is_open = pc.is_in(table["state"], pa.array(_OPEN))
    started = table["started_time"].cast(pa.int64())
    keys = pa.table(
        {
            "rank": pc.if_else(is_open, 0, 1),
            "time": pc.if_else(
                is_open,
                pc.fill_null(started, 0),
                pc.negate(pc.fill_null(table["last_update_time"].cast(pa.int64()), 0)),
            ),
        }
    )
    order = pc.sort_indices(keys, sort_keys=[("rank", "ascending"), ("time", "ascending")])
    nothing = {
        "hanging": pa.nulls(n, pa.string()),
        "topic": pa.nulls(n, pa.string()),
        "topic_partition": pa.nulls(n, pa.int32()),
        "command": pa.nulls(n, pa.string()),
    }
    columns = {name: table[name] for name in _PLAIN if name in table.column_names}
    return _in_form({**columns, **nothing, "transaction": table["transactional_id"]}).take(order)


_FORM: Final = pa.schema(
    [
        ("transaction", pa.string()),
        ("hanging", pa.string()),
        ("state", pa.string()),
        ("partitions", pa.list_(pa.string())),
        ("started_time", pa.timestamp("ms", tz="UTC")),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("coordinator", pa.int32()),
        ("transactional_id", pa.string()),
        ("topic", pa.string()),
        ("topic_partition", pa.int32()),
        ("last_update_time", pa.timestamp("ms", tz="UTC")),
        ("command", pa.string()),
    ]
)
"""Columns of the second table."""


def _in_form(columns: dict[str, pa.Array]) -> pa.Table:
    table = pa.table({name: columns[name] for name in _FORM.names})
    return with_colours(table.cast(_FORM), [_HANGING, _STATE])


def _pairs(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


# Asking.


def find_groups(view_state: ViewState, cancelled: Callable[[], bool]) -> GroupRows:
    """Groups and transactions, without what the logs of partitions tell.

    Raises:
        MetashellError: A log can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    assert view_state.cluster is not None
    here = view_state.cluster.coordinator_directories
    groups = transactions = changed = None
    told: tuple[str, ...] = ()
    if "groups" in here:
        found = cluster_rows(view_state, "groups", cancelled=cancelled)
        groups, told = found.table, found.warnings
        previous = previous_view_state(view_state)
        if previous is not None and previous.cluster is not None and len(groups) <= _COMPARED:
            before = cluster_rows(previous, "groups", cancelled=cancelled).table
            changed = changed_rows(groups, before, "group")
    if "transactions" in here:
        answer = _asked(view_state, ("transactions", "--columns", ",".join(_PLAIN)), cancelled)
        transactions = answer.table
        told += tuple(_without_name(answer))
    return GroupRows(groups, transactions, changed, tuple(dict.fromkeys(told)))


def find_extra(
    view_state: ViewState,
    cancelled: Callable[[], bool],
    tell: Callable[[Extra], object],
    known: Extra = NOTHING,
) -> Extra:
    """Lag, offsets that stand still and hanging transactions, if their logs are here.

    Args:
        view_state: The shown view state.
        cancelled: Asked by long loops.
        tell: Takes the tables known so far.
        known: The tables known before; each stays until it is known anew.

    Raises:
        KeyboardInterrupt: It was cancelled.
    """
    assert view_state.cluster is not None
    here, extra = view_state.cluster.coordinator_directories, replace(known, told=())
    asked = (
        ("offsets", "groups", ("offsets", "--lag", "--columns", "all")),
        ("stalled", "groups", ("offsets", "--stalled", "--columns", "all")),
        ("hanging", "transactions", ("transactions", "--hanging", "--columns", "all")),
    )
    for name, log, words in asked:
        if log not in here:
            continue
        answer = _asked(view_state, words, cancelled)
        told = [] if answer.table is not None else list(_without_name(answer)[:1])
        extra = replace(
            extra, **{name: answer.table}, told=tuple(dict.fromkeys((*extra.told, *told)))
        )
        tell(extra)
    return extra


@dataclass(frozen=True, slots=True)
class OneGroup:
    """A group that is looked into."""

    group: str
    row: dict[str, object]
    """Its row among all groups."""
    members: pa.Table
    offsets: pa.Table
    has_lag: bool
    """Whether the ends of partitions' logs were looked at."""
    told: tuple[str, ...]

    @property
    def lag(self) -> int | None:
        """The lag of all its offsets; None if no log is here."""
        found: int | None = pc.sum(self.offsets["lag"]).as_py()
        return found


def find_group(
    view_state: ViewState,
    group: str,
    row: dict[str, object],
    offsets: pa.Table | None,
    cancelled: Callable[[], bool],
) -> OneGroup:
    """Members and offsets of a group.

    Args:
        view_state: The shown view state.
        group: The group's id.
        row: Its row among all groups.
        offsets: All offsets with their lag; None if unknown.
        cancelled: Asked by long loops.

    Raises:
        MetashellError: A log can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    rest = ("--columns", "all", "--", quote(group))
    members, told = _asked(view_state, ("members", *rest), cancelled), list[str]()
    has_lag = offsets is not None
    if offsets is None:
        answer = _asked(view_state, ("offsets", *rest), cancelled)
        offsets, told = answer.table, _without_name(answer)
    if members.table is None or offsets is None:
        raise MetashellError("; ".join([*_without_name(members), *told]) or f"{group}: no answer")
    here = [table.filter(pc.equal(table["group"], group)) for table in (members.table, offsets)]
    told = [text for text in told if "partitions of " not in text]
    return OneGroup(group, row, here[0], here[1], has_lag, tuple(told))


def _asked(
    view_state: ViewState, words: tuple[str, ...], cancelled: Callable[[], bool]
) -> CommandAnswer:
    first, *rest = words
    line = (first, "-o", "table", *rest)
    answer = ask(view_state, line, cwd=view_state.prefix or "/", cancelled=cancelled)
    if view_state.prefix and answer.table is not None and "cluster" in answer.table.column_names:
        answer.tables[0] = answer.table.drop_columns(["cluster"])
    return answer


def _without_name(answer: CommandAnswer) -> list[str]:
    """The warnings of a command without its name in front."""
    found = []
    for told in answer.warnings:
        name, colon, rest = told.partition(": ")
        found.append(rest if colon and name in ("groups", "transactions", "offsets", "members")
                     else told)  # fmt: skip
    return found
