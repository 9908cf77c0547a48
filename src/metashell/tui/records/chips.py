"""The line of filters, and the prompt in which one is typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from metashell.commands.framework.command import Completion
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.tui.part import AppPart, quiet_key, shown_key
from metashell.tui.prompts.completing import CompletingInput
from metashell.tui.records.filters import Chip, chip_of
from metashell.tui.screens.prompt import Prompt

_REMOVE = "×"
_MOST_SHOWN = 40


class ChipBar(AppPart, Widget, can_focus=True):
    """Filters, one beside the other."""

    HELP = (
        "The filters. A record must match all of them. `left` and `right` go between them, "
        "`delete` removes one, `enter` changes it. `a` adds one, `c` drops all. A filter is "
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
                show = key("records.noops", "h")
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
    HINT = "an option of `log` with its value · tab completes · enter filters · escape leaves"

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
