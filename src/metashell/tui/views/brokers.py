"""Brokers and racks: what each leads and holds, as bars, and what its loss would mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.timer import Timer
from textual.widgets import Static

from metashell.dataclass import dataclass
from metashell.fs.path import encode_name
from metashell.tui.frame.taking_focus import take_focus
from metashell.tui.part import AppPart
from metashell.tui.rows.drawn import DrawnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.text import line, lines
from metashell.tui.view import Heading, View
from metashell.tui.views.broker_text import (
    DRAWN,
    RACK_DRAWN,
    BrokerLoad,
    Loss,
    about_broker,
    about_rack,
    broker_rows,
    heading,
    load_of,
    loss_of,
    named,
    rack_rows,
    what_fails,
    without,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState

_BARS: Final = ((160, 36), (120, 18), (0, 12))
"""(columns of the screen, cells of a bar there): racks and skews are to be seen beside them."""
_PAUSE_S: Final = 0.25
"""How long the cursor rests before it is worked out what a loss would mean."""
_MOST_KEPT: Final = 256
_NO_CLUSTER: Final = "A fleet is open: go into one of /clusters to see its brokers."


class LoadTable(DrawnTable):
    """Brokers or racks."""

    HELP = (
        "## Brokers\n"
        "Leaders and replicas of each broker or rack. Bars are scaled to the largest value. "
        "`│` marks an even share. The skew is the distance from it in percent. Active brokers "
        "share the leaders, registered brokers the replicas: `│ even: 112 leaders / 3` stands for "
        "three active ones. `•` marks changes since the "
        "previous stop.\n\n"
        "- `enter` opens the broker's node, or the brokers of the rack\n"
        "- `r` counts by rack, and by broker again\n"
        "- `a` adds the broker to the brokers that fail together; `n` clears them\n"
        "- `w` lists the partitions that would fail without them\n"
        "- `←` `→` choose a column, which is underlined; `s` sorts by it\n"
        "- `c` chooses columns, `/` filters, `x` exports"
    )


class LossTable(DrawnTable):
    """Partitions that would fail."""

    HELP = (
        "## What if\n"
        "Partitions that go offline or under min.insync.replicas if these brokers fail at "
        "once, and their next leaders. `already` marks partitions in that state now.\n\n"
        "`enter` opens the partition. `w` or `backspace` goes back to the brokers."
    )


class WhatIf(AppPart, Static):
    """The line that says what a loss would mean; Enter or a click lists the partitions."""

    can_focus = True
    ALLOW_MAXIMIZE = False
    HELP = (
        "What happens if the chosen brokers, or the one under the cursor, fail. `enter` lists "
        "the partitions."
    )
    BINDINGS: ClassVar = [Binding("enter", "list", "Partitions", id="brokers.list")]
    DEFAULT_CSS = """
    WhatIf { height: auto; max-height: 2; padding: 0 1; text-style: bold; }
    WhatIf:focus { background: $block-cursor-background; color: $block-cursor-foreground; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)

    def action_list(self) -> None:
        """List them."""
        self.screen.query_one(BrokersView).action_what_if()

    def on_click(self, event: events.Click) -> None:
        """List them."""
        event.stop()
        self.action_list()


@dataclass(frozen=True, slots=True)
class _Listed:
    """The partitions that are listed."""

    brokers: tuple[int, ...]
    table: pa.Table


