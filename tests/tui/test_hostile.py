"""Names and values that are markup, steer terminals or look like paths: shown, never done."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual import events
from textual.widgets import Input

import metashell
from metashell.errors import SourceError
from metashell.fs.path import encode_name
from metashell.tui.node.node_detail import DetailMode
from metashell.tui.screens.command import CommandScreen
from metashell.tui.view_state import ask, view_state_of
from metashell.tui.views.explorer import ExplorerView
from support.hostile import NAMES, hostile_cluster
from support.logs import record
from support.monkey import Monkey, unsafe_on
from support.pilot import WIDE, Driver, drive, session_on
from support.small_cluster import broker, cluster, config
from support.strategies import CHARACTERS

WORST = (1, 9)
"""Of the names those that are looked at in every way."""
VIEWS = ("records", "health", "quorum", "brokers", "explorer")


def written(name: str) -> str:
    """A name as a part of a path."""
    return encode_name(name.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


FORGED = SourceError("\x1b[2J\n  hint: give it s3://KEY:PW@bucket", hint="s3://KEY:PW@b\n# gone")
"""An error that quotes what steers a terminal, forges lines and holds a password."""
TOLD = ["\\x1b[2J\\n  hint: give it s3://bucket", "  hint: s3://b\\n# gone"]


def test_errors_are_told_in_their_own_lines() -> None:
    """An error is as many lines as it is, whatever it quotes, in the node and in a message."""

    async def test(driver: Driver) -> None:
        view = driver.view
        assert isinstance(view, ExplorerView)
        view.pane._failed(FORGED)
        look = view.pane._detail
        assert look is not None
        assert TOLD == [line.text for line in look.lines]
        assert ("value", "\n".join(TOLD)) == view.pane.copyable()
        await driver.settled()
        assert "PW" not in driver.screen()

    with hostile_cluster() as source:
        drive(test, session_on(lambda: source), size=WIDE)


def test_diagnostics_are_told_in_their_own_lines() -> None:
    """What a command says beside its rows is a line each, without credentials."""
    with hostile_cluster() as source:
        said = ask(view_state_of(source, "/"), ["cat", "/s3://KEY:PW@b\n\x1b[2J"]).warnings
    assert said
    assert all(line.isprintable() and "PW" not in line for line in said)


async def look_at(driver: Driver, monkey: Monkey, path: str) -> str:
    """Look at a node in every way; the screens."""
    driver.app.go(path)
    await driver.settled()
    monkey.check()
    view, screens = driver.view, [driver.screen()]
    assert isinstance(view, ExplorerView)
    look = view.pane._detail
    assert look is not None
    assert look.head[0] != "gone", path
    for mode in look.modes:
        view.pane.look(mode)
        await driver.settled()
        monkey.check()
        screens.append(driver.screen())
    return "\n".join(screens)


@pytest.mark.long
def test_every_view() -> None:
    """All names at once, and some of them in every way."""

    async def test(driver: Driver) -> None:
        monkey = Monkey(driver, 0)
        for view in VIEWS:
            await driver.look(view)
            monkey.check()
        for i in WORST:
            name = written(NAMES[i])
            await look_at(driver, monkey, f"/image/topics/byName/{name}")
            await look_at(driver, monkey, f"/image/configs/TOPIC:t/{name}")
            await driver.press("y", "Y")
            monkey.check()
        screen = await look_at(driver, monkey, f"/image/configs/TOPIC:t/{written(NAMES[0])}")
        assert NAMES[0] in screen
        screen = await look_at(driver, monkey, f"/image/configs/TOPIC:t/{written(NAMES[6])}")
        assert "\\x1b]0;title\\x07" in screen

    with hostile_cluster() as source:
        drive(test, session_on(lambda: source), size=WIDE)


@pytest.mark.long
def test_every_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find, go to, commands, the palette, bookmarks and exports of such names."""
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        monkey = Monkey(driver, 0)

        async def press(*keys: str) -> None:
            for key in keys:
                await driver.press(key)
                monkey.check()

        for i in (1, 9):
            driver.app.go(f"/image/topics/byName/{written(NAMES[i])}")
            await press("b", "f", "x", "e", "enter", "escape", "escape", "g", "tab", "escape")
            await press("colon")
            for line in (
                "topics",
                "cat /image/configs/TOPIC:t/*",
                "changes --newest 9",
                "no\x1b[2Jsuch",
            ):
                await monkey.command(line)
                await driver.settled()
                monkey.check()
            await press("escape", "escape", "x", "enter")
        await press("B", "escape", "ctrl+p", "t", "escape", "f2", "f1")

    with hostile_cluster() as source:
        drive(test, session_on(lambda: source), size=WIDE)


