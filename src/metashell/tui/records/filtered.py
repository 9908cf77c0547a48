"""A view of records that match filters: chips in a line, each an option of ``log``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from metashell.commands.framework.command import Completion
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.records.window import Filter, LogReader
from metashell.tui.jobs import Job
from metashell.tui.part import AppPart, quiet_key, shown_key
from metashell.tui.records.filters import (
    ALL,
    GREP,
    Chip,
    chip_of,
    complete_chip,
    context_of,
    filter_of,
    grep_of,
    with_chip,
    without,
)
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.prompt import Prompt
from metashell.tui.text import error_message
from metashell.tui.view import View

if TYPE_CHECKING:
    from metashell.sources.source import Source


_REMOVE = "×"
_MOST_SHOWN = 40


class ChipBar(AppPart, Widget, can_focus=True):
    """Filters, one beside the other."""

    HELP = (
        "The filters. A record must match all of them. `left` and `right` go between them, "
        "`delete` removes one, `enter` changes it. `a` adds one. A filter is "
        "an option of `log` and its value."
    )
    BINDINGS: ClassVar = [
        quiet_key("left", "move(-1)", "Previous", "chips.left"),
        quiet_key("right", "move(1)", "Next", "chips.right"),
        shown_key("delete,backspace", "remove", "Remove", "chips.remove"),
        shown_key("enter", "edit", "Change", "chips.edit"),
    ]
    ALLOW_MAXIMIZE = False
    DEFAULT_CSS = """
    ChipBar { height: 1; background: $panel; }
    """

    class Removed(Message):
        """A chip is to be removed."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Edited(Removed):
        """A chip is to be changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.chips: list[Chip] = []
        self.problem = ""
        """The error in the filters; empty if there is none."""
        self.n_hidden = 0
        """How many NoOpRecords the list leaves out."""
        self.current = 0
        self._spans: list[tuple[int, int]] = []

    def show(self, chips: Sequence[Chip], problem: str = "") -> None:
        """Show these chips."""
        self.chips, self.problem = list(chips), problem
        self.current = min(self.current, max(len(chips) - 1, 0))
        self.refresh()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to remove or change a chip where there is one."""
        is_there = bool(self.chips) or action not in ("remove", "edit")
        return is_there and super().check_action(action, parameters)

    def tell_hidden(self, n_hidden: int) -> None:
        """Say how many NoOpRecords the list leaves out."""
        if n_hidden != self.n_hidden:
            self.n_hidden = n_hidden
            self.refresh()

    def render(self) -> Content:
        """Draw the line; where it is too long, from a chip on that lets the current one be seen."""
        # Without a chip this alone shows that the line has the focus.
        pieces: list[Content | tuple[str, str]] = [
            (" Filter ", "reverse bold" if self.has_focus else "$text-muted")
        ]
        self._spans, at = [], len(" Filter ")
        skipped = self._n_skipped()
        if skipped:
            pieces.append(("… ", "$text-muted"))
            at += 2
        for i, chip in enumerate(self.chips):
            if i < skipped:
                self._spans.append((-1, -1))
                continue
            is_current = self.has_focus and i == self.current
            text = Content(f"{'▸' if is_current else ' '}{_shown(chip)} {_REMOVE} ")
            style = "reverse bold" if is_current else "$text-primary on $primary-muted"
            pieces += [text.stylize(style), Content(" ")]
            self._spans.append((at, at + text.cell_length))
            at += text.cell_length + 1
        if self.problem:
            pieces.append((f"✗ {escape(self.problem)}", "bold $text-error"))
        elif not self.chips:
            # Without a filter the log does not show all of its records either.
            key = self.explorer.session.key
            told = f"none: {key('records.add', 'a')} adds one, {key('filter', '/')} searches"
            if self.n_hidden:
                show = key("records.noops", "H")
                told += f"; {self.n_hidden:,} NoOpRecords hidden, {show} shows them"
            pieces.append((told, "$text-muted"))
        return Content.assemble(*pieces)

    def _n_skipped(self) -> int:
        room = self.size.width - 12
        used, i = 0, self.current
        for i in range(self.current, -1, -1):
            if i < len(self.chips):
                used += Content(_shown(self.chips[i])).cell_length + 5
            if used > room:
                return min(i + 1, self.current)
        return 0

    def action_move(self, by: int) -> None:
        """Go to the chip beside."""
        self.current = min(max(self.current + by, 0), max(len(self.chips) - 1, 0))
        self.refresh()

    def action_remove(self) -> None:
        """Remove the chip of the cursor."""
        self.post_message(self.Removed(self.current))

    def action_edit(self) -> None:
        """Change the chip of the cursor."""
        self.post_message(self.Edited(self.current))

    def on_click(self, event: events.Click) -> None:
        """Remove the chip whose cross was hit, or change it."""
        event.stop()
        for i, (first, behind) in enumerate(self._spans):
            if first <= event.x < behind:
                self.current = i
                is_cross = event.x >= behind - 3
                self.post_message(self.Removed(i) if is_cross else self.Edited(i))
                return
        self.refresh()