class BrokersView(View):
    """The view of brokers."""

    HELP = (
        "# Brokers\n"
        "How leaders and replicas are spread over brokers and racks. It also shows the loss "
        "of brokers by the controller's own rules."
    )
    BINDINGS: ClassVar = [
        Binding("r", "by_rack", "Racks", id="brokers.rack"),
        Binding("a", "pick", "Pick", id="brokers.pick"),
        Binding("n", "pick_none", "None", show=False, id="brokers.none"),
        Binding("w", "what_if", "Without", id="brokers.without"),
        Binding("backspace", "back", "Brokers", id="brokers.back"),
    ]
    DEFAULT_CSS = """
    BrokersView #brokers-about {
        height: auto; max-height: 8; padding: 0 1; border-top: solid $primary;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    BrokersView.-low #brokers-about { max-height: 0; border-top: none; }
    BrokersView.-low WhatIf { max-height: 1; }
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.load: BrokerLoad | None = None
        """The shown rows; None before the first answer."""
        self.by_rack = False
        self.picked: set[int] = set()
        """Brokers whose loss is asked about; empty for the one under the cursor."""
        self.loss: Loss | None = None
        """The loss worked out last."""
        self.listed: _Listed | None = None
        """The partitions shown in place of the brokers."""
        self._view_state: ViewState | None = None
        self._losses: dict[tuple[int, ...], Loss] = {}
        self._timer: Timer | None = None
        self._drawn_at = 0
        """The width of the bars as they are drawn."""

    def compose(self) -> ComposeResult:
        """The title, the bars, and what the cursor is on."""
        yield Heading(id="brokers-title")
        yield LoadTable(drawn=DRAWN, id="brokers-brokers")
        yield LoadTable(drawn=RACK_DRAWN, id="brokers-racks")
        yield LossTable(id="brokers-without")
        yield Static("", id="brokers-about", markup=False)
        yield WhatIf()

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self._arrange()

    @property
    def _brokers(self) -> LoadTable:
        return self.query_one("#brokers-brokers", LoadTable)

    @property
    def _racks(self) -> LoadTable:
        return self.query_one("#brokers-racks", LoadTable)

    @property
    def _without(self) -> LossTable:
        return self.query_one(LossTable)

    @property
    def table(self) -> RowTable:
        """The table that is seen."""
        if self.listed is not None:
            return self._without
        return self._racks if self.by_rack else self._brokers

    # Showing a view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show another view state."""
        before, self._view_state = self._view_state, view_state
        self._losses.clear()
        if before is not None and before.prefix != view_state.prefix:
            self.load = self.listed = self.loss = None
            self.picked.clear()
        if view_state.cluster is None:
            self.load = self.listed = self.loss = None
            self._arrange()
            self._title(view_state.problem or _NO_CLUSTER)
            return
        if self.load is None:
            self._title("counting leaders and replicas…")
            self._arrange()

        def work(job: Job) -> BrokerLoad:
            with job.turn():
                return load_of(view_state, job.cancelled)

        self.explorer.jobs.start(
            "counting leaders and replicas", work, self._loaded, owner=self, key="load",
            is_awaited=self.load is None,
        )  # fmt: skip

    def _loaded(self, load: BrokerLoad) -> None:
        is_first, self.load = self.load is None, load
        self._draw()
        self._arrange()
        if is_first:
            take_focus(self)
        if self.listed is not None:
            self._list(self.listed.brokers)
        self._about()

    @property
    def _bar_width(self) -> int:
        return next(cells for least, cells in _BARS if self.size.width >= least)

    def _draw(self) -> None:
        load = self.load
        if load is None:
            return
        self._drawn_at = width = self._bar_width
        for table, rows, changed in (
            (self._brokers, broker_rows(load, width, self.picked), load.changed_brokers),
            (self._racks, rack_rows(load, width, self.picked), load.changed_racks),
        ):
            table.show(rows, changed.rows, changed=changed.cells)

    def _arrange(self) -> None:
        """Show the table that is wanted, and its title."""
        load, listed = self.load, self.listed
        seen = self.table if load is not None else None
        had_focus = self.explorer.focused in (self._brokers, self._racks, self._without)
        for table in (self._brokers, self._racks, self._without):
            table.display = table is seen
        self.query_one("#brokers-about").display = load is not None and listed is None
        self.query_one(WhatIf).display = load is not None
        if seen is not None and had_focus:
            seen.focus()
        if listed is not None:
            self._title(f"without {named(listed.brokers)}: {what_fails(listed.table)}")
        elif load is not None:
            self._title(heading(load, by_rack=self.by_rack))
        self.refresh_bindings()

    def _title(self, text: str) -> None:
        self.query_one("#brokers-title", Heading).update(line(text))

    def on_resize(self, event: events.Resize) -> None:
        """Draw bars as wide as there is room."""
        if self._bar_width != self._drawn_at:
            self._draw()

    # The broker or rack under the cursor.

    @property
    def asked(self) -> tuple[int, ...]:
        """The brokers whose loss is asked about."""
        if self.load is None:
            return ()
        if self.listed is not None:
            return self.listed.brokers
        if self.picked:
            return tuple(sorted(self.picked))
        row = (self._racks if self.by_rack else self._brokers).row
        if row is None:
            return ()
        return self.load.brokers_of(row["rack"]) if self.by_rack else (row["broker"],)

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Tell what the cursor is on."""
        event.stop()
        if event.table is not self.table or self.load is None or self.listed is not None:
            return
        self._about()

    def _path(self, broker: int) -> str:
        prefix = "" if self._view_state is None else self._view_state.prefix
        return f"{prefix}/image/cluster/brokers/{broker}"

    def _about(self) -> None:
        """Show what the row means, and have the loss worked out."""
        load = self.load
        row = None if load is None else (self._racks if self.by_rack else self._brokers).row
        told: list[str] = []
        if load is not None and row is not None:
            told = (
                about_rack(load, row["rack"]) if self.by_rack else about_broker(load, row["broker"])
            )
        self.query_one("#brokers-about", Static).update(lines("\n".join(told)))
        self._work_out()

    def _work_out(self) -> None:
        asked = self.asked
        if self._timer is not None:
            self._timer.stop()
        known = self._losses.get(asked)
        if known is not None or not asked:
            self._say(known)
            return
        self.loss = None
        self.query_one(WhatIf).update(line(f"without {named(asked)}: …"))
        self._timer = self.set_timer(_PAUSE_S, lambda: self._begin(asked))

    def _begin(self, asked: tuple[int, ...]) -> None:
        view_state = self._view_state
        if view_state is None or view_state.cluster is None or asked != self.asked:
            return

        def done(loss: Loss) -> None:
            if self._view_state is not view_state:
                return
            if len(self._losses) >= _MOST_KEPT:
                self._losses.clear()
            self._losses[loss.brokers] = loss
            if loss.brokers == self.asked:
                self._say(loss)

        self.explorer.jobs.start(
            f"working out the loss of {named(asked)}",
            lambda job: loss_of(view_state, asked, job.cancelled),
            done,
            owner=self,
            key="loss",
        )

    def _say(self, loss: Loss | None) -> None:
        self.loss = loss
        text = "" if loss is None else loss.text()
        if loss is not None and self.listed is None and (loss.offline or loss.under):
            text += f" · {self.explorer.session.key('brokers.without', 'w')} lists them"
        self.query_one(WhatIf).update(line(text))

    # The user's actions.

    def action_by_rack(self) -> None:
        """Count by rack, or by broker again."""
        self.listed, self.by_rack = None, not self.by_rack
        self._arrange()
        self._about()

    def action_pick(self) -> None:
        """Pick the broker under the cursor, or all of the rack, or take that back."""
        load = self.load
        row = self.table.row
        if load is None or row is None or self.listed is not None:
            return
        brokers = set(load.brokers_of(row["rack"]) if self.by_rack else [row["broker"]])
        if brokers <= self.picked:
            self.picked -= brokers
        else:
            self.picked |= brokers
        self._draw()
        if self.table.cursor_row + 1 < self.table.row_count:
            self.table.action_cursor_down()
        self._about()

    def action_pick_none(self) -> None:
        """Pick no broker."""
        self.picked.clear()
        self._draw()
        self._about()

    def action_what_if(self) -> None:
        """List the partitions that would fail, or go back to the brokers."""
        if self.listed is not None:
            self.action_back()
        elif self.asked:
            self._list(self.asked, leads=True)

    def action_back(self) -> None:
        """Show the brokers again."""
        self.listed = None
        self._arrange()
        self._about()

    def leave(self) -> bool:
        """Go back from what would fail; whether that was shown."""
        is_listed = self.listed is not None
        if is_listed:
            self.action_back()
        return is_listed

    def _list(self, brokers: tuple[int, ...], *, leads: bool = False) -> None:
        """List what fails without brokers; `leads`: whether the next keys are for that."""
        view_state = self._view_state
        if view_state is None:
            return

        def work(job: Job) -> _Listed:
            return _Listed(brokers, without(view_state, brokers, job.cancelled))

        title = f"listing what fails without {named(brokers)}"
        self.explorer.jobs.start(title, work, self._listed, owner=self, key="list", leads=leads)

    def _listed(self, listed: _Listed) -> None:
        self.listed = listed
        self._without.show(listed.table)
        self._arrange()
        if self.explorer.view is self:
            self._without.focus()
        self._work_out()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go to the broker, to the rack's brokers, or to the partition."""
        event.stop()
        row, load = event.row, self.load
        if load is None or self._view_state is None:
            return
        if event.table is self._without:
            topic = encode_name(row["topic"])
            path = f"/image/topics/byName/{topic}/{row['partition']}"
            self.explorer.go(self._view_state.prefix + path)
        elif event.table is self._racks:
            self._show_rack(load, row["rack"])
        elif load.is_registered(row["broker"]):
            self.explorer.go(self._path(row["broker"]))
        else:
            self.explorer.tell(f"broker {row['broker']} is not registered", "warning")

    def _show_rack(self, load: BrokerLoad, rack: str | None) -> None:
        """Show brokers, those of a rack only, where it has a name."""
        self.by_rack = False
        self._brokers.filter_by(rack or "")
        self.keep_filter()
        brokers = load.brokers_of(rack)
        if brokers:
            self._brokers.place_at(brokers[0])
        self._arrange()
        self._brokers.focus()
        self._about()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what makes sense."""
        if action == "back":
            return self.listed is not None
        if action in ("pick", "pick_none", "by_rack"):
            return self.listed is None
        return True

    # The interface of a view.

    def filter_by(self, text: str) -> None:
        """Filter the table that is seen."""
        self.table.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """Its filter."""
        return None if self.load is None else self.table.filter_text

    def focus_content(self) -> None:
        """Focus the table that is seen."""
        self.table.focus()

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The table that is seen, then the others."""
        if self.load is None:
            return ()
        found: list[tuple[str, pa.Table | None]] = [
            ("brokers", self._brokers.taken),
            ("racks", self._racks.taken),
        ]
        if self.by_rack:
            found.reverse()
        if self.listed is not None:
            found.insert(0, ("brokers-without", self._without.shown))
        return [(name, table) for name, table in found if table is not None]

    def copyable(self) -> tuple[str, str] | None:
        """The text about the broker or rack under the cursor."""
        load, row = self.load, self.table.row
        if load is None or row is None:
            return None
        if self.listed is not None:
            return "partition", f"{row['topic']}-{row['partition']}\n"
        told = about_rack(load, row["rack"]) if self.by_rack else about_broker(load, row["broker"])
        if self.loss is not None:
            told = [*told, self.loss.text()]
        return ("rack" if self.by_rack else "broker"), "\n".join(told) + "\n"
