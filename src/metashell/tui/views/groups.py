"""Groups and transactions: what needs attention first; a group's members, offsets and commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from textual.content import Content

from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import text
from metashell.commands.shared.sections import GROUPS
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.pattern import quote
from metashell.schema.arena import I64
from metashell.schema.timestamps import iso_time
from metashell.tui.text import error_message, lines, short_time
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job


_LEVELS: Final = "▁▂▃▄▅▆▇█"
_GONE: Final = "x"


@dataclass(frozen=True, slots=True)
class CommitLine:
    """The commits of a group for a partition of a topic."""

    group: str
    topic: str
    partition: int
    times: I64
    """int64: ms since the epoch, in the order of the log."""
    offsets: I64
    """int64: what was committed; -1 where the offset was removed."""

    @property
    def back(self) -> I64:
        """int64: the commits that went back, by place."""
        fell = np.flatnonzero(self.offsets[1:] < self.offsets[:-1]) + 1
        return fell[self.offsets[fell] >= 0]

    def drawn(self, width: int) -> str:
        """A line of so many cells: the lowest offset is lowest, time goes to the right.

        A cell shows the last offset that was committed by its end. Where that was removed it has
        an ``x``. Commits of one time are equally far from each other.
        """
        n = len(self.offsets)
        if n <= 1 or width < 1:  # one point is no line
            return ""
        # Clocks may go back; the order of the log does not.
        # A hostile span is wider than an integer.
        along = np.maximum.accumulate(self.times).astype(np.float64)
        first, last = float(along[0]), float(along[-1])
        edges = first + (last - first) * (np.arange(width) + 1) / width
        at = np.searchsorted(along, np.minimum(edges, last), side="right") - 1
        if last <= first:
            at = np.arange(width) * n // width
        known = [int(offset) for offset in self.offsets if offset >= 0] or [0]
        low, span = min(known), max(max(known) - min(known), 1)
        return "".join(
            _GONE if value < 0 else _LEVELS[(value - low) * (len(_LEVELS) - 1) // span]
            for value in self.offsets[at].tolist()
        )

    def text(self) -> str:
        """The commits in words."""
        n = len(self.offsets)
        if not n:
            return "no commit is left in the log"
        first, last = (_committed(self, i) for i in (0, n - 1))
        if n == 1:
            return f"{first} · the only commit left in the log"
        parts = [f"{first} … {last}", f"{n:,} commits"]
        back = self.back
        if len(back):
            at = int(back[-1])
            told = f"{int(self.offsets[at - 1]):,} → {_committed(self, at)}"
            parts.append(f"{len(back):,} back: {told}")
        n_gone = int((self.offsets < 0).sum())
        parts += [f"{n_gone:,} removed (x)"] if n_gone else []
        return " · ".join(parts)


def _committed(line: CommitLine, at: int) -> str:
    offset = int(line.offsets[at])
    what = "removed" if offset < 0 else f"{offset:,}"
    day_and_time = short_time(iso_time(int(line.times[at])))
    return f"{what} at {day_and_time.partition(' ')[2] or day_and_time}"


def find_commits(
    source: Source, group: str, topic: str, partition: int, cancelled: Callable[[], bool]
) -> CommitLine:
    """Read what a group committed for a partition. For jobs.

    Args:
        source: The cluster, with the group's log.
        group: The group's id.
        topic: The topic's name.
        partition: Its partition.
        cancelled: Asked between partitions of the log.

    Raises:
        SourceError: A partition can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    from metashell.image.coordinators.group_log import GroupLog, commits_of

    none = np.empty(0, dtype=np.int64)
    found = CommitLine(group, topic, partition, none, none)
    groups = source.coordinator_directories.get("groups")
    for number, records in () if groups is None else groups.records_about(group):
        if cancelled():
            raise KeyboardInterrupt
        one = commits_of(GroupLog(records, number), topic, partition)
        if len(one.offset) > len(found.offsets):
            found = CommitLine(group, topic, partition, one.time_ms, one.offset)
    return found


Extra = Mapping[str, pa.Table | None]
"""The answers that need the logs of topics' partitions: `offsets`, `stalled`, `hanging`."""
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
_OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_STATE: Final = text("state", "", yellow=_OPEN)