def _shown(chip: Chip) -> str:
    text = escape(chip.text)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


class _FilterLine(CompletingInput):
    """The line: an empty one gets the names of all filters."""

    ASKS_WHEN_EMPTY = True


class ChipPrompt(Prompt[Chip]):
    """A line in which a filter is typed, with the proposals of ``log``.

    Args:
        typed: The text that the line starts with.
        check: Finds the error of a chip, in a job.
        complete: Proposes words for what is typed, in a job.
    """

    HELP = (
        "A filter, like an option of `log`: `topic orders*`, `type PartitionChange`, `broker "
        "3`, `offset 100..200`, `since -2h`, `grep leader=-1`, `control`, `all`. `tab` takes "
        "the proposal, `enter` adds the filter."
    )
    TITLE = "filter records"
    ENTER = "Filter"
    HINT = "an option of `log` with its value · tab completes · enter filters · escape goes back"

    def __init__(
        self,
        typed: str,
        check: Callable[[Chip], None],
        complete: Callable[[str], list[Completion]],
    ) -> None:
        super().__init__()
        self._typed, self._check, self._complete = typed, check, complete

    def make_line(self) -> Input:
        """The filter to be changed."""
        return _FilterLine(
            lambda _view_state, typed, _cancelled: self._complete(typed),
            value=self._typed,
            placeholder="topic orders*",
        )

    def on_mount(self) -> None:
        """Go on behind the filter to be changed."""
        self.line.cursor_position = len(self._typed)

    def submit(self, text: str) -> None:
        """Check what is typed, and leave with it."""
        try:
            chip = chip_of(text)
        except MetashellError as error:
            self.failed(error)
            return
        if chip is not None:
            self.work(
                "checking the filter", lambda _: self._check(chip), lambda _: self.dismiss(chip)
            )


_TYPING_S: Final = 0.25
"""How long nothing must be typed for a filter to hold."""

_T = TypeVar("_T")


