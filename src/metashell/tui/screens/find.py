"""Finding nodes by the tests of ``find``, results as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Input, Label, Static

from metashell.commands.framework.command import Completion
from metashell.commands.framework.command_line import Word, complete_at, quote, split
from metashell.errors import MetashellError, PathError, UsageError
from metashell.fs.escape import escape
from metashell.fs.path import encode_path, resolve
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.jobs import Job
from metashell.tui.node.value import held_text
from metashell.tui.part import shown_key
from metashell.tui.screens.command import complete_on
from metashell.tui.screens.completing import HIDE, CompletingInput
from metashell.tui.screens.output_lines import MOST_LINES, PathList, Stream
from metashell.tui.screens.typed_path import topic_path
from metashell.tui.text import cut, error_lines
from metashell.tui.view_state import CommandAnswer, ViewState, ask, is_below

if TYPE_CHECKING:
    from metashell.commands.framework.aliases import Habits
    from metashell.fs.node import Directory

_REST_S: Final = 0.2
"""How long nothing is typed before a search begins."""
_MOST_NAMED: Final = 18
"""Columns of a searched name that a line has room for, with what else there is."""
_BY_ID: Final = "/image/topics/byId/"
"""Part of the paths that are there a second time, below the topic's name."""
_ACTIONS: Final = frozenset(("-exec", "-print", "-print0", "-printf", "-count"))
_BEGINS: Final = ("-", "!", "(")


def find_words(text: str, start: str) -> list[str] | None:
    """The words of the search below a path that a line means; None where nothing is asked for yet.

    Words before the first test are parts of names; where tests follow, of paths, as most of those
    pass for nodes that are called by a number.

    Raises:
        UsageError: It does more than to find.
    """
    words = split(text)
    if not words or words[-1] == "-":
        return None  # the dash of a test that is being typed
    tests: list[str] = []
    for at, word in enumerate(words):
        if word.startswith(_BEGINS):
            tests = [part if part != "-name" else "-path" for part in tests] + list(words[at:])
            break
        tests += ["-name", _part(word)]
    done = sorted(_ACTIONS.intersection(tests))
    if done:
        raise UsageError(f"{done[0]}: here are tests alone", hint=": runs any find")
    return ["find", "--encode", start, "-mindepth", "1", *tests]


def topic_named(view_state: ViewState, text: str, start: str) -> str | None:
    """The path of the topic that a search names in full; None if no such topic lies below `start`.

    Args:
        view_state: The shown view state.
        text: The typed search.
        start: The path where the search begins, an absolute path of the whole tree.
    """
    words = split(text)
    if len(words) != 1 or words[0].wild or words[0].startswith(_BEGINS):
        return None
    path = topic_path(view_state, str(words[0]))
    is_there = path is not None and path != start and is_below(path, start.rstrip("/"))
    return path if is_there else None


def topics_words(view_state: ViewState, text: str, start: str) -> list[str] | None:
    """The words of a first search among topics alone; None if there is no such search.

    Args:
        view_state: The shown view state.
        text: The typed search.
        start: The path where the search begins, an absolute path of the whole tree.
    """
    topics = view_state.prefix + encode_path(["image", "topics", "byName"])
    if any(word.startswith(_BEGINS) for word in split(text)):
        return None  # tests are of nodes of any kind
    if not is_below(topics, start.rstrip("/")):
        return None
    try:
        resolve(view_state.root, topics)
    except PathError:
        return None
    words = find_words(text, topics)
    return None if words is None else [*words, "-maxdepth", "1"]


def _part(word: Word) -> str:
    """A pattern of names with a word in them; one with wildcards is itself."""
    return word.pattern if word.wild else f"*{word.pattern}*"


def _short_name(path: str) -> str:
    """The name of a node, cut for a line with little room."""
    return cut(path.rpartition("/")[2], _MOST_NAMED)


def _nothing_found(text: str) -> str:
    """The message for a search without results: one line, with another way to search."""
    words = split(text)
    if any(word.startswith(_BEGINS) for word in words):
        return "no node passes these tests · values: :grep TEXT"
    names = cut(" ".join(words), _MOST_NAMED)
    return f"no name contains '{names}' · tests: -offline · values: :grep TEXT"