def groups_shown(groups: ViewRows, extra: Extra) -> ViewRows:
    """Rows of ``groups``: first come groups that need attention, then those with the most lag."""
    table = _with_attention(groups.table, extra)
    rank = pc.index_in(table["attention"], pa.array(_IN_ORDER))
    keys = pa.table({"rank": rank, "lag": pc.fill_null(table["lag"], -1), "group": table["group"]})
    by = [("rank", "ascending"), ("lag", "descending"), ("group", "ascending")]
    order = pc.sort_indices(keys, sort_keys=by)
    return replace(
        groups, table=table.take(order), first=GROUP_COLUMNS, changes=groups.changes.take(order)
    )


def groups_of(question: ViewQuestion) -> ViewRows:
    """The groups with their lag, in the columns of a small table."""
    lags = question.rows("offsets", "--lag").table if question.view_state.is_newest else None
    shown = groups_shown(question.section(GROUPS, key="group"), {"offsets": lags})
    return replace(shown, first=GROUPS.first)


def groups_heading(shown: pa.Table) -> str:
    """How many groups there are, and what they need."""
    n = len(shown)
    return " · ".join([f"{n:,} group{'s' * (n != 1)}", *needs_of_groups(shown)])


def needs_of_groups(shown: pa.Table) -> list[str]:
    """How many groups need which attention."""
    words = shown["attention"].to_pylist()
    return [f"{words.count(word):,} {word}" for word in _IN_ORDER[:-1] if word in words]


def _with_attention(table: pa.Table, extra: Extra) -> pa.Table:
    """Rows of ``groups`` with their lag, how long offsets stand still, and what they need."""
    groups, offsets = table["group"], extra.get("offsets")
    lag = _summed(groups, offsets, "lag", "sum")
    stalled = _summed(groups, extra.get("stalled"), "stalled_ms", "max")
    # Offsets that a transaction commits, too.
    commits = None if offsets is None else offsets.filter(offsets["pending"])
    has_members = pc.greater(table["members"], 0)
    is_behind = pc.fill_null(pc.greater(lag, 0), False)
    stands = pc.is_valid(stalled)
    needs = pc.make_struct(
        pc.and_(stands, has_members),
        pc.is_in(table["state"], pa.array(_REBALANCING)),
        pc.is_valid(_summed(groups, commits, "partition", "max")),
        pc.and_(pc.and_(is_behind, stands), pc.invert(has_members)),
    )
    columns = {
        "attention": pc.case_when(needs, *_IN_ORDER), "lag": lag, "stalled_ms": stalled,
    }  # fmt: skip
    for name, column in columns.items():
        table = table.append_column(name, column)
    return with_colours(table, [_ATTENTION])


def _summed(groups: pa.ChunkedArray, table: pa.Table | None, name: str, how: str) -> pa.Array:
    """int64[n]: a number of each group's rows taken together; null where it has none."""
    if table is None:
        return pa.nulls(len(groups), pa.int64())
    # Offsets without a lag are null, and are not summed.
    summed = table.group_by("group").aggregate([(name, how)])
    at = pc.index_in(groups, summed["group"].combine_chunks())
    found = summed[f"{name}_{how}"].combine_chunks().take(at.combine_chunks())
    return found.cast(pa.int64())


def transactions_shown(transactions: ViewRows) -> ViewRows:
    """Rows of ``transactions``: open ones first, the oldest first, then the newest of the others.

    The heading says how many there are.
    """
    table = transactions.table
    is_open = pc.is_in(table["state"], pa.array(_OPEN))
    started, updated = (
        pc.fill_null(table[name].cast(pa.int64()), 0)
        for name in ("started_time", "last_update_time")
    )
    keys = pa.table({"rank": pc.invert(is_open).cast(pa.int8()),
                     "time": pc.if_else(is_open, started, pc.negate(updated))})  # fmt: skip
    order = pc.sort_indices(keys, sort_keys=[("rank", "ascending"), ("time", "ascending")])
    n_open = pc.sum(is_open).as_py() or 0
    heading = f"Transactions: {len(table):,} transactional ids · {n_open:,} open"
    shown = with_colours(table.take(order), [_STATE])
    return replace(transactions, table=shown, heading=heading)


def of_group(table: pa.Table, group: str) -> pa.Table:
    """The rows of one group."""
    return table.filter(pc.equal(table["group"], group))


