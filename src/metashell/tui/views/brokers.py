"""Brokers and racks: what each leads and holds, as bars, and what its loss would mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from textual.content import Content

from metashell.tui.part import quiet_key, shown_key
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.rows.signs import bars, with_signs
from metashell.tui.text import line
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion

if TYPE_CHECKING:
    from metashell.tui.jobs import Job

_LOAD: Final = (
    "leaders", "leaders_bar", "leader_skew", "replicas", "replicas_bar", "replica_skew", "in_sync",
)  # fmt: skip
_REGISTERED: Final = (
    "release", "endpoints", "fenced_time", "registered_time", "directories", "cordoned", "epoch",
    "incarnation", "features",
)  # fmt: skip
"""Columns of ``nodes``."""
_BROKERS: Final = "brokers"
_RACKS: Final = "racks"
_WITHOUT: Final = "brokers-without"


class BrokersView(AnswerView[ViewAnswer]):
    """The view of brokers."""

    HELP = (
        "# Brokers\n"
        "Leaders and replicas of each broker or rack. Bars are scaled to the largest value. "
        "`│` marks an even share. The skew is the distance from it in percent. Active brokers "
        "share the leaders, registered brokers the replicas: `│ even: 112 leaders / 3` stands for "
        "three active ones. Below is what the table has no room for, and what happens if the "
        "broker fails, by the controller's own rules.\n\n"
        "- `enter` opens the broker's node, or the brokers of the rack\n"
        "- `u` counts by rack, and by broker again\n"
        "- `a` adds the broker to the brokers that fail together; `A` clears them\n"
        "- `w` lists the partitions that would go offline or under min.insync.replicas without "
        "them, and their next leaders. `already` marks partitions in that state now\n"
        "- `w` or `backspace` goes back to the brokers"
    )
    ASKS = "counting leaders and replicas"
    TABLES = (_BROKERS, _RACKS, _WITHOUT)
    BINDINGS: ClassVar = [
        shown_key("w", "what_if", "Without", "brokers.without"),
        shown_key("u", "by_rack", "By rack", "brokers.rack", "count by rack, or by broker"),
        shown_key("a", "pick", "Add", "brokers.pick", "ask about several brokers at once"),
        quiet_key("A", "pick_none", "Add none", "brokers.none"),
    ]

    DEFAULT_CSS = "BrokersView.-both #brokers-brokers { height: auto; max-height: 60%; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.by_rack = False
        self.picked: set[int] = set()
        """Brokers whose loss is asked about; empty for the one under the cursor."""

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """The brokers with their registrations, and the racks."""
        with question.job.turn():
            brokers = question.rows("brokers", key="broker")
            racks = question.rows("brokers", "--by", "rack", key="rack")
            nodes = question.rows("nodes", "--brokers").table
        at = pc.index_in(brokers.table["broker"], nodes["id"].combine_chunks().cast(pa.int32()))
        table = brokers.table
        for name in _REGISTERED:
            table = table.append_column(name, nodes[name].take(at))
        first = ("broker", "added", "state", "rack", *_LOAD)
        by_rack = ("rack", "added", "brokers", "active", *_LOAD)
        rows = {
            _BROKERS: replace(brokers, table=table, first=first),
            _RACKS: replace(racks, first=by_rack),
        }
        return ViewAnswer(title=heading(table), rows=rows)

    def seen(self, answer: ViewAnswer) -> Sequence[str]:
        """Brokers or racks, or both."""
        if answer is not self.answer:
            return super().seen(answer)
        if self.has_class("-both"):
            return (_BROKERS, _RACKS)
        return (_RACKS,) if self.by_rack else (_BROKERS,)

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """The rows with bars; with a column of marks where any broker is picked."""
        if name == _WITHOUT:
            return table
        table = with_load(table, self.bar_width)
        if not self.picked:
            return table
        marks = [self._mark(self._brokers_of(name, row)) for row in table.column(0).to_pylist()]
        return with_signs(table, ("added", table.column_names[0], marks))

    def _mark(self, brokers: Collection[int]) -> str:
        n = len(self.picked.intersection(brokers))
        return "✓" if n == len(brokers) else f"{n} of {len(brokers)}" if n else ""

    def _brokers_of(self, name: str, value: object) -> tuple[int, ...]:
        """The brokers of a row, by its first column: those of a rack, or one."""
        if name == _BROKERS:
            assert isinstance(value, int)
            return (value,)
        assert self.answer is not None
        table = self.answer.rows[_BROKERS].table
        keep = pc.is_null(table["rack"]) if value is None else pc.equal(table["rack"], value)
        return tuple(table.filter(keep)["broker"].to_pylist())

    # The loss of brokers.

    @property
    def asked(self) -> tuple[int, ...]:
        """The brokers whose loss is asked about, of those that are there at this state."""
        if not self.picked and self.opened is None:
            return self._at_cursor
        there = self.answer.rows[_BROKERS].table["broker"].to_pylist() if self.answer else ()
        return tuple(sorted(self.picked.intersection(there)))

    @property
    def _at_cursor(self) -> tuple[int, ...]:
        """The brokers of the row under the cursor."""
        name, row = self.name_of(self.table), self.table.row
        return () if row is None else self._brokers_of(name, row[name.rstrip("s")])

    def slow_detail(self, name: str, row: Mapping[str, Any]) -> Callable[[Job], Content] | None:
        """The loss of the brokers in words."""
        view_state, asked = self.view_state, self.asked
        if name == _WITHOUT or view_state is None or not asked:
            return None
        key = self.explorer.session.key("brokers.without", "w")

        def work(job: Job) -> Content:
            found = ViewQuestion(view_state, job).rows("brokers", "--without", _ids(asked))
            told = [*found.verdict, f"{key} lists them" if len(found.table) else None]
            return line(joined(told), "bold")

        return work

    def action_what_if(self) -> None:
        """List the partitions that would fail, or go back to the brokers."""
        asked = self.asked
        if self.leave() or not asked:
            return

        def ask(question: ViewQuestion) -> ViewAnswer:
            found = question.rows("brokers", "--without", _ids(asked))
            n = len(found.table)
            heading = f"without {', '.join(map(str, asked))}: {n:,} partition{'s' * (n != 1)}"
            return replace(found, heading=heading).alone(_WITHOUT)

        self.open("listing what would fail", ask)

    # The user's actions.

    def action_by_rack(self) -> None:
        """Count by rack, or by broker again."""
        self.by_rack = self.name_of(self.table) != _RACKS
        self.draw()
        self.tables_by_name[_RACKS if self.by_rack else _BROKERS].focus()

    def action_pick(self) -> None:
        """Pick the broker under the cursor, or all of the rack, or take that back."""
        table, brokers = self.table, set(self._at_cursor)
        self.picked = self.picked - brokers if brokers <= self.picked else self.picked | brokers
        self.draw()
        if table.cursor + 1 < table.n_lines:
            table.action_move(1)

    def action_pick_none(self) -> None:
        """Pick no broker."""
        self.picked = set()
        self.draw()

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the broker, to the rack's brokers, or to the partition."""
        if name != _RACKS:
            super().choose(name, row)
            return
        self.by_rack = False
        self.draw()
        self.table.filter_by(row["rack"] or "")
        self.keep_filter()
        self.table.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what makes sense."""
        if action in ("pick", "pick_none", "by_rack"):
            return self.answer is not None and self.opened is None
        return super().check_action(action, parameters)

    def forget(self) -> None:
        """Pick none of another cluster."""
        self.picked = set()
        super().forget()


def with_load(table: pa.Table, width: int) -> pa.Table:
    """Rows of brokers or racks with bars of so many cells, and marks where an even share ends."""
    if "active" in table.column_names:
        active, registered = table["active"].to_pylist(), table["brokers"].to_pylist()
    else:
        states = table["state"].to_pylist()
        active = [int(state == "active") for state in states]
        registered = [int(state != "not-registered") for state in states]
    for column, weights in (("leaders", active), ("replicas", registered)):
        counts = table[column].to_pylist()
        drawn = bars(counts, width, even_shares(counts, weights))
        table = with_signs(table, (f"{column}_bar", column, drawn))
    return table


def even_shares(counts: Sequence[int], weights: Sequence[int]) -> list[float | None]:
    """Each broker's share in an even distribution; None for brokers that get nothing."""
    whole, total = sum(counts), sum(weights)
    return [whole * weight / total if weight else None for weight in weights]


def heading(brokers: pa.Table) -> str:
    """The number of brokers in each state, and the totals."""
    n = len(brokers)
    counts, share = counted(brokers)
    return joined((f"{n} broker{'s' * (n != 1)}", *counts, share))


def counted(brokers: pa.Table) -> tuple[list[str], str]:
    """How many brokers are in each state, and what they have; then how much an even share is."""
    states = brokers["state"].to_pylist()
    names = ("active", "fenced", "controlled-shutdown", "not-registered")
    counts = [", ".join(f"{states.count(name)} {name}" for name in names if name in states)]
    leaders, replicas = (pc.sum(brokers[name]).as_py() or 0 for name in ("leaders", "replicas"))
    n_active = states.count("active")
    n_registered = len(states) - states.count("not-registered")
    lead, hold = f"{leaders:,} leaders", f"{replicas:,} replicas"
    if n_active != n_registered:
        return counts, f"│ even: {lead} / {n_active}, {hold} / {n_registered}"
    return [*counts, f"{lead}, {hold}"], "│ even share"


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
