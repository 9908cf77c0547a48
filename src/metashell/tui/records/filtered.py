"""A view of records that match filters: chips in a line, each an option of ``log``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual.timer import Timer

from metashell.commands.framework.command import Completion
from metashell.errors import MetashellError
from metashell.records.window import Filter, LogReader
from metashell.tui.error_text import error_message
from metashell.tui.jobs import Job
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.records.chips import ChipBar, ChipPrompt
from metashell.tui.records.filters import (
    ALL,
    GREP,
    Chip,
    complete_chip,
    context_of,
    filter_of,
    grep_of,
    with_chip,
    without,
)
from metashell.tui.view import View

if TYPE_CHECKING:
    from metashell.sources.source import Source

_TYPING_S: Final = 0.25
"""How long nothing must be typed for a filter to hold."""

_T = TypeVar("_T")


class FilteredRecords(View):
    """A view of records with filters; it has a `ChipBar`."""

    BINDINGS: ClassVar = [
        shown_key("a", "add", "Add filter", "records.add", "add a filter, an option of log"),
        quiet_key("c", "clear", "Drop filters", "records.clear", "drop all filters"),
        quiet_key("h", "noops", "NoOps", "records.noops", "show NoOps, or hide them"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.chips: list[Chip] = []
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
        """Show what matches one chip alone."""
        if self.reader is None:
            self.chips = [chip]  # held by the first look at the log
            self.call_after_refresh(lambda: self.query_one(ChipBar).show(self.chips))
        else:
            self._refilter([chip])

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