def group_title(row: Mapping[str, object], members: pa.Table, offsets: pa.Table) -> str:
    """A group in a line."""
    parts = [str(row[name]) for name in ("group", "type", "state", "attention") if row.get(name)]
    for n, what in ((len(members), "member"), (len(offsets), "offset")):
        parts.append(f"{n:,} {what}{'s' * (n != 1)}")
    lag = pc.sum(offsets["lag"]).as_py()
    return " · ".join(parts if lag is None else [*parts, f"lag {lag:,}"])


_TRANSACTIONS: Final = (
    "transactional_id", "state", "partitions", "started_time", "producer_id", "producer_epoch",
    "coordinator", "last_update_time", "timeout_ms", "partition",
)  # fmt: skip
"""Columns of transactions that cost nothing more."""
_HANGING: Final = (
    "topic", "partition", "hanging", "last_time", "transactional_id", "producer_id",
    "producer_epoch",
)  # fmt: skip
_OFFSETS: Final = (
    "topic", "partition", "offset", "lag", "log_end_offset", "committed_time", "pending",
    "metadata",
)  # fmt: skip
_MEMBERS: Final = ("member", "client", "host", "epoch", "assigned", "instance")
_MORE: Final = {
    "offsets": ("groups", "offsets", "--lag"),
    "stalled": ("groups", "offsets", "--stalled"),
    "hanging": ("transactions", "transactions", "--hanging"),
}
"""By its name in `Extra`, the coordinators' log that an answer needs, and the command."""
_NO_LAG_EARLIER: Final = "lag and hanging transactions: at the end of the log only"


