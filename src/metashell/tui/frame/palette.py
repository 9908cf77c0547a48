"""The command palette: views, actions, commands of the shell, paths, bookmarks and themes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.worker import WorkerCancelled

from metashell.commands import all_names, get
from metashell.dataclass import dataclass
from metashell.errors import PathError
from metashell.fs.escape import escape
from metashell.fs.node import Directory
from metashell.fs.path import encode_path, resolve
from metashell.tui.frame.status import TabStrip

if TYPE_CHECKING:
    from metashell.tui.app import Explorer
    from metashell.tui.view_state import ViewState

_MOST_PATHS: Final = 20
_SHORTEST: Final = 2
"""Letters of a topic's name that are looked for."""
_OF_TEXT: Final = 2.0
"""Score, at least, of what has the query in its text."""
_OF_HELP: Final = 1.0
"""Score of what speaks of it: before what only has its letters."""
_OF_PATHS: Final = 1_000.0
"""Score of paths, which were asked for by their very beginning: before all that is only alike."""
_TOPICS: Final = "/image/topics/byName"

_WORD: Final = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """An item of the palette."""

    text: str
    """The item's name, escaped."""
    run: Callable[[], Any]
    help: str = ""

    @property
    def shown(self) -> Content:
        """The item's line in the list."""
        return Content.assemble(
            self.text, *(("  ", (self.help, "$text-muted")) if self.help else ())
        )

    def found(self, query: str, score: float) -> Hit | None:
        """The hit for a query; None if neither the name nor the help matches.

        The score says how well the query matches the name.
        """
        if query.casefold() in self.text.casefold():
            return self.hit(_OF_TEXT + score)
        if speaks_of(self.help, query):
            return self.hit(_OF_HELP)
        return self.hit(score / (score + 1)) if score > 0 else None

    def hit(self, score: float) -> Hit:
        """The hit with a score."""
        return Hit(score, self.shown, self.run, text=self.text)


class Palette(Provider):
    """The provider of all items that the palette finds."""

    @property
    def explorer(self) -> Explorer:
        """The program."""
        return cast("Explorer", self.app)

    async def discover(self) -> Hits:
        """Yield all but what needs a name."""
        for entry in self._entries(with_themes=False):
            yield DiscoveryHit(entry.shown, entry.run, entry.text)

    async def search(self, query: str) -> Hits:
        """Yield what a query matches."""
        matcher = self.matcher(query)
        for entry in self._entries(with_themes=True):
            # Nothing is marked: Textual's way to do that takes markup for what it is.
            hit = entry.found(query, matcher.match(entry.text))
            if hit is not None:
                yield hit
        view_state = self.explorer.view_state
        if view_state is None or (not query.startswith("/") and len(query) < _SHORTEST):
            return
        worker = self.app.run_worker(
            partial(paths_from, view_state, query), thread=True, exit_on_error=False
        )
        try:
            paths = await worker.wait()
        except WorkerCancelled:
            return  # the palette is closed
        for path in paths:
            text = escape(path)
            yield PaletteEntry(text, partial(self.explorer.go, path)).hit(_OF_PATHS)

    def _entries(self, *, with_themes: bool) -> Iterator[PaletteEntry]:
        yield from self._actions()
        yield from self._bookmarks()
        yield from self._commands()
        yield PaletteEntry("Theme: choose", self.app.action_change_theme, "choose the colours")
        if with_themes:
            for name in sorted(self.app.available_themes):
                yield PaletteEntry(f"Theme: {name}", partial(setattr, self.app, "theme", name))

    def _actions(self) -> Iterator[PaletteEntry]:
        """The actions of keys that work here; actions of the focused part come first."""
        app, tabs, seen = self.explorer, self.explorer.query_one(TabStrip), set[str]()
        for node, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.id is None or not enabled or binding.action in seen:
                continue
            if not (binding.show or binding.tooltip) or not tabs.offers(binding):
                continue  # the arrows, and views of what is not open
            seen.add(binding.action)
            is_view = binding.id.startswith("view.")
            text = f"View: {binding.description}" if is_view else binding.description
            # Once the palette is gone: keys do what they do in the screen below it.
            run = partial(app.run_action, binding.action, node)
            key = app.get_key_display(binding)
            told = f"{key}  {binding.tooltip}" if binding.tooltip else key
            yield PaletteEntry(text, run, told)

    def _bookmarks(self) -> Iterator[PaletteEntry]:
        app = self.explorer
        for place in app.places.bookmarks:
            where = "" if place.offset is None else f" at offset {place.offset}"
            run = partial(app.go, place.path, offset=place.offset)
            yield PaletteEntry(f"Bookmark: {escape(place.path)}{where}", run)

    def _commands(self) -> Iterator[PaletteEntry]:
        if self.explorer.view_state is None:
            return
        for name in all_names():
            command = get(name)
            if command is not None:
                yield PaletteEntry(f": {name}", partial(self._type, f"{name} "), command.summary)

    def _type(self, text: str) -> None:
        """Open the line for a command."""
        from metashell.tui.screens.command import CommandScreen

        self.explorer.push_screen(CommandScreen(text))


def paths_from(view_state: ViewState, query: str) -> list[str]:
    """Paths that begin with a query, and topics; to be called in a thread."""
    if query.startswith("/"):
        found = _paths(view_state, query)
        return [query.rstrip("/") or "/", *found] if _is_there(view_state, query) else found
    try:
        topics = resolve(view_state.root, f"{view_state.prefix}{_TOPICS}").node
    except PathError:
        return []
    assert isinstance(topics, Directory)
    base = f"{view_state.prefix}{_TOPICS}"
    names = topics.names_from(query, _MOST_PATHS)
    return [base + encode_path([name]) for name in names if name.startswith(query)]


def _is_there(view_state: ViewState, path: str) -> bool:
    try:
        resolve(view_state.root, path)
    except PathError:
        return False
    return True


def _paths(view_state: ViewState, query: str) -> list[str]:
    """Paths in a directory whose last component goes on."""
    head, slash, last = query.rpartition("/")
    try:
        directory = resolve(view_state.root, head + slash)
    except PathError:
        return []
    if not isinstance(directory.node, Directory):
        return []
    names = directory.node.names_from(last, _MOST_PATHS)
    base = directory.encoded().rstrip("/")
    return [base + encode_path([name]) for name in names if name.startswith(last)]


def speaks_of(text: str, query: str) -> bool:
    """Whether each word of a query begins a word of a text."""
    asked = _WORD.findall(query.casefold())
    said = _WORD.findall(text.casefold())
    return bool(asked) and all(any(word.startswith(part) for word in said) for part in asked)