def _find(
    view_state: ViewState, text: str, start: str, job: Job, show: Callable[[Job, list[str]], None]
) -> tuple[CommandAnswer | None, int]:
    """Search below a path, topics first.

    Returns:
        The answer of the search, None if it found more than is kept. The number of results, of
        which some may count twice.
    """
    words = find_words(text, start)
    assert words is not None
    known: set[str] = set()

    def show_new(paths: list[str]) -> None:
        new = [path for path in dict.fromkeys(paths) if path not in known]
        known.update(new)
        show(job, new)

    named = topic_named(view_state, text, start)
    if named is not None:
        job.tell(show_new, [named])
    stream = Stream(job, show_new)
    try:
        of_topics = topics_words(view_state, text, start)
        if of_topics is not None:
            ask(view_state, of_topics, cancelled=job.cancelled, on_text=stream.write)
        answer = ask(view_state, words, cancelled=job.cancelled, on_text=stream.write)
        if not stream.count and answer.status <= 1:
            # A part of a topic's id stands in no other path.
            at = words.index("-mindepth") + 2
            by_id = [*words[:at], "-path", f"*{_BY_ID}*", "(", *words[at:], ")"]
            answer = ask(view_state, by_id, cancelled=job.cancelled, on_text=stream.write)
    except KeyboardInterrupt:
        if stream.is_full:
            return None, stream.count
        raise
    stream.finish()
    return answer, stream.count


def _held(root: Directory, cancelled: Callable[[], bool], paths: Sequence[str]) -> dict[str, str]:
    """The contents of the nodes of some paths; some are missing where it is cancelled."""
    found = {}
    for path in paths:
        if cancelled():
            break
        with suppress(PathError):
            found[path] = held_text(resolve(root, path).node)
    return found