class GroupsView(AnswerView[ViewAnswer]):
    """The view of groups."""

    HELP = (
        "# Groups\n"
        "The groups in this broker's logs; those that need attention come first.\n\n"
        "- `stalled`: the group has members, and an offset stands still while its partition's log "
        "goes on\n"
        "- `rebalancing`: members do not have their partitions yet\n"
        "- `pending`: an open transaction commits offsets of the group\n"
        "- `left behind`: a group without members, behind the end of a log\n\n"
        "`lag` counts records behind the ends of the logs in this directory. Lag, stalled offsets "
        "and hanging transactions are filled in as they are found; `escape` stops that. A hanging "
        "transaction has no coordinator that will end it: consumers that read committed data "
        "wait. Of the others, open ones come first, the oldest first.\n\n"
        "Outside of a fleet's clusters: the groups of all of them, without their lag.\n\n"
        "- `enter` opens a group: its offsets, their history, and its members. Elsewhere it opens "
        "the node; `h` there shows each commit\n"
        "- `tab` goes to the next table, `backspace` back to all groups\n"
        "- `Y` copies the command that ends a hanging transaction; metashell never runs it\n"
        "- `ctrl+r` reads the logs again\n\n"
        "In the history of an offset time goes to the right, the highest offset is highest. `x` "
        "stands for a removed offset. Compaction removes older commits."
    )
    ASKS = "reading groups and transactions"
    TABLES = ("groups", "hanging", "transactions", "offsets", "members")
    DEFAULT_CSS = """
    GroupsView #groups-hanging { height: auto; max-height: 20%; }
    GroupsView #groups-transactions { height: 25%; }
    GroupsView #groups-members { height: auto; max-height: 35%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.extra: Extra = {}
        """Tables known from the logs of partitions; each stays until it is known anew."""

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Groups and transactions, and how to find what the logs of partitions tell.

        Outside of a fleet's clusters: the groups of all clusters, without what partitions tell.
        """
        if question.view_state.is_all_of_fleet:
            found = groups_shown(question.rows("groups"), {})
            return ViewAnswer(
                title=f"all clusters · {groups_heading(found.table)}", notes=found.warnings,
                rows={"groups": replace(found, first=("cluster", *GROUP_COLUMNS))},
            )  # fmt: skip
        here = _logs_here(question)
        groups = question.rows("groups", key="group") if "groups" in here else None
        transactions = None
        if "transactions" in here:
            columns = ",".join(_TRANSACTIONS)
            transactions = question.rows("transactions", columns=columns, first=_TRANSACTIONS[:7])
        if not question.view_state.is_newest:
            return answer_of(groups, transactions, {}, (_NO_LAG_EARLIER,))
        answer = answer_of(groups, transactions, self.extra)

        def came(extra: Extra, told: tuple[str, ...]) -> None:
            self.extra = extra
            self.show(answer_of(groups, transactions, extra, told))

        def more(job: Job) -> ViewAnswer:
            extra, told = find_extra(ViewQuestion(question.view_state, job), self.extra, came)
            return answer_of(groups, transactions, extra, told)

        return replace(answer, more=more, more_title="looking at the logs of partitions")

    def forget(self) -> None:
        """Forget what the logs of another broker told."""
        self.extra = {}
        super().forget()

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Open the group, or go to the node of the row."""
        if name != "groups" or "cluster" in row:
            super().choose(name, row)
            return
        self.open(f"opening {row['group']}", lambda asked: find_group(asked, row, self.extra))

    def slow_detail(self, name: str, row: Mapping[str, Any]) -> Callable[[Job], Content] | None:
        """The history of an offset."""
        if name != "offsets" or self.view_state is None or self.view_state.cluster is None:
            return None
        source, width = self.view_state.cluster, max(self.size.width - 2, 1)
        of = (row["group"], row["topic"], row["partition"])

        def work(job: Job) -> Content:
            commits = find_commits(source, *of, job.cancelled)
            told = f"{of[1]}-{of[2]}: {commits.text()}"
            drawn = commits.drawn(width)
            return lines(f"{drawn}\n{told}" if drawn else told)

        return work


def _logs_here(question: ViewQuestion) -> Mapping[str, object]:
    assert question.view_state.cluster is not None
    return question.view_state.cluster.coordinator_directories


def answer_of(
    groups: ViewRows | None,
    transactions: ViewRows | None,
    extra: Extra,
    told: tuple[str, ...] = (),
) -> ViewAnswer:
    """The content of the view, with what is known from the logs of partitions."""
    rows, title = {}, "no partition of __consumer_offsets is here"
    if groups is not None:
        rows["groups"] = groups_shown(groups, extra)
        title = groups_heading(rows["groups"].table)
    hanging = extra.get("hanging")
    if hanging is not None and len(hanging):
        n = len(hanging)
        heading = f"{n:,} hanging transaction{'s' * (n != 1)}"
        rows["hanging"] = ViewRows(table=hanging, first=_HANGING, heading=heading)
    if transactions is not None:
        rows["transactions"] = transactions_shown(transactions)
    warnings = [told for found in (groups, transactions) if found for told in found.warnings]
    return ViewAnswer(title=title, notes=tuple(dict.fromkeys((*warnings, *told))), rows=rows)


def find_extra(
    question: ViewQuestion, known: Extra, tell: Callable[[Extra, tuple[str, ...]], object]
) -> tuple[Extra, tuple[str, ...]]:
    """Lag, offsets that stand still and hanging transactions, if their logs are here.

    Args:
        question: The view state, in a job.
        known: The tables known before; each stays until it is known anew.
        tell: Takes the tables known so far, and why others are not, in the thread that draws.

    Returns:
        All tables, and why some are not known.
    """
    here, told = _logs_here(question), tuple[str, ...]()
    for name, (log, *words) in _MORE.items():
        if log not in here:
            continue
        try:
            known = {**known, name: question.rows(*words).table}
        except MetashellError as error:
            told = tuple(dict.fromkeys((*told, error_message(error))))
            known = {**known, name: None}
        question.job.tell(partial(tell, known, told))
    return known, told


def find_group(question: ViewQuestion, row: Mapping[str, Any], extra: Extra) -> ViewAnswer:
    """Members and offsets of a group.

    Args:
        question: The view state, in a job.
        row: The group's row among all groups.
        extra: The tables known from the logs of partitions.

    Raises:
        MetashellError: A log can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    group, offsets, notes = row["group"], extra.get("offsets"), tuple[str, ...]()
    if offsets is None or not question.view_state.is_newest:
        asked = question.rows("offsets", "--", quote(group))
        offsets, warnings = asked.table, asked.warnings
        notes = tuple(told for told in warnings if "partitions of " not in told)
    offsets = of_group(offsets, group)
    members = of_group(question.rows("members", "--", quote(group)).table, group)
    rows = {"offsets": ViewRows(table=offsets, first=_OFFSETS)}
    if len(members):
        rows["members"] = ViewRows(table=members, first=_MEMBERS, heading="Members")
    return ViewAnswer(title=group_title(row, members, offsets), notes=notes, rows=rows)
