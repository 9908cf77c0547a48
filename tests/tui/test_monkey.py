"""Keys, clicks and sizes at random: nothing breaks, hangs, or draws what steers a terminal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import metashell
from metashell.sources.opening import open_fleet
from metashell.tui import following
from metashell.tui.session import ExplorerSession
from support.fake_server import FakeQuorumServer
from support.fixtures import copy_of, fixture
from support.fleets import backups, torn
from support.hostile import NAMES, write_cluster
from support.logs import make_directory
from support.monkey import Monkey
from support.pilot import Driver, drive, session_on

N_STEPS = 24
"""By hand some thousands have been tried; this many show that it still starts to work."""


def _fleet(parent: Path) -> ExplorerSession:
    paths = [str(path) for path in sorted(backups(parent / "fleet").iterdir())]
    return session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]


SOURCES: dict[str, Callable[[Path], ExplorerSession]] = {
    "sample": lambda _: session_on(),
    "checkpoint": lambda _: session_on(
        lambda: metashell.open_file(fixture("all-records-checkpoint").input)
    ),
    "segment": lambda _: session_on(
        lambda: metashell.open_file(fixture("all-records-segment").input)
    ),
    "empty": lambda parent: session_on(make_directory(parent, (0, b""))),
    "torn": lambda parent: session_on(torn("real-44-broker-down", parent, 13)),
    "hostile": lambda parent: session_on(write_cluster(parent, NAMES)),
    "fleet": _fleet,
}


@pytest.mark.long
@pytest.mark.cases(1)
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_monkey(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is open."""
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)

    async def test(driver: Driver) -> None:
        await Monkey(driver, 1).run(N_STEPS)

    drive(test, SOURCES[name](tmp_path), draws=True)


def _vanish(directory: Path) -> None:
    shutil.rmtree(directory)


def _empty(directory: Path) -> None:
    for file in directory.rglob("*"):
        if file.is_file():
            os.truncate(file, 0)


@pytest.mark.long
@pytest.mark.cases(1)
@pytest.mark.parametrize("harm", [_vanish, _empty])
def test_the_directory_goes(
    harm: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that go away while they are looked at."""
    monkeypatch.setattr(following, "_DIRECTORY_S", 0.2)
    directory = copy_of("real-44-live", tmp_path)
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        monkey = Monkey(driver, 2)
        await monkey.run(8)
        harm(directory)
        await monkey.run(16)

    drive(test, session_on(directory), draws=True)


@pytest.mark.long
def test_the_quorum_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Controllers that are there no more."""
    monkeypatch.chdir(tmp_path)
    opened = []

    def open_it() -> metashell.Source:
        opened.append(metashell.open_quorum(server.address(), follow=True))
        return opened[-1]

    async def test(driver: Driver) -> None:
        monkey = Monkey(driver, 3)
        await monkey.run(8)
        server.kill(1)
        await monkey.run(16)

    with FakeQuorumServer(1) as server:
        server.append(12)
        try:
            drive(test, session_on(open_it), draws=True)
        finally:
            for source in opened:
                assert source.live is not None
                source.live.close()