class FilteredRecords(View):
    """A view of records with filters; it has a `ChipBar`."""

    BINDINGS: ClassVar = [
        shown_key("a", "add", "Add filter", "records.add", "add a filter, an option of log"),
        quiet_key("delete,backspace", "clear", "Drop filters", "records.clear", "drop all filters"),
        quiet_key("H", "noops", "NoOps", "records.noops", "show NoOps, or hide them"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.chips: list[Chip] = []
        self._opened: tuple[list[Chip], list[Chip]] | None = None
        """The filters of the node's records that are shown, and those that held before."""
        self.wanted = Filter()
        self.reader: LogReader | None = None
        self._newest: Source | None = None
        """The end of the log that is shown, of which the reader is."""
        self._typing: Timer | None = None
        self._typed: str | None = None
        """The text to search for once the user stops typing; None if no search is waiting."""
        self._jobs: dict[str, Job] = {}
        """The last job of each key."""

    @abstractmethod
    def _show_matches(self, *, leads: bool) -> None:
        """Show what is wanted now, in place of what was before.

        Args:
            leads: Whether keys wait for the first of it.
        """

    def _refilter(self, chips: Sequence[Chip], *, leads: bool = True) -> None:
        """Show what matches these chips; wrong ones do not hold.

        Args:
            chips: All of them.
            leads: Whether the next keys are for what matches; what is wrong is then a message.
        """
        newest = self._newest
        if newest is None or self.reader is None:
            return

        def done(wanted: Filter) -> None:
            self.wanted, self.chips = wanted, list(chips)
            self.query_one(ChipBar).show(self.chips)
            self._show_matches(leads=self._jobs["filter"].leads)

        def failed(error: MetashellError) -> None:
            if self._jobs["filter"].leads:
                self.explorer.tell(error_message(error), "error")
            else:
                self.query_one(ChipBar).show(self.chips, error_message(error))

        self._start(
            "filter", "filtering", lambda _: filter_of(context_of(newest), chips), done, failed,
            leads=leads,
        )  # fmt: skip

    def show_only(self, chip: Chip) -> None:
        """Show what matches one chip alone, until the view is left."""
        self._opened = [chip], self.chips if self._opened is None else self._opened[1]
        if self.reader is None:
            self.chips = [chip]  # held by the first look at the log
            self.call_after_refresh(lambda: self.query_one(ChipBar).show(self.chips))
        else:
            self._refilter([chip])

    @property
    def is_filtered(self) -> bool:
        """Whether the user has chosen more filters than those it was opened with."""
        return bool(self._chosen)

    @property
    def _chosen(self) -> list[Chip]:
        kept = [] if self._opened is None else self._opened[0]
        return [chip for chip in self.chips if chip not in kept]

    def drop_filter(self) -> str:
        """Show again what the user's filters hide; the texts of those dropped."""
        chosen = self._chosen
        if chosen:
            self._refilter([chip for chip in self.chips if chip not in chosen])
        return ", ".join(chip.text for chip in chosen)

    def leave(self) -> bool:
        """Have the filters again that held before a node's records were shown."""
        if self._opened is not None:
            self._refilter(self._opened[1])
            self._opened = None
        return False

    def action_add(self) -> None:
        """Ask for a filter."""
        self._ask_chip(None)

    def _ask_chip(self, at: int | None) -> None:
        newest = self._newest
        if newest is None:
            return

        def check(chip: Chip) -> None:
            filter_of(context_of(newest), with_chip(self.chips, chip, at))

        def complete(typed: str) -> list[Completion]:
            return complete_chip(context_of(newest), typed)

        def done(chip: Chip | None) -> None:
            if chip is not None:
                self._refilter(with_chip(self.chips, chip, at))

        typed = "" if at is None else self.chips[at].line
        self.app.push_screen(ChipPrompt(typed, check, complete), done)

    def on_chip_bar_removed(self, event: ChipBar.Removed) -> None:
        """Remove a filter, or ask what to change it to."""
        event.stop()
        if isinstance(event, ChipBar.Edited):
            return
        self._refilter([chip for i, chip in enumerate(self.chips) if i != event.index])

    def on_chip_bar_edited(self, event: ChipBar.Edited) -> None:
        """Ask what to change a filter to."""
        event.stop()
        self._ask_chip(event.index)

    def action_clear(self) -> None:
        """Drop all filters."""
        self._refilter([])

    @property
    def shows_noops(self) -> bool:
        """Whether they are among those that are asked for."""
        return self.wanted.hide is None

    def action_noops(self) -> None:
        """Show NoOps, or hide them."""
        if any(chip.flag == ALL for chip in self.chips):
            self._refilter(without(self.chips, ALL))
        else:
            self._refilter(with_chip(self.chips, Chip(ALL, None)))

    def filter_by(self, text: str) -> None:
        """Search by a regular expression, as soon as nothing more is typed."""
        if self._typing is not None:
            self._typing.stop()
        self._typed = text
        self._typing = self.set_timer(_TYPING_S, self._grep)

    def keep_filter(self) -> None:
        """Search at once: the next keys are for the matches. An error is shown as a message."""
        if self._typing is not None:
            self._typing.stop()
        self._grep()
        bar = self.query_one(ChipBar)
        if bar.problem and not self._goes_on("filter"):
            self.explorer.tell(bar.problem, "error")
        bar.show(self.chips)
        super().keep_filter()

    def _grep(self) -> None:
        """Search what was typed."""
        text, self._typing, self._typed = self._typed, None, None
        if text is None:
            return
        if text == grep_of(self.chips):
            self.query_one(ChipBar).show(self.chips)
            return
        kept = without(self.chips, GREP)
        self._refilter(with_chip(kept, Chip(GREP, text)) if text else kept, leads=False)

    @property
    def filter_text(self) -> str:
        """The regular expression."""
        return grep_of(self.chips)

    # Jobs.

    def _start(
        self,
        key: str,
        title: str,
        work: Callable[[Job], _T],
        done: Callable[[_T], object],
        failed: Callable[[MetashellError], object] | None = None,
        *,
        leads: bool = False,
    ) -> Job:
        """Start a job."""
        job = self.explorer.jobs.start(
            title, work, done, owner=self, key=key, failed=failed, leads=leads
        )
        self._jobs[key] = job
        return job

    def _goes_on(self, key: str) -> bool:
        return self.explorer.jobs.goes_on(self._jobs.get(key))
