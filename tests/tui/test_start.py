"""How the explorer starts, while its source is opened and when it can't be."""

from __future__ import annotations

import asyncio
import os
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.theme import BUILTIN_THEMES

import metashell
from metashell.errors import SourceError
from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.frame.status import StatusLine
from metashell.tui.frame.themes import DEFAULT_THEME, THEMES
from metashell.tui.names import EXPLORER_THEMES, KEY_IDS
from metashell.tui.tree.tree import NodeTree
from support.bindings import all_bindings, ids, table
from support.pilot import SAMPLE, SMALL, Driver, drive, session_on
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "keys.md"
NAMES = ROOT / "src" / "metashell" / "tui" / "names.py"
_BEGIN, _END = "KEY_IDS: Final = (\n", ")  # fmt: skip"


def test_opening_is_shown() -> None:
    """The frame is there before the source is, with how far it is and how to leave."""
    go_on = threading.Event()

    def open_it(progress: Callable[[int, int], None]) -> Source:
        progress(42, 100)
        assert go_on.wait(LIMIT_S)
        return metashell.open(SAMPLE)

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL) as pilot:
            driver = Driver(app, pilot)
            line = app.query_one(StatusLine)
            await driver.until(lambda: "42%" in line.render().plain, "the progress is shown")
            assert app.view_state is None
            assert "opening test 42%  q leaves" in line.render().plain
            await pilot.press("escape")
            go_on.set()
            await driver.until(lambda: app.view_state is not None, "not opened")

    asyncio.run(run())


def test_leaving_while_it_opens() -> None:
    """`q` waits for nothing."""
    go_on = threading.Event()

    def open_it(progress: Callable[[int, int], None]) -> Source:
        assert go_on.wait(LIMIT_S)
        raise SourceError("too late")

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL) as pilot:
            await pilot.press("q")
            await Driver(app, pilot).until(lambda: not app.is_running or app._exit, "goes on")
        assert app.failure is None
        assert app.return_code == 0
        go_on.set()

    asyncio.run(run())


def test_failure_ends_the_program() -> None:
    """What can't be opened is for the command line to tell."""

    def open_it(progress: Callable[[int, int], None]) -> Source:
        raise SourceError("there is nothing", hint="look elsewhere")

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL) as pilot:
            await Driver(app, pilot).until(lambda: app.failure, "it is not told")
        assert str(app.failure) == "there is nothing"
        assert app.return_code == SourceError.exit_code

    asyncio.run(run())


def test_messages_are_shown_once() -> None:
    """What there is to be said of the source; many at once are counted."""
    said = [f"warning: fault {i}" for i in range(5)]

    def take() -> list[str]:
        taken = said.copy()
        said.clear()
        return taken

    async def test(driver: Driver) -> None:
        await driver.until(lambda: driver.told, "nothing is told")
        assert driver.told == [
            "warning: fault 0\nwarning: fault 1\nwarning: fault 2\n2 more, printed at the end"
        ]
        driver.one(StatusLine).look()
        assert len(driver.told) == 1

    drive(test, session_on(messages=take))


def test_looks_for_warnings_in_a_job() -> None:
    """They may have to be decoded first."""
    threads: list[str] = []

    async def test(driver: Driver) -> None:
        assert len(threads) == 1
        driver.app.travel(3398)
        await driver.settled()
        assert len(threads) == 2
        assert threading.current_thread().name not in threads

    drive(test, session_on(look=lambda: threads.append(threading.current_thread().name)))


def test_begins_at_an_earlier_state() -> None:
    """With `--at`; from there it can go on to the end."""

    async def test(driver: Driver) -> None:
        assert driver.view_state.source.moment_offset == 3398
        assert "earlier state  E: newest  offset 3398" in driver.screen()
        await driver.press("E")
        assert driver.view_state.is_newest
        assert "end of the log  offset 4111" in driver.screen()

    drive(test, session_on(lambda: metashell.open(SAMPLE).at(3398)))


def test_begins_at_a_path() -> None:
    """What comes behind `tui`."""

    async def test(driver: Driver) -> None:
        assert driver.app.path == "/image/topics/byName"

    drive(test, session_on(path="/image/topics/byName"))


@pytest.mark.cases(2)
@pytest.mark.parametrize("theme", ["high-contrast", "nord", "no such theme"])
def test_themes(theme: str) -> None:
    """One of the configuration file is used."""

    async def test(driver: Driver) -> None:
        expected = theme if theme in EXPLORER_THEMES else DEFAULT_THEME
        assert driver.app.theme == expected

    drive(test, session_on(theme=theme))


def test_keys_of_the_configuration_file() -> None:
    """They take the place of the built-in ones."""

    async def test(driver: Driver) -> None:
        await driver.press("f7")
        assert driver.view.id == "records"
        await driver.press("ctrl+e")
        assert driver.view.id == "explorer"
        await driver.press("2")
        assert driver.view.id == "explorer"

    drive(test, session_on(keys={"view.records": "f7", "view.explorer": "f6,ctrl+e"}))


def test_names_of_themes() -> None:
    """Those that the configuration file takes are those that there are."""
    assert sorted([*BUILTIN_THEMES, *(theme.name for theme in THEMES)]) == list(EXPLORER_THEMES)


def test_every_key_has_a_name() -> None:
    """By which the configuration file can call it."""
    bindings = all_bindings()
    assert len(bindings) > 30
    unnamed = [(b.key, b.action) for b in bindings if b.id is None and not _is_textuals_own(b)]
    assert [] == unnamed


def test_names_of_keys() -> None:
    """The configuration file takes each; METASHELL_UPDATE_DOCS=1 writes the list anew."""
    if os.environ.get("METASHELL_UPDATE_DOCS"):
        before, _, rest = NAMES.read_text("utf-8").partition(_BEGIN)
        after = rest.partition(_END)[2]
        lines = textwrap.fill(" ".join(f'"{name}",' for name in ids()), 100, initial_indent="    ",
                              subsequent_indent="    ", break_on_hyphens=False)  # fmt: skip
        NAMES.write_text(f"{before}{_BEGIN}{lines}\n{_END}{after}", "utf-8")
        return
    assert ids() == list(KEY_IDS)


def test_keys_are_documented() -> None:
    """With the keys that they have; METASHELL_UPDATE_DOCS=1 writes the table anew."""
    before, begin, rest = PAGE.read_text("utf-8").partition("<!-- keys -->\n")
    kept, end, after = rest.partition("<!-- end of keys -->")
    assert begin
    assert end
    if os.environ.get("METASHELL_UPDATE_DOCS"):
        PAGE.write_text(f"{before}{begin}{table()}\n{end}{after}", "utf-8")
        return
    assert f"{table()}\n" == kept


def _is_textuals_own(binding: Binding) -> bool:
    """Whether it only hands a key on to what Textual does with it elsewhere."""
    return binding.action.startswith("app.focus")


def test_a_tree_without_room_is_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that is not shown, as behind a view chosen at the start, does not ask again."""
    calls: list[int] = []
    scroll = NodeTree.show_cursor

    def counted(tree: NodeTree) -> None:
        calls.append(tree.size.height)
        scroll(tree)

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        tree.styles.display = "none"
        await driver.settled()
        calls.clear()
        driver.app.go("/image/topics")
        await driver.settled()
        n_calls = len(calls)
        for _ in range(5):
            await driver.pilot.pause()
        assert (n_calls, {0}) == (len(calls), set(calls))

    monkeypatch.setattr(NodeTree, "show_cursor", counted)
    drive(test)