@pytest.mark.long
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text(CHARACTERS, min_size=1, max_size=30), min_size=5, max_size=12, unique=True))
def test_any_names(names: list[str]) -> None:
    """Nothing of a random name steers the terminal either."""

    async def test(driver: Driver) -> None:
        monkey = Monkey(driver, 0)
        for view in ("records", "brokers"):
            await driver.look(view)
            monkey.check()
        await look_at(driver, monkey, "/image/configs/TOPIC:t")
        await look_at(driver, monkey, f"/image/topics/byName/{written(names[0])}")

    with hostile_cluster(names) as source:
        drive(test, session_on(lambda: source), size=WIDE)


@pytest.mark.cases(2)
@pytest.mark.parametrize("key", ["colon", "g", "at", "f", "slash", "x", "ctrl+p"])
def test_paste(key: str) -> None:
    """What was pasted into a line is drawn as escapes."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")  # a table, which can be exported
        await driver.settled()
        await driver.press(key)
        driver.app.post_message(events.Paste("ab\x1b]0;evil\x07\u202ex\x9b31m\x00\r\nnext"))
        await driver.settled()
        assert unsafe_on(driver) is None
        typed = driver.app.focused
        assert isinstance(typed, Input)
        assert typed.value.endswith("ab\\x1b]0;evil\\x07\\u202ex\\x9b31m\\x00")

    drive(test)


SECRET = "hunter2hunter2"
KEY = b"hunter2-key-bytes"
FORMS = (SECRET, KEY.decode(), KEY.hex(), base64.b64encode(KEY).decode(), KEY.hex(" ")[:20])
"""A secret as it may be written."""
SECRET_NODES = (
    "/image/scram/SCRAM-SHA-256/alice",
    "/image/delegationToken/token-1",
    "/image/configs/BROKER:1/ssl.key.password",
    "/image/configs/BROKER:1/plugin.of.someone",
)


@contextmanager
def with_secrets() -> Iterator[str]:
    """The directory of a cluster with secrets of each kind."""
    values = (
        broker(1),
        record(
            "UserScramCredentialRecord", name="alice", mechanism=1, salt=KEY, stored_key=KEY,
            server_key=KEY, iterations=4096,
        ),
        record(
            "DelegationTokenRecord", owner=f"User:{SECRET}", requester=f"User:{SECRET}",
            renewers=[f"User:{SECRET}"], token_id="token-1",
        ),
        config(4, "1", "ssl.key.password", SECRET),
        config(4, "1", "plugin.of.someone", SECRET),
    )  # fmt: skip
    with cluster(*values) as source:
        yield str(source.path)


@pytest.mark.long
@pytest.mark.cases(1)
@pytest.mark.parametrize("show_secrets", [False, True])
def test_secrets(show_secrets: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are drawn, copied, exported and pictured only where that was asked for."""
    monkeypatch.chdir(tmp_path)

    async def said(driver: Driver, path: str) -> str:
        driver.app.go(path)
        await driver.settled()
        view, texts = driver.view, []
        assert isinstance(view, ExplorerView)
        for mode in (DetailMode.VALUE, DetailMode.TEXT, DetailMode.RECORD, DetailMode.HISTORY):
            view.pane.look(mode)
            await driver.settled()
            texts += [driver.screen(), str(view.copyable())]
            texts += [str(table.to_pylist()) for _, table in view.tables()]
        await driver.press("Y")
        return "\n".join([*texts, driver.app.clipboard, driver.app.export_screenshot()])

    async def elsewhere(driver: Driver) -> str:
        texts = []
        for view in VIEWS:
            await driver.look(view)
            texts += [driver.screen(), str(driver.view.copyable())]
            texts += [str(table.to_pylist()) for _, table in driver.view.tables()]
        await driver.look("records")
        await driver.press("end", "Y")
        for _ in range(5):
            texts += [driver.screen(), str(driver.view.copyable())]
            await driver.press("up")
        for line in ("cat -a /image/scram/*/*", "log", "log --json", "changes", "config"):
            await driver.press("escape", "colon")
            screen = driver.app.screen
            assert isinstance(screen, CommandScreen)
            screen.run(line)
            await driver.settled()
            texts.append(driver.screen())
        return "\n".join(texts)

    async def test(driver: Driver) -> None:
        for path in SECRET_NODES:
            text = await said(driver, path)
            assert any(form in text for form in FORMS) == show_secrets, path
            assert ("[redacted]" in text) != show_secrets, path
        assert ("secrets shown" in driver.screen()) == show_secrets
        text = await elsewhere(driver)
        assert any(form in text for form in FORMS) == show_secrets

    with with_secrets() as directory:
        opened = metashell.open(directory, show_secrets=show_secrets)
        drive(test, session_on(lambda: opened, show_secrets=show_secrets), size=WIDE)
