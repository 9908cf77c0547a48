"""A view of records that match filters: chips in a line, each an option of ``log``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual.content import Content
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

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
from metashell.tui.records.model import Matches
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.prompt import Prompt
from metashell.tui.text import error_message, line
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
    ChipBar {
        height: 1; background: $panel; link-style: none; link-style-hover: none;
        link-color: $text-primary; link-background: $primary-muted;
        link-color-hover: $text-primary; link-background-hover: $primary-muted;
    }
    """

    def __init__(self, view: FilteredRecords) -> None:
        super().__init__()
        self._view = view
        self.problem = ""
        """The error in the filters; empty if there is none."""
        self._current = 0

    def update(self, problem: str = "") -> None:
        """Show the chips of the view as they are now."""
        self.problem = problem
        self.refresh()
        self.refresh_bindings()

    @property
    def current(self) -> int:
        """The chip of the cursor."""
        return min(self._current, max(len(self._view.chips) - 1, 0))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to remove or change a chip where there is one."""
        is_there = bool(self._view.chips) or action not in ("remove", "edit")
        return is_there and super().check_action(action, parameters)

    def render(self) -> Content:
        """Draw the line; where it is too long, from a chip on that lets the current one be seen."""
        chips = self._view.chips
        # Without a chip this alone shows that the line has the focus.
        pieces = [Content.styled(" Filter ", "reverse bold" if self.has_focus else "$text-muted")]
        skipped = self._n_skipped()
        if skipped:
            pieces.append(Content.styled("… ", "$text-muted"))
        for i, chip in enumerate(chips[skipped:], skipped):
            is_current = self.has_focus and i == self.current
            name = Content(f"{'▸' if is_current else ' '}{_shown(chip)} ")
            text = Content.assemble(
                name.stylize(Style.from_meta({"@click": f"edit({i})"})),
                (f"{_REMOVE} ", Style.from_meta({"@click": f"remove({i})"})),
            )
            pieces += [text.stylize("reverse bold") if is_current else text, Content(" ")]
        if self.problem:
            pieces.append(line(f"✗ {self.problem}", "bold $text-error"))
        elif not chips:
            # Without a filter the log does not show all of its records either.
            key, n_hidden = self.explorer.session.key, self._view.model.n_hidden
            told = f"none: {key('records.add', 'a')} adds one, {key('filter', '/')} searches"
            if n_hidden:
                show = key("records.noops", "H")
                told += f"; {n_hidden:,} NoOpRecords hidden, {show} shows them"
            pieces.append(line(told, "$text-muted"))
        return Content("").join(pieces)

    def _n_skipped(self) -> int:
        """The chips that are left out on the left, so that the current one is seen."""
        needed = sum(Content(_shown(chip)).cell_length + 5 for chip in self._view.chips)
        return self.current if needed > self.size.width - 12 else 0

    def action_move(self, by: int) -> None:
        """Go to the chip beside."""
        self._current = max(self.current + by, 0)
        self.refresh()

    def action_remove(self, at: int | None = None) -> None:
        """Remove a chip, by default that of the cursor."""
        self._current = self.current if at is None else at
        self._view.remove_chip(self._current)

    def action_edit(self, at: int | None = None) -> None:
        """Change a chip, by default that of the cursor."""
        self._current = self.current if at is None else at
        self._view.action_add(self._current)


def _shown(chip: Chip) -> str:
    text = escape(chip.text)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


class _FilterLine(CompletingInput):
    """The line: an empty one gets the names of all filters."""

    ASKS_WHEN_EMPTY = True


class ChipPrompt(Prompt[list[Chip]]):
    """A line in which a filter is typed, with the proposals of ``log``.

    Args:
        source: The cluster at the end of its log.
        chips: The filters that hold.
        at: The one to be changed; None to add one.
    """

    HELP = (
        "A filter, like an option of `log`: `topic orders*`, `type PartitionChange`, `broker "
        "3`, `offset 100..200`, `since -2h`, `grep leader=-1`, `control`, `all`. `tab` takes "
        "the proposal, `enter` adds the filter."
    )
    TITLE = "filter records"
    ENTER = "Filter"
    HINT = "an option of `log` with its value · tab completes · enter filters · escape goes back"

    def __init__(self, source: Source, chips: Sequence[Chip], at: int | None) -> None:
        super().__init__()
        self._source, self._chips, self._at = source, chips, at

    def make_line(self) -> Input:
        """The filter to be changed."""
        return _FilterLine(
            lambda _view_state, typed, _: complete_chip(context_of(self._source), typed),
            value="" if self._at is None else self._chips[self._at].line,
            placeholder="topic orders*",
        )

    def on_mount(self) -> None:
        """Go on behind the filter to be changed."""
        self.line.cursor_position = len(self.line.value)

    def submit(self, text: str) -> None:
        """Check what is typed, and leave with the filters that hold then."""
        if text.strip():
            self.work("checking the filter", lambda _: self._with(text), self.dismiss)

    def _with(self, text: str) -> list[Chip]:
        chip = chip_of(text)
        chips = [*self._chips] if chip is None else with_chip(self._chips, chip, self._at)
        filter_of(context_of(self._source), chips)
        return chips


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
        self.model = Matches()
        self.bar = ChipBar(self)
        self.wanted = Filter()
        self.reader: LogReader | None = None
        self._newest: Source | None = None
        """The end of the log that is shown, of which the reader is."""
        self._typing: Timer | None = None
        self._typed: str | None = None
        """The text to search for once the user stops typing; None if no search is waiting."""

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
            self.bar.update()
            self._show_matches(leads=job.leads)

        def failed(error: MetashellError) -> None:
            if job.leads:
                self.explorer.tell(error_message(error), "error")
            else:
                self.bar.update(error_message(error))

        job = self._start(
            "filter", "filtering", lambda _: filter_of(context_of(newest), chips), done, failed,
            leads=leads,
        )  # fmt: skip

    def show_only(self, chip: Chip) -> None:
        """Show what matches one chip alone, until the view is left."""
        self._opened = [chip], self.chips if self._opened is None else self._opened[1]
        if self.reader is None:
            self.chips = [chip]  # held by the first look at the log
            self.bar.update()
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

    def action_add(self, at: int | None = None) -> None:
        """Ask for a filter, or what to change one to."""
        if self._newest is None:
            return

        def done(chips: list[Chip] | None) -> None:
            if chips is not None:
                self._refilter(chips)

        self.app.push_screen(ChipPrompt(self._newest, self.chips, at), done)

    def remove_chip(self, at: int) -> None:
        """Remove a filter."""
        self._refilter([chip for i, chip in enumerate(self.chips) if i != at])

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
        bar = self.bar
        if bar.problem and not self._goes_on("filter"):
            self.explorer.tell(bar.problem, "error")
        bar.update()
        super().keep_filter()

    def _grep(self) -> None:
        """Search what was typed."""
        text, self._typing, self._typed = self._typed, None, None
        if text is None:
            return
        if text == grep_of(self.chips):
            self.bar.update()
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
        return self.explorer.jobs.start(
            title, work, done, owner=self, key=key, failed=failed, leads=leads
        )

    def _goes_on(self, key: str) -> bool:
        return any(job.owner is self and job.key == key for job in self.explorer.jobs.running)
