"""An input line with the shell's completion and a history of entered lines.

The commands make the proposals; this module says what keys do with them. A job finds the proposals,
and only one job runs at a time: meanwhile only the newest line is remembered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestionReady
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from metashell.commands.framework.command import Completion
from metashell.fs.escape import escape
from metashell.places.uri import holds_credentials
from metashell.tui.jobs import Job
from metashell.tui.part import AppPart, quiet_key, shown_key

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState

_MOST_SHOWN: Final = 200
_MOST_LINES: Final = 10_000

HIDE: Final = shown_key("escape", "hide", "Hide", "line.hide", "hide the proposals")
"""Offered by a line that stays open without proposals."""

_OF_PROPOSALS: Final = ("take", "choose", "hide", "cursor_right")
"""The actions of keys that wait for what is proposed for the line."""
Completer = Callable[["ViewState", str, Callable[[], bool]], Sequence[Completion]]
"""Proposes what may stand at the end of a line: (view state, line, whether it is cancelled)."""


def completed(line: str, item: Completion, rest: str = "", *, behind: str = " ") -> str:
    """The line up to the cursor after a proposal is taken.

    Args:
        line: The text before the cursor.
        item: The proposal.
        rest: The text behind the cursor.
        behind: The text that ends a word.
    """
    text = f"{line[: len(line) + item.start]}{item.text}"
    is_open = text.endswith(("/", "=")) or (behind and rest.startswith(behind))
    return text if is_open else f"{text}{behind}"


def taken_by_tab(
    line: str, rest: str, items: Sequence[Completion], chosen: Completion | None, *, behind: str
) -> str:
    """The line up to the cursor after tab completes it.

    Tab takes the chosen proposal or the only one. Otherwise it takes the common beginning of all
    proposals. It never chooses, because enter goes by the text in the line.

    Args:
        line: The text before the cursor.
        rest: The text behind the cursor.
        items: The proposals.
        chosen: The proposal selected with the arrows; None if none is.
        behind: The text that ends a word.
    """
    item = items[0] if len(items) == 1 else chosen
    if item is None:
        return common_beginning(line, items)
    return completed(line, item, rest, behind=behind)


def common_beginning(line: str, items: Sequence[Completion]) -> str:
    """The line with the common beginning of all proposals; the same line if that adds nothing."""
    lines = [f"{line[: len(line) + item.start]}{item.text}" for item in items]
    least, most = min(lines, default=line), max(lines, default=line)
    n_same = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), None)
    common = least if n_same is None else least[:n_same]
    # Half of a quoted character would be another one.
    is_more = len(common) > len(line) and common.startswith(line)
    return common.rstrip("\\") if is_more else line


class EnteredLines:
    """The lines entered before, and the one that is looked at.

    Args:
        lines: Oldest first; grows as lines are entered.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._at: int | None = None
        self._typed = ""

    @property
    def is_back(self) -> bool:
        """Whether an earlier line is looked at."""
        return self._at is not None

    def add(self, line: str) -> None:
        """Remember a line; not one that begins with a space, nor one with credentials in a URI."""
        self._at = None
        if not line.strip() or line.startswith(" ") or holds_credentials(line):
            return
        if not self.lines or self.lines[-1] != line:
            self.lines.append(line)
            del self.lines[:-_MOST_LINES]

    def back(self, typed: str) -> str | None:
        """The line before; None where there is none."""
        at = len(self.lines) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._typed = typed
        self._at = at - 1
        return self.lines[self._at]

    def forward(self) -> str | None:
        """The line behind, at the end what was typed; None where no earlier one is looked at."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self.lines):
            return self.lines[self._at]
        self._at = None
        return self._typed

    def leave(self) -> None:
        """Take the line looked at for one that is typed."""
        self._at = None


class Proposals(OptionList, can_focus=False):
    """The proposals for a line."""

    DEFAULT_CSS = """
    Proposals {
        display: none; height: auto; max-height: 8; width: 100%; border: none; padding: 0;
        background: $panel; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    Proposals.-shown { display: block; }
    Proposals > .option-list--option { padding: 0 1; }
    Proposals > .option-list--option-highlighted {
        color: $block-cursor-foreground; background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    Proposals:nocolor > .option-list--option-highlighted { text-style: reverse; }
    """

    def __init__(self, line: CompletingInput) -> None:
        super().__init__(markup=False, compact=True)
        self._line = line
        self.items: Sequence[Completion] = ()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the proposal that was clicked on."""
        event.stop()
        self._line.take(self.items[event.option_index])
        self._line.focus()

    @property
    def are_shown(self) -> bool:
        """Whether there are any to be seen."""
        return bool(self.items)

    @property
    def chosen(self) -> Completion | None:
        """The one that was gone to with the arrows."""
        return None if self.highlighted is None else self.items[self.highlighted]

    def show(self, items: Sequence[Completion]) -> None:
        """Show proposals in place of those before."""
        self.items = items[:_MOST_SHOWN]
        self.clear_options()
        self.highlighted = None
        widest = min(max((len(item.display) for item in self.items), default=0), 32)
        self.add_options(Option(_prompt(item, widest)) for item in self.items)
        self.set_class(bool(self.items), "-shown")

    def move(self, by: int) -> None:
        """Go to the next (1) or previous (-1) one; before the first there is none."""
        at = (-1 if self.highlighted is None else self.highlighted) + by
        self.highlighted = None if at < 0 else min(at, len(self.items) - 1)


def _prompt(item: Completion, widest: int) -> Content:
    display = Content(escape(item.display))
    if not item.meta:
        return display
    space = " " * max(widest - len(item.display), 0)
    return Content.assemble(display, f"{space}  ", (escape(item.meta), "$text-muted"))


class CompletingInput(AppPart, Input):
    """A line with completion.

    Args:
        completer: Proposes; called in a job.
        history: The lines entered before; None for none.
        value: The text that it starts with.
        placeholder: The hint in an empty line.
    """

    HELP = (
        "A line with the shell's completion. `tab` takes the chosen proposal, or the common "
        "prefix of all. `right` takes the one in grey. `down` and `up` choose. `up` without "
        "proposals recalls earlier lines. `escape` hides the proposals."
    )
    DEFAULT_CSS = "CompletingInput { height: 1; background: $surface; }"
    BINDINGS: ClassVar = [
        shown_key("tab", "take", "Complete", "line.complete"),
        quiet_key("down", "choose(1)", "Choose", "line.next"),
        quiet_key("up", "choose(-1)", "Line before", "line.previous"),
    ]

    BEHIND: ClassVar[str] = " "
    """The text that ends a word."""
    ASKS_WHEN_EMPTY: ClassVar[bool] = False
    """Whether anything is proposed for an empty line before `tab` asks for it."""

    class Completed(Message):
        """Proposals for a line are there, and its command is imported."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line
            """The text before the cursor."""

    def __init__(
        self,
        completer: Completer,
        *,
        history: EnteredLines | None = None,
        value: str = "",
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(value, placeholder=placeholder, compact=True, select_on_focus=False, id=id)
        self._completer, self.proposals = completer, Proposals(self)
        """Shows what may come next, wherever it is."""
        self._history = history
        self._job: Job | None = None
        self._wanted: str | None = None
        self._takes = False
        """Whether the proposals were asked for by `tab`, which takes what they have in common."""
        self._shown_for: str | None = None
        self._quiet: str | None = None
        """A line for which nothing is to be proposed, unless it is asked for."""

    def on_mount(self) -> None:
        """Propose what may follow what stands there."""
        self.cursor_position = len(self.value)
        if self.value or self.ASKS_WHEN_EMPTY:
            self._ask()

    def awaits(self, action: str) -> bool:
        """Whether a key is about proposals, which are on their way."""
        return self._is_asking and action.partition("(")[0] in _OF_PROPOSALS

    @property
    def _is_asking(self) -> bool:
        """Whether proposals are on their way."""
        return self.explorer.jobs.goes_on(self._job)

    @property
    def is_up_to_date(self) -> bool:
        """Whether what is proposed is for what stands before the cursor now."""
        return self._shown_for == self.value[: self.cursor_position]

    # Changes of the line.

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for proposals."""
        self._takes = False
        if event.value == self._quiet:
            self.dismiss_proposals()
            return
        self._quiet = None
        if self._history is not None:
            self._history.leave()
        if not event.value and not self.ASKS_WHEN_EMPTY:
            self.dismiss_proposals()
            return
        self._ask()

    def _ask(self) -> None:
        """Have proposals found for what stands before the cursor."""
        view_state = self.explorer.view_state
        if view_state is None:
            return
        line = self.value[: self.cursor_position]
        if self._is_asking:
            self._wanted = line
            return
        self._wanted = None
        completer = self._completer

        def work(job: Job) -> Sequence[Completion]:
            try:
                return completer(view_state, line, job.cancelled)
            except Exception:
                # An error here costs the proposals, never the line.
                if os.environ.get("METASHELL_DEBUG"):
                    raise
                return ()

        self._job = self.explorer.jobs.start(
            "completing", work, lambda found: self._found(line, found), owner=self,
            key="complete", failed=lambda _: self._found(line, ()),
            leads=self._takes,
        )  # fmt: skip

    def _found(self, line: str, items: Sequence[Completion]) -> None:
        if self._wanted is not None:
            self._ask()
            return
        if line != self.value[: self.cursor_position]:
            return
        if len(items) == 1 and completed(line, items[0]).rstrip() == line:
            items = ()  # it stands there already
        self._shown_for = line
        self.post_message(self.Completed(line))
        self._show(items)
        self._suggest()
        if self._takes:
            self._takes = False
            self._take()

    def dismiss_proposals(self) -> None:
        """Put the proposals away, and those on their way for the same line."""
        self._wanted, self._quiet, self._takes = None, self.value, False
        self.explorer.jobs.cancel(self, "complete")
        self._show(())
        if not self.value:
            self.post_message(self.Completed(""))

    def _show(self, items: Sequence[Completion]) -> None:
        self.proposals.show(items)
        self.refresh_bindings()

    def _suggest(self) -> None:
        """Show in grey what `right` would take."""
        items = self.proposals.items
        if not items or self.cursor_position != len(self.value):
            return
        whole = completed(self.value, self.proposals.chosen or items[0]).rstrip(" ")
        if whole.startswith(self.value):
            self.post_message(SuggestionReady(self.value, whole))

    # Keys.

    def action_take(self) -> None:
        """Take the proposal chosen, or what all have in common; ask for them if there are none."""
        if self.proposals.are_shown and self.is_up_to_date:
            self._take()
        else:
            self._quiet, self._takes = None, True
            self._ask()

    def _take(self) -> None:
        items = self.proposals.items
        if not items or not self.is_up_to_date:
            return
        line, rest = self.value[: self.cursor_position], self.value[self.cursor_position :]
        chosen = self.proposals.chosen
        self._put(taken_by_tab(line, rest, items, chosen, behind=self.BEHIND), rest)

    def take(self, item: Completion) -> None:
        """Take a proposal, if it is for what stands there now."""
        if not self.is_up_to_date:
            return
        line, rest = self.value[: self.cursor_position], self.value[self.cursor_position :]
        self._put(completed(line, item, rest, behind=self.BEHIND), rest)

    def _put(self, line: str, rest: str) -> None:
        self.value = line + rest
        self.cursor_position = len(line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to hide proposals where there are some, or may be."""
        is_there = action != "hide" or self.proposals.are_shown or self._is_asking
        return is_there and super().check_action(action, parameters)

    async def action_hide(self) -> None:
        """Put the proposals away, also those that are on their way; leave if there are none."""
        if not self.proposals.are_shown and not self._is_asking:
            await self.run_action("screen.leave")
        self.dismiss_proposals()

    def action_choose(self, by: int) -> None:
        """Go to another proposal, or to another line entered before."""
        is_back = self._history is not None and self._history.is_back
        can_move = by > 0 or self.proposals.highlighted is not None
        if can_move and not is_back and self.proposals.are_shown:
            if self.is_up_to_date:
                self.proposals.move(by)
                self._suggest()
            return
        if self._history is None:
            return
        line = self._history.back(self.value) if by < 0 else self._history.forward()
        if line is not None:
            self._quiet = line
            self._put(line, "")
            self.dismiss_proposals()

    def take_chosen(self) -> bool:
        """Take the proposal that was chosen; whether there is one."""
        chosen = self.proposals.chosen
        if chosen is None or not self.is_up_to_date:
            return False
        self.take(chosen)
        return True

    async def action_submit(self) -> None:
        """Take the proposal that was chosen, or hand the line over as it is typed."""
        if not self.take_chosen():
            self.dismiss_proposals()
            await super().action_submit()