class FindScreen(Box[None]):
    """Finding nodes, results as they come."""

    HELP = (
        "Type a part of a name, or tests of `find`: `-offline`, `-name orders* -type d`, "
        "`-config retention.*`, `-changed-since 3680`. The search is below the selected node, "
        "and everywhere if nothing is below it; the line says which. `tab` completes a test, or "
        "switches to everything and back. `down` goes to the results, `up` back, `enter` to "
        "the node. `escape` ends the search, then goes back."
    )
    ENTER = "Go to node"
    DEFAULT_CSS = """
    FindScreen { background: transparent; align: left bottom; }
    FindScreen > #find-box {
        height: 80%; background: $background; border-top: solid $primary;
    }
    FindScreen #find-line { height: 1; background: $surface; }
    FindScreen #find-line > Label { width: auto; color: $text-primary; text-style: bold; }
    FindScreen CompletingInput { width: 1fr; }
    FindScreen #find-state { height: auto; max-height: 3; background: $panel; padding: 0 1; }
    FindScreen #find-state.-wrong { color: $text-error; text-style: bold; }
    """
    BINDINGS: ClassVar = [
        shown_key("escape", "leave", "Back", "find.leave"),
        shown_key("ctrl+t", "elsewhere", "Here or everywhere", "find.start"),
    ]

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text
        self._is_everywhere = False
        self._timer: Timer | None = None
        self._job: Job | None = None
        self.problem: str | None = None
        """The error in the typed search; None if there is none."""

    def compose(self) -> ComposeResult:
        """The results, how far the search is, and the line."""
        habits = self.explorer.session.habits
        line = _FindLine(
            lambda view_state, text, cancelled: _complete(view_state, text, habits, cancelled),
            value=self._text,
            placeholder="a part of a name, or tests such as -offline",
        )
        with Vertical(id="find-box"):
            yield PathList(lambda: self.is_searching)
            yield Static(id="find-state", markup=False)
            yield line.proposals
            with Horizontal(id="find-line"):
                yield Label(id="find-start", markup=False)
                yield line
            yield KeyBar(self.ENTER)

    def on_mount(self) -> None:
        """Begin to type."""
        self._tell_start(self._where)
        self._tell("type to search")
        self.line.focus()
        if self._text:
            self._search()

    @property
    def results(self) -> PathList:
        """The list of results so far."""
        return self.query_one(PathList)

    @property
    def line(self) -> CompletingInput:
        """Where the search is typed."""
        return self.query_one(CompletingInput)

    @property
    def is_searching(self) -> bool:
        """Whether more may come."""
        return self._timer is not None or self._job is not None

    @property
    def _where(self) -> str:
        """Where a search begins, a path of the whole tree."""
        view = self.explorer.view
        return "/" if self._is_everywhere or view is None else view.searched_path

    # Searching.

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for something else as soon as nothing more is typed."""
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_REST_S, self._search)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the first result."""
        event.stop()
        if self.results.chosen is not None:
            self._go(self.results.chosen)
        else:
            self._tell_none()

    def _tell_none(self) -> None:
        if self.problem is None:
            self.explorer.tell("there are no results to go to")

    def _search(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._cancel()
        results = self.results
        results.clear()
        self.problem = None
        text, view_state = self.line.value, self.explorer.view_state
        if view_state is None:
            return
        where, root = self._where, view_state.root
        results.held.begin(partial(_held, root))
        self._tell_start(where)
        try:
            if find_words(text, "/") is None:
                self._tell("type to search")
                return
        except MetashellError as error:
            self._fail(error_lines(error))
            return

        def show(job: Job, paths: list[str]) -> None:
            if job is self._job:
                results.add(paths)
                self._tell(f"{len(results.paths):,} found, searching…")

        def work(job: Job) -> tuple[CommandAnswer | None, str]:
            answer, n = _find(view_state, text, where, job, show)
            if n or where == "/" or answer is None or answer.status > 1:
                return answer, where
            job.tell(self._tell_start, "/")
            return _find(view_state, text, "/", job, show)[0], "/"

        self._tell("searching…")
        self._job = self.explorer.jobs.start(
            f"find {text.strip()}", work, lambda found: self._ended(*found), owner=self,
            key="find", failed=lambda error: self._fail(error_lines(error)),
        )  # fmt: skip

    def _ended(self, answer: CommandAnswer | None, start: str) -> None:
        self._job = None
        n, where = len(self.results.paths), self._where
        if answer is None:
            self._tell(f"the first {MOST_LINES:,} found: narrow the search down to see others")
        elif answer.warnings and answer.status > 1:
            self._fail(answer.warnings)
        else:
            found = f"{n:,} found" if n else _nothing_found(self.line.value)
            if n and start != where:
                found += f" everywhere, nothing below {_short_name(where)}"
            self._tell("; ".join((found, *answer.warnings[:1])))

    def _fail(self, lines: Sequence[str]) -> None:
        self._job = None
        self.problem = "\n".join(escape(text) for text in lines)
        self._tell(self.problem, is_wrong=True)

    def _cancel(self) -> bool:
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        return job is not None

    def _tell(self, text: str, *, is_wrong: bool = False) -> None:
        state = self.query_one("#find-state", Static)
        state.update(text)
        state.set_class(is_wrong, "-wrong")

    def _tell_start(self, start: str) -> None:
        """Say below which path the search is."""
        key = self.explorer.session.key("find.start", "ctrl+t")
        where = f"below {_short_name(start)}: {key} everywhere" if start != "/" else "everywhere"
        self.query_one("#find-start", Label).update(f" find {where} ")

    # Keys.

    def action_elsewhere(self) -> None:
        """Search everything, or again the directory looked at."""
        self.line.focus()  # there may be no results to be in
        self._is_everywhere = not self._is_everywhere
        self._search()

    def action_leave(self) -> None:
        """End the search, or go back."""
        if self._cancel():
            self._tell(f"{len(self.results.paths):,} found; cancelled")
        else:
            self.dismiss()

    def to_results(self) -> None:
        """Go on in the results."""
        if self.results.paths:
            self.results.focus()
        else:
            self._tell_none()

    def on_path_list_left(self, event: PathList.Left) -> None:
        """Go back to the line."""
        event.stop()
        self.line.focus()

    def on_path_list_chosen(self, event: PathList.Chosen) -> None:
        """Go to a node."""
        event.stop()
        self._go(event.path)

    def _go(self, path: str) -> None:
        view_state = self.explorer.view_state
        if view_state is None:
            return
        self._cancel()
        try:
            whole = resolve(view_state.root, path).encoded()
        except MetashellError as error:
            self._fail(error_lines(error))
            return
        self.dismiss()
        self.explorer.go(whole)


class _FindLine(CompletingInput):
    """The line: without proposals its keys lead on."""

    BINDINGS: ClassVar = [
        shown_key("down", "choose(1)", "Results", "find.results"),
        HIDE,
    ]

    def awaits(self, action: str) -> bool:
        """Whether a key is about proposals, or results, of which the first is on its way."""
        is_of_results = (action == "submit" and self.proposals.chosen is None) or (
            action == "choose(1)" and not self.proposals.are_shown
        )
        found: Any = self.screen
        is_none_yet = found.is_searching and not found.results.paths
        return super().awaits(action) or (is_of_results and is_none_yet)

    def action_take(self) -> None:
        """Take a proposal; without one, search elsewhere."""
        if self.proposals.are_shown:
            super().action_take()
        elif isinstance(self.screen, FindScreen):
            self.screen.action_elsewhere()

    def action_choose(self, by: int) -> None:
        """Go to another proposal, or to the results."""
        if self.proposals.are_shown:
            super().action_choose(by)
        elif by > 0 and isinstance(self.screen, FindScreen):
            self.screen.to_results()


def _complete(
    view_state: ViewState, text: str, habits: Habits, cancelled: Callable[[], bool]
) -> Sequence[Completion]:
    """Tests and their values; nothing for parts of names."""
    at = complete_at(text, len(text))
    if not any(word.startswith(_BEGINS) for word in (*at.before, at.word)):
        return ()
    found = complete_on(view_state, f"find {quote('/')} {text}", "/", habits, cancelled)
    return [item for item in found if item.text.strip() not in _ACTIONS]
